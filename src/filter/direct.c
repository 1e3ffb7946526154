/* SPDX-License-Identifier: MIT */
/* filter/direct.c - recognize the filters of filter/direct.h in the steps of a linked filter. */
#include "filter/direct.h"

#include "filter/step.h"
#include "rules/pattern.h"

/* The values of @bits bits that pass: those from @first to @last, modulo 2^bits. */
struct interval {
	uint32_t offset, bits; /* place in the payload, width */
	uint64_t first, last;
};

/* The comparison of a STEP_TEST: step.h.  False if nothing passes. */
static bool of_test(struct interval *v, const struct filter_step *s)
{
	uint64_t sign = s->mode & TEST_IS_SIGNED ? 1ull << (63 - s->type) : 0;
	uint64_t all = UINT64_MAX >> s->type, at = s->value >> s->type;
	bool is_opposite = s->mode & TEST_IS_OPPOSITE;
	bool is_exact = at << s->type == s->value;
	uint64_t first, last; /* in the order of unsigned numbers */

	if (s->mode & TEST_IS_EQUAL) {
		if (!is_exact && !is_opposite)
			return false;
		first = is_exact ? at + is_opposite : 0;
		last = is_exact ? at - is_opposite : all;
	} else {
		first = is_opposite ? at + !is_exact : 0;
		last = is_opposite ? all : at - is_exact;
		if (is_opposite ? first > all : is_exact && !at)
			return false;
	}
	*v = (struct interval){ s->offset, 64u - s->type, (first ^ sign) & all,
				(last ^ sign) & all };
	return true;
}

/* The comparison of a number with a label's values.  False if it is no single interval. */
static bool of_label(struct interval *v, const struct filter *f, const struct filter_step *load,
		     const struct filter_step *in)
{
	const struct step_range *r = (const struct step_range *)((const char *)f + in->offset);
	uint32_t spare = 64 - (8u << (load->type & 3));
	bool is_signed = load->type < FILTER_U8;
	int64_t min = INT64_MIN >> spare, max = INT64_MAX >> spare;
	uint64_t all = UINT64_MAX >> spare, first = r->first, last = r->last;

	if (in->value != 1 || is_signed != (in->type == FILTER_I64))
		return false;
	if (is_signed
		    ? (int64_t)first < min || (int64_t)last > max || (int64_t)first > (int64_t)last
		    : first > last || last > all)
		return false;
	if (in->mode != ABI_FILTER_EQ) {
		uint64_t before = first - 1;

		if (((first ^ (last + 1)) & all) == 0)
			return false; /* all values have the label */
		first = last + 1;
		last = before;
	}
	*v = (struct interval){ load->offset, 64 - spare, first & all, last & all };
	return true;
}

static bool is_plain_integer(const struct filter_step *s)
{
	return s->op == STEP_LOAD && s->type <= FILTER_U64 && !s->from && !s->value;
}

/* One comparison from step *s on, which moves behind it. */
static bool take_interval(struct interval *v, const struct filter *f, const struct filter_step **s)
{
	const struct filter_step *first = *s;

	if (first->op == STEP_TEST && !first->from) {
		*s += 1;
		return of_test(v, first);
	}
	if (is_plain_integer(first) && first[1].op == STEP_IN) {
		*s += 2;
		return of_label(v, f, first, first + 1);
	}
	return false;
}

/* False if it does not lie in one word. */
static bool add(struct filter_direct *d, const struct interval *v, size_t size)
{
	uint32_t shift = v->offset % 8 * 8, end = v->offset + v->bits / 8;
	uint64_t all = UINT64_MAX >> (64 - v->bits);

	if (d->n == FILTER_DIRECT_MAX || shift + v->bits > 64 || v->offset > size || end > size)
		return false;
	d->comparisons[d->n++] = (struct filter_comparison){
		.low = v->first << shift,
		.mask = all << shift,
		.span = ((v->last - v->first) & all) << shift,
		.at = v->offset & ~7u,
	};
	if (end > d->size)
		d->size = end;
	return true;
}

/* The comparison of a string with a constant from step *s on, which moves behind it. */
static bool take_text(struct filter_direct *d, const struct filter_step **s)
{
	const struct filter_step *load = *s, *constant, *compare;

	if (load->op != STEP_LOAD || load->type != FILTER_STRING || load->from || load->value ||
	    load[1].op != STEP_TEXT)
		return false;
	constant = load + 1;
	compare = load + 2;
	if ((compare->op != STEP_COMPARE_TEXT && compare->op != STEP_MATCH) ||
	    (compare->mode != ABI_FILTER_EQ && compare->mode != ABI_FILTER_NE) || d->has_text)
		return false;
	d->has_text = true;
	d->is_match = compare->op == STEP_MATCH;
	d->is_wanted = compare->mode == ABI_FILTER_EQ;
	d->text_at = load->offset;
	d->constant = constant->offset;
	d->constant_size = (uint32_t)constant->value;
	*s = compare + 1;
	return true;
}

/* Whether all comparisons are joined by the same operation, and a jump leads to the end.  @is_first:
 * this is the first jump. */
static bool is_chained(struct filter_direct *d, const struct filter *f, const struct filter_step *s,
		       bool is_first)
{
	bool is_or = s->op == STEP_OR_ELSE;

	if ((s->op != STEP_AND_THEN && !is_or) || f->steps[s->offset].op != STEP_END ||
	    (!is_first && d->decisive != is_or))
		return false;
	d->decisive = is_or;
	/* The string comes last: before `||` an event that lacks it would not pass. */
	return !is_or || !d->has_text;
}

bool filter_make_direct(struct filter_direct *d, const struct filter *f, size_t size)
{
	const struct filter_step *s = f->steps;
	struct interval v;

	*d = (struct filter_direct){ .n = 0 };
	for (bool is_first = true;; is_first = false) {
		if (!take_text(d, &s) && !(take_interval(&v, f, &s) && add(d, &v, size)))
			return false;
		if (s->op == STEP_END)
			return true;
		if (!is_chained(d, f, s++, is_first))
			return false;
	}
}

bool filter_compares_text(const struct filter_direct *d, const struct filter *f,
			  const void *payload, size_t size)
{
	const char *text = (const char *)payload + d->text_at, *nul,
		   *constant = (const char *)f + d->constant;
	size_t room = size > d->text_at ? size - d->text_at : 0, n;

	nul = room ? memchr(text, 0, room) : NULL;
	if (!nul)
		return false;
	n = (size_t)(nul - text);
	if (d->is_match)
		return pattern_glob(constant, constant + d->constant_size, text, nul) ==
		       d->is_wanted;
	return (n == d->constant_size && !memcmp(text, constant, n)) == d->is_wanted;
}
