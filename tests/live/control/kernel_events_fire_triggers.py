#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernel events fire triggers: one, a rate, a time, a lateness, and a pair with an application's event; in a flight
recorder, whose kernel buffers are not read otherwise, and in a recording that is paused.

arguments: DUET PROGRAM LIBDUET
"""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import collect_session, stop, view  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run_cases, skip, start, until, work  # noqa: E402
from proc import kill  # noqa: E402
from trial import worker_of  # noqa: E402

program, library = paths(2)


def status_of(session):
    return {t["number"]: t for t in json.loads(cmd("status", "--json", session)[1])["sessions"][0]["trigger"]}


def fired(session, number):
    return status_of(session)[number]["fired"]


class Shell:
    """A process with known system calls: it executes our commands."""

    def __init__(self):
        self.p = start("sh", "-c", "echo $$; while read line; do eval \"$line\"; echo done; done", stdin=subprocess.PIPE)
        self.pid = int(self.p.stdout.readline())

    def do(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        until(lambda: self.p.stdout.readline() == "done\n", "the shell does " + line)


def notes_of_births(trace):
    """The upper half of stream_instance_id in each entry of the indexes."""
    found = []
    for path in glob.glob(trace + "/index/*.idx"):
        with open(path, "rb") as f:
            entries = f.read()[16:]
        found += [e[7] >> 32 for e in struct.iter_unpack(">9Q", entries)]
    return found


def a_flight_recorders_kernel_events_fire():
    sh = Shell()
    c = collect_session("flight", "--overwrite", "-k", "sched", "-k", "syscall_*_chdir,syscall_*_umask", "--trigger",
                        "event kernel:syscall_entry_umask if mask == 23 && $vtid == %d -> snapshot, once" % sh.pid)
    w = start(duet, "trigger", "watch", "-s", "flight")
    texts = ["rate kernel:syscall_entry_umask > 3 per 1h if $vtid == %d -> notify, every 0s" % sh.pid,
             "time kernel:syscall_exit_umask to kernel:syscall_entry_chdir > 1ns if $vtid == %d -> notify, once" % sh.pid,
             "late kernel:syscall_entry_umask to kernel:sched:sched_process_exit > 10ms if mask == 11 -> notify, once",
             "event kernel:sched_process_exec if filename ~ \"*/true\" -> notify, once"]
    code, out, err = cmd("trigger", "add", "-s", "flight", *texts)
    ok(code == 0, "triggers are added to a running session", err)
    for bad in "event kernel:sched_switchh -> stop", "event kernel:block_rq_issue -> stop", \
            "event kernel:sched_switch if prev_pid == 3 -> stop", "rate kernel:sched_* > 3 per 1s by nix -> stop", \
            "time kernel:sched_switch to kernel:sched_waking > 1s by nix -> stop", \
            "event kernel:sched_switch if $vpid == 3 -> stop":
        code, out, err = cmd("trigger", "add", "-s", "flight", bad)
        ok(code == 2 and err.count("\n") == 1, "refused in a line: " + bad, out + err)
    sh.do("umask 27; umask 22")
    until(lambda: fired("flight", 1) and status_of("flight")[1]["state"] == "over", "a snapshot is taken")
    sh.do("umask 23; umask 22; cd /; umask 13")
    sh.do("/bin/true")
    until(lambda: all(fired("flight", n) for n in range(2, 6)), lambda: "all fire: %s" % status_of("flight"))
    until(lambda: len(w.stdout.so_far().splitlines()) >= 4, "the listener gets the report")
    w.end(signal.SIGTERM)
    told = {t["trigger"]: t for t in map(json.loads, w.stdout.so_far().splitlines())}
    ok([told[n]["event"] for n in (2, 3, 4, 5)] == ["kernel:syscall_entry_umask", "kernel:syscall_entry_chdir",
                                                    "kernel:syscall_entry_umask", "kernel:sched_process_exec"],
       "each names its event", told)
    ok(told[2]["value"] == 4 and told[2]["tid"] == told[3]["tid"] == sh.pid, "the count, and the thread", told)
    sh.p.stdin.close()
    stop(c)
    got = [e["fields"]["mask"] for e in view(work + "/flight/snapshot-1/kernel", "-e", "syscall_entry_umask")
           if e["tid"] == sh.pid]
    ok(0o27 in got, "the event that fired is in the snapshot", got)


def events_of_both_halves_are_a_pair():
    c = collect_session("both", "-k", "syscall_entry_write", "-e", "none:*")
    p = start(program, stdin=subprocess.PIPE)
    ok(p.stdout.readline().startswith("ready"), "the program runs")
    code, out, err = cmd("trigger", "add", "-s", "both",
                         "time shop:order to kernel:syscall_entry_write > 0ns if id == 7 -> notify, every 0s",
                         "time kernel:syscall_entry_write to shop:paid > 0ns -> notify, every 0s",
                         "late shop:noise to kernel:syscall_entry_write > 1ms -> notify")
    ok(code == 0, "pairs of both halves", err)
    for line in "order 6", "order 7", "noise 1", "paid 1":
        p.stdin.write(line + "\n")
        p.stdin.flush()
        p.stdout.readline()
    until(lambda: fired("both", 1) and fired("both", 2), lambda: "they fire: %s" % status_of("both"))
    worker = worker_of(c)
    kill(worker)
    until(lambda: worker_of(c) != worker and cmd("status", "both")[0] == 0, "another collector takes over")
    p.stdin.write("order 7\n")
    p.stdin.flush()
    until(lambda: fired("both", 1) == 2, "and has the triggers of the killed one")
    late = fired("both", 3)
    p.end()
    stop(c)
    # Whether the program was in time is in its recording: a busy machine may take the CPU from it.
    times = [(e["event"], e["time"]) for e in view(work + "/both") if e.get("tid") == p.pid]
    noise, = [t for name, t in times if name == "shop:noise"]
    write = min(t for name, t in times if name == "syscall_entry_write" and t > noise)
    is_(late, int(write - noise > 1000000), "a pair in time does not fire: the kernel's events were read (%d ns)" % (write - noise))


def a_paused_recording_starts_with_a_kernel_event():
    sh = Shell()
    go, halt = work + "/go", work + "/halt"  # no other process on the machine executes these
    shutil.copy("/bin/true", go)
    shutil.copy("/bin/true", halt)
    c = collect_session("armed", "-k", "syscall_entry_chdir,syscall_entry_umask,sched_process_exec,sched_process_exit",
                        "--trigger", "event kernel:sched_process_exec if filename == \"%s\" -> start" % go, "--trigger",
                        "event kernel:sched_process_exec if filename == \"%s\" -> stop" % halt)
    for number, line in ((1, go), (2, halt)):
        sh.do("umask %d0; cd /" % number)
        sh.do(line)
        until(lambda: fired("armed", number), lambda: "%s: %s" % (line, status_of("armed")))
    sh.do("umask 30; cd /")
    sh.p.stdin.close()
    stop(c)
    got = [e["fields"].get("mask", "chdir") for e in view(work + "/armed/kernel")
           if e["event"].startswith("syscall") and e["tid"] == sh.pid]
    ok(got.count("chdir") == 1 and 0o20 in got and 0o30 not in got,  # a shell may ask for its mask by setting it
       "the events between are recorded", got)
    notes = notes_of_births(work + "/armed/kernel")
    ok(notes and set(notes) == {0}, "threads may have been born in a pause: the index says nothing of births", notes)


if os.geteuid():
    skip("needs root: the kernel is recorded")
run_cases(a_flight_recorders_kernel_events_fire, events_of_both_halves_are_a_pair,
          a_paused_recording_starts_with_a_kernel_event)
