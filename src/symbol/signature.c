/* SPDX-License-Identifier: MIT */
/*
 * symbol/signature.c - the signature of a function from DWARF.
 *
 * The places of DWARF's own location lists are not used: they are those of the function's body,
 * after its first instructions have moved the parameters.  At the entry they are where the ABI puts
 * them.
 */
#include "symbol/signature.h"

#include <assert.h>
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/schema.h"
#include "symbol/units.h"
#include "symbol/place.h"

enum { TYPE_STEPS = 32 }; /* typedefs, qualifiers; more are a damaged file's */

/* ---------------------------------------------------------------- types */

/* The type of @die without typedefs and qualifiers.  False: it has none (void). */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;

	if (!dwarf_attr_integrate(die, DW_AT_type, &a) || !dwarf_formref_die(&a, type))
		return false;
	for (int i = 0; i < TYPE_STEPS; i++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
			if (!dwarf_attr_integrate(type, DW_AT_type, &a) ||
			    !dwarf_formref_die(&a, type))
				return false;
			break;
		default:
			return true;
		}
	}
	return false;
}

static uint64_t number_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute a;
	Dwarf_Word value = 0;

	if (dwarf_attr_integrate(die, attribute, &a))
		dwarf_formudata(&a, &value);
	return value;
}

static const char *text_of(Dwarf_Die *die, const char *otherwise)
{
	const char *name = dwarf_diename(die);

	return name ? name : otherwise;
}

static bool is_signed(Dwarf_Die *base)
{
	uint64_t encoding = number_of(base, DW_AT_encoding);

	return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

static bool is_char(Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_base_type && number_of(type, DW_AT_byte_size) == 1 &&
	       !strcmp(text_of(type, ""), "char");
}

__attribute__((format(printf, 2, 3))) static bool append(struct signature_value *v,
							 const char *format, ...)
{
	size_t used = strlen(v->type);
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(v->type + used, sizeof v->type - used, format, arguments);
	va_end(arguments);
	return n >= 0 && (size_t)n < sizeof v->type - used;
}

/* "enum(u32:A = 0,B = 1)"; false if it has no room or cannot be said so. */
static bool append_enum(struct signature_value *v, Dwarf_Die *type, unsigned bytes,
			bool is_negative)
{
	struct schema_type parsed;
	Dwarf_Die label;
	bool is_first = true;

	if (dwarf_child(type, &label) ||
	    !append(v, "enum(%c%u:", is_negative ? 'i' : 'u', 8 * bytes))
		return false;
	do {
		Dwarf_Attribute a;
		Dwarf_Sword value;
		uint64_t mask = bytes < 8 ? (1ull << 8 * bytes) - 1 : UINT64_MAX;
		bool is_put;

		if (dwarf_tag(&label) != DW_TAG_enumerator)
			continue;
		if (!dwarf_attr(&label, DW_AT_const_value, &a) || dwarf_formsdata(&a, &value))
			return false;
		if (is_negative)
			is_put = append(v, "%s%s = %" PRId64, is_first ? "" : ",",
					text_of(&label, "?"), (int64_t)value);
		else
			is_put = append(v, "%s%s = %" PRIu64, is_first ? "" : ",",
					text_of(&label, "?"), (uint64_t)value & mask);
		if (!is_put)
			return false;
		is_first = false;
	} while (dwarf_next(&label));
	return append(v, ")") &&
	       schema_read_type((struct schema_text){ v->type, v->type + strlen(v->type) },
				&parsed);
}

static void set_enum(struct signature_value *v, Dwarf_Die *type, unsigned bytes)
{
	Dwarf_Die base;
	bool is_negative = type_of(type, &base) && is_signed(&base);

	v->type[0] = 0;
	if (!append_enum(v, type, bytes, is_negative))
		snprintf(v->type, sizeof v->type, "%c%u", is_negative ? 'i' : 'u', 8 * bytes);
	v->at.is_signed = is_negative;
}

static void set_pointer(struct signature_value *v, Dwarf_Die *type, int tag)
{
	Dwarf_Die target;

	v->at.is_text = tag == DW_TAG_pointer_type && type_of(type, &target) && is_char(&target);
	strcpy(v->type, v->at.is_text ? "str" : "p64");
	v->at.bytes = 8;
}

static bool is_object(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static bool is_power(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Fills type, bytes, is_signed and is_text of @v.  Returns its class. */
static enum place_class classify(struct signature_value *v, Dwarf_Die *type)
{
	int tag = dwarf_tag(type);
	uint64_t bytes = number_of(type, DW_AT_byte_size), encoding;

	switch (tag) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_unspecified_type: /* nullptr_t */
	case DW_TAG_array_type:	      /* C: of a parameter, only its address */
	case DW_TAG_subroutine_type:
		set_pointer(v, type, tag);
		return PLACE_INTEGER;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		if (number_of(type, DW_AT_calling_convention) == DW_CC_pass_by_reference) {
			set_pointer(v, type, tag);
			return PLACE_BY_REFERENCE;
		}
		return bytes > 16 ? PLACE_MEMORY : PLACE_UNKNOWN;
	case DW_TAG_enumeration_type:
		if (!is_power(bytes))
			return PLACE_UNKNOWN;
		v->at.bytes = (uint8_t)bytes;
		set_enum(v, type, v->at.bytes);
		return PLACE_INTEGER;
	case DW_TAG_base_type:
		break;
	default:
		return PLACE_UNKNOWN;
	}
	encoding = number_of(type, DW_AT_encoding);
	if (!is_power(bytes) || encoding == DW_ATE_complex_float ||
	    encoding == DW_ATE_decimal_float || (encoding == DW_ATE_float && bytes < 4))
		return PLACE_UNKNOWN;
	v->at.bytes = (uint8_t)bytes;
	v->at.is_signed = is_signed(type);
	snprintf(v->type, sizeof v->type, "%c%u",
		 encoding == DW_ATE_float ? 'f'
		 : v->at.is_signed	  ? 'i'
					  : 'u',
		 8 * (unsigned)bytes);
	return encoding == DW_ATE_float ? PLACE_VECTOR : PLACE_INTEGER;
}

/* ---------------------------------------------------------------- the function */

/* Whether a small object may be returned in memory: C++ does so if it has a copy constructor, and
 * g++ does not say which have one. */
static bool may_be_hidden(Dwarf_Die *function, Dwarf_Die *type)
{
	Dwarf_Attribute a;
	Dwarf_Die unit;
	int language = dwarf_srclang(dwarf_diecu(function, &unit, NULL, NULL));

	return (language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
		language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14) &&
	       !dwarf_attr(type, DW_AT_calling_convention, &a);
}

static int set_result(struct signature *s, struct places *places, Dwarf_Die *function,
		      struct diag *d)
{
	enum place_class class;
	Dwarf_Die type;

	if (!type_of(function, &type))
		return 0;
	class = classify(&s->result, &type);
	strcpy(s->result.name, "result");
	if (class == PLACE_UNKNOWN && is_object(&type) && may_be_hidden(function, &type))
		return diag_fail(d, -EINVAL,
				 "%s: it returns a small object, perhaps in memory, so the places "
				 "of its parameters are not known\n"
				 "  its arguments cannot be recorded",
				 s->name);
	/* The caller gives the address at which a large or non-trivial object is to be made. */
	if (class == PLACE_MEMORY || class == PLACE_BY_REFERENCE) {
		struct signature_value hidden = { .name = "" };

		hidden.at.bytes = 8;
		place_next(places, PLACE_INTEGER, &hidden.at);
		set_pointer(&s->result, &type, DW_TAG_structure_type);
		class = PLACE_INTEGER;
	}
	s->has_result = class != PLACE_UNKNOWN;
	if (s->has_result)
		place_result(class, &s->result.at);
	return 0;
}

static int add_parameter(struct signature *s, struct places *places, Dwarf_Die *die, struct diag *d)
{
	struct signature_value v = { .name = "" };
	unsigned number = s->n + s->n_left_out + 1;
	enum place_class class = PLACE_UNKNOWN;
	Dwarf_Die type;

	if (type_of(die, &type))
		class = classify(&v, &type);
	if (class == PLACE_UNKNOWN || class == PLACE_MEMORY)
		return diag_fail(d, -EINVAL,
				 "%s: parameter %u (%s) is passed by value as a struct or in "
				 "another way that has no single place\n"
				 "  its arguments cannot be recorded",
				 s->name, number, text_of(die, "without a name"));
	if (class == PLACE_BY_REFERENCE)
		class = PLACE_INTEGER;
	place_next(places, class, &v.at);
	signature_name(s, &v, text_of(die, ""), number);
	if (s->n == SIGNATURE_PARAMETERS)
		s->n_left_out++;
	else
		s->parameters[s->n++] = v;
	return 0;
}

/* The DIE whose children are all parameters: those of a function that is also inlined elsewhere may
 * be missing in its own. */
static Dwarf_Die *with_parameters(Dwarf_Die *function, Dwarf_Die *origin)
{
	Dwarf_Attribute a;

	if (dwarf_attr(function, DW_AT_abstract_origin, &a) && dwarf_formref_die(&a, origin))
		return origin;
	return function;
}

/* Copies that the compiler made for some callers have other parameters than the source says. */
static bool is_changed(const char *name)
{
	return strstr(name, ".isra.") || strstr(name, ".constprop.") || strstr(name, ".part.") ||
	       strstr(name, ".cold");
}

static int read_parameters(struct signature *s, struct places *places, Dwarf_Die *function,
			   struct diag *d)
{
	Dwarf_Die origin, child;
	int err = 0;

	if (dwarf_child(with_parameters(function, &origin), &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_unspecified_parameters)
			s->is_variadic = true;
		if (tag == DW_TAG_formal_parameter)
			err = add_parameter(s, places, &child, d);
	} while (!err && dwarf_next(&child));
	return err;
}

int signature_of(struct symbol_file *f, uint64_t address, struct signature *s, struct diag *d)
{
	const struct symbol_function *known = symbol_at(f, address);
	struct dwarf *dwarf = dwarf_of(f);
	struct places places = { 0 };
	Dwarf_Die function;
	Dwarf_Addr begin;
	int err;

	*s = (struct signature){ .n = 0 };
	snprintf(s->name, sizeof s->name, "%s", known ? known->name : "");
	if (!dwarf || !dwarf_function(dwarf, address, &function))
		return diag_fail(
			d, -ENODATA,
			"%s: there is no debug information about %s\n"
			"  install the package with its debug symbols, or give a signature",
			f->path, known ? known->name : "this address");
	if (!known)
		snprintf(s->name, sizeof s->name, "%s", text_of(&function, ""));
	if (is_changed(s->name) || dwarf_entrypc(&function, &begin) || begin != address)
		return diag_fail(d, -EINVAL,
				 "%s: the compiler has changed the parameters of this function\n"
				 "  its arguments cannot be recorded",
				 s->name);
	err = set_result(s, &places, &function, d);
	return err ? err : read_parameters(s, &places, &function, d);
}
