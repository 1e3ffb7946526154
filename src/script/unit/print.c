/* SPDX-License-Identifier: MIT */
/*
 * unit/print.c - byte code as text: an instruction a line, under the source line it comes from.
 *
 * The unit need not be verified: whatever its instructions and tables hold is printed as it is.
 */
#include "script/unit/unit.h"

#include <string.h>

struct printer {
	struct text *to;
	const struct script_unit *unit;
	uint32_t line;		      /* next row of unit->lines */
	uint32_t source, source_line; /* last printed */
};

static const char *alu_name(uint8_t code, int16_t offset)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return "+=";
	case BPF_SUB:
		return "-=";
	case BPF_MUL:
		return "*=";
	case BPF_DIV:
		return offset ? "s/=" : "/=";
	case BPF_MOD:
		return offset ? "s%=" : "%=";
	case BPF_OR:
		return "|=";
	case BPF_AND:
		return "&=";
	case BPF_XOR:
		return "^=";
	case BPF_LSH:
		return "<<=";
	case BPF_RSH:
		return ">>>=";
	case BPF_ARSH:
		return ">>=";
	case BPF_MOV:
		return "=";
	}
	return NULL;
}

static const char *jump_name(uint8_t code)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return "==";
	case BPF_JNE:
		return "!=";
	case BPF_JSGT:
		return ">";
	case BPF_JSGE:
		return ">=";
	case BPF_JSLT:
		return "<";
	case BPF_JSLE:
		return "<=";
	case BPF_JGT:
		return "u>";
	case BPF_JGE:
		return "u>=";
	case BPF_JLT:
		return "u<";
	case BPF_JLE:
		return "u<=";
	case BPF_JSET:
		return "&";
	}
	return NULL;
}

static void print_bytes(struct text *to, const char *bytes, size_t size)
{
	text_add(to, "\"", 1);
	for (size_t i = 0; i < size && i < 60; i++) {
		unsigned char c = bytes[i];

		if (c == '\n')
			text_addf(to, "\\n");
		else if (c == '"' || c == '\\')
			text_addf(to, "\\%c", c);
		else if (c < ' ' || c == 127)
			text_addf(to, "\\%03o", c);
		else
			text_addf(to, "%c", c);
	}
	text_addf(to, size > 60 ? "\"..." : "\"");
}

static void print_wide(struct printer *p, const struct bpf_insn *i, bool has_second)
{
	const struct script_unit *u = p->unit;
	int64_t number = (uint32_t)i->imm;

	if (has_second)
		number |= (int64_t)((uint64_t)(uint32_t)i[1].imm << 32);
	text_addf(p->to, "r%u = ", i->dst_reg);
	if (i->src_reg == SCRIPT_LD_STRING && (uint32_t)i->imm < u->n_strings)
		print_bytes(p->to, u->strings[i->imm]->bytes, u->strings[i->imm]->size);
	else if (i->src_reg == SCRIPT_LD_GLOBAL && (uint32_t)i->imm < u->n_globals)
		text_addf(p->to, "&%s", u->globals[i->imm].name);
	else
		text_addf(p->to, "%lld", (long long)number);
}

static void print_call(struct printer *p, const struct bpf_insn *i)
{
	const struct script_unit *u = p->unit;
	uint32_t n = i->imm;
	const struct script_builtin *b;

	if (i->src_reg == BPF_PSEUDO_CALL)
		text_addf(p->to, "call function %s",
			  n < u->n_functions ? u->functions[n].name : "?");
	else if (n < SCRIPT_HELPERS_N)
		text_addf(p->to, "call %s",
			  script_helper_table[n].name ? script_helper_table[n].name : "?");
	else if (n >= SCRIPT_HELPER_BUILTIN && (b = script_builtin_at(n - SCRIPT_HELPER_BUILTIN)))
		text_addf(p->to, "call %s()", b->name);
	else
		text_addf(p->to, "call %u", n);
}

static void print_operand(struct text *to, const struct bpf_insn *i)
{
	if (BPF_SRC(i->code) == BPF_X)
		text_addf(to, "r%u", i->src_reg);
	else
		text_addf(to, "%d", i->imm);
}

static void print_jump(struct printer *p, const struct bpf_insn *i, uint32_t at)
{
	const char *name = jump_name(i->code);
	int64_t target = (int64_t)at + 1 + i->off;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		text_addf(p->to, "goto %lld", (long long)target);
		return;
	case BPF_CALL:
		print_call(p, i);
		return;
	case BPF_EXIT:
		text_addf(p->to, "exit");
		return;
	}
	text_addf(p->to, "if r%u %s ", i->dst_reg, name ? name : "?");
	print_operand(p->to, i);
	text_addf(p->to, " goto %lld", (long long)target);
}

static void print_insn(struct printer *p, uint32_t at)
{
	const struct bpf_insn *i = &p->unit->insns[at];
	const char *name;

	text_addf(p->to, "%6u  ", at);
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		print_wide(p, i, at + 1 < p->unit->n_insns);
		break;
	case BPF_LDX:
		text_addf(p->to, "r%u = [r%u%+d]", i->dst_reg, i->src_reg, i->off);
		break;
	case BPF_STX:
		text_addf(p->to, "[r%u%+d] = r%u", i->dst_reg, i->off, i->src_reg);
		break;
	case BPF_ALU64:
		name = alu_name(i->code, i->off);
		if (BPF_OP(i->code) == BPF_NEG) {
			text_addf(p->to, "r%u = -r%u", i->dst_reg, i->dst_reg);
			break;
		}
		text_addf(p->to, "r%u %s ", i->dst_reg, name ? name : "?");
		print_operand(p->to, i);
		break;
	case BPF_JMP:
		print_jump(p, i, at);
		break;
	default:
		text_addf(p->to, "? %#x", i->code);
	}
	text_add(p->to, "\n", 1);
}

/* The source line, where it is another one than before. */
static void print_line(struct printer *p, uint32_t at)
{
	const struct script_unit *u = p->unit;
	const struct script_source *source;
	const char *begin, *end;
	uint32_t line, column;

	while (p->line < u->n_lines && u->lines[p->line].insn < at)
		p->line++;
	if (p->line == u->n_lines || u->lines[p->line].insn != at || !u->sources ||
	    u->lines[p->line].place.source >= u->sources->n)
		return;
	source = &u->sources->at[u->lines[p->line].place.source];
	if (u->lines[p->line].place.at > source->size)
		return;
	script_place_line(u->sources, u->lines[p->line].place, &line, &column);
	if (line == p->source_line && u->lines[p->line].place.source == p->source)
		return;
	p->source = u->lines[p->line].place.source;
	p->source_line = line;
	begin = source->text + u->lines[p->line].place.at;
	while (begin > source->text && begin[-1] != '\n')
		begin--;
	begin += strspn(begin, " \t");
	end = begin + strcspn(begin, "\n");
	text_addf(p->to, "\t# %s:%u: %.*s\n", source->name, line, (int)(end - begin), begin);
}

static const char *type_name(uint8_t type)
{
	static const char *const names[] = { "unknown", "long", "string", "stats", "nothing" };

	return type < sizeof names / sizeof *names ? names[type] : "?";
}

static void print_tables(struct text *to, const struct script_unit *u)
{
	for (uint32_t i = 0; i < u->n_globals; i++)
		text_addf(to, "global %s:%s\n", u->globals[i].name, type_name(u->globals[i].type));
	for (uint32_t i = 0; i < u->n_arrays; i++) {
		const struct script_array_code *a = &u->arrays[i];

		text_addf(to, "array %u %s[", i, a->name);
		for (uint32_t k = 0; k < a->n_keys && k < SCRIPT_KEYS_MAX; k++)
			text_addf(to, "%s%s", k ? ", " : "", type_name(a->keys[k]));
		text_addf(to, "]:%s, %u entries%s\n", type_name(a->value), a->capacity,
			  a->wraps ? ", wraps" : "");
	}
}

static void print_function(struct printer *p, const struct script_function_code *f)
{
	text_addf(p->to, "%s %s", f->is_handler ? "handler" : "function", f->name);
	if (!f->is_handler) {
		for (uint32_t i = 0; i < f->n_parameters; i++)
			text_addf(p->to, "%s%s", i ? ", " : "(", type_name(f->parameters[i]));
		text_addf(p->to, "%s:%s", f->n_parameters ? ")" : "()", type_name(f->type));
	}
	text_addf(p->to, ", stack %u\n", f->stack);
	p->source_line = 0;
	p->line = 0;
	for (uint32_t at = f->entry; at < f->end && at < p->unit->n_insns; at++) {
		print_line(p, at);
		print_insn(p, at);
		if (p->unit->insns[at].code == (BPF_LD | BPF_IMM | BPF_DW))
			at++;
	}
}

void script_unit_print(struct text *t, const struct script_unit *unit)
{
	struct printer p = { .to = t, .unit = unit };

	print_tables(t, unit);
	for (uint32_t i = 0; i < unit->n_functions; i++)
		print_function(&p, &unit->functions[i]);
	for (uint32_t i = 0; i < unit->n_catches; i++)
		text_addf(t, "catch %u..%u: %u\n", unit->catches[i].begin, unit->catches[i].end,
			  unit->catches[i].target);
}
