/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/points/user_types.c - members of a program's structures: $item->next->id.
 *
 * The type of a parameter is in the DWARF of the file itself.  The walk is that of path.c, over
 * DWARF's types instead of the kernel's; all memory is the program's.  The file is untrusted: libdw
 * checks bounds, and the depth of types is bounded here.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "script/kernel/points/user.h"

enum { DEPTH_MAX = 32 };

/* ---------------------------------------------------------------- types */

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, type);
}

/* The type behind typedefs and qualifiers; false: void. */
static bool plain_type(Dwarf_Die *type)
{
	for (int i = 0; i < DEPTH_MAX; i++) {
		Dwarf_Die next;

		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!type_of(type, &next))
				return false;
			*type = next;
			break;
		default:
			return true;
		}
	}
	return false;
}

static bool is_structure(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_class_type;
}

static bool number_of(Dwarf_Die *die, unsigned name, Dwarf_Word *value)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, name, &a) && !dwarf_formudata(&a, value);
}

/* Member @name of @structure, also one of unnamed members; its offset is added to *@at. */
static bool find_member(Dwarf_Die *structure, const char *name, int depth, Dwarf_Die *member,
			uint64_t *at, struct script_nearest *nearest)
{
	Dwarf_Die m;

	if (!depth || dwarf_child(structure, &m))
		return false;
	do {
		const char *found = dwarf_diename(&m);
		Dwarf_Word offset = 0;
		Dwarf_Die inner;

		if (dwarf_tag(&m) != DW_TAG_member)
			continue;
		number_of(&m, DW_AT_data_member_location, &offset);
		if (found && !strcmp(found, name)) {
			*at += offset;
			*member = m;
			return true;
		}
		if (found)
			script_nearest_try(nearest, found);
		if (!found && type_of(&m, &inner) && plain_type(&inner) &&
		    find_member(&inner, name, depth - 1, member, at, nearest)) {
			*at += offset;
			return true;
		}
	} while (!dwarf_siblingof(&m, &m));
	return false;
}

/* ---------------------------------------------------------------- the walk */

struct walk {
	struct kernel_fetch *f;
	Dwarf_Die type;
	bool is_place;
	const char *shown;
};

static int go_through(struct walk *w, struct diag *d)
{
	Dwarf_Die target;

	if (!type_of(&w->type, &target) || !plain_type(&target))
		return diag_fail(d, -EINVAL, "%s goes through a pointer to nothing", w->shown);
	if (w->is_place || w->f->what == FETCH_LOAD) {
		if (w->f->n_hops == FETCH_HOPS_MAX)
			return diag_fail(d, -EINVAL, "%s goes through too many pointers", w->shown);
		w->f->hops[w->f->n_hops++] = w->f->offset;
	}
	if (w->f->user_from == FETCH_NEVER_USER)
		w->f->user_from = w->f->n_hops;
	w->f->offset = 0;
	w->type = target;
	w->is_place = true;
	return 0;
}

static int go_member(struct walk *w, const char *name, struct diag *d)
{
	struct script_nearest n = { .wanted = name, .wanted_size = strlen(name) };
	Dwarf_Word bits = 0;
	Dwarf_Die member;
	uint64_t at = 0;
	char text[160];
	int err = dwarf_tag(&w->type) == DW_TAG_pointer_type ? go_through(w, d) : 0;

	if (err)
		return err;
	if (!w->is_place || !is_structure(&w->type))
		return diag_fail(d, -EINVAL, "%s is no structure: it has no member `%s`", w->shown,
				 name);
	if (!find_member(&w->type, name, DEPTH_MAX, &member, &at, &n))
		return diag_fail(d, -ENOENT, "struct %s, in %s, has no member `%s`%s",
				 dwarf_diename(&w->type) ? dwarf_diename(&w->type) : "?", w->shown,
				 name, script_nearest_text(&n, text));
	if (number_of(&member, DW_AT_bit_size, &bits) || at > 1 << 24)
		return diag_fail(d, -EINVAL, "%s: bit-field `%s` of a program is not read",
				 w->shown, name);
	w->f->offset += (int32_t)at;
	return type_of(&member, &w->type) && plain_type(&w->type)
		       ? 0
		       : diag_fail(d, -EINVAL, "%s has no type", w->shown);
}

static int go_index(struct walk *w, const struct script_expr *index, struct diag *d)
{
	bool is_pointer = dwarf_tag(&w->type) == DW_TAG_pointer_type;
	Dwarf_Die element;
	Dwarf_Word size;
	int err = 0;

	if (index->kind != EXPR_NUMBER || (!is_pointer && dwarf_tag(&w->type) != DW_TAG_array_type))
		return diag_fail(d, -EINVAL, "%s: an index is a constant number, of an array",
				 w->shown);
	if (!type_of(&w->type, &element) || !plain_type(&element) ||
	    dwarf_aggregate_size(&element, &size) || !size || size > 1 << 20 ||
	    index->number < -1000 || index->number > 1 << 12)
		return diag_fail(d, -EINVAL, "%s: the element is too far away", w->shown);
	if (is_pointer)
		err = go_through(w, d);
	w->f->offset += (int32_t)(index->number * (int64_t)size);
	w->type = element;
	return err;
}

static int finish(struct walk *w, struct diag *d)
{
	int tag = dwarf_tag(&w->type);
	Dwarf_Word size = 0, encoding = 0;
	Dwarf_Die element;

	if (is_structure(&w->type))
		return diag_fail(d, -EINVAL, "%s is a structure: name one of its members, with ->",
				 w->shown);
	dwarf_aggregate_size(&w->type, &size);
	w->f->may_fault = true;
	if (tag == DW_TAG_array_type) {
		if (!type_of(&w->type, &element) || !plain_type(&element) || !size ||
		    !dwarf_diename(&element) || strcmp(dwarf_diename(&element), "char") != 0) {
			w->f->what = FETCH_VALUE;
			return 0;
		}
		w->f->what = FETCH_BYTES;
		w->f->size = (uint16_t)(size < FETCH_TEXT_MAX ? size : FETCH_TEXT_MAX);
		return 0;
	}
	if (tag != DW_TAG_pointer_type && tag != DW_TAG_enumeration_type && tag != DW_TAG_base_type)
		return diag_fail(d, -EINVAL, "%s has a type that is no number", w->shown);
	number_of(&w->type, DW_AT_encoding, &encoding);
	size = tag == DW_TAG_pointer_type ? 8 : size;
	if ((size != 1 && size != 2 && size != 4 && size != 8) || encoding == DW_ATE_float)
		return diag_fail(d, -EINVAL, "%s has a type that is no number", w->shown);
	w->f->what = FETCH_LOAD;
	w->f->bytes = (uint8_t)size;
	w->f->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	return 0;
}

static int follow(struct walk *w, const struct script_expr *e, struct diag *d)
{
	int err = plain_type(&w->type) ? 0 : -EINVAL;

	for (uint32_t i = 0; !err && i < e->n_path; i++)
		err = e->path[i].kind == PATH_MEMBER  ? go_member(w, e->path[i].name, d)
		      : e->path[i].kind == PATH_INDEX ? go_index(w, e->path[i].index, d)
						      : diag_fail(d, -EINVAL,
								  "%s: `$` is for the "
								  "kernel's structures",
								  w->shown);
	if (!err && e->is_address) {
		w->f->what = FETCH_VALUE;
		w->f->bytes = 8;
		return 0;
	}
	return err ? err : finish(w, d);
}

/* ---------------------------------------------------------------- the parameter */

struct wanted {
	Dwarf_Addr address;
	const char *name;
	Dwarf_Die type;
	bool found;
};

static int look_at_function(Dwarf_Die *function, void *context)
{
	struct wanted *w = context;
	Dwarf_Addr begin;
	Dwarf_Die p;

	if (dwarf_entrypc(function, &begin) || begin != w->address || dwarf_child(function, &p))
		return DWARF_CB_OK;
	do {
		Dwarf_Attribute a;
		const char *name = dwarf_tag(&p) == DW_TAG_formal_parameter &&
						   dwarf_attr_integrate(&p, DW_AT_name, &a)
					   ? dwarf_formstring(&a)
					   : NULL;

		if (name && !strcmp(name, w->name)) {
			w->found = type_of(&p, &w->type);
			return DWARF_CB_ABORT;
		}
	} while (!dwarf_siblingof(&p, &p));
	return DWARF_CB_OK;
}

static void find_parameter(Dwarf *dwarf, struct wanted *w)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (!w->found && !dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL)) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf, at + header, &unit))
			dwarf_getfuncs(&unit, look_at_function, w, 0);
		at = next;
	}
}

int kernel_user_follow(struct script_kernel *k, const struct kernel_point *p,
		       const struct script_expr *e, struct kernel_fetch *f, struct diag *d)
{
	struct wanted wanted = { .address = p->address, .name = e->text };
	int fd = open(p->path, O_RDONLY | O_CLOEXEC), err = -ENOENT;
	Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
	struct walk w = { .f = f, .shown = kernel_shown(k, e) };

	if (dwarf)
		find_parameter(dwarf, &wanted);
	if (wanted.found) {
		w.type = wanted.type;
		err = follow(&w, e, d);
	} else {
		diag_fail(d, err, "the type of $%s is not known: %s has no debugging information",
			  e->text, p->path);
	}
	dwarf_end(dwarf);
	if (fd >= 0)
		close(fd);
	return err;
}
