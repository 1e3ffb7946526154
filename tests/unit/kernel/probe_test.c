/* SPDX-License-Identifier: MIT */
/* Probes on their way into the kernel's list, which is a plain file here. */
#include "kernel/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static const struct kernel_uprobe wanted = { .text = "f", .kind = KERNEL_UPROBE };

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
		is(kernel_selection_add(&s, &(struct kernel_candidate){ name, "others", name, -1, false }, NULL), 0);
	}
	kernel_probes_begin(&p, root, "instances/duet-1-2-0", &s, &d);
	kernel_probes_next(&p, &wanted);
	for (int i = 0; i < KERNEL_PROBES_MAX; i++)
		is(add(&p), 0);
	is(add(&p), -E2BIG);
	ok(strstr(d.text, "512 probes"));
	kernel_selection_fini(&s);
	is(unlinkat(root, "uprobe_events", 0), 0);
	is(rmdir(path), 0);
	close(list);
	close(root);
}

int main(void)
{
	run(only_probes_count_against_their_limit);
	return test_status();
}
