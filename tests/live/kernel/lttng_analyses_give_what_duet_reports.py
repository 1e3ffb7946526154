#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LTTng-analyses (Debian's python3-lttnganalyses) reads a recording, and gives the numbers of `duet report`.

It reads the time that all streams have in common, with Babeltrace 1. Its definitions are ours but for these, which the
checks say: calls without an end or a beginning, the idle task, pages freed that it did not see allocated.

arguments: DUET
"""
import collections
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, fail, is_, ok, run, run_cases, skip, start, until, work  # noqa: E402

ANALYSED = os.path.dirname(os.path.abspath(__file__)) + "/programs/analysed.py"
EVENTS = "sched,syscalls,irq,block,net,signal,task,kmem:mm_page_alloc,kmem:mm_page_free"
recording = work + "/r"
THREADS = 4  # of ANALYSED, which live until their births are read
CATEGORIES = {"Open": ["open", "openat", "socket", "dup", "dup2", "dup3", "fcntl"],
              "Read": ["read", "recvmsg", "recvfrom", "readv", "pread64", "preadv", "splice", "sendfile64"],
              "Write": ["write", "sendmsg", "sendto", "writev", "pwrite64", "pwritev", "splice", "sendfile64"],
              "Sync": ["sync", "sync_file_range", "fsync", "fdatasync"]}


# Babeltrace 1's Python module uses memory after it freed it, which ends it where that is filled on purpose.
environment = {k: v for k, v in os.environ.items() if k != "MALLOC_PERTURB_"}


def analysed(name, *options, of=None):
    """-> the tables of one analysis: class, title, rows of values"""
    status, out, err = run("lttng-%s-mi" % name, *options, of or recording, env=environment)
    is_((status, err), (0, ""), "lttng-" + name)
    tables = json.loads(out)["results"]
    for t in tables:
        if not isinstance(t["class"], str):
            t["title"], t["class"] = t["class"]["title"], t["class"]["inherit"]
    return tables


def rows(tables, class_):
    return [row for t in tables if t["class"] == class_ for row in t["data"]]


def values(row):
    return [c.get("value") for c in row]


def reported(*arguments, of=None):
    status, out, err = cmd("report", *arguments, "--json", of or recording)
    is_((status, err), (0, ""), "duet report")
    return json.loads(out)


def counted(event):
    status, out, err = cmd("view", "-e", event, recording)
    is_(status, 0, err)
    return len(out.splitlines())


def system_calls_are_the_same():
    ours = {c["call"]: [c["n"] - c["n_open"] - c["n_headless"], c["min_ns"], c["max_ns"]] for c in reported("syscalls")["syscalls"]
            if c["min_ns"] is not None}
    theirs = collections.defaultdict(lambda: [0, 1 << 63, 0])
    for row in rows(analysed("syscallstats"), "per-tid"):
        n, least, mean, most = values(row)[1:5]
        of = theirs[row[0]["name"]]
        of[:] = [of[0] + n, min(of[1], least), max(of[2], most)]
        ok(least <= mean <= most, "mean of " + row[0]["name"])
    theirs.pop("rt_sigreturn", None)  # its exit has no number: syscall_exit_unknown
    is_(dict(theirs), ours, "calls, shortest and longest")


def threads_wait_and_run_as_long():
    ours = {t["tid"]: t for t in reported("sched", "--by", "thread")["threads"]}
    theirs = {row[0]["tid"]: values(row) for row in rows(analysed("schedstats"), "per_tid_stats")}
    ok(len(ours) > 8, "threads", sorted(ours))
    for tid, t in ours.items():
        if t["n"]:
            is_([theirs[tid][1], theirs[tid][2], theirs[tid][4]], [t["n"], t["min_ns"], t["max_ns"]], "latencies of %s" % t["thread"])
    tables = analysed("cputop", "--limit", "100000")
    table = [t for t in tables if t["class"] == "per-process"][0]
    span = table["time-range"]["end"]["value"] - table["time-range"]["begin"]["value"]
    shares = {row[0]["tid"]: values(row)[3] for row in table["data"]}
    for t in reported("cpu", "--by", "thread")["threads"]:
        ours_ns, theirs_ns = t["cpu_ns"], shares[t["tid"]] * span
        ok(abs(ours_ns - theirs_ns) <= ours_ns * 1e-2 + 1000, "CPU time of %s" % t["thread"], (ours_ns, theirs_ns))


def interrupts_are_the_same():
    # It looks for soft ones by the names that lttng-modules had before 2.7, without `irq_`.
    ours = {i["number"]: [i["n"], i["min_ns"], i["max_ns"]] for i in reported("irq")["interrupts"] if i["kind"] == "irq"}
    theirs = {row[0]["nr"]: [values(row)[i] for i in (1, 2, 4)] for row in rows(analysed("irqstats"), "hard-stats")}
    is_(theirs, ours, "number, shortest, longest")


def files_have_the_same_bytes():
    report = reported("io", "--by", "process")
    tables = analysed("iousagetop", "--limit", "100000")
    for direction, theirs in ("read", "read"), ("write", "written"):
        ours = {p["pid"]: p["bytes"] for p in report["processes"] if p["direction"] == direction and p["bytes"]}
        found = {row[0]["pid"]: values(row)[1] for t in tables if t.get("title", "").endswith("I/O operations [%s]" % theirs)
                 and t["class"] == "per-process-top" for row in t["data"] if values(row)[1] and row[0].get("pid")}
        ok(ours, "processes that %s" % direction)
        is_({p: found.get(p) for p in ours}, ours, "bytes %s by process" % theirs)
    calls = {c["call"]: c for c in reported("syscalls")["syscalls"]}
    for row in rows(analysed("iolatencystats"), "syscall-latency-stats"):
        category, n, least, _, most = values(row)[:5]
        mine = [calls[c] for c in CATEGORIES[category] if c in calls and calls[c]["min_ns"] is not None]
        if n and category != "Open":  # of fcntl it counts some
            is_([n, least, most], [sum(c["n"] - c["n_open"] - c["n_headless"] for c in mine), min(c["min_ns"] for c in mine),
                                   max(c["max_ns"] for c in mine)], category)


def the_slowest_calls_are_the_same():
    """Begin, duration, thread, file and bytes of each; it has a table for each category, of which it shows opens, too."""
    theirs = {}
    for t in analysed("iolatencytop", "--limit", "5"):
        for span, _, duration, call, size, process, path, _ in t["data"]:
            theirs[span["begin"]["value"], duration["value"]] = (call["name"], process["tid"], (path or {}).get("path"),
                                                                (size or {}).get("value") or 0)
    ours = {(s["time_ns"], s["duration_ns"]): (s["call"], s["tid"], s["file"], s["bytes"]) for s in reported("io")["slowest"]
            if s["call"] in CATEGORIES["Read"] + CATEGORIES["Write"] + CATEGORIES["Sync"]}
    ok(len(ours) >= 3, "slow calls", ours)
    is_({k: theirs.get(k) for k in ours}, ours, "the slowest calls")


def disks_have_the_same_latencies():
    """Of all requests of the machine: those of others complete on any thread. It leaves out flushes, which have no sectors."""
    disks = work + "/disks"
    os.mkdir(work + "/more")
    open(work + "/more/read", "w").close()
    status, out, err = cmd("record", "-o", disks, "--all-kernel", "-k", "block_rq_issue,block_rq_complete,sched_process_exec", "--",
                           sys.executable, ANALYSED, work + "/more")
    is_(status, 0, err)
    theirs = {row[0]["name"]: values(row)[1:5] for row in rows(analysed("iolatencystats", of=disks), "disk-latency-stats")}
    report = reported("io", of=disks)
    ok(theirs, "disks")
    for name, (n, least, mean, most) in theirs.items():
        mine = [d for d in report["devices"] if d["name"] == name and d["direction"] != "sync" and d["n"]]
        is_((sum(d["n"] for d in mine), min(d["min_ns"] for d in mine), max(d["max_ns"] for d in mine)), (n, least, most), "requests of " + name)
        sum_ns = sum(d["total_ns"] for d in mine)
        ok(abs(sum_ns - n * mean) <= 1e-6 * sum_ns, "their mean", (sum_ns / n, mean))
    flushes = [d for d in report["devices"] if d["direction"] == "sync"]
    flush_kinds(disks, flushes)


def flush_kinds(disks, flushes):
    """The program calls fsync 20 times; a disk whose writes are not cached needs no flush then."""
    issued = re.findall(r" nr_sector = 0, .* rwbs = F", cmd("view", "-e", "block_rq_issue", disks)[1])
    is_(bool(flushes), bool(issued), "flushes are reported if there were any: %d" % len(issued))
    ok(all(d["n"] and d["n_open"] <= 1 for d in flushes), "a flush ends, one at a time", flushes)


def pages_are_counted():
    n, freed = values(rows(analysed("memtop", "--limit", "100000"), "total")[0])
    is_(n, counted("kmem_mm_page_alloc"), "pages allocated")
    ok(0 < freed <= counted("kmem_mm_page_free"), "pages freed", freed)


def all_forms_run():
    for name in ["iolatencytop", "schedtop", "iolatencyfreq", "schedfreq", "iolog", "schedlog"]:
        ok(sum(len(t["data"]) for t in analysed(name)), "rows of " + name)
    # A device may not interrupt these threads at all.
    hard = [i for i in reported("irq")["interrupts"] if i["kind"] == "irq"]
    is_(len(rows(analysed("irqlog"), "log")), sum(i["n"] for i in hard), "interrupts logged")
    counted_by_length = sum(values(row)[2] for t in analysed("irqfreq") if t["class"] == "freq" for row in t["data"])
    is_(counted_by_length, sum(i["n"] for i in hard if i["min_ns"] != i["max_ns"]), "interrupts by length")
    requests = [e for e in viewed("block_rq_issue") if e["fields"]["nr_sector"]]
    ok(requests, "requests to a disk")
    for e in requests:
        rwbs = e["fields"]["rwbs"]
        is_(rwbs["value"] % 2, int("W" in rwbs["label"]), "odd means write")


def viewed(event):
    status, out, err = cmd("view", "--json", "-e", event, recording)
    is_(status, 0, err)
    return [e for e in map(json.loads, out.splitlines()) if "event" in e]


def births_name_processes():
    threads = {}  # of the state dump and of births
    for e in viewed("task_newtask"):
        is_thread = e["fields"]["clone_flags"] & 0x10000
        threads[e["fields"]["pid"]] = e["pid"] if is_thread else e["fields"]["pid"]
    forks = viewed("sched_process_fork")
    ok(any(e["fields"]["child_pid"] != e["fields"]["child_tid"] for e in forks), "a thread is born")
    for e in forks:
        f = e["fields"]
        is_(f["child_pid"], threads[f["child_tid"]], "process of %d" % f["child_tid"])
        is_(f["parent_pid"], threads.get(f["parent_tid"], f["parent_pid"]), "process of %d" % f["parent_tid"])


def common_time_is_the_whole_recording():
    for program in "babeltrace2", "babeltrace":
        _, whole, _ = run(program, "--clock-seconds", recording)
        status, common, err = run(program, "--clock-seconds", "--stream-intersection", recording)
        is_((status, err), (0, ""), program)
        is_(common, whole, program + " --stream-intersection")


def births_are_read():
    status, out, _ = cmd("view", "--json", "-e", "task_newtask", recording)
    births = [json.loads(line)["fields"] for line in out.splitlines()] if not status else []
    return sum(bool(f["clone_flags"] & 0x10000) for f in births) >= THREADS


def lacks_a_switch():
    """Whether a thread has an event on a CPU that was switched to another one last.  The kernel of some virtual machines
    traces no switch out of certain threads, ftrace alone neither.  LTTng-analyses takes the thread of a call from the
    switches and leaves such a call out; duet takes it from the event."""
    status, out, err = cmd("view", "--json", recording)
    is_(status, 0, err)
    found = [e for e in map(json.loads, out.splitlines()) if "cpu" in e and "tid" in e]
    followed = {e["tid"] for e in found if e["event"].startswith("syscall_entry_")}
    runs = {}
    for e in found:
        if e["tid"] in followed and runs.get(e["cpu"], e["tid"]) != e["tid"]:
            return True
        if e["event"] == "sched_switch":
            runs[e["cpu"]] = e["fields"]["next_tid"]
    return False


def record():
    shutil.rmtree(recording, ignore_errors=True)
    os.makedirs(work + "/files", exist_ok=True)
    p = start(duet, "record", "-o", recording, "-k", EVENTS, "--kernel-buffer", "16M", "--", sys.executable, ANALYSED,
              work + "/files")
    until(lambda: p.poll() is not None or births_are_read(), "the births of its threads are read")
    open(work + "/files/read", "w").close()
    status, out, err = p.end()
    os.remove(work + "/files/read")
    if status and re.search("no right|tracefs|root", err):
        skip(err.strip().splitlines()[0])
    is_(status, 0, err)
    ok("kernel" in out + err and re.search(r"kernel .* none lost", out + err), "nothing is lost", out + err)


def make():
    """A recording with all switches: most have them."""
    for _ in range(20):
        record()
        if not lacks_a_switch():
            return
    fail("the kernel traces no switch out of some threads, in each of 20 recordings")


if __name__ == "__main__":
    if not shutil.which("lttng-cputop-mi"):
        skip("LTTng-analyses is not installed")
    make()
    run_cases(common_time_is_the_whole_recording, births_name_processes, system_calls_are_the_same, threads_wait_and_run_as_long,
              interrupts_are_the_same, files_have_the_same_bytes, the_slowest_calls_are_the_same,
              disks_have_the_same_latencies, pages_are_counted, all_forms_run)
