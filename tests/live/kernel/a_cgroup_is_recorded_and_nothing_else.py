#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes in a cgroup, forked in it or moved to it later are recorded, and no others: events of the kernel and of programs.
With cgroups of its own, made for it and removed.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import start_counting, stop_counting  # noqa: E402
from trial import begins, cmd, duet, is_, ok, paths, run, run_cases, skip, start, until, work  # noqa: E402

program, library = paths(2)
MARK = "syscall_entry_getsid"
# On each line: once more, in a child; then its kind.
MARKER = """
import os, sys
for line in sys.stdin:
    os.getsid(0)
    child = os.fork()
    if not child:
        os.getsid(0)
        os._exit(0)
    os.waitpid(child, 0)
    print(child, flush=True)
"""
# Many threads; on each line the first makes a call, on "all" each.
CROWD = """
import os, sys, threading
together = threading.Barrier(301)
def one():
    os.write(1, b"%d\\n" % threading.get_native_id())
    together.wait()
    os.getsid(0)
    together.wait()
for _ in range(300):
    threading.Thread(target=one, daemon=True).start()
for line in sys.stdin:
    if line == "all\\n":
        together.wait()
        together.wait()
    os.getsid(0)
    print("called", flush=True)
"""
groups = []


def hierarchy():
    for line in open("/proc/self/mountinfo"):
        w = line.split()
        if " - cgroup2 " in line and w[3] == "/":
            return w[4]
    return skip("the unified hierarchy of cgroups is mounted nowhere")


def make_group(below=None):
    path = "%s/duet-%d-%d" % (below or hierarchy(), os.getpid(), len(groups))
    try:
        os.mkdir(path)
    except OSError as e:
        skip("no cgroup can be made: %s" % e)
    groups.append(path)
    return path


def remove_groups():
    while groups:
        path = groups.pop()
        until(lambda: not open(path + "/cgroup.procs").read(), "no process is in %s" % path)
        os.rmdir(path)


def put(p, group):
    with open(group + "/cgroup.procs", "w") as f:
        f.write(str(p.pid))


class Marker:
    def __init__(self):
        self.p = start(sys.executable, "-c", MARKER, stdin=subprocess.PIPE)
        self.pid = self.p.pid
        self.mark()

    def mark(self):
        """-> the child's number"""
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        return int(self.p.stdout.readline())

    def end(self):
        self.p.communicate()


def marks(path):
    """pid -> how many of them"""
    status, out, err = cmd("view", "--json", "-e", MARK, path)
    found = {}
    for e in map(json.loads, out.splitlines()):
        found[e["tid"]] = found.get(e["tid"], 0) + 1
    return found


def recorder(name, group, *args):
    p = start(duet, "record", "-q", "-o", work + "/" + name, "--cgroup", group, *args)
    return work + "/" + name, begins(p)


def ends(p):
    p.send_signal(signal.SIGINT)
    is_(p.wait(), 0, "it ends: " + p.stderr.read())


# ---------------------------------------------------------------- cases

def all_processes_in_it_are_recorded_and_no_others(name="within", *args):
    group = make_group()
    within, below, later, outside = [Marker() for _ in range(4)]
    put(within, group)
    put(below, make_group(group))
    path, r = recorder(name, group, "-k", "syscalls", *args)
    put(later, group)
    children = [within.mark(), below.mark()]
    no_children = [outside.mark()]

    def is_followed():
        later.mark()
        return later.pid in marks(path)
    until(is_followed, "a process that comes later is recorded")
    children.append(later.mark())
    for m in (within, below, later, outside):
        m.end()
    ends(r)
    found = marks(path)
    is_([found.get(p) for p in [within.pid, below.pid] + children], [1] * 5, "each call, also of those born in it")
    is_([found.get(p) for p in [outside.pid] + no_children], [None] * 2, "of no other process")
    remove_groups()


def by_programs_of_bpf_as_well():
    if cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", work + "/probe", "--", "true")[0]:
        return
    all_processes_in_it_are_recorded_and_no_others("bpf", "--kernel-backend=bpf")


def in_pieces_as_well():
    all_processes_in_it_are_recorded_and_no_others("pieces", "--rotate", "300ms", "--kernel-context", "pid")


def in_a_flight_recorder_as_well():
    group = make_group()
    within, later = Marker(), Marker()
    put(within, group)
    path, r = recorder("flight", group, "-k", "syscalls", "--overwrite")
    put(later, group)
    n = [0]

    def is_followed():
        later.mark()
        n[0] += 1
        snapshot = "%s/snapshot-%d" % (work, n[0])
        is_(cmd("snapshot", "-o", snapshot)[0], 0, "a snapshot")
        return later.pid in marks(snapshot)
    until(is_followed, "a process that comes later is recorded")
    child = within.mark()
    within.end()
    later.end()
    ends(r)
    is_([marks(path).get(p) for p in (within.pid, child)], [1, 1], "the process that was there, and its child")
    remove_groups()


class Crowd:
    def __init__(self):
        self.p = start(sys.executable, "-c", CROWD, stdin=subprocess.PIPE)
        self.pid = self.p.pid
        self.tids = {int(self.p.stdout.readline()) for _ in range(300)}

    def call(self, who="one"):
        self.p.stdin.write(who + "\n")
        self.p.stdin.flush()
        is_(self.p.stdout.readline(), "called\n", "it calls")


def a_crowd_is_followed(path, r, crowd):
    def is_followed():
        crowd.call()
        return crowd.pid in marks(path)
    until(is_followed, "it is followed")
    crowd.call("all")
    crowd.p.communicate()
    ends(r)
    found = marks(path)
    is_({t: found.get(t) for t in crowd.tids}, dict.fromkeys(crowd.tids, 1), "each call of each thread")


def all_threads_of_a_new_process_are_recorded():
    group, crowd = make_group(), Crowd()
    path, r = recorder("crowd", group, "-k", "syscalls,sched", "--kernel-backend=ftrace")
    put(crowd, group)
    a_crowd_is_followed(path, r, crowd)
    remove_groups()


def and_those_of_a_process_that_is_named():
    crowd = Crowd()
    r = start(duet, "record", "-q", "-o", work + "/named", "-p", str(crowd.pid), "-k", "syscalls,sched", "--kernel-backend=ftrace")
    a_crowd_is_followed(work + "/named", r, crowd)


def an_empty_cgroup_records_no_process():
    group = make_group()
    outside = Marker()
    path, r = recorder("empty", group, "-k", "syscalls,sched")
    outside.mark()
    outside.end()
    ends(r)
    is_(marks(path), {}, "no process is recorded")
    remove_groups()


def numbers(path):
    """Which threads of programs have events."""
    return {int(n) for n in re.findall(r"thread = (\d+)", cmd("view", path)[1])}


def programs_in_it_are_recorded():
    group = make_group()
    running, outside, comes = start_counting(program, 0), start_counting(program, 100), start_counting(program, 200)
    put(running, group)
    path, r = recorder("programs", group, "-e", "*:*", "-k", "sched_process_exec")
    started = start("sh", "-c", 'echo $$ >%s/cgroup.procs; exec %s 300' % (group, program))
    is_(started.stdout.readline(), "ready\n", "the program runs")
    put(comes, group)
    until(lambda: {n // 100 for n in numbers(path)} == {0, 2, 3}, "they are recorded, and the one outside is not")
    for p in (running, outside, comes, started):
        stop_counting(p)
    ends(r)
    is_({n // 100 for n in numbers(path)}, {0, 2, 3}, "until the end")
    path, r = work + "/others", start(duet, "record", "-q", "-o", work + "/others", "--cgroup", "!" + group, "-e", "*:*")
    begins(r)
    running, outside = start_counting(program, 0), start_counting(program, 100)
    put(running, group)
    started = start("sh", "-c", 'echo $$ >%s/cgroup.procs; exec %s 300' % (group, program))
    is_(started.stdout.readline(), "ready\n", "the program runs")
    for p in (running, outside, started):
        stop_counting(p)
    ends(r)
    is_({n // 100 for n in numbers(path)}, {0, 1}, "without those that were in it when they began")
    remove_groups()


def mistakes_are_reported():
    for args, said in ((("--cgroup", "/no/such"), "cgroup /no/such: the unified hierarchy"),
                       (("--cgroup", "/../proc"), "has no such cgroup"),
                       (("--cgroup", "/", "--", "true"), "--cgroup: it chooses the processes"),
                       (("--cgroup", "/", "-p", str(os.getpid())), "--cgroup: it chooses the processes")):
        status, out, err = cmd("record", "-o", work + "/none", *args)
        is_(status, 2, "it is refused")
        ok(said in err, said, err)
    threaded = make_group(make_group())
    with open(threaded + "/cgroup.type", "w") as f:
        f.write("threaded")
    status, out, err = cmd("record", "-o", work + "/none", "--cgroup", threaded)
    is_(status, 2, "a cgroup without a list of processes is refused")
    os.rmdir(groups.pop())  # nor can they be listed
    ok("it is threaded" in err, "and why", err)
    remove_groups()


if __name__ == "__main__":
    status, _, err = cmd("record", "-q", "-k", "sched_switch", "-o", work + "/may", "--", "true")
    if status and re.search("no right|tracefs|root", err):
        skip(err.strip().splitlines()[0])
    try:
        run_cases(all_processes_in_it_are_recorded_and_no_others, by_programs_of_bpf_as_well, in_pieces_as_well,
                  in_a_flight_recorder_as_well, all_threads_of_a_new_process_are_recorded, and_those_of_a_process_that_is_named,
                  an_empty_cgroup_records_no_process, programs_in_it_are_recorded, mistakes_are_reported)
    finally:
        for p in reversed(groups):
            for pid in open(p + "/cgroup.procs").read().split():
                run("sh", "-c", "echo %s >%s/cgroup.procs" % (pid, hierarchy()))
            os.rmdir(p)
