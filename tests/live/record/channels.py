# SPDX-License-Identifier: MIT
"""A collector, programs that execute commands, and the fate of their events: for the tests of this
directory.

arguments of a test: DUET PROGRAM LIBDUET
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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import is_stopped, kill  # noqa: E402
from trial import cmd, duet, fail, go_on, is_, ok, paths, run, run_cases, runtime, start, until, work, worker_of  # noqa: E402, F401

program, library = paths(2)
babeltrace = shutil.which("babeltrace2")
MIB = 1 << 20


class Program:
    def __init__(self, **env):
        self.p = start(program, stdin=subprocess.PIPE, env=dict(os.environ, **env))
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
        is_(self.p.wait(), 0, "the program ends well")


class Collector:
    def __init__(self, *args, verb="collect", session="session-"):
        self.trace = tempfile.mkdtemp(prefix="trace-", dir=work)
        self.p, self.verb = start(duet, verb, "-o", self.trace, *args), verb
        until(lambda: any(n.startswith(session) for n in os.listdir(runtime)) or self.p.poll() is not None,
              "the collector begins")
        # Its file comes before it has switched events on in the programs that run.
        until(lambda: self.p.poll() is not None or cmd("status")[0] == 0, "it answers")
        if self.p.poll() is not None:
            fail("the collector starts: " + self.p.stderr.read())

    def pid(self):
        """The process that collects: the started process may be its keeper."""
        return worker_of(self.p) if self.verb == "collect" else self.p.pid

    def stopped(self):
        pid = self.pid()
        kill(pid, signal.SIGSTOP)
        until(lambda: is_stopped(pid), "it stops")

    def goes_on(self):
        kill(self.pid(), signal.SIGCONT)

    def status(self):
        """The output of `duet status`: a line for each channel, by name."""
        code, out, err = cmd("status")
        is_((code, err), (0, ""), "status")
        lines = out.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("  CHANNEL"))
        return "\n".join(lines[:at]), {line.split()[0]: line for line in lines[at + 1:]}

    def memory(self):
        """Bytes of the session's memory that are there."""
        fds = "/proc/%d/fd/" % self.pid()

        def pools():  # a descriptor may be closed meanwhile: once more
            return [os.stat(fds + n).st_blocks * 512 for n in os.listdir(fds)
                    if os.readlink(fds + n).startswith("/memfd:duet-pool")]
        return until(pools, "it has memory")[0]

    def stop(self):
        status, _, self.summary = self.p.end(signal.SIGTERM)
        is_(status, 0, "the collector ends well: " + self.summary)
        m = re.search(r"(\d+) LOST", self.summary)
        self.lost = int(m.group(1)) if m else 0
        self.lost_in = {name: int(n) for n, name in re.findall(r"(\d+) of them in channel (\S+)", self.summary)}
        return self

    def end(self, others=True):
        """Stops it, and reads its recording."""
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
    status, out, err = run(babeltrace, trace)
    told = [line for line in err.splitlines() if line.strip()]
    odd = [line for line in told if not re.match("WARNING: Tracer (may have )?discarded", line)]
    is_((status, odd[:3]), (0, []), "babeltrace2 warns of nothing but losses")
    return sum("lttng_ust_statedump" not in line for line in out.splitlines())


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
        sys.exit("babeltrace2 is missing")
    run_cases(*tests)
