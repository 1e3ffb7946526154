#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The state when a recording begins: processes, threads, files, mappings; interrupts, disks, network interfaces and
CPUs, compared with /proc and /sys.  Entries that come or go meanwhile do not count: only those that exist before
and after must be there.

arguments: DUET
"""
import collections
import json
import os
import re
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402
from trial import cmd, is_, ok, run, run_cases, skip, start, until, work  # noqa: E402

PROGRAM = """
import os, signal, sys, threading
f = open(sys.argv[1], "w+"); g = os.dup(f.fileno()); r, w = os.pipe()
threading.Thread(target=signal.pause, daemon=True).start()
print("ready", flush=True)
signal.pause()
"""
found = collections.defaultdict(list)
world = {}


def interrupts():
    """(number, handler)"""
    got = set()
    for n in os.listdir("/sys/kernel/irq") if os.path.isdir("/sys/kernel/irq") else []:
        try:
            got |= {(int(n), a) for a in open("/sys/kernel/irq/%s/actions" % n).read().rstrip("\n").split(",") if a}
        except OSError:
            pass
    return got


def disks():
    lines = [line.split() for line in open("/proc/partitions").read().splitlines()[2:]]
    return {(int(w[0]) << 20 | int(w[1]), w[3]) for w in lines}


def look():
    return {"interrupts": interrupts(), "disks": disks(), "interfaces": {name for _, name in socket.if_nameindex()}}


def mappings(pid):
    got = set()
    for m in re.finditer(r"^(\w+)-(\w+) (\S{4}) (\w+) \S+ (\d+)", proc.read(pid, "maps"), re.M):
        flags = sum(1 << i for i, c in enumerate("rwxs") if m[3][i] == c)
        got.add((int(m[1], 16), int(m[2], 16), flags, int(m[5]), int(m[4], 16) // os.sysconf("SC_PAGESIZE")))
    return got


def record_dump():
    p = start(sys.executable, "-c", PROGRAM, work + "/a file")
    is_(p.stdout.readline(), "ready\n", "the program runs")
    before, maps = look(), mappings(p.pid)
    status, _, err = cmd("start", "dump", "-o", work + "/dump", "-k", "sched_switch", "-p", p.pid)
    if status and re.search("no right|tracefs|root", err):
        skip(err.strip().splitlines()[0])
    is_(status, 0, "duet start: " + err)
    is_(cmd("stop", "dump")[0], 0, "duet stop")
    after = look()
    world.update({k: before[k] & after[k] for k in before})
    world["pid"] = p.pid
    world["threads"], world["maps"] = set(proc.threads(p.pid)), (maps, mappings(p.pid))
    world["fds"] = {int(n): os.readlink("/proc/%d/fd/%s" % (p.pid, n)) for n in os.listdir("/proc/%d/fd" % p.pid)}
    p.end(signal.SIGKILL)
    for e in map(json.loads, cmd("view", "--json", "--state", work + "/dump")[1].splitlines()):
        if e["event"].startswith("lttng_statedump_"):
            found[e["event"][len("lttng_statedump_"):]].append(e["fields"])


# ---------------------------------------------------------------- cases

def processes_threads_files_and_mappings():
    pid = world["pid"]
    is_({f["tid"] for f in found["process_state"] if f["pid"] == pid}, world["threads"], "threads")
    is_({f["ppid"] for f in found["process_state"] if f["pid"] == pid}, {os.getpid()}, "the parent")
    ok(any(f["tid"] == 1 and f["pid"] == 1 for f in found["process_state"]), "others, too")
    is_({f["fd"]: f["filename"] for f in found["file_descriptor"] if f["pid"] == pid}, world["fds"], "files")
    dumped = {(f["start"], f["end"], f["flags"], f["inode"], f["pgoff"]) for f in found["vm_map"] if f["pid"] == pid}
    before, after = world["maps"]  # its thread may just have been given some
    is_((before & after) - dumped, set(), "mappings")
    is_(dumped - (before | after), set(), "no others")


def the_parts_of_the_machine_have_names():
    missing = world["interrupts"] - {(f["irq"], f["action"]) for f in found["interrupt"]}
    is_(missing, set(), "interrupts")
    is_(world["disks"] - {(f["dev"], f["diskname"]) for f in found["block_device"]}, set(), "disks")
    is_(world["interfaces"] - {f["name"] for f in found["network_interface"]}, set(), "network interfaces")
    ok(any(f["name"] == "lo" and f["address_ipv4"] in (0x7f000001, 0) for f in found["network_interface"]),
       "the address as it is written", found["network_interface"])
    is_({f["cpu_id"] for f in found["cpu_topology"]}, set(range(os.sysconf("SC_NPROCESSORS_CONF"))), "CPUs")
    is_({f["model_name"] for f in found["cpu_topology"]},
        {(re.findall(r"^model name\s*: (.*)", open("/proc/cpuinfo").read(), re.M) or [""])[0]}, "their kinds")


def kinds_of(path):
    """event -> its values that stay the same while nothing happens"""
    kinds = collections.defaultdict(set)
    for e in map(json.loads, cmd("view", "--json", "--state", path)[1].splitlines()):
        if e["event"].startswith("lttng_statedump_"):
            kinds[e["event"][len("lttng_statedump_"):]].add(tuple(sorted(e["fields"].items())))
    return kinds


def names_now():
    """kind -> the names of the machine's parts"""
    now = look()
    return {"interrupt": {name for _, name in now["interrupts"]}, "block_device": {name for _, name in now["disks"]},
            "network_interface": now["interfaces"], "cpu_topology": set()}


def dumps_all(path, p, what, before):
    """Names of the machine's parts, and of the process @p: its threads, files and mappings.
    @before: names_now(), before the recording began."""
    kinds, after = kinds_of(path), names_now()
    for kind in ("interrupt", "block_device", "network_interface", "cpu_topology"):
        name = {"interrupt": "action", "block_device": "diskname", "network_interface": "name", "cpu_topology": "cpu_id"}[kind]
        known = {f[name] for f in found[kind]} | before[kind] | after[kind]  # another test may mount a disk
        is_({dict(f)[name] for f in map(dict, kinds[kind])} - known, set(), what + ": " + kind)
        is_(bool(kinds[kind]), bool(found[kind]), what + " has each " + kind)
    of = lambda kind: [dict(f) for f in kinds[kind] if dict(f)["pid"] == p.pid]  # noqa: E731
    is_({f["tid"] for f in of("process_state")}, set(proc.threads(p.pid)), what + ": its threads")
    ok(work + "/of-" + what in {f["filename"] for f in of("file_descriptor")}, what + ": its files", of("file_descriptor"))
    ok(of("vm_map"), what + ": its mappings")


def each_chunk_and_each_snapshot_has_a_whole_dump():
    """Later dumps also have the processes that began after the first."""
    for what, args in (("pieces", ["--rotate", "200ms"]), ("snapshots", ["--overwrite"])):
        path, before_it = work + "/" + what, names_now()
        is_(cmd("start", what, "-o", path, "-e", "!*", "-k", "sched_switch", *args)[0], 0, "duet start")
        p = start(sys.executable, "-c", PROGRAM, work + "/of-" + what)
        is_(p.stdout.readline(), "ready\n", "the program runs")
        if what == "pieces":
            before = set(os.listdir(path))

            def finished():
                return sorted(n for n in set(os.listdir(path)) - before if n.startswith("piece-"))[1:-1]
            dumps_all(path + "/" + until(finished, "a later piece is finished")[0], p, what, before_it)
        else:
            for i in range(2):
                is_(cmd("snapshot", "-s", what, "-o", work + "/snapshot-%d" % i)[0], 0, "duet snapshot")
                dumps_all(work + "/snapshot-%d" % i, p, what, before_it)
        is_(cmd("stop", what)[0], 0, "duet stop")
        p.end(signal.SIGKILL)


def babeltrace_reads_it_without_a_warning():
    status, out, err = run("babeltrace2", work + "/dump/kernel")
    is_((status, err), (0, ""), "babeltrace2")
    is_(len(re.findall(" lttng_statedump_vm_map: ", out)), len(found["vm_map"]), "mappings")


if __name__ == "__main__":
    record_dump()
    run_cases(processes_threads_files_and_mappings, the_parts_of_the_machine_have_names,
              each_chunk_and_each_snapshot_has_a_whole_dump, babeltrace_reads_it_without_a_warning)
