#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector that is killed, again and again, is replaced; programs go on, and every event is there once.

usage: check.py DUET PROGRAM LIBDUET [KILLS]      long form: 1000
"""
import collections
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

duet, program, library = sys.argv[1:4]
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 40
work = tempfile.mkdtemp(prefix="duet-keeper-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
seed = random.randrange(1 << 30)
rng = random.Random(seed)
failures = 0
started = []


def ok(condition, what):
    global failures
    if not condition:
        failures += 1
        print("not ok (seed %d): %s" % (seed, what))


def wait_for(what, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        value = what()
        if value:
            return value
        time.sleep(0.002)
    return None


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        children = f.read().split()
    return int(children[0]) if children else None


def collect(trace, *options):
    c = subprocess.Popen([duet, "collect", "-o", trace, "-e", "keeper:*", *options],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.append(c)
    ok(wait_for(lambda: os.path.exists(work + "/run/session-default")), "the session begins")
    ok(wait_for(lambda: child_of(c.pid)), "there is a worker")
    return c


def start_program(first=0):
    """Its threads are numbered from there."""
    p = subprocess.Popen([program, str(first)], stdout=subprocess.PIPE, text=True)
    started.append(p)
    ok(p.stdout.readline() == "ready\n", "the program runs")
    return p


def stop_program(p):
    p.send_signal(signal.SIGTERM)
    counts = [int(n) for n in p.communicate()[0].split()]
    ok(p.returncode == 0, "the program ends as ever: %r" % p.returncode)
    return counts


def numbers(trace):
    """thread -> the numbers recorded, in order of the trace"""
    found = collections.defaultdict(list)
    v = subprocess.run([duet, "view", "-e", "keeper:number", trace], capture_output=True, text=True)
    for line in v.stdout.splitlines():
        m = re.search(r"thread = (\d+), n = (\d+)", line)
        if m:
            found[int(m[1])].append(int(m[2]))
    ok("lost" not in v.stderr, v.stderr)
    return found


def check(trace, counts):
    found = numbers(trace)
    for thread, n in enumerate(counts):
        ok(found[thread] == list(range(n)), "thread %d: %d events of %d, in order, each once" %
           (thread, len(found[thread]), n))
        if found[thread] != list(range(n)):
            seen = collections.Counter(found[thread])
            print("# missing", [i for i in range(n) if not seen[i]][:10],
                  "twice", [i for i in seen if seen[i] > 1][:10])
    b = subprocess.run(["babeltrace2", trace], capture_output=True, text=True)
    lines = b.stdout.count("keeper:number")
    ok(lines == sum(counts), "babeltrace2: %d of %d; %s" % (lines, sum(counts), b.stderr[:200]))


def kill_workers():
    c = collect(work + "/killed")
    p = start_program()
    for _ in range(kills):
        time.sleep(rng.random() * 0.06)
        worker = wait_for(lambda: child_of(c.pid))
        if not worker:
            break
        os.kill(worker, signal.SIGKILL)
        ok(wait_for(lambda: (child_of(c.pid) or worker) != worker), "another worker comes")
    late = start_program(3)
    time.sleep(0.1)
    ok(c.poll() is None, "it still collects")
    counts = stop_program(p) + stop_program(late)
    c.send_signal(signal.SIGINT)
    told = c.communicate()[1]
    ok(c.returncode == 0, "it ends as ever: %r %s" % (c.returncode, told))
    ok("killed %d times" % kills in told, "the kills are told: " + told)
    ok("none lost" in told, "nothing is lost: " + told)
    ok("from 2 programs" in told, "both programs joined: " + told)
    return counts


def kill_keeper():
    """The worker takes its place, and the recording goes on: tests/live/sessions does it more often."""
    c = collect(work + "/orphan")
    p = start_program()
    time.sleep(0.1)
    worker = child_of(c.pid)
    c.kill()
    c.wait()
    ok(wait_for(lambda: child_of(worker)), "the worker has one of its own")
    counts = stop_program(p)
    s = subprocess.run([duet, "stop"], capture_output=True, text=True)
    ok(s.returncode == 0 and "none lost" in s.stderr, "it is stopped, and nothing is lost: " + s.stderr)
    check(work + "/orphan", counts)


def kill_on_a_full_disk():
    """A successor waits for room, as its predecessor would have."""
    disk = work + "/disk"
    os.mkdir(disk)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk]).returncode:
        print("# no right to mount a small disk: not tried")
        return
    try:
        c = collect(disk + "/trace", "-b", "1M")
        p = start_program()
        time.sleep(0.1)
        with open(disk + "/filler", "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(4096))
            except OSError:
                pass
        killed = []
        for _ in range(3):
            worker = wait_for(lambda: child_of(c.pid) not in killed and child_of(c.pid))
            ok(worker, "there is a worker")
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)
        ok(wait_for(lambda: child_of(c.pid) not in killed and child_of(c.pid)), "another one tries")
        time.sleep(1)
        ok(c.poll() is None, "it is still there")
        counts = stop_program(p)
        os.unlink(disk + "/filler")
        p = start_program(3)
        late = wait_for(lambda: os.path.exists(disk + "/trace/.duet") and
                        [d for d in os.listdir(disk + "/trace") if d.startswith("ust-")])
        ok(late, "it goes on when there is room")
        counts += stop_program(p)
        c.send_signal(signal.SIGINT)
        told = c.communicate()[1]
        ok(c.returncode == 0, "it ends as ever: %r %s" % (c.returncode, told))
        lost = re.search(r"(\d+) LOST", told)
        v = subprocess.run([duet, "view", "-e", "keeper:number", disk + "/trace"], capture_output=True, text=True)
        found = collections.Counter(re.findall(r"thread = \d+, n = \d+", v.stdout))
        ok(found and max(found.values()) == 1, "each once")
        ok(len(found) + int(lost[1] if lost else 0) == sum(counts),
           "%d here and %s lost of %d\n%s" % (len(found), lost and lost[1], sum(counts), told))
    finally:
        subprocess.run(["umount", "-l", disk])


try:
    check(work + "/killed", kill_workers())
    kill_keeper()
    kill_on_a_full_disk()
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
