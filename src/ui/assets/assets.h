/* SPDX-License-Identifier: MIT */
/*
 * ui/assets/assets.h - the files of the timeline's page, as they are in this program.
 *
 * They are src/ui/page and the charts' library (uPlot), taken in by the build: embed.py.
 */
#ifndef UI_ASSETS_ASSETS_H
#define UI_ASSETS_ASSETS_H

#include <stddef.h>

struct ui_asset {
	const char *path; /* in the address: "/", "/main.js", "/timeline/rows.js" */
	const char *type; /* of media, with the charset of texts */
	const unsigned char *bytes;
	size_t size;
};

extern const struct ui_asset ui_assets[]; /* in the order of their paths */
extern const int ui_n_assets;

/* ui_asset_find - the file at @path; NULL: there is none. */
const struct ui_asset *ui_asset_find(const char *path);

#endif
