/* SPDX-License-Identifier: MIT */
/*
 * analysis/pairing/pairing_words.c - arguments and results of the calls in progress as text: see
 * internal.h.
 */
#include "analysis/pairing/internal.h"

#include <errno.h>
#include <string.h>

#include "capture/table.h"
#include "analysis/syscalls/structs.h"

static struct call_about about(struct pairing *j, uint32_t thread, const struct trace_event *e)
{
	uint32_t process = pairing_process(j, thread);
	bool names_pids = j->o.names_pids && pairing_numbers_are_ours(j, thread);

	return (struct call_about){ .fds = j->o.names_fds ? &j->fds : NULL,
				    .fd_kinds = j->o.fd_kinds,
				    .process = process,
				    .cwd = j->o.names_fds ? fds_cwd(&j->fds, process) : NULL,
				    .threads = names_pids ? j->run.threads : NULL,
				    .event = e };
}

/* @e: the entry, for texts; NULL: there are none. */
static void read_values(const struct call_class *c, const struct trace_event *e,
			const struct call_made *m, struct call_value values[CALL_ARGS])
{
	for (uint32_t i = 0; i < c->n_fields; i++) {
		const struct ctf_op *op = c->field[i];
		struct call_value *v = &values[i];

		*v = (struct call_value){ .n = m->args[i],
					  .size_bits = (uint8_t)op->size_bits,
					  .is_signed = op->is_signed,
					  .is_address = op->type && op->type->base == 16 };
		if (e && op->code != OP_NUMBER &&
		    !ctf_event_text(e->ctf, op, &v->text, &v->text_size))
			v->text = NULL;
	}
}

static struct call_moment moment_of(const struct pairing *j, const struct pairing_state *st,
				    const struct call_about *about)
{
	return (struct call_moment){ .args = st->made.args,
				     .lengths = st->lengths,
				     .befores = st->befores,
				     .string_bytes = j->o.string_bytes,
				     .about = about };
}

static void read_memory(struct pairing *j, const struct call_class *c, const struct trace_event *e,
			struct call_moment *x)
{
	j->n_memory = 0;
	for (int i = 0; i < c->memory.n; i++)
		if (!x || capture_is_made(c->memory.at[i], x->args))
			call_memory_read(&j->memory[j->n_memory++], c->memory.at[i], e->ctf);
	if (x) {
		x->memory = j->memory;
		x->n_memory = j->n_memory;
	}
}

/* The first argument that is not shown before the call returns. */
static uint32_t first_late(const struct pairing *j, const struct pairing_state *st)
{
	const struct abi_captures at_exit = st->made.class->at_exit;
	uint32_t first = CALL_ARGS;

	for (int i = 0; i < at_exit.n; i++) {
		uint32_t place =
			call_operand(&j->call_plans[st->class], at_exit.at[i]->argument - 1u);

		if (capture_is_made(at_exit.at[i], st->made.args) &&
		    call_memory_waits(at_exit.at[i], st->made.args) && place < first)
			first = place;
	}
	return first;
}

void pairing_words_join(struct pairing *j, struct pairing_state *st)
{
	const struct call_plan *p = &j->call_plans[st->class];

	st->text.size = st->early.size = st->late.size = 0;
	call_join(&st->text, p, &st->parts, 0, CALL_ARGS);
	call_join(&st->early, p, &st->parts, 0, st->first_late);
	call_join(&st->late, p, &st->parts, st->first_late, CALL_ARGS);
	st->is_joined = true;
}

/* The same when the call has ended: its beginning is wanted only if it was shown before. */
static void join_at_end(struct pairing *j, struct pairing_state *st)
{
	if (st->was_given)
		return pairing_words_join(j, st);
	st->text.size = 0;
	call_join(&st->text, &j->call_plans[st->class], &st->parts, 0, CALL_ARGS);
	st->is_joined = true;
}

static bool is_path(const struct pairing *j, const char *name, size_t size)
{
	for (int i = 0; i < j->o.n_paths; i++)
		if (strlen(j->o.paths[i]) == size && !memcmp(j->o.paths[i], name, size))
			return true;
	return false;
}

static bool is_fd_of_path(struct pairing *j, uint32_t thread, int32_t fd)
{
	const struct fd_file *f = fds_look(&j->fds, pairing_process(j, thread), fd);

	return f && f->name && is_path(j, f->name, strlen(f->name));
}

/* Whether the memory @m has such a descriptor: poll() and select() get many. */
static bool has_fd_of_path(struct pairing *j, uint32_t thread, const struct pairing_state *st,
			   const struct call_memory *m)
{
	int64_t known;
	bool is_cut;
	int32_t fd;

	if (m->what->kind == ABI_CAPTURE_POLL)
		for (uint32_t at = 0; at + 8 <= m->size; at += 8) {
			memcpy(&fd, m->bytes + at, sizeof fd);
			if (is_fd_of_path(j, thread, fd))
				return true;
		}
	known = m->what->kind == ABI_CAPTURE_FDSET
			? call_fds_known(m, (int32_t)st->made.args[0], &is_cut)
			: 0;
	for (int32_t i = 0; i < known; i++)
		if (m->bytes[i / 8] >> i % 8 & 1 && is_fd_of_path(j, thread, i))
			return true;
	return false;
}

/* The same for a call with requests: only what the request says of its arguments counts. */
static bool is_request_about(struct pairing *j, uint32_t thread, const struct call_request *all,
			     const struct call_value *values, uint32_t n)
{
	const struct call_request *request = call_request_of(all, values, n);
	const struct abi_capture *what;
	const char *path;
	uint8_t bits;

	for (uint32_t i = 0; request && i < n; i++) {
		const struct call_rule *r = call_request_rule(request, i, &bits);

		if (r && (r->kind == CALL_FD || r->kind == CALL_AT_FD) &&
		    is_fd_of_path(j, thread, (int32_t)values[i].n))
			return true;
		what = values[i].memory ? values[i].memory->what : NULL;
		path = what ? (const char *)values[i].memory->bytes : "";
		if (what && what->type && !strcmp(what->type, "path") &&
		    is_path(j, path, strnlen(path, values[i].memory->size)))
			return true;
	}
	return false;
}

/* Whether the call in progress has one of the requested paths, or a descriptor of one. */
static bool is_about(struct pairing *j, uint32_t thread, const struct pairing_state *st,
		     const struct call_value *values, uint32_t n)
{
	if (j->call_plans[st->class].requests)
		return is_request_about(j, thread, j->call_plans[st->class].requests, values, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct call_rule *r = j->call_plans[st->class].rules[i];

		if (values[i].text && is_path(j, values[i].text, values[i].text_size))
			return true;
		if (r && (r->kind == CALL_FD || r->kind == CALL_AT_FD) &&
		    is_fd_of_path(j, thread, (int32_t)values[i].n))
			return true;
	}
	for (int i = 0; i < j->n_memory; i++)
		if (has_fd_of_path(j, thread, st, &j->memory[i]))
			return true;
	return false;
}

/* The data that the call writes or has read, in lines, if that is requested. @result: at exit. */
static void dump(struct pairing *j, struct pairing_state *st, const struct call_memory *m,
		 const struct call_moment *x)
{
	bool is_write = !x->is_end || !strcmp(m->what->call, "sendmmsg");

	if (j->o.dumps && j->o.dumps(j->o.context, (int32_t)st->made.args[0], is_write))
		call_memory_dump(&st->dump, m, x);
}

/* The mask that rt_sigreturn restores; it has no argument that points there. */
static void show_mask(struct pairing *j, struct pairing_state *st, const struct call_moment *x)
{
	struct text *part = &st->parts.part[0];

	if (st->made.class->n_fields || !j->n_memory ||
	    j->memory[0].what->kind != ABI_CAPTURE_SIGNALS)
		return;
	part->size = 0;
	text_addf(part, "{mask=");
	if (!call_memory_add(part, &j->memory[0], x))
		return;
	text_addf(part, "}");
	st->parts.uses = 1;
}

/* Whether it is what an argument points to, and wanted: the environment is a number without -v. */
static bool is_of_argument(const struct call_memory *m)
{
	if (m->what->is_of_environment)
		return m->size && call_style()->is_whole;
	return !m->what->is_behind;
}

/* The descriptors of a set that the kernel looks at. */
static struct call_length known_of_set(const struct call_memory *m, int32_t n)
{
	bool is_cut;
	int64_t known = call_fds_known(m, n, &is_cut);

	return (struct call_length){ (uint64_t)known, known > 0 };
}

/* Lengths that the kernel may change. */
static void keep_length(struct pairing_state *st, const struct call_memory *m)
{
	enum { NAME_LENGTH_AT = 8 };
	struct call_length *to = &st->lengths[m->what->argument - 1];

	if (m->what->kind == ABI_CAPTURE_LENGTH && m->size >= 4)
		*to = (struct call_length){ u32(m, 0), true };
	else if (m->what->kind == ABI_CAPTURE_FDSET)
		*to = known_of_set(m, (int32_t)st->made.args[0]);
	else if (m->what->kind == ABI_CAPTURE_MESSAGES)
		call_messages_befores(m, st->befores, CALL_BEFORES);
	else if (m->what->kind == ABI_CAPTURE_MESSAGE && m->size >= NAME_LENGTH_AT + 4)
		*to = (struct call_length){ u32(m, NAME_LENGTH_AT), true };
	else if (!m->what->is_behind)
		call_described_length(m, st->lengths);
}

void pairing_words_begin(struct pairing *j, uint32_t thread, const struct trace_event *e)
{
	struct pairing_state *st = &j->states[thread];
	const struct call_class *c = st->made.class;
	const struct call_about known = about(j, thread, e);
	struct call_moment moment = moment_of(j, st, &known);
	struct call_value values[CALL_ARGS] = { 0 };

	read_values(c, e, &st->made, values);
	read_memory(j, c, e, &moment);
	memset(st->lengths, 0, sizeof st->lengths);
	for (int i = 0; i < j->n_memory; i++)
		keep_length(st, &j->memory[i]);
	for (int i = 0; i < j->n_memory; i++)
		if (j->memory[i].what->argument <= c->n_fields && is_of_argument(&j->memory[i]))
			values[j->memory[i].what->argument - 1].memory = &j->memory[i];
	for (int i = 0; i < j->n_memory; i++)
		dump(j, st, &j->memory[i], &moment);
	st->is_about = j->o.n_paths && is_about(j, thread, st, values, c->n_fields);
	call_arguments(&st->parts, &j->call_plans[st->class], values, c->n_fields, UINT32_MAX,
		       &moment);
	show_mask(j, st, &moment);
	st->first_late = first_late(j, st);
	st->is_joined = false;
}

void pairing_words_fini(struct pairing_state *st)
{
	text_fini(&st->text);
	text_fini(&st->early);
	text_fini(&st->late);
	text_fini(&st->dump);
	call_parts_fini(&st->parts);
}

void pairing_words_forget(struct pairing_state *st)
{
	st->text.size = st->early.size = st->late.size = st->dump.size = 0;
	st->is_joined = true;
}

/* "[128]" and "[16]": "[128 => 16]". */
static void add_change(struct text *part, const struct text *now, const char *between)
{
	if (!part->size || part->bytes[0] != '[' ||
	    (part->size == now->size && !memcmp(part->bytes, now->bytes, now->size))) {
		part->size = 0;
		text_add(part, now->bytes, now->size);
	} else if (*between == ']') {
		text_addf(part, " => %.*s", (int)now->size, now->bytes);
	} else {
		part->size--;
		text_addf(part, " => %.*s", (int)now->size - 1, now->bytes + 1);
	}
}

/* The kernel writes no more than the caller had room for, though it returns the whole length. */
static void limit(const struct pairing_state *st, struct call_memory *m)
{
	const struct call_length *most = m->what->how == ABI_CAPTURE_POINTED
						 ? &st->lengths[m->what->size_argument - 1]
						 : NULL;

	if (most && most->is_known && m->size > most->bytes)
		m->size = (uint32_t)most->bytes;
}

/* Replaces the text of an argument by the memory that the kernel wrote. */
static void show_written(struct pairing_state *st, const struct call_memory *m,
			 const struct call_moment *x)
{
	uint32_t i = m->what->argument - 1u;
	struct text now = { 0 };

	if (!(st->parts.uses & 1u << i) || !call_memory_add(&now, m, x)) {
		text_fini(&now);
		return;
	}
	if (now.failed) {
		st->text.failed = true;
		text_fini(&now);
		return;
	}
	if (m->what->is_of_failures && m->what->kind == ABI_CAPTURE_TYPED &&
	    m->what->size == sizeof(uint32_t)) { /* only its size was written */
		text_addf(&st->parts.part[i], " => %.*s", (int)now.size, now.bytes);
		text_fini(&now);
	} else if (m->what->kind == ABI_CAPTURE_LENGTH || m->what->kind == ABI_CAPTURE_OFFSET) {
		add_change(&st->parts.part[i], &now,
			   m->what->kind == ABI_CAPTURE_OFFSET ? "]" : "");
		text_fini(&now);
	} else {
		text_fini(&st->parts.part[i]);
		st->parts.part[i] = now;
	}
}

static void quote(struct text *part)
{
	struct text quoted = { 0 };

	call_quoted(&quoted, part->bytes, part->size);
	text_fini(part);
	*part = quoted;
}

/* Older recordings do not tell an empty text from one that could not be read. */
static bool was_read(unsigned were_read, unsigned bit, size_t size, int64_t result)
{
	return were_read == CALL_UNKNOWN_READ ? size || result != -EFAULT : were_read & bit;
}

static bool is_used(const struct pairing *j, const struct pairing_state *st, uint32_t i)
{
	const char *name = j->calls.names[st->made.call - 1];

	return capture_text_is_used(capture_text_condition(name, i + 1), st->made.args);
}

/* Texts that were not in memory at entry: there they are recorded as the text of their address. A
 * text that is empty at exit too is really empty, or the kernel could not read it. */
static void show_late_texts(struct pairing *j, struct pairing_state *st,
			    const struct trace_event *e, int64_t result)
{
	const struct call_class *c = st->made.class;
	unsigned were_read, bit = 1;
	const char *p = call_memory_at_exit(e->ctf, &j->memory[0], &were_read),
		   *end = p ? p + j->memory[0].size : NULL;

	/* Nothing was late: then these are texts. */
	for (uint32_t i = 0; !p && i < c->n_fields; i++)
		if (c->field[i]->code == OP_STRING && st->parts.part[i].size && is_used(j, st, i) &&
		    call_is_address(st->parts.part[i].bytes, st->parts.part[i].size))
			quote(&st->parts.part[i]);
	for (uint32_t i = 0; p && i < c->n_fields && p < end; i++) {
		struct text *part = &st->parts.part[i];
		size_t n = strnlen(p, (size_t)(end - p));

		if (c->field[i]->code != OP_STRING)
			continue;
		if (was_read(were_read, bit, n, result) && is_used(j, st, i) &&
		    call_is_address(part->bytes, part->size)) {
			bool is_string = j->call_plans[st->class].rules[i] &&
					 j->call_plans[st->class].rules[i]->kind == CALL_STRING;
			size_t most = is_string && j->o.string_bytes ? j->o.string_bytes : SIZE_MAX;

			part->size = 0;
			call_text(part, p, n, most);
			j->n_late_texts++;
		}
		bit <<= 1;
		p += n + 1;
	}
}

/* The tid of a new child, which the kernel writes for its parent. */
static void show_child(struct pairing_state *st, const char *name, int64_t result)
{
	if (!strcmp(name, "clone") && st->parts.uses & 4) {
		st->parts.part[2].size = 0;
		text_addf(&st->parts.part[2], "[%lld]", (long long)result);
	}
}

/* Memory shown behind the result: "([{fd=3, revents=POLLIN}], left {tv_sec=1, tv_nsec=0})". */
static void show_after(struct pairing *j, const struct call_memory *m, const struct call_moment *x,
		       const char **before)
{
	static const char *const sets[] = { "in ", "out ", "except " };
	bool is_time = m->what->kind == ABI_CAPTURE_TIME || m->what->kind == ABI_CAPTURE_TIMEVAL;
	struct text t = { 0 };

	if (call_memory_add(&t, m, x) && (m->what->kind != ABI_CAPTURE_FDSET || t.size > 2)) {
		text_addf(&j->result, "%s%s%.*s", *before,
			  is_time			       ? "left "
			  : m->what->kind == ABI_CAPTURE_FDSET ? sets[(m->what->argument - 2) % 3]
							       : "",
			  (int)t.size, t.bytes);
		*before = ", ";
	}
	text_fini(&t);
}

/* Whether the call wrote to the memory, so that it is shown: a sleep writes the rest of its time
 * only if a signal ended it; iovecs are shown in any case. */
static bool is_written(const struct abi_capture *what, int64_t result)
{
	enum { RESTART_FIRST = 512, RESTART_LAST = 516 };

	if (!what->is_of_failures || what->kind == ABI_CAPTURE_IOVECS ||
	    what->kind == ABI_CAPTURE_TYPED)
		return result >= 0 || what->is_of_failures;
	return result == -EINTR || (result <= -RESTART_FIRST && result >= -RESTART_LAST);
}

/* A call that failed may not have looked at these arguments. */
static void show_addresses(struct pairing_state *st, int from, int end)
{
	for (int i = from; i < end; i++) {
		struct text *part = &st->parts.part[i];

		part->size = 0;
		if (st->made.args[i])
			text_addf(part, "%#llx", (unsigned long long)st->made.args[i]);
		else
			text_addf(part, "NULL");
	}
}

void pairing_words_end(struct pairing *j, const struct call_class *c, const struct trace_event *e,
		       uint32_t thread, bool is_pair, int64_t result)
{
	struct pairing_state *st = &j->states[thread];
	const struct call_about known = about(j, thread, e);
	struct call_moment moment = moment_of(j, st, &known);
	const char *before = " (", *name = j->calls.names[st->made.call - 1];

	call_result(&j->result, &j->call_plans[trace_class_number(e)], &st->made, result, &known);
	moment.is_end = true;
	moment.result = result;
	if (is_pair && c->has_late)
		show_late_texts(j, st, e, result);
	read_memory(j, c, e, is_pair ? &moment : NULL);
	for (int i = 0; i < j->n_memory; i++) {
		struct call_memory *m = &j->memory[i];

		if (m->what->is_behind)
			continue;
		if (is_pair)
			limit(st, m);
		if (is_pair && result > 0)
			dump(j, st, m, &moment);
		if (m->what->is_after && result > 0)
			show_after(j, m, &moment, &before);
		else if (is_pair && !m->what->is_after && is_written(m->what, result) &&
			 !(result < 0 && !strcmp(name, "clock_nanosleep") && st->made.args[1] & 1))
			show_written(st, m, &moment);
		else if (!is_pair && m->size)
			call_memory_add(&st->late, m, &moment);
	}
	if (is_pair && result < 0 && !strcmp(name, "epoll_pwait2"))
		show_addresses(st, 3, 5);
	if (*before == ',')
		text_add(&j->result, ")", 1);
	else if (is_pair && result > 0 && strstr(name, "select"))
		text_add(&j->result, " ()", 3);
	else if (!result && is_pair &&
		 (strstr(name, "poll") == name || !strcmp(name, "ppoll") || strstr(name, "select")))
		text_addf(&j->result, " (Timeout)");
	if (is_pair && result > 0)
		show_child(st, name, result);
	if (is_pair)
		join_at_end(j, st);
}

void pairing_words_program(struct pairing_state *st, const struct event_table *p,
			   const struct trace_event *e)
{
	struct text *part = &st->parts.part[0];
	const char *name;
	size_t size;

	if (!part->size || part->bytes[0] == '"' || !p->field[2] ||
	    !ctf_event_text(e->ctf, p->field[2], &name, &size))
		return;
	part->size = 0;
	call_quoted(part, name, size);
	st->is_joined = false;
}
