/* SPDX-License-Identifier: MIT */
/*
 * ui/server/mhd.h - libmicrohttpd, loaded when a server opens.
 *
 * It brings GnuTLS, whose loading takes longer than most commands of duet do.  So duet does not link
 * to it; each name below means the function of that name in the library (as in net/openssl.h).
 */
#ifndef UI_SERVER_MHD_H
#define UI_SERVER_MHD_H

#include <microhttpd.h>

#include "base/diag.h"

/* mhd_load - load the library; call it before all others.  0 or -errno. */
int mhd_load(struct diag *d);
/* mhd_find - the address of function @name, which every supported version has. */
void *mhd_find(const char *name);

#define MHD_CALL(f)                                                                                \
	(*({                                                                                       \
		static __typeof__(f) *at;                                                          \
		__typeof__(f) *now = __atomic_load_n(&at, __ATOMIC_RELAXED);                       \
		if (!now) {                                                                        \
			now = (__typeof__(f) *)mhd_find(#f);                                       \
			__atomic_store_n(&at, now, __ATOMIC_RELAXED);                              \
		}                                                                                  \
		now;                                                                               \
	}))

#define MHD_add_connection MHD_CALL(MHD_add_connection)
#define MHD_add_response_header MHD_CALL(MHD_add_response_header)
#define MHD_create_response_from_buffer MHD_CALL(MHD_create_response_from_buffer)
#define MHD_create_response_from_buffer_with_free_callback                                         \
	MHD_CALL(MHD_create_response_from_buffer_with_free_callback)
#define MHD_create_response_from_fd64 MHD_CALL(MHD_create_response_from_fd64)
#define MHD_del_response_header MHD_CALL(MHD_del_response_header)
#define MHD_destroy_response MHD_CALL(MHD_destroy_response)
#define MHD_get_connection_info MHD_CALL(MHD_get_connection_info)
#define MHD_get_connection_values_n MHD_CALL(MHD_get_connection_values_n)
#define MHD_lookup_connection_value MHD_CALL(MHD_lookup_connection_value)
#define MHD_queue_response MHD_CALL(MHD_queue_response)
#define MHD_resume_connection MHD_CALL(MHD_resume_connection)
#define MHD_start_daemon MHD_CALL(MHD_start_daemon)
#define MHD_stop_daemon MHD_CALL(MHD_stop_daemon)
#define MHD_suspend_connection MHD_CALL(MHD_suspend_connection)

#endif
