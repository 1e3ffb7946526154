/* SPDX-License-Identifier: MIT */
/* collect/calls/calls.c - the directory of plans of a session. */
#include "collect/calls/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/session/programs.h"

static int write_generation(const struct calls *c, struct diag *d)
{
	const struct abi_plans p = { .magic = ABI_PLANS_MAGIC,
				     .generation = c->generation,
				     .epoch = c->epoch };
	int fd = openat(c->plans, ".generation", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : io_write(fd, &p, sizeof p);

	if (fd >= 0)
		close(fd);
	if (!err && renameat(c->plans, ".generation", c->plans, "generation"))
		err = -errno;
	return err ? diag_fail(d, err, "cannot write the plans of functions: %s", strerror(-err))
		   : 0;
}

static int make_directory(struct calls *c, struct diag *d)
{
	char name[ABI_NAME_BYTES + 16];
	int err = 0;

	snprintf(name, sizeof name, "calls-%s", c->session);
	programs_remove_plans(c->dir, c->session);
	if (!mkdirat(c->dir, name, 0700))
		c->plans = openat(c->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->plans < 0)
		err = diag_errno(d, "cannot make %s in the runtime directory", name);
	return err ? err : write_generation(c, d);
}

int calls_open(struct calls *c, const struct session *s, struct diag *d)
{
	struct rights before = owner_begin(s->dir);
	int err;

	*c = (struct calls){ .dir = s->dir,
			     .plans = -1,
			     .session = s->file.name,
			     .epoch = s->file.epoch,
			     .generation = 1 };
	err = make_directory(c, d);
	owner_end(before);
	return err;
}

void calls_close(struct calls *c)
{
	if (c->plans < 0)
		return;
	close(c->plans);
	programs_remove_plans(c->dir, c->session);
	*c = CALLS_NONE;
}
