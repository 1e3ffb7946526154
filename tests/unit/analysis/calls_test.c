/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/analysis/calls_test.c - calls read from batches equal a plain reference.
 *
 * Random call trees with recursion, unwinds, several stacks and calls that never return are
 * recorded (tests/lib/make_calls.h) and, beside that, kept as a list.  The list has every call with
 * its caller and its own time; the reader gets batches only.
 *
 * 	analysis_calls_test [TREES [SEED]]     runs longer by hand
 */
#include "analysis/calls/calls.h"
#include "lib/make_calls.h"
#include "test.h"

enum { FUNCTIONS = 40, MOST = 40000 };

struct known {
	struct fcalls_call call;
	uint64_t inner_ns;
};

struct tree {
	struct made m;
	struct known *calls; /* in the order of exits, by thread */
	uint32_t n;
	struct {
		uint32_t open[MADE_DEPTH]; /* function */
		uint64_t begin[MADE_DEPTH], inner_ns[MADE_DEPTH];
	} frames[MADE_THREADS][MADE_STACKS];
	uint64_t now;
	uint64_t state;
};

static char path[128];

static uint64_t draw(struct tree *t, uint64_t n)
{
	t->state ^= t->state << 13;
	t->state ^= t->state >> 7;
	t->state ^= t->state << 17;
	return t->state % n;
}

static uint64_t rounded(const struct tree *t, uint64_t time)
{
	return time >> t->m.shift << t->m.shift;
}

static void enter(struct tree *t, uint32_t thread, uint32_t function)
{
	struct made_thread *mt = &t->m.threads[thread];
	uint32_t depth = mt->now->depth;

	t->frames[thread][mt->stack].open[depth] = function;
	t->frames[thread][mt->stack].begin[depth] = rounded(t, t->now);
	t->frames[thread][mt->stack].inner_ns[depth] = 0;
	made_enter(&t->m, mt, function, t->now);
}

static void note_end(struct tree *t, uint32_t thread, uint32_t stack, uint32_t depth,
		     int64_t end_ns, uint8_t flags)
{
	struct known *k = &t->calls[t->n++];
	uint64_t begin_ns = t->frames[thread][stack].begin[depth], ns = (uint64_t)end_ns - begin_ns;

	k->call = (struct fcalls_call){
		.begin_ns = (int64_t)begin_ns,
		.end_ns = end_ns,
		.self_ns = ns - t->frames[thread][stack].inner_ns[depth],
		.function = t->frames[thread][stack].open[depth],
		.caller = depth ? t->frames[thread][stack].open[depth - 1] : 0,
		.thread = thread,
		.stack = stack,
		.depth = depth,
		.flags = flags,
	};
	for (uint32_t i = 0; i < depth; i++)
		k->call.is_recursive |= t->frames[thread][stack].open[i] == k->call.function;
	if (depth)
		t->frames[thread][stack].inner_ns[depth - 1] += ns;
}

static void leave(struct tree *t, uint32_t thread, int is_unwound)
{
	struct made_thread *mt = &t->m.threads[thread];

	note_end(t, thread, mt->stack, mt->now->depth - 1, (int64_t)rounded(t, t->now),
		 is_unwound ? FCALLS_UNWOUND : 0);
	made_leave(&t->m, mt, t->now, is_unwound);
}

/* One step of a thread: its depth wanders about. */
static void step(struct tree *t, uint32_t thread)
{
	struct made_thread *mt = &t->m.threads[thread];
	uint32_t depth;

	t->now += draw(t, 4) ? draw(t, 50) : draw(t, 100000);
	if (!draw(t, 100))
		made_switch(mt, (uint32_t)draw(t, MADE_STACKS));
	depth = mt->now->depth;
	if (!draw(t, 200) && depth > 3)
		for (uint32_t n = 1 + (uint32_t)draw(t, 3); n--;)
			leave(t, thread, 1);
	else if (!depth || (depth < 60 && draw(t, 20 + depth / 2) < 10))
		enter(t, thread, 1 + (uint32_t)(draw(t, 3) ? draw(t, 5) : draw(t, FUNCTIONS)));
	else
		leave(t, thread, 0);
}

/* All times of a recording end here: open calls last up to the last event. */
static void end_open_calls(struct tree *t, uint32_t thread, int64_t end_ns)
{
	struct made_thread *mt = &t->m.threads[thread];

	for (uint32_t s = 0; s < MADE_STACKS; s++)
		for (uint32_t depth = mt->stacks[s].depth; depth--;)
			note_end(t, thread, s, depth, end_ns, FCALLS_OPEN);
}

static void make_tree(struct tree *t, uint64_t seed, uint32_t n_threads, uint32_t n_steps)
{
	memset(t, 0, sizeof *t);
	t->state = seed * 2654435761u + 88172645463325252ull;
	t->now = 1000000;
	t->calls = calloc(n_steps + MOST, sizeof *t->calls);
	made_open(&t->m, path, FUNCTIONS);
	for (uint32_t i = 0; i < n_threads; i++)
		made_thread(&t->m, t->now)->limit = 30 + (uint32_t)draw(t, 7000);
	for (uint32_t i = 0; i < n_steps; i++)
		step(t, (uint32_t)draw(t, n_threads));
}

/* ---------------------------------------------------------------- the reader */

struct got {
	struct fcalls_call *calls;
	uint32_t n;
	struct fcalls *c;
};

static int keep(void *context, const struct fcalls_call *call)
{
	struct got *g = context;

	g->calls = realloc(g->calls, (g->n + 1) * sizeof *g->calls);
	g->calls[g->n++] = *call;
	return 0;
}

/* Threads are numbered by tid here. */
static int keep_each(void *context, const struct fcalls_call *call)
{
	struct got *g = context;
	struct fcalls_call copy = *call;

	copy.thread = (uint32_t)fcalls_thread(g->c, call->thread)->tid - MADE_PID;
	return keep(g, &copy);
}

/* f7 is 7. */
static uint32_t function_of(const struct fcalls *c, uint32_t number)
{
	return number ? (uint32_t)atoi(fcalls_function(c, number)->shown + 1) : 0;
}

static int by_place(const void *a, const void *b)
{
	const struct fcalls_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->self_ns < y->self_ns ? -1 : x->self_ns > y->self_ns;
}

static void sort(struct fcalls_call *calls, uint32_t n)
{
	if (n)
		qsort(calls, n, sizeof *calls, by_place);
}

static int is_equal(const struct fcalls_call *a, const struct fcalls_call *b, int has_flags)
{
	return a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && a->self_ns == b->self_ns &&
	       a->function == b->function && a->caller == b->caller && a->depth == b->depth &&
	       a->thread == b->thread && a->stack == b->stack &&
	       a->is_recursive == b->is_recursive && (!has_flags || a->flags == b->flags);
}

static void show(const char *what, const struct fcalls_call *c)
{
	printf("# %s thread %u stack %u depth %u f%u from f%u %lld..%lld self %llu flags %u rec "
	       "%d\n",
	       what, c->thread, c->stack, c->depth, c->function, c->caller, (long long)c->begin_ns,
	       (long long)c->end_ns, (unsigned long long)c->self_ns, c->flags, c->is_recursive);
}

/* The same calls, in any order. */
static void compare(const struct tree *t, struct got *g, int64_t epoch_ns)
{
	struct fcalls_call *want = calloc(t->n + (size_t)1, sizeof *want);

	for (uint32_t i = 0; i < t->n; i++)
		want[i] = t->calls[i].call;
	for (uint32_t i = 0; i < g->n; i++) {
		g->calls[i].begin_ns -= epoch_ns;
		g->calls[i].end_ns -= epoch_ns;
		g->calls[i].function = function_of(g->c, g->calls[i].function);
		g->calls[i].caller = function_of(g->c, g->calls[i].caller);
		g->calls[i].flags &= (uint8_t)~FCALLS_HEADLESS;
	}
	sort(want, t->n);
	sort(g->calls, g->n);
	is(g->n, t->n);
	for (uint32_t i = 0; i < t->n && i < g->n; i++)
		if (!is_equal(&want[i], &g->calls[i], 1)) {
			show("want", &want[i]);
			show("got ", &g->calls[i]);
			ok(!"the calls are equal");
			break;
		}
	free(want);
}

static struct trace *open_trace(void)
{
	const char *paths[] = { path };
	struct trace *t;
	struct diag d = { "" };

	if (trace_open(&t, paths, 1, NULL, &d)) {
		printf("# %s\n", d.text);
		exit(1);
	}
	return t;
}

static const struct fcalls_options all = { .range = { INT64_MIN, INT64_MAX } };

static struct fcalls *open_calls(struct trace *t)
{
	struct fcalls *c;
	struct diag d = { "" };

	if (fcalls_open(&c, t, &d)) {
		printf("# %s\n", d.text);
		exit(1);
	}
	return c;
}

/* A walk gives the same calls: each as an entry and an exit, properly nested. */
static void walk_calls(struct fcalls *c, struct got *g, int64_t *last_ns)
{
	struct fcalls_walk *w;
	struct fcalls_item item;
	struct diag d = { "" };
	uint64_t n_enters = 0, sum;
	int is_what, n_late = 0, n_split = 0;

	is(fcalls_walk_open(&w, c, &all, &d), 0);
	while ((is_what = fcalls_walk_next(w, &item, &d)) > 0) {
		n_late += item.time_ns < *last_ns;
		*last_ns = item.time_ns;
		n_enters += is_what == FCALLS_ENTER;
		if (is_what != FCALLS_LEAVE)
			continue;
		sum = 0;
		for (int i = 0; i < FCALLS_PARTS; i++)
			sum += item.total.ns[i];
		n_split += sum != (uint64_t)(item.end_ns - item.begin_ns);
		keep(g, &(struct fcalls_call){
				.begin_ns = item.begin_ns,
				.end_ns = item.end_ns,
				.self_ns = item.self_ns,
				.function = item.id,
				.caller = item.caller,
				.thread = (uint32_t)threads_at(fcalls_walk_pass(w)->threads,
							       item.thread)
						  ->tid -
					  MADE_PID,
				.stack = item.stack,
				.depth = item.depth,
				.flags = item.flags,
				.is_recursive = item.is_recursive,
			});
	}
	is(is_what, 0);
	is(n_enters, g->n);
	is(n_late, 0);
	is(n_split, 0);
	fcalls_walk_close(w);
}

static void check_report(const struct tree *t, struct fcalls *c)
{
	struct fcalls_report r;
	struct diag d = { "" };
	uint64_t calls[FUNCTIONS + 1] = { 0 }, self[FUNCTIONS + 1] = { 0 },
				   total[FUNCTIONS + 1] = { 0 };
	uint64_t longest = 0, edges = 0;

	is(fcalls_report_open(&r, c, &all, 3, &d), 0);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct fcalls_call *k = &t->calls[i].call;
		uint64_t ns = (uint64_t)(k->end_ns - k->begin_ns);

		calls[k->function]++;
		self[k->function] += k->self_ns;
		total[k->function] += k->is_recursive ? 0 : ns;
		longest = ns > longest ? ns : longest;
	}
	is(r.n_calls, t->n);
	for (uint32_t i = 0; i < r.n_rows; i++) {
		uint32_t f = function_of(c, r.rows[i].function);

		is(r.rows[i].calls, calls[f]);
		is(r.rows[i].self_ns, self[f]);
		is(r.rows[i].total_ns, total[f]);
		is(r.rows[i].time.n + r.rows[i].n_open, calls[f]);
	}
	for (uint32_t i = 0; i < r.n_edges; i++)
		edges += r.edges[i].calls;
	is(edges, t->n);
	if (t->n)
		is(r.slowest.at[0].duration_ns, longest);
	fcalls_report_close(&r);
}

static void check_tree(const struct tree *t, struct fcalls *c)
{
	struct fcalls_tree *tree, *callers;
	struct diag d = { "" };
	uint64_t calls = 0, self = 0, want = 0, up = 0, f3 = 0;

	is(fcalls_tree_open(&tree, c, &all, &d), 0);
	for (uint32_t i = 1; i < tree->n; i++) {
		calls += tree->at[i].calls;
		self += tree->at[i].self_ns;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		want += t->calls[i].call.self_ns;
		f3 += t->calls[i].call.function == 3;
	}
	is(calls, t->n);
	is(self, want);
	is(fcalls_tree_callers(&callers, tree, c, "made:f3", &d), 0);
	for (uint32_t i = callers->at[0].child; i; i = callers->at[i].next)
		up += callers->at[i].calls;
	is(up, f3);
	fcalls_tree_close(callers);
	fcalls_tree_close(tree);
}

static void check_all(const struct tree *t)
{
	struct trace *trace = open_trace();
	struct fcalls *c = open_calls(trace);
	struct got g = { .c = c };
	struct diag d = { "" };
	struct fcalls_losses l;
	int64_t last_ns = INT64_MIN;

	is(fcalls_each(c, &all, keep_each, &g, &d), 0);
	compare(t, &g, 0);
	g.n = 0;
	walk_calls(c, &g, &last_ns);
	compare(t, &g, 0);
	check_report(t, c);
	check_tree(t, c);
	fcalls_losses(c, &l);
	is(l.n_damaged + l.n_torn + l.n_misnested + l.n_crossings + l.lost_batches, 0);
	free(g.calls);
	fcalls_close(c);
	trace_close(trace);
}

/* ---------------------------------------------------------------- tests */

static int n_trees = 20;
static uint64_t seed = 1;

static int64_t end_of_recording(struct tree *t)
{
	return (int64_t)t->m.packet_end;
}

static void calls_equal_the_reference(void)
{
	for (int i = 0; i < n_trees; i++) {
		struct tree *t = malloc(sizeof *t);
		uint32_t n_threads = 1 + (uint32_t)i % 4;

		make_tree(t, seed + (uint64_t)i, n_threads, 2000 + 1000 * ((uint32_t)i % 20));
		/* all return, then each thread's batch ends */
		for (uint32_t k = 0; k < n_threads; k++)
			for (uint32_t s = 0; s < MADE_STACKS; s++) {
				made_switch(&t->m.threads[k], s);
				while (t->m.threads[k].now->depth)
					leave(t, k, 0);
			}
		made_close(&t->m);
		check_all(t);
		free(t->calls);
		free(t);
		io_remove_tree(path);
		mkdir(path, 0700);
	}
}

static void calls_that_never_return_are_open(void)
{
	for (int i = 0; i < n_trees; i++) {
		struct tree *t = malloc(sizeof *t);
		uint32_t n_threads = 1 + (uint32_t)i % 3;

		make_tree(t, seed + 1000 + (uint64_t)i, n_threads, 3000);
		/* the last event is not before any time of the recording */
		for (uint32_t k = 0; k < n_threads; k++)
			made_end_batch(&t->m, &t->m.threads[k], t->now >> t->m.shift, 0);
		for (uint32_t k = 0; k < n_threads; k++)
			end_open_calls(t, k, end_of_recording(t));
		made_close(&t->m);
		check_all(t);
		free(t->calls);
		free(t);
		io_remove_tree(path);
		mkdir(path, 0700);
	}
}

/* ---------------------------------------------------------------- losses and damage */

static uint32_t n_dropped;
static uint64_t dice = 1;

static int drop_some(struct made *m, struct made_thread *t)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	if (t->sequence && dice >> 60 == 0) {
		n_dropped++;
		return 1;
	}
	(void)m;
	return 0;
}

/* Whatever is recorded, a walk nests and has the calls that fcalls_each has. */
static void check_order(struct fcalls_losses *l)
{
	struct trace *trace = open_trace();
	struct fcalls *c = open_calls(trace);
	struct fcalls_tree *tree;
	struct fcalls_report r;
	struct got g = { .c = c }, walked = { .c = c };
	struct diag d = { "" };
	int64_t last_ns = INT64_MIN;

	is(fcalls_each(c, &all, keep, &g, &d), 0);
	walk_calls(c, &walked, &last_ns);
	is(fcalls_report_open(&r, c, &all, 3, &d), 0);
	is(r.n_calls, g.n);
	is(fcalls_tree_open(&tree, c, &all, &d), 0);
	fcalls_losses(c, l);
	fcalls_tree_close(tree);
	fcalls_report_close(&r);
	free(g.calls);
	free(walked.calls);
	fcalls_close(c);
	trace_close(trace);
}

static void lost_batches_are_counted_and_calls_still_nest(void)
{
	for (int i = 0; i < n_trees; i++) {
		struct tree *t = malloc(sizeof *t);
		struct fcalls_losses l;

		n_dropped = 0;
		memset(t, 0, sizeof *t);
		t->state = seed + 77 + (uint64_t)i;
		t->now = 1000000;
		t->calls = calloc(MOST, sizeof *t->calls);
		made_open(&t->m, path, FUNCTIONS);
		t->m.drops = drop_some;
		made_thread(&t->m, t->now)->limit = 40 + (uint32_t)draw(t, 500);
		for (int n = 0; n < 20000; n++)
			step(t, 0);
		t->m.drops = NULL; /* a gap at the end would not show */
		made_end_batch(&t->m, &t->m.threads[0], t->now >> t->m.shift, 0);
		made_close(&t->m);
		check_order(&l);
		is(l.lost_batches, n_dropped);
		is(l.n_damaged + l.n_torn, 0);
		free(t->calls);
		free(t);
		io_remove_tree(path);
		mkdir(path, 0700);
	}
}

/* Changes some bytes of a file. */
static void damage(const char *name, size_t from, uint32_t n)
{
	char file[256];
	struct stat st;
	uint8_t byte;
	int fd;

	snprintf(file, sizeof file, "%s/%s", path, name);
	fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		exit(1);
	for (; n-- && (size_t)st.st_size > from;) {
		off_t at;

		dice = dice * 6364136223846793005u + 1442695040888963407u;
		at = (off_t)(from + (dice >> 20) % ((size_t)st.st_size - from));
		byte = (uint8_t)(dice >> 8);
		if (pwrite(fd, &byte, 1, at) != 1)
			exit(1);
	}
	close(fd);
}

static void damaged_recordings_are_read_to_their_end(void)
{
	for (int i = 0; i < n_trees * 3; i++) {
		struct tree *t = malloc(sizeof *t);
		struct fcalls_losses l;

		make_tree(t, seed + 500 + (uint64_t)i, 2, 3000);
		made_close(&t->m);
		damage("ust/uid/0/64-bit/calls_0", 100, 1 + (uint32_t)i % 40);
		if (i % 3 == 1)
			damage(".duet/calls/4242-1", 0, 3000);
		if (i % 3 == 2)
			damage(".duet/plans/abcd000000000000000000000000000000000000", 8, 30);
		check_order(&l);
		free(t->calls);
		free(t);
		io_remove_tree(path);
		mkdir(path, 0700);
	}
}

int main(int argc, char **argv)
{
	n_trees = argc > 1 ? atoi(argv[1]) : n_trees;
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
	snprintf(path, sizeof path, "%s/duet-calls-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(path))
		return 1;
	run(calls_equal_the_reference);
	run(calls_that_never_return_are_open);
	run(lost_batches_are_counted_and_calls_still_nest);
	run(damaged_recordings_are_read_to_their_end);
	io_remove_tree(path);
	return test_status();
}
