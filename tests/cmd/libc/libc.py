#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libc.py CASE DUET COUNT PROGRAM STATIC - the guarantees of `duet record -e 'lttng_ust_libc:*'`.

CASE is the name of a function below.  Each records a command with count.c preloaded behind our preload and expects
that

  the command's output and exit status are those of an unrecorded run,
  the trace has exactly the events that count.c counted, per function, and no loss,
  Babeltrace reads it without a message and counts the same,
  no process frees an address twice, or gets one that is in use,
  the runtime directory is empty afterwards.

Exit status: 0 pass, 77 skip, 1 fail.
"""
import atexit
import collections
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

CASE = sys.argv[1]
DUET, COUNT, PROGRAM, STATIC = map(os.path.abspath, sys.argv[2:6])
FUNCTIONS = ["malloc", "calloc", "realloc", "free", "memalign", "posix_memalign", "aligned_alloc"]
OURS = os.path.join(os.path.dirname(DUET), "..", "inproc", "libduet-libc.so.0")


class Recording:
    """One run of a command under duet."""

    def __init__(self, command, cwd=None, preload=COUNT, check_output=True, options=("-q",)):
        self.dir = tempfile.mkdtemp(prefix="duet-libc-")
        atexit.register(shutil.rmtree, self.dir, ignore_errors=True)
        self.trace = os.path.join(self.dir, "trace")
        self.runtime = os.path.join(self.dir, "run")
        self.counters = os.path.join(self.dir, "count")
        os.mkdir(self.runtime, 0o700)
        with open(self.counters, "wb") as f:
            f.write(bytes(4096))
        env = dict(os.environ, LC_ALL="C", DUET_RUNTIME_DIR=self.runtime)
        env.pop("LD_PRELOAD", None)
        if check_output:
            self.plain = subprocess.run(command, cwd=cwd, env=env, capture_output=True)
        if preload:
            env.update(LD_PRELOAD=preload, DUET_TEST_COUNT=self.counters)
        self.result = subprocess.run(
            [DUET, "record", "-o", self.trace, "-e", "lttng_ust_libc:*", "--no-kernel", *options,
             "--"] + command, cwd=cwd, env=env, capture_output=True)
        if check_output:
            same(self.result.returncode, self.plain.returncode, "exit status")
            same(self.result.stdout, self.plain.stdout, "output")
            same(self.result.stderr, self.plain.stderr, "error output")
        same(os.listdir(self.runtime), ["seats"], "files left in the runtime directory")

    def counted(self):
        with open(self.counters, "rb") as f:
            values = struct.unpack("7Q", f.read(56))
        return dict(zip(FUNCTIONS, values))

    def viewed(self):
        """Returns the number of events by function, as duet view prints them."""
        n = dict.fromkeys(FUNCTIONS, 0)
        view = subprocess.Popen([DUET, "view", self.trace], stdout=subprocess.PIPE)
        for line in view.stdout:
            at = line.find(b" lttng_ust_libc:")
            if at >= 0:
                n[line[at + 16:].split(b" ", 1)[0].decode()] += 1
        same(view.wait(), 0, "duet view's exit status")
        return n

    def babeltraced(self):
        n = dict.fromkeys(FUNCTIONS, 0)
        with open(os.path.join(self.dir, "bt.err"), "w+") as err:
            bt = subprocess.Popen(["babeltrace2", self.trace], stdout=subprocess.PIPE, stderr=err)
            for line in bt.stdout:
                at = line.find(b" lttng_ust_libc:")
                if at >= 0:
                    n[line[at + 16:].split(b":", 1)[0].decode()] += 1
            same(bt.wait(), 0, "babeltrace2's exit status")
            err.seek(0)
            same(err.read(), "", "warnings of babeltrace2, also about lost events")
        return n

    def events(self):
        view = subprocess.Popen([DUET, "view", "--json", self.trace], stdout=subprocess.PIPE)
        for line in view.stdout:
            yield json.loads(line)
        same(view.wait(), 0, "duet view's exit status")

    def is_exact(self):
        """Checks that the events are those counted; returns them by function."""
        viewed = self.viewed()
        same(viewed, self.counted(), "events in the trace, and calls counted")
        same(self.babeltraced(), viewed, "events as Babeltrace and as duet count them")
        return viewed

    def is_consistent(self, from_start=False):
        """Checks that no address is freed twice or returned twice; see Heap."""
        heaps = collections.defaultdict(Heap)
        for e in self.events():
            pid = e["pid"]
            if e["event"] == "lttng_ust_statedump:procname":
                heaps[pid] = Heap(from_start)  # a new program, or a child that begins
            elif e["event"].startswith("lttng_ust_libc:"):
                heaps[pid].take(e)
        for pid, h in heaps.items():
            h.end()
            same(h.errors[:5], [], f"errors in the heap of process {pid}")



class Heap:
    """The addresses of one process, followed through its events as wrap/libc.c explains them.  An address
    may be live twice for a while, if the event that ends the older block is a realloc's, still to come.

    A forked child has its parent's blocks: unknown addresses may be freed, unless the heap is
    known from its start."""

    def __init__(self, from_start=False):
        self.lives = collections.Counter()
        self.seen = set()
        self.from_start = from_start
        self.errors = []

    def begin(self, p):
        self.lives[p] += 1
        self.seen.add(p)

    def finish(self, p, e):
        if self.lives[p]:
            self.lives[p] -= 1
        elif p in self.seen or self.from_start:
            self.errors.append(f"{p:#x} is not live: {e}")

    def take(self, e):
        f, name = e["fields"], e["event"].split(":")[1]
        if name == "free":
            if f["ptr"]:
                self.finish(f["ptr"], e)
            return
        if name == "realloc" and f["in_ptr"] and (f["ptr"] or not f["size"]):
            self.finish(f["in_ptr"], e)
        p = f["out_ptr"] if name == "posix_memalign" else f["ptr"]
        if p:
            self.begin(p)

    def end(self):
        self.errors += [f"{p:#x} was handed out twice" for p, n in self.lives.items() if n > 1]


def same(got, want, what):
    if got != want:
        sys.exit(f"{CASE}: {what}: {got!r}, not {want!r}"[:4000])


def need(*tools):
    for t in tools:
        if not shutil.which(t):
            print(f"{CASE}: no {t} here")
            sys.exit(77)


def whole(command, cwd=None, from_start=False, **more):
    """Checks the usual expectations; returns the recording for further ones."""
    r = Recording(command, cwd, **more)
    r.is_exact()
    r.is_consistent(from_start)
    return r


# ---------------------------------------------------------------- real programs


def find():
    r = Recording(["find", "/usr/share", "-regex", ".*a"])
    n = r.is_exact()
    assert n["free"] > 1000
    r.is_consistent(from_start=True)


def bash():
    need("bash")
    whole(["bash", "-c", """
        for i in 1 2 3 4 5; do (echo $i; exit $i) | cat | tr 0-9 a-j; done
        x=$(for f in /usr/*; do echo ${f##*/}; done | sort | head -3)
        (trap 'echo trapped' USR1; kill -USR1 $BASHPID; true)
        printf '%s\\n' "$x"; cat /nonexistent; wait; exit 7"""])


def git():
    need("git")
    script = """set -e
        rm -rf repo; git init -q repo; cd repo
        git config user.name n; git config user.email e
        export GIT_AUTHOR_DATE='2000-01-01 00:00 +0000' GIT_COMMITTER_DATE='2000-01-01 00:00 +0000'
        for i in 1 2 3; do seq $i 100 > f; git add f; git commit -q -m "f $i"; done
        git log --stat; git gc -q; git fsck; cd ..; rm -rf repo"""
    with tempfile.TemporaryDirectory() as d:
        whole(["sh", "-c", script], cwd=d)


def python():
    whole([os.path.realpath(sys.executable), "-c", """
import subprocess, threading
def work(n):
    for i in range(200): [str(k) * n for k in range(50)]
t = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[x.start() for x in t]; [x.join() for x in t]
print(subprocess.run(['echo', 'child'], capture_output=True).stdout)
print(subprocess.run('echo $((1+1)) | cat', shell=True, capture_output=True).stdout)
raise SystemExit(3)"""])


def gcc():
    need("gcc")
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "hello.c"), "w") as f:
            f.write('#include <stdio.h>\nint main(void) { puts("hello"); int unused; }\n')
        r = whole(["gcc", "-Wall", "-O2", "-o", "hello", "hello.c"], cwd=d)
        same(subprocess.run(["./hello"], cwd=d, capture_output=True).stdout, b"hello\n", "hello")


# ---------------------------------------------------------------- difficult cases


def values():
    """Every argument and result is the one the program saw."""
    r = Recording([PROGRAM, "values"], check_output=False)
    same(r.result.returncode, 0, "exit status")
    r.is_exact()
    want = [parse(line) for line in r.result.stdout.decode().splitlines()]
    got = [(e["event"].split(":")[1], e["fields"]) for e in r.events()
           if e["event"].startswith("lttng_ust_libc:")]
    same(got[0][1]["size"], 77, "the first event: malloc before libc is initialised, of size")
    start = next(i for i, g in enumerate(got) if g[1].get("size") == 4242)
    for g, w in zip(got[start:], want):
        same(g, w, "an event")
    same(len(want), 16, "expected events")
    r.is_consistent(from_start=True)


def parse(line):
    name, *fields = line.split()
    return name, {k: int(v) for k, v in (f.split("=") for f in fields)}


def fields_are_lttngs():
    """Names, widths, signs and bases of the fields are those in LTTng-UST's traces."""
    u64 = "integer { size = 64; align = 8; signed = false; base = 10; }"
    x64 = "integer { size = 64; align = 8; signed = false; base = 16; }"
    i32 = "integer { size = 32; align = 8; signed = true; base = 10; }"
    want = {
        "malloc": [(u64, "_size"), (x64, "_ptr")],
        "calloc": [(u64, "_nmemb"), (u64, "_size"), (x64, "_ptr")],
        "realloc": [(x64, "_in_ptr"), (u64, "_size"), (x64, "_ptr")],
        "free": [(x64, "_ptr")],
        "memalign": [(u64, "_alignment"), (u64, "_size"), (x64, "_ptr")],
        "posix_memalign": [(x64, "_out_ptr"), (u64, "_alignment"), (u64, "_size"),
                           (i32, "_result")],
        "aligned_alloc": [(u64, "_alignment"), (u64, "_size"), (x64, "_ptr")],
    }
    r = Recording([PROGRAM, "values"], check_output=False)
    for path, _, files in os.walk(r.trace):
        if "metadata" in files:
            with open(os.path.join(path, "metadata")) as f:
                text = f.read()
    got = {name: re.findall(r"(integer \{.*\}) (\w+);", body) for name, body in re.findall(
        r'name = "lttng_ust_libc:(\w+)".*?fields := struct \{(.*?)\n\t\};', text, re.S)}
    same(got, want, "fields")


def threads():
    whole([PROGRAM, "threads"], from_start=True)


def killed():
    """The events are complete up to the instruction at which SIGKILL came."""
    r = Recording([PROGRAM, "killed"], check_output=False)
    same(r.result.returncode, 128 + 9, "exit status")
    n = r.is_exact()
    assert n["malloc"] > 50000
    same({e["proc"] for e in r.events()}, {"libc_program"}, "the program's name")
    r.is_consistent(from_start=True)


def losses_are_reported(command, *options):
    """Recorded and lost events together are all events."""
    r = Recording(command, check_output=False, options=options)
    reported = re.search(rb"^  applications .*, (\d+) LOST", r.result.stdout + r.result.stderr,
                     re.M)
    lost = int(reported[1]) if reported else 0
    same(sum(r.viewed().values()) + lost, sum(r.counted().values()),
         "events in the trace plus events lost, and calls counted")
    return lost


def lost():
    """With buffers too small; and in a program without a collector.  A child that finds no collector continues in its
    parent's buffers; the program it executes cannot."""
    assert losses_are_reported([PROGRAM, "threads"], "--channel", "default:count=8,size=4K") > 0
    same(losses_are_reported([PROGRAM, "lost"]), 0, "events that a child lost")
    assert losses_are_reported([PROGRAM, "lost_exec"]) >= 1


def worker_of(collector):
    """Returns the collecting process, not its supervisor."""
    children = []
    while not children and collector.poll() is None:
        with open(f"/proc/{collector.pid}/task/{collector.pid}/children") as f:
            children = f.read().split()
    return int(children[0])


def lost_once():
    """A loss reported in one recording is not reported again in the next one of the same process."""
    with tempfile.TemporaryDirectory() as d:
        env = dict(os.environ, DUET_RUNTIME_DIR=d + "/run")
        env.pop("LD_PRELOAD", None)
        os.mkdir(d + "/run", 0o700)

        def collector(n):
            c = subprocess.Popen([DUET, "collect", "-o", f"{d}/{n}", "-e", "lttng_ust_libc:*"],
                                 env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            while not os.path.exists(d + "/run/session-default"):
                assert c.poll() is None
                time.sleep(0.01)
            time.sleep(0.2)  # so that the running programs attach
            return c

        def lost_reported(c):
            c.send_signal(signal.SIGINT)
            reported = re.search(rb", (\d+) LOST", c.communicate()[0])
            return int(reported[1]) if reported else 0

        first = collector(1)
        worker = worker_of(first)
        os.kill(worker, signal.SIGSTOP)
        p = subprocess.Popen([PROGRAM, "waiting"], env=dict(env, LD_PRELOAD=OURS),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        same(p.stdout.readline(), b"ready\n", "its output")
        os.kill(worker, signal.SIGCONT)
        assert lost_reported(first) >= 10
        same(lost_reported(collector(2)), 0, "events that the second recording lost")
        p.stdin.close()
        same(p.wait(), 0, "exit status")


def brief():
    for _ in range(20):
        r = whole([PROGRAM, "brief"], from_start=True)
        sizes = [e["fields"].get("size") for e in r.events()]
        assert 77 in sizes and 7001 in sizes


def forks():
    r = whole([PROGRAM, "forks"])
    sizes = sorted(e["fields"]["size"] for e in r.events()
                   if e["fields"].get("size", 0) >= 100000)
    same(sizes, list(range(100000, 100200)), "one malloc of each child")
    same(len({e["pid"] for e in r.events()}), 201, "processes")


def closed():
    r = whole([PROGRAM, "closed"])
    sizes = [e["fields"].get("size") for e in r.events()]
    assert 5001 in sizes and 5002 in sizes, "mallocs with nothing open"


def small():
    r = whole([PROGRAM, "small"])
    sizes = [e["fields"].get("size") for e in r.events()]
    assert 6400 in sizes and 6001 in sizes and 6402 in sizes, "first events on small stacks"


def preloads():
    """Other preloads before and behind ours, ours twice, and other allocators."""
    command = [PROGRAM, "threads"]
    for preload in (f"{COUNT}:{COUNT}", f"{OURS}:{COUNT}", f"{COUNT}:{OURS}"):
        r = Recording(command, preload=preload)
        n = r.viewed()
        assert n["malloc"] > 20000, preload
        same(n, r.counted(), f"events with {preload}")
        r.is_consistent(from_start=True)
    for allocator in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4"):
        probe = subprocess.run(["true"], env=dict(os.environ, LD_PRELOAD=allocator), capture_output=True)
        if probe.stderr:
            print(f"{CASE}: without {allocator}, which is not here")
            continue
        whole(command, preload=f"{COUNT}:{allocator}")


def dormant():
    """Preloaded without a recording: nothing changes, and no file remains."""
    with tempfile.TemporaryDirectory() as d:
        env = dict(os.environ, LD_PRELOAD=OURS, DUET_RUNTIME_DIR=d)
        for way in ("threads", "forks", "closed", "small"):
            same(subprocess.run([PROGRAM, way], env=env).returncode, 0, f"exit status of {way}")
        same(subprocess.run([DUET, "list"], env=env, capture_output=True).returncode, 0, "list")
        same(os.listdir(d), [], "files left in the runtime directory")


def static():
    """A program without a dynamic linker runs untraced and unharmed."""
    if not os.path.exists(STATIC):
        print(f"{CASE}: programs cannot be linked statically here")
        sys.exit(77)
    r = Recording([STATIC, "threads"])
    same(r.result.returncode, 0, "exit status")
    same(r.viewed(), dict.fromkeys(FUNCTIONS, 0), "events")


globals()[CASE]()
