# SPDX-License-Identifier: MIT
"""A collector, programs that do what they are told, and what became of their events: for the tests of this
directory.

usage: TEST DUET PROGRAM LIBDUET
"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

duet, program, library = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="duet-channels-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
babeltrace = shutil.which("babeltrace2")
started = []
failures = 0
MIB = 1 << 20


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("  not ok: %s: got %r, wanted %r" % (what, got, want))


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("  not ok: %s %s" % (what, more))


def cmd(*args):
    p = subprocess.run([duet] + [str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stdout, p.stderr


def start(args, **more):
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    started.append(p)
    return p


class Program:
    def __init__(self, **env):
        self.p = start([program], stdin=subprocess.PIPE, env=dict(os.environ, **env))
        self.pid = self.p.pid
        is_(self.p.stdout.readline().split()[:1], ["ready"], "the program runs")

    def begin(self, *words):
        self.p.stdin.write(" ".join(str(w) for w in words) + "\n")
        self.p.stdin.flush()

    def end(self):
        """The numbers it answers."""
        words = self.p.stdout.readline().split()
        is_(words[:1], ["done"], "the program did it")
        return [float(w) for w in words[1:]]

    def do(self, *words):
        self.begin(*words)
        return self.end()

    def quit(self):
        self.p.stdin.close()
        is_(self.p.wait(timeout=30), 0, "the program ends well")


class Collector:
    def __init__(self, *args, verb="collect", session="session-"):
        self.trace = tempfile.mkdtemp(prefix="trace-", dir=work)
        self.p = start([duet, verb, "-o", self.trace] + [str(a) for a in args])
        while not any(n.startswith(session) for n in os.listdir(work + "/run")) if os.path.isdir(work + "/run") else True:
            if self.p.poll() is not None:
                ok(False, "the collector starts", self.p.stderr.read())
                break
            time.sleep(0.005)

    def pid(self):
        """The process that collects: what we have started may be its keeper."""
        with open("/proc/%d/task/%d/children" % (self.p.pid, self.p.pid)) as f:
            children = f.read().split()
        return int(children[0]) if children else self.p.pid

    def stopped(self):
        os.kill(self.pid(), signal.SIGSTOP)
        while " T " not in open("/proc/%d/stat" % self.pid()).read():
            time.sleep(0.001)

    def goes_on(self):
        os.kill(self.pid(), signal.SIGCONT)

    def status(self):
        """What `duet status` says: a line for each channel, by name."""
        code, out, err = cmd("status")
        is_((code, err), (0, ""), "status")
        lines = out.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("  CHANNEL"))
        return "\n".join(lines[:at]), {line.split()[0]: line for line in lines[at + 1:]}

    def memory(self):
        """Bytes of the session's memory that are there."""
        for fd in os.listdir("/proc/%d/fd" % self.pid()):
            path = "/proc/%d/fd/%s" % (self.pid(), fd)
            if os.readlink(path).startswith("/memfd:duet-pool"):
                return os.stat(path).st_blocks * 512
        return 0

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        self.summary = self.p.communicate(timeout=60)[1]
        is_(self.p.returncode, 0, "the collector ends well: " + self.summary)
        m = re.search(r"(\d+) LOST", self.summary)
        self.lost = int(m.group(1)) if m else 0
        self.lost_in = {name: int(n) for n, name in re.findall(r"(\d+) of them in channel (\S+)", self.summary)}
        return self

    def end(self, others=True):
        """Stops it, and reads what it has recorded."""
        self.stop()
        self.events = [e for e in events(self.trace) if "event" in e]
        self.count = collections.Counter(e["event"] for e in self.events)
        if others:
            is_(count_with_babeltrace(self.trace), sum(self.count.values()), "babeltrace2 reads the same")
        return self


def events(trace, more=()):
    code, out, err = cmd("view", "--json", *more, trace)
    is_(code, 0, "view: " + err)
    lines = [json.loads(line) for line in out.splitlines()]
    return [e for e in lines if not e.get("event", "").startswith("lttng_ust_statedump")]


def count_with_babeltrace(trace):
    p = subprocess.run([babeltrace, trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = [line for line in p.stderr.splitlines() if line.strip()]
    odd = [line for line in told if not re.match("WARNING: Tracer (may have )?discarded", line)]
    is_((p.returncode, odd[:3]), (0, []), "babeltrace2 has nothing to say but what was lost")
    return sum("lttng_ust_statedump" not in line for line in p.stdout.splitlines())


def stats(trace):
    code, out, err = cmd("stats", "--by", "stream", "--json", trace)
    is_(code, 0, "stats: " + err)
    return json.loads(out)


def lost_by_stream(trace):
    """channel's prefix of the files -> lost events, as `duet stats` counts them"""
    lost = collections.Counter()
    for row in stats(trace)["streams"]:
        m = re.match(r"(?:(.*)_)?(cpu|lane)_\d+$", os.path.basename(row["stream"]))
        if m:
            lost[m.group(1) or "default"] += row["lost_events"]
    return lost


def ids(c, event):
    return [e["fields"]["id"] for e in c.events if e["event"] == event]


def run_all(*tests):
    if not babeltrace:
        print("babeltrace2 is missing")
        sys.exit(1)
    wanted = sys.argv[4:]
    try:
        for test in tests:
            if wanted and test.__name__ not in wanted:
                continue
            before, begin = failures, time.monotonic()
            test()
            print("%s - %s (%.1f s)" % ("ok" if failures == before else "not ok", test.__name__,
                                         time.monotonic() - begin))
    finally:
        for p in started:
            if p.poll() is None:
                p.send_signal(signal.SIGCONT)
                p.kill()
                p.wait()
        shutil.rmtree(work)
    sys.exit(1 if failures else 0)
