/* SPDX-License-Identifier: MIT */
/*
 * ui/server/entry.c - whether a request is let in: its place, its method, its sizes, its cookie; and
 * the two ways to get one, the token in the address or, from other machines, the password.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/monotonic.h"
#include "ui/server/head.h"
#include "ui/server/internal.h"

static const char *header(const struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

struct field_count {
	const char *name;
	int n;
};

static enum MHD_Result count_field(void *arg, enum MHD_ValueKind kind, const char *key, size_t size,
				   const char *value, size_t value_size)
{
	struct field_count *f = arg;

	(void)kind;
	(void)size;
	(void)value;
	(void)value_size;
	f->n += !strcasecmp(key, f->name);
	return MHD_YES;
}

static int n_fields(const struct call *call, const char *name)
{
	struct field_count f = { .name = name };

	MHD_get_connection_values_n(call->connection, MHD_HEADER_KIND, count_field, &f);
	return f.n;
}

static void check_method(struct call *call, const char *method)
{
	const char *length = header(call, "Content-Length");
	bool is_post = !strcmp(method, "POST");

	if (!is_post && strcmp(method, "GET") && strcmp(method, "HEAD")) {
		call->allow = "GET, HEAD, POST";
		ui_refuse(&call->answer, 405, "only GET, HEAD and POST are known here");
	} else if (header(call, "Transfer-Encoding")) {
		ui_refuse(&call->answer, 411, "a body needs a Content-Length");
	} else if (n_fields(call, "Content-Length") > 1) {
		ui_refuse(&call->answer, 400, "the request has two lengths");
	} else if (!is_post && length && strcmp(length, "0")) {
		ui_refuse(&call->answer, 400, "%s has no body", method);
	} else if (is_post && !length) {
		ui_refuse(&call->answer, 411, "a body needs a Content-Length");
	} else if (is_post && strtoull(length, NULL, 10) > CALL_BODY_MAX) {
		ui_refuse(&call->answer, 413, "the body has more than 1 MiB");
	}
}

/* The numeric address that the client reached. */
static const char *local_address(const struct call *call, char *text, size_t size)
{
	struct sockaddr_storage at;
	socklen_t n = sizeof at;

	if (getsockname(call->fd, (struct sockaddr *)&at, &n) ||
	    getnameinfo((struct sockaddr *)&at, n, text, (socklen_t)size, NULL, 0, NI_NUMERICHOST))
		return NULL;
	return text;
}

static void check_place(struct call *call, const char *method)
{
	const struct ui_access *a = &call->server->access;
	const char *host = header(call, "Host"), *origin = header(call, "Origin");
	char text[80];
	const char *local = a->is_beyond ? local_address(call, text, sizeof text) : NULL;

	if (n_fields(call, "Host") != 1 || !access_is_host(a, host, local))
		ui_refuse(&call->answer, 403, "this server answers by %s only",
			  a->is_beyond ? "its host's name and its address"
				       : "the names localhost, 127.0.0.1 and [::1]");
	else if (origin ? !access_is_origin(a, origin, host) : !strcmp(method, "POST"))
		ui_refuse(&call->answer, 403,
			  "only the page of this server itself may send this request");
}

static bool has_cookie(const struct call *call)
{
	const struct ui_access *a = &call->server->access;

	return access_is_equal(
		a->cookie,
		MHD_lookup_connection_value(call->connection, MHD_COOKIE_KIND, a->cookie_name));
}

static void give_cookie(struct call *call)
{
	call->sets_cookie = true;
	call->location = "/";
	call->answer.status = 303;
	call->answer.type = "text/plain; charset=utf-8";
}

/* The address was a link on a page of another site, such as a terminal in the browser.  A redirect would
 * still count as that site's request, without the cookie; a page of ours that goes on does not. */
static void go_on_from_here(struct call *call)
{
	call->location = NULL;
	call->answer.status = 200;
	call->answer.type = "text/html; charset=utf-8";
	call->has_page = true;
	text_addf(&call->answer.body,
		  "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>duet ui</title>"
		  "<meta http-equiv=\"refresh\" content=\"0;url=/\"><a href=\"/\">duet "
		  "ui</a></html>\n");
}

/* The token of the browser's arguments, which other users see. */
static bool take_ticket(struct call *call, const char *token)
{
	struct ui_access *a = &call->server->access;

	if (!*a->ticket || !access_is_equal(a->ticket, token) || !peer_is_own(call->fd))
		return false;
	explicit_bzero(a->ticket, sizeof a->ticket);
	return true;
}

/* The way in: the token in the address becomes the cookie. */
static bool take_token(struct call *call, const char *method, const char *path)
{
	const struct ui_access *a = &call->server->access;
	const char *token =
		MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, "token");

	if (a->is_beyond || !token || strcmp(path, "/") || strcmp(method, "GET") ||
	    (!access_is_equal(a->token, token) && !take_ticket(call, token)))
		return false;
	give_cookie(call);
	if (!access_is_site(header(call, "Sec-Fetch-Site")))
		go_on_from_here(call);
	return true;
}

/* ---------------------------------------------------------------- the other way in */

static void show_form(struct call *call, enum login_result before)
{
	const char *page = login_page(before);

	call->answer.status = before == LOGIN_LATER ? 429 : 403;
	call->answer.type = "text/html; charset=utf-8";
	call->is_form = true;
	text_addf(&call->answer.body, "%s", page);
}

static bool take_form(struct call *call, const char *method, const char *path)
{
	const char *length = header(call, "Content-Length");

	if (!call->server->access.is_beyond)
		return false;
	if (!strcmp(path, "/login") && !strcmp(method, "POST") &&
	    strtoull(length, NULL, 10) <= LOGIN_BODY_MAX)
		return call->is_login = true;
	if (strcmp(path, "/") || !strcmp(method, "POST") || has_cookie(call))
		return false;
	show_form(call, LOGIN_RIGHT);
	return true;
}

void entry_login(struct call *call)
{
	struct login *l = &call->server->login;
	enum login_result result = login_try(l, call->body.bytes ? call->body.bytes : "",
					     call->body.size, monotonic_ns());

	if (result == LOGIN_RIGHT)
		give_cookie(call);
	else
		show_form(call, result);
}

/* ---------------------------------------------------------------- all of it */

void entry_check(struct call *call, const char *method, const char *path)
{
	union MHD_ConnectionInfo const *head =
		MHD_get_connection_info(call->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (head && head->header_size > HEAD_MAX) {
		ui_refuse(&call->answer, 431, "the request's head has more than 32 KiB");
		return;
	}
	check_place(call, method);
	if (call->answer.status == 200)
		check_method(call, method);
	if (call->answer.status != 200 || take_token(call, method, path) ||
	    take_form(call, method, path))
		return;
	if (!has_cookie(call) || !access_is_site(header(call, "Sec-Fetch-Site"))) {
		ui_refuse(&call->answer, 403, "open the address that `duet ui` has printed");
		return;
	}
	link_used(&call->server->links, call->fd);
	atomic_store(&call->server->last_request_ns, monotonic_ns());
}
