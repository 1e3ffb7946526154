/* SPDX-License-Identifier: MIT */
/*
 * tests/live/record/programs/probes.h - own probes, in C and in C++: each function is a sentence it proves.
 *
 * usage: program PLUGIN      Its events are counted; run under `duet record` it prints how many are
 * expected.
 */
#include <duet/duet.h>
#include <duet/probe.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(condition) check((condition) ? 1 : 0, #condition, __LINE__)

DUET_EVENT(probe, plain);
DUET_EVENT(probe, order, (i32, id), (str, item));
DUET_EVENT(probe, kinds, (i8, small), (u16, medium), (f32, half), (f64, whole),
	   (array(u32, 3), three), (seq(i16), some), (text(8), name), (str, last));
DUET_EVENT(probe, inner, (i32, n));
DUET_EVENT(probe, busy, (i32, thread), (i64, n));

enum { THREADS = 4, BUSY = 20000 };

static int failures;

static void check(int holds, const char *what, int line)
{
	if (holds)
		return;
	__atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
	printf("not ok: line %d: %s\n", line, what);
	fflush(stdout);
}

static void count(const struct duet_probe_event *e, void *arg)
{
	(void)e;
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
}

static void without_one_it_is_not_called(void)
{
	int n = 0, probe;

	trace_probe_plain();
	probe = duet_probe_attach("probe:plain", count, &n);
	OK(probe > 0);
	trace_probe_plain();
	trace_probe_inner(1);
	trace_probe_plain();
	OK(duet_probe_detach(probe) == 0);
	trace_probe_plain();
	OK(n == 2);
	OK(duet_probe_detach(probe) == -ENOENT);
	OK(!trace_probe_inner_enabled() || getenv("DUET_SESSION"));
}

static void wrong_arguments_are_refused(void)
{
	char longer[300];
	int n = 0, probes[40], most = 0;

	memset(longer, 'a', sizeof longer);
	longer[sizeof longer - 1] = 0;
	OK(duet_probe_attach("", count, &n) == -EINVAL);
	OK(duet_probe_attach(longer, count, &n) == -EINVAL);
	OK(duet_probe_attach("probe", NULL, &n) == -EINVAL);
	OK(duet_probe_detach(0) == -ENOENT && duet_probe_detach(-1) == -ENOENT);
	while (most < 40 && (probes[most] = duet_probe_attach("probe:plain", count, &n)) > 0)
		most++;
	OK(most == 32 && probes[most] == -ENOSPC);
	trace_probe_plain();
	OK(n == 32);
	while (most--)
		OK(duet_probe_detach(probes[most]) == 0);
}

static void on_kinds(const struct duet_probe_event *e, void *arg)
{
	struct duet_probe_value v;
	int *calls = (int *)arg;
	uint32_t three;
	int16_t some;

	++*calls;
	OK(e->size == sizeof *e && !strcmp(e->name, "probe:kinds") && e->level == DUET_DEBUG_LINE &&
	   e->ip);
	OK(!duet_probe_field(e, "small", &v) && v.kind == DUET_PROBE_SIGNED && v.integer == -5);
	OK(!duet_probe_field(e, "medium", &v) && v.kind == DUET_PROBE_UNSIGNED &&
	   v.number == 65535);
	OK(!duet_probe_field(e, "half", &v) && v.kind == DUET_PROBE_REAL && v.real == 0.5);
	OK(!duet_probe_field(e, "whole", &v) && v.kind == DUET_PROBE_REAL && v.real == -2.25);
	OK(!duet_probe_field(e, "three", &v) && v.kind == DUET_PROBE_MANY && v.count == 3 &&
	   v.element_size == 4);
	memcpy(&three, v.bytes + 8, 4);
	OK(three == 9);
	OK(!duet_probe_field(e, "three[1]", &v) && v.number == 8);
	OK(duet_probe_field(e, "three[3]", &v) == -ENOENT &&
	   duet_probe_field(e, "three[", &v) == -ENOENT);
	OK(!duet_probe_field(e, "some", &v) && v.count == 2 && v.element_size == 2);
	memcpy(&some, v.bytes + 2, 2);
	OK(some == -2);
	OK(!duet_probe_field(e, "some[0]", &v) && v.integer == -1);
	OK(!duet_probe_field(e, "name", &v) && v.kind == DUET_PROBE_TEXT && v.count == 3 &&
	   !memcmp(v.bytes, "tea", 3));
	OK(!duet_probe_field(e, "last", &v) && v.kind == DUET_PROBE_TEXT && v.count == 4 &&
	   !strcmp(v.bytes, "last"));
	OK(duet_probe_field(e, "none", &v) == -ENOENT && duet_probe_field(e, "", &v) == -ENOENT);
	OK(duet_probe_field(e, "last[0]", &v) == -ENOENT);
}

static void fields_have_names_and_values(void)
{
	static const uint32_t three[3] = { 7, 8, 9 };
	static const int16_t some[2] = { -1, -2 };
	int calls = 0, probe = duet_probe_attach("kinds", on_kinds, &calls);

	trace_probe_kinds(-5, 65535, 0.5f, -2.25, three, some, 2, "tea", "last");
	OK(duet_probe_detach(probe) == 0 && calls == 1);
}

struct seen {
	int calls;
	size_t size;
	long long id;
	char end[8];
};

static void on_order(const struct duet_probe_event *e, void *arg)
{
	struct seen *s = (struct seen *)arg;
	struct duet_probe_value v;

	s->calls++;
	if (!duet_probe_field(e, "id", &v))
		s->id = v.integer;
	if (!duet_probe_field(e, "item", &v)) {
		s->size = v.count;
		snprintf(s->end, sizeof s->end, "%s", v.bytes + (v.count < 3 ? 0 : v.count - 3));
	}
}

static void short_long_and_marked_events_are_whole(void)
{
	static char text[100000];
	struct seen s = { 0, 0, 0, "" };
	int probe = duet_probe_attach("probe", on_order, &s);

	memset(text, 'x', sizeof text - 4);
	memcpy(text + sizeof text - 4, "end", 4);
	trace_probe_order(1, "short");
	OK(s.calls == 1 && s.id == 1 && s.size == 5 && !strcmp(s.end, "ort"));
	trace_probe_order(2, text + sizeof text - 3000);
	OK(s.calls == 2 && s.id == 2 && s.size == 2999 && !strcmp(s.end, "end"));
	trace_mark(probe, marked, "id %d item %s", 3, "mark");
	OK(s.calls == 3 && s.id == 3 && s.size == 4 && !strcmp(s.end, "ark"));
	trace_mark(probe, marked, "id %d item %s", 4, text + sizeof text - 2000);
	OK(s.calls == 4 && s.id == 4 && s.size == 1999 && !strcmp(s.end, "end"));
	OK(duet_probe_detach(probe) == 0);
}

static void later_libraries_are_seen(const char *plugin)
{
	int n = 0, probe = duet_probe_attach("plugin:*", count, &n);
	void (*run)(int);
	void *l, *p;

	OK(probe > 0);
	for (int i = 1; i <= 3; i++) {
		l = dlopen(plugin, RTLD_NOW);
		p = l ? dlsym(l, "plugin_run") : NULL;
		OK(p != NULL);
		if (!p)
			return;
		memcpy(&run, &p, sizeof run);
		run(i);
		OK(n == i);
		dlclose(l);
	}
	OK(duet_probe_detach(probe) == 0);
}

static int own_number;

static void recurse(const struct duet_probe_event *e, void *arg)
{
	int *calls = (int *)arg;

	(void)e;
	++*calls;
	errno = 7;
	trace_probe_inner(*calls);
	trace_probe_order(*calls, "from a probe");
	OK(errno == 7);
}

static void remove_itself(const struct duet_probe_event *e, void *arg)
{
	(void)e;
	++*(int *)arg;
	OK(duet_probe_detach(own_number) == -EINPROGRESS);
}

static void a_probe_does_not_recurse(void)
{
	uint64_t before = duet_probe_missed();
	int calls = 0, probe = duet_probe_attach("probe", recurse, &calls);

	errno = 5;
	trace_probe_inner(0);
	OK(errno == 5 && calls == 1 && duet_probe_missed() == before + 2);
	OK(duet_probe_detach(probe) == 0);
	calls = 0;
	own_number = duet_probe_attach("probe:inner", remove_itself, &calls);
	trace_probe_inner(0);
	trace_probe_inner(0);
	OK(calls == 1 && duet_probe_detach(own_number) == -ENOENT);
}

static int handler_calls;

static void on_signal(int sig)
{
	(void)sig;
	trace_probe_inner(1000);
}

static void a_handler_calls_it_too(void)
{
	int probe = duet_probe_attach("probe:inner", count, &handler_calls);

	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	OK(handler_calls == 1 && duet_probe_detach(probe) == 0);
}

static void a_child_has_them_and_its_own(void)
{
	int n = 0, more = 0, status, probe = duet_probe_attach("probe:plain", count, &n), other;
	pid_t pid = fork();

	if (!pid) {
		trace_probe_plain();
		OK(n == 1);
		other = duet_probe_attach("probe:plain", count, &more);
		trace_probe_plain();
		OK(n == 2 && more == 1 && duet_probe_detach(probe) == 0);
		trace_probe_plain();
		OK(n == 2 && more == 2 && duet_probe_detach(other) == 0);
		_exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	OK(status == 0);
	trace_probe_plain();
	OK(n == 1);
	/* One that shares the page, and has no probe when its parent gets one. */
	OK(duet_probe_detach(probe) == 0);
	n = 0;
	int go[2];
	OK(pipe(go) == 0);
	pid = fork();
	if (!pid) {
		char c;

		OK(read(go[0], &c, 1) == 1);
		trace_probe_plain();
		OK(n == 0);
		_exit(failures != 0);
	}
	probe = duet_probe_attach("probe:plain", count, &n);
	OK(write(go[1], "", 1) == 1);
	waitpid(pid, &status, 0);
	trace_probe_plain();
	OK(status == 0 && n == 1 && duet_probe_detach(probe) == 0);
	close(go[0]);
	close(go[1]);
}

/* An argument that is freed when its probe is detached: ASan reports a late use. */
struct burden {
	long long sum;
	int magic;
};

static int running;

static void add(const struct duet_probe_event *e, void *arg)
{
	struct burden *b = (struct burden *)arg;
	struct duet_probe_value v;

	OK(b->magic == 4711);
	if (!duet_probe_field(e, "n", &v))
		__atomic_add_fetch(&b->sum, v.integer, __ATOMIC_RELAXED);
}

static void *attach_and_detach(void *arg)
{
	long times = 0;

	(void)arg;
	do {
		struct burden *b = (struct burden *)calloc(1, sizeof *b);
		int probe;

		b->magic = 4711;
		probe = duet_probe_attach("probe:busy", add, b);
		OK(probe > 0);
		sched_yield();
		OK(duet_probe_detach(probe) == 0);
		b->magic = 0;
		free(b);
		times++;
	} while (__atomic_load_n(&running, __ATOMIC_SEQ_CST));
	return (void *)times;
}

static void *be_busy(void *arg)
{
	for (int i = 0; i < BUSY; i++)
		trace_probe_busy((int)(long)arg, i);
	return NULL;
}

static void probes_come_and_go_while_threads_run(void)
{
	struct burden whole = { 0, 4711 };
	int probe = duet_probe_attach("probe:busy", add, &whole);
	pthread_t id[THREADS], changing[2];
	void *times;

	running = 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&changing[i], NULL, attach_and_detach, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&id[i], NULL, be_busy, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
	__atomic_store_n(&running, 0, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++) {
		pthread_join(changing[i], &times);
		OK((long)times > 0);
	}
	OK(duet_probe_detach(probe) == 0);
	OK(whole.sum ==
	   (long long)BUSY * (BUSY - 1) / 2 * THREADS); /* the one that stays misses nothing */
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	without_one_it_is_not_called();
	wrong_arguments_are_refused();
	fields_have_names_and_values();
	short_long_and_marked_events_are_whole();
	later_libraries_are_seen(argv[1]);
	a_probe_does_not_recurse();
	a_handler_calls_it_too();
	a_child_has_them_and_its_own();
	probes_come_and_go_while_threads_run();
	printf("%d failures\n", failures);
	return failures != 0;
}
