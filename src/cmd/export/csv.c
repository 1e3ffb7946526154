/* SPDX-License-Identifier: MIT */
/* cmd/export/csv.c - `duet export csv`: one line per event and call, as `duet view --csv` prints
 * it. */
#include <errno.h>

#include "cmd/export/internal.h"
#include "cmd/view/csv.h"

static int on_event(void *context, const struct trace_event *e, const struct thread_identity *w)
{
	return csv_event(context, e, w);
}

static int on_call(void *context, const struct view_call_item *c)
{
	return csv_call(context, &c->event, &c->who, &c->call);
}

int export_csv(struct export *x, struct diag *d)
{
	struct csv c;
	int err;

	if (csv_open(&c, &x->out, x->trace, x->is_wanted, export_has_calls(x)))
		return diag_fail(d, -ENOMEM, "no memory");
	err = export_each(x, on_event, on_call, &c, d);
	csv_close(&c);
	return err;
}
