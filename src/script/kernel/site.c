/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/site.c - the program of a site is loaded and attached.
 *
 * A program is built with direct loads of typed members first.  If the kernel refuses it (a pointer
 * whose type it does not follow), it is built again with helpers that read memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "kernel/probe/public.h"
#include "kernel/tracefs/public.h"
#include "script/kernel/live.h"

enum { RETURN_BIT = 1, ATTACH_UPROBE_MULTI = 48 };

/* ---------------------------------------------------------------- loading */

static const char *tracepoint_of(const struct kernel_site *site)
{
	return site->point->kind != KIND_CALL ? site->point->name
	       : site->point->is_return	      ? "sys_exit"
					      : "sys_enter";
}

/* Which type of program it is. */
static int describe(struct kernel_source *s, const struct kernel_site *site, bool *is_trusted,
		    struct bpf_program_spec *spec)
{
	spec->name = "duet_script";
	switch (site->point->kind) {
	case KIND_PERF:
		spec->type = BPF_PROG_TYPE_PERF_EVENT;
		return 0;
	case KIND_USER:
		spec->type = BPF_PROG_TYPE_KPROBE;
		return 0;
	case KIND_FUNCTION:
		spec->type = BPF_PROG_TYPE_KPROBE;
		if (!site->is_exit)
			return 0;
		spec->type = BPF_PROG_TYPE_TRACING;
		spec->attach = BPF_TRACE_FEXIT;
		spec->btf_id = site->point->btf_id;
		return 0;
	default:
		break;
	}
	if (site->is_classic) {
		spec->type = BPF_PROG_TYPE_TRACEPOINT;
		return 0;
	}
	spec->type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	if (*is_trusted && !kernel_types(s->k, NULL) &&
	    btf_tracepoint_prototype(&s->k->types, tracepoint_of(site), &spec->btf_id)) {
		spec->type = BPF_PROG_TYPE_TRACING;
		spec->attach = BPF_TRACE_RAW_TP;
	} else {
		*is_trusted = false;
	}
	return 0;
}

/* Whether a program of this site reads memory of programs where it may wait for it.  One that
 * counts never may: kernel_wait_programs() does not wait for such. */
static bool may_sleep(const struct kernel_site *site)
{
	const struct kernel_capture *c = &site->sections[0]->capture;

	if (site->sections[0]->is_folded)
		return false;
	for (uint32_t i = 0; site->point->kind == KIND_USER && i < c->n; i++)
		if (c->fetches[i].user_from <= c->fetches[i].n_hops &&
		    c->fetches[i].what != FETCH_STACK)
			return true;
	return false;
}

int kernel_site_load(struct kernel_source *s, struct kernel_site *site, uint32_t attach,
		     struct diag *d)
{
	struct bpf_code *c = malloc(sizeof *c);
	int err = c ? -EINVAL : -ENOMEM;

	for (int i = 0; c && i < 2; i++) {
		struct bpf_program_spec spec = { .attach = attach };
		bool is_trusted = !i, is_sleepable = !i && may_sleep(site);

		err = describe(s, site, &is_trusted, &spec);
		spec.flags = is_sleepable ? BPF_F_SLEEPABLE : 0;
		err = err ? err : kernel_build(s, site, is_trusted, is_sleepable, c);
		if (err) {
			diag_fail(d, err, "the program for %s is too long",
				  site->point->name ? site->point->name : "these calls");
			break;
		}
		spec.insns = c->insns;
		spec.n = (uint32_t)c->n;
		site->is_trusted = is_trusted;
		/* Only the second refusal is reported. */
		err = bpf_program_load(&spec, s->k->options.is_verbose,
				       i || !is_trusted ? d : NULL);
		if (err >= 0) {
			site->program = err;
			err = 0;
			break;
		}
	}
	free(c);
	return err;
}

int kernel_site_keep(struct kernel_site *site, int fd)
{
	int *more;

	if (fd < 0)
		return fd;
	more = site->n_links == SITE_LINKS_MAX
		       ? NULL
		       : realloc(site->links, (site->n_links + 1) * sizeof *more);
	if (!more) {
		close(fd);
		return -ENOMEM;
	}
	site->links = more;
	site->links[site->n_links++] = fd;
	return 0;
}

/* ---------------------------------------------------------------- perf events */

int kernel_site_event(struct perf_event_attr *a, pid_t pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Attaches the program to an event, and switches that on. */
int kernel_site_event_attach(struct kernel_site *site, int event, uint64_t cookie)
{
	int link = bpf_attach_perf(event, site->program, cookie);
	int err = link < 0 ? link : kernel_site_keep(site, link);

	if (link < 0 && link != -ENOMEM && !cookie) /* before Linux 5.15 */
		err = ioctl(event, PERF_EVENT_IOC_SET_BPF, site->program) ? -errno : 0;
	if (!err && ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	if (err) {
		close(event);
		return err;
	}
	return kernel_site_keep(site, event);
}

static int classic_id(struct kernel_source *s, const struct kernel_point *p)
{
	char path[256], text[32];
	int root = kernel_tracefs(s->k, NULL), fd;
	ssize_t n;

	snprintf(path, sizeof path, "events/%s/%s/id", p->system ? p->system : "", p->name);
	fd = root < 0 ? -1 : openat(root, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : io_read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -ENOENT;
	text[n] = 0;
	return atoi(text);
}

static int attach_classic(struct kernel_source *s, struct kernel_site *site, struct diag *d)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT,
				     .size = sizeof a,
				     .sample_period = 1 };
	int id = classic_id(s, site->point), event;

	if (id < 0)
		return diag_fail(d, id, "tracepoint %s has no id", site->point->name);
	a.config = (uint64_t)id;
	event = kernel_site_event(&a, -1, 0); /* with a program it is for all CPUs */
	return event < 0 ? event : kernel_site_event_attach(site, event, 0);
}

static int attach_perf(struct kernel_source *s, struct kernel_site *site)
{
	const struct kernel_point *p = site->point;
	struct perf_event_attr a = {
		.type = p->perf_type, .size = sizeof a, .config = p->config, .disabled = 1
	};
	pid_t pid = kernel_point_pid(s->k, p);
	int n_attached = 0, err = 0;

	if (p->is_frequency) {
		a.freq = 1;
		a.sample_freq = p->period;
	} else {
		a.sample_period = p->period;
	}
	if (p->perf_type == PERF_TYPE_BREAKPOINT) {
		a.bp_type = p->breakpoint;
		a.bp_addr = p->address;
		a.bp_len = p->length;
	}
	for (int cpu = 0; cpu < s->n_cpus; cpu++) {
		int event = kernel_site_event(&a, pid ? pid : -1, pid ? -1 : cpu);

		if (event == -ENODEV && !pid) /* a CPU that is off */
			continue;
		err = event < 0 ? event : kernel_site_event_attach(site, event, 0);
		if (err)
			return err;
		n_attached++;
		if (pid)
			break;
	}
	return n_attached ? 0 : -ENODEV;
}

/* ---------------------------------------------------------------- programs */

/* The type of uprobes among perf events, or -errno. */
static int uprobe_type(void)
{
	char text[32];

	return io_read_file("/sys/bus/event_source/devices/uprobe/type", text, sizeof text) <= 0
		       ? -ENOENT
		       : atoi(text);
}

static int attach_each(struct kernel_source *s, struct kernel_site *site)
{
	const struct kernel_section *section = site->sections[0];
	int type = uprobe_type(), err = type < 0 ? type : 0;
	pid_t pid = kernel_point_pid(s->k, site->point);

	for (uint32_t i = 0; !err && i < section->n_probes; i++) {
		const struct kernel_point *p =
			kernel_point_of(&s->probes[section->probes[i]]->point);
		struct perf_event_attr a = { .type = (uint32_t)type,
					     .size = sizeof a,
					     .config = p->is_return ? RETURN_BIT : 0 };
		int event;

		a.config |= p->semaphore << 32;
		a.uprobe_path = (uintptr_t)p->path;
		a.probe_offset = p->offset;
		event = kernel_site_event(&a, pid ? pid : -1, pid ? -1 : 0);
		err = event < 0 ? event : kernel_site_event_attach(site, event, section->probes[i]);
	}
	return err;
}

static int attach_all(struct kernel_source *s, struct kernel_site *site)
{
	const struct kernel_section *section = site->sections[0];
	uint32_t n = section->n_probes;
	uint64_t *words = calloc(n, 3 * sizeof *words);
	struct bpf_uprobes u = { .path = site->point->path,
				 .offsets = words,
				 .cookies = words + n,
				 .semaphores = site->point->semaphore ? words + 2 * n : NULL,
				 .n = n,
				 .is_return = site->point->is_return,
				 .pid = kernel_point_pid(s->k, site->point) };
	int link;

	if (!words)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct kernel_point *p =
			kernel_point_of(&s->probes[section->probes[i]]->point);

		words[i] = p->offset;
		words[n + i] = section->probes[i];
		words[2 * n + i] = p->semaphore;
	}
	link = bpf_attach_uprobes(&u, site->program);
	free(words);
	return link < 0 ? link : kernel_site_keep(site, link);
}

/* No process may have patched the functions itself. */
static int check_processes(const struct kernel_source *s, const struct kernel_site *site,
			   struct diag *d)
{
	const struct kernel_section *section = site->sections[0];
	uint64_t *offsets = calloc(section->n_probes, sizeof *offsets);
	int err;

	if (!offsets)
		return -ENOMEM;
	for (uint32_t i = 0; i < section->n_probes; i++)
		offsets[i] = kernel_point_of(&s->probes[section->probes[i]]->point)->offset;
	err = patched_check(site->point->path, offsets, section->n_probes,
			    kernel_point_pid(s->k, site->point),
			    s->probes[section->probes[0]]->point.text, d);
	free(offsets);
	return err;
}

/* All functions by one link where the kernel can, else one by one. */
static int load_and_attach_user(struct kernel_source *s, struct kernel_site *site, struct diag *d)
{
	int err = check_processes(s, site, d);

	if (err)
		return err;
	err = kernel_site_load(s, site, ATTACH_UPROBE_MULTI, d);
	if (!err)
		err = attach_all(s, site);
	if (!err || err == -ENOMEM)
		return err;
	kernel_site_free(site);
	err = kernel_site_load(s, site, 0, d);
	if (err)
		return err;
	err = attach_each(s, site);
	return err ? diag_fail(d, err, "cannot attach to %s: %s", site->point->path, strerror(-err))
		   : 0;
}

/* ---------------------------------------------------------------- system calls */

void kernel_site_calls(struct kernel_source *s, const struct kernel_site *site)
{
	uint64_t *masks = (uint64_t *)(s->control + site->masks_at);

	for (uint32_t i = 0; i < site->n; i++) {
		const struct kernel_section *section = site->sections[i];
		uint16_t *table = (uint16_t *)(s->control + section->table_at);

		for (uint32_t j = 0; j < section->n_probes; j++) {
			uint32_t probe = section->probes[j];
			int nr = kernel_point_of(&s->probes[probe]->point)->number;

			for (int k = nr < 0 ? 0 : nr; k < (nr < 0 ? CALL_TABLE : nr + 1); k++) {
				table[k] = (uint16_t)probe;
				masks[k] |= 1ull << (site->first + i);
			}
		}
	}
}

/* A site with too many sections becomes two. */
static int split(struct kernel_source *s, struct kernel_site *site)
{
	struct kernel_site **more = realloc(s->sites, (s->n_sites + 1) * sizeof *more);
	struct kernel_site *other = more ? calloc(1, sizeof *other) : NULL;
	uint32_t half = site->n / 2;

	if (more)
		s->sites = more;
	if (!other)
		return -ENOMEM;
	*other = (struct kernel_site){ .point = site->point,
				       .program = -1,
				       .masks_at = site->masks_at,
				       .first = site->first + half };
	other->sections = calloc(site->n - half, sizeof *other->sections);
	if (!other->sections) {
		free(other);
		return -ENOMEM;
	}
	other->n = site->n - half;
	memcpy(other->sections, site->sections + half, other->n * sizeof *other->sections);
	site->n = half;
	s->sites[s->n_sites++] = other;
	return 0;
}

/* ---------------------------------------------------------------- all */

static int attach(struct kernel_source *s, struct kernel_site *site, struct diag *d)
{
	int fd;

	if (site->point->kind == KIND_PERF)
		return attach_perf(s, site);
	if (site->is_classic)
		return attach_classic(s, site, d);
	fd = bpf_attach_raw(site->is_trusted ? NULL : tracepoint_of(site), site->program);
	return fd < 0 ? fd : kernel_site_keep(site, fd);
}

int kernel_site_attach(struct kernel_source *s, uint32_t i, struct diag *d)
{
	struct kernel_site *site = s->sites[i];
	const char *text = s->probes[site->sections[0]->probes[0]]->point.text;
	int err;

	if (site->point->kind == KIND_USER)
		return load_and_attach_user(s, site, d);
	err = site->point->kind == KIND_FUNCTION ? kernel_site_function(s, site, d)
						 : kernel_site_load(s, site, 0, d);
	if (err == -E2BIG && site->n > 1) {
		err = split(s, site);
		return err ? err : kernel_site_attach(s, i, d);
	}
	if (err || site->point->kind == KIND_FUNCTION)
		return err;
	if (d)
		d->text[0] = 0;
	err = attach(s, site, d);
	if (err && d && !d->text[0])
		return diag_fail(d, err, "cannot attach %s: %s", text, strerror(-err));
	return err;
}

void kernel_site_detach(struct kernel_site *site)
{
	/* Links first, then the events they are on. */
	for (uint32_t i = 0; i < site->n_links; i++)
		close(site->links[i]);
	free(site->links);
	site->links = NULL;
	site->n_links = 0;
}

void kernel_site_free(struct kernel_site *site)
{
	if (!site)
		return;
	kernel_site_detach(site);
	if (site->program >= 0)
		close(site->program);
	site->program = -1;
}
