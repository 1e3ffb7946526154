/* SPDX-License-Identifier: MIT */
/*
 * collect/session/rules_file.c - edit the rules of a session, and write and read the session file
 * that programs find it by: see session.h.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "rules/rules.h"
#include "collect/session/session.h"

/*
 * Whether a new rule with @to_channel, @selector and @pattern replaces all of the rule [@rule,
 * @end).
 */
static bool is_replaced_by(const char *rule, const char *end, bool to_channel, const char *selector,
			   const char *pattern)
{
	const char *tab = memrchr(rule, '\t', (size_t)(end - rule)), *p;
	size_t n = tab ? (size_t)(tab + 1 - rule) : 0;

	if (*selector && (n != strlen(selector) || memcmp(rule, selector, n)))
		return false;
	rule += n;
	p = rule + (rule < end);
	if ((*rule == '@') != to_channel)
		return false;
	if (*rule == '@' || *rule == '?')
		rules_number(&p, end);
	return !strcmp(p, pattern);
}

/* Removes rules on the same pattern that a new one replaces, so that rules do not accumulate. */
static void drop_superseded(struct abi_session *f, bool to_channel, const char *selector,
			    const char *pattern)
{
	for (uint32_t i = 0; i < f->rules_size;) {
		char *rule = f->rules + i, *end = memchr(rule, 0, f->rules_size - i);
		uint32_t size;

		if (!end)
			return;
		size = (uint32_t)(end - rule) + 1;
		if (is_replaced_by(rule, end, to_channel, selector, pattern)) {
			memmove(rule, end + 1, f->rules_size - i - size);
			f->rules_size -= size;
		} else {
			i += size;
		}
	}
}

/* The effect of a rule: its kind and, for a filter or channel, the number. */
static uint32_t verdict_of(const char *rule, const char *end)
{
	const char *p = rule, *tab;
	char kind;

	while (p < end && selector_is_letter(*p) && (tab = memchr(p, '\t', (size_t)(end - p))))
		p = tab + 1;
	kind = *p;
	p += p < end;
	return (uint32_t)(unsigned char)kind << 24 |
	       (kind == '?' || kind == '@' ? rules_number(&p, end) : 0);
}

/* Whether the order of two rules matters: routing and recording are decided separately. */
static bool order_matters(uint32_t a, uint32_t b)
{
	char x = (char)(a >> 24), y = (char)(b >> 24);

	return a != b && x != '^' && y != '^' && (x == '@') == (y == '@');
}

/* Whether @rule exists and would have no further effect as the last one. */
static bool is_given(const struct abi_session *f, const char *rule)
{
	uint32_t verdict = verdict_of(rule, rule + strlen(rule));
	bool found = false;

	for (uint32_t i = 0; i < f->rules_size;) {
		const char *other = f->rules + i, *end = memchr(other, 0, f->rules_size - i);

		if (!end)
			return false;
		if (!strcmp(other, rule))
			found = true;
		else if (order_matters(verdict, verdict_of(other, end)))
			found = false;
		i += (uint32_t)(end - other) + 1;
	}
	return found;
}

static int append(struct abi_session *f, const char *rule, const char *pattern, struct diag *d)
{
	size_t n = strlen(rule) + 1;

	assert(f->rules_size <= sizeof f->rules);
	if (n > sizeof f->rules - f->rules_size)
		return diag_fail(d, -E2BIG, "%s: the session has no room for more patterns",
				 pattern);
	memcpy(f->rules + f->rules_size, rule, n);
	f->rules_size += (uint32_t)n;
	return 0;
}

int session_add_rule(struct abi_session *f, const struct session_rule *r, struct diag *d)
{
	bool to_channel = r->channel != SESSION_ANY_CHANNEL, excludes = *r->pattern == '!';
	const char *selector = r->selector ? r->selector : "";
	char rule[sizeof f->rules];
	int n;

	if (to_channel)
		n = snprintf(rule, sizeof rule, "%s@%u %s", selector, r->channel, r->pattern);
	else if (r->filter)
		n = snprintf(rule, sizeof rule, "%s?%u %s", selector, r->filter, r->pattern);
	else
		n = snprintf(rule, sizeof rule, "%s%s%s", selector, excludes ? "" : "+",
			     r->pattern);
	if (n < 0 || (size_t)n >= sizeof rule)
		return diag_fail(d, -E2BIG, "%s: the session has no room for more patterns",
				 r->pattern);
	if (is_given(f, rule))
		return 0;
	drop_superseded(f, to_channel, selector, r->pattern + excludes);
	return append(f, rule, r->pattern, d);
}

/* ---------------------------------------------------------------- triggers */

#define PAUSED "!**" /* no other rule selects all events in this way */

/* Removes the rules that begin with @begin. */
static void drop_beginning(struct abi_session *f, const char *begin)
{
	for (uint32_t i = 0; i < f->rules_size;) {
		char *rule = f->rules + i, *end = memchr(rule, 0, f->rules_size - i);
		uint32_t size;

		if (!end)
			return;
		size = (uint32_t)(end - rule) + 1;
		if (!strncmp(rule, begin, strlen(begin))) {
			memmove(rule, end + 1, f->rules_size - i - size);
			f->rules_size -= size;
		} else {
			i += size;
		}
	}
}

int session_add_trigger_rule(struct abi_session *f, const char *pattern, uint32_t filter,
			     struct diag *d)
{
	char rule[512 + 16];

	if (snprintf(rule, sizeof rule, "^%u %s", filter, pattern) >= (int)sizeof rule)
		return diag_fail(d, -E2BIG, "%.64s...: too long a pattern", pattern);
	return append(f, rule, pattern, d);
}

void session_drop_trigger_rules(struct abi_session *f)
{
	drop_beginning(f, "^");
}

int session_pause_rules(struct abi_session *f, bool pause, struct diag *d)
{
	drop_beginning(f, PAUSED);
	return pause ? append(f, PAUSED, PAUSED, d) : 0;
}

/* ---------------------------------------------------------------- the file */

static void session_file_name(char *file, size_t size, const char *name)
{
	snprintf(file, size, "session-%s", name);
}

static int publish(int dir, const struct abi_session *f, struct diag *d)
{
	char name[ABI_NAME_BYTES + 16], fresh[ABI_NAME_BYTES + 40];
	int fd, err;

	session_file_name(name, sizeof name, f->name);
	snprintf(fresh, sizeof fresh, ".%s.%d", name, (int)getpid());
	unlinkat(dir, fresh, 0);
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return diag_errno(d, "cannot create the session file");
	err = io_write(fd, f, offsetof(struct abi_session, rules) + f->rules_size);
	close(fd);
	if (!err && renameat(dir, fresh, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, fresh, 0);
	return err ? diag_fail(d, err, "cannot write the session file: %s", strerror(-err)) : 0;
}

int session_publish(int dir, const struct abi_session *f, struct diag *d)
{
	struct rights before = owner_begin(dir);
	int err = publish(dir, f, d);

	assert(f->rules_size <= ABI_RULES_BYTES);
	owner_end(before);
	return err;
}

int session_change(struct session *s, const struct abi_session *fresh, struct diag *d)
{
	int err;

	if (fresh->rules_size == s->file.rules_size &&
	    !memcmp(fresh->rules, s->file.rules, fresh->rules_size))
		return 0;
	err = session_publish(s->dir, fresh, d);
	if (!err)
		s->file = *fresh;
	return err;
}

int session_find(int dir, const char *name, struct abi_session *f, struct diag *d)
{
	char file[ABI_NAME_BYTES + 16];
	ssize_t n;
	int fd;

	session_file_name(file, sizeof file, name);
	/* The file may be anything, including a FIFO without a writer. */
	fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return diag_errno(d, "session %s", name);
	memset(f, 0, sizeof *f);
	n = io_read(fd, f, sizeof *f);
	close(fd);
	if (n != (ssize_t)(offsetof(struct abi_session, rules) + f->rules_size) ||
	    f->magic != ABI_SESSION_MAGIC || f->version != ABI_SESSION_VERSION ||
	    f->rules_size > ABI_RULES_BYTES || f->session_slot >= ABI_SESSIONS ||
	    ABI_EPOCH_IS_NONE(f->epoch) || !memchr(f->name, 0, sizeof f->name) ||
	    strcmp(f->name, name))
		return diag_fail(d, -EPROTO, "session %s: its file is damaged", name);
	return 0;
}

void session_withdraw(struct session *s)
{
	char name[ABI_NAME_BYTES + 16];

	session_file_name(name, sizeof name, s->file.name);
	unlinkat(s->dir, name, 0);
}
