/* SPDX-License-Identifier: MIT */
/* cmd/confine/reader.c - the rights of all readers, and those that a verb adds. */
#include "cmd/confine/reader.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "sandbox/sandbox.h"

static bool trusts, is_confined;

void reader_trusts(void)
{
	trusts = true;
}

const char *reader_parent(const char *path, char parent[4096])
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	snprintf(parent, 4096, "%.*s", n ? (int)n : 1, n ? path : ".");
	return parent;
}

int reader_confine(const struct reader *r)
{
	static char name[64]; /* the sandbox keeps it */
	const struct sandbox s = { .name = name,
				   .rights = SANDBOX_THREADS | r->rights,
				   .reads = r->reads,
				   .writes = *r->writes ? r->writes : NULL,
				   .directories = *r->directories ? r->directories : NULL };
	struct diag d = { "" };

	if (trusts || is_confined)
		return 0;
	is_confined = true;
	snprintf(name, sizeof name, "duet %s", r->verb);
	if (sandbox_restrict(&s, &d))
		return cmd_error(r->verb,
				 "%s\n  nothing was read; DUET_SANDBOX=off reads without it",
				 d.text);
	return 0;
}
