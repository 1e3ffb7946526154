/* SPDX-License-Identifier: MIT */
/*
 * net/tls.c - TLS through OpenSSL, or plain send(2) and recv(2).
 *
 * The key in a file becomes the pre-shared key of TLS 1.3 (RFC 8446, 4.2.11), with an ephemeral
 * exchange beside it: a key that leaks later does not decrypt earlier traffic.  OpenSSL accepts
 * the key in the form of a session that was made by hand.
 */
#include "net/tls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef DUET_TLS
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/io.h"
#include "net/openssl.h"
#endif

struct tls_context {
	bool is_server;
	const char *psk;
	void *ssl; /* SSL_CTX; NULL: plain */
#ifdef DUET_TLS
	uint8_t key[32];
#endif
};

static int check_keys(const struct tls_keys *k, struct diag *d)
{
	int any_certificate = k->cert || k->key || k->ca;

	if (any_certificate && !(k->cert && k->key && k->ca))
		return diag_fail(d, -EINVAL,
				 "--cert, --key and --ca go together: each side shows its own and "
				 "checks the other's");
	if (!!k->psk + any_certificate + k->is_plain > 1)
		return diag_fail(d, -EINVAL, "one of --psk, --cert and --plain, not several");
	if (!k->psk && !any_certificate && !k->is_plain)
		return diag_fail(
			d, -EINVAL,
			"a key is needed: --psk FILE, or --cert, --key and --ca (--plain within "
			"one machine)\n"
			"  to make one for both sides: (umask 077; openssl rand -hex 32 >FILE)");
	return 0;
}

bool tls_is_plain(const struct tls_context *c)
{
	return !c->ssl;
}

#ifdef DUET_TLS

enum { KEY_TEXT_LEAST = 32, KEY_TEXT_MOST = 4096 };
static const char identity[] = "duet relay";
static const char suites[] =
	"TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256"; /* the hash of our key */

/* Returns OpenSSL's reason for the failure, and empties its error queue. */
static const char *reason(char text[200])
{
	unsigned long e = ERR_get_error();
	const char *why = e ? ERR_reason_error_string(e) : NULL;

	snprintf(text, 200, "%s", why ? why : "TLS failed");
	ERR_clear_error();
	return text;
}

/*
 * Whether nobody but its user can read the file. A credential of systemd (LoadCredential=) is readable
 * to the service's user by an ACL, and the ACL's mask shows as rights of the group: its directory is
 * closed to others.
 */
static bool is_private(const char *path, const struct stat *st)
{
	const char *credentials = secure_getenv("CREDENTIALS_DIRECTORY");
	size_t n = credentials ? strlen(credentials) : 0;

	if (!S_ISREG(st->st_mode) || !(st->st_mode & 077))
		return S_ISREG(st->st_mode);
	return n && !strncmp(path, credentials, n) && path[n] == '/' &&
	       !strchr(path + n + 1, '/') && !(st->st_mode & 037);
}

static int read_psk(struct tls_context *c, const char *path, struct diag *d)
{
	char text[KEY_TEXT_MOST];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return diag_errno(d, "cannot open the key %s", path);
	if (fstat(fd, &st) || !is_private(path, &st)) {
		close(fd);
		return diag_fail(d, -EPERM,
				 "%s: a key must be a file that others cannot read: chmod 600 %s",
				 path, path);
	}
	n = io_read(fd, text, sizeof text);
	close(fd);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		n--;
	if (n < KEY_TEXT_LEAST)
		return diag_fail(
			d, -EINVAL,
			"%s: a key has at least %d characters: openssl rand -hex 32 makes one",
			path, KEY_TEXT_LEAST);
	if (!EVP_Digest(text, (size_t)n, c->key, NULL, EVP_sha256(), NULL))
		return diag_fail(d, -EIO, "%s: no SHA-256", path);
	OPENSSL_cleanse(text, sizeof text);
	return 0;
}

static SSL_SESSION *session_of_key(SSL *ssl)
{
	static const unsigned char suite[2] = { 0x13, 0x01 }; /* TLS_AES_128_GCM_SHA256 */
	const struct tls_context *c = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
	SSL_SESSION *s = SSL_SESSION_new();

	if (s && cipher && SSL_SESSION_set1_master_key(s, c->key, sizeof c->key) &&
	    SSL_SESSION_set1_id_context(s, (const unsigned char *)identity, sizeof identity - 1) &&
	    SSL_SESSION_set_cipher(s, cipher) &&
	    SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION))
		return s;
	SSL_SESSION_free(s);
	return NULL;
}

static int use_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *n, SSL_SESSION **s)
{
	*s = md && EVP_MD_get_type(md) != NID_sha256 ? NULL : session_of_key(ssl);
	*id = (const unsigned char *)identity;
	*n = sizeof identity - 1;
	return 1;
}

static int find_key(SSL *ssl, const unsigned char *id, size_t n, SSL_SESSION **s)
{
	bool is_ours = n == sizeof identity - 1 && !memcmp(id, identity, n);

	*s = is_ours ? session_of_key(ssl) : NULL;
	return !is_ours || *s;
}

static int use_certificates(SSL_CTX *ctx, const struct tls_keys *k, struct diag *d)
{
	char why[200];

	if (SSL_CTX_use_certificate_chain_file(ctx, k->cert) != 1)
		return diag_fail(d, -EINVAL, "cannot use the certificate %s: %s", k->cert,
				 reason(why));
	if (SSL_CTX_use_PrivateKey_file(ctx, k->key, SSL_FILETYPE_PEM) != 1)
		return diag_fail(d, -EINVAL, "cannot use the key %s: %s", k->key, reason(why));
	if (SSL_CTX_check_private_key(ctx) != 1)
		return diag_fail(d, -EINVAL, "the key %s is not that of %s: %s", k->key, k->cert,
				 reason(why));
	if (SSL_CTX_load_verify_file(ctx, k->ca) != 1)
		return diag_fail(d, -EINVAL, "cannot use the authority %s: %s", k->ca, reason(why));
	return 0;
}

static int open_tls(struct tls_context *c, const struct tls_keys *k, struct diag *d)
{
	int err = openssl_load(d);
	SSL_CTX *ctx;

	if (err)
		return err;
	ctx = SSL_CTX_new(c->is_server ? TLS_server_method() : TLS_client_method());
	if (!ctx)
		return diag_fail(d, -ENOMEM, "cannot begin TLS");
	c->ssl = ctx;
	SSL_CTX_set_app_data(ctx, c);
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	SSL_CTX_set_ciphersuites(ctx, suites);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	/* Early data could be replayed (RFC 8446, 8).  With 0 for both, a peer that sends it is
	 * refused, instead of having it skipped. */
	SSL_CTX_set_max_early_data(ctx, 0);
	SSL_CTX_set_recv_max_early_data(ctx, 0);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	/* With a key alone, a peer that shows a certificate instead is not trusted. */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | (k->psk ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
			   NULL);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)identity, sizeof identity - 1);
	if (k->psk)
		err = read_psk(c, k->psk, d);
	else
		err = use_certificates(ctx, k, d);
	if (!err && k->psk && c->is_server)
		SSL_CTX_set_psk_find_session_callback(ctx, find_key);
	else if (!err && k->psk)
		SSL_CTX_set_psk_use_session_callback(ctx, use_key);
	return err;
}

static int open_ssl(struct tls *t, struct tls_context *c, const char *host, struct diag *d)
{
	unsigned char binary[16];
	SSL *s = SSL_new(c->ssl);
	int is_ok = s && SSL_set_fd(s, t->fd);

	if (is_ok && !c->is_server && !c->psk) {
		if (inet_pton(AF_INET, host, binary) == 1 || inet_pton(AF_INET6, host, binary) == 1)
			is_ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s), host);
		else
			is_ok = SSL_set1_host(s, host) && SSL_set_tlsext_host_name(s, host);
	}
	if (!is_ok) {
		SSL_free(s);
		return diag_fail(d, -ENOMEM, "cannot begin TLS");
	}
	if (c->is_server)
		SSL_set_accept_state(s);
	else
		SSL_set_connect_state(s);
	t->ssl = s;
	return 0;
}

/* A failed connection may be tried again; a key that does not match may not. */
static int key_error(struct tls *t, struct diag *d)
{
	long verify = SSL_get_verify_result(t->ssl);
	char why[200];

	reason(why);
	if (verify != X509_V_OK && !t->psk)
		return diag_fail(d, -EKEYREJECTED, "its certificate is not accepted: %s",
				 X509_verify_cert_error_string(verify));
	if (t->psk && !t->is_server)
		return diag_fail(
			d, -EKEYREJECTED,
			"the relay does not accept the key %s: both sides need the same one (%s)",
			t->psk, why);
	return diag_fail(d, -EKEYREJECTED, "TLS: %s", why);
}

static long tls_result(struct tls *t, int result, struct diag *d)
{
	int saved = errno, e = SSL_get_error(t->ssl, result);

	t->wants_write = e == SSL_ERROR_WANT_WRITE;
	if (e == SSL_ERROR_WANT_WRITE || e == SSL_ERROR_WANT_READ)
		return -EAGAIN;
	if (e == SSL_ERROR_SSL &&
	    ERR_GET_REASON(ERR_peek_error()) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return key_error(t, d);
	ERR_clear_error();
	if (e == SSL_ERROR_SYSCALL && saved)
		return diag_fail(d, -saved, "%s", strerror(saved));
	return diag_fail(d, -EPIPE, "the peer closed the connection");
}

static int shake(struct tls *t, struct diag *d)
{
	int r;

	ERR_clear_error();
	errno = 0;
	r = SSL_do_handshake(t->ssl);
	if (r != 1)
		return (int)tls_result(t, r, d);
	if (t->psk && !SSL_session_reused(t->ssl))
		return diag_fail(d, -EKEYREJECTED, "the peer did not use the key %s", t->psk);
	return 0;
}

static long read_tls(struct tls *t, void *to, size_t n, struct diag *d)
{
	int r;

	ERR_clear_error();
	errno = 0;
	r = SSL_read(t->ssl, to, n > 1 << 20 ? 1 << 20 : (int)n);
	return r > 0 ? r : tls_result(t, r, d);
}

static long write_tls(struct tls *t, const void *from, size_t n, struct diag *d)
{
	int r;

	ERR_clear_error();
	errno = 0;
	r = SSL_write(t->ssl, from, n > 1 << 20 ? 1 << 20 : (int)n);
	return r > 0 ? r : tls_result(t, r, d);
}

static void close_tls(struct tls *t)
{
	if (!t->ssl)
		return;
	SSL_free(t->ssl);
	ERR_clear_error();
}

static void finish_tls(struct tls *t)
{
	SSL_shutdown(t->ssl);
	ERR_clear_error();
}

static void free_keys(struct tls_context *c)
{
	if (!c->ssl)
		return; /* no key was read, and OpenSSL may not be loaded */
	SSL_CTX_free(c->ssl);
	OPENSSL_cleanse(c->key, sizeof c->key);
}

bool tls_has_more(const struct tls *t)
{
	return t->ssl && SSL_has_pending(t->ssl);
}

#else

static int open_tls(struct tls_context *c, const struct tls_keys *k, struct diag *d)
{
	(void)c;
	(void)k;
	return diag_fail(d, -ENOTSUP,
			 "this duet was built without OpenSSL: only --plain, within one machine");
}

static int open_ssl(struct tls *t, struct tls_context *c, const char *host, struct diag *d)
{
	(void)t;
	(void)c;
	(void)host;
	return diag_fail(d, -ENOTSUP, "built without OpenSSL");
}

static int shake(struct tls *t, struct diag *d)
{
	(void)t;
	(void)d;
	return 0;
}

static long read_tls(struct tls *t, void *to, size_t n, struct diag *d)
{
	(void)t;
	(void)to;
	(void)n;
	return diag_fail(d, -ENOTSUP, "built without OpenSSL");
}

static long write_tls(struct tls *t, const void *from, size_t n, struct diag *d)
{
	(void)t;
	(void)from;
	(void)n;
	return diag_fail(d, -ENOTSUP, "built without OpenSSL");
}

static void close_tls(struct tls *t)
{
	(void)t;
}

static void finish_tls(struct tls *t)
{
	(void)t;
}

static void free_keys(struct tls_context *c)
{
	(void)c;
}

bool tls_has_more(const struct tls *t)
{
	(void)t;
	return false;
}

#endif

int tls_context_open(struct tls_context **out, const struct tls_keys *k, bool is_server,
		     struct diag *d)
{
	struct tls_context *c = calloc(1, sizeof *c);
	int err = c ? check_keys(k, d) : diag_fail(d, -ENOMEM, "no memory");

	*out = NULL;
	if (!err && !k->is_plain) {
		c->is_server = is_server;
		c->psk = k->psk;
		err = open_tls(c, k, d);
	}
	if (err)
		tls_context_close(c);
	else
		*out = c;
	return err;
}

void tls_context_close(struct tls_context *c)
{
	if (!c)
		return;
	free_keys(c);
	free(c);
}

int tls_open(struct tls *t, struct tls_context *c, int fd, const char *host, struct diag *d)
{
	int err;

	*t = (struct tls){ .fd = fd, .is_server = c->is_server, .psk = c->psk };
	err = c->ssl ? open_ssl(t, c, host, d) : 0;
	if (err)
		tls_close(t);
	return err;
}

void tls_close(struct tls *t)
{
	close_tls(t);
	if (t->fd >= 0)
		close(t->fd);
	*t = (struct tls){ .fd = -1 };
}

int tls_handshake(struct tls *t, struct diag *d)
{
	int err = t->ssl ? shake(t, d) : 0;

	assert(t->fd >= 0);
	t->is_ready = !err;
	return err;
}

void tls_finish(struct tls *t)
{
	if (t->ssl && t->is_ready)
		finish_tls(t);
	shutdown(t->fd, SHUT_WR);
}

static long plain_outcome(ssize_t n, struct diag *d)
{
	if (n > 0)
		return n;
	if (!n)
		return diag_fail(d, -EPIPE, "the peer closed the connection");
	if (errno == EAGAIN || errno == EINTR)
		return -EAGAIN;
	return diag_fail(d, -errno, "%s", strerror(errno));
}

long tls_read(struct tls *t, void *to, size_t n, struct diag *d)
{
	assert(t->is_ready && n);
	t->wants_write = false;
	return t->ssl ? read_tls(t, to, n, d) : plain_outcome(recv(t->fd, to, n, 0), d);
}

long tls_write(struct tls *t, const void *from, size_t n, struct diag *d)
{
	assert(t->is_ready && n);
	t->wants_write = false;
	return t->ssl ? write_tls(t, from, n, d)
		      : plain_outcome(send(t->fd, from, n, MSG_NOSIGNAL), d);
}
