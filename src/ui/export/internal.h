/* SPDX-License-Identifier: MIT */
/* ui/export/internal.h - shared by html.c (the file), html_page.c (the page) and html_data.c (its data). */
#ifndef UI_EXPORT_INTERNAL_H
#define UI_EXPORT_INTERNAL_H

#include "ui/export/export.h"

/* html_page - the page up to its data, and behind it.  @nonce: of its scripts.  0 or -errno. */
int html_page(struct text *before, struct text *behind, const char *nonce, struct diag *d);

/* html_data - the data as JSON that may stand in a script element, at most @most bytes.  0 or
 * -errno. */
int html_data(const struct ui_subject *s, const struct html_options *o, struct text *t, size_t most,
	      struct html_result *result, struct diag *d);

/* html_escape - append @bytes of JSON without `<`, `>`, `&` and the line ends of JavaScript. */
void html_escape(struct text *t, const char *bytes, size_t size);

#endif
