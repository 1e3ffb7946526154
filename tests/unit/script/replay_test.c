/* SPDX-License-Identifier: MIT */
/*
 * script/replay_test.c - which events of a recording a probe point means, and what its values are.
 *
 * handled() parses a point and expressions, binds them as the checker would, and returns a line for
 * each event: its time and the values.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>

#include "../trace/make_trace.h"
#include "script/replay/replay.h"

/* ---------------------------------------------------------------- instead of checker and machine */

struct script_vm {
	struct script_limits limits;
};

const struct script_limits *script_vm_limits(const struct script_vm *vm)
{
	return &vm->limits;
}

struct script_values *script_vm_values(struct script_vm *vm)
{
	(void)vm;
	return NULL; /* no filter reads a global here */
}

int world_engine_point(struct script_arena *a, const struct script_point *p, struct script_found *f,
		       struct diag *d)
{
	(void)a, (void)p, (void)f, (void)d;
	return 0;
}

enum { PROBES_MAX = 8 };

struct bench {
	struct script_found found;
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_world *world;
	struct script_handler handler;
	struct script_probe probes[PROBES_MAX], *list[PROBES_MAX];
	struct script_world_value values[PROBES_MAX][8];
	struct script_slot slots[8];
	struct script_program program;
	struct script_vm vm;
	struct diag d;
};

static void add_point(struct script_found *f, const struct script_world_point *p)
{
	struct bench *b = (struct bench *)f;
	uint32_t n = b->program.n_probes++;

	if (n >= PROBES_MAX)
		exit(1);
	b->probes[n] = (struct script_probe){
		.handler = &b->handler, .point = *p, .number = n, .slots = b->values[n]
	};
	b->list[n] = &b->probes[n];
}

static void bench_open(struct bench *b, const char *const *paths, int n, bool follows)
{
	const struct replay_options o = { .paths = paths, .n_paths = n, .follows = follows };

	*b = (struct bench){ .found.add = add_point, .vm.limits.string_bytes = 512 };
	b->sources.arena = &b->arena;
	b->messages.sources = &b->sources;
	b->program.probes = b->list;
	b->handler.slots = b->slots;
	if (replay_world_open(&b->world, &o, &b->arena, &b->d)) {
		printf("# %s\n", b->d.text);
		exit(1);
	}
}

static void bench_close(struct bench *b)
{
	replay_world_close(b->world);
	text_fini(&b->messages.text);
	script_arena_fini(&b->arena);
}

static uint32_t source_of(struct bench *b, const char *text)
{
	return (uint32_t)script_sources_add(&b->sources, "test", text, strlen(text));
}

/* Binds the next value of every probe. */
static int add_value(struct bench *b, const char *text)
{
	struct script_expr *e;
	uint32_t slot = b->handler.n_slots;
	int err = 0;

	if (script_parse_expression(&e, &b->sources, source_of(b, text), false, &b->messages)) {
		printf("# %s\n", b->messages.text.bytes);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < b->program.n_probes && !err; i++)
		err = b->world->ops->value(b->world, &b->probes[i].point, e, &b->values[i][slot],
					   &b->d);
	b->slots[slot].type = b->values[0][slot].type;
	b->handler.n_slots++;
	return err;
}

static void add_frame(struct text *t, const struct bench *b, const struct script_event *e)
{
	text_addf(t, "%" PRId64 " %s", e->time_ns, e->probe->point.text);
	for (uint32_t i = 0; i < b->handler.n_slots; i++)
		if (e->frame->faults >> i & 1)
			text_addf(t, " ?");
		else if (b->slots[i].type == SCRIPT_LONG)
			text_addf(t, " %" PRId64, e->frame->slot[i].number);
		else
			text_addf(t, " '%s'", e->frame->slot[i].text->bytes);
	if (b->handler.needs)
		text_addf(t, " %" PRId64 "/%" PRId64 " %s", e->frame->standard[STANDARD_PID].number,
			  e->frame->standard[STANDARD_TID].number,
			  e->frame->standard[STANDARD_EXECNAME].text->bytes);
	text_addf(t, "\n");
}

static void run_source(struct bench *b, struct text *t)
{
	struct script_source_of *s;
	struct script_event e;
	int got;

	if (replay_source_open(&s, b->world, &b->program, &b->vm, &b->d)) {
		text_addf(t, "no source: %s", b->d.text);
		return;
	}
	s->ops->start(s, &b->d);
	while ((got = s->ops->next(s, &e, &b->d)) == 1)
		add_frame(t, b, &e);
	if (got != -ENODATA)
		text_addf(t, "error %d", got);
	s->ops->close(s);
}

/* The events of @point in the recordings, each with @values (NULL at the end). */
static char *handled_in(const char *const *paths, int n, const char *point,
			const char *const *values, uint64_t needs)
{
	struct text t = { 0 };
	struct script_point *p;
	struct bench b;
	int err;

	bench_open(&b, paths, n, false);
	b.handler.needs = needs;
	if (script_parse_point(&p, &b.sources, source_of(&b, point), &b.messages)) {
		printf("# %s\n", b.messages.text.bytes);
		exit(1);
	}
	err = b.world->ops->points(b.world, p, &b.found, &b.d);
	for (int i = 0; !err && values[i]; i++)
		err = add_value(&b, values[i]);
	text_add(&t, "", 0);
	if (err)
		text_addf(&t, "%s", b.d.text);
	else
		run_source(&b, &t);
	bench_close(&b);
	return t.bytes;
}

/* ---------------------------------------------------------------- recordings */

static const char kernel_metadata[] =
	"/* CTF 1.8 */\n" TYPES "trace { major = 1; minor = 8; byte_order = le; "
	"uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\"; "
	"packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };\n"
	"env { domain = \"kernel\"; hostname = \"h\"; };\n"
	"stream { id = 0; " CONTEXT "event.header := struct { t64 timestamp; u16 id; };\n"
	"event.context := struct { i32 _tid; }; };\n"
	"event { name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct { "
	"string _prev_comm; i32 _prev_tid; i32 _prev_prio; string _next_comm; i32 _next_tid; "
	"i32 _next_prio; }; };\n"
	"event { name = \"syscall_entry_openat\"; id = 1; stream_id = 0; fields := struct { "
	"i32 _dfd; string _filename; i32 _flags; u16 _mode; }; };\n"
	"event { name = \"syscall_exit_openat\"; id = 2; stream_id = 0; fields := struct { i32 "
	"_ret; }; "
	"};\n"
	"event { name = \"irq_softirq_entry\"; id = 3; stream_id = 0; fields := struct { u32 _vec; "
	"}; };\n"
	"event { name = \"uprobe_malloc\"; id = 4; stream_id = 0; fields := struct { u64 _ip; u64 "
	"_size; "
	"}; };\n"
	"event { name = \"uretprobe_malloc\"; id = 5; stream_id = 0; fields := struct { u64 _func; "
	"u64 _ret_ip; u64 _p; }; };\n";

static const char app_metadata[] =
	"/* CTF 1.8 */\n" TYPES "trace { major = 1; minor = 8; byte_order = le; "
	"uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\"; "
	"packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };\n"
	"env { domain = \"ust\"; hostname = \"h\"; };\n"
	"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n"
	"stream { id = 0; " CONTEXT "event.header := struct { t64 timestamp; u16 id; };\n"
	"event.context := struct { i32 _vpid; i32 _vtid; }; };\n"
	"event { name = \"shop:order\"; id = 0; stream_id = 0; fields := struct { "
	"i32 _id; string _item; f64 _price; u16 _sizes[3]; "
	"enum : u8 { \"new\" = 0, \"paid\" = 1 } _state; }; };\n";

static void put_head(struct bytes *b, uint64_t time, unsigned id, int tid)
{
	put(b, time, 8);
	put(b, id, 2);
	put(b, (uint64_t)tid, 4);
}

static void put_switch(struct bytes *b, uint64_t time, const char *from, int prev, const char *to,
		       int next)
{
	put_head(b, time, 0, prev);
	put_text(b, from);
	put(b, (uint64_t)prev, 4);
	put(b, 20, 4);
	put_text(b, to);
	put(b, (uint64_t)next, 4);
	put(b, 0xffffffce, 4); /* -50: a realtime priority of 50 */
}

static void make_kernel_events(struct bytes *b)
{
	size_t packet = begin_packet(b, 0, 0, 0);

	put_switch(b, 100, "swapper/2", 0, "web", 7);
	put_head(b, 200, 1, 7);
	put(b, (uint64_t)-100, 4);
	put_text(b, "/etc/x");
	put(b, 0, 4);
	put(b, 0, 2);
	put_head(b, 300, 2, 7);
	put(b, (uint64_t)-2, 4);
	put_head(b, 400, 3, 7);
	put(b, 9, 4);
	put_head(b, 500, 4, 7);
	put(b, 0x1000, 8);
	put(b, 64, 8);
	put_head(b, 600, 5, 7);
	put(b, 0x1000, 8);
	put(b, 0x2000, 8);
	put(b, 0x3000, 8);
	put_switch(b, 700, "web", 7, "swapper/2", 0);
	end_packet(b, packet);
}

static void make_app_events(struct bytes *b)
{
	static const double prices[] = { 12.75, -0.5 };
	size_t packet = begin_packet(b, 0, 0, 0);

	for (unsigned i = 0; i < 2; i++) {
		put_head(b, 250 + i, 0, 7);
		put(b, 8, 4);
		put(b, 41 + i, 4);
		put_text(b, i ? "\"milk\"" : "tea");
		memcpy(b->at + b->n, &prices[i], 8);
		b->n += 8;
		for (unsigned k = 0; k < 3; k++)
			put(b, 10 * i + k, 2);
		put(b, i ? 7 : 1, 1);
	}
	end_packet(b, packet);
}

static char kernel_path[128], app_path[128];

static void make_recordings(void)
{
	static struct bytes kernel, app;

	make_kernel_events(&kernel);
	make_app_events(&app);
	snprintf(kernel_path, sizeof kernel_path, "%s", make_directory());
	write_file(kernel_path, "metadata", kernel_metadata, strlen(kernel_metadata));
	write_file(kernel_path, "s0", kernel.at, kernel.n);
	snprintf(app_path, sizeof app_path, "%s", make_directory());
	write_file(app_path, "metadata", app_metadata, strlen(app_metadata));
	write_file(app_path, "s0", app.at, app.n);
}

static void shows(const char *point, const char *const *values, uint64_t needs, const char *want)
{
	const char *const paths[] = { kernel_path, app_path };
	char *got = handled_in(paths, 2, point, values, needs);

	is_text(got, want);
	free(got);
}

#define VALUES(...) ((const char *const[]){ __VA_ARGS__, NULL })
static const char *const none[] = { NULL };

/* ---------------------------------------------------------------- tests */

static void kernel_events_have_fields_by_both_names_and_members(void)
{
	shows("kernel.trace(\"sched:sched_switch\")",
	      VALUES("$prev_tid", "$prev_pid", "$next->pid", "kernel_string($next->comm)",
		     "$next->prio"),
	      0,
	      "100 kernel.trace(\"sched:sched_switch\") 0 0 7 'web' 50\n"
	      "700 kernel.trace(\"sched:sched_switch\") 7 7 0 'swapper/2' 50\n");
	shows("kernel.tracepoint(\"sched_sw*\")", VALUES("task_tid($prev)", "task_execname($prev)"),
	      0,
	      "100 kernel.trace(\"sched:sched_switch\") 0 'swapper/2'\n"
	      "700 kernel.trace(\"sched:sched_switch\") 7 'web'\n");
	shows("kernel.trace(\"irq:softirq_entry\")", VALUES("$vec", "$vec_nr"), 0,
	      "400 kernel.trace(\"irq:softirq_entry\") 9 9\n");
	shows("kernel.trace(\"irq_softirq_entry\")", VALUES("$vec"), 0,
	      "400 kernel.trace(\"irq:softirq_entry\") 9\n");
}

static void system_calls_have_words_names_and_results(void)
{
	shows("syscall.openat",
	      VALUES("name", "argstr", "filename", "$dfd", "syscall_nr", "user_string($filename)",
		     "long_arg(3)"),
	      0,
	      "200 syscall.openat 'openat' 'AT_FDCWD, \"/etc/x\", O_RDONLY' '/etc/x' -100 257 "
	      "'/etc/x' 0\n");
	shows("syscall.open*.return", VALUES("name", "retstr", "$return", "returnval()", "argstr"),
	      0,
	      "300 syscall.openat.return 'openat' '-1 ENOENT (No such file or directory)' -2 -2 "
	      "'AT_FDCWD, \"/etc/x\", O_RDONLY'\n");
	shows("syscall_any", VALUES("name", "syscall_nr"), 0, "200 syscall_any 'openat' 257\n");
	shows("nd_syscall.read", none, 0, "");
	shows("syscall.opena", none, 0,
	      "the recording has no system call opena (did you mean `openat`?)\n"
	      "  duet record -k syscalls records it");
}

static void functions_of_programs_have_arguments_and_results(void)
{
	shows("process(\"libc.so.6\").function(\"malloc\")", VALUES("$size", "long_arg(1)"), 0,
	      "500 process(\"libc.so.6\").function(\"malloc\").call 64 64\n");
	shows("process(\"libc.so.6\").function(\"m*\").return", VALUES("$return"), 0,
	      "600 process(\"libc.so.6\").function(\"malloc\").return 12288\n");
	shows("process(\"shop\").function(\"malloc\")", none, 0, "");
	shows("process(\"web\").function(\"malloc\")", none, 0,
	      "500 process(\"web\").function(\"malloc\").call\n");
}

static void events_of_applications_have_their_fields(void)
{
	shows("app.shop.order",
	      VALUES("$id", "id", "$item", "item", "$price", "$price$", "$sizes[2]", "$state"), 0,
	      "250 app.shop.order 41 41 'tea' 'tea' 12 '12.75' 2 1\n"
	      "251 app.shop.order 42 42 '\"milk\"' '\"milk\"' 0 '-0.5' 12 7\n");
	shows("process.mark(\"order\")", VALUES("$state$", "$sizes$", "$item$", "$arg1"), 0,
	      "250 process.mark(\"order\") 'paid' '[0, 1, 2]' '\"tea\"' 41\n"
	      "251 process.mark(\"order\") '7' '[10, 11, 12]' '\"\\\"milk\\\"\"' 42\n");
	shows("process.provider(\"s*\").mark(\"*\")", VALUES("$$vars", "$$name"), 0,
	      "250 process.provider(\"shop\").mark(\"order\") 'id=0x29 item=\"tea\" price=12.75 "
	      "sizes=[0x0, 0x1, 0x2] state=paid' 'order'\n"
	      "251 process.provider(\"shop\").mark(\"order\") 'id=0x2a item=\"\\\"milk\\\"\" "
	      "price=-0.5 "
	      "sizes=[0xa, 0xb, 0xc] state=0x7' 'order'\n");
}

static void threads_have_names_and_ids(void)
{
	shows("kernel.trace(\"sched_switch\")", none,
	      1ull << STANDARD_PID | 1ull << STANDARD_TID | 1ull << STANDARD_EXECNAME,
	      "100 kernel.trace(\"sched:sched_switch\") 0/0 swapper/2\n"
	      "700 kernel.trace(\"sched:sched_switch\") 7/7 web\n");
	shows("app.shop.order", none,
	      1ull << STANDARD_PID | 1ull << STANDARD_TID | 1ull << STANDARD_EXECNAME,
	      "250 app.shop.order 7/8 web\n251 app.shop.order 7/8 web\n");
}

static void missing_values_and_points_are_named_with_what_there_is(void)
{
	shows("app.shop.order", VALUES("$itme"), 0,
	      "the event has no $itme (did you mean `item`?)\n"
	      "  it has $id, $item, $price, $sizes, $state");
	shows("app.shop.order", VALUES("$sizes"), 0,
	      "$sizes is an array or structure\n"
	      "  $sizes[0] is an element, $sizes.x a member, $sizes$ all of it as text");
	shows("app.shop.oder", none, 0,
	      "the recording has no event shop:oder (did you mean `shop:order`?)\n"
	      "  duet record -e 'shop:oder' records it");
	shows("timer.profile", none, 0,
	      "the recording has no samples\n  duet record -k profile records them");
	shows("process.begin", none, 0,
	      "the recording has no begins and ends of processes\n"
	      "  duet record -k sched records them");
	shows("kernel.trace(\"sched_switch\")", VALUES("@cast(0, \"task_struct\")->pid"), 0,
	      "@cast reads memory, which a recording does not have");
	shows("netfilter.hook", none, 0, "");
}

/* ---------------------------------------------------------------- a recording that grows */

static char growing_path[128];

static void write_progress(unsigned number, uint64_t written_ns)
{
	char line[64];

	snprintf(line, sizeof line, "%u 1 1 1 1 %" PRIu64 "\n", number, written_ns);
	write_file(growing_path, ".duet/clock", line, strlen(line));
}

/* Returns the descriptor that holds the lock of a recorder. */
static int begin_growing(void)
{
	static const char metadata[] =
		"/* CTF 1.8 */\n" TYPES "trace { major = 1; minor = 8; byte_order = le; };\n"
		"env { domain = \"ust\"; hostname = \"h\"; };\n"
		"clock { name = monotonic; freq = 1000000000; offset = 0; };\n"
		"stream { id = 0; event.header := struct { u64 timestamp; u16 id; }; };\n";
	struct flock lock = { .l_type = F_WRLCK };
	char path[160];
	int fd;

	snprintf(growing_path, sizeof growing_path, "%s", make_directory());
	snprintf(path, sizeof path, "%s/.duet", growing_path);
	if (mkdir(path, 0700))
		exit(1);
	write_progress(1, 100000000);
	write_file(growing_path, "metadata", metadata, strlen(metadata));
	snprintf(path, sizeof path, "%s/.duet/clock", growing_path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock))
		exit(1);
	return fd;
}

static void end_growing(int fd)
{
	char path[160];

	close(fd);
	snprintf(path, sizeof path, "%s/.duet/clock", growing_path);
	unlink(path);
	snprintf(path, sizeof path, "%s/.duet", growing_path);
	rmdir(path);
	remove_directory(growing_path);
}

static void add_classes(int from, int to)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof path, "%s/metadata", growing_path);
	f = fopen(path, "a");
	for (int i = from; f && i < to; i++)
		fprintf(f, "event { name = \"shop:e%d\"; id = %d; stream_id = 0; };\n", i, i);
	if (!f || fclose(f))
		exit(1);
}

/* They move the table of classes, and the class of the last event with it. */
static void classes_that_come_without_events_disturb_no_script(void)
{
	const char *const paths[] = { app_path, growing_path };
	int fd = begin_growing(), n_events = 0;
	struct script_source_of *s;
	struct script_point *p;
	struct script_event e;
	struct bench b;

	bench_open(&b, paths, 2, true);
	ok(!script_parse_point(&p, &b.sources, source_of(&b, "app.shop.order"), &b.messages));
	ok(!b.world->ops->points(b.world, p, &b.found, &b.d));
	ok(!replay_source_open(&s, b.world, &b.program, &b.vm, &b.d));
	is(s->ops->start(s, &b.d), 0);
	while (s->ops->next(s, &e, &b.d) == 1)
		n_events++;
	is(n_events, 2);
	for (int i = 0; i < 8; i++) {
		add_classes(100 * i, 100 * (i + 1));
		write_progress((unsigned)i + 2, 200000000 + 1000 * (uint64_t)i);
		is(s->ops->next(s, &e, &b.d), 0);
		is(s->ops->next(s, &e, &b.d), 0);
	}
	s->ops->close(s);
	bench_close(&b);
	end_growing(fd);
}

int main(void)
{
	mallopt(M_PERTURB, 0xa5); /* what was freed is not read by chance */
	make_recordings();
	run(kernel_events_have_fields_by_both_names_and_members);
	run(system_calls_have_words_names_and_results);
	run(functions_of_programs_have_arguments_and_results);
	run(events_of_applications_have_their_fields);
	run(threads_have_names_and_ids);
	run(missing_values_and_points_are_named_with_what_there_is);
	run(classes_that_come_without_events_disturb_no_script);
	remove_directory(kernel_path);
	remove_directory(app_path);
	return test_status();
}
