/* SPDX-License-Identifier: MIT */
/* ui/server/answer.c - an answer on its way: status, body, and the headers that every answer has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ui/assets/assets.h"
#include "ui/server/internal.h"

static const struct {
	const char *name, *value;
} always[] = {
	{ "Content-Security-Policy",
	  "default-src 'self'; img-src 'self' data: blob:; style-src 'self'; object-src 'none'; "
	  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "X-Frame-Options", "DENY" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

static struct MHD_Response *with_body(struct call *call)
{
	static const char no_memory[] =
		"{\"error\":\"no memory for this answer: ask for less of the recording\"}";
	struct ui_answer *a = &call->answer;
	struct MHD_Response *r;
	struct stat st;

	if (call->asset)
		return MHD_create_response_from_buffer(
			call->asset->size, (void *)call->asset->bytes, MHD_RESPMEM_PERSISTENT);
	if (a->body_fd >= 0 && !fstat(a->body_fd, &st)) {
		r = MHD_create_response_from_fd64((uint64_t)st.st_size, a->body_fd);
		a->body_fd = r ? -1 : a->body_fd; /* the response closes it */
		return r;
	}
	if (a->body.failed) {
		a->status = 500;
		a->type = NULL;
		*a->file_name = 0;
		return MHD_create_response_from_buffer(sizeof no_memory - 1, (void *)no_memory,
						       MHD_RESPMEM_PERSISTENT);
	}
	r = MHD_create_response_from_buffer_with_free_callback(a->body.size, a->body.bytes, free);
	if (r)
		a->body = (struct text){ 0 };
	return r;
}

/* Names of recordings may have any byte: none may end the quotes. */
static void add_file_name(struct MHD_Response *r, const char *name)
{
	char value[200], safe[128];
	size_t n = 0;

	for (; *name && n < sizeof safe - 1; name++)
		safe[n++] = (*name >= ' ' && *name < 127 && !strchr("\"\\/%", *name)) ? *name : '_';
	safe[n] = 0;
	snprintf(value, sizeof value, "attachment; filename=\"%s\"", safe);
	MHD_add_response_header(r, "Content-Disposition", value);
}

static void add_headers(struct MHD_Response *r, const struct call *call)
{
	const struct ui_access *access = &call->server->access;
	const struct ui_answer *a = &call->answer;
	char cookie[160];

	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		MHD_add_response_header(r, always[i].name, always[i].value);
	if (call->is_form) { /* with no-referrer a browser posts it with "Origin: null" */
		MHD_del_response_header(r, "Referrer-Policy", "no-referrer");
		MHD_add_response_header(r, "Referrer-Policy", "same-origin");
	}
	MHD_add_response_header(r, "Content-Type",
				call->asset ? call->asset->type
				: a->type   ? a->type
					    : "application/json");
	if (*a->file_name)
		add_file_name(r, a->file_name);
	if (call->location)
		MHD_add_response_header(r, "Location", call->location);
	if (call->is_last)
		MHD_add_response_header(r, "Connection", "close");
	if (call->allow)
		MHD_add_response_header(r, "Allow", call->allow);
	if (call->sets_cookie) {
		snprintf(cookie, sizeof cookie, "%s=%s; SameSite=Strict; HttpOnly; Path=/%s",
			 access->cookie_name, access->cookie, access->is_beyond ? "; Secure" : "");
		MHD_add_response_header(r, "Set-Cookie", cookie);
	}
}

enum MHD_Result answer_send(struct call *call)
{
	struct MHD_Response *r = with_body(call);
	enum MHD_Result result;

	if (!r)
		return MHD_NO; /* no memory: the connection ends */
	add_headers(r, call);
	result = MHD_queue_response(call->connection, (unsigned)call->answer.status, r);
	MHD_destroy_response(r);
	return result;
}

size_t answer_refusal(int status, char *bytes, size_t size)
{
	const char *why = status == 431	  ? "the request's head has more than 32 KiB"
			  : status == 413 ? "the body has more than 1 MiB"
			  : status == 505 ? "this server speaks HTTP/1.1"
					  : "this is no request of HTTP/1.1";
	struct text t = text_fixed(bytes, size);

	text_addf(&t, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: application/json\r\n",
		  status, status == 400 ? "Bad Request" : "Refused");
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		text_addf(&t, "%s: %s\r\n", always[i].name, always[i].value);
	text_addf(&t, "Content-Length: %zu\r\n\r\n{\"error\":\"%s\"}", strlen(why) + 12, why);
	return t.size;
}
