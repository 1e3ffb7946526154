#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recorder of the kernel is killed at any moment, in each way to record: the kernel stops recording and has
its memory back at once, BPF programs and maps are gone, and the next recorder removes the rest.

arguments: DUET PROGRAM [KILLS]        1000 by hand: some 20 minutes

Others may record at the same time, so this examines files with the number of a process of ours in their name, and those
BPF programs and maps that came meanwhile and that no living process holds.
"""
import ctypes
import glob
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from tracefs import TRACEFS, mount_tracefs  # noqa: E402

mount_tracefs()
from proc import descendants, is_dead, kill_tree  # noqa: E402
from trial import cmd, dice, duet, is_, ok, paths, remarks, run, run_cases, skip, start, until, work  # noqa: E402

program = shutil.copy(paths(1, library=False)[0], work + "/program")  # every file with a probe in it is ours
kills = int(sys.argv[3]) if len(sys.argv) > 3 else 20
EMPTY_KIB = 4096  # of an instance without a size of its own, on some CPUs
OPTIONS = (
    ["--kernel-backend=bpf"],
    ["--kernel-backend=ftrace"],
    ["--kernel-backend=bpf", "--all-kernel"],
    ["-k", "sched_switch", "-f", "prev_state == 1", "-k", "syscalls", "-f", "ret < 0"],
    ["--overwrite", "--kernel-backend=bpf"],
    ["--overwrite"],
    ["-k", "profile:999,syscalls"],
    ["-k", "stack:sched_switch,irq"],
    ["-k", "counter:page-faults:1"],
    ["-u", program + ":main x=arg1:s32"],
    ["--kernel-context", "uid,cgroup", "-k", "sched"],
)
BPF = {"prog_id": (11, 13), "map_id": (12, 14)}  # commands: the next number; a descriptor of a number
libc = ctypes.CDLL(None, use_errno=True)


def read(path):
    """"" where it is gone: another recorder may clean up at any time."""
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


# ---------------------------------------------------------------- the state of the kernel

def bpf(command, *words):
    attr = (ctypes.c_uint32 * 32)(*words)
    return libc.syscall(321, command, attr, ctypes.sizeof(attr)), attr


def bpf_objects():
    """All programs and maps of the kernel, by kind and number."""
    found = set()
    for kind, (next_id, _) in BPF.items():
        n = 0
        while True:
            result, attr = bpf(next_id, n)
            if result:
                break
            n = attr[1]
            found.add((kind, n))
    return found


def held():
    """Those that a living process has a descriptor of."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/fdinfo/*"):
        found |= {(kind, int(n)) for kind, n in re.findall(r"^(prog_id|map_id):\s*(\d+)", read(path), re.M)}
    return found


def left_since(before):
    new = bpf_objects() - before
    return new and new - held()  # asking all processes takes long


def instances_of(pids):
    try:
        return [n for n in os.listdir(TRACEFS + "/instances") for p in pids if n.startswith("duet-%d-" % p)]
    except OSError:
        return []


def probes_of(pids):
    text = read(TRACEFS + "/uprobe_events")
    return [line for line in text.splitlines() for p in pids if ":duet_%d_" % p in line]


def records_nothing(name):
    at = "%s/instances/%s/" % (TRACEFS, name)
    return read(at + "tracing_on") in ("0\n", "") or not read(at + "set_event").strip()


def is_at_rest(name):
    """An instance that a dead recorder has left records nothing, and has no memory."""
    size = re.match(r"\d+", read("%s/instances/%s/buffer_total_size_kb" % (TRACEFS, name)) or "0")
    return records_nothing(name) and int(size[0]) < EMPTY_KIB


# ---------------------------------------------------------------- kills

def one(i, random):
    options = OPTIONS[i % len(OPTIONS)]
    before = bpf_objects()
    path = "%s/r%d" % (work, i)
    verb = "record" if i // len(OPTIONS) % 2 == 0 or "--all-kernel" in options else "collect"
    if verb == "collect" and "-k" not in options and "-u" not in options:
        options = [*options, "-k", "sched,syscalls"]
    p = start(duet, verb, "-q", *options, "-o", path, *(["--", program, "calls", "2", "100000000"] if verb == "record" else []))
    busy = None if verb == "record" else start(program, "calls", "1", "100000000")
    time.sleep(random.random() * 1.2)
    pids = [p.pid, *descendants(p.pid)]
    kill_tree(p.pid)
    p.wait()
    if busy:
        kill_tree(busy.pid)  # it has forked
        busy.wait()
    status, _, err = p.poll(), *p.end(signal.SIGKILL)[1:]
    ok(status == -signal.SIGKILL, "%s %s was recording when it was killed" % (verb, options), err)
    until(lambda: all(map(is_at_rest, instances_of(pids))), lambda: "%s: nothing records any more, and memory is free: %s" % (
        options, instances_of(pids)))
    until(lambda: not left_since(before), lambda: "%s: its BPF programs and maps are gone: %s" % (options, left_since(before)))
    shutil.rmtree(path, ignore_errors=True)
    return pids


def nothing_is_left_of_killed_recorders():
    random = dice()
    clock, on, memory = read(TRACEFS + "/trace_clock"), read(TRACEFS + "/tracing_on"), available()
    pids = []
    for i in range(kills):
        pids += one(i, random)
        if i % 50 == 49:
            print("# %d kills, seen after them: %s" % (i + 1, instances_of(pids)))
    status, _, err = cmd("record", "-q", "-k", "sched_switch", "-o", work + "/next", "--", "true")
    is_(status, 0, "the next one records: %s" % err)
    until(lambda: not instances_of(pids), lambda: "and has removed all instances: %s" % instances_of(pids))
    until(lambda: not probes_of(pids), lambda: "and all probes: %s" % probes_of(pids))
    is_((read(TRACEFS + "/trace_clock"), read(TRACEFS + "/tracing_on")), (clock, on), "the machine's own tracing is as it was")
    remarks.append("available memory before %d MiB, after %d" % (memory, available()))


# ---------------------------------------------------------------- after the end

def remover_of(pid):
    """The process that removes the instance of a recorder that has ended; None: it is removed."""
    name = "/instances/duet-%d-" % pid
    for fd in glob.glob("/proc/[0-9]*/fd/1"):
        try:
            if name in os.readlink(fd):
                return int(fd.split("/")[2])
        except OSError:
            pass  # it has ended
    return None


def an_instance_is_removed_after_the_command_even_if_its_remover_is_killed():
    pids, killed = [], []
    for i in range(12):
        path = "%s/after%d" % (work, i)
        p = start(duet, "record", "-q", "-k", "sched,syscalls", "-o", path, "--", "true")
        is_(p.wait(), 0, "it records")  # the remover has none of its pipes
        # Its memory is given back by the remover, some grace periods later.
        ok(all(map(records_nothing, instances_of([p.pid]))), "nothing records any more")
        remover = remover_of(p.pid)
        if remover and i % 2:
            os.kill(remover, signal.SIGKILL)
            killed.append(remover)
        elif i % 2 == 0:
            until(lambda: not instances_of([p.pid]), lambda: "its remover ends: %s" % instances_of([p.pid]))
        pids.append(p.pid)
        if len(killed) == 2:
            break
    remarks.append("%d removers were killed" % len(killed))
    # A killed one holds the lock of its instance until its system call has ended, some grace periods later.
    until(lambda: all(map(is_dead, killed)), "the removers are dead")
    is_(cmd("record", "-q", "-k", "sched_switch", "-o", work + "/after", "--", "true")[0], 0, "the next one records")
    until(lambda: not instances_of(pids), lambda: "and has removed all instances: %s" % instances_of(pids))


# ---------------------------------------------------------------- pid namespaces

def instances():
    return set(os.listdir(TRACEFS + "/instances"))


def kill_one_in_a_namespace(name, options):
    """As the first process there. Without a /proc of its own it reads that of the host, where pid 1 never ends."""
    before = instances()
    p = start("unshare", "--pid", "--fork", "--kill-child", *options, duet, "record", "-q", "--kernel-backend=ftrace", "-k",
              "sched_switch", "--all-kernel", "-o", work + "/" + name, "--", program, "calls", "1", "100000000")

    def made():
        return [n for n in instances() - before if n.startswith("duet-1-") and read(TRACEFS + "/instances/%s/tracing_on" % n) == "1\n"]

    until(lambda: made() or p.poll() is not None, "it records")
    found = made()
    ok(found, "its instance is there", "" if found else p.communicate()[1])
    is_(cmd("record", "-q", "-k", "sched_switch", "-o", work + "/beside-" + name, "--", "true")[0], 0, "another one records")
    ok(set(found) <= instances(), "and leaves the instance of the living one alone")
    kill_tree(p.pid)
    p.wait()
    is_(cmd("record", "-q", "-k", "sched_switch", "-o", work + "/after-" + name, "--", "true")[0], 0, "the next one records")
    until(lambda: not set(found) & instances(), lambda: "and has removed the instance: %s" % (set(found) & instances()))


def an_instance_of_another_pid_namespace_is_removed_once_its_recorder_is_dead():
    if run("unshare", "--pid", "--fork", "true")[0]:
        remarks.append("no right to make pid namespaces")
        return
    kill_one_in_a_namespace("own-proc", ["--mount-proc"])
    kill_one_in_a_namespace("proc-of-the-host", [])


# The instance is removed beside the command: its remover may take until then, another child stays.
SIBLINGS = """
import glob, os, time
def parent(path):
    try:
        return int(open(path, errors="replace").read().rpartition(")")[2].split()[1])
    except OSError:
        return 0
def children():
    return sum(parent(p) == os.getppid() for p in glob.glob("/proc/[0-9]*/stat"))
end = time.monotonic() + 60
while children() != 1 and time.monotonic() < end:
    time.sleep(0.01)
print(children())"""


def a_recording_without_its_kernel_half_has_no_child_left():
    """The half fails after it has made its instance; the recording goes on."""
    with open(work + "/empty", "w"):
        pass
    status, out, err = run("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', work + "/empty",
                           TRACEFS + "/available_events", duet, "record", "-o", work + "/half", "--", sys.executable, "-c", SIBLINGS)
    is_(status, 0, err)
    ok("not recorded: no kernel event" in err, "the kernel's half fails", err)
    is_(out, "1\n", "the command is the only child")


def available():
    return int(re.search(r"MemAvailable:\s+(\d+)", read("/proc/meminfo"))[1]) >> 10


if os.geteuid():
    skip("needs root: the kernel is recorded")
if not os.path.isdir(TRACEFS + "/instances"):
    skip("tracefs cannot be mounted: remains could not be seen")
run_cases(nothing_is_left_of_killed_recorders, an_instance_is_removed_after_the_command_even_if_its_remover_is_killed,
          an_instance_of_another_pid_namespace_is_removed_once_its_recorder_is_dead,
          a_recording_without_its_kernel_half_has_no_child_left)
