#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Contexts of kernel events: the values that a program prints at each call of a certain kind equal those in the events
of these calls; in every way of recording.

arguments: DUET
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from recorder import record  # noqa: E402
from trial import begins, cmd, duet, is_, ok, run, run_cases, skip, start, until, work, worker_of  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs/contexts.py")
ALL = "pid,ppid,procname,prio,nice,uid,euid,gid,egid,cgroup,namespaces"
MARK = "syscall_entry_getsid"
CGROUPS = [p for p in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(p + "/cgroup.procs")]


def events(path, pattern=MARK, *more):
    status, out, err = cmd("view", "--json", "-e", pattern, *more, path)
    if "nothing recorded is called so" in err:
        return []
    is_(status, 0, "it can be read: " + err)
    return [json.loads(line) for line in out.splitlines()]


def said(out):
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def contexts(path):
    """The contexts at the marks, as the program prints them.  Other processes of the machine may be unknown."""
    return [dict(e["context"], tid=e["tid"], pid=e.get("pid"), procname=e.get("proc")) for e in events(path)]


def are_recorded(got, want):
    is_(len(got), len(want), "as many events as calls")
    for g, w in zip(got, want):
        is_({k: g.get(k) for k in w}, w, "its values")


def record_contexts(name, *args, steps=("mark",), program=True, kernel="syscalls", names=ALL):
    path = work + "/" + name
    what = (sys.executable, PROGRAM) + steps if program else steps
    out, _ = record(path, "-q", "-k", kernel, "--kernel-context", names, *args, "--", *what)
    return path, said(out)


# ---------------------------------------------------------------- cases

def each_event_has_the_contexts_of_its_thread():
    path, want = record_contexts("all", steps=("mark", "fork", "thread", "name", "exec", "mark"))
    are_recorded(contexts(path), want)


def a_new_user_id_counts_from_the_call_on():
    """Also if it is gone before the recorder could read /proc."""
    path, want = record_contexts("users", steps=("user", "plain", "regain", "mark"))
    for w in want:
        for name in [n for n in w if n.endswith("_ns")]:
            del w[name]
    are_recorded(contexts(path), want)


def values_in_proc_are_recorded_from_the_call_on():
    """Values that are no arguments, if it lives until the recorder reads /proc: that is before its events are written."""
    path = work + "/looked"
    p = start(duet, "record", "-q", "-k", "syscalls", "--kernel-context", ALL, "-o", path, "--", sys.executable, PROGRAM, "mark",
              "uts", "nice", "mark", "ready", "wait", stdin=subprocess.PIPE)
    until(lambda: os.path.exists(path + "/kernel/metadata") and len(events(path)) == 2, "both marks are written")
    out, err = p.communicate("go on\n")
    is_(p.returncode, 0, "it is recorded: " + err)
    want = said(out)
    are_recorded(contexts(path), want)
    ok(want[0]["uts_ns"] != want[1]["uts_ns"], "it is in another namespace", want)


def processes_that_live_for_a_moment_are_known():
    path, _ = record_contexts("short", steps=("sh", "-c", "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done"),
                              program=False, kernel="sched,syscalls", names="pid,ppid,uid,procname")
    found = events(path, "*")
    execs = [e for e in found if e["event"] == "sched_process_exec"]
    ok(len(execs) > 300, "all are there", len(execs))
    shell = execs[0]["pid"]
    children = {e["pid"]: e["context"] for e in execs if e["proc"] == "true"}
    is_(len(children), 300, "each is one")
    is_({(c["ppid"], c["uid"]) for c in children.values()}, {(shell, os.getuid())}, "its parent, and its user")
    is_([e for e in found if e["pid"] == -1 and e["tid"]], [], "none is unknown")


def contexts_are_in_the_files_and_in_filters():
    path, want = record_contexts("files", steps=("user", "mark"), names="uid,comm")
    is_(len(events(path, MARK, "-f", "$ctx.uid == 1003")), 1, "a filter")
    if not shutil.which("babeltrace2"):
        return
    status, out, err = run("babeltrace2", path + "/kernel")
    is_((status, err), (0, ""), "Babeltrace reads it without a warning")
    lines = [re.search(r"uid = (-?\d+), procname = \"(.*?)\"", line).groups() for line in out.splitlines() if MARK in line]
    is_(lines, [(str(w["uid"]), w["procname"]) for w in want], "and shows them")


def an_unknown_value_is_not_the_initial_one():
    """What a process changed just before its end is what it was set to, or unknown."""
    if os.getuid() or run("unshare", "-n", "true")[0]:
        return
    own, beginning = os.stat("/proc/self/ns/net").st_ino, os.getpriority(os.PRIO_PROCESS, 0)
    if beginning > 10:
        return
    for name, kernel in ("settled", "sched,syscalls"), ("unsettled", "sched"):
        path, _ = record_contexts(name, program=False, kernel=kernel, names="net_ns,nice,prio",
                                  steps=("nice", "-n", "5", "unshare", "-n", "true"))
        end = [e["context"] for e in events(path, "sched_process_exit") if e["proc"] == "true"]
        is_(len(end), 1, "it ended")
        ok(end[0]["nice"] in (-1, beginning + 5), "its priority", end)
        ok(end[0]["prio"] in (-1, beginning + 25), "also as the kernel counts it", end)
        ok(end[0]["net_ns"] != own, "its namespace", end)


def so_do_samples_and_stacks():
    path, _ = record_contexts("samples", steps=("sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; /bin/true"),
                              program=False, kernel="profile:499,stack:sched_process_exec", names="ppid,uid,cgroup")
    found = events(path, "*")
    ok({"profile", "sched_process_exec"} <= {e["event"] for e in found}, "they are there", {e["event"] for e in found})
    is_({(e["context"]["uid"], e["context"]["ppid"] > 0) for e in found}, {(os.getuid(), True)}, "with contexts")


def a_flight_recorder_and_its_snapshots_have_them():
    path, want = record_contexts("flight", "--overwrite", steps=("mark", "user", "fork", "mark"),
                                 names="pid,ppid,uid,euid,procname")
    are_recorded(contexts(path), [{k: w[k] for k in ("tid", "pid", "ppid", "uid", "euid", "procname")} for w in want])


def programs_of_bpf_have_them():
    if cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", work + "/probe", "--", "true")[0]:
        return
    path, want = record_contexts("bpf", "--kernel-backend=bpf", steps=("mark", "thread", "mark"))
    are_recorded(contexts(path), want)


def session(name, *args):
    path = work + "/" + name
    p = start(duet, "record", "-q", "-k", MARK, "--kernel-context", "pid,ppid,uid,procname", "-o", path, *args)
    return path, begins(p)


def marks():
    status, out, err = run(sys.executable, PROGRAM, "mark", "fork", "mark")
    is_(status, 0, err)
    return [{k: w[k] for k in ("tid", "pid", "ppid", "uid", "procname")} for w in said(out)]


def ends(p):
    p.send_signal(signal.SIGINT)
    is_(p.wait(60), 0, "it ends")


def each_piece_has_them():
    path, p = session("pieces", "--rotate", "200ms")
    want = []

    def there_are_more():
        """A chunk follows only one that holds events."""
        want.extend(marks())
        return len([n for n in os.listdir(path) if n.startswith("piece-")]) > 2
    until(there_are_more, "there are pieces")
    want += marks()
    ends(p)
    pids = {w["pid"] for w in want}
    are_recorded([c for c in contexts(path) if c["pid"] in pids], want)


def the_successor_of_a_killed_collector_knows_the_contexts():
    path = work + "/successor"
    status, _, err = cmd("start", "back", "-o", path, "-e", "!*", "-k", MARK, "--kernel-context", "pid,ppid,uid,procname")
    is_(status, 0, err)
    keeper = int(json.loads(cmd("status", "--json", "back")[1])["sessions"][0]["pid"])
    worker = worker_of(keeper)
    want = marks()
    until(lambda: len(events(path)) >= len(want), "the first are written")
    kill(worker)
    until(lambda: worker_of(keeper) != worker and cmd("status", "back")[0] == 0, "another collector comes")
    want += marks()
    is_(cmd("stop", "back")[0], 0, "it stops")
    pids = {w["pid"] for w in want}
    are_recorded([c for c in contexts(path) if c["pid"] in pids], want)


def a_new_cgroup_counts_from_the_change_on():
    if not CGROUPS:
        return
    path, where = work + "/cgroup", CGROUPS[0] + "/duet-contexts-%d" % os.getpid()
    try:
        os.mkdir(where)
    except OSError as e:
        return print("  not tried: " + str(e))
    try:
        path, want = record_contexts("cgroup", steps=("sh", "-c", "%s %s mark; echo $$ >%s/cgroup.procs; %s %s mark thread fork" % (
            sys.executable, PROGRAM, where, sys.executable, PROGRAM)), program=False, names="pid,cgroup")
    finally:
        os.rmdir(where)
    are_recorded([{k: c[k] for k in ("tid", "cgroup")} for c in contexts(path)], [{k: w[k] for k in ("tid", "cgroup")} for w in want])
    is_([os.path.basename(w["cgroup"]) for w in want[1:]], [os.path.basename(where)] * (len(want) - 1), "in the other")


if __name__ == "__main__":
    status, _, err = cmd("record", "-q", "-k", "sched_switch", "-o", work + "/may", "--", "true")
    if status and re.search("no right|tracefs|root", err):
        skip(err.strip().splitlines()[0])
    run_cases(each_event_has_the_contexts_of_its_thread, a_new_user_id_counts_from_the_call_on, values_in_proc_are_recorded_from_the_call_on,
              processes_that_live_for_a_moment_are_known, an_unknown_value_is_not_the_initial_one,
              contexts_are_in_the_files_and_in_filters, so_do_samples_and_stacks,
              a_flight_recorder_and_its_snapshots_have_them, programs_of_bpf_have_them, each_piece_has_them,
              the_successor_of_a_killed_collector_knows_the_contexts, a_new_cgroup_counts_from_the_change_on)
