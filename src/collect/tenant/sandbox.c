/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/sandbox.c - give up groups, user ids and capabilities, in the order that the
 * kernel requires.
 *
 * The bounding set and no_new_privs come first, while we still have CAP_SETPCAP.
 */
#include "collect/tenant/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Far above the ids of users and the ranges that container managers assign. */
#define FIRST_NUMBER 4294836224u
enum { NOBODY = 65534 }; /* used in a user namespace that does not map the ids above */

#define BIT(capability) (1ull << (capability))

int sandbox_files(const struct tenant *t, struct diag *d)
{
	if (setgroups(0, NULL) && getgroups(0, NULL))
		return diag_errno(d, "cannot give up root's groups");
	rights_take((struct rights){ t->uid, t->gid });
	return 0;
}

static uint64_t permitted(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct c[2] = { { 0 } };

	syscall(SYS_capget, &h, c);
	return c[0].permitted | (uint64_t)c[1].permitted << 32;
}

static int set_capabilities(uint64_t are)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint32_t low = (uint32_t)are, high = (uint32_t)(are >> 32);
	const struct __user_cap_data_struct c[2] = { { low, low, 0 }, { high, high, 0 } };

	return (int)syscall(SYS_capset, &h, c);
}

/* Ensures that no program that we execute gains capabilities. */
static int forbid_gains(void)
{
	for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0))
			return -1;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Permitted capabilities survive (PR_SET_KEEPCAPS): the remaining steps need them. */
static int become(uid_t id)
{
	return setresgid(id, id, id) || setresuid(id, id, id) ? -1 : 0;
}

static int give_up_rights(const struct tenant *t, unsigned number, bool scans)
{
	uint64_t keep =
		scans ? BIT(CAP_CHECKPOINT_RESTORE) | (*t->container ? BIT(CAP_SYS_PTRACE) : 0) : 0;
	const struct rights tenant = { t->uid, t->gid };

	keep &= permitted();
	if (forbid_gains() || prctl(PR_SET_KEEPCAPS, 1) ||
	    (become(FIRST_NUMBER + number) && become(NOBODY)) || set_capabilities(permitted()))
		return -1;
	rights_take(tenant);
	return set_capabilities(keep);
}

int sandbox_enter(const struct tenant *t, unsigned number, bool scans, struct diag *d)
{
	int death_signal = 0;
	pid_t parent = getppid();

	assert(number < 65536);
	prctl(PR_GET_PDEATHSIG, &death_signal);
	if (give_up_rights(t, number, scans))
		return diag_errno(d, "cannot give up root's rights");
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, death_signal); /* the kernel cleared it */
	if (death_signal && getppid() != parent)
		raise(death_signal);
	return 0;
}
