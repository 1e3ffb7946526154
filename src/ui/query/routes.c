/* SPDX-License-Identifier: MIT */
/* ui/query/routes.c - which query answers which request. */
#include "ui/query/query.h"

const struct ui_route ui_query_routes[] = {
	{ "GET", "/api/recording", ui_query_recording, false },
	{ "GET", "/api/picture", ui_query_picture, false },
	{ "GET", "/api/overview", ui_query_overview, true },
	{ "GET", "/api/item", ui_query_item, true },
	{ "GET", "/api/titles", ui_query_titles, true },
	{ "GET", "/api/next", ui_query_next, false },
	{ "GET", "/api/search", ui_query_search, true },
	{ "GET", "/api/wakes", ui_query_wakes, false },
	{ "GET", "/api/flame", ui_query_flame, true },
	{ "POST", "/api/script", ui_query_script, true },
	{ "GET", "/api/export", ui_query_export, true },
	{ "GET", "/api/events", ui_query_events, true },
	{ "GET", "/api/area", ui_query_area, true },
	{ "GET", "/api/latency", ui_query_latency, true },
	{ "GET", "/api/why", ui_query_why, true },
};

const int ui_query_n_routes = sizeof ui_query_routes / sizeof *ui_query_routes;
