/* SPDX-License-Identifier: MIT */
/*
 * collect/catch_up.c - copy filters, rules and triggers from the main collector into a
 * tenant collector that starts later.
 *
 * Filters are copied first: rules name filters by number, so every filter that a copied rule names
 * exists.  All copies read shared state once; a change after that arrives as a request.
 */
#include "collect/catch_up.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collect/trigger/request.h"
#include "collect/trigger/rules.h"

/* Uses root's runtime directory and root's rights.  -ENOENT: the main session no longer exists. */
static int read_main_session(const struct collector *c, struct abi_session *file)
{
	struct rights before = rights_take((struct rights){ geteuid(), getegid() });
	struct diag why;
	int err = session_find(c->session.client_dir, c->o->session, file, &why);

	owner_end(before);
	return err;
}

/* Keeps the order, so that a filter number in a rule means the same filter here. */
static int copy_filters(struct collector *c, struct diag *d)
{
	const struct filters_saved *of = &c->o->main_handover->filters;
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

static bool is_for_tenants(const char *text)
{
	struct trigger t;

	return !trigger_parse(&t, text, NULL) && !trigger_has_kernel(&t);
}

static void copy_triggers(struct collector *c)
{
	const struct triggers_saved *of = &c->o->main_handover->triggers;
	char text[TRIGGER_TEXT_BYTES];
	struct diag d;

	for (int i = 0; i < TRIGGERS_MAX; i++) {
		uint32_t here = c->handover->triggers.at[i].number;

		if (here && !has_number(of, here))
			triggers_remove(&c->triggers.set, here);
	}
	for (int i = 0; i < TRIGGERS_MAX; i++) {
		uint32_t number = triggers_copy(of, i, text);

		if (number && is_for_tenants(text) &&
		    trigger_add(&c->triggers, text, number, &d) < 0)
			collector_note(c, &d);
	}
	c->handover->triggers.is_paused = of->is_paused;
}

int catch_up_run(struct collector *c, struct diag *d)
{
	struct abi_session *own = &c->session.file, whole;
	int err = read_main_session(c, &whole);

	if (err)
		return err == -ENOENT
			       ? 0
			       : diag_fail(d, err, "cannot read the file of the main session");
	err = copy_filters(c, d); /* after reading the rules: these filters include all that the
				   * rules name */
	if (err)
		return err;
	memcpy(own->rules, whole.rules, whole.rules_size);
	own->rules_size = whole.rules_size;
	copy_triggers(c);
	return trigger_rules_follow(&c->triggers, true, d);
}
