/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/svg.c - `duet export svg`: a flame graph (B. Gregg, "The Flame Graph", 2016).
 *
 * It needs only a browser, and no script: a box has its text as title, which appears under the
 * pointer.  A box is a function called by the one below it; its width is its share of the weight.
 * Boxes narrower than a quarter of a pixel are omitted.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "cmd/export/stacks.h"

/* A letter is 0.6 of the font's size in common monospace fonts, and slightly more in some. */
enum { WIDTH = 1200, ROW = 18, HEAD = 40, MARGIN = 10, LETTER = 7, FONT = 11, INDENT = 3 };

struct box {
	double x, width;
	uint64_t total;
	uint32_t depth;
};

struct svg {
	struct out *o;
	const struct stacks *s;
	struct box *boxes; /* by node */
	uint32_t *order;   /* nodes by parent, then name */
	uint32_t depth;
};

/* XML does not allow control characters. */
static void add_text(struct out *o, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + n;

	while (s < end && *s) {
		size_t size = *s < 0x80 ? 1 : text_utf8_length(s, (size_t)(end - s));

		out_room(o);
		if (*s == '&')
			out_literal(o, "&amp;");
		else if (*s == '<')
			out_literal(o, "&lt;");
		else if (*s == '>')
			out_literal(o, "&gt;");
		else if (!size || *s < 0x20 || *s == 0x7f)
			out_byte(o, '?');
		else
			out_bytes(o, (const char *)s, size);
		s += size ? size : 1;
	}
}

static void add_format(struct out *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_format(struct out *o, const char *format, ...)
{
	char text[512];
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	out_data(o, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---------------------------------------------------------------- layout */

static int by_parent(const void *a, const void *b, void *context)
{
	const struct stacks *s = context;
	const struct stacks_node *x = &s->nodes[*(const uint32_t *)a],
				 *y = &s->nodes[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return strcmp(s->frames[x->frame], s->frames[y->frame]);
}

/* Parents have lower numbers than their children, so they are placed first in either order. */
static void lay_out(struct svg *v)
{
	const struct stacks *s = v->s;
	double scale = s->total ? (WIDTH - 2.0 * MARGIN) / (double)s->total : 0, x = 0;
	uint32_t parent = STACKS_ROOT;

	for (uint32_t i = s->n_nodes; i-- > 1;) {
		v->boxes[i].total += s->nodes[i].self;
		v->boxes[s->nodes[i].parent].total += v->boxes[i].total;
	}
	v->boxes[STACKS_ROOT] = (struct box){ MARGIN, WIDTH - 2.0 * MARGIN, s->total, 0 };
	for (uint32_t i = 1; i < s->n_nodes; i++)
		v->order[i - 1] = i;
	qsort_r(v->order, s->n_nodes - 1, sizeof *v->order, by_parent, (void *)s);
	for (uint32_t i = 0; i + 1 < s->n_nodes; i++) {
		struct box *b = &v->boxes[v->order[i]];

		if (!i || s->nodes[v->order[i]].parent != parent) {
			parent = s->nodes[v->order[i]].parent;
			x = v->boxes[parent].x;
		}
		b->x = x;
		b->width = (double)b->total * scale;
		b->depth = v->boxes[parent].depth + 1;
		x += b->width;
		if (b->depth > v->depth)
			v->depth = b->depth;
	}
}

/* ---------------------------------------------------------------- drawing */

/* A warm colour that is a function of the name. */
static void add_colour(struct out *o, const char *name)
{
	uint32_t h = hash_text32(name);

	add_format(o, "rgb(%u,%u,%u)", 205 + h % 50, 80 + (h >> 8) % 130, (h >> 16) % 60);
}

/* Prints a weight in a unit that needs at most six digits. */
static void add_weight(struct out *o, uint64_t weight, const char *unit)
{
	if (strcmp(unit, "ns"))
		add_format(o, "%llu%s%s", (unsigned long long)weight, *unit ? " " : "", unit);
	else
		add_format(o, "%.3f ms", (double)weight / 1e6);
}

static void add_box(struct svg *v, const struct box *b, const char *name, const char *unit)
{
	double y = HEAD + (v->depth - b->depth) * (double)ROW;
	size_t room = b->width > 2 * INDENT ? (size_t)((b->width - 2 * INDENT) / LETTER) : 0,
	       n = strlen(name);

	add_format(v->o, "<g><title>");
	add_text(v->o, name, n);
	add_format(v->o, " (");
	add_weight(v->o, b->total, unit);
	add_format(
		v->o,
		", %.2f%%)</title><rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"",
		v->s->total ? 100.0 * (double)b->total / (double)v->s->total : 0, b->x, y, b->width,
		ROW - 1);
	add_colour(v->o, name);
	add_format(v->o, "\"/>");
	if (room > 2) {
		add_format(v->o, "<text x=\"%.2f\" y=\"%.0f\">", b->x + INDENT, y + ROW - 5);
		add_text(v->o, name, n <= room ? n : room - 2);
		add_format(v->o, n <= room ? "</text>" : "..</text>");
	}
	add_format(v->o, "</g>\n");
}

static void draw(struct svg *v, const struct export *x, const char *unit)
{
	const char *title = x->title ? x->title : x->paths[0];
	int height = HEAD + (int)(v->depth + 1) * ROW + MARGIN;

	add_format(
		v->o,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"100%%\" "
		"font-family=\"monospace\" font-size=\"%d\">\n"
		"<style>rect{stroke:none} g:hover rect{stroke:#000} "
		"text{pointer-events:none}</style>\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"24\" font-size=\"16\" text-anchor=\"middle\">",
		WIDTH, height, FONT, WIDTH, height, WIDTH / 2);
	add_text(v->o, title, strlen(title));
	if (x->drawn && !x->title)
		add_format(v->o, ": %s", x->drawn);
	add_format(v->o, "</text>\n");
	add_box(v, &v->boxes[STACKS_ROOT], "all", unit);
	for (uint32_t i = 0; i + 1 < v->s->n_nodes && !v->o->is_over; i++)
		if (v->boxes[v->order[i]].width >= 0.25)
			add_box(v, &v->boxes[v->order[i]],
				v->s->frames[v->s->nodes[v->order[i]].frame], unit);
	add_format(v->o, "</svg>\n");
}

int export_svg(struct export *x, struct diag *d)
{
	struct stacks s;
	struct svg v = { .o = &x->out, .s = &s };
	int err = export_stacks(x, &s, false, d);

	if (!err) {
		v.boxes = calloc(s.n_nodes, sizeof *v.boxes);
		v.order = calloc(s.n_nodes, sizeof *v.order);
		if (!v.boxes || !v.order)
			err = diag_fail(d, -ENOMEM, "no memory for a graph");
	}
	if (!err) {
		lay_out(&v);
		draw(&v, x, export_unit(x));
	}
	free(v.boxes);
	free(v.order);
	stacks_fini(&s);
	return err;
}
