/* SPDX-License-Identifier: MIT */
/* Whether a lent instance has a lender. The instance is a plain directory here. */
#include "kernel/tracefs/lent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

/* No process has number 1 and this start. */
#define NAME "duet-1-1-0-u1000"

static int dir;

static void a_loan_is_over_if_nobody_holds_its_lock(void)
{
	struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int lender = openat(dir, "options", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	is(kernel_lent_is_over(NAME, dir), true);
	is(fcntl(lender, F_OFD_SETLK, &whole), 0);
	is(kernel_lent_is_over(NAME, dir), false);
	close(lender);
	is(kernel_lent_is_over(NAME, dir), true);
}

/* For the rest of this process. */
static int refuse_to_look_at_locks(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_GETLK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void a_lock_that_cannot_be_looked_at_counts_as_held(void)
{
	if (refuse_to_look_at_locks()) {
		printf("# no seccomp here\n");
		return;
	}
	is(kernel_lent_is_over(NAME, dir), false);
}

int main(void)
{
	char path[] = "/tmp/duet-lent-test-XXXXXX";

	ok(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(dir >= 0 && !mkdirat(dir, "options", 0700));
	run(a_loan_is_over_if_nobody_holds_its_lock);
	run(a_lock_that_cannot_be_looked_at_counts_as_held);
	ok(!unlinkat(dir, "options", AT_REMOVEDIR) && !rmdir(path));
	close(dir);
	return test_status();
}
