#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples of where CPU time goes: of the processes followed and no others, with the functions of program and kernel;
over a killed collector, in pieces, and as Babeltrace reads them.

arguments: DUET PROGRAM LATE LATE_LIBRARY
"""
import collections
import json
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from recorder import record  # noqa: E402
from trial import cmd, is_, ok, paths, run, run_cases, skip, start, until, work  # noqa: E402

program, late, late_library = paths(3, library=False)
HZ = 997


def events(recording, name):
    return [e for e in map(json.loads, cmd("view", "--json", recording)[1].splitlines()) if e.get("event") == name]


def samples(recording):
    return events(recording, "profile")


def folded(recording):
    """stack -> samples"""
    status, out, err = cmd("export", "folded", recording)
    is_(status, 0, "export folded: " + err)
    lines = [line.rpartition(" ") for line in out.splitlines()]
    return collections.Counter({tuple(stack.split(";")): int(n) for stack, _, n in lines})


def within(stacks, *functions):
    """Samples that were in all these functions."""
    return sum(n for stack, n in stacks.items() if all(f in stack for f in functions))


def may_sample():
    status, _, err = cmd("record", "-q", "-k", "profile:10", "-o", work + "/may", "--", "true")
    if status and re.search("no right to|tracefs", err):
        skip(err.strip().splitlines()[0])


# ---------------------------------------------------------------- cases

def samples_are_of_those_followed_in_their_functions():
    other = start(sys.executable, "-c", "while True: pass")
    out, _ = record(work + "/one", "-q", "-k", "profile:%d" % HZ, "--", program, "0.15")
    other.end(signal.SIGKILL)
    used_s, child = float(out.split()[0]), int(out.split()[1])
    found, stacks = samples(work + "/one"), folded(work + "/one")
    pids = collections.Counter(e["fields"]["pid"] for e in found)
    # The kernel has no number any more for a thread in the last moments of its end.
    tids = {e["tid"] for e in found if e["fields"]["pid"] != child and "tid" in e}
    # A late timer makes one sample of several; and CPU time is counted by ticks in some kernels.
    ok(HZ * used_s * 0.2 < len(found) < HZ * used_s * 1.3 + 50, "a sample each 1/%d s" % HZ, (len(found), used_s))
    ok(child in pids and len(pids) == 2, "the program's and its child's, no others'", (pids, child))
    ok(len(tids) == 2, "both threads", tids)
    n = sum(stacks.values())
    is_(n, len(found), "each has a stack")
    # Its own functions keep frame pointers.
    ok(within(stacks, "work", "busy_user") > n * 0.1, "its functions are named", stacks.most_common(5))
    in_kernel = [e for e in found if e["fields"]["callstack_kernel"]]
    ok(len(in_kernel) > n * 0.1, "the kernel's part", len(in_kernel))
    ok(any(re.search("entry_|el0", f) for stack in stacks for f in stack), "its functions are named", stacks.most_common(5))
    # Before its exec it is called duet.
    is_({e.get("proc") for e in found} - {"duet"}, {"profile_program"}, "the process is named")
    dumped = events(work + "/one", "lttng_statedump_end")[0]["time"]
    ok(dumped < found[0]["time"], "threads are described before they are sampled", (dumped, found[0]["time"]))


def time_goes_forward_and_babeltrace_agrees():
    found = samples(work + "/one")
    times = [e["time"] for e in found]
    is_(times, sorted(times), "in order")
    status, out, err = run("babeltrace2", "--clock-seconds", work + "/one/kernel")
    is_((status, err), (0, ""), "babeltrace2")
    theirs = re.findall(r" profile: .*pid = (\d+), callstack_kernel_length = (\d+)", out) or \
        re.findall(r" profile: .*pid = (\d+), _callstack_kernel_length = (\d+)", out)
    is_([(int(p), int(n)) for p, n in theirs],
        [(e["fields"]["pid"], len(e["fields"]["callstack_kernel"])) for e in found], "event by event")


def collector():
    """The number of the process that collects; 0 while there is none."""
    m = re.search(r"\(process (\d+)\)", cmd("status", "sampled")[1])
    return int(m[1]) if m else 0


def the_successor_of_a_killed_collector_follows_the_same_processes():
    """The child was forked when the first collector lived, and works when the second one does."""
    p = start(program, "waiting", "0.06")
    is_(p.stdout.readline(), "ready\n", "the program runs")
    status, _, err = cmd("start", "sampled", "-o", work + "/kept", "-k", "profile:%d" % HZ, "-p", p.pid)
    is_(status, 0, "duet start: " + err)
    first = collector()
    p.send_signal(signal.SIGUSR1)
    child = int(p.stdout.readline())
    kill(first)
    until(lambda: collector() not in (0, first), "another collector")
    os.kill(child, signal.SIGUSR1)
    p.end(signal.SIGUSR1)
    status, _, err = cmd("stop", "sampled")
    is_(status, 0, "duet stop: " + err)
    pids = {e["fields"]["pid"] for e in samples(work + "/kept")}
    is_(pids, {p.pid, child}, "both, after the kill")


def each_chunk_names_the_kernels_functions():
    for seconds in 0.1, 1, 10:  # a collector that gets no CPU begins no piece meanwhile
        path = "%s/pieces-%s" % (work, seconds)
        record(path, "-q", "-k", "profile:%d" % HZ, "--rotate", "100ms", "--", program, seconds)
        pieces = sorted(d for d in os.listdir(path) if d.startswith("piece-"))
        if len(pieces) > 1:
            break
    ok(len(pieces) > 1, "several pieces", pieces)
    for piece in pieces:
        found = samples("%s/%s" % (path, piece))
        addresses = {"0x%x" % a for e in found for a in e["fields"]["callstack_kernel"]}
        shown = {f for stack in folded("%s/%s" % (path, piece)) for f in stack} if found else set()
        # A BPF program or module of somebody else may be gone by the end of the piece.
        nameless = {a for a in addresses & shown if int(a, 16) < 0xffffffffc0000000}
        is_(nameless, set(), piece + ": addresses in the kernel that have no name")


def libraries_that_are_opened_later_are_named():
    """Also if they are closed, and the program has ended, before the next look; and programs that were never examined."""
    for name, more in (("followed", []), ("whole", ["--all-kernel"])):
        record(work + "/late-" + name, "-q", "-k", "profile:%d" % HZ, *more, "--", late, late_library, "0.1")
        stacks = folded(work + "/late-" + name)
        ok(within(stacks, "busy_early") > 20, "its own function", stacks.most_common(5))
        ok(within(stacks, "busy_late") > 10, "the library's, " + name, stacks.most_common(5))
    record(work + "/moment", "-q", "-k", "profile:%d" % HZ, "--", "sh", "-c", "; ".join([late] * 10))
    stacks = folded(work + "/moment")
    ok(within(stacks, "busy_early") > 10, "programs of a moment", stacks.most_common(5))


def impossible_samples_are_refused():
    for args, want in ((["-k", "profile:0"], "a rate from 1"), (["-k", "profile:x"], "a rate from 1"),
                       (["-k", "profile:99", "-f", "pid > 3"], "takes no filter")):
        status, _, err = cmd("record", "-q", *args, "-o", work + "/refused", "--", "true")
        ok(status and want in err, " ".join(args), err)


if __name__ == "__main__":
    may_sample()
    run_cases(samples_are_of_those_followed_in_their_functions, time_goes_forward_and_babeltrace_agrees,
              the_successor_of_a_killed_collector_follows_the_same_processes, each_chunk_names_the_kernels_functions,
              libraries_that_are_opened_later_are_named,
              impossible_samples_are_refused)
