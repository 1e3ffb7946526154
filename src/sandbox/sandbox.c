/* SPDX-License-Identifier: MIT */
/*
 * sandbox/sandbox.c - Landlock first, then seccomp, which forbids the calls that Landlock needs.
 */
#include "sandbox/sandbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "sandbox/internal.h"

/* A sanitizer maps code, traces the process at its end, reads files of its own and writes its report
 * to any path. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

static bool is_off(void)
{
	const char *value = secure_getenv("DUET_SANDBOX");

	return value && !strcmp(value, "off");
}

int sandbox_restrict(const struct sandbox *s, struct diag *d)
{
	struct sandbox all = *s;
	int err;

	assert(s->name);
	if (is_off() || IS_SANITIZED)
		return 0;
	if (s->writes || s->directories)
		all.rights |= SANDBOX_WRITES;
	/* Both need it: a program that gains rights by being executed would carry limits that it
	 * does not expect. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return diag_errno(d, "cannot give up new privileges");
	err = sandbox_landlock(&all, d);
	return err ? err : sandbox_seccomp(&all, d);
}
