#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The scheduler's events that BPF programs record are those that tracefs records: one recording is recorded by the
other, and of each CPU the sequences must be equal, event by event and field by field; and so with filters.

arguments: DUET PROGRAM LIBDUET [ROUNDS]        100 by hand, also beside busy loops

Permitted differences, and their reasons (docs/design/kernel/README.md, "By BPF programs"):
- prev_state of a thread that is gone is 32 (zombie) or 16 (dead): a reaper on another CPU comes between the two reads;
- events while a thread of process 1 runs: some kernels run no program of ours there, nor report its switches;
- events in idle, some of which (switches from it, wakeups sent to it) some kernels do not report to tracefs.
"""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import view  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run_cases, skip, start, work  # noqa: E402

program, library = paths(2)
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 4
EVENTS = "sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"
GONE = {16: 32}
BACKENDS = "ftrace", "bpf"


def events(path):
    return [e for e in view(path, may_lose=False) if "event" in e]


def family_of(found):
    """The threads that came after the first process's first call of getppid."""
    begin = next(i for i, e in enumerate(found) if e["event"] == "syscall_entry_getppid")
    first = found[begin]["tid"]
    family = {first}
    for e in found[begin:]:
        if e["event"] == "sched_process_fork" and e["tid"] in family:
            family.add(e["fields"]["child_tid"])
    return family - {first}


def sequences(found, family):
    by_cpu = collections.defaultdict(list)
    for e in found:
        f = e["fields"]
        if e["event"] not in EVENTS or e.get("pid") == 1 or not {f.get(k) for k in ("prev_tid", "next_tid", "tid")} & family:
            continue
        f["prev_state"] = GONE.get(f.get("prev_state"), f.get("prev_state"))
        by_cpu[e["cpu"]].append(json.dumps([e["event"], e["tid"], f]))
    return by_cpu


def is_in_idle(event):
    return json.loads(event)[1] == 0


def difference(by_bpf, by_ftrace):
    """Where the sequences part, with events in idle permitted to be in the first alone; None: nowhere.

    Threads that sleep often repeat the same events, so a general diff would align them wrongly at a permitted one."""
    at = 0
    for i, e in enumerate(by_bpf):
        if at < len(by_ftrace) and by_ftrace[at] == e:
            at += 1
        elif not is_in_idle(e):
            return by_bpf[max(i - 3, 0):i + 4], by_ftrace[max(at - 3, 0):at + 4]
    return None if at == len(by_ftrace) else ([], by_ftrace[at:at + 8])


def twice(outside, *options):
    """The values that both recorded, by their names."""
    inside = BACKENDS[outside == BACKENDS[0]]
    paths = {outside: work + "/outer", inside: work + "/inner"}
    status, _, err = cmd("record", "-q", "--kernel-backend", outside, *options, "-o", paths[outside], "--", duet, "record", "-q",
                         "--kernel-backend", inside, *options, "-o", paths[inside], "--", program, "tree")
    is_(status, 0, "it is recorded twice: %s" % err)
    found = {b: events(paths[b]) for b in BACKENDS}
    subprocess.run(["rm", "-r", *paths.values()], check=True)
    return inside, found


def compare(outside):
    inside, found = twice(outside)
    family = family_of(found[inside])
    is_(len(family), 9, "three times two processes and a thread")
    found = {b: sequences(found[b], family) for b in BACKENDS}
    n = sum(map(len, found["bpf"].values()))
    ok(n > 100, "there is something to compare", n)
    for cpu in sorted(set(found["bpf"]) | set(found["ftrace"])):
        parted = difference(found["bpf"][cpu], found["ftrace"][cpu])
        ok(not parted, "cpu %d: the same" % cpu, "by BPF %s, by ftrace %s" % (parted or ("", "")))


def both_record_the_same_events_in_the_same_order():
    for i in range(rounds):
        compare(BACKENDS[i % 2])


def so_they_do_beside_busy_loops():
    busy = [start("sh", "-c", "while :; do :; done") for _ in range(os.cpu_count() + 1)]
    for i in range(rounds // 2):
        compare(BACKENDS[i % 2])
    for b in busy:
        b.kill()
        b.wait()


# Filters that BPF programs can apply; none is about a permitted difference.
FILTERS = (("sched_switch", 'prev_state == 1 && next_comm != "swapper/0"'), ("sched_switch", "prev_prio == 20 || !(next_tid > 100)"),
           ("sched_switch", "prev_state & 3"), ("sched_switch", '!(prev_comm == "bpf_program") && next_comm == "bpf_program"'),
           ("sched_waking", "prio <= 20 && target_cpu == 0"), ("sched_wakeup", "prio != 20 || (target_cpu >= 1 && tid > 1)"),
           ("syscall_exit_*", "ret < 0"), ("syscall_exit_*", "ret == -2 || ret > 100 && ret < 10000"))


def filters_let_the_same_pass():
    passed = []
    for i, (event, expression) in enumerate(FILTERS):
        inside, found = twice(BACKENDS[i % 2], "-k", event, "-f", expression, "-k", "syscall_*_getppid,sched_process_fork")
        family = family_of(found[inside])
        if event.startswith("sched"):
            seen = {b: {c: [e for e in s if not is_in_idle(e)] for c, s in sequences(found[b], family).items()} for b in BACKENDS}
            seen = {b: {c: s for c, s in of.items() if s} for b, of in seen.items()}
        else:
            seen = {b: [(e["tid"], e["event"], e["fields"]["ret"]) for e in found[b] if e["tid"] in family and "_exit_" in e["event"]]
                    for b in BACKENDS}
            seen = {b: sorted(s, key=lambda e: e[0]) for b, s in seen.items()}  # of each thread, in order
        is_(seen["bpf"], seen["ftrace"], "%s if %s: the same" % (event, expression))
        passed.append(bool(seen["bpf"]))
    ok(sum(passed) > len(FILTERS) / 2, "some pass", passed)


# Births, names and ends: BPF programs record them where they record all events.
LIVES = "sched_process_fork", "sched_process_exec", "sched_process_exit", "task_newtask", "task_rename"


def lives(found, first):
    """Those of process @first and of its descendants, of each thread in order."""
    family = {first}
    of = collections.defaultdict(list)
    for e in found:
        if e["event"] == "sched_process_fork" and e["tid"] in family:
            family.add(e["fields"]["child_tid"])
        if e["event"] in LIVES:
            of[e["tid"]].append((e["event"], e["fields"]))
    return {tid: events for tid, events in of.items() if tid in family}


def births_names_and_ends_are_the_same():
    for i in range(rounds):
        inside, found = twice(BACKENDS[i % 2], "-k", ",".join(LIVES), "-k", "syscall_*_getppid")
        first = next(e["tid"] for e in found[inside] if e["event"] == "syscall_entry_getppid")
        found = {b: lives(found[b], first) for b in BACKENDS}
        is_(found["bpf"], found["ftrace"], "of each thread the same")
        seen = collections.Counter(event for events in found["bpf"].values() for event, _ in events)
        ok(all(seen[event] for event in LIVES), "there is something to compare", seen)


if os.geteuid():
    skip("needs root: the kernel is recorded")
status, _, why = cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", work + "/probe", "--", "true")
if status:
    skip(why)
run_cases(births_names_and_ends_are_the_same, filters_let_the_same_pass, both_record_the_same_events_in_the_same_order, so_they_do_beside_busy_loops)
