/* SPDX-License-Identifier: MIT */
/* ui/server/server.c - the server as a whole: opened, run and closed. */
#include "ui/server/server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/monotonic.h"
#include "sandbox/sandbox.h"
#include "ui/child/launcher.h"
#include "ui/index/index.h"
#include "ui/server/head.h"
#include "ui/server/internal.h"

/* How others call the machine: as the user named it, or its name if that means all its addresses. */
static const char *name_of(const struct ui_server *s)
{
	return s->access.names[*s->access.names[0] ? 0 : 1];
}

enum { CONNECTIONS_MAX = 1024, CONNECTION_BYTES = 2 * HEAD_MAX, CONNECTION_TIMEOUT_S = 75 };

/* A server that other machines reach needs a password and a certificate. */
static int open_login(struct ui_server *s, struct diag *d)
{
	const struct ui_server_options *o = &s->o;
	int err;

	if (!s->access.is_beyond)
		return 0;
	if (!o->password_file)
		return diag_fail(d, -EACCES,
				 "--listen %s: other machines would reach it: --password-file is "
				 "needed (or ssh -L, without --listen)",
				 o->listen);
	err = login_read(&s->login, o->password_file, d);
	if (err)
		return err;
	return o->tls_cert ? tls_identity_read(&s->identity, o->tls_cert, o->tls_key, d)
			   : tls_identity_make(&s->identity, name_of(s), d);
}

static int open_http(struct ui_server *s, struct diag *d)
{
	const struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, s->identity.cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, s->identity.key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0,
		  (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ MHD_OPTION_END, 0, NULL },
	};

	s->http = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
			(s->access.is_beyond ? MHD_USE_TLS : 0),
		0, NULL, NULL, handle_request, s, MHD_OPTION_NOTIFY_COMPLETED, handle_completed, s,
		MHD_OPTION_NOTIFY_CONNECTION, handle_connection, s, MHD_OPTION_UNESCAPE_CALLBACK,
		handle_unescape, NULL, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_ARRAY,
		s->access.is_beyond ? tls : tls + 3, MHD_OPTION_END);
	if (s->http)
		return 0;
	if (s->o.tls_cert)
		return diag_fail(d, -EINVAL, "%s and %s are no certificate with its key (PEM)",
				 s->o.tls_cert, s->o.tls_key);
	return diag_fail(d, -EIO, "libmicrohttpd does not start");
}

static bool add_directory(const char **list, int n, const char *path)
{
	struct stat st;

	list[n] = path;
	return !stat(path, &st) && S_ISDIR(st.st_mode) && !access(path, W_OK);
}

/*
 * The sandbox: everything can be read, as pages open other recordings and symbols are looked up.
 * Indexes are kept in .duet of the recordings of the command, and in the user's cache.
 */
static int confine(struct ui_server *s, struct diag *d)
{
	char cache[PATH_MAX], (*hidden)[PATH_MAX] = calloc((size_t)s->o.n_paths + 1, PATH_MAX);
	const char **writes = calloc((size_t)s->o.n_paths + 3, sizeof *writes);
	struct sandbox box = { .name = "duet ui",
			       .rights = SANDBOX_ACCEPTS | SANDBOX_CONNECTS_HERE | SANDBOX_THREADS,
			       .writes = writes };
	int n = 0, err;

	err = writes && hidden ? 0 : diag_fail(d, -ENOMEM, "no memory");
	for (int i = 0; i < s->o.n_paths && !err && !s->o.no_cache; i++) {
		snprintf(hidden[i], PATH_MAX, "%s/.duet", s->o.paths[i]);
		n += add_directory(writes, n, hidden[i]);
	}
	if (!err && !s->o.no_cache && io_cache_directory(cache, sizeof cache))
		n += add_directory(writes, n, cache);
	if (!err)
		writes[n] = launcher_directory();
	if (!err)
		err = sandbox_restrict(&box, d);
	free(writes);
	free(hidden);
	return err;
}

/* What needs rights that the sandbox has not comes first; no recording is read before it. */
static int open_all(struct ui_server *s, struct diag *d)
{
	int err = mhd_load(d);

	if (!err)
		err = listen_open(s, d);
	if (!err)
		err = access_open(&s->access, s->port, d);
	if (!err)
		err = open_login(s, d);
	if (!err)
		err = launcher_start(s->o.self, d);
	if (!err)
		err = confine(s, d);
	if (!err)
		err = shown_open(s, s->o.paths, s->o.n_paths, false, d);
	if (!err)
		err = door_open(s, d);
	if (!err)
		err = open_http(s, d);
	if (!err)
		err = work_open(s, d);
	return err;
}

static void note_address(struct ui_server *s)
{
	const char *name = s->access.is_beyond ? name_of(s) : NULL;

	if (name)
		snprintf(s->address, sizeof s->address,
			 strchr(name, ':') ? "https://[%s]:%d/" : "https://%s:%d/", name, s->port);
	else
		snprintf(s->address, sizeof s->address, "http://127.0.0.1:%d/?token=%s", s->port,
			 s->access.token);
	if (name)
		memcpy(s->browser_address, s->address, sizeof s->address);
	else
		snprintf(s->browser_address, sizeof s->browser_address,
			 "http://127.0.0.1:%d/?token=%s", s->port, s->access.ticket);
}

int ui_server_open(struct ui_server **server, const struct ui_server_options *o, struct diag *d)
{
	struct ui_server *s = calloc(1, sizeof *s);
	int err;

	*server = NULL;
	if (!s)
		return diag_fail(d, -ENOMEM, "no memory");
	s->o = *o;
	s->epoll = s->stop_event = s->spare = -1;
	links_init(&s->links);
	pthread_mutex_init(&s->shown_lock, NULL);
	err = open_all(s, d);
	if (err) {
		ui_server_close(s);
		return err;
	}
	note_address(s);
	*server = s;
	return 0;
}

int ui_server_run(struct ui_server *s, struct diag *d)
{
	atomic_store(&s->last_request_ns, monotonic_ns());
	return door_run(s, d);
}

void ui_server_stop(struct ui_server *s)
{
	eventfd_write(s->stop_event, 1);
}

void ui_server_close(struct ui_server *s)
{
	if (!s)
		return;
	work_close(s);
	if (s->http)
		MHD_stop_daemon(s->http);
	door_close(s);
	listen_close(s);
	tls_identity_fini(&s->identity);
	explicit_bzero(&s->login, sizeof s->login);
	if (s->shown)
		shown_release(s->shown);
	launcher_end();
	free(s);
}

int ui_server_port(const struct ui_server *s)
{
	return s->port;
}

const char *ui_server_address(const struct ui_server *s)
{
	return s->address;
}

const char *ui_server_browser_address(const struct ui_server *s)
{
	return s->browser_address;
}

const char *ui_server_fingerprint(const struct ui_server *s)
{
	return s->identity.fingerprint;
}
