/* SPDX-License-Identifier: MIT */
/* collect/tenant/catch_up.c - see catch_up.h. */
#include "collect/tenant/catch_up.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collect/trigger/request.h"
#include "collect/trigger/rules.h"

/* From root's own directory, with root's rights.  -ENOENT: it is there no more. */
static int find_whole(const struct collector *c, struct abi_session *file)
{
	struct rights before = rights_take((struct rights){ geteuid(), getegid() });
	struct diag why;
	int err = session_find(c->session.client_dir, c->o->session, file, &why);

	owner_end(before);
	return err;
}

/* In their order, so that the numbers in the rules mean the same here. */
static int take_filters(struct collector *c, struct diag *d)
{
	const struct filters_saved *of = &c->o->whole->filters;
	uint32_t n = load_acquire(&of->n);
	int number = 0;

	for (uint32_t i = 0; i < n && i < ABI_FILTERS && number >= 0; i++)
		number = filters_add(&c->filters, &c->session, of->text[i], d);
	return number < 0 ? number : 0;
}

static bool has_number(const struct triggers_saved *k, uint32_t number)
{
	for (int i = 0; i < TRIGGERS_MAX; i++)
		if (load(&k->at[i].number) == number)
			return true;
	return false;
}

static bool is_for_parts(const char *text)
{
	struct trigger t;

	return !trigger_parse(&t, text, NULL) && !trigger_has_kernel(&t);
}

static void take_triggers(struct collector *c)
{
	const struct triggers_saved *of = &c->o->whole->triggers;
	char text[TRIGGER_TEXT_BYTES];
	struct diag d;

	for (int i = 0; i < TRIGGERS_MAX; i++) {
		uint32_t here = c->handover->triggers.at[i].number;

		if (here && !has_number(of, here))
			triggers_remove(&c->triggers, here);
	}
	for (int i = 0; i < TRIGGERS_MAX; i++) {
		uint32_t number = triggers_copy(of, i, text);

		if (number && is_for_parts(text) && trigger_add(c, text, number, &d) < 0)
			collector_note(c, &d);
	}
	c->handover->triggers.is_paused = of->is_paused;
}

int catch_up_run(struct collector *c, struct diag *d)
{
	struct abi_session *mine = &c->session.file, whole;
	int err = find_whole(c, &whole);

	if (err)
		return err == -ENOENT
			       ? 0
			       : diag_fail(d, err, "cannot read what the session wants by now");
	err = take_filters(c, d); /* after the rules: at least those that these name */
	if (err)
		return err;
	memcpy(mine->rules, whole.rules, whole.rules_size);
	mine->rules_size = whole.rules_size;
	take_triggers(c);
	return trigger_rules_follow(c, true, d);
}
