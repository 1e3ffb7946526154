/* SPDX-License-Identifier: MIT */
/*
 * cmd/export/cyg_profile.c - writes the trace DIR/calls with one stream, in the order of time.
 *
 * Events have LTTng's large header and the contexts vpid, vtid and procname.  Clock and host are
 * those of the recording, so that viewers put both on one time line.
 */
#include "cmd/export/cyg_profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/ctf.h"
#include "analysis/calls/calls.h"
#include "cmd/progress.h"
#include "ctf/write/public.h"
#include "elf/file.h"

enum { PROCNAME = 17, PACKET_BYTES = 1 << 18 };

struct large_header {
	uint16_t id;
	uint32_t time;
} __attribute__((packed));

struct extended_header {
	uint16_t extended;
	uint32_t id;
	uint64_t time;
} __attribute__((packed));
enum { EXTENDED = 65535 };

enum event_id { ENTRY, EXIT, DUMP_START, BIN_INFO, BUILD_ID, DUMP_END };

static const char metadata[] =
	"struct event_header_large {\n"
	"\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct { uint32_clock_monotonic_t timestamp; } compact;\n"
	"\t\tstruct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended;\n"
	"\t} v;\n"
	"} align(8);\n\n"
	"stream {\n\tid = 0;\n\tevent.header := struct event_header_large;\n"
	"\tpacket.context := struct packet_context;\n"
	"\tevent.context := struct {\n"
	"\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _vpid;\n"
	"\t\tinteger { size = 32; align = 8; signed = true; base = 10; } _vtid;\n"
	"\t\tinteger { size = 8; align = 8; signed = false; encoding = UTF8; } _procname[17];\n"
	"\t};\n};\n\n";

static const struct {
	const char *name;
	int loglevel;
	const char *fields;
} events[] = {
#define HEX64 "\t\tinteger { size = 64; align = 8; signed = false; base = 16; } "
#define U64 "\t\tinteger { size = 64; align = 8; signed = false; base = 10; } "
#define U8 "\t\tinteger { size = 8; align = 8; signed = false; base = 10; } "
	[ENTRY] = { "lttng_ust_cyg_profile:func_entry", 12,
		    HEX64 "_addr;\n" HEX64 "_call_site;\n" },
	[EXIT] = { "lttng_ust_cyg_profile:func_exit", 12, HEX64 "_addr;\n" HEX64 "_call_site;\n" },
	[DUMP_START] = { "lttng_ust_statedump:start", 13, "" },
	[BIN_INFO] = { "lttng_ust_statedump:bin_info", 13,
		       HEX64 "_baddr;\n" U64 "_memsz;\n\t\tstring { encoding = UTF8; } _path;\n" U8
			     "_is_pic;\n" U8 "_has_build_id;\n" U8 "_has_debug_link;\n" },
	[BUILD_ID] = { "lttng_ust_statedump:build_id", 13,
		       HEX64 "_baddr;\n" U64
			     "__build_id_length;\n\t\tinteger { size = 8; align = 8; signed = "
			     "false; base = 16; } _build_id[__build_id_length];\n" },
	[DUMP_END] = { "lttng_ust_statedump:end", 13, "" },
};

struct exporting {
	struct trace *trace;
	struct fcalls *calls;
	struct fcalls_walk *walk;
	const struct trace_source *source;
	int64_t offset_ns; /* of the clock */
	struct ctf_writer writer;
	struct ctf_stream stream;
	bool is_open;
	struct text packet;
	uint64_t begin, last; /* times of the packet's first and last event */
	uint32_t *of_thread;  /* by thread of the walk: index of fcalls_thread() plus 1 */
	uint32_t n_of_thread;
	uint32_t *inside; /* by thread of the walk: its innermost open function */
	uint32_t n_inside;
	struct base { /* of an object in a process */
		uint32_t process;
		struct fcalls_object object;
	} * bases;
	uint32_t n_bases, n_base_rooms;
	struct diag *d;
};

/* ---------------------------------------------------------------- the trace */

static int describe(struct exporting *x)
{
	struct text t = { 0 };
	int err;

	text_add(&t, metadata, sizeof metadata - 1);
	for (unsigned i = 0; i < sizeof events / sizeof *events; i++)
		text_addf(&t,
			  "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tloglevel = "
			  "%d;\n\tfields := struct {\n%s\t};\n};\n\n",
			  events[i].name, i, events[i].loglevel, events[i].fields);
	err = t.failed ? diag_fail(x->d, -ENOMEM, "no memory")
		       : ctf_writer_describe(&x->writer, t.bytes, t.size, x->d);
	text_fini(&t);
	return err;
}

static int open_trace(struct exporting *x, const char *to)
{
	const struct ctf_clock *clock =
		x->source->meta->n_clocks ? &x->source->meta->clocks[0] : NULL;
	const struct abi_clock kind = { 0 };
	char path[PATH_MAX];
	struct ctf_writer_options o = { .path = path,
					.domain = "ust",
					.clock = &kind,
					.hostname = x->source->hostname,
					.clock_uuid =
						clock && clock->has_uuid ? clock->uuid : NULL };
	int err;

	if (snprintf(path, sizeof path, "%s/calls", to) >= (int)sizeof path)
		return diag_fail(x->d, -ENAMETOOLONG, "%s: the path is too long", to);
	if (clock && clock->freq == 1000000000)
		x->offset_ns = clock->offset_s * 1000000000 + clock->offset;
	o.clock_offset_ns = (uint64_t)x->offset_ns;
	err = ctf_writer_open(&x->writer, &o, x->d);
	if (err)
		return err;
	err = describe(x);
	if (!err)
		err = ctf_stream_open(&x->stream, &x->writer, "calls_0", x->d);
	x->is_open = !err;
	if (err)
		ctf_writer_close(&x->writer);
	return err;
}

static int end_packet(struct exporting *x)
{
	struct iovec body = { x->packet.bytes, x->packet.size };
	const struct ctf_packet p = { .begin_ns = x->begin,
				      .end_ns = x->last,
				      .sequence = x->stream.sequence,
				      .cpu = TRACE_CPU_UNKNOWN,
				      .n_body = 1,
				      .body = &body };
	int err = x->packet.size ? ctf_stream_append(&x->stream, &p, x->d) : 0;

	x->packet.size = 0;
	return err;
}

/* The event's header and contexts; its fields follow. */
static int begin_event(struct exporting *x, enum event_id id, int64_t time_ns,
		       const struct fcalls_thread *t)
{
	uint64_t time = (uint64_t)time_ns - (uint64_t)x->offset_ns;
	int32_t ids[2] = { (int32_t)fcalls_process(x->calls, t->process)->pid, (int32_t)t->tid };
	char procname[PROCNAME] = "";
	int err = x->packet.size > PACKET_BYTES ? end_packet(x) : 0;

	if (time < x->last)
		time = x->last;
	if (!x->packet.size)
		x->begin = time;
	if (x->packet.size && time - x->last < UINT32_MAX) {
		struct large_header h = { (uint16_t)id, (uint32_t)time };

		text_add(&x->packet, (const char *)&h, sizeof h);
	} else {
		struct extended_header h = { EXTENDED, (uint32_t)id, time };

		text_add(&x->packet, (const char *)&h, sizeof h);
	}
	x->last = time;
	snprintf(procname, sizeof procname, "%.16s", fcalls_process(x->calls, t->process)->program);
	text_add(&x->packet, (const char *)ids, sizeof ids);
	text_add(&x->packet, procname, sizeof procname);
	return err;
}

static void add_u64(struct exporting *x, uint64_t v)
{
	text_add(&x->packet, (const char *)&v, sizeof v);
}

static void add_u8(struct exporting *x, uint8_t v)
{
	text_add(&x->packet, (const char *)&v, sizeof v);
}

/* ---------------------------------------------------------------- files of processes */

/* The lowest address of the file's segments, and how far they reach; 0 if it cannot be read. */
static uint64_t segments(const char *path, uint64_t *low, bool *is_pic)
{
	uint64_t first = UINT64_MAX, end = 0;
	struct elf_file f;
	GElf_Ehdr head;
	GElf_Phdr p;
	size_t n = 0;

	*low = 0;
	*is_pic = true;
	if (!elf_file_open(&f, path))
		return 0;
	if (gelf_getehdr(f.elf, &head))
		*is_pic = head.e_type == ET_DYN;
	if (elf_getphdrnum(f.elf, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f.elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    p.p_vaddr + p.p_memsz < p.p_vaddr)
			continue;
		first = p.p_vaddr < first ? p.p_vaddr : first;
		end = p.p_vaddr + p.p_memsz > end ? p.p_vaddr + p.p_memsz : end;
	}
	elf_file_close(&f);
	*low = first == UINT64_MAX ? 0 : first & ~(uint64_t)4095;
	return end > *low ? end - *low : 0;
}

static int add_object(struct exporting *x, int64_t time_ns, const struct fcalls_thread *t,
		      const struct fcalls_object *o)
{
	uint64_t low, size;
	bool is_pic;
	int err;

	if (pass_grow(&x->bases, &x->n_base_rooms, x->n_bases, sizeof *x->bases))
		return -ENOMEM;
	x->bases[x->n_bases++] = (struct base){ t->process, *o };
	size = segments(o->path, &low, &is_pic);
	err = begin_event(x, BIN_INFO, time_ns, t);
	add_u64(x, o->bias + low);
	add_u64(x, size ? size : UINT32_MAX);
	text_add(&x->packet, o->path, strlen(o->path) + 1);
	add_u8(x, is_pic);
	add_u8(x, o->build_id_bytes > 0);
	add_u8(x, 0);
	if (!err && o->build_id_bytes) {
		err = begin_event(x, BUILD_ID, time_ns, t);
		add_u64(x, o->bias + low);
		add_u64(x, o->build_id_bytes);
		text_add(&x->packet, (const char *)o->build_id, o->build_id_bytes);
	}
	return err;
}

static int dump_process(struct exporting *x, int64_t time_ns, uint32_t process)
{
	const struct fcalls_thread t = { .process = process,
					 .tid = fcalls_process(x->calls, process)->pid };
	struct fcalls_object o;
	int err = begin_event(x, DUMP_START, time_ns, &t);

	for (uint32_t i = 0; !err && fcalls_object(x->calls, process, i, &o); i++)
		err = add_object(x, time_ns, &t, &o);
	return err ? err : begin_event(x, DUMP_END, time_ns, &t);
}

/* ---------------------------------------------------------------- calls */

/* The thread of a walk's thread, as its program names it; NULL: no memory. */
static const struct fcalls_thread *thread_of(struct exporting *x, uint32_t number)
{
	const struct thread *th = threads_at(fcalls_walk_pass(x->walk)->threads, number);
	uint32_t found = 0;

	if (pass_grow(&x->of_thread, &x->n_of_thread, number, sizeof *x->of_thread))
		return NULL;
	for (uint32_t i = 0; !x->of_thread[number] && i < fcalls_n_threads(x->calls); i++)
		if (fcalls_thread(x->calls, i)->tid == th->tid)
			found = i;
	if (!x->of_thread[number])
		x->of_thread[number] = found + 1;
	return fcalls_thread(x->calls, x->of_thread[number] - 1);
}

static uint64_t address_of(const struct exporting *x, uint32_t process, uint32_t function)
{
	const struct fcalls_function *f = fcalls_function(x->calls, function);

	if (!function)
		return 0;
	for (uint32_t i = x->n_bases; i--;) {
		const struct fcalls_object *o = &x->bases[i].object;

		if (x->bases[i].process == process && o->build_id_bytes == f->build_id_bytes &&
		    !memcmp(o->build_id, f->build_id, f->build_id_bytes) &&
		    (f->build_id_bytes || !strcmp(o->path, f->object)))
			return o->bias + f->address;
	}
	return f->address;
}

static int add_call(struct exporting *x, const struct fcalls_item *item, uint32_t caller)
{
	const struct fcalls_thread *t = thread_of(x, item->thread);
	int err = t ? begin_event(x, item->is == FCALLS_ENTER ? ENTRY : EXIT, item->time_ns, t)
		    : -ENOMEM;

	if (err)
		return err;
	add_u64(x, address_of(x, t->process, item->id));
	add_u64(x, address_of(x, t->process, caller));
	return x->packet.failed ? -ENOMEM : 0;
}

/* An entry's caller is the function that ran when the thread's last call had been written. */
static int on_call(struct exporting *x, const struct fcalls_item *item)
{
	uint32_t caller;

	if (item->kind != FCALLS_FUNCTION)
		return 0;
	if (pass_grow(&x->inside, &x->n_inside, item->thread, sizeof *x->inside))
		return -ENOMEM;
	caller = item->is == FCALLS_LEAVE ? item->caller : x->inside[item->thread];
	x->inside[item->thread] = item->is == FCALLS_LEAVE ? item->caller : item->id;
	/* A call that is still open has no exit. */
	if (item->is == FCALLS_LEAVE && item->flags & FCALLS_OPEN)
		return 0;
	return add_call(x, item, caller);
}

static int write_all(struct exporting *x)
{
	struct fcalls_item item;
	bool has_begun = false;
	int is = FCALLS_END, err = 0;

	while (!err && (is = fcalls_walk_next(x->walk, &item, x->d)) > 0) {
		if (progress_is_stopped()) {
			err = diag_fail(x->d, -EINTR, "interrupted");
			break;
		}
		if (is != FCALLS_ENTER && is != FCALLS_LEAVE)
			continue;
		for (uint32_t i = 0; !has_begun && !err && i < fcalls_n_processes(x->calls); i++)
			err = dump_process(x, item.time_ns, i);
		has_begun = true;
		if (!err)
			err = on_call(x, &item);
	}
	if (!err && is >= 0)
		err = end_packet(x);
	if (err == -ENOMEM)
		diag_fail(x->d, err, "no memory");
	return err ? err : is < 0 ? is : 0;
}

static int export_calls(struct exporting *x, const char *to)
{
	const struct fcalls_options o = { .range = { INT64_MIN, INT64_MAX },
					  .is_without_kernel = true };
	int err;

	x->source = trace_source(
		x->trace, fcalls_n_processes(x->calls) ? fcalls_process(x->calls, 0)->source : 0);
	err = open_trace(x, to);
	if (!err)
		err = fcalls_walk_open(&x->walk, x->calls, &o, x->d);
	if (!err)
		err = write_all(x);
	fcalls_walk_close(x->walk);
	if (x->is_open) {
		ctf_stream_close(&x->stream);
		ctf_writer_close(&x->writer);
	}
	return err;
}

int export_cyg_profile(const char *path, const char *to, struct diag *d)
{
	struct trace_options o = { 0 };
	struct exporting x = { .d = d };
	int err;

	progress_hook(&o);
	/* What cannot be read as a recording can be copied. */
	if (trace_open(&x.trace, &path, 1, &o, d))
		return 0;
	err = fcalls_open(&x.calls, x.trace, d);
	if (!err && fcalls_has_calls(x.calls))
		err = export_calls(&x, to);
	fcalls_close(x.calls);
	trace_close(x.trace);
	text_fini(&x.packet);
	free(x.of_thread);
	free(x.inside);
	free(x.bases);
	return err;
}
