/* SPDX-License-Identifier: MIT */
/*
 * ui/server/handle.c - a request, from its head to its answer: a file of the page, or a query for a
 * worker.  entry.c lets it in.
 *
 * Runs in the thread of libmicrohttpd and never waits there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ui/assets/assets.h"
#include "ui/server/internal.h"

static bool is_text(const char *bytes, size_t size)
{
	for (size_t i = 0, n; i < size; i += n) {
		n = text_utf8_length(bytes + i, size - i);
		if (!n || !bytes[i])
			return false;
	}
	return true;
}

static enum MHD_Result add_param(void *arg, enum MHD_ValueKind kind, const char *key, size_t size,
				 const char *value, size_t value_size)
{
	struct call *call = arg;
	struct ui_request *q = &call->request;

	(void)kind;
	if (q->n_params == CALL_PARAMS_MAX)
		ui_refuse(&call->answer, 400, "there are more than %d parameters", CALL_PARAMS_MAX);
	else if (!is_text(key, size) || (value && !is_text(value, value_size)))
		ui_refuse(&call->answer, 400, "a parameter is no UTF-8 text");
	else
		call->params[q->n_params++] = (struct ui_query_params){ key, value ? value : "" };
	return call->answer.status == 200 ? MHD_YES : MHD_NO;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Texts of requests end at a NUL, so %00 stays as it is written, and so do wrong escapes. */
size_t handle_unescape(void *unused, struct MHD_Connection *c, char *text)
{
	char *to = text;

	(void)unused;
	(void)c;
	for (const char *from = text; *from; from++) {
		int high = *from == '%' ? hex_digit(from[1]) : -1;
		int low = high >= 0 ? hex_digit(from[2]) : -1;
		bool is_escape = low >= 0 && (high || low);

		*to++ = is_escape ? (char)(high << 4 | low) : *from;
		from += is_escape ? 2 : 0;
	}
	*to = 0;
	return (size_t)(to - text);
}

static void find_route(struct call *call, const char *method, const char *path)
{
	call->asset = ui_asset_find(path);
	if (call->asset && !strcmp(method, "POST")) {
		call->asset = NULL;
		call->allow = "GET, HEAD";
		ui_refuse(&call->answer, 405, "%s can only be read", path);
	}
	if (call->asset || call->answer.status != 200)
		return;
	call->route = route_find(method, path, &call->allow);
	if (!call->route && call->allow)
		ui_refuse(&call->answer, 405, "%s wants %s", path, call->allow);
	else if (!call->route)
		ui_refuse(&call->answer, 404, "there is nothing of this name");
	else
		MHD_get_connection_values_n(call->connection, MHD_GET_ARGUMENT_KIND, add_param,
					    call);
}

static int descriptor(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct call *begin(struct ui_server *s, struct MHD_Connection *c, const char *method,
			  const char *path)
{
	struct call *call = calloc(1, sizeof *call);

	if (!call)
		return NULL;
	call->server = s;
	call->connection = c;
	call->fd = descriptor(c);
	call->answer = (struct ui_answer){ .status = 200, .body_fd = -1 };
	call->request = (struct ui_request){ .method = method,
					     .path = path,
					     .params = call->params,
					     .body = "",
					     .is_cancelled = &call->is_cancelled };
	entry_check(call, method, path);
	call->is_last = call->answer.status != 200;
	if (call->answer.status == 200 && !call->is_login && !call->has_page)
		find_route(call, method, path);
	return call;
}

static void take_body(struct call *call, const char *bytes, size_t n)
{
	if (call->body.size + n > CALL_BODY_MAX)
		ui_refuse(&call->answer, 413, "the body has more than 1 MiB");
	else
		text_add(&call->body, bytes, n);
}

static enum MHD_Result work_on(struct call *call)
{
	if (call->body.failed) {
		ui_refuse(&call->answer, 500, "no memory for the body");
	} else {
		call->request.body = call->body.bytes ? call->body.bytes : "";
		call->request.body_size = call->body.size;
		if (work_add(call->server, call))
			return MHD_YES;
		ui_refuse(&call->answer, 503, "too many requests wait: try again");
	}
	return answer_send(call);
}

enum MHD_Result handle_request(void *server, struct MHD_Connection *c, const char *path,
			       const char *method, const char *version, const char *bytes,
			       size_t *n_bytes, void **at)
{
	struct call *call = *at;

	(void)version;
	if (!call) {
		call = *at = begin(server, c, method, path);
		if (!call)
			return MHD_NO;
		/* A refused body is not read: an answer now ends the connection. */
		return call->answer.status != 200 && !strcmp(method, "POST") ? answer_send(call)
									     : MHD_YES;
	}
	if (*n_bytes) {
		take_body(call, bytes, *n_bytes);
		*n_bytes = 0;
		return MHD_YES;
	}
	if (call->is_login && call->answer.status == 200)
		entry_login(call);
	if (call->state == CALL_DONE)
		link_works(&call->server->links, call->fd, NULL);
	if (call->state == CALL_READS && call->route && call->answer.status == 200)
		return work_on(call);
	return answer_send(call);
}

void handle_completed(void *server, struct MHD_Connection *c, void **at,
		      enum MHD_RequestTerminationCode why)
{
	struct call *call = *at;

	(void)server;
	(void)c;
	(void)why;
	if (!call)
		return;
	link_works(&call->server->links, call->fd, NULL);
	if (call->answer.body_fd >= 0)
		close(call->answer.body_fd);
	text_fini(&call->answer.body);
	text_fini(&call->body);
	free(call);
	*at = NULL;
}

void handle_connection(void *server, struct MHD_Connection *c, void **unused,
		       enum MHD_ConnectionNotificationCode what)
{
	struct ui_server *s = server;

	(void)unused;
	if (what == MHD_CONNECTION_NOTIFY_CLOSED)
		link_remove(&s->links, descriptor(c));
}
