/* SPDX-License-Identifier: MIT */
/*
 * ui/query/flame.c - `/api/flame`: a flame graph as a list of nodes, the largest ones of the tree.
 *
 * Those that are left out are one node below their parent, so totals still add up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ui/flame/flame.h"
#include "ui/query/internal.h"

enum { ROWS_MOST = 4096, NODES_MOST = 20000, NODES_USUAL = 4000 };

static const char *const source_names[] = { [FLAME_ANY] = "",
					    [FLAME_SAMPLES] = "samples",
					    [FLAME_STACKS] = "stacks",
					    [FLAME_CALLS] = "calls" };
enum { N_SOURCES = sizeof source_names / sizeof *source_names };

struct printing {
	const struct flame *f;
	struct text *t;
	uint32_t *order;	/* all nodes, by descending total */
	uint32_t *child, *next; /* plus 1: of those that are printed, the largest first */
	uint32_t *names;	/* by name: its number in the answer, plus 1 */
	uint64_t *smaller;	/* by node: total of children that are not printed */
	uint32_t *listed;	/* the names of the answer, in order */
	uint32_t n, n_names, n_printed;
	uint32_t n_left_out;
	uint64_t left_out;
};

/* ---------------------------------------------------------------- which nodes */

static int compare(const void *a, const void *b, void *flame)
{
	const struct flame_node *nodes = ((const struct flame *)flame)->nodes;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (nodes[x].total != nodes[y].total)
		return nodes[x].total > nodes[y].total ? -1 : 1;
	return x < y ? -1 : x > y; /* a parent before its children */
}

/* Chooses the @limit largest nodes.  A parent is at least as large as its children, so it is among
 * them too. */
static void choose(struct printing *p, uint32_t limit)
{
	const struct flame *f = p->f;

	for (uint32_t i = 0; i < f->n_nodes; i++)
		p->order[i] = i;
	qsort_r(p->order, f->n_nodes, sizeof *p->order, compare, (void *)f);
	while (p->n < f->n_nodes && p->n < limit && (f->nodes[p->order[p->n]].total || !p->n))
		p->n++;
	for (uint32_t i = p->n; i-- > 1;) {
		uint32_t node = p->order[i], parent = f->nodes[node].parent;

		p->next[node] = p->child[parent];
		p->child[parent] = node + 1;
	}
	for (uint32_t i = p->n; i < f->n_nodes; i++) {
		const struct flame_node *n = &f->nodes[p->order[i]];
		const struct flame_node *above = &f->nodes[n->parent];

		if (!n->total)
			break;
		p->n_left_out++;
		/* whether the parent is printed: it comes before the first that is not */
		if (compare(&n->parent, &p->order[p->n], (void *)f) < 0) {
			p->smaller[above - f->nodes] += n->total;
			p->left_out += n->total;
		}
	}
}

/* ---------------------------------------------------------------- the answer */

static uint32_t name_number(struct printing *p, uint32_t name)
{
	if (!p->names[name]) {
		p->listed[p->n_names] = name;
		p->names[name] = ++p->n_names;
	}
	return p->names[name] - 1;
}

static void print_node(struct printing *p, int64_t parent, uint32_t name,
		       const struct flame_node *n)
{
	const int64_t numbers[] = { parent,
				    name,
				    (int64_t)n->total,
				    (int64_t)n->self,
				    (int64_t)n->count,
				    n->what,
				    (int64_t)n->row - 1 };

	add(p->t, p->n_printed++ ? ",[" : "[");
	for (int i = 0; i < (n->row ? 7 : 6); i++) {
		add(p->t, i ? "," : "");
		ui_add_int(p->t, numbers[i]);
	}
	add(p->t, "]");
}

static void print_below(struct printing *p, uint32_t node, int64_t parent)
{
	const struct flame_node *n = &p->f->nodes[node];
	uint32_t number = p->n_printed;

	print_node(p, parent, name_number(p, n->name), n);
	for (uint32_t c = p->child[node]; c; c = p->next[c - 1])
		print_below(p, c - 1, number);
	if (p->smaller[node])
		print_node(p, number, name_number(p, p->f->n_names),
			   &(struct flame_node){ .what = FLAME_SMALLER,
						 .self = p->smaller[node],
						 .total = p->smaller[node] });
}

static void print_names(struct printing *p)
{
	ui_add_key(p->t, "names");
	add(p->t, "[");
	for (uint32_t i = 0; i < p->n_names; i++) {
		const char *name =
			p->listed[i] == p->f->n_names ? "(smaller)" : p->f->names[p->listed[i]];

		add(p->t, i ? "," : "");
		ui_json_string(p->t, name, strlen(name));
	}
	add(p->t, "]");
}

static void print_sources(struct printing *p)
{
	const bool has[N_SOURCES] = { [FLAME_SAMPLES] = p->f->has_samples,
				      [FLAME_STACKS] = p->f->has_stacks,
				      [FLAME_CALLS] = true };

	ui_add_string(p->t, "source", source_names[p->f->source]);
	ui_add_key(p->t, "sources");
	add(p->t, "[");
	for (int i = 0, n = 0; i < N_SOURCES; i++)
		if (has[i]) {
			add(p->t, n++ ? "," : "");
			ui_json_string(p->t, source_names[i], strlen(source_names[i]));
		}
	add(p->t, "]");
}

static void print(struct printing *p, const struct flame_options *o)
{
	const struct flame *f = p->f;

	add(p->t, "{");
	ui_add_string(p->t, "kind", o->is_on ? "on" : "off");
	ui_add_member(p->t, "from", o->from);
	ui_add_member(p->t, "to", o->to);
	ui_add_string(p->t, "unit", f->counts_samples ? "samples" : "ns");
	print_sources(p);
	ui_add_member(p->t, "total", (int64_t)f->nodes[0].total);
	ui_add_key(p->t, "nodes");
	add(p->t, "[");
	print_below(p, 0, -1);
	add(p->t, "]");
	print_names(p);
	ui_add_key(p->t, "left_out");
	add(p->t, "{");
	ui_add_member(p->t, "nodes", p->n_left_out);
	ui_add_member(p->t, "ns", (int64_t)p->left_out);
	add(p->t, "}");
	ui_add_string(p->t, "note", f->note);
	add(p->t, "}");
}

static void answer(const struct flame *f, const struct flame_options *o, uint32_t limit,
		   struct ui_answer *a)
{
	size_t n = f->n_nodes, m = f->n_names + (size_t)1;
	struct printing p = { .f = f,
			      .t = &a->body,
			      .order = calloc(n, sizeof *p.order),
			      .child = calloc(n, sizeof *p.child),
			      .next = calloc(n, sizeof *p.next),
			      .smaller = calloc(n, sizeof *p.smaller),
			      .names = calloc(m, sizeof *p.names),
			      .listed = calloc(m, sizeof *p.listed) };

	if (p.order && p.child && p.next && p.smaller && p.names && p.listed) {
		choose(&p, limit);
		print(&p, o);
	} else {
		ui_refuse(a, 500, "no memory for the flame graph");
	}
	free(p.order);
	free(p.child);
	free(p.next);
	free(p.smaller);
	free(p.names);
	free(p.listed);
}

/* ---------------------------------------------------------------- the request */

static bool read_kind(const struct ui_request *q, struct ui_answer *a, struct flame_options *o)
{
	const char *kind = ui_param(q, "kind"), *source = ui_param(q, "source");

	o->is_on = !kind || !strcmp(kind, "on");
	if (kind && !o->is_on && strcmp(kind, "off") != 0) {
		ui_refuse(a, 400, "%s: parameter kind is on or off, not %.40s", q->path, kind);
		return false;
	}
	for (int i = 0; i < N_SOURCES && source; i++)
		if (!strcmp(source, source_names[i])) {
			o->source = (enum flame_source)i;
			return true;
		}
	if (source)
		ui_refuse(a, 400, "%s: parameter source is samples, stacks or calls, not %.40s",
			  q->path, source);
	return !source;
}

void ui_query_flame(const struct ui_subject *s, const struct ui_request *q, struct ui_answer *a)
{
	struct flame_options o = { .index = s->index,
				   .paths = s->paths,
				   .n_paths = s->n_paths,
				   .is_cancelled = q->is_cancelled };
	uint32_t rows[ROWS_MOST];
	struct diag d = { "" };
	struct flame f;
	int64_t limit;
	int err;

	if (!ui_has_recording(s, a) || !ui_param_range(s, q, a, &o.from, &o.to) ||
	    !ui_param_int(q, a, "limit", 16, NODES_MOST, NODES_USUAL, &limit) ||
	    !read_kind(q, a, &o))
		return;
	o.rows = rows;
	o.n_rows = ui_param_rows(s, q, a, rows, ROWS_MOST);
	if (o.n_rows < 0)
		return;
	err = flame_make(&f, &o, &d);
	if (err == -ECANCELED)
		return ui_refuse(a, 409, "the request was dropped");
	if (err)
		return ui_refuse(a, 500, "%s", d.text);
	answer(&f, &o, (uint32_t)limit, a);
	flame_fini(&f);
}
