#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_syscalls.py DUET LIBDUET PROGRAM - counts and errors of a run agree with `strace -c -f`."""
import json
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import real
from check import Duet, Failed, check, row, run_all

PROGRAM = None
# strace interferes with these: it interrupts and restarts calls.
LEFT_OUT = {"restart_syscall", "execve"}


def counted_by_strace(path):
    counts = {}
    for line in open(path):
        w = line.split()
        if len(w) >= 2 and w[1].isdigit() and w[0] != "total":
            counts[w[0]] = (int(w[1]), int(w[2]) if len(w) > 2 else 0)
    return counts


def made_before_exec(duet, trace, pid):
    """Ends of calls of a process before exec: strace does not count those."""
    counts = {}
    for line in duet.text("view", "--json", "-e", "syscall_exit_*", "-e", "sched_process_exec", trace).splitlines():
        e = json.loads(line)
        if e.get("tid") != pid:
            continue
        if e["event"] == "sched_process_exec":
            break
        call = e["event"][len("syscall_exit_"):]
        if call not in ("clone", "clone3", "fork", "vfork"):  # its parent's
            counts[call] = counts.get(call, 0) + 1
    return counts


def counts_are_those_of_strace_in_the_same_run(duet, where):
    out = os.path.join(where, "strace")
    trace, _ = real.record_all(duet, where, ["-k", "syscalls", "-k", "sched"],
                               ["strace", "-f", "-c", "-U", "name,calls,errors", "-o", out, PROGRAM, "calls"])
    strace_counts, ours, pids = counted_by_strace(out), {}, set()
    for r in duet.json("report", "syscalls", "--by", "process", trace)["syscalls"]:
        if r["process"].split(":")[0] == os.path.basename(PROGRAM)[:15]:
            n, errors = ours.get(r["call"], (0, 0))
            pids.add(r["pid"])
            ours[r["call"]] = (n + r["n"], errors + r["n_errors"])
    for call, n in made_before_exec(duet, trace, min(pids)).items():
        ours[call] = (ours[call][0] - n, ours[call][1])
    for call in sorted(set(strace_counts) - LEFT_OUT):
        check(ours.get(call), strace_counts[call], call)
    for call in ("getppid", "openat", "close", "lseek"):
        if call not in strace_counts:
            raise Failed("strace did not see %s: %r" % (call, strace_counts))
    check(ours["getppid"][0], 4 * 500)
    check(ours["lseek"], (44, 44))


def the_slowest_is_the_sleep(duet, where):
    trace, _ = real.record_all(duet, where, ["-k", "syscalls"], [PROGRAM, "calls"])
    r = duet.json("report", "syscalls", trace)
    sleeps = row(r["syscalls"], call="clock_nanosleep")
    check(sleeps["n"], 1)
    check(20e6 <= sleeps["max_ns"] < 30e9, True, "a sleep of 20 ms took %s ns" % sleeps["max_ns"])
    check(sum(c["n"] for c in r["syscalls"]) >= 4 * 559, True)


if __name__ == "__main__":
    real.need_root()
    if not real.have("strace"):
        print("needs strace")
        sys.exit(77)
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([counts_are_those_of_strace_in_the_same_run, the_slowest_is_the_sleep],
                     Duet(sys.argv[1])))
