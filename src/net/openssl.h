/* SPDX-License-Identifier: MIT */
/*
 * net/openssl.h - OpenSSL, loaded at its first use.
 *
 * Its libraries take 3 ms to load: most of the time that `duet enable` would take, and nearly all
 * commands do not need them.  So duet does not link to them.  Each name below means the function
 * of that name in the library, which the first TLS context with a key loads.  A function that is
 * missing here does not link.
 */
#ifndef NET_OPENSSL_H
#define NET_OPENSSL_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>

#include "base/diag.h"

/* openssl_load - load the library; call it before all others.  0 or -errno. */
int openssl_load(struct diag *d);
/* openssl_find - the address of function @name.  A function that is missing in the loaded version
 * ends the process. */
void *openssl_find(const char *name);

#ifdef DUET_STATIC /* OpenSSL is part of the program */
#define OPENSSL_CALL(f) f
#else
#define OPENSSL_CALL(f)                                                                            \
	(*({                                                                                       \
		static __typeof__(f) *at;                                                          \
		if (!at)                                                                           \
			at = (__typeof__(f) *)openssl_find(#f);                                    \
		at;                                                                                \
	}))
#endif

#define ERR_clear_error OPENSSL_CALL(ERR_clear_error)
#define ERR_get_error OPENSSL_CALL(ERR_get_error)
#define ERR_peek_error OPENSSL_CALL(ERR_peek_error)
#define ERR_reason_error_string OPENSSL_CALL(ERR_reason_error_string)
#define EVP_Digest OPENSSL_CALL(EVP_Digest)
#define EVP_MD_get_type OPENSSL_CALL(EVP_MD_get_type)
#define EVP_sha256 OPENSSL_CALL(EVP_sha256)
#define OPENSSL_cleanse OPENSSL_CALL(OPENSSL_cleanse)
#define SSL_CIPHER_find OPENSSL_CALL(SSL_CIPHER_find)
#define SSL_CTX_check_private_key OPENSSL_CALL(SSL_CTX_check_private_key)
#define SSL_CTX_ctrl OPENSSL_CALL(SSL_CTX_ctrl)
#define SSL_CTX_free OPENSSL_CALL(SSL_CTX_free)
#define SSL_CTX_get_ex_data OPENSSL_CALL(SSL_CTX_get_ex_data)
#define SSL_CTX_load_verify_file OPENSSL_CALL(SSL_CTX_load_verify_file)
#define SSL_CTX_new OPENSSL_CALL(SSL_CTX_new)
#define SSL_CTX_set_ciphersuites OPENSSL_CALL(SSL_CTX_set_ciphersuites)
#define SSL_CTX_set_ex_data OPENSSL_CALL(SSL_CTX_set_ex_data)
#define SSL_CTX_set_max_early_data OPENSSL_CALL(SSL_CTX_set_max_early_data)
#define SSL_CTX_set_num_tickets OPENSSL_CALL(SSL_CTX_set_num_tickets)
#define SSL_CTX_set_options OPENSSL_CALL(SSL_CTX_set_options)
#define SSL_CTX_set_psk_find_session_callback OPENSSL_CALL(SSL_CTX_set_psk_find_session_callback)
#define SSL_CTX_set_psk_use_session_callback OPENSSL_CALL(SSL_CTX_set_psk_use_session_callback)
#define SSL_CTX_set_recv_max_early_data OPENSSL_CALL(SSL_CTX_set_recv_max_early_data)
#define SSL_CTX_set_session_id_context OPENSSL_CALL(SSL_CTX_set_session_id_context)
#define SSL_CTX_set_verify OPENSSL_CALL(SSL_CTX_set_verify)
#define SSL_CTX_use_PrivateKey_file OPENSSL_CALL(SSL_CTX_use_PrivateKey_file)
#define SSL_CTX_use_certificate_chain_file OPENSSL_CALL(SSL_CTX_use_certificate_chain_file)
#define SSL_SESSION_free OPENSSL_CALL(SSL_SESSION_free)
#define SSL_SESSION_new OPENSSL_CALL(SSL_SESSION_new)
#define SSL_SESSION_set1_id_context OPENSSL_CALL(SSL_SESSION_set1_id_context)
#define SSL_SESSION_set1_master_key OPENSSL_CALL(SSL_SESSION_set1_master_key)
#define SSL_SESSION_set_cipher OPENSSL_CALL(SSL_SESSION_set_cipher)
#define SSL_SESSION_set_protocol_version OPENSSL_CALL(SSL_SESSION_set_protocol_version)
#define SSL_ctrl OPENSSL_CALL(SSL_ctrl)
#define SSL_do_handshake OPENSSL_CALL(SSL_do_handshake)
#define SSL_free OPENSSL_CALL(SSL_free)
#define SSL_get0_param OPENSSL_CALL(SSL_get0_param)
#define SSL_get_SSL_CTX OPENSSL_CALL(SSL_get_SSL_CTX)
#define SSL_get_error OPENSSL_CALL(SSL_get_error)
#define SSL_get_verify_result OPENSSL_CALL(SSL_get_verify_result)
#define SSL_has_pending OPENSSL_CALL(SSL_has_pending)
#define SSL_new OPENSSL_CALL(SSL_new)
#define SSL_read OPENSSL_CALL(SSL_read)
#define SSL_session_reused OPENSSL_CALL(SSL_session_reused)
#define SSL_set1_host OPENSSL_CALL(SSL_set1_host)
#define SSL_set_accept_state OPENSSL_CALL(SSL_set_accept_state)
#define SSL_set_connect_state OPENSSL_CALL(SSL_set_connect_state)
#define SSL_set_fd OPENSSL_CALL(SSL_set_fd)
#define SSL_shutdown OPENSSL_CALL(SSL_shutdown)
#define SSL_write OPENSSL_CALL(SSL_write)
#define TLS_client_method OPENSSL_CALL(TLS_client_method)
#define TLS_server_method OPENSSL_CALL(TLS_server_method)
#define X509_VERIFY_PARAM_set1_ip_asc OPENSSL_CALL(X509_VERIFY_PARAM_set1_ip_asc)
#define X509_verify_cert_error_string OPENSSL_CALL(X509_verify_cert_error_string)

#endif
