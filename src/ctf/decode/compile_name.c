/* SPDX-License-Identifier: MIT */
/* ctf/decode/compile_name.c - resolves the path of a length or a tag to an earlier field.  See
 * compile.h. */
#include "ctf/decode/internal.h"

#include <string.h>

/* The member @name of node or scope @parent; the last one if there are several. */
static int32_t find_node(const struct compiler *c, int32_t parent, const char *name, size_t size)
{
	c->meta->n_steps += c->n_nodes;
	for (uint32_t i = c->n_nodes; i-- > 0;)
		if (c->nodes[i].parent == parent && c->nodes[i].name &&
		    !strncmp(c->nodes[i].name, name, size) && !c->nodes[i].name[size])
			return (int32_t)i;
	return -1;
}

static int32_t find_path(const struct compiler *c, int32_t parent, const char *path)
{
	int32_t found = -1;

	for (;;) {
		size_t n = strcspn(path, ".");

		found = find_node(c, parent, path, n);
		if (found < 0 || !path[n])
			return found;
		parent = found;
		path += n + 1;
	}
}

static const char *after_prefix(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(path, prefix, n) && path[n] == '.' ? path + n + 1 : NULL;
}

/* Relative paths of CTF 2: each `^` is the enclosing struct. */
static int32_t resolve_upwards(const struct compiler *c, int32_t from, const char *path)
{
	for (; path[0] == '^' && path[1] == '.'; path += 2) {
		while (from >= 0 && c->nodes[from].type->kind != CTF_STRUCT)
			from = c->nodes[from].parent;
		if (from >= 0)
			from = c->nodes[from].parent;
	}
	while (from >= 0 && c->nodes[from].type->kind != CTF_STRUCT)
		from = c->nodes[from].parent;
	return find_path(c, from, path);
}

/* Scopes have the names of TSDL; a plain name is searched from the innermost struct outwards. */
static int32_t resolve(const struct compiler *c, int32_t from, const char *path)
{
	const char *rest;
	int32_t found;

	if ((rest = after_prefix(path, "event.fields")))
		return find_path(c, TOP_FIELDS, rest);
	if ((rest = after_prefix(path, "stream.event.context")))
		return find_path(c, TOP_STREAM_CONTEXT, rest);
	if ((rest = after_prefix(path, "event.context")))
		return find_path(c, TOP_EVENT_CONTEXT, rest);
	if (c->own && (rest = after_prefix(path, c->own)))
		return find_path(c, TOP_FIELDS, rest);
	if (path[0] == '^')
		return resolve_upwards(c, from, path);
	for (;; from = c->nodes[from].parent) {
		found = find_path(c, from, path);
		if (found >= 0)
			return found;
		if (from < 0)
			break;
	}
	for (int32_t top = from + 1; top <= TOP_STREAM_CONTEXT; top++) {
		found = find_path(c, top, path);
		if (found >= 0)
			return found;
	}
	return -1;
}

static const struct outer *resolve_outer(struct compiler *c, const char *path)
{
	for (int i = c->n_outer; i-- > 0;) {
		const struct outer *o = &c->outer[i];
		const char *rest = after_prefix(path, o->scope);

		if (strcmp(rest ? rest : path, o->name))
			continue;
		if (!strcmp(o->scope, "stream.event.header"))
			c->uses_header = true;
		return o;
	}
	return NULL;
}

uint8_t compile_slot_of(struct compiler *c, int32_t from, const char *path,
			const struct ctf_type **t, int32_t *node)
{
	int32_t n = path ? resolve(c, from, path) : -1;
	const struct outer *o;

	if (c->meta->n_steps > COMPILE_STEPS_MAX)
		compile_fail(c, "is one reference too many", path);
	*node = n;
	if (n < 0) {
		o = path ? resolve_outer(c, path) : NULL;
		if (!o) {
			compile_fail(c, "is the length or tag of another, but is not before it",
				     path);
			return CTF_NO_SLOT;
		}
		*t = o->type;
		return o->slot;
	}
	*t = c->nodes[n].type;
	if ((*t)->kind != CTF_INTEGER && (*t)->kind != CTF_ENUM && (*t)->kind != CTF_LEB128) {
		compile_fail(c, "is the length or tag of another, but is no integer", path);
		return CTF_NO_SLOT;
	}
	if (c->slots[n] == CTF_NO_SLOT) {
		if (c->n_slots >= CTF_SLOTS)
			compile_fail(c, "is one length or tag too many", path);
		else
			c->slots[n] = c->n_slots++;
	}
	return c->slots[n];
}

void compile_hide_length(struct compiler *c, int32_t node, const char *name)
{
	const char *length = node >= 0 ? c->nodes[node].name : NULL;
	const char *shown = compile_shown_name(name);
	size_t n = shown ? strlen(shown) : 0;
	size_t skip = length ? strspn(length, "_") : 0;

	if (!n || !length || !skip || c->err || c->nodes[node].op >= c->n_ops)
		return;
	if (!strncmp(length + skip, shown + strspn(shown, "_"), n - strspn(shown, "_")) &&
	    !strcmp(length + skip + n - strspn(shown, "_"), "_length"))
		c->ops[c->nodes[node].op].is_hidden = true;
}
