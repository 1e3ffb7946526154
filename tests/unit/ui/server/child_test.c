/* SPDX-License-Identifier: MIT */
/* unit/ui/server/child_test.c - a command's output, its limits, and its end. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "ui/child/child.h"

static struct ui_child_result r;

static int shell(const char *script, struct ui_child_options o)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct diag d;

	o.argv = argv;
	return ui_child_run(&o, &r, &d);
}

/* Whether the process whose number was printed is there. */
static bool is_there(void)
{
	pid_t pid = r.out.bytes ? (pid_t)atoi(r.out.bytes) : 0;

	ok(pid > 1);
	for (int i = 0; i < 500 && !kill(pid, 0); i++)
		usleep(10000); /* until init has waited for it */
	return !kill(pid, 0);
}

static void output_errors_and_status_are_kept(void)
{
	is(shell("cat; echo out; echo errors >&2; exit 3",
		 (struct ui_child_options){ .input = "in\n" }),
	   0);
	is(r.end, UI_CHILD_EXITED);
	is(r.status, 3);
	is_text(r.out.bytes, "in\nout\n");
	is_text(r.errors.bytes, "errors\n");
	ui_child_result_fini(&r);
	is(shell("cat; kill -9 $$", (struct ui_child_options){ .input = NULL }), 0);
	is(r.end, UI_CHILD_KILLED);
	is(r.status, -1);
	ui_child_result_fini(&r);
}

static void much_output_is_read_while_it_is_written(void)
{
	is(shell("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2",
		 (struct ui_child_options){ .input = NULL }),
	   0);
	is(r.out.size, 3000000);
	is(r.errors.size, 2000000);
	ui_child_result_fini(&r);
}

static void too_long_too_much_and_cancelled_end_it_with_all_it_started(void)
{
	static const uint32_t is_cancelled = 1;
	const struct ui_child_options short_time = { .timeout_ns = 300000000 };

	is(shell("sleep 1000 & echo $!; wait", short_time), 0);
	is(r.end, UI_CHILD_TOO_LONG);
	ok(!is_there());
	ui_child_result_fini(&r);

	is(shell("sleep 1000 & echo $!; exec cat /dev/zero",
		 (struct ui_child_options){ .most_bytes = 5000 }),
	   0);
	is(r.end, UI_CHILD_TOO_MUCH);
	is(r.out.size, 5000);
	ok(!is_there());
	ui_child_result_fini(&r);

	is(shell("sleep 1000", (struct ui_child_options){ .is_cancelled = &is_cancelled }), 0);
	is(r.end, UI_CHILD_CANCELLED);
	ui_child_result_fini(&r);
}

static void what_it_leaves_behind_is_not_waited_for(void)
{
	pid_t left;

	is(shell("sleep 1000 & echo $!", (struct ui_child_options){ .timeout_ns = 60000000000 }),
	   0);
	is(r.end, UI_CHILD_EXITED);
	is(r.status, 0);
	left = (pid_t)atoi(r.out.bytes);
	is(kill(left, SIGKILL), 0);
	ui_child_result_fini(&r);
}

static void a_file_that_cannot_run_is_named(void)
{
	const char *const argv[] = { "/no/such/file", NULL };
	const struct ui_child_options o = { .argv = argv };
	struct diag d;

	is(ui_child_run(&o, &r, &d), -ENOENT);
	ok(strstr(d.text, "/no/such/file"));
	ui_child_result_fini(&r);
}

int main(void)
{
	run(output_errors_and_status_are_kept);
	run(much_output_is_read_while_it_is_written);
	run(too_long_too_much_and_cancelled_end_it_with_all_it_started);
	run(what_it_leaves_behind_is_not_waited_for);
	run(a_file_that_cannot_run_is_named);
	return test_status();
}
