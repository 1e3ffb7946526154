/* SPDX-License-Identifier: MIT */
/* ui/server/tls.c - PEM files read, or a certificate made by GnuTLS, which libmicrohttpd brings. */
#include "ui/server/tls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"

enum { PEM_MAX = 1 << 20, VALID_S = 30 * 24 * 3600, EARLY_S = 24 * 3600 };

/* ---------------------------------------------------------------- read */

static char *read_file(const char *path, struct diag *d)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	char *text = NULL;
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= PEM_MAX)
		text = calloc(1, (size_t)st.st_size + 1);
	if (text)
		n = io_read(fd, text, (size_t)st.st_size);
	if (fd < 0)
		diag_errno(d, "cannot read %s", path);
	else if (n < 0)
		diag_fail(d, -EINVAL, "%s: not a PEM file", path);
	if (fd >= 0)
		close(fd);
	if (n >= 0)
		return text;
	free(text);
	return NULL;
}

int tls_identity_read(struct tls_identity *t, const char *cert, const char *key, struct diag *d)
{
	*t = (struct tls_identity){ .cert = read_file(cert, d) };
	if (t->cert)
		t->key = read_file(key, d);
	if (t->key)
		return 0;
	tls_identity_fini(t);
	return -EINVAL;
}

/* ---------------------------------------------------------------- made */

static void *find(const char *name)
{
	static void *library;
	void *at;

	if (!library)
		library = dlopen("libgnutls.so.30", RTLD_NOW | RTLD_LOCAL);
	at = library ? dlsym(library, name) : NULL;
	assert(at); /* libmicrohttpd is linked to it */
	return at;
}

#define CALL(f) ((__typeof__(f) *)find(#f))

static int sign(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key, const char *name)
{
	unsigned char serial[16], address[16];
	time_t now = time(NULL);
	const char *bad;
	char dn[300];
	int family = strchr(name, ':') ? AF_INET6 : AF_INET;
	bool is_address = inet_pton(family, name, address) == 1;

	if (getrandom(serial, sizeof serial, 0) != sizeof serial)
		return GNUTLS_E_RANDOM_FAILED;
	serial[0] &= 0x7f;
	snprintf(dn, sizeof dn, "CN=duet ui on %s", name);
	CALL(gnutls_x509_crt_set_version)(cert, 3);
	CALL(gnutls_x509_crt_set_serial)(cert, serial, sizeof serial);
	CALL(gnutls_x509_crt_set_activation_time)(cert, now - EARLY_S);
	CALL(gnutls_x509_crt_set_expiration_time)(cert, now + VALID_S);
	CALL(gnutls_x509_crt_set_dn)(cert, dn, &bad);
	CALL(gnutls_x509_crt_set_subject_alt_name)
	(cert, is_address ? GNUTLS_SAN_IPADDRESS : GNUTLS_SAN_DNSNAME,
	 is_address ? (void *)address : (const void *)name,
	 is_address ? (family == AF_INET ? 4u : 16u) : (unsigned)strlen(name), GNUTLS_FSAN_APPEND);
	CALL(gnutls_x509_crt_set_key)(cert, key);
	return CALL(gnutls_x509_crt_sign2)(cert, cert, key, GNUTLS_DIG_SHA256, 0);
}

static void note_fingerprint(struct tls_identity *t, gnutls_x509_crt_t cert)
{
	unsigned char bytes[32];
	size_t size = sizeof bytes;

	if (CALL(gnutls_x509_crt_get_fingerprint)(cert, GNUTLS_DIG_SHA256, bytes, &size))
		return;
	for (size_t i = 0; i < size; i++)
		snprintf(t->fingerprint + 3 * i, 4, i + 1 < size ? "%02X:" : "%02X", bytes[i]);
}

static int export(struct tls_identity *t, gnutls_x509_crt_t cert, gnutls_x509_privkey_t key)
{
	gnutls_datum_t c = { 0 }, k = { 0 };
	int err = CALL(gnutls_x509_crt_export2)(cert, GNUTLS_X509_FMT_PEM, &c);

	if (!err)
		err = CALL(gnutls_x509_privkey_export2)(key, GNUTLS_X509_FMT_PEM, &k);
	if (!err) {
		t->cert = strndup((char *)c.data, c.size);
		t->key = strndup((char *)k.data, k.size);
	}
	(*(gnutls_free_function *)find("gnutls_free"))(c.data);
	(*(gnutls_free_function *)find("gnutls_free"))(k.data);
	return err ? err : t->cert && t->key ? 0 : GNUTLS_E_MEMORY_ERROR;
}

int tls_identity_make(struct tls_identity *t, const char *name, struct diag *d)
{
	gnutls_x509_privkey_t key = NULL;
	gnutls_x509_crt_t cert = NULL;
	int err;

	*t = (struct tls_identity){ .fingerprint = "" };
	err = CALL(gnutls_x509_privkey_init)(&key);
	if (!err)
		err = CALL(gnutls_x509_crt_init)(&cert);
	if (!err)
		err = CALL(gnutls_x509_privkey_generate)(
			key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	if (!err)
		err = sign(cert, key, name);
	if (!err)
		err = export(t, cert, key);
	if (!err)
		note_fingerprint(t, cert);
	if (cert)
		CALL(gnutls_x509_crt_deinit)(cert);
	if (key)
		CALL(gnutls_x509_privkey_deinit)(key);
	if (!err)
		return 0;
	tls_identity_fini(t);
	return diag_fail(d, -EIO, "cannot make a certificate: %s", CALL(gnutls_strerror)(err));
}

void tls_identity_fini(struct tls_identity *t)
{
	if (t->key)
		explicit_bzero(t->key, strlen(t->key));
	free(t->cert);
	free(t->key);
	t->cert = t->key = NULL;
}
