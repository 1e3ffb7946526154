#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel's events recorded by BPF programs: each one, just those, with the texts of system calls; the same as
tracefs records; and nothing of it is left when the recorder is gone.

arguments: DUET PROGRAM LIBDUET
"""
import collections
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from recorder import record, view  # noqa: E402
from trial import begins, cmd, duet, is_, ok, paths, run, run_cases, skip, start, until, work  # noqa: E402
from trial import worker_of  # noqa: E402
from tracefs import where_mounted  # noqa: E402

program, library = paths(2)
BPF = "--kernel-backend=bpf"


def recorded(name, *args):
    """A recording of a command by BPF programs.  -> its path, and the command's output"""
    path = "%s/%s" % (work, name)
    return path, record(path, "-q", BPF, *args)[0]


def recording(*args):
    """A `duet record` that records."""
    p = start(duet, "record", "-q", BPF, *args)
    return begins(p, "record-%d" % p.pid)


def events(path, pattern="*", may_lose=False):
    return [e for e in view(path, "-e", pattern, may_lose=may_lose) if "event" in e]


def count(found, name):
    return sum(e["event"] == name for e in found)


def babeltrace_reads(path):
    if not shutil.which("babeltrace2"):
        return
    status, out, err = run("babeltrace2", "--log-level=W", path)
    is_((status, err), (0, ""), "Babeltrace reads it without a warning")
    is_(len(out.splitlines()), len(events(path)), "Babeltrace finds as many events")


def each_call_is_recorded_once_for_the_right_process():
    busy = start(program, "calls", 1, 1 << 40)  # another process
    other = int(busy.stdout.readline())
    path, out = recorded("counts", "-k", "syscall_*_getppid,sched_process_fork", "--", program, "calls", 4, 2500)
    kill(other)
    is_(busy.wait(), 0, "it ends")
    found = events(path)
    by_process = collections.Counter((e["tid"], e["event"]) for e in found if "getppid" in e["event"])
    is_(by_process, {(int(n), "syscall_%s_getppid" % k): 2500 for n in out.split() for k in ("entry", "exit")},
        "each of four processes has its calls, and no other process")
    is_({e["event"] for e in found if e["event"].startswith("syscall_")}, {"syscall_entry_getppid", "syscall_exit_getppid"},
        "no other call is recorded")
    ok(glob.glob(path + "/kernel/bpf_*"), "BPF programs have recorded them")
    babeltrace_reads(path)


def between(found):
    """The calls of the first process between its two of getppid."""
    at = [i for i, e in enumerate(found) if e["event"] == "syscall_entry_getppid"]
    is_(len(at), 2, "it calls getppid twice")
    tid = found[at[0]]["tid"]
    return [e for e in found[at[0]:at[1]] if e["tid"] == tid and e["event"].startswith("syscall_entry_")][1:]


def texts_are_exact():
    path, out = recorded("texts", "-k", "syscalls", "--", program, "texts")
    calls = between(events(path, "syscall_*"))
    is_([e["fields"].get("filename") for e in calls if e["event"] == "syscall_entry_openat"], out.split("\0")[:-1],
        "each file name is as it should be")
    fields = {e["event"][len("syscall_entry_"):]: e["fields"] for e in calls}
    is_([fields["renameat2"][n] for n in ("olddfd", "oldname", "newdfd", "newname", "flags")],
        [-100, "/duet/no/a", -100, "/duet/no/b", 0], "two texts, among numbers")
    is_([fields["mount"][n] for n in ("dev_name", "dir_name", "type", "flags", "data")],
        ["/duet/no/device", "/duet/no/dir", "nosuchfs", 0, 0], "three texts")
    is_([type(fields["write"][n]) for n in ("fd", "buf", "count")], [int, int, int], "data that are no text stay a pointer")
    babeltrace_reads(path)


def other_data_that_arguments_point_to_are_exact():
    path, out = recorded("captures", "-k", "syscalls", "--", program, "captures")
    pid, found = int(out), events(path, "syscall_*")
    at = [i for i, e in enumerate(found) if e["event"] == "syscall_entry_getppid"]
    calls = [e for e in found[at[0]:at[-1]] if e["tid"] == pid]

    def all_of(field, *names):
        return [e["fields"][field] for e in calls if e["event"] in ["syscall_" + n for n in names]]

    nowhere = [2, 0, 0, 9, 127, 0, 0, 1] + 8 * [0]
    ours = list(struct.pack("H", socket.AF_UNIX) + b"\0duet-%d" % pid)
    ours += (16 - len(ours)) * [0]
    is_(all_of("addr_bytes", "entry_bind", "exit_getsockname"), [ours, ours], "a name as it lies in memory, given and got")
    is_(all_of("addr_bytes", "entry_connect"), [nowhere, 128 * [0], [], []], "a name, one too long, none, and of no length")
    is_(all_of("addr_bytes", "entry_sendto", "exit_getpeername"), [nowhere, []], "whereto; and a call that failed")
    is_(all_of("timespec", "entry_nanosleep", "entry_clock_nanosleep"), [[0, 1234], [0, 1234]], "how long to sleep")
    is_(all_of("timespec", "entry_ppoll"), [[0, 77], []], "how long to wait; unreadable memory is empty")
    resolution = all_of("timespec", "exit_clock_getres")
    ok(len(resolution) == 2 and resolution[0][0] == 0 < resolution[0][1] and resolution[1] == [],
       "results at the end of a call, unless it failed", resolution)
    is_([bytes(b) for b in all_of("argv_bytes", "entry_execve", "entry_execveat")],
        [b"a\0\0b c\0", 32 * b"1\0", 32 * b"1\0" + b"...",
         63 * b"e" + b"\0" + 60 * b"o" + b"...\0", b"", b"a\0\0b c\0", b""], "arguments, one behind the other")
    ok(all(isinstance(v, int) for v in all_of("argv", "entry_execve") + all_of("uservaddr", "entry_connect")),
       "an unreadable address stays a pointer")
    babeltrace_reads(path)


ENVIRONMENTS = """
import ctypes, mmap, os
def begin(argv, envp):
    if not os.fork():
        envp[0]  # so that it is in memory
        ctypes.CDLL(None).execve(b"/bin/true", argv, envp)
    else:
        os.wait()
argv = (ctypes.c_char_p * 2)(b"true", None)
for n in %s:
    begin(argv, (ctypes.c_char_p * (n + 1))(*[b"a=b"] * n, None))
pages = mmap.mmap(-1, 2 * 4096)  # 20 pointers at the end of memory that can be read
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
ctypes.CDLL(None).mprotect(ctypes.c_void_p(at + 4096), ctypes.c_size_t(4096), 0)
pointers = (ctypes.c_char_p * 20).from_address(at + 4096 - 160)
for i in range(19):
    pointers[i] = b"a=b"
begin(argv, pointers)
"""


def environments_are_counted_up_to_512():
    """They are read 16 pointers at a time, and singly where these reach beyond what can be read."""
    sizes = [0, 1, 15, 16, 17, 32, 511, 512, 513, 600]
    path, _ = recorded("environments", "--capture", "32", "-k", "syscall_entry_execve", "--", sys.executable, "-c", ENVIRONMENTS % sizes)
    counts = [(int.from_bytes(e["fields"]["envp_count"][:4], "little"), e["fields"]["envp_count"][4]) for e in events(path, "syscall_entry_execve") if e["fields"]["filename"] == "/bin/true"]
    is_(counts, [(min(n, 512), int(n > 512)) for n in sizes] + [(19, 0)], "each is counted, and marked if there are more")


def the_first_call_of_a_command_is_its_execve():
    """The recorder's child has prepared itself before: its wait ends, and no other call of duet's is recorded."""
    path, _ = recorded("first", "-k", "syscalls", "--", "true")
    calls = [e["event"] for e in events(path, "syscall_*")]
    is_(calls[:3], ["syscall_exit_read", "syscall_entry_execve", "syscall_exit_execve"], "the first calls")
    is_(calls.count("syscall_entry_execve"), 1, "PATH was searched before")


def tree_of(found):
    """-> the threads that came between the first process's calls of getppid."""
    before = next(i for i, e in enumerate(found) if e["event"] == "syscall_entry_getppid")
    first = found[before]["tid"]
    family = {first}
    for e in found[before:]:
        if e["event"] == "sched_process_fork" and e["tid"] in family:
            family.add(e["fields"]["child_tid"])
    return family - {first}


def without_texts(e):
    return {k: v for k, v in e["fields"].items() if k.endswith("comm") or not isinstance(v, str)}


def both_backends_record_the_same():
    """One is recorded by the other: the same processes, at the same time.  Of the scheduler's events: same.py."""
    inner = "%s/inner" % work
    outer = "%s/outer" % work
    status, _, err = cmd("record", "-q", "--kernel-backend=ftrace", "-o", outer, "--", duet, "record", "-q", BPF, "-o", inner,
                         "--", program, "tree")
    is_(status, 0, "it is recorded twice: %s" % err)
    by_bpf = events(inner)
    family = tree_of(by_bpf)
    is_(len(family), 9, "three times two processes and a thread")
    ok(not glob.glob(outer + "/kernel/bpf_*") and glob.glob(inner + "/kernel/bpf_*"), "each has its backend")

    def calls(found, tid):
        return [(e["event"], e["fields"]) for e in found if e["tid"] == tid and e["event"].startswith("syscall_")]

    by_ftrace = events(outer)
    for tid in family:
        one, other = calls(by_bpf, tid), calls(by_ftrace, tid)
        texts = {k for _, f in one for k, v in f.items() if isinstance(v, str)} | {"addr_bytes", "timespec", "argv_bytes", "late_texts"}
        strip = lambda found: [(n, {k: v for k, v in f.items() if k not in texts}) for n, f in found]
        is_(strip(one), strip(other), "thread %d has made the same calls" % tid)

    for e in by_bpf:
        if e["event"] == "sched_switch":
            is_(e["tid"], e["fields"]["prev_tid"], "a thread switched out has run")
    babeltrace_reads(inner)


def threads_and_children_that_were_there_are_recorded():
    p = start(program, "wait", stdin=subprocess.PIPE)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    path = work + "/attached"
    r = recording("-k", "syscall_entry_getppid", "-o", path, "-p", p.pid)
    p.stdin.write("go\n")
    p.stdin.flush()
    is_(p.stdout.readline(), "done\n", "it has called")
    r.end(signal.SIGINT)
    p.communicate("")
    by_thread = collections.Counter(e["tid"] for e in events(path, "syscall_entry_getppid"))
    # Its thread, and the child that it made afterwards; the older child is another process.
    is_(sorted(by_thread.values()), [10, 10], "its thread and its new child are recorded")


def tracefs_applies_filters_that_bpf_programs_cannot():
    path, _ = recorded("filtered", "-k", "sched_switch", "-f", 'prev_comm ~ "bpf_*"', "-k", "syscall_exit_openat", "-f", "ret < 0", "-k",
                       "syscall_entry_openat", "--", program, "texts")
    found = events(path)
    ok(all(e["fields"]["ret"] < 0 for e in found if e["event"] == "syscall_exit_openat"), "exits pass the filter")
    ok(count(found, "syscall_entry_openat") > count(found, "syscall_exit_openat") > 5, "entries are all there")
    ok(any(e["fields"].get("filename") == "/x" for e in found), "and have their texts")
    switches = [e["fields"]["prev_comm"] for e in found if e["event"] == "sched_switch"]
    is_(set(switches) - {"bpf_program"}, set(), "a pattern is asked by tracefs")


def arguments_are_filtered():
    path, _ = recorded("arguments", "-k", "syscall_entry_openat", "-f", "flags == 0x200000 && !(dfd > -100)", "-k",
                       "syscall_entry_dup,syscall_exit_dup", "-f", "ret < 0", "-k", "syscall_exit_openat", "--", program, "texts")
    found = events(path, "syscall_*")
    entries = [e["fields"] for e in found if e["event"] == "syscall_entry_openat"]
    is_({(f["flags"], f["dfd"]) for f in entries}, {(os.O_PATH, -100)}, "entries pass the filter")
    ok(5 < len(entries) < count(found, "syscall_exit_openat"), "there are others, and all their ends are there", len(entries))
    ok(any(f["filename"] == "/x" for f in entries), "and they have their texts")
    for more, why in ((["--kernel-backend=ftrace"], "only BPF programs"), (["-k", "syscall_entry_openat", "-f", "nix == 1"], "nix == 1")):
        status, _, err = cmd("record", "-q", "-k", "syscall_entry_openat", "-f", "flags == 1", *more, "-o", work + "/unfiltered", "--", "true")
        ok(status == 2 and why in err, "never unfiltered instead: %s" % more, err)


def impossible_requests_are_refused():
    for args, why in ((["-k", "irq"], "none of these is chosen"),
                      (["-k", "sched_switch", "-f", 'next_comm ~ "c*"'], "none of these is chosen")):
        status, _, err = cmd("record", BPF, *args, "-o", work + "/refused", "--", "true")
        ok(status == 2 and why in err, "refused, with the reason: %s" % args, err)
    status, _, err = cmd("record", "--kernel-backend=auto", "--overwrite", "-q", "-o", work + "/flight", "-k", "syscalls", "--", "true")
    is_(status, 0, "unless it may choose itself: %s" % err)
    ok(not glob.glob(work + "/flight/kernel/bpf_*") and events(work + "/flight"), "a flight recorder's is tracefs' then")


def bpf_is_the_default_and_reported():
    for args, more, by in (([], [], "by BPF programs"), (["--overwrite"], [], "by ftrace: a flight recorder"),
                           (["--kernel-backend=ftrace"], [], "by ftrace\n"), (["-k", "irq"], [], "by ftrace: BPF records")):
        path = "%s/default-%d" % (work, len(glob.glob(work + "/default-*")))
        status, _, err = cmd("record", "-v", *args, "-o", path, "--", "true")
        is_(status, 0, "it is recorded: %s" % err)
        ok(by in err, "-v says: %s" % by, err)
        is_(bool(glob.glob(path + "/kernel/bpf_*")), "BPF" in by and "ftrace" not in by, "and so it is")
    for args, recorder, why in (([], "bpf", ""), (["--overwrite"], "ftrace", "flight recorder")):
        c = begins(start(duet, "collect", "-q", "-k", "syscall_*_getppid", "-o", "%s/by-%s" % (work, recorder), *args))
        session = json.loads(cmd("status", "--json")[1])["sessions"][0]
        ok(session["kernel_recorder"] == recorder and why in session["kernel_no_bpf"], "and status does", session)
        ok({"bpf": "by BPF programs", "ftrace": "by ftrace: a flight recorder"}[recorder] in cmd("status")[1], "in words, too")
        is_(c.end(signal.SIGTERM)[0], 0, "it ends well")
    # Where BPF cannot be had: without the rights to it.
    if shutil.which("setpriv") and shutil.which("unshare"):
        path, rights = work + "/no-rights", "-bpf,-perfmon,-sys_admin"
        status, _, err = run(*where_mounted("setpriv", "--bounding-set=" + rights, "--inh-caps=" + rights, duet, "record",
                                            "-v", "-k", "syscalls", "-o", path, "--", "true"))
        ok(status == 0 and "by ftrace: cannot make a BPF map" in err, "without the rights it is ftrace's, and all is well", err)


def bpf_programs_of(pid):
    """Numbers of the programs that it holds."""
    found = set()
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            found |= {int(n) for n in re.findall(r"^prog_id:\s*(\d+)", open(path).read(), re.M)}
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def lives(program_id):
    """Whether the kernel has a BPF program of that number: bpf(BPF_PROG_GET_FD_BY_ID)."""
    attr = (ctypes.c_uint32 * 32)(program_id)
    fd = ctypes.CDLL(None, use_errno=True).syscall(321, 13, attr, ctypes.sizeof(attr))
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def verified_instructions_of(pid):
    """Of each BPF program that it holds (Linux 5.16)."""
    found = {}
    for path in glob.glob("/proc/%d/fdinfo/*" % pid):
        try:
            text = open(path).read()
        except FileNotFoundError:
            continue  # it was closed meanwhile
        program_id, n = (re.search(r"^%s:\s*(\d+)" % name, text, re.M) for name in ("prog_id", "verified_insns"))
        if program_id and n:
            found[int(program_id[1])] = int(n[1])
    return found


def the_verifier_walks_each_capture_once():
    """The programs for captured memory start as soon as others: without functions they were 124 421 instructions."""
    r = recording("-k", "syscalls", "--capture", "64", "-o", work + "/verified", "--", "sleep", "600")
    n = verified_instructions_of(r.pid)
    kill(r.pid)
    r.wait()
    ok(sum(n.values()) < 15000, "it is soon done", n)


def nothing_is_left_of_a_killed_recorder():
    r = recording("--all-kernel", "-o", work + "/killed", "--", "sleep", "600")
    programs = until(lambda: bpf_programs_of(r.pid), "it has programs")
    ok(len(programs) >= 5 and all(map(lives, programs)), "they are there", programs)
    r.kill()
    r.wait()
    until(lambda: not any(map(lives, programs)), "they are gone")


def skipped_runs(said):
    """The kernel skips a program on a CPU where a thread was preempted inside of it; the collector says how often."""
    found = re.search(r"the kernel skipped (\d+) runs", said)
    return int(found[1]) if found else 0


def a_successor_goes_on():
    """The keeper holds the programs and their buffers: only data being written are lost, and runs that the kernel skips."""
    path = work + "/kept"
    keeper = begins(start(duet, "collect", "-q", "-k", "syscall_*_getppid", BPF, "-o", path))
    callers = []
    for life in range(3):
        status, out, _ = run(program, "calls", 1, 1000)
        is_(status, 0, "it calls")
        callers.append(int(out))
        if life < 2:
            worker = worker_of(keeper)
            programs = bpf_programs_of(keeper.pid)
            kill(worker)
            until(lambda: worker_of(keeper) != worker, "another worker comes")
            is_(bpf_programs_of(keeper.pid), programs, "by the same programs")
    status, _, said = keeper.end(signal.SIGTERM)
    is_(status, 0, "it ends well")
    found = collections.Counter(e["tid"] for e in events(path, "syscall_entry_getppid", may_lose=True))
    n, skipped = [found[c] for c in callers], skipped_runs(said)
    ok(1000 - skipped <= n[2] <= 1000 and max(n) <= 1000, "all other events are there, and none twice", (n, skipped, said))
    ok(glob.glob(path + "/kernel-*/bpf_*"), "another life has recorded them")


if os.geteuid():
    skip("needs root: the kernel is recorded")
status, _, why = cmd("record", "-q", BPF, "-k", "syscalls", "-o", work + "/probe", "--", "true")
if status:
    skip(why)
run_cases(bpf_is_the_default_and_reported, each_call_is_recorded_once_for_the_right_process, texts_are_exact, other_data_that_arguments_point_to_are_exact, both_backends_record_the_same,
          threads_and_children_that_were_there_are_recorded, tracefs_applies_filters_that_bpf_programs_cannot, arguments_are_filtered,
          environments_are_counted_up_to_512, the_first_call_of_a_command_is_its_execve,
          impossible_requests_are_refused, the_verifier_walks_each_capture_once, nothing_is_left_of_a_killed_recorder, a_successor_goes_on)
