/* SPDX-License-Identifier: MIT */
/*
 * cmd/strace/outputs.c - the outputs of `duet strace`: one for all threads, or with -ff a file for
 * each, which is open from its first line to the end of the thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/print/print.h"
#include "cmd/strace/print.h"

static int open_separate(const struct strace_printer *p, uint32_t thread)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s.%" PRId64, p->separate,
		     (int64_t)threads_at(p->threads, thread)->tid) < 0)
		return -ENOMEM;
	fd = open(path, O_WRONLY | O_CREAT | (p->appends ? O_APPEND : O_TRUNC) | O_CLOEXEC, 0666);
	if (fd < 0)
		cmd_error("strace", "-ff -o %s: %s", path, strerror(errno));
	free(path);
	return fd;
}

struct out *strace_output(struct strace_printer *p, uint32_t thread)
{
	struct out *o;
	int fd;

	if (!p->separate)
		return &p->out;
	if (pass_grow(&p->outs, &p->n_outs, thread, sizeof *p->outs)) {
		p->out.err = -ENOMEM;
		p->out.is_over = true;
		return NULL;
	}
	o = &p->outs[thread];
	if (o->bytes)
		return o;
	fd = open_separate(p, thread);
	if (fd < 0 || out_init(o, fd)) {
		p->out.err = fd < 0 ? fd : -ENOMEM;
		p->out.is_over = true;
		return NULL;
	}
	return o;
}

void strace_output_end(struct strace_printer *p, uint32_t thread)
{
	struct out *o = thread < p->n_outs ? &p->outs[thread] : NULL;
	int fd;

	if (!o || !o->bytes)
		return;
	fd = o->fd;
	out_flush(o);
	if (o->err)
		p->out.err = o->err;
	out_fini(o);
	close(fd);
	*o = (struct out){ 0 };
}

void strace_outputs_flush(struct strace_printer *p)
{
	out_flush(&p->out);
	for (uint32_t i = 0; i < p->n_outs; i++)
		if (p->outs[i].bytes)
			out_flush(&p->outs[i]);
}

void strace_outputs_fini(struct strace_printer *p)
{
	for (uint32_t i = 0; i < p->n_outs; i++)
		strace_output_end(p, i);
	free(p->outs);
}
