/* SPDX-License-Identifier: MIT */
/*
 * cmd/session/list.c - duet list: the programs and events that are traced, and those that can be.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/runtime.h"
#include "base/schema.h"
#include "cmd/cmd.h"
#include "cmd/complete.h"
#include "cmd/doctor/explain.h"
#include "cmd/options.h"
#include "cmd/pager.h"
#include "cmd/session/list_functions.h"
#include "cmd/session/list_probes.h"
#include "collect/session/public.h"
#include "collect/tenant/public.h"
#include "ctf/write/public.h"
#define DUET_I_LAYOUT_ONLY
#include "duet/site.h"
#include "elf/sites.h"
#include "kernel/kernel.h"
#include "kernel/select/candidates.h"
#include "cmd/nearest.h"
#include "cmd/print/print.h"
#include "rules/pattern.h"

static const char help[] =
	"usage: duet list [PID]...        traced programs of this user, their events: [x] enabled\n"
	"       duet list [--all-users] [--containers]    as root: those of others as well\n"
	"       duet list FILE...         the events in a program or library on disk\n"
	"       duet list -k [PATTERN]    the kernel's events, as duet and as tracefs name them\n"
	"       duet list -u FILE         functions of a program or library, for duet record -u\n"
	"       duet list --usdt FILE     its markers of sys/sdt.h, for duet record --usdt\n"
	"       duet list --functions FILE[:GLOB]    functions and marks that can be patched, for "
	"--graph FILE:FUNCTION\n\n"
	"  -p, --pid PID   only this process\n"
	"  -k, --kernel    the kernel's events\n"
	"  -u, --uprobe FILE, --usdt FILE    what may be probed in it\n"
	"      --no-pager  on a terminal, do not show it page by page\n"
	"      --functions FILE[:GLOB]       how each function can be patched, or why not\n"
	"      --all-users, --containers    also programs of all users, and those in containers\n"
	"      --complete duet WORD...      for shells: what may stand for the last word, a line "
	"each\n";

struct listing {
	struct abi_session_slots session_slots;
	uint32_t programs;
};

/* The sessions that record the program, as "  (default, web)". */
static void print_sessions(const struct listing *l, const struct program *a,
			   const struct program_event *e)
{
	const char *before = "  (";

	for (uint32_t i = 0; i < ABI_SESSIONS; i++) {
		struct abi_session f = { .session_slot = i, .epoch = l->session_slots.at[i].epoch };

		if (ABI_EPOCH_IS_NONE(f.epoch) || !program_event_is_of(a, e, &f))
			continue;
		print_out("%s%s", before, l->session_slots.at[i].session);
		before = ", ";
	}
	if (ABI_ENABLED(e->enabled, ABI_OWN_SESSION_SLOT)) {
		print_out("%sits own probes", before);
		before = ", ";
	}
	if (*before == ',')
		print_out(")");
}

/* Print the line "13 shop:order i32 id str item" as name and fields. */
static void print_event(const struct listing *l, const struct program *a,
			const struct program_event *e)
{
	const char *p = strchr(e->schema, ' ');
	char name[512];

	if (!p || !schema_name(e->schema, strlen(e->schema), name, sizeof name))
		return;
	p = strchr(p + 1, ' ');
	print_out("  [%c] %s%s", e->enabled ? 'x' : ' ', name, p ? p : "");
	print_sessions(l, a, e);
	print_out("\n");
}

static int print_app(void *arg, struct program *a)
{
	struct listing *l = arg;
	pid_t pid = program_pid(a);
	struct program_event e;
	uint64_t lost = 0;

	l->programs++;
	if (pid > 0 && (uint32_t)pid != a->page.pid)
		print_out("%d (%u in its pid namespace) %s", (int)pid, a->page.pid,
			  a->page.program);
	else if (pid > 0)
		print_out("%d %s", (int)pid, a->page.program);
	else
		print_out("%u (as it calls itself in its pid namespace) %s", a->page.pid,
			  a->page.program);
	if (a->page.sessions[0])
		print_out("  (DUET_SESSION %s)", a->page.sessions);
	for (uint32_t i = 0; i < ABI_SESSIONS; i++)
		lost += a->page.session_slots[i].lost;
	if (lost)
		print_out("  (%llu events lost: no collector answered)", (unsigned long long)lost);
	if (a->page.dormant == ABI_DORMANT_SECCOMP)
		print_out("  (dormant: it has locked itself up by seccomp before it was recorded; "
			  "record it "
			  "from its start)");
	if (a->page.dormant == ABI_DORMANT_CLOCK)
		print_out("  (dormant: it may not read the time stamp counter, see PR_SET_TSC in "
			  "prctl(2))");
	print_out("\n");
	for (uint32_t i = 0; program_event(a, i, &e); i++)
		print_event(l, a, &e);
	if (a->page.n_refused)
		print_out("  and %u sites that cannot be recorded: a program has room for %d "
			  "events\n",
			  a->page.n_refused, ABI_EVENTS);
	return 0;
}

struct others {
	struct listing *listing;
	struct stat own; /* of our own runtime directory */
};

static int list_tenant(void *arg, const struct tenant *t, const struct stat *st)
{
	struct others *o = arg;
	char label[TENANT_LABEL_BYTES];

	if (st->st_dev == o->own.st_dev && st->st_ino == o->own.st_ino)
		return 0;
	tenant_label(t, label);
	print_out("%s %s:\n", *t->container ? "container" : "user", label);
	session_slots_read(t->dir, &o->listing->session_slots);
	programs_each(t->dir, 0, print_app, o->listing);
	return 0;
}

static void list_others(struct listing *l, int dir, bool users, bool containers)
{
	struct others o = { .listing = l };
	const struct tenants_scan look = { .users = users,
					   .containers = containers,
					   .inotify = -1,
					   .visit = list_tenant,
					   .arg = &o };

	if (dir >= 0)
		fstat(dir, &o.own);
	tenants_each(&look);
}

static int list_programs(const struct cmd_pids *pids, bool users, bool containers)
{
	struct listing l = { 0 };
	int dir = runtime_dir_open(false);

	if (dir < 0 && dir != -ENOENT)
		return cmd_error("list",
				 "the runtime directory cannot be used: %s (it must be yours, "
				 "mode 0700)",
				 strerror(-dir));
	if (dir >= 0) {
		tenants_sweep(dir);
		session_slots_read(dir, &l.session_slots);
	}
	for (int i = 0; dir >= 0 && i < (pids->n ? pids->n : 1); i++) {
		uint32_t before = l.programs;

		programs_each(dir, pids->n ? pids->at[i] : 0, print_app, &l);
		if (pids->n && l.programs == before) {
			enum find_state state = explain_process("list", pids->at[i], false);

			close(dir);
			return state != FIND_RECORDABLE
				       ? CMD_FAILED
				       : cmd_error("list", "-p %d: it has ended", (int)pids->at[i]);
		}
	}
	if (users || containers)
		list_others(&l, dir, users, containers);
	if (dir < 0 && pids->n)
		return explain_process("list", pids->at[0], false), CMD_FAILED;
	if (dir >= 0)
		close(dir);
	if (!l.programs)
		print_out("no traced program of yours is running: `duet record -- COMMAND` starts "
			  "one, "
			  "`duet list FILE` looks into one\n");
	if (!pids->n && !users && !containers)
		explain_running("list", NULL, false);
	return 0;
}

static void print_site(void *arg, const struct elf_site *s)
{
	(void)arg;
	if (s->kind == DUET_I_MARK)
		print_out("  %s \"%s\"\n", s->name, s->schema);
	else
		print_out("  %s%s%s\n", s->name, s->schema,
			  schema_is_sound(
				  (struct schema_text){ s->schema, s->schema + strlen(s->schema) })
				  ? ""
				  : "   (not recordable: sizes and values must be plain numbers)");
}

struct file_listing {
	const char *path;
	bool is_begun;
};

/* The file's name first, unless it cannot be read at all. */
static void print_first(void *arg, const struct elf_site *s)
{
	struct file_listing *of = arg;

	if (!of->is_begun)
		print_out("%s\n", of->path);
	of->is_begun = true;
	print_site(NULL, s);
}

static int list_file(const char *path)
{
	struct file_listing of = { path, false };
	struct diag d = { "" };
	int n;

	if (access(path, F_OK))
		return cmd_error("list",
				 "%s: no such file; events of running programs: duet list, of the "
				 "kernel: duet list -k %s",
				 path, path);
	n = elf_sites(path, print_first, &of, &d);
	if (n < 0)
		return cmd_error("list", "%s", d.text);
	explain_file("list", path);
	return n ? 0 : CMD_FAILED;
}

struct kernel_listing {
	const char *pattern; /* NULL: all */
	struct nearest near;
	uint32_t n;
};

static void print_kernel_event(void *arg, const char *event, const char *tracefs_name)
{
	struct kernel_listing *l = arg;
	if (l->pattern) {
		const char *end = l->pattern + strlen(l->pattern);

		nearest_try(&l->near, event);
		if (strchr(l->pattern, ':'))
			nearest_try(&l->near, tracefs_name);
		if (!strncmp(event, "syscall_entry_", 14))
			nearest_try(&l->near, event + 14);
		if (!kernel_pattern_has(l->pattern, tracefs_name, event) &&
		    !pattern_glob(l->pattern, end, tracefs_name,
				  tracefs_name + strlen(tracefs_name)))
			return;
	}
	l->n++;
	print_out("%-40s %s\n", event, tracefs_name);
}

static int list_kernel(const char *pattern)
{
	struct kernel_listing l = { .pattern = pattern, .near = { .wanted = pattern } };
	struct diag d = { "" };
	char text[NEAREST_MAX + 32];

	if (pattern && *pattern == '!')
		return cmd_error("list", "-k %s: a list leaves out nothing: name what to list",
				 pattern);
	if (kernel_list(print_kernel_event, &l, &d))
		return cmd_error("list", "-k: %s", d.text);
	return l.n ? 0
		   : cmd_error("list", "-k %s: no event of the kernel is called so%s",
			       pattern ? pattern : "",
			       *l.near.best ? nearest_text(&l.near, text)
			       : pattern && strchr(pattern, ':')
				       ? ": events of applications: duet list"
				       : ": duet list -k lists them, and '*part*' finds some");
}

/* A process, unless there is a file of that name. */
static bool is_number(const char *argument)
{
	return *argument && !argument[strspn(argument, "0123456789")] && access(argument, F_OK);
}

int cmd_list(int argc, char **argv)
{
	static const struct option options[] = { { "pid", required_argument, NULL, 'p' },
						 { "kernel", no_argument, NULL, 'k' },
						 { "all-users", no_argument, NULL, 'U' },
						 { "containers", no_argument, NULL, 'C' },
						 { "uprobe", required_argument, NULL, 'u' },
						 { "usdt", required_argument, NULL, 'D' },
						 { "functions", required_argument, NULL, 'F' },
						 { "no-pager", no_argument, NULL, 'P' },
						 { "help", no_argument, NULL, 'h' },
						 { NULL, 0, NULL, 0 } };
	struct cmd_pids pids = { 0 };
	const char *probed = NULL, *patched = NULL;
	bool is_usdt = false, kernel = false, users = false, containers = false;
	int c, status = 0;

	if (argc > 1 && !strcmp(argv[1], "--complete"))
		return complete_line(argc - 2, argv + 2);
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":p:ku:h", options, NULL)) != -1) {
		if (c == ':' || c == '?')
			return options_refuse("list", c, options, argv);
		if (c == 'p') {
			if (!cmd_add_pid("list", &pids, optarg))
				return CMD_FAILED;
		} else if (c == 'k') {
			kernel = true;
		} else if (c == 'U') {
			users = true;
		} else if (c == 'C') {
			containers = true;
		} else if (c == 'u' || c == 'D') {
			probed = optarg;
			is_usdt = c == 'D';
		} else if (c == 'F') {
			patched = optarg;
		} else if (c == 'P') {
			pager_disable();
		} else if (c == 'h') {
			print_own(help);
			return 0;
		}
	}
	if ((users || containers) && geteuid())
		return cmd_error("list",
				 "--all-users, --containers: only root sees other users' programs");
	if ((users || containers) && (kernel || pids.n || optind < argc))
		return cmd_usage("list",
				 "--all-users and --containers go with no other option or file");
	if ((probed || patched) && (kernel || users || containers || pids.n || optind < argc))
		return cmd_usage("list",
				 "-u, --usdt and --functions go with no other option or file");
	if (probed && patched)
		return cmd_usage("list", "--functions goes with no other option");
	if (kernel && argc - optind > 1)
		return cmd_usage("list", "-k takes one pattern");
	while (!kernel && optind < argc && is_number(argv[optind]))
		if (!cmd_add_pid("list", &pids, argv[optind++]))
			return CMD_FAILED;
	pager_open();
	if (patched)
		status = list_functions(patched);
	else if (probed)
		status = list_probes(probed, is_usdt);
	else if (kernel)
		status = list_kernel(optind < argc ? argv[optind] : NULL);
	else if (optind == argc)
		status = list_programs(&pids, users, containers);
	else
		for (; optind < argc; optind++)
			if (list_file(argv[optind]))
				status = CMD_FAILED;
	pager_close();
	return status;
}
