# SPDX-License-Identifier: MIT
"""A collector, the programs it records, and whether both say the same: for the tests of this directory."""
import collections
import functools
import json
import os
import re
import signal
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import begins, cmd, duet, is_, paths, run_cases, runtime, start, until, work  # noqa: E402, F401
from trial import run as run_command  # noqa: E402

library, program = paths(2, library=False)
os.chmod(work, 0o755)
os.environ.update(DUET_LIBRARY=library, LIFE_DIR=os.path.dirname(program))


class Recording:
    """A collector; in the end, its events and the numbers that the programs noted."""

    def __init__(self, *args):
        self.trace = tempfile.mkdtemp(prefix="trace-", dir=work)
        self.notes_file = self.trace + ".notes"
        open(self.notes_file, "w").close()
        os.chmod(self.notes_file, 0o666)
        self.collector = begins(start(duet, "collect", "-o", self.trace, *(args or ("-e", "life:*"))))

    def run(self, mode, number=0, prog=None, prefix=(), **env):
        status, _, self.err = run_command(*prefix, prog or program, mode, self.notes_file, number, timeout=300,
                                          env=dict(os.environ, **env))
        return status

    def notes(self):
        n = collections.Counter()
        with open(self.notes_file) as f:
            for line in f:
                if line.endswith("\n"):  # it may be being written
                    what, value = line.split()
                    n[what] += int(value)
        return n

    def n_said(self):
        """How many processes have noted their number of events."""
        return sum(k.isdigit() for k in self.notes())

    def end(self):
        status, _, err = self.collector.end(signal.SIGTERM)
        is_(status, 0, "the collector ends well (%s)" % err)
        m = re.search(r"(\d+) LOST", err)
        self.lost = int(m.group(1)) if m else 0
        status, out, err = cmd("view", "--json", self.trace)
        is_(status, 0, "duet view: " + err)
        self.by_pid = collections.Counter()
        self.tids = collections.defaultdict(set)
        self.strangers = 0
        for line in out.splitlines():
            e = json.loads(line)
            if e.get("event", "").startswith("life:"):
                self.by_pid[str(e["pid"])] += 1
                self.tids[e["pid"]].add(e["tid"])
                self.strangers += e.get("vpid", e["pid"]) != e["fields"]["pid"]
        self.total = sum(self.by_pid.values())
        self.said = sum(v for k, v in self.notes().items() if k.isdigit())
        return self

    def is_whole(self, what, lost=0):
        is_((self.total, self.lost, self.strangers), (self.said - lost, lost, 0), what)


def run_all(tests):
    """Each leaves nothing behind."""
    def and_leaves_nothing(test):
        @functools.wraps(test)
        def whole():
            test()
            is_([n for n in os.listdir(runtime) if n.startswith(("session", "sock"))], [], "left behind")
        return whole
    run_cases(*map(and_leaves_nothing, tests))
