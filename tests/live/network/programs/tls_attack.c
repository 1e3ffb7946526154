/* SPDX-License-Identifier: MIT */
/*
 * tests/live/network/programs/tls_attack.c - a client of a relay that has its key, and uses TLS as
 * duet does not.
 *
 * usage: tls_attack early|tickets|other PORT KEYFILE MESSAGE-IN-HEX
 *
 *	early	 sends the message as early data, and prints its fate: accepted, or why not
 *	tickets	 finishes the handshake, sends the message, and prints how many session tickets came
 *		 before the first answer
 *	other	 the same with the right key under another identity
 */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char key[32];
static const char *mode;
static int n_tickets;

static int use_key(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *n, SSL_SESSION **s)
{
	static const unsigned char suite[2] = { 0x13, 0x01 };
	const char *identity = strcmp(mode, "other") ? "duet relay" : "someone else";

	(void)md;
	*s = SSL_SESSION_new();
	SSL_SESSION_set1_master_key(*s, key, sizeof key);
	SSL_SESSION_set_cipher(*s, SSL_CIPHER_find(ssl, suite));
	SSL_SESSION_set_protocol_version(*s, TLS1_3_VERSION);
	SSL_SESSION_set_max_early_data(*s, 16384);
	*id = (const unsigned char *)identity;
	*n = strlen(identity);
	return 1;
}

static int count_ticket(SSL *ssl, SSL_SESSION *s)
{
	(void)ssl;
	(void)s;
	n_tickets++;
	return 0;
}

static void read_key(const char *path)
{
	char text[4096];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text, f) : 0;

	while (n && strchr(" \r\n", text[n - 1]))
		n--;
	EVP_Digest(text, n, key, NULL, EVP_sha256(), NULL);
	if (f)
		fclose(f);
}

static int connect_to(int port)
{
	const struct sockaddr_in there = { .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)port),
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return connect(fd, (const struct sockaddr *)&there, sizeof there) ? -1 : fd;
}

static size_t read_hex(const char *hex, unsigned char *to, size_t most)
{
	size_t n = 0;

	for (; n < most && hex[2 * n] && sscanf(hex + 2 * n, "%2hhx", &to[n]) == 1; n++)
		;
	return n;
}

static int fail(const char *step)
{
	const char *why = ERR_reason_error_string(ERR_peek_error());

	printf("%s: %s\n", step, why ? why : "closed");
	return 0;
}

int main(int argc, char **argv)
{
	unsigned char bytes[4096], answer[4096];
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	size_t n, written;
	SSL *ssl;
	int got;

	if (argc != 5)
		return 2;
	mode = argv[1];
	read_key(argv[3]);
	n = read_hex(argv[4], bytes, sizeof bytes);
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256");
	SSL_CTX_set_psk_use_session_callback(ctx, use_key);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(ctx, count_ticket);
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, connect_to(atoi(argv[2])));
	SSL_set_connect_state(ssl);
	if (!strcmp(mode, "early") && SSL_write_early_data(ssl, bytes, n, &written) != 1)
		return fail("early data not sent");
	if (SSL_connect(ssl) != 1)
		return fail("refused");
	if (!strcmp(mode, "early"))
		printf("early data: %s\n", SSL_get_early_data_status(ssl) == SSL_EARLY_DATA_ACCEPTED
						   ? "accepted"
						   : "skipped");
	else if (SSL_write(ssl, bytes, (int)n) <= 0)
		return fail("not sent");
	got = SSL_read(ssl, answer, sizeof answer);
	if (got <= 0)
		return fail("no answer");
	printf("answer of type %d, %d tickets\n", answer[4], n_tickets);
	return 0;
}
