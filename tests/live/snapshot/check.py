#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots of flight recorders: whole, up to the moment, bounded, as many as wanted, while programs run,
and die.

usage: check.py DUET PROGRAM LIBDUET
"""
import collections
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

duet, program, library = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="duet-snapshot-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
babeltrace = shutil.which("babeltrace2")
started = []
failures = 0
M64 = (1 << 64) - 1


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("not ok: %s: got %r, wanted %r" % (what, got, want))


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %s" % (what, more))


def cmd(*args, **more):
    p = subprocess.run([duet] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    return p.returncode, p.stdout, p.stderr


def refused(what, *args):
    status, out, err = cmd("snapshot", *args)
    is_((status, out, err.count("\n")), (2, "", 1), what + ": " + err)
    return err


def start(args, **more):
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    started.append(p)
    return p


def start_program(*args):
    p = start([program] + [str(a) for a in args])
    is_(p.stdout.readline().split()[:1], ["ready"], "the program runs")
    return p


def start_recorder(trace, *args, **more):
    p = start([duet, "record", "--overwrite", "-q", "-o", trace] + list(args), **more)
    for _ in range(500):
        if os.path.isdir(work + "/run") and any(n.startswith("session-") for n in os.listdir(work + "/run")):
            return p
        time.sleep(0.01)
    ok(False, "the recorder starts", p.stderr.read() if p.poll() is not None else "")
    return p


def stop(p, sig=signal.SIGTERM):
    p.send_signal(sig)
    p.wait()
    return p


def worst(p):
    stop(p)
    return float(p.stdout.read().split()[1])


def ask(text, session="default", directory=None, timeout=30):
    """A request as another program would send it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(timeout)
    s.connect("%s/run/sock-%s" % (work, session))
    if directory is None:
        s.send(text.encode())
    else:
        socket.send_fds(s, [text.encode()], [directory])
    answer = s.recv(65536)
    s.close()
    return json.loads(answer) if answer else None


def snapshot(**members):
    answer = ask(json.dumps(dict({"verb": "snapshot"}, **members)))
    ok(answer and answer.get("ok") is True, "a snapshot is made", str(answer))
    return answer


def events(trace):
    status, out, err = cmd("view", "--json", trace)
    is_(status, 0, "view " + err)
    is_(err.replace("\n", ""), "", "view has nothing to tell")
    return [json.loads(line) for line in out.splitlines()]


def stream_bytes(trace, *names):
    files = [f for n in names for f in glob.glob(trace + "/**/" + n, recursive=True)]
    return sum(os.path.getsize(f) for f in files if not f.endswith(".idx"))


def lost_packets(trace):
    """Whether a reader is told of gaps; Babeltrace says so, and must say nothing else."""
    if not babeltrace:
        return None
    p = subprocess.run([babeltrace, trace, "--component=sink.utils.dummy"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    is_(p.returncode, 0, "babeltrace2 reads it: " + p.stderr[-500:])
    told = [line for line in p.stderr.splitlines() if "WARNING" in line]
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


def check_whole(trace, cut, fresh_ns=50000000, gaps_allowed=True):
    """Since the time from which all CPUs are there, until the cut, no number of any writer is missing."""
    listed = events(trace)
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
    newest = max(t for _, t, _ in everything)
    ok(newest >= cut - fresh_ns, "the newest event is new", "%.3f ms" % ((cut - newest) / 1e6))
    return by_writer, listed


def what_is_recorded_at_full_speed_is_whole():
    n_cpus = len(os.sched_getaffinity(0))
    for name, args in (("pinned", [n_cpus, 0, "pin"]), ("free", [3, 0])):
        trace = "%s/fast-%s" % (work, name)
        p = start_program(*args)
        r = start_recorder(trace, "--no-kernel", "-b", "1M")
        time.sleep(0.2)
        for i in range(3):
            a = snapshot()
            is_(a["path"], "%s/snapshot-%d" % (trace, i + 1), "its place")
            check_whole(a["path"], a["cut_ns"])
        slowest = worst(p)
        print("# the longest event took %.3f s" % slowest)
        ok(slowest < 5, "no event hangs", "%.3f s" % slowest)  # how long they take is for bench/snapshot
        stop(r)
        is_(r.returncode, 0, "the recorder ends well: " + r.stderr.read())
        ok(sum(len(w) for w in numbers(events(trace)).values()) > 1000, "and writes the newest as ever")


def snapshots_overlap_and_are_complete():
    trace = work + "/overlap"
    p = start_program(2, 20000)
    r = start_recorder(trace, "--no-kernel", "-b", "64M")
    time.sleep(0.3)
    kept = []
    for _ in range(3):
        a = snapshot()
        kept.append({(w, n) for w, l in check_whole(a["path"], a["cut_ns"], gaps_allowed=False)[0].items()
                     for n, _, _ in l})
        time.sleep(0.05)
    ok(kept[0] < kept[1] < kept[2], "each holds what the one before held", str([len(k) for k in kept]))
    stop(p)
    stop(r)
    last = {(w, n) for w, l in numbers(events(trace)).items() for n, _, _ in l}
    ok(kept[2] < last, "as does the end")


def programs_may_be_killed_meanwhile():
    trace = work + "/killed"
    r = start_recorder(trace, "--no-kernel", "-b", "1M")
    alive = []
    for i in range(8):
        alive.append(start_program(2, 0))
        time.sleep(0.03)
        if len(alive) > 2:
            alive.pop(random.randrange(len(alive))).kill()
        a = snapshot()
        check_whole(a["path"], a["cut_ns"], fresh_ns=200000000)
    for p in alive:
        stop(p, signal.SIGKILL)
    stop(r)
    is_(r.returncode, 0, "the recorder ends well")


def the_newest_are_kept_within_bounds():
    trace = work + "/bounds"
    p = start_program(1, 100000, "pin")
    r = start_recorder(trace, "--no-kernel", "-b", "64M")
    time.sleep(1.5)
    all_ = snapshot()
    last = snapshot(last_ns=300000000)
    small = snapshot(max_size=500000)
    both = snapshot(max_size=500000, last_ns=20000000)
    spans = []
    for a in (all_, last, small, both):
        (w,) = check_whole(a["path"], a["cut_ns"], gaps_allowed=False)[0].values()
        spans.append((a["cut_ns"] - w[0][1]) / 1e9)
    ok(spans[0] > 0.9, "without bounds all is there", str(spans))
    ok(0.3 <= spans[1] < 0.6, "--last: that long, and a packet more", str(spans))
    n = stream_bytes(small["path"], "cpu_*", "lane_*")
    ok(300000 < n <= 500000, "--max-size: that much, less a packet", str(n))
    ok(0.02 <= spans[3] < spans[2], "whichever is narrower", str(spans))
    status, out, err = cmd("snapshot", "--last", "100ms", "--max-size", "1M", "-o", work + "/there/it/is")
    is_((status, err), (0, ""), "the command does the same")
    is_(out.split(":")[0], work + "/there/it/is", "says where")
    m = re.search(r"(\d+) events of applications", out)
    is_(int(m.group(1)) if m else out, sum(map(len, numbers(events(work + "/there/it/is")).values())),
        "and how much it holds")
    stop(p)
    stop(r)


def both_halves_reach_the_moment():
    if os.geteuid():
        print("# not root: no kernel")
        return
    trace = work + "/kernel"
    p = start_program(1, 20000, "call", "pin")
    r = start_recorder(trace, "-p", str(p.pid), "-k", "syscall_*_dup", "-b", "16M")
    time.sleep(0.5)
    kept = []
    session = "record-%d" % r.pid
    for _ in range(3):
        a = ask('{"verb":"snapshot"}', session)
        (w,), listed = (lambda x: (x[0].values(), x[1]))(check_whole(a["path"], a["cut_ns"],
                                                                     gaps_allowed=False))
        calls = [(e["fields"]["fildes"] - 1000000, e["time"]) for e in listed
                 if e["event"] == "syscall_entry_dup" and e["fields"]["fildes"] >= 1000000]
        times = {n: t for n, t, _ in w}
        is_([b for (a_, _), (b, _) in zip(calls, calls[1:]) if b != a_ + 1], [], "calls follow one another")
        ok(calls[-1][1] >= a["cut_ns"] - 50000000, "up to the moment")
        ok(all(times[n - 1] < t < times[n] for n, t in calls if n in times and n - 1 in times),
           "each between the events before and after it")
        ok(sum(n in times for n, _ in calls) > 1000, "they are of one time")
        ok(any(e["event"] == "lttng_statedump_process_state" for e in listed), "with the state of processes")
        kept.append({n for n, _ in calls})
        time.sleep(0.1)
    ok(kept[0] < kept[1] < kept[2], "the kernel's half overlaps, too", str([len(k) for k in kept]))
    a = ask('{"verb":"snapshot","last_ns":200000000}', session)
    calls = [e for e in events(a["path"]) if e["event"] == "syscall_entry_dup" and e["tid"] != p.pid]
    ok(0.2 <= (a["cut_ns"] - calls[0]["time"]) / 1e9 < 0.8, "--last bounds it")
    a = ask('{"verb":"snapshot","max_size":300000}', session)
    n = stream_bytes(a["path"], "cpu_*", "lane_*", "kernel_*")
    ok(100000 < n <= 300000, "--max-size bounds both together", str(n))
    stop(p)
    stop(r, signal.SIGINT)
    is_(r.returncode, 0, "the recorder ends well: " + r.stderr.read())
    calls = [e["fields"]["fildes"] for e in events(trace) if e["event"] == "syscall_entry_dup"]
    calls = [c for c in calls if c >= 1000000]
    is_([b for a_, b in zip(calls, calls[1:]) if b != a_ + 1], [], "nothing is lost for the snapshots")
    ok({c - 1000000 for c in calls} > kept[2], "and the end has it all")


def what_cannot_be_done_is_told_in_a_line():
    refused("nothing records")
    p = start_program(1, 1000)
    c = start([duet, "collect", "-q", "-o", work + "/no-flight", "-e", "snap:*", "-s", "plain"])
    while not os.path.exists(work + "/run/session-plain"):
        time.sleep(0.01)
    ok("flight recorder" in refused("no flight recorder"), "it says what is missing")
    refused("no such session", "-s", "other")
    stop(c)

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    trace = work + "/errors"
    r = start_recorder(trace, "--no-kernel", "-b", "1M", restore_signals=False)
    resource.prlimit(r.pid, resource.RLIMIT_FSIZE, (20000, 20000))
    time.sleep(1)
    err = refused("the disk is full")
    ok(trace + "/snapshot-1" in err and "too large" in err, "it names the file", err)
    ok(not os.path.exists(trace + "/snapshot-1"), "and what could not be whole is not there")
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
        strangers_are_not_heard()
    is_(r.poll(), None, "the recorder has survived it all")
    stop(p)
    stop(r)


def strangers_are_not_heard():
    """Even if somebody opens the doors."""
    os.chmod(work, 0o711)
    os.chmod(work + "/run", 0o711)
    os.chmod(work + "/run/sock-default", 0o777)
    pid = os.fork()
    if not pid:
        os.setuid(65534)
        try:
            os._exit(0 if ask('{"verb":"snapshot"}') is None else 1)
        except OSError:
            os._exit(0)
    is_(os.waitpid(pid, 0)[1], 0, "another user gets no answer")
    os.chmod(work + "/run", 0o700)


def several_ask_at_once():
    trace = work + "/several"
    p = start_program(1, 0)
    r = start_recorder(trace, "--no-kernel", "-b", "16M")
    time.sleep(0.3)
    gone = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    gone.connect(work + "/run/sock-default")
    gone.send(b'{"verb":"snapshot"}')
    gone.close()
    asked = [start([duet, "snapshot"]) for _ in range(4)]
    is_([q.wait() for q in asked], [0] * 4, "each gets one: " + "".join(q.stderr.read() for q in asked))
    for wrong in ('"last_ns":-5', '"last_ns":"5"', '"max_size":1.5'):
        refused = ask('{"verb":"snapshot",%s}' % wrong)
        ok(not refused["ok"] and wrong.split('"')[1] in refused["error"], "refused: " + wrong, str(refused))
    is_(sorted(n for n in os.listdir(trace) if n.startswith("snapshot")),
        ["snapshot-%d" % i for i in range(1, 6)], "one who went away, and four")
    time.sleep(0.2) # connections that only looked are closed
    fds = os.listdir("/proc/%d/fd" % r.pid)
    for _ in range(5):
        snapshot()
    time.sleep(0.2)
    is_(len(os.listdir("/proc/%d/fd" % r.pid)), len(fds), "descriptors of the recorder")
    stop(p)
    stop(r)


try:
    for test in (what_is_recorded_at_full_speed_is_whole, snapshots_overlap_and_are_complete,
                 programs_may_be_killed_meanwhile, the_newest_are_kept_within_bounds,
                 both_halves_reach_the_moment, what_cannot_be_done_is_told_in_a_line, several_ask_at_once):
        before = failures
        begin = time.time()
        test()
        print("%s - %s (%.1f s)" % ("ok" if failures == before else "not ok", test.__name__,
                                    time.time() - begin))
        for p in started:
            if p.poll() is None:
                p.kill()
                p.wait()
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work)
sys.exit(1 if failures else 0)
