#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of flight recorders: whole, up to the moment, bounded, as many as wanted, while programs run,
and die.

arguments: DUET PROGRAM LIBDUET
"""
import collections
import contextlib
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import fds  # noqa: E402
from recorder import stop  # noqa: E402
from trial import (PATIENCE, begins, cmd, duet, is_, ok, paths, run, run_cases, runtime, start, until,  # noqa: E402
                   work)

program, library = paths(2)
babeltrace = shutil.which("babeltrace2")
M64 = (1 << 64) - 1
PACKET_BYTES, EVENT_BYTES_MIN = 64 << 10, 32  # of applications: with header, context and fields


def refused(what, *args):
    status, out, err = cmd("snapshot", *args)
    is_((status, out, err.count("\n")), (2, "", 1), what + ": " + err)
    return err


def start_program(*args):
    file = "%s/progress-%d" % (work, time.monotonic_ns())
    p = start(program, *args, env=dict(os.environ, PROGRESS=file))
    is_(p.stdout.readline().split()[:1], ["ready"], "the program runs")
    p.progress_file, p.n_threads = file, int(args[0])
    return p


def progress(p):
    """How many events each of its threads has recorded, or tried to."""
    with open(p.progress_file, "rb") as f:
        return struct.unpack("%dQ" % p.n_threads, f.read(8 * p.n_threads))


def records(p, times=1000):
    """Each of its threads has recorded so many events more."""
    until(lambda: "[x] snap:number" in cmd("list", "-p", str(p.pid))[1], "its events are recorded")
    before = progress(p)
    until(lambda: all(n >= b + times for n, b in zip(progress(p), before)), "the program goes on")


def start_recorder(trace, *args, **more):
    r = start(duet, "record", "--overwrite", "-q", "-o", trace, *args, **more)
    return begins(r, "record-%d" % r.pid if "-p" in args else "default")


def ask(text, session="default", directory=None, timeout=PATIENCE):
    """A request as another program would send it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(timeout)
    s.connect("%s/sock-%s" % (runtime, session))
    if directory is None:
        s.send(text.encode())
    else:
        socket.send_fds(s, [text.encode()], [directory])
    answer = s.recv(65536)
    s.close()
    return json.loads(answer) if answer else None


@contextlib.contextmanager
def paused(*programs):
    """Pauses the programs while we read their events: buffers must hold them all, and we need the processors."""
    for p in programs:
        p.send_signal(signal.SIGSTOP)
    yield
    for p in programs:
        p.send_signal(signal.SIGCONT)


def states(*programs):
    return [(p, progress(p)) for p in programs]


def snapshot(**members):
    answer = ask(json.dumps(dict({"verb": "snapshot"}, **members)))
    ok(answer and answer.get("ok") is True, "a snapshot is made", str(answer))
    return answer


def events(trace, may_refuse=False):
    """@may_refuse: of a small pool, writers that lose their CPU may hold all chunks; what others try then is refused, and
    counted."""
    status, out, err = cmd("view", "--json", trace)
    is_(status, 0, "view " + err)
    listed = [json.loads(line) for line in out.splitlines()]
    if may_refuse and any("lost_events" in e for e in listed):
        err = re.sub(r"^duet view: \d+ events? lost while recording; .*\n", "", err)
        listed = [e for e in listed if "lost_events" not in e]
    is_(err.replace("\n", ""), "", "view reports nothing")
    return listed


def stream_bytes(trace, *names):
    files = [f for n in names for f in glob.glob(trace + "/**/" + n, recursive=True)]
    return sum(os.path.getsize(f) for f in files if not f.endswith(".idx"))


def lost_packets(trace):
    """Whether a reader gets reports of gaps; Babeltrace prints them, and must print nothing else."""
    if not babeltrace:
        return None
    status, _, err = run(babeltrace, trace, "--component=sink.utils.dummy")
    is_(status, 0, "babeltrace2 reads it: " + err[-500:])
    told = [line for line in err.splitlines() if "WARNING" in line]
    is_([line for line in told if "lost" not in line and "discarded" not in line], [], "without warning")
    return len(told)


def numbers(all_events):
    """Checks every event against itself; returns them by writer, in order."""
    by_writer = collections.defaultdict(list)
    torn = 0
    for e in all_events:
        if e["event"] != "snap:number":
            continue
        f = e["fields"]
        n = f["n"]
        check = ((n * 0x9e3779b97f4a7c15) ^ (f["thread"] << 32 | e["pid"])) & M64
        torn += f["check"] not in (check, hex(check)) or f["filler"] != chr(97 + n % 26) * (n % 61)
        by_writer[e["pid"], f["thread"]].append((n, e["time"], e["cpu"]))
    is_(torn, 0, "torn events")
    return by_writer


def check_whole(trace, cut, before, gaps_allowed=True):
    """Since the time from which all CPUs are there, until the cut, no number of any writer is missing.

    @before: (program, its progress) before the snapshot was requested.  The last writer before that is there with
    all its events until then; those of others may have been overwritten."""
    listed = events(trace, may_refuse=gaps_allowed)
    by_writer = numbers(listed)
    everything = [x for w in by_writer.values() for x in w]
    if not everything:
        ok(False, "there are events")
        return by_writer, listed
    has_gaps = lost_packets(trace)
    since = max(min(t for _, t, c in everything if c == cpu) for cpu in {c for _, _, c in everything})
    for writer, w in by_writer.items():
        seen = [n for n, t, _ in w if since <= t <= cut]
        jumps = sum(b != a + 1 for a, b in zip(seen, seen[1:]))
        ok(not jumps or (has_gaps and gaps_allowed), "numbers of one writer follow one another",
           "%s: %d jumps, %s" % (writer, jumps, trace))
    for cpu in {c for _, _, c in everything}:
        times = [t for _, t, c in everything if c == cpu]
        ok(times == sorted(times) or len(by_writer) > 1, "times of cpu %d are in order" % cpu)
    ok(any(by_writer[p.pid, thread] and by_writer[p.pid, thread][-1][0] >= n - 1
           for p, counts in before for thread, n in enumerate(counts)), "events before it are there")
    return by_writer, listed


def a_recording_at_full_speed_is_whole():
    n_cpus = len(os.sched_getaffinity(0))
    for name, args in (("pinned", [n_cpus, 0, "pin"]), ("free", [3, 0])):
        trace = "%s/fast-%s" % (work, name)
        p = start_program(*args)
        r = start_recorder(trace, "--no-kernel", "-b", "1M")
        records(p)
        for i in range(3):
            before = states(p)
            a = snapshot()
            is_(a["path"], "%s/snapshot-%d" % (trace, i + 1), "its place")
            with paused(p):
                check_whole(a["path"], a["cut_ns"], before)
            records(p)  # nothing hangs; how long an event takes is for bench/snapshot
        p.end(signal.SIGTERM)
        stop(r)
        ok(sum(len(w) for w in numbers(events(trace, may_refuse=True)).values()) > 1000, "and writes the newest as ever")


def snapshots_overlap_and_are_complete():
    trace = work + "/overlap"
    p = start_program(2, 20000)
    r = start_recorder(trace, "--no-kernel", "-b", "64M")
    kept = []
    for _ in range(3):
        records(p)
        before = states(p)
        a = snapshot()
        with paused(p):
            by_writer, _ = check_whole(a["path"], a["cut_ns"], before, gaps_allowed=False)
        kept.append({(w, n) for w, l in by_writer.items() for n, _, _ in l})
    records(p)
    ok(kept[0] < kept[1] < kept[2], "each holds the events of the one before", str([len(k) for k in kept]))
    p.end(signal.SIGTERM)
    stop(r, status=None)
    last = {(w, n) for w, l in numbers(events(trace)).items() for n, _, _ in l}
    ok(kept[2] < last, "as does the end")


def programs_may_be_killed_meanwhile():
    trace = work + "/killed"
    r = start_recorder(trace, "--no-kernel", "-b", "1M")
    alive = []
    for i in range(8):
        alive.append(start_program(2, 0))
        records(alive[-1])
        killed = [alive.pop(random.randrange(len(alive)))] if len(alive) > 2 else []
        for p in killed:
            p.kill()
        before = states(*alive, *killed)
        a = snapshot()
        with paused(*alive):
            check_whole(a["path"], a["cut_ns"], before)
    for p in alive:
        p.end(signal.SIGKILL)
    stop(r)


def the_newest_are_kept_within_bounds():
    trace = work + "/bounds"
    p = start_program(1, 100000, "pin")
    r = start_recorder(trace, "--no-kernel", "-b", "64M")
    records(p)
    time.sleep(1.5)
    kept = []
    for bounds in dict(), dict(last_ns=300000000), dict(max_size=500000), dict(max_size=500000, last_ns=20000000):
        before = states(p)
        a = snapshot(**bounds)
        with paused(p):
            by_writer, _ = check_whole(a["path"], a["cut_ns"], before, gaps_allowed=False)
        (w,) = [w for w in by_writer.values() if w]
        older = sum(t < a["cut_ns"] - bounds.get("last_ns", 0) for _, t, _ in w) * EVENT_BYTES_MIN
        kept.append(((a["cut_ns"] - w[0][1]) / 1e9, older, stream_bytes(a["path"], "cpu_*", "lane_*")))
    (all_s, _, _), (last_s, last_older, _), (_, _, size), (both_s, both_older, both_size) = kept
    ok(all_s > 1.5, "without bounds all is there", str(kept))
    ok(0.3 <= last_s and last_older <= PACKET_BYTES, "--last: that long, and a packet more", str(kept))
    ok(300000 < size <= 500000, "--max-size: that much, less a packet", str(kept))
    ok(both_size <= 500000 and both_older <= PACKET_BYTES and (both_s >= 0.02 or both_size > 300000),
       "whichever is narrower", str(kept))
    status, out, err = cmd("snapshot", "--last", "100ms", "--max-size", "1M", "-o", work + "/there/it/is")
    is_((status, err), (0, ""), "the command does the same")
    is_(out.split(":")[0], work + "/there/it/is", "says where")
    m = re.search(r"(\d+) events of applications", out)
    is_(int(m.group(1)) if m else out, sum(map(len, numbers(events(work + "/there/it/is")).values())),
        "and how much it holds")
    p.end(signal.SIGTERM)
    stop(r, status=None)


def both_halves_reach_the_moment(backend="ftrace"):
    if os.geteuid():
        print("# not root: no kernel")
        return
    trace = work + "/kernel-" + backend
    p = start_program(1, 20000, "call", "pin")
    r = start_recorder(trace, "-p", str(p.pid), "-k", "syscall_*_dup", "-b", "16M", "--kernel-backend=" + backend)
    kept = []
    session = "record-%d" % r.pid
    for _ in range(3):
        records(p, 2000)
        before = states(p)
        a = ask('{"verb":"snapshot"}', session)
        with paused(p):
            by_writer, listed = check_whole(a["path"], a["cut_ns"], before, gaps_allowed=False)
        (w,) = [w for w in by_writer.values() if w]
        calls = [(e["fields"]["fildes"] - 1000000, e["time"]) for e in listed
                 if e["event"] == "syscall_entry_dup" and e["fields"]["fildes"] >= 1000000]
        times = {n: t for n, t, _ in w}
        is_([b for (a_, _), (b, _) in zip(calls, calls[1:]) if b != a_ + 1], [], "calls follow one another")
        ok(calls[-1][0] >= before[0][1][0] - 1, "up to the moment", "%s, %s" % (calls[-1:], before))
        ok(all(times[n - 1] < t < times[n] for n, t in calls if n in times and n - 1 in times),
           "each between the events before and after it")
        ok(sum(n in times for n, _ in calls) > 1000, "they are of one time")
        ok(any(e["event"] == "lttng_statedump_process_state" for e in listed), "with the state of processes")
        kept.append({n for n, _ in calls})
    records(p, 10000)
    ok(kept[0] < kept[1] < kept[2], "the kernel's half overlaps, too", str([len(k) for k in kept]))
    a = ask('{"verb":"snapshot","last_ns":200000000}', session)
    calls = [e for e in events(a["path"]) if e["event"] == "syscall_entry_dup" and e["tid"] != p.pid]
    older = [e for e in calls if e["time"] < a["cut_ns"] - 200000000]
    # Pages are whole; events of BPF programs are examined one by one.
    ok((older or backend == "bpf") and len(older) * 64 <= 2 * PACKET_BYTES, "--last bounds it", str(len(older)))
    a = ask('{"verb":"snapshot","max_size":300000}', session)
    n = stream_bytes(a["path"], "cpu_*", "lane_*", "kernel_*", "bpf_*")
    # A packet of each half may not have fitted whole, and the kernel's pages become less than half when they are
    # converted, after they were measured.
    ok((300000 - 2 * PACKET_BYTES) // 3 < n <= 300000, "--max-size bounds both together", str(n))
    p.end(signal.SIGTERM)
    stop(r, signal.SIGINT)
    calls = [e["fields"]["fildes"] for e in events(trace) if e["event"] == "syscall_entry_dup"]
    calls = [c for c in calls if c >= 1000000]
    is_([b for a_, b in zip(calls, calls[1:]) if b != a_ + 1], [], "nothing is lost for the snapshots")
    ok({c - 1000000 for c in calls} > kept[2], "and the end has it all")


def by_bpf_programs_they_do_so_as_well():
    if os.geteuid() or cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", work + "/probe", "--", "true")[0]:
        print("# BPF programs cannot record here")
        return
    both_halves_reach_the_moment("bpf")


def impossible_snapshots_are_refused_in_a_line():
    refused("nothing records")
    p = start_program(1, 1000)
    c = begins(start(duet, "collect", "-q", "-o", work + "/no-flight", "-e", "snap:*", "-s", "plain"), "plain")
    ok("--overwrite" in refused("no flight recorder"), "it names the option that is missing")
    refused("no such session", "-s", "other")
    stop(c, status=None)

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    trace = work + "/errors"
    r = start_recorder(trace, "--no-kernel", "-b", "1M", restore_signals=False)
    resource.prlimit(r.pid, resource.RLIMIT_FSIZE, (20000, 20000))
    records(p)
    err = refused("the disk is full")
    ok(trace + "/snapshot-1" in err and "too large" in err, "it names the file", err)
    ok(not os.path.exists(trace + "/snapshot-1"), "and an incomplete snapshot is not there")
    os.mkdir(work + "/full")
    ok(work + " is not empty" in refused("not empty", "-o", work), "it names the directory")
    ok(work + "/full/ust" in refused("the same elsewhere", "-o", work + "/full"), "by its name")
    is_(os.path.isdir(work + "/full") and os.listdir(work + "/full"), False, "nothing is left")
    for args in (["-o", "/dev/null/x"], ["--last", "5"], ["--last", "0s"], ["--max-size", "much"], ["x"],
                 ["--nonsense"]):
        refused(str(args), *args)
    for text in ("{", "{}", '{"verb":"fly"}', '{"verb":17}', '{"verb":"snapshot"', '{"a":' * 100,
                 '{"verb":"snapshot","path":{}}', "{" + " " * 8000):
        answer = ask(text)
        is_(answer and answer["ok"], False, "not a request: " + text[:30])
    is_(ask("{" + "x" * 20000), None, "too long a request")
    is_(ask("nonsense"), None, "nonsense")
    with open("/dev/null") as f:
        is_(ask('{"verb":"snapshot","path":"/x"}', directory=f.fileno())["ok"], False, "not a directory")
    if not os.geteuid():
        requests_of_other_users_are_not_accepted()
    is_(r.poll(), None, "the recorder has survived it all")
    p.end(signal.SIGTERM)
    stop(r, status=None)


def requests_of_other_users_are_not_accepted():
    """Even if the directories are made accessible."""
    os.chmod(work, 0o711)
    os.chmod(runtime + "", 0o711)
    os.chmod(runtime + "/sock-default", 0o777)
    pid = os.fork()
    if not pid:
        os.setuid(65534)
        try:
            os._exit(0 if ask('{"verb":"snapshot"}') is None else 1)
        except OSError:
            os._exit(0)
        finally:
            os._exit(2)
    is_(os.waitpid(pid, 0)[1], 0, "another user gets no answer")
    os.chmod(runtime + "", 0o700)


def several_ask_at_once():
    trace = work + "/several"
    p = start_program(1, 0)
    r = start_recorder(trace, "--no-kernel", "-b", "16M")
    records(p)
    gone = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    gone.connect(runtime + "/sock-default")
    gone.send(b'{"verb":"snapshot"}')
    gone.close()
    asked = [start(duet, "snapshot") for _ in range(4)]
    is_([q.wait() for q in asked], [0] * 4, "each gets one: " + "".join(q.stderr.read() for q in asked))
    for wrong in ('"last_ns":-5', '"last_ns":"5"', '"max_size":1.5'):
        refused = ask('{"verb":"snapshot",%s}' % wrong)
        ok(not refused["ok"] and wrong.split('"')[1] in refused["error"], "refused: " + wrong, str(refused))
    is_(sorted(n for n in os.listdir(trace) if n.startswith("snapshot")),
        ["snapshot-%d" % i for i in range(1, 6)], "one that disconnected, and four")
    before = len(fds(r.pid))
    for _ in range(5):
        snapshot()
    until(lambda: len(fds(r.pid)) <= before, "descriptors of the recorder are as many as before")
    p.end(signal.SIGTERM)
    stop(r, status=None)


run_cases(a_recording_at_full_speed_is_whole, snapshots_overlap_and_are_complete,
          programs_may_be_killed_meanwhile, the_newest_are_kept_within_bounds, both_halves_reach_the_moment,
          by_bpf_programs_they_do_so_as_well, impossible_snapshots_are_refused_in_a_line, several_ask_at_once)
