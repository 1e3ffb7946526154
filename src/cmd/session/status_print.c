/* SPDX-License-Identifier: MIT */
/* cmd/session/status_print.c - print a session and its parts as aligned text. */
#include "cmd/session/status_print.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/cmd.h"
#include "base/json_line.h"
#include "cmd/print/print.h"

static void print_lost(uint64_t lost)
{
	if (lost)
		print_out(", %" PRIu64 " LOST\n", lost);
	else
		print_out(", none lost\n");
}

static void print_rates(bool has_rates, uint64_t events, uint64_t bytes)
{
	char size[32];

	if (has_rates)
		print_out(", now %" PRIu64 " events/s, %s/s", events, cmd_size_text(bytes, size));
}

/* "since 14:05:09", with the date if the session did not start today. */
static const char *since(uint64_t duration_ns, char text[40])
{
	time_t now = time(NULL), begin = now - (time_t)(duration_ns / 1000000000);
	struct tm today, then;

	localtime_r(&now, &today);
	localtime_r(&begin, &then);
	strftime(text, 40,
		 then.tm_yday == today.tm_yday && then.tm_year == today.tm_year
			 ? "%H:%M:%S"
			 : "%Y-%m-%d %H:%M:%S",
		 &then);
	return text;
}

/* @label: of the tenant's part, or NULL. */
static void print_trouble(const char *before, const char *label, const char *reason)
{
	print_out("%s%s%s", before, label ? label : "", label ? ": " : "");
	print_reason(reason);
	print_out("\n");
}

static void print_kernel_recorder(const struct session_info *l)
{
	char by[16], why[1024];

	if (!json_line_text(&l->session.line, "kernel_recorder", by, sizeof by))
		return;
	if (!json_line_text(&l->session.line, "kernel_no_bpf", why, sizeof why))
		*why = 0;
	print_out("                by %s%s",
		  !strcmp(by, "bpf") ? "BPF programs, and ftrace for what they cannot record"
				     : "ftrace",
		  *why ? ": " : "");
	print_reason(why);
	print_out("\n");
}

static void print_kernel(const struct session_info *l)
{
	uint64_t n = session_info_number(&l->session, "kernel_events");
	char size[32];

	if (!json_line_is_true(&l->session.line, "kernel"))
		return;
	print_out("  kernel        %" PRIu64 " event%s, %s written", n, n == 1 ? "" : "s",
		  cmd_size_text(session_info_number(&l->session, "kernel_bytes"), size));
	print_rates(l->has_rates, l->kernel_events_per_s, l->kernel_bytes_per_s);
	print_lost(session_info_number(&l->session, "kernel_lost"));
	print_kernel_recorder(l);
}

static void print_trace_chunks(const struct session_info *l)
{
	uint64_t removed = session_info_number(&l->session, "pieces_removed"),
		 waiting = session_info_number(&l->session, "pieces_waiting");
	uint64_t held = session_info_number(&l->session, "pieces_held"),
		 from = session_info_number(&l->session, "packed_from_bytes");
	char trouble[300], a[32], b[32];

	if (!session_info_number(&l->session, "piece"))
		return;
	print_out("  pieces        writes number %" PRIu64 ", %" PRIu64 " removed",
		  session_info_number(&l->session, "piece"), removed);
	if (from)
		print_out(", %s compressed to %s", cmd_size_text(from, a),
			  cmd_size_text(session_info_number(&l->session, "packed_bytes"), b));
	if (waiting)
		print_out(", %" PRIu64 " to be compressed", waiting);
	if (held)
		print_out(", %" PRIu64 " kept beyond the limit until sent", held);
	print_out("\n");
	if (json_line_text(&l->session.line, "pieces_trouble", trouble, sizeof trouble))
		print_trouble("                ", NULL, trouble);
}

/* The disk budget of each part that has a limit or a loss. */
static void print_budget(const struct session_info *l)
{
	const struct cmd_answer *s = &l->session;
	const char *label = tenant_session_label(l->name);
	uint64_t limit = session_info_number(s, "disk_limit"),
		 lost = session_info_number(s, "disk_lost"),
		 removed = session_info_number(s, "disk_removed");
	char a[32], b[32], text[128];

	if (!limit && !lost && !removed && !session_info_number(s, "disk_refused"))
		return;
	print_out("  disk%s%s%s", label ? " of " : "", label ? label : "",
		  label ? ":" : "         ");
	if (limit)
		print_out(" %s of the limit of %s used;",
			  cmd_size_text(session_info_number(s, "disk_counted"), a),
			  cmd_size_text(limit, b));
	if (json_line_text(&s->line, "disk_refuses", text, sizeof text) && *text)
		print_out(" NO ROOM NOW: %s;", text);
	if (lost)
		print_out(" %" PRIu64 " LOST: %s", lost,
			  session_info_text(s, "disk_lost_by", text, sizeof text));
	else
		print_out(" none lost");
	if (removed)
		print_out("; %" PRIu64 " old pieces removed", removed);
	print_out("\n");
}

uint64_t session_status_sum(const struct session_status *w, const char *key)
{
	uint64_t sum = 0;

	for (int i = 0; i < w->n; i++)
		sum += session_info_number(&w->at[i]->session, key);
	return sum;
}

uint64_t session_status_lost(const struct session_status *w)
{
	uint64_t sum = 0;

	for (int i = 0; i < w->n; i++)
		sum += w->at[i]->lost;
	return sum;
}

static void print_not_written(const struct session_info *l)
{
	uint64_t waiting = session_info_number(&l->session, "unwritten_bytes");
	char why[1024], size[32];

	if (!json_line_text(&l->session.line, "not_written", why, sizeof why))
		return;
	print_trouble("  NOT WRITTEN   ", tenant_session_label(l->name), why);
	if (waiting)
		print_out("                %s wait in the buffers\n", cmd_size_text(waiting, size));
}

static void print_impossible(const struct session_info *l)
{
	char lines[2048], *rest = lines, *line;

	if (!json_line_text(&l->session.line, "impossible", lines, sizeof lines))
		return;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			print_trouble("  IMPOSSIBLE    ", tenant_session_label(l->name), line);
}

static void print_troubles(const struct session_status *w)
{
	char trouble[1024];

	if (w->n &&
	    json_line_text(&w->at[0]->session.line, "tenants_refused_of", trouble, sizeof trouble))
		print_out("  NOT RECORDED  %" PRIu64
			  " users or containers, for lack of room; most of %s\n",
			  session_info_number(&w->at[0]->session, "tenants_refused"), trouble);
	for (int i = 0; i < w->n; i++)
		print_not_written(w->at[i]);
	for (int i = 0; i < w->n; i++)
		print_impossible(w->at[i]);
	for (int i = 0; i < w->n; i++) {
		uint64_t n_collectors = session_info_number(&w->at[i]->session, "lives");
		const char *label = tenant_session_label(w->at[i]->name);

		if (n_collectors > 1)
			print_out("  collectors    %s%s%" PRIu64 "; all but the last were killed\n",
				  label ? label : "", label ? ": " : "", n_collectors);
		if (json_line_text(&w->at[i]->session.line, "trouble", trouble, sizeof trouble))
			print_trouble("  trouble       ", label, trouble);
	}
	for (int i = 0; i < w->silent.n; i++)
		print_out("  trouble       %s does not answer\n", w->silent.at[i]);
}

/*
 * A reader reads the whole recording.  For a session with tenants, that is the sum over all parts.
 */
static void print_link(const struct session_info *l)
{
	const struct cmd_answer *s = &l->session;
	bool is_up = json_line_is_true(&s->line, "link"),
	     waits = json_line_is_true(&s->line, "link_waits");
	char to[320], as[256], trouble[512], sent[32], held[32], limit[32];

	if (!json_line_text(&s->line, "sent_to", to, sizeof to))
		return;
	print_out("  link          to %s, %s; %s sent; spool %s of %s%s\n", to,
		  !is_up  ? "NOT CONNECTED"
		  : waits ? "THE RELAY WAITS"
			  : session_info_text(s, "sent_as", as, sizeof as),
		  cmd_size_text(session_info_number(s, "sent_bytes"), sent),
		  cmd_size_text(session_info_number(s, "spool_bytes"), held),
		  cmd_size_text(session_info_number(s, "spool_limit"), limit),
		  json_line_is_true(&s->line, "spool_was_full") ? ", WAS FULL" : "");
	if ((!is_up || waits) && json_line_text(&s->line, "link_trouble", trouble, sizeof trouble))
		print_trouble("                ", NULL, trouble);
	if (session_info_number(s, "link_senders") > 1)
		print_out("  senders       %" PRIu64 "; all but the last were killed\n",
			  session_info_number(s, "link_senders"));
}

static void print_session(const struct session_status *w)
{
	const struct session_info *l = w->at[0];
	const struct cmd_answer *s = &l->session;
	char name[ABI_NAME_BYTES], size[32], size2[32], begin[40];
	uint64_t programs = session_status_sum(w, "programs");

	print_out("%s: %.1f s, since %s, into %s (process %" PRIu64 ")\n",
		  session_info_text(s, "session", name, sizeof name),
		  (double)session_info_number(s, "duration_ns") / 1e9,
		  since(session_info_number(s, "duration_ns"), begin), l->path,
		  session_info_number(s, "pid"));
	print_out("  applications  %" PRIu64 " program%s, %s written", programs,
		  programs == 1 ? "" : "s",
		  cmd_size_text(session_status_sum(w, "app_bytes"), size));
	print_rates(l->has_rates, l->events_per_s, l->bytes_per_s);
	print_lost(session_status_lost(w));
	print_kernel(l);
	if (l->has_disk)
		print_out("  disk          %s used, %s free\n", cmd_size_text(l->disk_used, size),
			  cmd_size_text(l->disk_free, size2));
	for (int i = 0; i < w->n; i++)
		print_budget(w->at[i]);
	print_trace_chunks(l);
	print_link(l);
	print_troubles(w);
}

/* ---------------------------------------------------------------- tenants */

/* The name of the tenant's user, if it has one on this machine. */
static const char *user_of(const char *label)
{
	struct passwd *p = strchr(label, ':') ? NULL : getpwuid((uid_t)strtoul(label, NULL, 10));

	return p ? p->pw_name : "-";
}

static void print_part(const struct session_info *l)
{
	const char *label = tenant_session_label(l->name);
	uint64_t memory = 0, used = 0;
	char size[32], rate[32];

	for (int i = 0; i < l->n_channels; i++) {
		memory += l->rooms[i].memory;
		used += l->rooms[i].used;
	}
	print_out("  %-30s  %-12s  %8" PRIu64 "  %9s", l->name, label ? user_of(label) : "",
		  session_info_number(&l->session, "programs"),
		  cmd_size_text(session_info_number(&l->session, "app_bytes"), size));
	if (l->has_rates && label)
		print_out("  %10" PRIu64 "  %9s", l->events_per_s,
			  cmd_size_text(l->bytes_per_s, rate));
	else
		print_out("  %10s  %9s", "-", "-");
	print_out("  %9s  %3" PRIu64 "%%  %8" PRIu64 "\n", cmd_size_text(memory, size),
		  memory ? used * 100 / memory : 0, l->lost);
}

static void print_parts(const struct session_status *w)
{
	if (w->n + w->silent.n < 2)
		return;
	print_out("  %-30s  %-12s  %8s  %9s  %10s  %9s  %9s  %4s  %8s\n", "PART", "USER",
		  "PROGRAMS", "WRITTEN", "EVENTS/S", "BYTES/S", "MEMORY", "USED", "LOST");
	for (int i = 0; i < w->n; i++)
		print_part(w->at[i]);
	for (int i = 0; i < w->silent.n; i++)
		print_out("  %-30s  does not answer\n", w->silent.at[i]);
}

/* ---------------------------------------------------------------- channels, programs */

static void print_mode(const struct cmd_answer *c)
{
	char mode[32], shown[64];
	uint64_t wait_us = session_info_number(c, "wait_ns") / 1000;

	session_info_text(c, "mode", mode, sizeof mode);
	if (wait_us % 1000)
		snprintf(shown, sizeof shown, "%s %" PRIu64 "us", mode, wait_us);
	else if (wait_us)
		snprintf(shown, sizeof shown, "%s %" PRIu64 "ms", mode, wait_us / 1000);
	else
		snprintf(shown, sizeof shown, "%s", mode);
	print_out("  %-14s", shown);
}

/* All parts have the same channels, each in separate memory. */
static void print_channel(const struct session_status *w, int number)
{
	const struct cmd_answer *c = &w->at[0]->channels[number];
	char name[ABI_CHANNEL_NAME_BYTES], contexts[512], memory[32], limit[32];
	struct session_info_channel all = { 0 };

	for (int i = 0; i < w->n; i++) {
		const struct session_info_channel *r = &w->at[i]->rooms[number];

		all.memory += r->memory;
		all.limit += r->limit;
		all.used += r->used;
		all.waited += r->waited;
		all.lost += r->lost;
		all.clock_worst_ns = r->clock_worst_ns > all.clock_worst_ns ? r->clock_worst_ns
									    : all.clock_worst_ns;
	}
	print_out("  %-16s", session_info_text(c, "name", name, sizeof name));
	print_mode(c);
	print_out("  %9s  %9s  %3" PRIu64 "%%  %8" PRIu64 "  %8" PRIu64 "  %s\n",
		  cmd_size_text(all.memory, memory), cmd_size_text(all.limit, limit),
		  all.memory ? all.used * 100 / all.memory : 0, all.waited, all.lost,
		  session_info_text(c, "contexts", contexts, sizeof contexts));
	if (json_line_has(&c->line, "clock_error_ns"))
		print_out("  %-16s  coarse clock: times up to %" PRIu64 " ms early (%" PRIu64
			  " at worst so far)\n",
			  "", session_info_number(c, "clock_error_ns") / 1000000,
			  all.clock_worst_ns / 1000000);
}

static void print_trigger(const struct cmd_answer *a, const char *label)
{
	char text[4096], state[32], error[512], last[40] = "-";
	uint64_t ns = session_info_number(a, "last_ns");
	time_t then = (time_t)(ns / 1000000000);
	struct tm tm;

	if (ns && localtime_r(&then, &tm))
		strftime(last, sizeof last, "%F %T", &tm);
	print_out("  %7" PRIu64 "  %-9s  %8" PRIu64 "  %-19s  %s%s%s\n",
		  session_info_number(a, "number"),
		  session_info_text(a, "state", state, sizeof state),
		  session_info_number(a, "fired"), last, label ? label : "", label ? ": " : "",
		  session_info_text(a, "text", text, sizeof text));
	if (json_line_text(&a->line, "error", error, sizeof error))
		print_trouble("           ERROR: ", NULL, error);
}

/*
 * Each part has separate triggers.  Those of tenants are omitted while they neither fired nor
 * failed.
 */
static void print_triggers(const struct session_status *w)
{
	bool any = false;

	for (int i = 0; i < w->n; i++)
		for (int k = 0; k < w->at[i]->n_triggers; k++) {
			const struct cmd_answer *t = &w->at[i]->triggers[k];

			if (i && !session_info_number(t, "fired") &&
			    !json_line_has(&t->line, "error"))
				continue;
			if (!any)
				print_out("  %7s  %-9s  %8s  %-19s  %s\n", "TRIGGER", "STATE",
					  "FIRED", "LAST", "TEXT");
			any = true;
			print_trigger(t, tenant_session_label(w->at[i]->name));
		}
}

static void print_program(const struct session_info *l, const struct session_info_program *p)
{
	const char *label = tenant_session_label(l->name);
	char size[32];

	print_out("  %-16s  %7d", p->name, (int)p->pid);
	if (l->has_rates)
		print_out("  %10" PRIu64 "  %9s", p->events_per_s,
			  cmd_size_text(p->bytes_per_s, size));
	else
		print_out("  %10s  %9s", "-", "-");
	print_out("  %8" PRIu64 "  %s%s%s\n", p->lost, label ? label : "",
		  label && *p->container ? " " : "", p->container);
}

void session_status_print(const struct session_status *w)
{
	bool any = false;

	print_session(w);
	print_out("  %-16s  %-14s  %9s  %9s  %4s  %8s  %8s  %s\n", "CHANNEL", "MODE", "MEMORY",
		  "LIMIT", "USED", "WAITED", "LOST", "CONTEXTS");
	for (int i = 0; i < w->at[0]->n_channels; i++)
		print_channel(w, i);
	print_triggers(w);
	print_parts(w);
	for (int i = 0; i < w->n; i++)
		for (int k = 0; k < w->at[i]->n_programs; k++) {
			if (!any)
				print_out("  %-16s  %7s  %10s  %9s  %8s  %s\n", "PROGRAM", "PID",
					  "EVENTS/S", "BYTES/S", "LOST",
					  w->n > 1 ? "PART, CONTAINER" : "CONTAINER");
			any = true;
			print_program(w->at[i], &w->at[i]->programs[k]);
		}
	any = false;
	for (int i = 0; i < w->n; i++)
		status_calls_print(&w->at[i]->calls, &any);
}
