/* SPDX-License-Identifier: MIT */
/*
 * inproc/mark_emit.c - trace_mark() when its event is enabled: pack the arguments by the codes of
 * mark.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <wchar.h>

#include "inproc/emit.h"

/* The codes and arguments of a mark that are not packed yet. */
struct arguments {
	const char *codes;
	va_list *ap;
	int precision; /* of the next string; below 0: none */
	int error;     /* errno when the mark was reached */
};

/* The next code; ".N" sets the precision on the way.  0 at the end. */
static char next_code(struct arguments *a)
{
	while (*a->codes == '.') {
		a->precision = 0;
		while (*++a->codes >= '0' && *a->codes <= '9')
			a->precision = 10 * a->precision + (*a->codes - '0');
	}
	return *a->codes ? *a->codes++ : 0;
}

/* Precision holds for one string. */
static int take_precision(struct arguments *a)
{
	int precision = a->precision;

	a->precision = -1;
	return precision;
}

static bool is_text(char code)
{
	return code == 's' || code == 'S' || code == 'W';
}

/* A string argument of code `s`, `S` or `W`. */
struct text {
	const void *s;
	wchar_t one[2]; /* of %lc */
	bool is_wide;
	size_t limit; /* bytes, NUL excluded */
};

static void take_text(struct text *t, struct arguments *a, char code)
{
	int precision = take_precision(a);

	t->is_wide = code != 's';
	t->limit = precision < 0 ? SIZE_MAX : (size_t)precision;
	if (code == 'W') {
		t->one[0] = (wchar_t)va_arg(*a->ap, wint_t);
		t->one[1] = 0;
		t->s = t->one;
		t->limit = SIZE_MAX;
		return;
	}
	t->s = va_arg(*a->ap, const void *);
	if (!t->s) {
		t->s = "(null)";
		t->is_wide = false;
	}
}

static char *pack_string(struct arguments *a, char code, char *p, char *end, int *cut)
{
	struct text t;

	take_text(&t, a, code);
	if (t.is_wide)
		return text_copy_wide(p, end, t.s, t.limit, cut);
	return t.limit == SIZE_MAX ? text_copy(p, end, t.s, cut)
				   : text_copy_limited(p, end, t.s, t.limit, cut);
}

/* Packs one argument of a mark by its code: see mark.c. */
static char *pack_argument(struct arguments *a, char code, char *p, char *end, int *cut)
{
	union {
		int32_t i;
		int64_t l;
		int16_t h;
		int8_t b;
		double d;
		const void *q;
	} v;
	size_t n = 0;

	if (is_text(code))
		return pack_string(a, code, p, end, cut);
	a->precision = -1; /* of a number: it changes nothing */
	switch (code) {
	case 'i':
		v.i = va_arg(*a->ap, int);
		n = 4;
		break;
	case 'w':
		a->precision = v.i = va_arg(*a->ap, int);
		n = 4;
		break;
	case 'h':
		v.h = (int16_t)va_arg(*a->ap, int);
		n = 2;
		break;
	case 'b':
		v.b = (int8_t)va_arg(*a->ap, int);
		n = 1;
		break;
	case 'l':
		v.l = va_arg(*a->ap, int64_t);
		n = 8;
		break;
	case 'd':
		v.d = va_arg(*a->ap, double);
		n = 8;
		break;
	case 'D':
		v.d = (double)va_arg(*a->ap, long double);
		n = 8;
		break;
	case 'm':
		v.i = a->error;
		n = 4;
		break;
	case 'p':
		v.q = va_arg(*a->ap, const void *);
		n = sizeof v.q;
		break;
	}
	memcpy(p, &v, n);
	return p + n;
}

static char *pack_mark(const char *codes, va_list *ap, char *p, char *end, int *cut)
{
	struct arguments a = { codes, ap, -1, errno };

	for (char code; (code = next_code(&a));)
		p = pack_argument(&a, code, p, end, cut);
	return p;
}

enum { MARK_SPACE = 512, MARK_FIELDS = 127, MARK_BEHIND = MARK_FIELDS * 8 };

static size_t string_size(struct arguments *a, char code)
{
	struct text t;

	take_text(&t, a, code);
	if (t.is_wide)
		return text_size_wide(t.s, t.limit) + 1;
	return (t.limit == SIZE_MAX ? strlen(t.s) : strnlen(t.s, t.limit)) + 1;
}

static size_t mark_size(const char *codes, va_list *ap)
{
	struct arguments a = { codes, ap, -1, 0 };
	char sink[8];
	size_t n = 0;
	int cut = 0;

	for (char code; (code = next_code(&a));) {
		if (is_text(code)) {
			n += string_size(&a, code);
			continue;
		}
		pack_argument(&a, code, sink, sink, &cut);
		n += 8;
	}
	return n;
}

static void mark_large(struct duet_i_site *site, const char *codes, va_list *size_ap, va_list *ap,
		       const void *ip, const void *frame)
{
	size_t n = mark_size(codes, size_ap);
	struct duet_i_open o;
	char *at = emit_open(site, &o, n + MARK_BEHIND, ip, frame);
	int cut = 1;

	if (at)
		emit_commit(&o, pack_mark(codes, ap, at, at + n, &cut));
}

/* Strings end within SPACE or are cut; up to 127 fixed fields of 8 bytes follow. */
__attribute__((used)) void mark_by_codes(struct duet_i_site *site, const char *format, ...)
{
	char payload[MARK_SPACE + MARK_BEHIND + 8], *end;
	const char *codes = (const char *)site->data[SITE_CODES] + 1;
	va_list ap, again, once_more;
	int cut = 0;

	va_start(ap, format);
	va_copy(again, ap);
	va_copy(once_more, ap);
	end = pack_mark(codes, &ap, payload, payload + MARK_SPACE, &cut);
	if (unlikely(cut))
		mark_large(site, codes, &again, &once_more, __builtin_return_address(0),
			   __builtin_frame_address(0));
	else if (unlikely(!emit_fast(site, payload, (size_t)(end - payload))))
		emit_slow(site, payload, (uint32_t)(end - payload), __builtin_return_address(0),
			  __builtin_frame_address(0));
	va_end(once_more);
	va_end(again);
	va_end(ap);
}

#if defined __x86_64__
/* Appends the low @size bytes of @bits at byte @at of @words. */
static uint32_t append_bits(uint64_t words[4], uint32_t at, uint64_t bits, uint32_t size)
{
	uint32_t shift = at % 8 * 8;

	bits &= UINT64_MAX >> (64 - 8 * size);
	words[at / 8] |= bits << shift;
	if (at % 8 + size > 8)
		words[at / 8 + 1] |= bits >> (64 - shift);
	return at + size;
}

static __attribute__((noinline)) void mark_mixed(struct duet_i_site *site, const void *ip,
						 const char *codes, uint64_t a, uint64_t b,
						 uint64_t c, uint64_t d)
{
	uint64_t words[4] = { 0 }, arguments[4] = { a, b, c, d };
	uint32_t at = 0;

	for (int i = 0; i < 4 && codes[i]; i++)
		at = append_bits(words, at, arguments[i],
				 codes[i] == 'i'   ? 4
				 : codes[i] == 'h' ? 2
				 : codes[i] == 'b' ? 1
						   : 8);
	emit_words(site, ip, words[0], words[1], words[2], words[3]);
}

__attribute__((used)) void mark_by_plan(struct duet_i_site *site, const char *format, uint64_t a,
					uint64_t b, uint64_t c, uint64_t d)
{
	const char *plan = site->data[SITE_CODES];
	const void *ip = __builtin_return_address(0);
	uint32_t n = site->fixed_size;
	uint64_t text;

	(void)format;
	switch (*plan) {
	case MARK_WORDS_32:
		emit_words(site, ip, (uint32_t)a | b << 32, (uint32_t)c | d << 32, 0, 0);
		break;
	case MARK_WORDS_64:
		emit_words(site, ip, a, b, c, d);
		break;
	case MARK_WORDS_MIXED:
		mark_mixed(site, ip, plan + 1, a, b, c, d);
		break;
	case MARK_TEXT_32:
		text = n == 0 ? a : n == 4 ? b : n == 8 ? c : d;
		emit_text(site, ip, (const char *)(uintptr_t)text, (uint32_t)a | b << 32,
			  (uint32_t)c);
		break;
	default:
		text = n == 0 ? a : n == 8 ? b : c;
		emit_text(site, ip, (const char *)(uintptr_t)text, a, b);
	}
}
#endif

/*
 * mark_emit() has `...`, but passes integers in the same registers as mark_by_plan() expects them.
 * It touches none of the arguments, so mark_by_codes() finds all as the program left it, also on the
 * stack and in vector registers.
 */
#if defined __x86_64__
_Static_assert(offsetof(struct duet_i_site, data[SITE_CODES]) == 48 && MARK_BY_CODES == 0x2d,
	       "the next lines have them as numbers");
__asm__(".pushsection .text\n"
	".balign 16\n"
	".globl mark_emit\n"
	".hidden mark_emit\n"
	".type mark_emit, @function\n"
	"mark_emit:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq 48(%rdi), %r11\n"
	"	cmpb $0x2d, (%r11)\n"
	"	je mark_by_codes\n"
	"	jmp mark_by_plan\n"
	"	.cfi_endproc\n"
	".size mark_emit, . - mark_emit\n"
	".popsection\n");
#else
void mark_emit(struct duet_i_site *site, const char *format, ...)
	__attribute__((alias("mark_by_codes")));
#endif
