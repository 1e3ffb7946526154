#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Listing, enabling and disabling in running and future programs; sessions that come, go and die.

arguments: DUET PROGRAM LIBDUET
"""
import os
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import is_dead, kill, kill_tree  # noqa: E402
from recorder import collect, stop, view  # noqa: E402
from trial import (cmd, duet, go_on, is_, ok, paths, run_cases, runtime, start,  # noqa: E402
                   until, work, worker_of)

program, library = paths(2)


def start_program(*args, **env):
    p = start(program, *args, env=dict(os.environ, **env))
    until(lambda: "\n" in p.stdout.so_far(), "the program, or its child, says that it runs")
    ready = p.stdout.readline().split()
    is_(ready[:1], ["ready"], "the program runs")
    p.says_pid = int(ready[1])
    return p


def events(trace):
    return [e for e in view(trace, may_lose=False) if not e.get("event", "lttng_ust_statedump").startswith("lttng_ust_statedump")]


def names(trace, pid=None):
    return sorted({e["event"] for e in events(trace) if pid in (None, e["pid"])})


def ids(trace, pid):
    return [e["fields"]["id"] for e in events(trace) if e["event"] == "shop:order" and e["pid"] == pid]


def programs_are_listed_with_their_events():
    status, out, _ = cmd("list")
    is_(status, 0, "list without programs")
    ok("no traced program" in out, "it says so", out)
    p = start_program()
    status, out, _ = cmd("list")
    ok(str(p.pid) in out and "[ ] shop:order i32 id str item" in out and
       "[ ] shop:marked i32 at" in out, "list shows the registered events", out)
    is_(cmd("list", "-p", str(p.pid))[1], out, "list -p")
    status, _, err = cmd("enable", "shop:*")
    is_((status, err.count("\n")), (2, 1), "nothing records: one line")
    p.end(signal.SIGKILL)
    ok("no traced program" in cmd("list")[1], "a killed program is swept up")
    is_([n for n in os.listdir(runtime) if n.startswith("app-")], [], "with its page")


def events_are_switched_in_running_and_future_programs():
    trace = work + "/switch"
    p = start_program()
    c = collect(trace, "-e", "!*")
    status, out, err = cmd("enable", "shop:order", "other:*")
    is_((status, err), (0, ""), "enable")
    ok("[x] shop:order" in cmd("list")[1] and "[ ] shop:tick" in cmd("list")[1], "list shows it",
       cmd("list")[1])
    later = start_program()
    go_on(p, later)
    is_(cmd("disable", "other:thing")[0], 0, "disable")
    go_on(p, later)
    latest = start_program()
    go_on(latest)
    status, _, err = cmd("enable", "nosuch:event")
    is_((status, err.count("\n")), (2, 1), "a pattern that matches nothing is reported")
    is_(cmd("enable", "-p", str(p.pid), "shop:tick")[0], 0, "enable -p")
    go_on(p)
    stop(c)
    ok("[x]" not in cmd("list")[1], "all is off when its session is over", cmd("list")[1])
    for q in (p, later, latest):
        q.end(signal.SIGTERM)
    is_(names(trace, p.pid), ["other:thing", "shop:order", "shop:tick"], "events of the first")
    is_(names(trace, later.pid), ["other:thing", "shop:order"], "events of the second")
    is_(names(trace, latest.pid), ["shop:order"], "the last began with the rules of its time")
    for q in (p, later, latest):
        got = ids(trace, q.pid)
        ok(got and got == list(range(got[0], got[0] + len(got))), "no order is missing", str(got[:5]))
    is_(ids(trace, latest.pid)[0], 0, "a program that starts under a rule is recorded from its start")


def environment_traces_from_the_start():
    trace = work + "/environment"
    c = collect(trace, "-e", "!*")
    a = start_program("0.1", DUET_TRACE="1", DUET_EVENTS="shop:order,other")
    b = start_program("0.1", UST_TRACE="1", UST_AUTOPROBE="1")
    n = start_program("0.1")
    for q in (a, b, n):
        q.wait()
    stop(c, status=None)
    is_(names(trace, a.pid), ["other:thing", "shop:order"], "DUET_EVENTS")
    is_(names(trace, b.pid), ["other:thing", "shop:marked", "shop:order", "shop:tick"], "UST_AUTOPROBE")
    is_(names(trace, n.pid), [], "neither")
    is_((ids(trace, a.pid)[0], ids(trace, b.pid)[0]), (0, 0), "from the first event")
    is_(start_program("0.05", DUET_TRACE="1").wait(), 0, "without a collector the program just runs")


def one_process_is_recorded_by_pid():
    trace = work + "/pid"
    p, q = start_program(), start_program()
    r = start(duet, "record", "--no-kernel", "-q", "-o", trace, "-p", p.pid, "-e", "shop:*")
    until(lambda: "[x] shop:order" in cmd("list", "-p", str(p.pid))[1], "it is recorded")
    again = start(duet, "record", "--no-kernel", "-q", "-o", work + "/again", "-p", p.pid, "-e", "other")
    until(lambda: "[x] other:thing" in cmd("list", "-p", str(p.pid))[1], "and once more")
    go_on(p, q)
    stop(again, signal.SIGINT, status=None)
    is_(names(work + "/again", p.pid), ["other:thing"], "another recording takes its own part")
    stop(r, signal.SIGINT)  # record -p ends by Ctrl-C
    is_(names(trace, p.pid), ["shop:marked", "shop:order", "shop:tick"], "its events")
    is_(names(trace, q.pid), [], "not the other's")
    status, _, err = cmd("record", "--no-kernel", "-o", work + "/none", "-p", str(p.pid), "-e", "no:no")
    is_((status, err.count("\n")), (2, 1), "no such event in it: " + err)
    p.end(signal.SIGTERM)
    q.end(signal.SIGTERM)
    p = start_program(DUET_SESSION="elsewhere")
    status, _, err = cmd("record", "--no-kernel", "-o", work + "/none", "-p", str(p.pid))
    is_((status, err.count("\n")), (2, 1), "one that belongs to another session only: " + err)
    p.end(signal.SIGTERM)


def it_ends_with_the_last_process():
    one, other = start_program(), start_program()
    trace = work + "/ending"
    r = start(duet, "record", "--no-kernel", "-q", "-o", trace, "-p", one.pid, "-p", other.pid, "-e", "shop:*")
    for p in (one, other):
        until(lambda: "[x] shop:order" in cmd("list", "-p", str(p.pid))[1], "each is recorded")
    go_on(one, other)
    one.end(signal.SIGKILL)
    go_on(other)
    ok(r.poll() is None, "it goes on while one of them lives")
    other.end(signal.SIGKILL)
    is_(r.end(signal.SIGINT)[::2], (0, ""), "it ends with the last one, and well, also if it is asked to just then")
    ok(ids(trace, one.pid) and len(ids(trace, other.pid)) > 1, "with all events", names(trace))


def recordings_at_the_same_time_stay_apart():
    a = start(duet, "record", "--no-kernel", "-q", "-o", work + "/a", "--", program, "0.3")
    b = start(duet, "record", "--no-kernel", "-q", "-o", work + "/b", "-e", "shop:order", "--", program, "0.3")
    is_((a.wait(), b.wait()), (0, 0), "both end")
    pids_a, pids_b = ({e["pid"] for e in events(work + t)} for t in ("/a", "/b"))
    ok(len(pids_a) == len(pids_b) == 1 and pids_a != pids_b, "one program each", str((pids_a, pids_b)))
    is_(names(work + "/b"), ["shop:order"], "each by its own rules")


def a_killed_collector_is_not_noticed():
    trace = work + "/killed"
    p = start_program()
    c = collect(trace, "-e", "shop:order")
    go_on(p)
    everybody = kill_tree(c.pid)  # one alone is replaced by the other
    c.wait()
    until(lambda: all(n.is_dead() for n in everybody), "they die")
    go_on(p)
    cmd("list")
    ok(not [n for n in os.listdir(runtime) if n.startswith(("session", "sock"))],
       "the next command sweeps up", str(os.listdir(runtime)))
    ok("[x]" not in cmd("list")[1], "and disables the events left enabled")
    trace = work + "/next"
    c = collect(trace, "-e", "shop:order")
    go_on(p, times=100)
    is_(p.poll(), None, "the program runs on")
    stop(c, status=None)
    p.end(signal.SIGTERM)
    got = ids(trace, p.pid)
    ok(len(got) > 50 and got == list(range(got[0], got[0] + len(got))), "the next session is whole",
       str(len(got)))


def a_stopped_collector_delays_no_program_for_long():
    c = collect(work + "/stopped", "-e", "*")
    worker = worker_of(c)
    kill(worker, signal.SIGSTOP)
    p = start_program("1.5")
    p.wait()
    worst = float(p.stdout.read().split()[1])
    kill(worker, signal.SIGCONT)
    stop(c, status=None)
    ok(worst < 5, "an event waits at most about half a second", "%.3f s" % worst)


def a_child_is_reached_when_its_parent_is_gone():
    trace = work + "/child"
    p = start_program("1000000", "fork")
    p.wait()
    child = p.says_pid
    ok(child != p.pid, "the child is another process")
    status, out, err = cmd("list", "-p", str(child))
    is_((status, err), (0, ""), "the child is listed by its pid")
    ok("shop:order" in out, "with its parent's events", out)
    c = collect(trace, "-e", "!*")
    is_(cmd("enable", "shop:order")[0], 0, "its events can be switched on")
    go_on(child, times=100)
    ok(os.path.exists("%s/run/app-%d-%d" % (work, child, os.lstat("/proc/self").st_dev)), "then it has a page of its own")
    stop(c, status=None)
    ok(len(ids(trace, child)) > 50, "and is recorded as itself")
    kill(child)
    until(lambda: is_dead(child), "the child dies")
    cmd("list")
    is_([n for n in os.listdir(runtime) if n.startswith("app-")], [], "no page is left")


def the_status_of_the_command_is_ours():
    for script, want in (("exit 7", 7), ("kill -9 $$", 137), ("true", 0)):
        trace = tempfile.mkdtemp(dir=work)
        is_(cmd("record", "--no-kernel", "-q", "-o", trace, "--", "sh", "-c", script)[0], want, script)


def the_state_dump_is_shown_on_request():
    trace = work + "/state"
    is_(cmd("record", "--no-kernel", "-q", "-o", trace, "--", program, "0.02")[0], 0, "record")
    status, out, err = cmd("view", trace)
    ok("procname" not in out and "1 event of the state dump" in err, "left out, and said", err)
    ok("procname" in cmd("view", "--state", trace)[1], "shown with --state")
    ok("procname" in cmd("view", "--json", trace)[1], "and to programs")


def flight_recorder_keeps_the_newest():
    trace = work + "/flight"
    status, _, err = cmd("record", "--no-kernel", "--overwrite", "-b", "1M", "-o", trace, "-e",
                         "shop:order", "--", program, "0.5")
    is_(status, 0, "record --overwrite: " + err)
    got = [e["fields"]["id"] for e in events(trace)]
    ok(got and got == list(range(got[0], got[0] + len(got))), "in order", str(got[:3]))


run_cases(programs_are_listed_with_their_events, events_are_switched_in_running_and_future_programs,
          environment_traces_from_the_start, one_process_is_recorded_by_pid, it_ends_with_the_last_process,
          recordings_at_the_same_time_stay_apart,
          a_killed_collector_is_not_noticed, a_stopped_collector_delays_no_program_for_long,
          a_child_is_reached_when_its_parent_is_gone, the_status_of_the_command_is_ours,
          the_state_dump_is_shown_on_request, flight_recorder_keeps_the_newest)
