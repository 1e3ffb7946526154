/* SPDX-License-Identifier: MIT */
/*
 * cmd/top/screen.c - `duet top` on a terminal.
 *
 * Everything that a recording names is printed by curses as escaped ASCII (top_name_text,
 * top_now_text), so nothing of it reaches the terminal as control.
 */
#include <ctype.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "cmd/report/table.h"
#include "cmd/top/top.h"

enum { HEAD_LINES = 4, FILTER_MAX = 32 };
enum { COLOR_HEAD = 1, COLOR_RUNNING, COLOR_RUNNABLE, COLOR_BLOCKED, COLOR_LOST };

static const char keys[] =
	" t threads   p processes   e events\n"
	" c cpu   w waits for a CPU   b blocked   s system calls   x switches   r events: sort by "
	"it\n"
	" / filter by name (Enter ends, Escape clears)   up, down, page up, page down: scroll\n"
	" space pause   + - interval   ? these keys   q quit\n";

struct screen {
	struct top_source *s;
	struct top_options *o;
	struct top_rows rows;
	uint32_t first; /* row shown at the top */
	bool is_paused, shows_keys, is_typing;
	char filter[FILTER_MAX];
};

static double seconds_of(const struct activity *a)
{
	return a->to_ns > a->from_ns ? (double)(a->to_ns - a->from_ns) / 1e9 : 1e-9;
}

static double share_of(const struct activity *a, uint64_t ns)
{
	return 100 * (double)ns / 1e9 / seconds_of(a);
}

static int color_of(uint8_t state)
{
	switch (state) {
	case WAIT_USER:
	case WAIT_KERNEL:
	case WAIT_IRQ:
		return COLOR_RUNNING;
	case WAIT_PREEMPTED:
	case WAIT_RUNNABLE:
		return COLOR_RUNNABLE;
	default:
		return COLOR_BLOCKED;
	}
}

static void draw_head(const struct screen *c)
{
	const struct activity *a = &c->s->activity;
	const struct top_rows *r = &c->rows;
	uint64_t lost = a->lost_events + a->lost_packets;
	char moment[40];

	mvprintw(0, 0, "duet top - %s  %s%s", moment_text(a->to_ns, moment),
		 c->s->is_own ? "own recording" : "a session's recording",
		 c->s->has_ended ? " (ended)"
		 : c->is_paused	 ? " (paused)"
				 : "");
	mvprintw(1, 0,
		 "now %u running, %u runnable, %u blocked   CPU %.0f%% (user %.0f, kernel %.0f, "
		 "interrupts %.0f)   %.0f events/s",
		 r->n_running, r->n_runnable, r->n_blocked,
		 share_of(a, r->ns[WAIT_USER] + r->ns[WAIT_KERNEL] + r->ns[WAIT_IRQ]),
		 share_of(a, r->ns[WAIT_USER]), share_of(a, r->ns[WAIT_KERNEL]),
		 share_of(a, r->ns[WAIT_IRQ]), (double)a->n_events / seconds_of(a));
	if (lost) {
		attron(COLOR_PAIR(COLOR_LOST) | A_BOLD);
		printw("   %llu lost", (unsigned long long)lost);
		attroff(COLOR_PAIR(COLOR_LOST) | A_BOLD);
	}
	if (c->is_typing || *c->filter)
		mvprintw(2, 0, "filter: %s%s", c->filter, c->is_typing ? "_" : "");
	else if (!a->has_switches)
		mvprintw(2, 0,
			 "the recording has no switches of the scheduler (-k sched): rates only");
	attron(COLOR_PAIR(COLOR_HEAD) | A_BOLD);
	if (c->o->by == TOP_EVENTS)
		mvprintw(3, 0, "%12s  %-8s %s", "EVENTS/S", "FROM", "EVENT");
	else
		mvprintw(3, 0, "%7s %7s %-16s %6s %6s %6s %6s %7s %8s %8s %8s  %s", "PID", "TID",
			 "NAME", "CPU%", "USER%", "KERN%", "WAIT%", "BLOCK%", "CALLS/S", "SWITCH/S",
			 "EVENTS/S", "NOW");
	clrtoeol();
	attroff(COLOR_PAIR(COLOR_HEAD) | A_BOLD);
}

static void draw_thread(const struct screen *c, int y, const struct top_row *row)
{
	const struct activity *a = &c->s->activity;
	const struct thread *t = threads_at(a->pass->threads, row->thread);
	const struct activity_thread *s = &row->sum;
	char name[64], now[TOP_NOW_BYTES], tid[16];

	top_name_text(a, row, c->o->by, name);
	top_now_text(a, s, now);
	if (c->o->by == TOP_PROCESSES)
		snprintf(tid, sizeof tid, "x%u", row->n_threads);
	else
		snprintf(tid, sizeof tid, "%d", t->tid);
	mvprintw(y, 0, "%7d %7s %-16.16s %6.1f %6.1f %6.1f %6.1f %7.1f %8.0f %8.0f %8.0f  ",
		 t->pid >= 0 ? t->pid : t->tid, tid, name, share_of(a, top_row_cpu_ns(s)),
		 share_of(a, s->ns[WAIT_USER]), share_of(a, s->ns[WAIT_KERNEL]),
		 share_of(a, s->ns[WAIT_RUNNABLE] + s->ns[WAIT_PREEMPTED]),
		 share_of(a, s->ns[WAIT_BLOCKED]), (double)s->n_calls / seconds_of(a),
		 (double)s->n_switches / seconds_of(a), (double)s->n_events / seconds_of(a));
	attron(COLOR_PAIR(color_of(s->state)));
	addnstr(now, COLS - getcurx(stdscr) > 0 ? COLS - getcurx(stdscr) : 0);
	attroff(COLOR_PAIR(color_of(s->state)));
}

static void draw_event(const struct screen *c, int y, const struct top_row *row)
{
	const struct activity *a = &c->s->activity;
	char name[64];

	top_name_text(a, row, TOP_EVENTS, name);
	mvprintw(y, 0, "%12.0f  %-8s %s", (double)row->sum.n_events / seconds_of(a),
		 a->classes[row->thread].is_kernel ? "kernel" : "program", name);
}

static uint32_t n_lines(void)
{
	return LINES > HEAD_LINES ? (uint32_t)(LINES - HEAD_LINES) : 0;
}

static void draw(struct screen *c)
{
	erase();
	draw_head(c);
	if (c->first >= c->rows.n)
		c->first = c->rows.n ? c->rows.n - 1 : 0;
	for (uint32_t i = 0; i < n_lines() && c->first + i < c->rows.n && !c->shows_keys; i++) {
		const struct top_row *row = &c->rows.at[c->first + i];

		if (c->o->by == TOP_EVENTS)
			draw_event(c, (int)i + HEAD_LINES, row);
		else
			draw_thread(c, (int)i + HEAD_LINES, row);
	}
	if (c->shows_keys)
		mvaddstr(HEAD_LINES, 0, keys);
	refresh();
}

/* ---------------------------------------------------------------- keys */

static void type(struct screen *c, int key)
{
	size_t n = strlen(c->filter);

	if (key == '\n' || key == KEY_ENTER)
		c->is_typing = false;
	else if (key == 27)
		c->is_typing = false, *c->filter = 0;
	else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n)
		c->filter[n - 1] = 0;
	else if (key < 256 && isprint(key) && n + 1 < FILTER_MAX)
		c->filter[n] = (char)key;
	c->o->filter = *c->filter ? c->filter : NULL;
}

static void scroll_by(struct screen *c, int64_t lines)
{
	int64_t first = (int64_t)c->first + lines;

	c->first = first < 0		? 0
		   : first >= c->rows.n ? (c->rows.n ? c->rows.n - 1 : 0)
					: (uint32_t)first;
}

static bool choose(struct screen *c, int key)
{
	static const char by[] = "tpe", sort[] = "cwbsxr";
	const char *found = key > 0 && key < 128 ? strchr(by, key) : NULL;

	if (found)
		c->o->by = (enum top_by)(found - by);
	else if (key > 0 && key < 128 && (found = strchr(sort, key)))
		c->o->sort = (enum top_sort)(found - sort);
	return found;
}

/* Returns whether to go on. */
static bool take_key(struct screen *c, int key)
{
	if (c->is_typing) {
		memset(c->filter + strlen(c->filter), 0, FILTER_MAX - strlen(c->filter));
		type(c, key);
		return true;
	}
	if (choose(c, key))
		return true;
	switch (key) {
	case 'q':
		return false;
	case '/':
		c->is_typing = true;
		break;
	case 27:
		*c->filter = 0;
		c->o->filter = NULL;
		break;
	case ' ':
		c->is_paused = !c->is_paused;
		break;
	case '?':
	case 'h':
		c->shows_keys = !c->shows_keys;
		break;
	case '+':
		c->o->interval_ns = c->o->interval_ns < 60000000000ull ? c->o->interval_ns * 2
								       : c->o->interval_ns;
		break;
	case '-':
		c->o->interval_ns =
			c->o->interval_ns > 200000000 ? c->o->interval_ns / 2 : c->o->interval_ns;
		break;
	case KEY_DOWN:
		scroll_by(c, 1);
		break;
	case KEY_UP:
		scroll_by(c, -1);
		break;
	case KEY_NPAGE:
		scroll_by(c, n_lines());
		break;
	case KEY_PPAGE:
		scroll_by(c, -(int64_t)n_lines());
		break;
	case KEY_HOME:
		c->first = 0;
		break;
	}
	return true;
}

/* ---------------------------------------------------------------- the loop */

static int next_interval(struct screen *c)
{
	int status;

	activity_begin(&c->s->activity);
	status = top_source_read(c->s);
	if (!status && top_rows_make(&c->rows, &c->s->activity, c->o))
		status = cmd_error("top", "no memory for rows");
	return status;
}

static int run(struct screen *c)
{
	uint64_t next_ns = monotonic_ns() + c->o->interval_ns / 4; /* soon something is there */
	uint64_t n = 0;
	int status = 0;

	while (!status && !top_is_stopped()) {
		int key = getch();

		if (key != ERR && !take_key(c, key))
			break;
		if (!c->is_paused && !c->s->has_ended && monotonic_ns() >= next_ns) {
			status = next_interval(c);
			next_ns = monotonic_ns() + c->o->interval_ns;
			if (c->o->n_intervals && ++n >= c->o->n_intervals)
				break;
		} else if (key != ERR && top_rows_make(&c->rows, &c->s->activity, c->o)) {
			status = cmd_error("top", "no memory for rows");
		}
		if (!status)
			draw(c);
	}
	return status;
}

int top_screen(struct top_source *s, struct top_options *o)
{
	struct screen c = { .s = s, .o = o };
	SCREEN *terminal;
	int status;

	setlocale(LC_CTYPE, "");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return cmd_error("top",
				 "this terminal (TERM=%s) cannot show a screen: --batch prints "
				 "tables",
				 getenv("TERM") ? getenv("TERM") : "");
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	timeout(50);
	set_escdelay(25);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(COLOR_HEAD, COLOR_CYAN, -1);
		init_pair(COLOR_RUNNING, COLOR_GREEN, -1);
		init_pair(COLOR_RUNNABLE, COLOR_YELLOW, -1);
		init_pair(COLOR_BLOCKED, -1, -1);
		init_pair(COLOR_LOST, COLOR_RED, -1);
	}
	status = run(&c);
	endwin();
	delscreen(terminal);
	top_rows_fini(&c.rows);
	return status;
}
