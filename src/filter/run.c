/* SPDX-License-Identifier: MIT */
/*
 * filter/run.c - run a linked filter on one event.
 *
 * It checks nothing of the filter: link.c did, and the filter lies in private memory.  It checks
 * all of the payload, because a program may write any bytes.
 */
#include <string.h>

#include "base/atomic.h"
#include "rules/pattern.h"
#include "filter/number.h"
#include "filter/step.h"

struct machine {
	const struct filter *f;
	const uint8_t *payload;
	size_t size;
	const struct filter_source *source;
	uint32_t n_walked; /* parts of varying size walked over, and the end of the last */
	size_t walked;
};

/* Walks over one part that begins at @at.  False if it does not end within the payload. */
static bool skip_part(const struct machine *m, const struct filter_part *part, size_t *at)
{
	size_t room = m->size - *at;
	const uint8_t *p, *nul;
	uint32_t n;

	if (part->before > room)
		return false;
	p = m->payload + *at + part->before;
	room -= part->before;
	if (!part->element_bytes) {
		nul = room ? memchr(p, 0, room) : NULL;
		if (!nul)
			return false;
		*at = (size_t)(nul + 1 - m->payload);
		return true;
	}
	if (room < sizeof n)
		return false;
	memcpy(&n, p, sizeof n);
	room -= sizeof n;
	if ((uint64_t)n * part->element_bytes > room)
		return false;
	*at = m->size - room + (size_t)n * part->element_bytes;
	return true;
}

/* The end of the @n_parts-th part of varying size, from the last walk if that ended before it. */
static __attribute__((noinline)) bool walk(struct machine *m, uint32_t n_parts, size_t *at)
{
	const struct filter_part *parts =
		(const struct filter_part *)((const char *)m->f + m->f->parts);

	if (m->n_walked > n_parts)
		m->n_walked = 0, m->walked = 0;
	for (; m->n_walked < n_parts; m->n_walked++)
		if (!skip_part(m, &parts[m->n_walked], &m->walked))
			return false;
	*at = m->walked;
	return true;
}

/* The address of a step's value, and the bytes left there.  NULL if there are fewer than @need. */
static inline const uint8_t *place(struct machine *m, const struct filter_step *s, size_t need,
				   size_t *room)
{
	size_t at = 0;

	if (unlikely(s->from) && !walk(m, s->from, &at))
		return NULL;
	*room = m->size - at;
	if (unlikely(s->offset > *room || *room - s->offset < need))
		return NULL;
	*room -= s->offset;
	return m->payload + at + s->offset;
}

/* Moves from the count of a sequence to one of its elements. */
static const uint8_t *element(const uint8_t *p, uint64_t number, size_t bytes, size_t room)
{
	uint32_t n;

	if (room < sizeof n)
		return NULL;
	memcpy(&n, p, sizeof n);
	if (number > n || number * bytes > room - sizeof n)
		return NULL;
	return p + sizeof n + (number - 1) * bytes;
}

static const uint8_t type_bytes[] = {
	[FILTER_I8] = 1,    [FILTER_I16] = 2, [FILTER_I32] = 4,	    [FILTER_I64] = 8,
	[FILTER_U8] = 1,    [FILTER_U16] = 2, [FILTER_U32] = 4,	    [FILTER_U64] = 8,
	[FILTER_F32] = 4,   [FILTER_F64] = 8, [FILTER_INTEGER] = 0, [FILTER_STRING] = 1,
	[FILTER_CHARS] = 0,
};

#define READ(type, p)                                                                              \
	({                                                                                         \
		type read_;                                                                        \
		memcpy(&read_, p, sizeof read_);                                                   \
		read_;                                                                             \
	})

static inline bool read_number(uint8_t type, const uint8_t *p, struct filter_value *v)
{
	switch ((enum filter_type)type) {
	case FILTER_I8:
		*v = number_signed(READ(int8_t, p));
		return true;
	case FILTER_I16:
		*v = number_signed(READ(int16_t, p));
		return true;
	case FILTER_I32:
		*v = number_signed(READ(int32_t, p));
		return true;
	case FILTER_I64:
		*v = number_signed(READ(int64_t, p));
		return true;
	case FILTER_U8:
		*v = number_unsigned(*p);
		return true;
	case FILTER_U16:
		*v = number_unsigned(READ(uint16_t, p));
		return true;
	case FILTER_U32:
		*v = number_unsigned(READ(uint32_t, p));
		return true;
	case FILTER_U64:
		*v = number_unsigned(READ(uint64_t, p));
		return true;
	case FILTER_F32:
		v->real = (double)READ(float, p);
		return true;
	case FILTER_F64:
		v->real = READ(double, p);
		return true;
	default:
		return false;
	}
}

static bool load_text(struct machine *m, const struct filter_step *s, struct filter_value *v)
{
	size_t room;
	const uint8_t *p = place(m, s, s->type == FILTER_CHARS ? s->value : 1, &room), *nul;

	if (!p)
		return false;
	if (s->type == FILTER_CHARS)
		room = s->value;
	nul = room ? memchr(p, 0, room) : NULL;
	if (!nul && s->type == FILTER_STRING)
		return false;
	v->text = (const char *)p;
	v->more = nul ? (uint64_t)(nul - p) : room;
	return true;
}

/* Loads a plain number without an index. */
static bool load_plain(struct machine *m, const struct filter_step *s, struct filter_value *v)
{
	const uint8_t *p;
	size_t room;

	p = place(m, s, type_bytes[s->type], &room);
	return p && read_number(s->type, p, v);
}

/* Loads the last bytes of a payload, where eight cannot be read. */
static __attribute__((noinline)) bool load_last(struct machine *m, const struct filter_step *s,
						uint64_t *v)
{
	size_t room, bytes = (64u - s->type) / 8;
	const uint8_t *p = place(m, s, bytes, &room);

	*v = 0;
	if (p)
		memcpy(v, p, bytes);
	return p != NULL;
}

/* Loads eight bytes at a fixed offset, with the bytes after the number. */
static inline bool load_fast(const struct filter_step *s, const void *payload, size_t size,
			     uint64_t *v)
{
	if (unlikely(s->from || size < 8 || s->offset > size - 8))
		return false;
	memcpy(v, (const uint8_t *)payload + s->offset, 8);
	return true;
}

static bool load_value(struct machine *m, const struct filter_step *s, struct filter_value *v)
{
	const uint8_t *p;
	size_t room;

	if (s->from == FILTER_FROM_SOURCE)
		return m->source->get(m->source, s->offset, v);
	if (s->type == FILTER_STRING || s->type == FILTER_CHARS)
		return load_text(m, s, v);
	if (!s->value)
		return load_plain(m, s, v);
	p = place(m, s, 0, &room);
	p = p ? element(p, s->value, type_bytes[s->type], room) : NULL;
	return p && read_number(s->type, p, v);
}

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "duet: the low bytes are taken to come first"
#endif

static inline bool is_test_true(const struct filter_step *s, uint64_t v)
{
	uint64_t sign = (uint64_t)(s->mode & TEST_IS_SIGNED) << 61;

	v = v << s->type ^ sign;
	return (s->mode & TEST_IS_EQUAL ? v == s->value : v < s->value) ^
	       !!(s->mode & TEST_IS_OPPOSITE);
}

static inline bool compare(uint8_t mode, struct filter_value a, struct filter_value b)
{
	switch ((enum abi_filter_op)(mode & STEP_OP_MASK)) {
	case ABI_FILTER_EQ:
		return number_is_same(a, b);
	case ABI_FILTER_NE:
		return !number_is_same(a, b);
	case ABI_FILTER_LT:
		return number_is_less(a, b);
	case ABI_FILTER_LE:
		return !number_is_less(b, a);
	case ABI_FILTER_GT:
		return number_is_less(b, a);
	default:
		return !number_is_less(a, b);
	}
}

static int order_of_reals(double a, double b)
{
	return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

static bool compare_real(uint8_t mode, struct filter_value a, struct filter_value b)
{
	int order;

	if (mode & STEP_LEFT_IS_INT) {
		order = number_against_real(a, b.real);
	} else if (mode & STEP_RIGHT_IS_INT) {
		order = number_against_real(b, a.real);
		order = order == 2 ? 2 : -order;
	} else {
		order = order_of_reals(a.real, b.real);
	}
	return number_order_is((enum abi_filter_op)(mode & STEP_OP_MASK), order);
}

static bool compare_text(uint8_t mode, struct filter_value a, struct filter_value b)
{
	size_t n = a.more < b.more ? a.more : b.more;
	int order = n ? memcmp(a.text, b.text, n) : 0;

	if (!order)
		order = (a.more > b.more) - (a.more < b.more);
	return number_order_is((enum abi_filter_op)(mode & STEP_OP_MASK),
			       order < 0 ? -1 : order > 0);
}

static bool match(struct filter_value text, struct filter_value pattern)
{
	return pattern_glob(pattern.text, pattern.text + pattern.more, text.text,
			    text.text + text.more);
}

static bool is_in(const struct filter *f, const struct filter_step *s, struct filter_value v)
{
	const struct step_range *r = (const struct step_range *)((const char *)f + s->offset);

	for (const struct step_range *end = r + s->value; r < end; r++)
		if (s->type == FILTER_I64 ? (int64_t)v.bits >= (int64_t)r->first &&
						    (int64_t)v.bits <= (int64_t)r->last
					  : v.bits >= r->first && v.bits <= r->last)
			return true;
	return false;
}

static double compute_real(uint8_t mode, struct filter_value a, struct filter_value b)
{
	return real_compute((enum abi_filter_op)(mode & STEP_OP_MASK),
			    mode & STEP_LEFT_IS_INT ? number_to_real(a) : a.real,
			    mode & STEP_RIGHT_IS_INT ? number_to_real(b) : b.real);
}

static struct filter_value constant(const struct filter *f, const struct filter_step *s)
{
	struct filter_value v = { .bits = s->value, .more = s->mode >> 7 };

	if (s->op != STEP_TEXT)
		return v;
	v.text = (const char *)f + s->offset;
	v.more = s->value;
	return v;
}

/* Replaces two values by one. */
static struct filter_value join(const struct filter_step *s, struct filter_value a,
				struct filter_value b)
{
	switch ((enum step_op)s->op) {
	case STEP_COMPARE:
		return number_unsigned(compare(s->mode, a, b));
	case STEP_COMPARE_REAL:
		return number_unsigned(compare_real(s->mode, a, b));
	case STEP_COMPARE_TEXT:
		return number_unsigned(compare_text(s->mode, a, b));
	case STEP_MATCH:
		return number_unsigned(match(a, b) == (s->mode == ABI_FILTER_EQ));
	case STEP_COMPUTE_REAL:
		return (struct filter_value){ .real = compute_real(s->mode, a, b) };
	default:
		return number_compute((enum abi_filter_op)s->mode, a, b);
	}
}

/* Replaces one value by another. */
static struct filter_value turn(const struct filter *f, const struct filter_step *s,
				struct filter_value v)
{
	switch ((enum step_op)s->op) {
	case STEP_NOT:
		return number_unsigned(!v.bits);
	case STEP_NOT_REAL:
		return number_unsigned(v.real == 0);
	case STEP_TRUTH:
		return number_unsigned(!!v.bits);
	case STEP_TRUTH_REAL:
		return number_unsigned(v.real != 0);
	case STEP_NEGATE:
		return number_subtract(number_unsigned(0), v);
	case STEP_NEGATE_REAL:
		return (struct filter_value){ .real = -v.real };
	default:
		return number_unsigned(is_in(f, s, v) == (s->mode == ABI_FILTER_EQ));
	}
}

/* Runs from step @s on, with an empty stack. */
static __attribute__((noinline)) bool run_from(const struct filter *f, const struct filter_step *s,
					       const void *payload, size_t size,
					       const struct filter_source *source)
{
	struct machine m = { .f = f, .payload = payload, .size = size, .source = source };
	struct filter_value stack[ABI_FILTER_DEPTH_MAX + 1], *top = stack, v;
	uint64_t bits;

	for (;; s++) {
		switch ((enum step_op)s->op) {
		case STEP_TEST:
			if (!load_fast(s, payload, size, &bits) && !load_last(&m, s, &bits))
				return false;
			*++top = number_unsigned(is_test_true(s, bits));
			break;
		case STEP_TEST_SOURCE:
			if (unlikely(!source->get(source, s->offset, &v)))
				return false;
			*++top = number_unsigned(compare(s->mode, v, constant(f, s)));
			break;
		case STEP_AND_THEN:
			if (top->bits)
				top--;
			else
				s = f->steps + s->offset - 1;
			break;
		case STEP_OR_ELSE:
			if (top->bits) {
				*top = number_unsigned(1);
				s = f->steps + s->offset - 1;
			} else {
				top--;
			}
			break;
		case STEP_END:
			return top->bits != 0;
		case STEP_LOAD:
			if (unlikely(!load_value(&m, s, ++top)))
				return false;
			break;
		case STEP_INT:
		case STEP_REAL:
		case STEP_TEXT:
			*++top = constant(f, s);
			break;
		case STEP_NOT:
		case STEP_NOT_REAL:
		case STEP_TRUTH:
		case STEP_TRUTH_REAL:
		case STEP_NEGATE:
		case STEP_NEGATE_REAL:
		case STEP_IN:
			*top = turn(f, s, *top);
			break;
		default:
			top--;
			*top = join(s, top[0], top[1]);
		}
	}
}

/* Loads the eight bytes at a fixed offset. */
typedef bool load_function(const struct filter_step *s, const void *payload, size_t size,
			   uint64_t *v);

/*
 * Eight bytes across words that were just stored: each is read as it was stored, because a load
 * across two stores waits for both.  Behind the fourth word there are zeros.
 */
static inline bool load_words(const struct filter_step *s, const void *payload, size_t size,
			      uint64_t *v)
{
	const uint64_t *words = payload;
	uint32_t i = s->offset / 8, shift = s->offset % 8 * 8;

	(void)size;
	if (unlikely(s->from || i >= 4))
		return false;
	*v = words[i] >> shift;
	if (shift && i < 3)
		*v |= words[i + 1] << (64 - shift);
	return true;
}

/*
 * Most filters, such as `a > 1 && b == 2`, finish here without a stack; run_from() does the rest
 * from the first step that is no such test.
 */
static inline __attribute__((always_inline)) bool run(const struct filter *f, load_function *fetch,
						      const void *payload, size_t size,
						      const struct filter_source *source)
{
	const struct filter_step *s = f->steps;
	uint64_t bits;

	for (; s->op == STEP_TEST && fetch(s, payload, size, &bits); s += 2) {
		bool is_true = is_test_true(s, bits);

		if (s[1].op == STEP_END)
			return is_true;
		if (s[1].op != STEP_AND_THEN)
			break;
		if (is_true)
			continue;
		if (f->steps[s[1].offset].op == STEP_END)
			return false;
		break;
	}
	return run_from(f, s, payload, size, source);
}

bool filter_run(const struct filter *f, const void *payload, size_t size,
		const struct filter_source *source)
{
	return run(f, load_fast, payload, size, source);
}

bool filter_run_words(const struct filter *f, const uint64_t *words, size_t size,
		      const struct filter_source *source)
{
	return run(f, load_words, words, size, source);
}

bool filter_reads_words(const struct filter *f, size_t size)
{
	const struct filter_step *s = f->steps;

	for (; s->op != STEP_END; s++) {
		bool is_number =
			s->op == STEP_TEST && !s->from && s->offset + (64u - s->type) / 8 <= size;

		if (!is_number && s->op != STEP_AND_THEN && s->op != STEP_OR_ELSE &&
		    s->op != STEP_NOT && s->op != STEP_TRUTH)
			return false;
	}
	return true;
}
