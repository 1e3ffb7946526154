#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""However a script ends, the kernel is as before: no BPF program or map, no tracefs instance, no process.

    scripts_leave_nothing_in_the_kernel.py DUET PROGRAM LIBDUET [KILLS]

Scripts are killed at random moments of their lives, from the first millisecond on.  Programs and maps of others may
come and go meanwhile, so each of ours is found by the descriptors that a script had.
"""
import ctypes
import glob
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402
from trial import cmd, dice, duet, is_, ok, paths, run_cases, runtime, skip, start, until, work  # noqa: E402

program, library = paths(2)
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 12
BPF = 321  # the system call
PROG_GET_NEXT_ID, MAP_GET_NEXT_ID = 11, 12
STREAM = 'probe syscall.openat { println(user_string2($filename, "?")) } probe kernel.trace("sched:sched_switch") { n++ } ' \
         'global n; probe begin { println("ready") }'
FOLDED = 'global n; probe syscall.getppid { n[pid()]++ } probe begin { println("ready") }'
FOLLOWED = 'probe app.shop.order { println($id) } probe begin { println("ready") } probe timer.s(1000) {}'
libc = ctypes.CDLL(None, use_errno=True)


def ids(command):
    """The ids of all programs or maps of the kernel."""
    found, attr = set(), (ctypes.c_uint32 * 32)()
    while libc.syscall(BPF, command, attr, ctypes.sizeof(attr)) == 0:
        found.add(attr[1])
        attr[0] = attr[1]
    return found


def held(pid):
    """Ids of the programs and maps whose descriptors a process has."""
    programs, maps = set(), set()
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            text = open(path).read()
        except (FileNotFoundError, ProcessLookupError):
            continue
        for line in text.splitlines():
            if line.startswith("prog_id:"):
                programs.add(int(line.split()[1]))
            elif line.startswith("map_id:"):
                maps.add(int(line.split()[1]))
    return programs, maps


def instances_of(pids):
    """Others record at the same time."""
    return {os.path.basename(path) for d in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
            for pid in pids for path in glob.glob("%s/instances/duet-%d-*" % (d, pid))}


def are_gone(programs, maps):
    until(lambda: not programs & ids(PROG_GET_NEXT_ID), "the kernel frees the programs")
    until(lambda: not maps & ids(MAP_GET_NEXT_ID), "the kernel frees the maps")


def a_script_that_ends_leaves_nothing():
    for text in STREAM, FOLDED:
        p = start(duet, "script", "-e", text)
        is_(p.stdout.readline(), "ready\n", "it runs")
        programs, maps = held(p.pid)
        ok(programs and maps, "it has programs and maps")
        is_(p.end(signal.SIGINT)[0], 0, "Ctrl-C")
        are_gone(programs, maps)


def recordings():
    """In memory, also those of other tests and of users."""
    return set(glob.glob("/dev/shm/duet-script-*"))


def a_script_that_is_killed_leaves_nothing():
    chance, before = dice(), recordings()
    for i in range(kills):
        text = (STREAM, FOLDED, FOLLOWED)[i % 3]
        more = ["-c", "%s files-%d" % (program, i)] if text == FOLLOWED else []
        if more:
            os.mkdir("files-%d" % i)
        p = start(duet, "script", "-e", text, *more)
        time.sleep(chance.random() * 0.08)
        programs, maps = held(p.pid)
        children = proc.descendants(p.pid)
        p.end(signal.SIGKILL)
        are_gone(programs, maps)
        for child in children:
            until(lambda child=child: proc.is_dead(child), "process %d ends" % child)
    until(lambda: not recordings() - before, lambda: "recordings in memory are removed: %s" % (recordings() - before))


def instances_of_killed_scripts_are_removed_by_the_next():
    p = start(duet, "script", "--save", "kept", "-e", FOLDED)
    is_(p.stdout.readline(), "ready\n", "it runs")
    pids = [p.pid, *proc.descendants(p.pid)]
    p.end(signal.SIGKILL)
    cmd("script", "--save", "again", "-e", "probe syscall.getppid { exit() } probe timer.s(1) { exit() }")
    until(lambda: not instances_of(pids), lambda: "no instance of it: %s" % instances_of(pids))


def nothing_is_left_in_the_runtime_directory():
    is_([f for f in os.listdir(runtime) if "script" in f] if os.path.isdir(runtime) else [], [], "no file of a script")


if os.geteuid():
    skip("needs root: BPF programs are loaded")
os.chdir(work)
run_cases(a_script_that_ends_leaves_nothing,
          a_script_that_is_killed_leaves_nothing,
          instances_of_killed_scripts_are_removed_by_the_next,
          nothing_is_left_in_the_runtime_directory)
