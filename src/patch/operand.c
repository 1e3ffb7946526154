/* SPDX-License-Identifier: MIT */
/*
 * patch/operand.c - operands of USDT marks, as the assembler wrote them into the note.
 *
 *	-4@%edi  8@-16(%rbp)  4@$5  8@foo+8(%rip)  8@8(%rax,%rbx,4)  8f@%xmm0
 *
 * N is the size, negative if the value is signed; f: a floating-point number.  An operand that is not
 * understood is refused: the kernel's way (uprobes) leaves such an operand out.
 */
#include "patch/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The rest of an operand. */
struct rest {
	const char *p, *end;
};

static bool take(struct rest *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

static bool take_number(struct rest *r, int64_t *value)
{
	char digits[32], *end;
	size_t n = (size_t)(r->end - r->p);

	if (n >= sizeof digits)
		n = sizeof digits - 1;
	memcpy(digits, r->p, n);
	digits[n] = 0;
	if (!n || isspace((unsigned char)*digits))
		return false;
	*value = *digits == '-' ? strtoll(digits, &end, 0) : (int64_t)strtoull(digits, &end, 0);
	r->p += end - digits;
	return end != digits;
}

static size_t word_size(const struct rest *r)
{
	const char *p = r->p;

	while (p < r->end && (isalnum((unsigned char)*p) || strchr("_.$@", *p)))
		p++;
	return (size_t)(p - r->p);
}

/* ---------------------------------------------------------------- registers */

static bool is_word(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && !memcmp(text, word, size);
}

/* "r8" .. "r15", with d, w or b behind. */
static bool numbered_register(const char *p, size_t size, uint8_t *reg)
{
	unsigned n = 0;
	size_t i = 1;

	if (*p != 'r')
		return false;
	for (; i < size && i < 3 && isdigit((unsigned char)p[i]); i++)
		n = n * 10 + (unsigned)(p[i] - '0');
	if (n < 8 || n > 15 || (i < size && (i + 1 != size || !strchr("dwb", p[i]))))
		return false;
	*reg = (uint8_t)n;
	return true;
}

static bool named_register(const char *p, size_t size, uint8_t *reg, uint8_t *is_high)
{
	static const char *const words[] = { "ax", "cx", "dx", "bx", "sp", "bp", "si", "di" };
	static const char *const low[] = { "al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil" };
	static const char *const high[] = { "ah", "ch", "dh", "bh" };

	for (uint8_t i = 0; i < 8; i++) {
		*reg = i;
		*is_high = i < 4 && is_word(p, size, high[i]);
		if (*is_high || is_word(p, size, low[i]) || is_word(p, size, words[i]) ||
		    (size == 3 && (*p == 'r' || *p == 'e') && is_word(p + 1, 2, words[i])))
			return true;
	}
	return false;
}

/* Behind '%'. */
static bool take_register(struct rest *r, uint8_t *reg, uint8_t *is_high)
{
	size_t size = word_size(r);
	const char *p = r->p;

	*is_high = 0;
	r->p += size;
	return size >= 2 &&
	       (numbered_register(p, size, reg) || named_register(p, size, reg, is_high));
}

static bool take_vector(struct rest *r, struct abi_plan_operand *o)
{
	int64_t n;

	if (r->end - r->p < 4 || memcmp(r->p, "xmm", 3) || !isdigit((unsigned char)r->p[3]))
		return false;
	r->p += 3;
	if (!take_number(r, &n) || n < 0 || n > 15 || r->p != r->end || o->bytes < 4)
		return false;
	o->place = ABI_OPERAND_VECTOR;
	o->reg = (uint8_t)n;
	return true;
}

/* ---------------------------------------------------------------- symbols */

static bool find_in(const struct patch_file *f, uint32_t type, const char *name, size_t size,
		    uint64_t *address)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(f->elf.elf, type, &h);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = data && h.sh_entsize == sizeof(Elf64_Sym) ? data->d_size / h.sh_entsize : 0;
	unsigned n_found = 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++) {
		const char *found;
		GElf_Sym s;

		if (!gelf_getsym(data, (int)i, &s) || s.st_shndx == SHN_UNDEF ||
		    GELF_ST_TYPE(s.st_info) == STT_TLS)
			continue;
		found = elf_strptr(f->elf.elf, h.sh_link, s.st_name);
		if (!found || !is_word(name, size, found) || (n_found && *address == s.st_value))
			continue;
		*address = s.st_value;
		n_found++;
	}
	return n_found == 1; /* static variables of one name cannot be distinguished */
}

/* "foo" or "foo+8", which leads the memory operand. */
static bool take_symbol(const struct patch_file *f, struct rest *r, int64_t *value)
{
	size_t size = word_size(r);
	uint64_t address;
	int64_t more = 0;

	if (!size || !(find_in(f, SHT_SYMTAB, r->p, size, &address) ||
		       find_in(f, SHT_DYNSYM, r->p, size, &address)))
		return false;
	r->p += size;
	if (r->p < r->end && (*r->p == '+' || *r->p == '-')) {
		r->p += *r->p == '+';
		if (!take_number(r, &more))
			return false;
	}
	*value = (int64_t)(address + (uint64_t)more);
	return true;
}

/* ---------------------------------------------------------------- memory */

static bool take_scale(struct rest *r, struct abi_plan_operand *o)
{
	int64_t n = 1;

	if (take(r, ',') && !take_number(r, &n))
		return false;
	if (n != 1 && n != 2 && n != 4 && n != 8)
		return false;
	o->scale = (uint8_t)__builtin_ctzll((unsigned long long)n);
	return true;
}

/* "(%rbp)", "(%rax,%rbx,4)", "(,%rax,8)" */
static bool take_base(struct rest *r, bool is_symbol, struct abi_plan_operand *o)
{
	uint8_t is_high = 0;

	if (take(r, '%')) {
		if (r->end - r->p >= 3 && !memcmp(r->p, "rip", 3)) {
			r->p += 3;
			o->reg = ABI_OPERAND_RIP;
			return is_symbol && take(r, ')') && r->p == r->end;
		}
		if (*r->p != 'r' || !take_register(r, &o->reg, &is_high))
			return false;
	}
	if (take(r, ',')) {
		if (!take(r, '%') || r->p == r->end || *r->p != 'r' ||
		    !take_register(r, &o->index, &is_high) || o->index == 4 || !take_scale(r, o))
			return false;
	}
	return !is_high && take(r, ')') && r->p == r->end;
}

static bool take_memory(const struct patch_file *f, struct rest *r, struct abi_plan_operand *o)
{
	bool is_symbol = false;

	o->place = ABI_OPERAND_MEMORY;
	o->reg = o->index = ABI_OPERAND_NONE;
	if (r->p < r->end && *r->p != '(' && !take_number(r, &o->value)) {
		is_symbol = take_symbol(f, r, &o->value);
		if (!is_symbol)
			return false;
	}
	if (r->p == r->end) {
		o->reg = is_symbol ? ABI_OPERAND_RIP : ABI_OPERAND_NONE;
		return is_symbol;
	}
	return take(r, '(') && take_base(r, is_symbol, o) &&
	       /* an address that the loader moves, plus a register */
	       (!is_symbol || o->reg == ABI_OPERAND_RIP || f->is_fixed);
}

/* ---------------------------------------------------------------- all */

size_t patch_operand_size(const char *text)
{
	return strcspn(text, " ");
}

bool patch_operand(const struct patch_file *f, const char *text, size_t size,
		   struct abi_plan_operand *o, bool *is_float)
{
	struct rest r = { text, text + size };
	int64_t bytes;

	*o = (struct abi_plan_operand){ .reg = ABI_OPERAND_NONE, .index = ABI_OPERAND_NONE };
	o->is_signed = take(&r, '-');
	if (!take_number(&r, &bytes) || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return false;
	o->bytes = (uint8_t)bytes;
	*is_float = take(&r, 'f');
	if (!take(&r, '@') || r.p == r.end || (*is_float && bytes < 4))
		return false;
	if (take(&r, '$')) {
		o->place = ABI_OPERAND_CONSTANT;
		return !*is_float && take_number(&r, &o->value) && r.p == r.end;
	}
	if (!take(&r, '%'))
		return take_memory(f, &r, o);
	if (take_vector(&r, o))
		return true;
	o->place = ABI_OPERAND_REGISTER;
	return take_register(&r, &o->reg, &o->is_high) && r.p == r.end;
}
