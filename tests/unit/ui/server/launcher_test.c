/* SPDX-License-Identifier: MIT */
/* unit/ui/server/launcher_test.c - which commands the timeline's server can have started. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui/child/launcher.h"

#define COMMAND(...) ((const char *const[]){ "duet", __VA_ARGS__, NULL })
#define DIRECTORY "/tmp/duet-ui-x"

static void requests_of_the_server_are_allowed(void)
{
	ok(launcher_allows(COMMAND("status", "--json"), DIRECTORY));
	ok(launcher_allows(COMMAND("export", "csv", "-o", DIRECTORY "/a/file", "--from", "+1s",
				   "-f", "x == 1", "--", "-strange"),
			   DIRECTORY));
	ok(launcher_allows(
		COMMAND("script", "--no-system", "--tables", "/dev/fd/3", "-r", "rec", "-"),
		DIRECTORY));
	ok(launcher_allows(
		COMMAND("start", "--output=/x", "--event=a:*", "--overwrite", "--", "name"),
		DIRECTORY));
	ok(launcher_allows(COMMAND("enable", "--session=a", "--", "x:*"), DIRECTORY));
	ok(launcher_allows(COMMAND("stop", "--", "name"), DIRECTORY));
}

static void nothing_else_is(void)
{
	const char *const none[] = { NULL }, *const alone[] = { "duet", NULL };

	ok(!launcher_allows(none, DIRECTORY));
	ok(!launcher_allows(alone, DIRECTORY));
	ok(!launcher_allows(COMMAND("record", "--", "sh"), DIRECTORY));
	ok(!launcher_allows(COMMAND("/bin/sh", "-c", "id"), DIRECTORY));
	ok(!launcher_allows(COMMAND("report", "why", "--", "sh"), DIRECTORY));
	ok(!launcher_allows(COMMAND("trigger", "add"), DIRECTORY));
	ok(!launcher_allows(COMMAND("script", "-r", "rec", "-"), DIRECTORY));
	ok(!launcher_allows(COMMAND("script", "--no-system", "-c", "sh"), DIRECTORY));
	ok(!launcher_allows(COMMAND("script", "--no-system", "-o", "/x"), DIRECTORY));
	ok(!launcher_allows(COMMAND("script", "--no-system", "--save=/x"), DIRECTORY));
	ok(!launcher_allows(COMMAND("script", "--no-system", "-e", "probe begin {}"), DIRECTORY));
	ok(!launcher_allows(COMMAND("script", "--no-system", "--tables", "/root/x"), DIRECTORY));
	ok(!launcher_allows(COMMAND("export", "csv", "-o", "/root/.bashrc", "rec"), DIRECTORY));
	ok(!launcher_allows(COMMAND("export", "csv", "-o", DIRECTORY "/../x", "rec"), DIRECTORY));
	ok(!launcher_allows(COMMAND("export", "csv", "-o", DIRECTORY "y/x", "rec"), DIRECTORY));
	ok(!launcher_allows(COMMAND("export", "csv", "-o"), DIRECTORY));
	ok(!launcher_allows(COMMAND("export", "csv", "rec"), DIRECTORY));
	ok(!launcher_allows(COMMAND("start", "--trigger=x"), DIRECTORY));
	ok(!launcher_allows(COMMAND("start", "--output"), DIRECTORY));
	ok(!launcher_allows(COMMAND("start", "name"), DIRECTORY));
	ok(!launcher_allows(COMMAND("status", "--json=x"), DIRECTORY));
	ok(!launcher_allows(COMMAND("status", ""), DIRECTORY));
}

/* The server asks for anything; the launcher decides. */
static void the_launcher_starts_nothing_else_and_cleans_up(void)
{
	int files[3] = { open("/dev/null", O_RDWR), open("/dev/null", O_RDWR),
			 open("/dev/null", O_RDWR) };
	int pidfd, status;
	struct diag d;
	char directory[256];
	pid_t pid;

	is(launcher_start("/bin/true", &d), 0);
	snprintf(directory, sizeof directory, "%s", launcher_directory());
	ok(!access(directory, W_OK));
	is_text(getenv("TMPDIR"), directory);
	is(launcher_spawn(COMMAND("record", "--", "sh"), files, 3, &pidfd), -EPERM);
	is(pidfd, -1);
	pid = launcher_spawn(COMMAND("status", "--json"), files, 3, &pidfd);
	ok(pid > 0 && pidfd >= 0);
	launcher_signal(getppid(), SIGTERM); /* not a command: nothing happens */
	is(launcher_wait(getpid()), -1);
	status = launcher_wait(pid);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	is(launcher_wait(pid), -1);
	close(pidfd);
	launcher_end();
	ok(access(directory, F_OK));
	for (int i = 0; i < 3; i++)
		close(files[i]);
}

int main(void)
{
	run(requests_of_the_server_are_allowed);
	run(nothing_else_is);
	run(the_launcher_starts_nothing_else_and_cleans_up);
	return test_status();
}
