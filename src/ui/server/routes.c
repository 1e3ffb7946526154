/* SPDX-License-Identifier: MIT */
/* ui/server/routes.c - requests and their answers: by queries of recordings, or by the server. */
#include <string.h>

#include "ui/server/internal.h"
#include "ui/sessions/body.h"
#include "ui/sessions/sessions.h"

static void ping(struct call *call)
{
	text_addf(&call->answer.body, "{\"ok\":true}");
}

static void list_sessions(struct call *call)
{
	ui_sessions_list(call->server->o.self, call->shown->session, &call->request, &call->answer);
}

static void change_session(struct call *call)
{
	ui_sessions_change(call->server->o.self, &call->request, &call->answer);
}

static void open_other(struct call *call)
{
	struct diag d = { "" };
	struct body b;
	const char *what = NULL;

	if (!body_parse(&b, call->request.body, call->request.body_size, &d)) {
		const char *path = body_value(&b, "path");

		what = path ? path : body_value(&b, "session");
		if (path ? *path != '/' : !what || strchr(what, '/'))
			ui_refuse(&call->answer, 400,
				  "\"session\", a name, or \"path\", an absolute one, is expected");
		else if (shown_open(call->server, &what, 1, !path, &d))
			ui_refuse(&call->answer, 409, "%s", d.text);
		else
			ping(call);
	} else {
		ui_refuse(&call->answer, 400, "%s", d.text);
	}
	body_fini(&b);
}

/* The server's own requests; their routes have no query. */
static const struct own {
	struct ui_route route;
	void (*answer)(struct call *call);
} own[] = {
	{ { "GET", "/api/ping", NULL, false }, ping },
	{ { "GET", "/api/sessions", NULL, true }, list_sessions },
	{ { "POST", "/api/session", NULL, true }, change_session },
	{ { "POST", "/api/open", NULL, true }, open_other },
};
static const int n_own = sizeof own / sizeof *own;

const struct ui_route *route_find(const char *method, const char *path, const char **allowed)
{
	const char *as = strcmp(method, "HEAD") ? method : "GET";

	*allowed = NULL;
	for (int i = 0; i < ui_query_n_routes + n_own; i++) {
		const struct ui_route *r = i < n_own ? &own[i].route : &ui_query_routes[i - n_own];

		if (strcmp(r->path, path))
			continue;
		if (!strcmp(r->method, as))
			return r;
		*allowed = strcmp(r->method, "GET") ? r->method : "GET, HEAD";
	}
	return NULL;
}

void route_answer(struct call *call)
{
	call->shown = shown_use(call->server);
	if (call->route->answer)
		call->route->answer(&call->shown->subject, &call->request, &call->answer);
	else
		((const struct own *)call->route)->answer(call);
	shown_release(call->shown);
	call->shown = NULL;
}
