/* SPDX-License-Identifier: MIT */
/* find/system/rights.c - this user: root or capabilities, and the lender of kernel recordings. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "find/system/internal.h"
#include "kernel/tracefs/public.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static unsigned long long capabilities(void)
{
	char text[4096];
	const char *at = io_read_file("/proc/self/status", text, sizeof text) > 0
				 ? strstr(text, "\nCapEff:")
				 : NULL;

	return at ? strtoull(at + strlen("\nCapEff:"), NULL, 16) : 0;
}

static void check_user(const struct checking *c)
{
	static const struct {
		int number;
		const char *name, *use;
	} wanted[] = {
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "tracefs" },
		{ CAP_BPF, "CAP_BPF", "BPF" },
		{ CAP_PERFMON, "CAP_PERFMON", "perf" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "programs of other users" },
	};
	unsigned long long have = capabilities();
	char missing[160] = "";
	size_t n = 0;

	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!(have >> wanted[i].number & 1))
			n += (size_t)snprintf(missing + n, sizeof missing - n, "%s%s (%s)",
					      n ? ", " : "", wanted[i].name, wanted[i].use);
	if (!n)
		check_fine(c, "user", "uid %u, with all capabilities that recording needs",
			   (unsigned)c->by->uid);
	else if (c->by->uid)
		check_fine(c, "user", "uid %u: records its own programs", (unsigned)c->by->uid);
	else
		check_bad(c, "user", FIND_NOTE, "run duet outside the container, or give it these",
			  "root without %s", missing);
}

/* "usermod -a -G tracing NAME". */
static const char *how_to_join(uid_t uid, char text[160])
{
	struct passwd *user = getpwuid(uid);

	snprintf(text, 160, "as root: usermod -a -G tracing %.60s, then log in again",
		 user ? user->pw_name : "USER");
	return text;
}

/* Root needs no lender. */
static void check_lender(const struct checking *c)
{
	char join[160];

	if (!access(BROKER_SOCKET, W_OK))
		check_fine(c, "lender", "%s: kernel events without root", BROKER_SOCKET);
	else if (!c->by->uid)
		check_fine(c, "lender", "not needed by root; for others: duet lend");
	else if (errno == EACCES)
		check_bad(c, "lender", FIND_FINDING, how_to_join(c->by->uid, join),
			  "%s: this user is not in its group", BROKER_SOCKET);
	else
		check_bad(c, "lender", FIND_NOTE,
			  "root can lend kernel events: systemctl enable --now duet-lend.socket, "
			  "or duet lend",
			  "none runs");
}

static void check_group(const struct checking *c)
{
	struct group *tracing = getgrnam("tracing");
	gid_t groups[1024];
	int n = getgroups(1024, groups);
	bool is_member = false;
	char join[160];

	for (int i = 0; tracing && i < n; i++)
		is_member |= groups[i] == tracing->gr_gid;
	if (!c->by->uid || is_member)
		check_fine(c, "group", "%s",
			   is_member ? "a member of group tracing" : "root needs none");
	else
		check_bad(c, "group", FIND_NOTE,
			  tracing ? how_to_join(c->by->uid, join)
				  : "groupadd --system tracing as root, for duet lend",
			  tracing ? "not in group tracing" : "there is no group tracing");
}

void check_rights(struct checking *c)
{
	check_user(c);
	check_group(c);
	check_lender(c);
}
