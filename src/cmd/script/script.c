/* SPDX-License-Identifier: MIT */
/*
 * cmd/script/script.c - `duet script`: runs a script over events of the kernel and of programs, live
 * or recorded.
 *
 * The exit status is 0 also after a signal; 1 after an error in a handler, or if -l finds nothing; 2
 * if the script did not run.
 */
#include "cmd/script/internal.h"

int cmd_script(int argc, char **argv)
{
	static struct script_options o; /* its lists are used until exit */
	int status = script_options(&o, argc, argv);

	return status >= 0 ? status : script_run(&o);
}
