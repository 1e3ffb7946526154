/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/count.c - instructions of a folded handler: filters and counts.
 *
 * A target has two maps.  One word in shared memory says in which of them all programs count; the
 * reader changes it, waits until no program uses the old ones, and merges those.  All is added
 * atomically: other CPUs count in the same element, and on the same CPU a program may be interrupted
 * by another.  Such a program cannot make an element while the other holds the map's lock: the update
 * is then counted as a loss.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "script/kernel/emit.h"

enum { STATS_N = 0, STATS_SUM = 8, STATS_MIN = 16, STATS_MAX = 24, STATS_BUCKETS = 32 };

struct body {
	struct kernel_emit *e;
	const struct kernel_source *source;
	const struct kernel_section *section;
	int64_t lost; /* for emit_lost() */
	int leave;
};

static void needed(struct kernel_emit *e, const struct kernel_section *s,
		   const struct script_stmt *t)
{
	if (!t)
		return;
	if (t->expr && !t->expr->is_elided)
		emit_needed(e, s, t->expr);
	for (uint32_t i = 0; i < t->n_body; i++)
		needed(e, s, t->body[i]);
}

/* ---------------------------------------------------------------- the element */

/* A name as a key: the number it follows from, and the slot, or KEY_STANDARD(). */
static void build_name(struct body *b, uint32_t slot, int to)
{
	struct bpf_code *c = b->e->c;
	bool is_call = slot < SCRIPT_SLOTS_MAX && b->section->slot_name[slot] == SLOT_OF_CALL;

	if (is_call)
		emit_number(
			b->e,
			&b->section->capture
				 .fetches[b->section->capture.map[b->section->capture.slot[slot]]],
			0);
	else if (b->section->n_probes == 1)
		bpf_alu_imm(c, BPF_MOV, R1, (int32_t)b->section->probes[0]);
	else
		bpf_load(c, BPF_DW, R1, FP, STACK_PROBE);
	bpf_store(c, BPF_DW, FP, to, R1);
	bpf_mov64(c, R1, (is_call ? KEY_NAME_OF_CALL : KEY_NAME_OF_PROBE) | (uint8_t)slot);
	bpf_store(c, BPF_DW, FP, to + 8, R1);
}

static void build_constant(struct bpf_code *c, const char *text, int to)
{
	uint64_t words[COMM_BYTES / 8] = { 0 };

	memcpy(words, text, strlen(text)); /* shorter than a key */
	for (int i = 0; i < COMM_BYTES / 8; i++) {
		bpf_mov64(c, R1, words[i]);
		bpf_store(c, BPF_DW, FP, to + 8 * i, R1);
	}
}

static void build_text(struct body *b, const struct script_expr *key, int to)
{
	enum script_standard which = kernel_probe_name(key);
	struct bpf_code *c = b->e->c;
	int from;

	if (key->kind == EXPR_TEXT)
		return build_constant(c, key->text, to);
	if (which != STANDARD_N)
		return build_name(b, KEY_STANDARD(which), to);
	if (key->slot >= 0 && b->section->slot_name[key->slot] != SLOT_NO_NAME)
		return build_name(b, (uint32_t)key->slot, to);
	from = b->e->at[kernel_leaf(b->section, key)];
	for (int j = 0; j < COMM_BYTES; j += 8) {
		bpf_load(c, BPF_DW, R1, FP, from + j);
		bpf_store(c, BPF_DW, FP, to + j, R1);
	}
}

/* The key on the stack; its offset. */
static int build_key(struct body *b, const struct kernel_count *count,
		     const struct script_expr *target)
{
	struct bpf_code *c = b->e->c;
	int at = emit_cell(b->e, count->n_keys ? count->key_bytes / 8 : 1);

	if (!count->n_keys) {
		bpf_store_imm(c, BPF_W, FP, at, 0);
		return at;
	}
	for (uint32_t i = 0; i < count->n_keys; i++) {
		const struct script_expr *key = target->kids[i];
		int to = at + count->key_at[i];

		if (key->type == SCRIPT_STRING) {
			build_text(b, key, to);
		} else {
			emit_expression(b->e, b->section, key);
			bpf_store(c, BPF_DW, FP, to, R0);
		}
	}
	return at;
}

static void look_up(struct bpf_code *c, int map, int key_at)
{
	bpf_load_map(c, R1, map);
	bpf_alu(c, BPF_MOV, R2, FP);
	bpf_alu_imm(c, BPF_ADD, R2, key_at);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
}

/* R0 becomes the value of the element in @map, which is made if it is not there; then
 * @found.  Else R7 is the reason why it could not be made.  Another program may make it in
 * between: it is looked for again whatever the reason. */
static void find_in_map(struct body *b, const struct kernel_count *count, int map, int key_at,
			int found)
{
	struct bpf_code *c = b->e->c;

	look_up(c, map, key_at);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, found);
	if (!count->n_keys)
		return;
	bpf_load_map(c, R1, map);
	bpf_alu(c, BPF_MOV, R2, FP);
	bpf_alu_imm(c, BPF_ADD, R2, key_at);
	bpf_load_map_value(c, R3, b->e->control, count->start_at);
	bpf_alu_imm(c, BPF_MOV, R4, BPF_NOEXIST);
	bpf_call(c, BPF_FUNC_map_update_elem);
	bpf_alu(c, BPF_MOV, R7, R0);
	bpf_alu_imm(c, BPF_LSH, R7,
		    32); /* an int before Linux 6.4: its upper half is not defined */
	bpf_alu_imm(c, BPF_ARSH, R7, 32);
	look_up(c, map, key_at);
	bpf_jump_if_imm(c, BPF_JNE, R0, 0, found);
}

/* The same in the map that is counted in; if there is no room, or the element cannot be made now,
 * that is counted, and then @none.  The code is there for each map: a call with a map that is
 * known is made without the call. */
static void find_element(struct body *b, const struct kernel_count *count, int key_at, int none)
{
	struct bpf_code *c = b->e->c;
	int found = bpf_label(c), failed = bpf_label(c), full = bpf_label(c), second = bpf_label(c);

	if (!count->n_keys) /* its element is there */
		bpf_alu_imm(c, BPF_MOV, R7, -E2BIG);
	bpf_load_map_value(c, R1, b->e->control, b->source->active_at);
	bpf_load(c, BPF_DW, R1, R1, 0);
	bpf_jump_if_imm(c, BPF_JNE, R1, 0, second);
	find_in_map(b, count, count->maps[0], key_at, found);
	bpf_jump(c, failed);
	bpf_put_label(c, second);
	find_in_map(b, count, count->maps[1], key_at, found);
	bpf_put_label(c, failed);
	bpf_jump_if_imm(c, BPF_JEQ, R7, -E2BIG, full);
	emit_lost(b->e, b->lost, b->source->losses_at);
	bpf_jump(c, none);
	bpf_put_label(c, full);
	bpf_load_map_value(c, R1, b->e->control, count->full_at);
	bpf_alu_imm(c, BPF_MOV, R2, 1);
	bpf_atomic(c, BPF_ADD, R1, 0, R2);
	bpf_jump(c, none);
	bpf_put_label(c, found);
}

/* ---------------------------------------------------------------- statistics */

/* Adds 1 to R5's bit @shift and above; R4 is shifted down by it.  A step of a binary logarithm. */
static void log_step(struct bpf_code *c, int shift)
{
	int below = bpf_label(c);

	bpf_mov64(c, R3, 1ull << shift);
	bpf_jump_if(c, BPF_JLT, R4, R3, below);
	bpf_alu_imm(c, BPF_RSH, R4, shift);
	bpf_alu_imm(c, BPF_ADD, R5, shift);
	bpf_put_label(c, below);
}

/* R5 becomes the bucket of R2: 64 for 0, 65 + log2(v), 63 - log2(-v). */
static void log_bucket(struct bpf_code *c)
{
	int done = bpf_label(c), negative = bpf_label(c), positive = bpf_label(c);

	bpf_alu_imm(c, BPF_MOV, R5, 64);
	bpf_jump_if_imm(c, BPF_JEQ, R2, 0, done);
	bpf_alu(c, BPF_MOV, R4, R2);
	bpf_jump_if_imm(c, BPF_JSGT, R4, 0, positive);
	bpf_alu_imm(c, BPF_MUL, R4, -1);
	bpf_put_label(c, positive);
	bpf_alu_imm(c, BPF_MOV, R5, 0);
	for (int shift = 32; shift; shift /= 2)
		log_step(c, shift);
	bpf_jump_if_imm(c, BPF_JSLT, R2, 0, negative);
	bpf_alu_imm(c, BPF_ADD, R5, 65);
	bpf_jump(c, done);
	bpf_put_label(c, negative);
	bpf_alu_imm(c, BPF_MUL, R5, -1);
	bpf_alu_imm(c, BPF_ADD, R5, 63);
	bpf_put_label(c, done);
}

/* R5 becomes the bucket of R2: 0 below `low`, the last above `high`. */
static void linear_bucket(struct bpf_code *c, const struct kernel_count *count)
{
	const struct script_variable *v = count->variable;
	int done = bpf_label(c), above = bpf_label(c);

	bpf_alu_imm(c, BPF_MOV, R5, 0);
	bpf_mov64(c, R3, (uint64_t)v->low);
	bpf_jump_if(c, BPF_JSLT, R2, R3, done);
	bpf_mov64(c, R4, (uint64_t)v->high);
	bpf_jump_if(c, BPF_JSGT, R2, R4, above);
	bpf_alu(c, BPF_MOV, R5, R2);
	bpf_alu(c, BPF_SUB, R5, R3);
	bpf_alu_imm(c, BPF_DIV, R5, (int32_t)v->width);
	bpf_alu_imm(c, BPF_ADD, R5, 1);
	bpf_jump(c, done);
	bpf_put_label(c, above);
	bpf_alu_imm(c, BPF_MOV, R5, (int32_t)count->n_buckets - 1);
	bpf_put_label(c, done);
}

/* The number at R4 + @at becomes R2 if that is beyond it (@jump: BPF_JSGE for the least).  A
 * failed try means that another program has stored one: many in a row are possible where all
 * events are greater than those before, and giving up is a loss. */
static void store_extreme(struct body *b, int at, int jump)
{
	enum { TRIES = 16 };
	struct bpf_code *c = b->e->c;
	int done = bpf_label(c);

	for (int i = 0; i < TRIES; i++) {
		bpf_load(c, BPF_DW, R0, R4, at);
		bpf_jump_if(c, jump, R2, R0, done);
		bpf_alu(c, BPF_MOV, R3, R0);
		bpf_compare_exchange(c, R4, at, R2);
		bpf_jump_if(c, BPF_JEQ, R0, R3, done);
	}
	bpf_alu(c, BPF_MOV, R3, R2);
	emit_lost(b->e, b->lost, b->source->losses_at);
	bpf_alu(c, BPF_MOV, R2, R3);
	bpf_put_label(c, done);
}

/* The value R2 goes into the statistic at R0. */
static void collect(struct body *b, const struct kernel_count *count)
{
	struct bpf_code *c = b->e->c;
	int out = bpf_label(c);

	bpf_alu_imm(c, BPF_MOV, R1, 1);
	bpf_atomic(c, BPF_ADD, R0, STATS_N, R1);
	bpf_atomic(c, BPF_ADD, R0, STATS_SUM, R2);
	bpf_alu(c, BPF_MOV, R4, R0);
	store_extreme(b, STATS_MIN, BPF_JSGE);
	store_extreme(b, STATS_MAX, BPF_JSLE);
	bpf_alu(c, BPF_MOV, R0, R4);
	if (count->n_buckets) {
		if (count->variable->histogram == HIST_LOG)
			log_bucket(c);
		else
			linear_bucket(c, count);
		bpf_jump_if_imm(c, BPF_JGE, R5, (int32_t)count->n_buckets, out);
		bpf_alu_imm(c, BPF_LSH, R5, 3);
		bpf_alu(c, BPF_ADD, R0, R5);
		bpf_alu_imm(c, BPF_MOV, R1, 1);
		bpf_atomic(c, BPF_ADD, R0, STATS_BUCKETS, R1);
	}
	bpf_put_label(c, out);
}

/* ---------------------------------------------------------------- statements */

static void count_one(struct body *b, const struct script_expr *x)
{
	const struct script_expr *by, *target;
	const struct kernel_count *count;
	struct bpf_code *c = b->e->c;
	uint32_t used = b->e->used;
	int none = bpf_label(c), key_at, value_at;
	bool is_minus;

	target = kernel_counted(x, &by, &is_minus);
	count = kernel_count_of(b->source, target->variable);
	value_at = emit_cell(b->e, 1);
	if (by) {
		emit_expression(b->e, b->section, by);
		if (is_minus)
			bpf_alu_imm(c, BPF_MUL, R0, -1);
		bpf_store(c, BPF_DW, FP, value_at, R0);
	} else {
		bpf_store_imm(c, BPF_DW, FP, value_at, is_minus ? -1 : 1);
	}
	key_at = build_key(b, count, target);
	find_element(b, count, key_at, none);
	bpf_load(c, BPF_DW, R2, FP, value_at);
	if (count->variable->type == SCRIPT_LONG)
		bpf_atomic(c, BPF_ADD, R0, 0, R2);
	else
		collect(b, count);
	bpf_put_label(c, none);
	b->e->used = used;
}

static void statement(struct body *b, const struct script_stmt *t)
{
	struct bpf_code *c = b->e->c;
	int otherwise, done;

	if (!t)
		return;
	switch (t->kind) {
	case STMT_NEXT:
		bpf_jump(c, b->leave);
		break;
	case STMT_EXPR:
		if (!t->expr->is_elided)
			count_one(b, t->expr);
		break;
	case STMT_IF:
		otherwise = bpf_label(c);
		done = bpf_label(c);
		emit_expression(b->e, b->section, t->expr);
		bpf_jump_if_imm(c, BPF_JEQ, R0, 0, otherwise);
		statement(b, t->body[0]);
		bpf_jump(c, done);
		bpf_put_label(c, otherwise);
		if (t->n_body > 1)
			statement(b, t->body[1]);
		bpf_put_label(c, done);
		break;
	default:
		for (uint32_t i = 0; i < t->n_body; i++)
			statement(b, t->body[i]);
	}
}

void emit_fold(struct kernel_emit *e, const struct kernel_source *source,
	       const struct kernel_section *s, int64_t lost, int leave)
{
	struct body b = { e, source, s, lost, leave };

	for (uint32_t i = 0; i < s->handler->n_body; i++)
		needed(e, s, s->handler->body[i]);
	for (uint32_t i = 0; i < s->handler->n_body; i++)
		statement(&b, s->handler->body[i]);
}
