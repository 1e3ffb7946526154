/* SPDX-License-Identifier: MIT */
/* unit/ui/query_test.c - rows, next, search, wakes and items of a made index; hostile names, parameters. */
#include "test.h"

#include "made_index.h"
#include "ui/index/track.h"

static const char evil[] =
	"</script><img src=x onerror=alert(1)>\"\\\x01\xff\xfe\xc0\x80 \xe2\x80\xa8";

/* A process with two threads; calls, spans and states of the first; events of the second. */
static struct ui_index *make(void)
{
	struct ui_index *x = made_index(10000);
	uint32_t process = made_row(x, UI_ROW_PROCESS, 0, "web", 100, -1);
	uint32_t a = made_row(x, UI_ROW_THREAD, process + 1, "worker-1", 100, 101);
	uint32_t b = made_row(x, UI_ROW_THREAD, process + 1, evil, 100, 102);
	uint32_t states = made_track(x, a, UI_TRACK_STATES, 0);
	uint32_t calls = made_track(x, a, UI_TRACK_SYSCALLS, 0);
	uint32_t outer = made_track(x, a, UI_TRACK_SPANS, 0);
	uint32_t inner = made_track(x, a, UI_TRACK_SPANS, 1);
	uint32_t events = made_track(x, b, UI_TRACK_EVENTS, 0);
	const struct ui_wake wake = { .time_ns = 600, .runs_ns = 650, .waker = b + 1, .woken = a };

	track_add(&x->tracks[states], 0, 300, UI_USER, 0);
	track_add(&x->tracks[states], 300, 400, UI_KERNEL, 0);
	track_add(&x->tracks[states], 400, 600, UI_BLOCKED, 0);
	track_add(&x->tracks[states], 600, 650, UI_RUNNABLE, 0);
	track_add(&x->tracks[states], 650, 1000, UI_USER, 0);
	track_add(&x->tracks[calls], 300, 700, made_name(x, "fsync"), 0);
	track_add(&x->tracks[calls], 800, 810, made_name(x, "futex"), -11);
	track_add(&x->tracks[calls], 900, 920, made_name(x, "fsync"), 0);
	track_add(&x->tracks[outer], 100, 950, made_name(x, "shop:order"), 0);
	track_add(&x->tracks[inner], 100, 200, made_name(x, "shop:pay"), 0);
	track_add(&x->tracks[inner], 300, 750, made_name(x, "shop:log"), 0);
	track_add(&x->tracks[events], 600, 600, made_name(x, "shop:signal"), 0);
	track_add(&x->tracks[events], 600, 600, made_name(x, "Shop"), 0);
	track_add(&x->tracks[events], 700, 700, made_name(x, evil), 0);
	index_add_wake(x, &wake);
	return x;
}

static void answer_is(struct ui_index *x, const char *request, const char *want)
{
	int status;
	char *got = ask_made(x, request, &status);

	is(status, 200);
	is_text(got, want);
	free(got);
}

static void answer_has(struct ui_index *x, const char *request, const char *want)
{
	int status;
	char *got = ask_made(x, request, &status);

	is(status, 200);
	if (!ok(got && strstr(got, want)))
		printf("# %s\n# has no %s\n# %s\n", request, want, got);
	free(got);
}

static void is_refused(struct ui_index *x, const char *request)
{
	int status;
	char *got = ask_made(x, request, &status);

	if (!ok((status == 400 || status == 404) && got && !strncmp(got, "{\"error\":\"", 10)))
		printf("# %s: %d %s\n", request, status, got);
	free(got);
}

/* ---------------------------------------------------------------- next */

static void items_of_a_row_follow_each_other_by_time(void)
{
	struct ui_index *x = make();

	answer_is(x, "/api/next?row=1&at=100",
		  "{\"id\":\"1.0\",\"from\":300,\"to\":700,\"row\":1,\"kind\":\"syscalls\","
		  "\"name\":\"fsync\"}");
	answer_has(x, "/api/next?row=1&at=300", "\"id\":\"1.1\"");
	answer_has(x, "/api/next?row=1&at=299&direction=-1", "\"id\":\"3.0\"");
	answer_has(x, "/api/next?row=1&at=100000&direction=-1", "\"id\":\"1.2\"");
	answer_is(x, "/api/next?row=1&at=900", "{}");
	answer_is(x, "/api/next?row=1&at=100&direction=-1", "{}");
	answer_is(x, "/api/next?row=0&at=0", "{}");
	ui_index_close(x);
}

static void each_item_is_met_once_in_both_directions(void)
{
	static const char *const order[] = { "2.0", "3.0", "1.0", "3.1", "1.1", "1.2" };
	struct ui_index *x = make();
	char request[64], want[64];

	for (int i = 0; i < 5; i++) {
		snprintf(request, sizeof request, "/api/next?row=1&id=%s", order[i]);
		snprintf(want, sizeof want, "\"id\":\"%s\"", order[i + 1]);
		answer_has(x, request, want);
		snprintf(request, sizeof request, "/api/next?row=1&direction=-1&id=%s",
			 order[i + 1]);
		snprintf(want, sizeof want, "\"id\":\"%s\"", order[i]);
		answer_has(x, request, want);
	}
	answer_is(x, "/api/next?row=1&id=1.2", "{}");
	answer_is(x, "/api/next?row=1&id=2.0&direction=-1", "{}");
	answer_has(x, "/api/next?row=2&id=4.0", "\"id\":\"4.1\"");
	answer_has(x, "/api/next?row=2&id=4.1&direction=-1", "\"id\":\"4.0\"");
	ui_index_close(x);
}

static void an_interval_is_found_by_its_time(void)
{
	struct ui_index *x = make();

	answer_has(x, "/api/next?track=0&direction=0&at=450", "\"id\":\"0.2\"");
	answer_has(x, "/api/next?track=0&direction=0&at=600", "\"name\":\"runnable\"");
	answer_is(x, "/api/next?track=1&direction=0&at=750", "{}");
	answer_is(x, "/api/next?track=1&direction=0&at=5000", "{}");
	answer_has(x, "/api/next?track=4&direction=0&at=640", "\"id\":\"4.1\"");
	answer_has(x, "/api/next?track=4&direction=0&at=660", "\"id\":\"4.2\"");
	answer_has(x, "/api/next?track=4&direction=0&at=99999", "\"id\":\"4.2\"");
	answer_has(x, "/api/next?track=0&direction=1&at=450", "\"id\":\"0.3\"");
	answer_has(x, "/api/next?track=0&direction=-1&at=450", "\"id\":\"0.2\"");
	ui_index_close(x);
}

/* ---------------------------------------------------------------- search */

static void the_best_names_come_first(void)
{
	struct ui_index *x = make();

	answer_is(
		x, "/api/search?text=SHOP&limit=2&at=600",
		"{\"rows\":[],\"names\":[{\"name\":9,\"text\":\"Shop\",\"n\":1},"
		"{\"name\":5,\"text\":\"shop:order\",\"n\":1}],\"items\":["
		"{\"id\":\"2.0\",\"row\":1,\"kind\":\"spans\",\"name\":5,\"from\":100,\"to\":950},"
		"{\"id\":\"4.1\",\"row\":2,\"kind\":\"events\",\"name\":9,\"from\":600,"
		"\"to\":600}],\"more\":true}");
	/* A word's begin is better than its middle, and a frequent name than a rare one. */
	answer_has(x, "/api/search?text=s", "\"names\":[{\"name\":5,\"text\":\"shop:order\"");
	answer_has(x, "/api/search?text=f",
		   "\"names\":[{\"name\":3,\"text\":\"fsync\",\"n\":2},{\"name\":4,");
	answer_has(x, "/api/search?text=p",
		   "\"names\":[{\"name\":6,\"text\":\"shop:pay\",\"n\":1},");
	answer_has(x, "/api/search?text=fsync&at=880",
		   "\"items\":[{\"id\":\"1.0\",\"row\":1,\"kind\":\"syscalls\",\"name\":3,"
		   "\"from\":300,\"to\":700},{\"id\":\"1.2\"");
	answer_has(x, "/api/search?text=fsync&at=880&limit=1", "\"items\":[{\"id\":\"1.2\"");
	ui_index_close(x);
}

static void rows_are_found_by_name_and_number(void)
{
	struct ui_index *x = make();

	answer_is(
		x, "/api/search?text=102",
		"{\"rows\":[{\"row\":2,\"name\":\"\\u003c/script>\\u003cimg src=x "
		"onerror=alert(1)>\\\"\\\\\\u0001\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
		"\xe2\x80\xa8\",\"kind\":\"thread\"}],\"names\":[],\"items\":[],\"more\":false}");
	answer_has(x, "/api/search?text=100", "\"kind\":\"process\"");
	answer_has(x, "/api/search?text=ORKER", "\"name\":\"worker-1\"");
	answer_is(x, "/api/search?text=", "{\"rows\":[],\"names\":[],\"items\":[],\"more\":false}");
	ui_index_close(x);
}

/* ---------------------------------------------------------------- wakes, items */

static void wakeups_are_those_of_the_thread_and_by_it(void)
{
	struct ui_index *x = make();

	answer_is(x, "/api/wakes?row=1",
		  "{\"of\":[{\"at\":600,\"runs\":650,\"waker\":2,\"woken\":1}],\"by\":[],"
		  "\"more\":false}");
	answer_has(x, "/api/wakes?row=2", "\"of\":[],\"by\":[{\"at\":600");
	answer_has(x, "/api/wakes?row=1&from=601&to=700", "\"of\":[],\"by\":[]");
	ui_index_close(x);
}

static void an_item_adds_up_and_says_what_it_waited_for(void)
{
	struct ui_index *x = make();

	answer_has(x, "/api/item?id=1.0",
		   "\"sums\":{\"user\":50,\"kernel\":100,\"irq\":0,\"preempted\":0,\"runnable\":50,"
		   "\"blocked\":200,\"unknown\":0},\"waits\":[{\"id\":\"0.2\",\"from\":400,"
		   "\"to\":600,\"call\":\"fsync\",\"call_id\":\"1.0\",\"waker\":2}],"
		   "\"around\":[{\"id\":\"3.1\",");
	answer_has(x, "/api/item?id=1.0",
		   "\"rank\":{\"n\":1,\"of\":2,\"p50\":20,\"p99\":400,\"least\":20,"
		   "\"greatest\":400}");
	answer_has(x, "/api/item?id=1.2", "\"rank\":{\"n\":2,\"of\":2,");
	answer_has(
		x, "/api/item?id=0.2",
		"\"state\":\"blocked\",\"sums\":{\"user\":0,\"kernel\":0,\"irq\":0,\"preempted\":0,"
		"\"runnable\":0,\"blocked\":200,\"unknown\":0},\"woken\":{\"at\":600,"
		"\"runs\":650,\"waker\":2}");
	answer_has(x, "/api/item?id=0.3", "\"woken\":{\"at\":600");
	answer_has(x, "/api/item?id=0.2", "\"around\":[{\"id\":\"1.0\"");
	answer_has(x, "/api/item?id=4.0", "\"next\":{\"id\":\"4.1\"");
	/* There is no recording: the answer has the index's part, and a note. */
	answer_has(x, "/api/item?id=4.2", "\"notes\":[\"the recording cannot be read again: ");
	ui_index_close(x);
}

/* ---------------------------------------------------------------- hostile */

static void hostile_names_are_json_strings(void)
{
	struct ui_index *x = make();
	static const char *const requests[] = { "/api/recording", "/api/search?text=script",
						"/api/item?id=4.2", "/api/next?row=2&at=650" };

	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		int status;
		char *got = ask_made(x, requests[i], &status);
		size_t n = strlen(got);

		is(status, 200);
		ok(!strchr(got, '<') && !strchr(got, 1));
		for (size_t at = 0, size; at < n; at += size ? size : n) {
			size = text_utf8_length(got + at, n - at);
			ok(size);
		}
		free(got);
	}
	ui_index_close(x);
}

static void hostile_parameters_are_refused(void)
{
	static const char *const requests[] = {
		"/api/picture?rows=1&width=0",
		"/api/picture?rows=1&width=-1",
		"/api/picture?rows=1&width=1000000000",
		"/api/picture?rows=1&width=99999999999999999999",
		"/api/picture?rows=1&width=1e3",
		"/api/picture?rows=1&width=",
		"/api/picture?rows=1&width= 5",
		"/api/picture?rows=1&width=5&width=5",
		"/api/picture?rows=3",
		"/api/picture?rows=4294967296",
		"/api/picture?rows=-1",
		"/api/picture?rows=1,,2",
		"/api/picture?rows=1,",
		"/api/picture?rows=a",
		"/api/picture?rows=1&rows=2",
		"/api/picture?rows=1&from=5&to=4",
		"/api/picture?rows=1&from=-9223372036854775808&to=9223372036854775807",
		"/api/picture?rows=1&from=0x10",
		"/api/overview?width=0",
		"/api/overview?width=1000000",
		"/api/next",
		"/api/next?row=7",
		"/api/next?row=1&direction=2",
		"/api/next?row=1&direction=0",
		"/api/next?track=99",
		"/api/next?row=1&id=0.99",
		"/api/next?row=1&id=1",
		"/api/search?text=a&limit=0",
		"/api/search?text=a&limit=201",
		"/api/search?text=a&text=b",
		"/api/wakes",
		"/api/wakes?row=1&limit=99999999",
		"/api/item",
		"/api/item?id=",
		"/api/item?id=0",
		"/api/item?id=0.",
		"/api/item?id=.0",
		"/api/item?id=0.0.0",
		"/api/item?id=-1.0",
		"/api/item?id=0.4294967296",
		"/api/item?id=4294967296.0",
		"/api/item?id=0.5",
		"/api/item?id=%00",
		"/api/recording?since=-1",
		"/api/recording?since=x",
	};
	char long_text[512] = "/api/search?text=";
	struct ui_index *x = make();

	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
		is_refused(x, requests[i]);
	memset(long_text + strlen(long_text), 'a', 400);
	is_refused(x, long_text);
	ui_index_close(x);
}

static void extreme_times_are_answered(void)
{
	struct ui_index *x = make();
	static const char *const requests[] = {
		"/api/"
		"picture?rows=0,1,2&from=-1152921504606846976&to=1152921504606846976&width=20000",
		"/api/picture?rows=1,1,1,1&from=500&to=500&width=20000",
		"/api/picture?rows=1&from=1152921504606846976&to=1152921504606846976",
		"/api/picture?rows=1&from=-1000&to=-900&width=7",
		"/api/picture?rows=&width=5",
		"/api/picture",
		"/api/next?row=1&at=-1152921504606846976",
		"/api/next?row=1&at=1152921504606846976&direction=-1",
		"/api/search?text=f&at=-1152921504606846976",
		"/api/wakes?row=0",
		"/api/overview?width=1",
		"/api/overview?width=4000",
	};

	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		int status;
		char *got = ask_made(x, requests[i], &status);

		if (!ok(status == 200 && got && *got == '{'))
			printf("# %s: %d %s\n", requests[i], status, got);
		free(got);
	}
	ui_index_close(x);
}

static void the_overview_counts_all_items(void)
{
	struct ui_index *x = make();
	uint32_t cpu = made_row(x, UI_ROW_CPU, 0, "CPU 0", -1, -1);
	uint32_t running = made_track(x, cpu, UI_TRACK_RUNNING, 0);
	const struct ui_gap gap = { 2000, 3000, 7, 0, 0 };

	track_add(&x->tracks[running], 0, 500, 1, 0);
	track_add(&x->tracks[running], 1000, 2000, 1, 0);
	index_add_gap(x, &gap);
	answer_is(x, "/api/overview?width=10",
		  "{\"from\":0,\"to\":10000,\"width\":10,\"cpu\":[128,255,0,0,0,0,0,0,0,0],"
		  "\"events\":[9,0,0,0,0,0,0,0,0,0],\"gaps\":[[2000,3000,7,0]]}");
	ui_index_close(x);
}

static void a_server_without_a_recording_says_so(void)
{
	for (int i = 0; i < ui_query_n_routes; i++) {
		const struct ui_subject s = { 0 };
		struct ui_request q = { .method = "GET", .path = "", .body = "" };
		struct ui_answer a = { .status = 200, .body_fd = -1 };

		ui_query_routes[i].answer(&s, &q, &a);
		ok(a.status >= 400 && a.status < 500 && a.body.size);
		text_fini(&a.body);
	}
}

int main(void)
{
	run(items_of_a_row_follow_each_other_by_time);
	run(each_item_is_met_once_in_both_directions);
	run(an_interval_is_found_by_its_time);
	run(the_best_names_come_first);
	run(rows_are_found_by_name_and_number);
	run(wakeups_are_those_of_the_thread_and_by_it);
	run(an_item_adds_up_and_says_what_it_waited_for);
	run(hostile_names_are_json_strings);
	run(hostile_parameters_are_refused);
	run(extreme_times_are_answered);
	run(the_overview_counts_all_items);
	run(a_server_without_a_recording_says_so);
	return test_status();
}
