/* SPDX-License-Identifier: MIT */
/* ui/assets/assets.c - a file of the page by its path. */
#include "ui/assets/assets.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *path, const void *asset)
{
	return strcmp(path, ((const struct ui_asset *)asset)->path);
}

const struct ui_asset *ui_asset_find(const char *path)
{
	return bsearch(path, ui_assets, (size_t)ui_n_assets, sizeof *ui_assets, compare);
}
