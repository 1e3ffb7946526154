#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording in pieces: whatever is killed, and when, every event is there once; each piece can be read alone.

usage: check.py DUET PROGRAM LIBDUET [KILLS]      long form: 500
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
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 25
work = tempfile.mkdtemp(prefix="duet-pieces-")
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
    return condition


def wait_for(what, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        value = what()
        if value:
            return value
        time.sleep(0.002)
    return None


def children_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(c) for c in f.read().split()]
    except OSError:
        return []


def child_of(pid):
    return (children_of(pid) or [None])[0]


def collect(trace, *options):
    c = subprocess.Popen([duet, "collect", "-o", trace, "-e", "keeper:*", *options],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.append(c)
    ok(wait_for(lambda: os.path.exists(work + "/run/session-default") or c.poll() is not None), "the session begins")
    ok(wait_for(lambda: child_of(c.pid)), "there is a worker")
    return c


def start_program(first=0):
    p = subprocess.Popen([program, str(first)], stdout=subprocess.PIPE, text=True)
    started.append(p)
    ok(p.stdout.readline() == "ready\n", "the program runs")
    return p


def stop_program(p):
    p.send_signal(signal.SIGTERM)
    counts = [int(n) for n in p.communicate()[0].split()]
    ok(p.returncode == 0, "the program ends as ever: %r" % p.returncode)
    return counts


def end(c):
    c.send_signal(signal.SIGINT)
    told = c.communicate()[1]
    ok(c.returncode == 0, "it ends as ever: %r %s" % (c.returncode, told))
    return told


def numbers_of(text):
    """thread -> the numbers, in order"""
    found = collections.defaultdict(list)
    for m in re.finditer(r"thread = (\d+), n = (\d+)", text):
        found[int(m[1])].append(int(m[2]))
    return found


def view(trace):
    v = subprocess.run([duet, "view", "-e", "keeper:number", trace], capture_output=True, text=True)
    ok(v.returncode == 0 and "lost" not in v.stderr, "%s: %s" % (trace, v.stderr[:300]))
    return numbers_of(v.stdout)


def babeltrace(trace):
    b = subprocess.run(["babeltrace2", trace], capture_output=True, text=True)
    ok(b.returncode == 0 and not b.stderr, "babeltrace2 %s: %s" % (trace, b.stderr[:300]))
    return numbers_of(b.stdout)


def same(found, counts, what):
    for thread, n in enumerate(counts):
        if not ok(found[thread] == list(range(n)), "%s: thread %d: %d events of %d, in order, each once" %
                  (what, thread, len(found[thread]), n)):
            seen = collections.Counter(found[thread])
            print("# missing", [i for i in range(n) if not seen[i]][:10],
                  "twice", [i for i in seen if seen[i] > 1][:10])


def pieces(trace):
    return sorted(n for n in os.listdir(trace) if n.startswith("piece-"))


def all_alone(trace, counts, reader):
    """Each piece read alone: together they are the whole.  Around a seam, and more so where something was killed, what
    happened earlier may be in the later one."""
    together = collections.defaultdict(list)
    for name in pieces(trace):
        ok(os.path.exists("%s/%s/.duet/finished" % (trace, name)), name + " is finished")
        for thread, ns in reader("%s/%s" % (trace, name)).items():
            together[thread] += ns
    same(collections.defaultdict(list, {t: sorted(ns) for t, ns in together.items()}), counts,
         "pieces alone, " + reader.__name__)


def asked_for(trace):
    c = collect(trace, "--rotate", "request")
    p = start_program()
    for i in range(1, 6):
        time.sleep(0.05)
        r = subprocess.run([duet, "rotate"], capture_output=True, text=True)
        ok(r.stdout == "%s/piece-%06d\n" % (os.path.realpath(trace), i), "it says where: %r %s" % (r.stdout, r.stderr))
        ok(os.path.exists(r.stdout.strip() + "/.duet/finished"), "and that is finished")
    counts = stop_program(p)
    told = end(c)
    ok("none lost" in told and re.search(r"pieces +6\n", told), told)
    same(view(trace), counts, "duet view")
    same(babeltrace(trace), counts, "babeltrace2")
    all_alone(trace, counts, view)
    all_alone(trace, counts, babeltrace)


def kill_something(c):
    """The worker, or what looks after its pieces."""
    worker = wait_for(lambda: child_of(c.pid))
    if not worker:
        raise SystemExit("no worker: %r %s" % (c.poll(), c.communicate()[1]))
    victim = worker
    if rng.random() < 0.3:
        tidy = children_of(worker)
        victim = tidy[0] if tidy else worker
    os.kill(victim, signal.SIGKILL)
    if victim == worker:
        ok(wait_for(lambda: (child_of(c.pid) or worker) != worker), "another worker comes")
    return victim == worker


def killed(trace, *options):
    c = collect(trace, *options)
    p = start_program()
    n = 0
    for _ in range(kills):
        time.sleep(rng.random() * 0.08)
        if rng.random() < 0.3:
            subprocess.Popen([duet, "rotate"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()
        n += kill_something(c)
    late = start_program(3)
    time.sleep(0.1)
    ok(c.poll() is None, "it still collects")
    counts = stop_program(p) + stop_program(late)
    told = end(c)
    ok(not n or "killed %d time" % n in told, "the kills are told: " + told)
    ok("none lost" in told, "nothing is lost: " + told)
    same(view(trace), counts, "killed, " + " ".join(options))
    all_alone(trace, counts, view)
    return counts


def killed_packing(trace):
    counts = killed(trace, "--rotate", "60000", "--compress", "zstd", "--sync", "rotate")
    plain = [f for d, _, files in os.walk(trace) for f in files
             if not f.endswith(".zst") and "/.duet" not in d and "/index" not in d]
    ok(not plain, "all is compressed: %s" % plain[:5])
    hidden = [f for d, _, files in os.walk(trace) for f in files if f.startswith(".")]
    ok(not hidden, "nothing half made is left: %s" % hidden[:5])
    r = subprocess.run([duet, "export", "ctf", "-o", trace + "-plain", trace], capture_output=True, text=True)
    if ok(r.returncode == 0, "export: " + r.stderr):
        same(babeltrace(trace + "-plain"), counts, "exported")


def old_ones_go(trace):
    c = collect(trace, "--rotate", "20000", "--keep-last", "3")
    p = start_program()
    ok(wait_for(lambda: len(pieces(trace)) > 3 and pieces(trace)[0] > "piece-000005"), "old pieces go: %s" % pieces(trace))
    counts = stop_program(p)
    told = end(c)
    ok("removed" in told, told)
    left = pieces(trace)
    ok(len(left) == 3, "three are left: %s" % left)
    ok(not [n for n in os.listdir(trace) if n.startswith(".piece")], "nothing half removed is left")
    found = view(trace)
    for thread, n in enumerate(counts):
        ok(found[thread] == list(range(n - len(found[thread]), n)), "thread %d: the newest, without a gap" % thread)


def followed_while_packed(trace):
    """Who reads along sees every event, also when files are packed under his eyes."""
    c = collect(trace, "--rotate", "60000", "--compress", "zstd")
    p = start_program()
    ok(wait_for(lambda: pieces(trace)), "there is something")
    f = subprocess.Popen([duet, "view", "--follow", "-e", "keeper:number", trace],
                         stdout=open(trace + ".seen", "w"), stderr=subprocess.PIPE, text=True)
    started.append(f)
    time.sleep(1.5)
    counts = stop_program(p)
    end(c)
    told = f.communicate()[1]
    ok(f.returncode == 0 and "shown" not in told, "follow: " + told)
    with open(trace + ".seen") as seen:
        same(numbers_of(seen.read()), counts, "followed")


def sent_ones_go(trace):
    """What has arrived at the relay is removed here, and is there once."""
    relay = subprocess.Popen([duet, "relay", "--plain", "--listen", "127.0.0.1:0", "-o", trace + "-relay"],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    started.append(relay)
    port = re.search(r"port (\d+)", relay.stdout.readline())[1]
    c = subprocess.Popen([duet, "record", "--no-kernel", "-o", trace, "--rotate", "50000", "--plain", "--to", "127.0.0.1:" + port,
                          "--", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    started.append(c)
    ok(c.stdout.readline() == "ready\n", "the program runs")
    ok(wait_for(lambda: os.path.isdir(trace) and pieces(trace) and pieces(trace)[0] > "piece-000003"),
       "pieces go when they have arrived")
    for child in children_of(c.pid):
        if open("/proc/%d/comm" % child).read().strip() == os.path.basename(program):
            os.kill(child, signal.SIGTERM)
    out, told = c.communicate()
    counts = [int(n) for n in out.split()]
    ok(c.returncode == 0 and "removed" in told and len(counts) == 3, told)
    relay.send_signal(signal.SIGINT)
    relay.communicate()
    same(view(trace + "-relay"), counts, "on the relay")


def old_ones_go_and_all_is_killed(trace):
    c = collect(trace, "--rotate", "20000", "--keep-last", "5", "--compress", "zstd")
    p = start_program()
    for _ in range(kills):
        time.sleep(rng.random() * 0.08)
        kill_something(c)
    counts = stop_program(p)
    end(c)
    ok(0 < len(pieces(trace)) <= 5, "at most five are left: %s" % pieces(trace))
    found = view(trace)
    for thread, n in enumerate(counts):
        ok(found[thread] == list(range(n - len(found[thread]), n)), "thread %d: the newest, without a gap" % thread)


def free_bytes(path):
    s = os.statvfs(path)
    return s.f_bavail * s.f_frsize


def on_a_small_disk():
    disk = work + "/disk"
    os.mkdir(disk)
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk]).returncode:
        print("# no right to mount a small disk: not tried")
        return
    try:
        small_disk_is_enough(disk + "/kept")
        shutil.rmtree(disk + "/kept")
        full_disk(disk + "/full")
    finally:
        subprocess.run(["umount", "-l", disk])


def small_disk_is_enough(trace):
    """What is removed in time makes room for what comes."""
    c = collect(trace, "--rotate", "300K", "--keep-last", "1M", "--compress", "zstd")
    p = start_program()
    ok(wait_for(lambda: pieces(trace) and pieces(trace)[0] > "piece-000008"), "it goes on and on")
    counts = stop_program(p)
    told = end(c)
    ok("none lost" in told, told)
    found = view(trace)
    for thread, n in enumerate(counts):
        ok(found[thread] and found[thread] == list(range(n - len(found[thread]), n)),
           "small disk: thread %d: the newest, without a gap" % thread)


def full_disk(trace):
    """Whole packets or none; what is lost is counted; it goes on when there is room."""
    saved = work + "/saved"
    os.mkdir(saved)
    c = collect(trace, "--rotate", "300K", "-b", "1M")
    p = start_program()
    ok(wait_for(lambda: free_bytes(os.path.dirname(trace)) < 100000), "the disk fills")
    time.sleep(1)  # and the buffers
    before = pieces(trace)
    ok(len(before) > 2, "full: %s" % before)
    for name in before[:-2]:
        shutil.copytree(trace + "/" + name, saved + "/" + name)
    for name in before[:-2]:
        shutil.rmtree(trace + "/" + name)
    ok(wait_for(lambda: pieces(trace)[-1] > before[-1]), "it goes on when there is room")
    counts = stop_program(p)
    told = end(c)
    lost = re.search(r"(\d+) LOST", told)
    for name in pieces(trace):
        shutil.move(trace + "/" + name, saved)
    v = subprocess.run([duet, "view", "-e", "keeper:number", saved], capture_output=True, text=True)
    found = numbers_of(v.stdout)
    ok("damage" not in v.stderr and "remain" not in v.stderr, v.stderr[:500])
    here = sum(len(set(found[t])) for t in found)
    ok(here == sum(len(found[t]) for t in found), "each once")
    ok(all(found[t] == sorted(found[t]) for t in found), "in order")
    ok(lost and here + int(lost[1]) == sum(counts), "%d here and %s lost of %d\n%s" % (here, lost and lost[1], sum(counts), told))
    b = subprocess.run(["babeltrace2", saved], capture_output=True, text=True)
    ok(b.returncode == 0 and len(re.findall("keeper:number", b.stdout)) == here, "babeltrace2: " + b.stderr[:300])


try:
    on_a_small_disk()
    asked_for(work + "/asked")
    killed(work + "/killed", "--rotate", "60000", "--rotate", "100ms")
    killed_packing(work + "/packed")
    old_ones_go(work + "/kept")
    sent_ones_go(work + "/sent")
    followed_while_packed(work + "/followed")
    old_ones_go_and_all_is_killed(work + "/kept-killed")
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    if not os.environ.get("DUET_TEST_KEEP"):
        shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
