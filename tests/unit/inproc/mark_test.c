/* SPDX-License-Identifier: MIT */
/* A mark's format becomes schema words, and codes for its arguments. */
#include "base/schema.h"
#include "inproc/process.h"
#include "test.h"

static char words[4096], codes[1024];

static bool reads(const char *format)
{
	return mark_schema(format, words, sizeof words, codes, sizeof codes);
}

static void becomes(const char *format, const char *want_words, const char *want_codes)
{
	ok(reads(format));
	is_text(words, want_words);
	is_text(codes, want_codes);
}

static void fields_are_named_by_the_word_before(void)
{
	becomes("id %d by %s", " i32 id str by", "is");
	becomes("id=%d, by: %s", " i32 id str by", "is");
	becomes("x_1 %d", " i32 x_1", "i");
	becomes("%d", " i32 arg0", "i");
	becomes("%d%d", " i32 arg0 i32 arg1", "ii");
	becomes("100 %d", " i32 arg0", "i");
	becomes("9lives %d", " i32 lives", "i");
}

static void equal_names_become_distinct(void)
{
	becomes("n %d n %d", " i32 n i32 n_1", "ii");
	becomes("n %d n %d n %d", " i32 n i32 n_1 i32 n_2", "iii");
}

static void a_long_name_is_cut(void)
{
	ok(reads("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz %d"));
	is_text(words, " i32 abcdefghijklmnopqrstuvwxyza");
}

static void integers_have_the_width_of_their_modifier(void)
{
	becomes("a %hhd b %hd c %d d %ld e %lld f %jd g %zd h %td",
		" i8 a i16 b i32 c i64 d i64 e i64 f i64 g i64 h", "bhilllll");
	becomes("a %hhu b %hu c %u d %lu e %o", " u8 a u16 b u32 c u64 d u32 e", "bhili");
	becomes("a %x b %lX c %hhx", " x32 a x64 b x8 c", "ilb");
	becomes("a %i", " i32 a", "i");
}

static void text_characters_pointers_and_reals(void)
{
	becomes("s %s c %c p %p", " str s chr[1] c p64 p", "sbp");
	becomes("a %f b %e c %g d %a e %F", " f64 a f64 b f64 c f64 d f64 e", "ddddd");
	becomes("a %lf b %Lf", " f64 a f64 b", "dD");
}

static void flags_width_and_precision_change_nothing(void)
{
	becomes("a %-08.3d b %+5.2f c %#lx d % d e %'d", " i32 a f64 b x64 c i32 d i32 e", "idlii");
}

static void precision_limits_a_string(void)
{
	becomes("s %.10s t %s", " str s str t", ".10ss");
	becomes("s %-20.3s", " str s", ".3s");
	becomes("s %.s", " str s", ".0s");
	becomes("s %.99999999999s", " str s", ".214748364s");
}

static void a_star_is_an_argument_of_its_own(void)
{
	becomes("a %*d", " i32 width0 i32 a", "ii");
	becomes("a %*.*f b %d", " i32 width0 i32 width1 f64 a i32 b", "iwdi");
	becomes("s %.*s", " i32 width0 str s", "ws");
}

static void wide_text_is_a_string(void)
{
	becomes("a %ls b %.3ls c %S", " str a str b str c", "S.3SS");
	becomes("a %.*ls", " i32 width0 str a", "wS");
	becomes("a %lc b %C", " str a str b", "WW");
}

static void glibcs_and_newer_conversions(void)
{
	becomes("a %b b %#lB c %hhb", " x32 a x64 b x8 c", "ilb");
	becomes("a %Id b %'Id", " i32 a i32 b", "ii");
	becomes("a %Zu b %qd c %Lx", " u64 a i64 b x64 c", "lll");
	becomes("a %m b %d", " i32 a i32 b", "mi");
	becomes("a %w8d b %w16u c %w32x d %w64d", " i8 a u16 b x32 c i64 d", "bhil");
	becomes("a %wf8d b %wf16d c %wf32u d %wf64d", " i8 a i64 b u64 c i64 d", "blll");
}

static void a_percent_sign_is_none(void)
{
	becomes("", "", "");
	becomes("just words", "", "");
	becomes("100%% sure %d%%", " i32 sure", "i");
	becomes("a %5% b %-% c %d", " i32 c", "i");
}

static void unrecordable_formats_are_refused(void)
{
	static const char *const formats[] = { "%n",   "%",    "a %",  "%l",   "%5",  "%*",
					       "%Z",   "%k",   "%1$d", "%hhn", "%Hf", "%Df",
					       "%DDf", "%w9d", "%wd",  "%wf7d" };

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!ok(!reads(formats[i])))
			printf("# accepted: %s\n", formats[i]);
}

static void formats_with_too_many_fields_are_refused(void)
{
	char format[1024] = "", small[8];

	for (int i = 0; i < 127; i++)
		strcat(format, "%d");
	ok(reads(format));
	is(strlen(codes), 127);
	strcat(format, "%d");
	ok(!reads(format));
	ok(!mark_schema("long_name %d", small, sizeof small, codes, sizeof codes));
	ok(!mark_schema("%d%d", words, sizeof words, small, 2));
}

/* Precisions belong to the code behind them. */
static size_t fields_of_codes(void)
{
	size_t n = 0;

	for (const char *p = codes; *p; p++)
		n += *p != '.' && (*p < '0' || *p > '9');
	return n;
}

static void plans(const char *format, char want, uint32_t want_size)
{
	uint32_t size = 99;

#if !defined __x86_64__
	want = MARK_BY_CODES;
	want_size = 0;
#endif
	ok(reads(format));
	if (!is(mark_plan(codes, &size), want))
		printf("# %s\n", format);
	if (want != MARK_BY_CODES)
		is(size, want_size);
}

static void arguments_in_registers_have_a_plan(void)
{
	plans("nothing", MARK_WORDS_32, 0);
	plans("a %d", MARK_WORDS_32, 4);
	plans("%d%x%u%c", MARK_WORDS_MIXED, 13);
	plans("%d%d%d%d", MARK_WORDS_32, 16);
	plans("%d%d%d%d%d", MARK_BY_CODES, 0);
	plans("%ld%p%zu%llx", MARK_WORDS_64, 32);
	plans("%hhd%hd%d%ld", MARK_WORDS_MIXED, 15);
	plans("%s", MARK_TEXT_32, 0);
	plans("%d%d%d%s", MARK_TEXT_32, 12);
	plans("%ld%p%s", MARK_TEXT_64, 16);
	plans("%ld%p%ld%s", MARK_BY_CODES, 0);
	plans("%hd%s", MARK_BY_CODES, 0);
	plans("%s%d", MARK_BY_CODES, 0);
	plans("%s%s", MARK_BY_CODES, 0);
	plans("%.3s", MARK_BY_CODES, 0);
	plans("%.*s", MARK_BY_CODES, 0);
	plans("%ls", MARK_BY_CODES, 0);
	plans("%f", MARK_BY_CODES, 0);
	plans("%d%f", MARK_BY_CODES, 0);
	plans("%m", MARK_BY_CODES, 0);
	plans("%*d", MARK_WORDS_32, 8);
}

/* Whatever the format, the words are ones that base/schema.h accepts, one code for each field. */
static void random_formats_are_read_or_refused(void)
{
	static const char letters[] = "%%%%%dsxlhzjtLqcpfegnmwSCB*.0123 -+#ab_=,$";
	unsigned seed = 1;
	int n_read = 0;

	for (int i = 0; i < 200000; i++) {
		char format[32];
		int n = i % 31;

		for (int k = 0; k < n; k++) {
			seed = seed * 1103515245 + 12345;
			format[k] = letters[(seed >> 16) % (sizeof letters - 1)];
		}
		format[n] = 0;
		if (!reads(format))
			continue;
		n_read++;
		struct schema_text t = { words, words + strlen(words) };
		size_t n_fields = 0;

		if (!schema_is_sound(t)) {
			ok(!"sound");
			printf("# \"%s\" became \"%s\"\n", format, words);
		}
		while (schema_next_word(&t).p < t.end)
			n_fields++;
		if (n_fields / 2 + n_fields % 2 != fields_of_codes())
			is(n_fields, 2 * fields_of_codes());
	}
	ok(n_read > 1000);
}

int main(void)
{
	run(fields_are_named_by_the_word_before);
	run(equal_names_become_distinct);
	run(a_long_name_is_cut);
	run(integers_have_the_width_of_their_modifier);
	run(text_characters_pointers_and_reals);
	run(flags_width_and_precision_change_nothing);
	run(precision_limits_a_string);
	run(a_star_is_an_argument_of_its_own);
	run(wide_text_is_a_string);
	run(glibcs_and_newer_conversions);
	run(a_percent_sign_is_none);
	run(unrecordable_formats_are_refused);
	run(formats_with_too_many_fields_are_refused);
	run(arguments_in_registers_have_a_plan);
	run(random_formats_are_read_or_refused);
	return test_status();
}
