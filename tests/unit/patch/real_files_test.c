/* SPDX-License-Identifier: MIT */
/*
 * real_files_test [FILE...] - all functions and marks of programs and libraries of this machine are
 * planned.  Displaced code, with its fixups applied at another address, decodes to the instructions
 * of the window, with the same operands and targets.  Prints coverage and time of each file.
 */
#include <Zydis/Zydis.h>
#include <time.h>

#include "make_plan.h"

enum { NEAR = 0x100000 }; /* distance of the code from the file's end, as a stub might have it */

static ZydisDecoder decoder;
static unsigned n_different;

struct decoded {
	ZydisDecodedInstruction ins;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode(const uint8_t *p, size_t n, struct decoded *d)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, p, n, &d->ins, d->operands));
}

/* An operand as address or value, where relative ones count by their targets. */
static bool same_operand(const struct decoded *a, uint64_t at, const struct decoded *b, uint64_t bt,
			 unsigned i)
{
	const ZydisDecodedOperand *x = &a->operands[i], *y = &b->operands[i];
	ZyanU64 p, q;

	if (x->type != y->type)
		return false;
	if (x->type == ZYDIS_OPERAND_TYPE_REGISTER)
		return x->reg.value == y->reg.value;
	if (x->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && !x->imm.is_relative)
		return x->imm.value.u == y->imm.value.u;
	if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&a->ins, x, at, &p)))
		return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&b->ins, y, bt, &q)) && p == q;
	return x->mem.base == y->mem.base && x->mem.index == y->mem.index &&
	       x->mem.scale == y->mem.scale && x->mem.disp.value == y->mem.disp.value &&
	       x->mem.segment == y->mem.segment && x->size == y->size;
}

static bool same(const struct decoded *a, uint64_t at, const struct decoded *b, uint64_t bt)
{
	bool good = a->ins.mnemonic == b->ins.mnemonic &&
		    a->ins.operand_count_visible == b->ins.operand_count_visible;

	for (unsigned i = 0; good && i < a->ins.operand_count_visible; i++)
		good = same_operand(a, at, b, bt, i);
	return good;
}

static bool never_continues(const struct decoded *d)
{
	return d->ins.mnemonic == ZYDIS_MNEMONIC_RET || d->ins.mnemonic == ZYDIS_MNEMONIC_JMP ||
	       d->ins.mnemonic == ZYDIS_MNEMONIC_UD2 || d->ins.mnemonic == ZYDIS_MNEMONIC_HLT;
}

/* The nop of a mark is not displaced. */
static bool is_dropped(const struct abi_plan_site *s, uint32_t from, uint32_t to)
{
	return s->kind == ABI_SITE_MARK && s->expected[from] == 0x90 && to == s->lead;
}

static bool compare(const struct abi_plan_site *s, const uint8_t *code, uint64_t code_at)
{
	struct decoded a, b;
	uint32_t from = 0, to = 0;
	bool was_dropped = false;

	while (from < s->window && !(to == s->code_bytes && to && from >= 5)) {
		if (!decode(s->expected + from, s->window - from, &a))
			return false;
		if (!was_dropped && is_dropped(s, from, to)) {
			was_dropped = true;
			from += a.ins.length;
			continue;
		}
		if (!decode(code + to, s->code_bytes - to, &b) ||
		    !same(&a, s->address + from, &b, code_at + to))
			return false;
		from += a.ins.length;
		to += b.ins.length;
		if (never_continues(&b))
			break;
	}
	return to == s->code_bytes;
}

static void check_site(const struct abi_plan *p, const struct abi_plan_site *s, uint64_t near)
{
	uint8_t code[64];

	if (s->kind != ABI_SITE_PROLOGUE && s->kind != ABI_SITE_MARK &&
	    s->kind != ABI_SITE_ISLAND) {
		n_different += s->code_bytes != 0;
		return;
	}
	memcpy(code, plan_code(p, s), s->code_bytes);
	for (uint32_t i = 0; i < s->n_fixups; i++) {
		const struct abi_plan_fixup *f = &plan_fixups(p)[s->fixup + i];
		int64_t distance = (int64_t)(f->target - (near + f->end));
		int32_t field = (int32_t)distance;

		if (field != distance || f->at + 4 > f->end || f->end > s->code_bytes) {
			n_different++;
			return;
		}
		memcpy(code + f->at, &field, 4);
	}
	if (!compare(s, code, near) && n_different++ < 10)
		printf("# %#llx %s\n", (unsigned long long)s->address, plan_text(p, s->name));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_coverage(const struct patch_file *f, double took)
{
	const struct patch_function *fn;
	const struct patch_mark *m;
	uint32_t n = patch_functions(f, &fn), n_marks = patch_marks(f, &m);
	uint32_t good = 0, parts = 0, resolvers = 0, marks = 0;

	for (uint32_t i = 0; i < n; i++) {
		good += !fn[i].reason;
		parts += fn[i].reason == PATCH_PART;
		resolvers += fn[i].reason == PATCH_RESOLVER;
	}
	for (uint32_t i = 0; i < n_marks; i++)
		marks += !m[i].reason;
	n -= parts + resolvers;
	printf("# %s: %u of %u functions (%.1f %%), %u of %u marks, %.0f ms\n", patch_path(f), good,
	       n, n ? 100.0 * good / n : 0, marks, n_marks, took * 1e3);
	ok(good * 100ull >= n * 85ull);
}

static void check_file(const char *path)
{
	const char *const patterns[] = { "*:*" };
	const struct patch_wanted_mark marks[] = { { "*:*:*", NULL } };
	struct patch_request r = {
		.patterns = patterns, .n_patterns = 1, .marks = marks, .n_marks = 1
	};
	const struct abi_plan_site *last;
	struct patch_file *f;
	struct abi_plan *p;
	struct diag d = { "" };
	double began = seconds();

	if (!is(patch_open(&f, path, NULL, &d), 0)) {
		printf("# %s\n", d.text);
		return;
	}
	print_coverage(f, seconds() - began);
	ok(patch_make_plan(f, &r, plan_dir, NULL, &d) > 0);
	p = plan_take(f);
	if (ok(p)) {
		plan_check(p);
		last = &plan_sites(p)[p->n_sites - 1];
		for (uint32_t i = 0; i < p->n_sites; i++)
			check_site(p, &plan_sites(p)[i], last->address + NEAR + 160ull * i);
	}
	free(p);
	patch_close(f);
}

static char **files;

static void displaced_code_does_the_same(void)
{
	for (char **path = files; *path; path++)
		check_file(*path);
	is(n_different, 0);
}

int main(int argc, char **argv)
{
	/* always there: the shell, and this program's own libraries */
	static char *always[] = { "/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6",
				  "/lib/x86_64-linux-gnu/libelf.so.1",
				  "/lib/x86_64-linux-gnu/libdw.so.1", NULL };

	files = argc > 1 ? argv + 1 : always;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	plan_dir_make();
	run(displaced_code_does_the_same);
	plan_dir_remove();
	return test_status();
}
