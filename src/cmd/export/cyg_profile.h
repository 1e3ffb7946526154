/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/cyg_profile.h - calls of programs as the events that LTTng-UST's function tracing makes
 * (lttng-ust-cyg-profile(3)), for viewers that know them.
 */
#ifndef CMD_EXPORT_CYG_PROFILE_H
#define CMD_EXPORT_CYG_PROFILE_H

#include "base/diag.h"

/*
 * export_cyg_profile - write the calls of recording @path as one trace into DIR/calls.
 *
 * @to: DIR.  Without calls nothing is made.  Entry and exit of each call become func_entry and
 * func_exit of lttng_ust_cyg_profile; call_site is the address of the calling function, 0 if none
 * was recorded.  lttng_ust_statedump has the files of each process, for names.
 *
 * Returns 0 or -errno, with the reason in @d.
 */
int export_cyg_profile(const char *path, const char *to, struct diag *d);

#endif
