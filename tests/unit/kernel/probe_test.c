/* SPDX-License-Identifier: MIT */
/* Probes on their way into the kernel's list, which is a plain file here. */
#include "kernel/probe/kprobe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static const struct kernel_uprobe probe = { .text = "f", .kind = KERNEL_UPROBE };

static int add(struct kernel_probes *p)
{
	return kernel_probe_add(p, "p", "uprobe", "f", 1, "/bin/x:0x10", "");
}

static void only_probes_count_against_their_limit(void)
{
	char path[] = "/tmp/duet-probe-test-XXXXXX", name[16];
	struct kernel_selection s = { .n_events = 0 };
	struct diag d = { "" };
	struct kernel_probes p;
	int root, list;

	ok(mkdtemp(path));
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(root >= 0);
	list = openat(root, "uprobe_events", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ok(list >= 0);
	for (int i = 0; i < KERNEL_PROBES_MAX; i++) {
		snprintf(name, sizeof name, "e%d", i);
		is(kernel_selection_add(
			   &s, &(struct kernel_candidate){ name, "others", name, -1, false }, NULL),
		   0);
	}
	kernel_probes_begin(&p, root, "instances/duet-1-2-0", &s, &d);
	kernel_probes_next(&p, &probe);
	for (int i = 0; i < KERNEL_PROBES_MAX; i++)
		is(add(&p), 0);
	is(add(&p), -E2BIG);
	ok(strstr(d.text, "512 probes"));
	kernel_probes_fini(&p);
	kernel_selection_fini(&s);
	is(unlinkat(root, "uprobe_events", 0), 0);
	is(rmdir(path), 0);
	close(list);
	close(root);
}

/* A directory with files of tracefs in it; "functions" lists the functions that can be traced. */
static int make_tracefs(char *path, const char *functions, const char *events_are)
{
	int root, fd;

	ok(mkdtemp(path));
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ok(root >= 0);
	fd = openat(root, "available_filter_functions", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	is(write(fd, functions, strlen(functions)), (ssize_t)strlen(functions));
	close(fd);
	is(symlinkat(events_are, root, "kprobe_events"), 0);
	return root;
}

static void remove_tracefs(const char *path, int root)
{
	unlinkat(root, "available_filter_functions", 0);
	unlinkat(root, "kprobe_events", 0);
	unlinkat(root, "kprobe_profile", 0);
	close(root);
	is(rmdir(path), 0);
}

static void unprobeable_functions_of_a_pattern_are_left_out(void)
{
	static const struct kernel_uprobe all = { .text = "do_*", .kind = KERNEL_KPROBE };
	char path[] = "/tmp/duet-probe-test-XXXXXX";
	struct kernel_selection s = { .n_events = 0 };
	struct diag d = { "" };
	struct kernel_probes p;
	int root = make_tracefs(path, "do_one\ndo_two [mod]\nother\ndo_one\ndo_two.cold\n",
				"/dev/null");

	kernel_probes_begin(&p, root, "instances/duet-1-2-0", &s, &d);
	kernel_probes_next(&p, &all);
	is(kernel_kprobe_make(&p), 0);
	is(s.n_events, 2);
	is_text(s.events[0].name, "kprobe_do_one");
	is_text(s.events[0].event, "duet_1_2_0_p0");
	is_text(s.events[1].name, "kprobe_do_two");
	is(p.n_refused, 1); /* the kernel would put it at the first one again */
	is_text(p.refused.bytes, "do_one");
	is_text(d.text, "");
	kernel_probes_fini(&p);
	kernel_selection_fini(&s);
	remove_tracefs(path, root);
}

static void none_that_can_be_probed_is_an_error(void)
{
	static const struct kernel_uprobe all = { .text = "do_*", .kind = KERNEL_KPROBE };
	char path[] = "/tmp/duet-probe-test-XXXXXX";
	struct kernel_selection s = { .n_events = 0 };
	struct diag d = { "" };
	struct kernel_probes p;
	int root = make_tracefs(path, "do_one\ndo_two\n", "/dev/full");

	kernel_probes_begin(&p, root, "instances/duet-1-2-0", &s, &d);
	kernel_probes_next(&p, &all);
	ok(kernel_kprobe_make(&p) < 0);
	ok(strstr(d.text, "--kprobe do_*: the kernel refuses it"));
	kernel_probes_fini(&p);
	kernel_selection_fini(&s);
	remove_tracefs(path, root);
}

static void missed_probe_hits_are_summed_up_for_one_instance(void)
{
	static const char profile[] =
		"  duet_1_2_0_p0       20       3\n  duet_1_2_01_p0     1   100\n  myprobe  5  7\n"
		"  duet_1_2_0_p12      4000000000   5000000000\n  duet_1_2_0_p3\n";
	char path[] = "/tmp/duet-probe-test-XXXXXX";
	int root = make_tracefs(path, "", "/dev/null"), fd;

	is(kernel_probes_missed(root, "instances/duet-1-2-0"), 0); /* there is no such file */
	fd = openat(root, "kprobe_profile", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	is(write(fd, profile, sizeof profile - 1), (ssize_t)sizeof profile - 1);
	close(fd);
	ok(kernel_probes_missed(root, "instances/duet-1-2-0") == 5000000003u);
	remove_tracefs(path, root);
}

int main(void)
{
	run(only_probes_count_against_their_limit);
	run(unprobeable_functions_of_a_pattern_are_left_out);
	run(none_that_can_be_probed_is_an_error);
	run(missed_probe_hits_are_summed_up_for_one_instance);
	return test_status();
}
