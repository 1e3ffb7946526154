#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The n-th system call, or the n-th allocation, fails: in a traced program, in its collector.

usage: fault.py program|collector|memory DUET PROGRAM LIBDUET INJECT FAILMALLOC [STRIDE]

If a call fails in the program, it ends as it would without us, and its events are recorded or counted.
If a call fails in the collector, it works, or ends with a message; the program it runs is not harmed.
A stride of 1 is all of it; the suite takes each n-th, another one every time.
"""
import collections
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

mode, duet, program, library, inject, failmalloc = sys.argv[1:7]
stride = int(sys.argv[7]) if len(sys.argv) > 7 else 1
ERRORS = [errno.ENOMEM, errno.EMFILE, errno.ENOSPC, errno.EINTR]
HANG = 90  # seconds; a run takes well below one, but the machine is shared
# All passes the filter, which is linked for each event; one kind goes to a channel of its own.
WANTED = ["-e", "fault:*", "-f", "run >= 0", "--channel", "second:events=fault:child,size=4K"]
OUTPUT = "errno kept 50 times, child 7\n"
work = tempfile.mkdtemp(prefix="duet-fault-")
notes = work + "/notes"
open(notes, "w").close()
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
failures = 0


def fail(text):
    global failures
    failures += 1
    print("not ok: " + text)
    if failures > 20:
        sys.exit(1)


def report(path):
    try:
        with open(path) as f:
            return {k: int(v) for k, v in (line.split() for line in f)}
    except FileNotFoundError:
        return {"calls": 0, "failed": -1}


def attempted():
    """run -> events that were attempted"""
    sums = collections.Counter()
    with open(notes) as f:
        for line in f:
            run, _, n = line.split()
            sums[int(run)] += int(n)
    return sums


def run(args, **more):
    begin = time.monotonic()
    try:
        p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=HANG, **more)
    except subprocess.TimeoutExpired:
        return None, "", "", HANG
    return p.returncode, p.stdout, p.stderr, time.monotonic() - begin


def recorded(trace):
    """run -> events in the trace"""
    sums = collections.Counter()
    status, out, err, _ = run([duet, "view", trace])
    if status not in (0, 1):
        fail("duet view: status %s: %s" % (status, err))
    for n in re.findall(r" fault:\w+ \{ run = (\d+)", out):
        sums[int(n)] += 1
    return sums


def lost_in(text):
    m = re.search(r"(\d+) LOST", text)
    return int(m.group(1)) if m else 0


def chosen(count):
    """Which of the calls 1 ... count fail this time, and how."""
    first = os.getpid() % stride
    for n in range(1, count + 1):
        if stride == 1:
            for e in ERRORS:
                yield n, e
        elif n % stride == first:
            yield n, ERRORS[(n // stride + os.getpid() // stride) % len(ERRORS)]


def the_program():
    """One collector, a run for each n; in the end all that was attempted is there, or counted."""
    trace = work + "/trace"
    collector = subprocess.Popen([duet, "collect", "-o", trace] + WANTED,
                                 stderr=subprocess.PIPE, text=True)
    while not os.path.isdir(work + "/run") or not any(f.startswith("session-") for f in os.listdir(work + "/run")):
        if collector.poll() is not None:
            return fail("the collector: " + collector.communicate()[1])
        time.sleep(0.01)
    args = [inject, "-f", "-l", "libduet.so", "-o", work + "/report"]
    status, out, err, _ = run(args + ["--", program, "0", notes])
    count = report(work + "/report")["calls"]
    if (status, out, err) != (0, OUTPUT, ""):
        fail("undisturbed: %s" % ((status, out, err),))
    if count < 40:
        fail("only %d calls of libduet's are seen" % count)
    number, what = 0, {0: (0, "-", "-")}
    for n, e in chosen(count):
        number += 1
        for _ in range(5):  # the machine may keep it waiting once, we every time
            status, out, err, took = run(args + ["-n", str(n), "-e", str(e), "--", program, str(number), notes])
            if took <= 2:
                break
        call = report(work + "/report")["failed"]
        what[number] = (n, call, errno.errorcode[e])
        where = "call %d (number %d) fails with %s" % (n, call, errno.errorcode[e])
        if (status, out, err) != (0, OUTPUT, ""):
            fail("%s: status %s, output %r, %r" % (where, status, out, err))
        if took > 2:
            fail("%s: took %.1f s" % (where, took))
    collector.terminate()
    err = collector.communicate()[1]
    if collector.returncode:
        fail("collector: status %d: %s" % (collector.returncode, err))
    tried, got, lost = attempted(), recorded(trace), lost_in(err)
    if sum(tried.values()) != sum(got.values()) + lost:
        fail("%d attempted, %d recorded, %d counted lost" % (sum(tried.values()), sum(got.values()), lost))
        for i in what:
            if tried[i] != got[i]:
                print("  call %s (number %s), %s: %d attempted, %d recorded" % (what[i] + (tried[i], got[i])))
    if got[0] != 150:
        fail("undisturbed: %d events" % got[0])
    for i in what:
        if not tried[i] and what[i][0] > count // 2:
            fail("inert after call %s (number %s), %s" % what[i])
    left = [f for f in os.listdir(work + "/run") if not f.startswith("app-") and f != "seats"]
    run([duet, "list"])
    left += set(os.listdir(work + "/run")) - {"seats"}
    if left:
        fail("left behind: %s" % left)
    print("%d runs, %d calls of libduet's; %d events attempted, %d recorded, %d lost and counted; %d runs inert"
          % (number, count, sum(tried.values()), sum(got.values()), lost, sum(not tried[i] for i in what)))


def one_recording(number, prefix, where, env=None):
    """duet record of the program, disturbed.  It works, or says why not."""
    trace = work + "/trace-%d" % number
    status, out, err, took = run(prefix + [duet, "record", "--no-kernel", "-o", trace] + WANTED +
                                 ["--", program, str(number), notes], env=env)
    if status is None:
        fail("%s: it hangs" % where)
        return None
    if status not in (0, 1, 2, 127) or status and not err:
        fail("%s: status %s, %r" % (where, status, err))
    # 1: events could not be written, and the summary shows them; 2: for another reason than the disk.
    if "NOT WRITTEN" not in err if status == 1 else "NOT WRITTEN" in err and status != 2:
        fail("%s: status %s, %r" % (where, status, err))
    if out not in ("", OUTPUT):
        fail("%s: the program is disturbed: %r" % (where, out))
    if out and status == 0 and not err:
        fail("%s: no summary" % where)
    tried = attempted()[number]
    got, lost = 0, lost_in(err)
    if os.path.isdir(trace) and out:
        got = recorded(trace)[number]
    # A collector that ends in order reports all losses; one that ends with an error may report fewer, never more.
    if got + lost > tried or status in (0, 1) and "duet" not in err.split("\n")[0] and got + lost != tried:
        fail("%s: %d attempted, %d recorded, %d lost; status %d, %s" % (where, tried, got, lost, status, err))
    shutil.rmtree(trace, ignore_errors=True)
    return status, tried, got, lost, err


def the_collector():
    args = [inject, "-s", "-o", work + "/report"]
    if one_recording(0, args + ["--"], "undisturbed")[:4] != (0, 150, 150, 0):
        fail("undisturbed")
    count, number, failed = report(work + "/report")["calls"], 0, 0
    for n, e in chosen(count):
        number, before = number + 1, failures
        r = one_recording(number, args + ["-n", str(n), "-e", str(e), "--"],
                          "call %d of about %d fails with %s" % (n, count, errno.errorcode[e]))
        failed += bool(r and r[0])
        if failures > before:
            print("  it was number %d" % report(work + "/report")["failed"])
    print("%d recordings of about %d calls each; %d ended with a message" % (number, count, failed))


def the_memory():
    env = dict(os.environ, LD_PRELOAD=failmalloc, FAULT_COUNT=work + "/count")
    one_recording(0, [], "undisturbed", dict(env, FAULT_MALLOC="0"))
    with open(work + "/count") as f:
        count = int(f.read())
    failed = number = 0
    for n in range(1 + os.getpid() % stride, count + 1, stride):
        number += 1
        r = one_recording(number, [], "allocation %d of %d fails" % (n, count), dict(env, FAULT_MALLOC=str(n)))
        failed += bool(r and r[0])
    print("%d recordings of %d allocations each; %d ended with a message" % (number, count, failed))


try:
    {"program": the_program, "collector": the_collector, "memory": the_memory}[mode]()
finally:
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
