#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Call stacks with events of the kernel, and the values of its counters: each event once, with the functions it came from;
over a killed collector, and as Babeltrace reads them.

arguments: DUET PROGRAM FAULTS
"""
import collections
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run, run_cases, skip, start, until, work, worker_of  # noqa: E402

program, faults = paths(2, library=False)
N = 200
PAGE = 4096


def collector(name):
    m = re.search(r"\(process (\d+)\)", cmd("status", name)[1])
    return int(m[1]) if m else 0


def kill_worker(name):
    """It collects; its keeper makes another one."""
    keeper = collector(name)
    first = worker_of(keeper)
    kill(first)
    until(lambda: worker_of(keeper) not in (0, None, first) and cmd("status", name)[0] == 0, "another worker")


def record_running(name, kernel, *more, is_killed=False):
    """-> the number of the program, where its pages are, its events by name"""
    p = start(program, N)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    status, _, err = cmd("start", name, "-o", work + "/" + name, "-k", kernel, *more, "-p", p.pid)
    is_(status, 0, "duet start: " + err)
    if is_killed:
        first = collector(name)
        kill(first)
        until(lambda: collector(name) not in (0, first), "another collector")
    p.send_signal(signal.SIGUSR1)
    pages = int(p.stdout.readline(), 16)
    status, _, err = cmd("stop", name)
    is_(status, 0, "duet stop: " + err)
    is_(p.end(signal.SIGUSR1)[0], 0, "the program ends")
    return p.pid, pages, events(name)


def events(name):
    found = collections.defaultdict(list)
    for e in map(json.loads, cmd("view", "--json", work + "/" + name)[1].splitlines()):
        found[e.get("event", "losses")].append(e)
    return found


def folded(name, *args):
    """stack -> weight"""
    status, out, err = cmd("export", "folded", *args, work + "/" + name)
    is_(status, 0, "export folded: " + err)
    lines = [line.rpartition(" ") for line in out.splitlines()]
    return collections.Counter({tuple(stack.split(";")): int(n) for stack, _, n in lines})


def within(stacks, *functions):
    return sum(n for stack, n in stacks.items() if all(f in stack for f in functions))


def may_sample():
    status, _, err = cmd("record", "-q", "-k", "stack:sched_switch", "-o", work + "/may", "--", "true")
    if status and re.search("no right to|tracefs", err):
        skip(err.strip().splitlines()[0])


def off_cpu(switches, tid):
    """-> the times for which it waited and both switches are recorded, and those plus what it was preempted for [ns]"""
    waits, total, left = [], 0, None
    for e in switches:
        if e["fields"]["next_tid"] == tid and left:
            total += e["time"] - left["time"]
            if left["fields"]["prev_state"]:
                waits.append(e["time"] - left["time"])
            left = None
        if e["fields"]["prev_tid"] == tid:
            left = e
    return waits, total


# ---------------------------------------------------------------- cases

def switches_have_stacks_and_times_off_the_cpu():
    pid, _, found = record_running("switches", "stack:sched_switch")
    # This machine's kernel does not report every switch: docs/design/analysis.md.
    away = [e for e in found["sched_switch"] if e["fields"]["prev_tid"] == pid]
    ok(len(away) > N / 10, "the program's switches", len(away))
    ok(all(e["fields"]["callstack_kernel"] for e in away), "each with where in the kernel")
    ok(any(e["fields"]["next_tid"] == pid for e in found["sched_switch"]), "switches to it are there, too")
    stacks = folded("switches")
    is_(sum(stacks.values()), len(away), "each switch of the program has a stack, those of others are not its own")
    ok(within(stacks, "main", "wait_here") > N / 10, "in its functions", stacks.most_common(3))
    ns = folded("switches", "--weight", "off-cpu")
    waits, all_ns = off_cpu(found["sched_switch"], pid)
    is_(sum(n for stack, n in ns.items() if stack[0] == os.path.basename(program)[:15]), all_ns, "its times off the CPU add up")
    # Some of them are the program's start, its end, and its pages; of some switches only the way out is reported.
    ok(within(ns, "main", "wait_here") >= (len(waits) - 5) * 0.9e6, "each wait took a millisecond",
       (len(away), len(waits), ns.most_common(3)))
    span = max(e["time"] for e in away) - min(e["time"] for e in found["sched_switch"])
    ok(0 < within(ns, "main", "wait_here") <= span, "and all together no longer than the recording", (ns, span))


def whole_machine_switches(name):
    is_(cmd("record", "-q", "--all-kernel", "-k", "stack:sched_switch", "-o", work + "/" + name, "--", sys.executable,
            "-c", "import time\nfor _ in range(400): time.sleep(0.001)")[0], 0, "duet record")
    return events(name)["sched_switch"]


def switches_from_idle_are_there():
    """Some kernels do not report them to perf: then BPF programs record them, without stacks."""
    if cmd("record", "-q", "--kernel-backend=bpf", "-k", "sched_switch", "-o", work + "/bpf", "--", "true")[0]:
        return
    for i in range(5):  # until some other work leaves a CPU idle
        found = whole_machine_switches("idle-%d" % i)
        if any(not e["fields"]["next_tid"] for e in found):
            break
    for cpu in sorted({e["cpu"] for e in found}):
        switches = [e for e in found if e["cpu"] == cpu]
        after_idle = [b for a, b in zip(switches, switches[1:]) if a["fields"]["next_tid"] == 0]
        is_([e["fields"]["prev_comm"] for e in after_idle if e["fields"]["prev_tid"]], [],
            "CPU %d: whatever ran after idle was switched to" % cpu)
        is_([e for e in switches if e["fields"]["prev_tid"] and not e["fields"]["callstack_kernel"]], [],
            "CPU %d: all others have stacks" % cpu)
    is_(cmd("record", "-q", "--all-kernel", "-k", "stack:sched_switch", "-f", "next_prio < 0", "-o", work + "/rare", "--",
            "sleep", "0.3")[0], 0, "with a filter")
    is_([e["fields"]["next_comm"] for e in events("rare")["sched_switch"] if e["fields"]["next_prio"] >= 0], [],
        "which holds for both")


def some_system_calls_have_stacks_and_the_others_none():
    _, _, found = record_running("calls", "syscall_*_getppid,stack:syscall_entry_getppid")
    is_((len(found["syscall_entry_getppid"]), len(found["syscall_exit_getppid"])), (N, N), "each once")
    ok(all(e["fields"]["callstack_user"] for e in found["syscall_entry_getppid"]), "the one with stacks")
    ok(not any("callstack_user" in e["fields"] for e in found["syscall_exit_getppid"]), "the other without")
    is_(within(folded("calls"), "main", "ask_here"), N, "in its functions")


def calls_without_a_name_have_stacks_too():
    asks = "import ctypes\nfor _ in range(%d): ctypes.CDLL(None).syscall(4000)" % N
    status, _, err = cmd("record", "-q", "-k", "stack:syscalls", "-o", work + "/nameless", "--", sys.executable, "-c", asks)
    is_(status, 0, "duet record: " + err)
    found = events("nameless")
    for event in "syscall_entry_unknown", "syscall_exit_unknown":
        asked = [e for e in found[event] if e["fields"]["id"] == 4000]
        is_(len(asked), N, event)
        ok(all(e["fields"]["callstack_user"] for e in asked), "each with a stack")


def filters_hold_for_events_with_stacks():
    _, _, found = record_running("filtered", "stack:syscall_exit_close", "-f", "ret == -9")
    is_(len(found["syscall_exit_close"]), N, "those that failed alone")
    is_(within(folded("filtered"), "main", "fail_here"), N, "in its functions")


def each_page_fault_is_counted_with_its_place():
    pid, pages, found = record_running("faults", "counter:page-faults")
    counted = found["counter_page_faults"]
    is_({e["fields"]["pid"] for e in counted}, {pid}, "the program's alone")
    is_({e["fields"]["count"] for e in counted}, {1}, "one by one")
    mine = sorted(e["fields"]["address"] - pages for e in counted if 0 <= e["fields"]["address"] - pages < N * PAGE)
    is_(mine, [i * PAGE for i in range(N)], "each page once")
    is_(within(folded("faults"), "touch_here"), N, "in its function")


def sessions_that_count_at_once_get_each_page_fault():
    """The kernel prepares one sample for all of them, with the number of one's event."""
    names = "first", "second", "third"
    p = start(program, N)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    for name in names:
        status, _, err = cmd("start", name, "-o", work + "/" + name, "-k", "counter:page-faults,counter:context-switches", "-p", p.pid)
        is_(status, 0, "duet start: " + err)
    p.send_signal(signal.SIGUSR1)
    pages = int(p.stdout.readline(), 16)
    for name in names:
        status, _, err = cmd("stop", name)
        is_(status, 0, "duet stop: " + err)
    is_(p.end(signal.SIGUSR1)[0], 0, "the program ends")
    for name in names:
        mine = sorted(e["fields"]["address"] - pages for e in events(name)["counter_page_faults"]
                      if 0 <= e["fields"]["address"] - pages < N * PAGE)
        is_(mine, [i * PAGE for i in range(N)], "each page once, " + name)


def chrome_draws_how_they_add_up():
    pid, _, found = record_running("drawn", "counter:page-faults")
    status, out, err = cmd("export", "chrome", work + "/drawn")
    is_(status, 0, "export chrome: " + err)
    drawn = [e["args"]["value"] for e in json.loads(out)["traceEvents"] if e["ph"] == "C"]
    is_(drawn, list(range(1, len(found["counter_page_faults"]) + 1)), "one more each time")


def a_period_counts_for_those_between():
    _, _, found = record_running("some", "counter:page-faults:10,counter:context-switches,counter:cpu-clock:1000000")
    is_({e["fields"]["count"] for e in found["counter_page_faults"]}, {10}, "each tenth")
    ok(found["counter_context_switches"], "switches")
    ok("sched_switch" not in found, "which are no events for that")


def counters_are_fields_of_chosen_events():
    status, out, err = cmd("record", "-q", "-k", "with:context-switches+page-faults:syscall_entry_getppid,syscall_exit_getppid",
                           "-k", "with:user-stack:syscall_entry_getrusage,with:kernel-stack:sched_process_exit",
                           "-o", work + "/fields", "--", faults, N)
    is_(status, 0, "duet record: " + err)
    found = events("fields")
    asked = [e["fields"] for e in found["syscall_entry_getppid"]]
    is_([sorted(f) for f in asked], [["perf_cpu_context_switches", "perf_cpu_page_faults"]] * (2 * N), "each with both, and no stack")
    real = [int(line) for line in out.split()]
    told = [b["perf_cpu_page_faults"] - a["perf_cpu_page_faults"] for a, b in zip(asked[::2], asked[1::2])]
    # Others may run on the CPU in between, and have faults of their own.
    ok(all(t >= r for t, r in zip(told, real)), "no fault is missing", (told, real))
    ok(any(t == r for t, r in zip(told, real)), "and none is invented", (told, real))
    is_({tuple(e["fields"]) for e in found["syscall_exit_getppid"]}, {("ret",)}, "its end has none")
    is_({tuple(e["fields"])[-1] for e in found["syscall_entry_getrusage"]}, {"callstack_user"}, "a stack and no counter")
    ok("perf_cpu_page_faults" not in found["syscall_entry_getrusage"][0]["fields"], "none here")
    is_([[f for f in e["fields"] if "_" in f and f != "group_dead"] for e in found["sched_process_exit"]], [["callstack_kernel"]],
        "the kernel's stack alone")


def babeltrace_reads_them_without_a_warning():
    for name, event in ("switches", "sched_switch"), ("calls", "syscall_entry_getppid"), ("faults", "counter_page_faults"), \
            ("nameless", "syscall_exit_unknown"), ("fields", "syscall_entry_getppid"):
        status, out, err = run("babeltrace2", "--clock-seconds", work + "/%s/kernel" % name)
        is_((status, err), (0, ""), "babeltrace2 " + name)
        is_(len(re.findall(" %s: " % event, out)), len(events(name)[event]), "events of " + name)


def the_successor_of_a_killed_collector_goes_on():
    _, pages, found = record_running("kept", "stack:syscall_entry_getppid,counter:page-faults", is_killed=True)
    is_(len(found["syscall_entry_getppid"]), N, "calls after the kill")
    is_(len({e["fields"]["address"] for e in found["counter_page_faults"] if 0 <= e["fields"]["address"] - pages < N * PAGE}), N,
        "faults after the kill")


def lost(name):
    m = re.search(r"(\d+) events lost", cmd("stats", work + "/" + name)[1])
    return int(m[1]) if m else 0


def a_flight_recorder_keeps_them_over_a_killed_collector():
    """And writes them into snapshots, with the names of their functions."""
    p = start(program, N)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    status, _, err = cmd("start", "flight", "-o", work + "/flight", "--overwrite",
                         "-k", "stack:syscall_entry_getppid,counter:page-faults,profile:99", "-p", p.pid)
    is_(status, 0, "duet start: " + err)
    p.send_signal(signal.SIGUSR1)
    pages = int(p.stdout.readline(), 16)
    status, _, err = cmd("snapshot", "-s", "flight", "-o", work + "/flight-1")
    is_(status, 0, "duet snapshot: " + err)
    kill_worker("flight")
    status, _, err = cmd("snapshot", "-s", "flight", "-o", work + "/flight-2")
    is_(status, 0, "duet snapshot: " + err)
    first = collector("flight")
    kill(first)
    until(lambda: collector("flight") not in (0, first), "another keeper")
    status, _, err = cmd("stop", "flight")
    is_(status, 0, "duet stop: " + err)
    is_(p.end(signal.SIGUSR1)[0], 0, "the program ends")
    for name in "flight-1", "flight-2", "flight":
        found = events(name)
        is_(len(found["syscall_entry_getppid"]), N, "each call once, " + name)
        mine = sorted(e["fields"]["address"] - pages for e in found["counter_page_faults"]
                      if 0 <= e["fields"]["address"] - pages < N * PAGE)
        is_(mine, [i * PAGE for i in range(N)], "each page once, " + name)
        is_({e["fields"]["pid"] for e in found["counter_page_faults"]}, {p.pid}, "the program's alone, " + name)
        stacks = folded(name, "-e", "*")
        ok(within(stacks, "main", "ask_here") >= N, "in its functions, which the clock may find, too, " + name)
        is_({f for stack in stacks for f in stack if f.startswith("0xffff")}, set(), "the kernel's have names, " + name)
        is_(lost(name), 0, "none is lost, " + name)
        status, _, err = run("babeltrace2", "--component=sink.utils.dummy", work + "/" + name)
        is_((status, err), (0, ""), "babeltrace2 " + name)


def a_flight_recorder_gives_up_the_oldest_and_counts_them():
    status, _, err = cmd("start", "small", "-o", work + "/small", "--overwrite", "--kernel-buffer", "64K",
                         "-k", "with:user-stack:syscall_entry_getppid")
    is_(status, 0, "duet start: " + err)
    burst, many = start(faults, 25 * N), 2 * 25 * N
    is_(burst.end()[0], 0, "many calls")
    rounds = []

    def newest_are_there():
        """If the collector came in time; else these are the lost ones."""
        p, name = start(faults, 10), "small-%d" % len(rounds)
        is_(p.end()[0], 0, "some calls")
        rounds.append(name)
        status, _, err = cmd("snapshot", "-s", "small", "-o", work + "/" + name)
        is_(status, 0, "duet snapshot: " + err)
        return sum(e["tid"] == p.pid for e in events(name)["syscall_entry_getppid"]) == 20

    until(newest_are_there, "the newest are kept")
    status, _, err = cmd("stop", "small")
    is_(status, 0, "duet stop: " + err)
    found = events("small")["syscall_entry_getppid"]
    ok(len(found) < many, "not all have room", len(found))
    ok(len(found) + lost("small") >= many + 20 * len(rounds), "missing events are counted", (len(found), lost("small"), len(rounds)))
    ok(max(e["time"] for e in found) == found[-1]["time"], "in order")


def losses_before_and_after_a_kill_are_in_the_summary():
    """The collector sleeps while more is recorded than its buffer holds, wakes up, and is killed; twice."""
    status, _, err = cmd("start", "lives", "-o", work + "/lives", "--kernel-buffer", "64K", "-k", "with:user-stack:syscall_entry_getppid")
    is_(status, 0, "duet start: " + err)
    before = rounds = 0

    def is_reported():
        """By perf with the next event that has room; in the files, if it was written."""
        nonlocal rounds
        rounds += 1
        is_(start(faults, 10).end()[0], 0, "some calls")
        return lost("lives") > before

    for _ in range(2):
        first, before = worker_of(collector("lives")), lost("lives")
        os.kill(first, signal.SIGSTOP)
        is_(start(faults, 25 * N).end()[0], 0, "many calls")
        os.kill(first, signal.SIGCONT)
        until(is_reported, "losses are reported")
        kill_worker("lives")
    status, out, err = cmd("stop", "lives")
    is_(status, 0, "duet stop: " + err)
    m = re.search(r"(\d+) LOST", out + err)
    told = int(m[1]) if m else 0
    found = len(events("lives")["syscall_entry_getppid"])
    is_(told, lost("lives"), "the losses in the files, in the summary")
    ok(found + told >= 2 * 2 * 25 * N + 20 * rounds, "nothing is missing", (found, told, rounds))


def unrecordable_stacks_and_counters_are_refused():
    for args, want in ((["-k", "counter:nonsense"], "no such counter"), (["-k", "counter:page-faults:0"], "a number is expected"),
                       (["-k", "with:page-faults+nonsense:sched_switch"], "no such counter"),
                       (["-k", "with:page-faults"], "a pattern are expected"), (["-k", "with:stack:nonsense"], "no kernel event matches"),
                       (["-k", "stack:nonsense"], "no kernel event matches"),
                       (["-k", "counter:page-faults", "-f", "pid > 3"], "takes no filter")):
        status, _, err = cmd("record", "-q", *args, "-o", work + "/refused", "--", "true")
        ok(status and want in err, " ".join(args), err)
    # Where perf_event_paranoid is -1, as much memory as wanted may be locked.
    status, _, err = run("prlimit", "--memlock=65536", "setpriv", "--bounding-set=-ipc_lock", duet, "record", "-q",
                         "-k", "stack:sched_switch", "--kernel-buffer", "64M", "-o", work + "/unlocked", "--", "true")
    ok("--kernel-buffer" in err if status else not err, "memory that may not be locked", err)
    if not os.path.exists("/sys/bus/event_source/devices/cpu") and not os.path.exists("/sys/bus/event_source/devices/cpu_core"):
        status, _, err = cmd("record", "-q", "-k", "counter:cycles", "-o", work + "/refused", "--", "true")
        ok(status and "no PMU" in err, "a counter of the processor without one", err)
        status, _, err = cmd("record", "-q", "-k", "with:cycles:sched_switch", "-o", work + "/refused", "--", "true")
        ok(status and "no PMU" in err and "cycles" in err, "the same as a field", err)


if __name__ == "__main__":
    may_sample()
    run_cases(switches_have_stacks_and_times_off_the_cpu, switches_from_idle_are_there, some_system_calls_have_stacks_and_the_others_none,
              calls_without_a_name_have_stacks_too, filters_hold_for_events_with_stacks,
              each_page_fault_is_counted_with_its_place, sessions_that_count_at_once_get_each_page_fault, chrome_draws_how_they_add_up, a_period_counts_for_those_between,
              counters_are_fields_of_chosen_events,               babeltrace_reads_them_without_a_warning, the_successor_of_a_killed_collector_goes_on,
              a_flight_recorder_keeps_them_over_a_killed_collector, a_flight_recorder_gives_up_the_oldest_and_counts_them,
              losses_before_and_after_a_kill_are_in_the_summary,
              unrecordable_stacks_and_counters_are_refused)
