# SPDX-License-Identifier: MIT
"""A collector, the programs it records, and whether both say the same: for the tests of this directory."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

duet, library, program = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="duet-life-")
os.chmod(work, 0o755)
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library, LIFE_DIR=os.path.dirname(program))
failures = 0
collectors = []


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("  not ok: %s: got %r, wanted %r" % (what, got, want))


class Recording:
    """A collector; in the end, what it has and what the programs say they recorded."""

    def __init__(self, *args):
        self.trace = tempfile.mkdtemp(prefix="trace-", dir=work)
        self.notes_file = self.trace + ".notes"
        open(self.notes_file, "w").close()
        os.chmod(self.notes_file, 0o666)
        self.collector = subprocess.Popen([duet, "collect", "-o", self.trace] + list(args or ("-e", "life:*")),
                                          stderr=subprocess.PIPE, text=True)
        collectors.append(self.collector)
        while not (os.path.isdir(work + "/run") and "session-default" in os.listdir(work + "/run")):
            time.sleep(0.005)

    def run(self, mode, number=0, prog=None, prefix=(), **env):
        p = subprocess.run(list(prefix) + [prog or program, mode, self.notes_file, str(number)], text=True,
                           stderr=subprocess.PIPE, timeout=120, env=dict(os.environ, **env))
        self.err = p.stderr
        return p.returncode

    def notes(self):
        n = collections.Counter()
        with open(self.notes_file) as f:
            for line in f:
                what, value = line.split()
                n[what] += int(value)
        return n

    def end(self):
        self.collector.terminate()
        err = self.collector.communicate(timeout=30)[1]
        is_(self.collector.returncode, 0, "the collector ends well (%s)" % err)
        m = re.search(r"(\d+) LOST", err)
        self.lost = int(m.group(1)) if m else 0
        p = subprocess.run([duet, "view", "--json", self.trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True)
        is_(p.returncode, 0, "duet view: " + p.stderr)
        self.by_pid = collections.Counter()
        self.strangers = 0
        for line in p.stdout.splitlines():
            e = json.loads(line)
            if e.get("event", "").startswith("life:"):
                self.by_pid[str(e["pid"])] += 1
                self.strangers += e.get("vpid", e["pid"]) != e["fields"]["pid"]
        self.total = sum(self.by_pid.values())
        self.said = sum(v for k, v in self.notes().items() if k.isdigit())
        return self

    def is_whole(self, what, lost=0):
        is_((self.total, self.lost, self.strangers), (self.said - lost, lost, 0), what)


def run_all(tests):
    """Runs them, cleans up, and exits."""
    try:
        for test in tests:
            before = failures
            begin = time.monotonic()
            try:
                test()
            except subprocess.TimeoutExpired as e:
                is_("a hang: %s" % e, "none", test.__name__)
            print("%s - %s (%.1f s)" % ("ok" if failures == before else "not ok", test.__name__,
                                        time.monotonic() - begin))
            left = [n for n in os.listdir(work + "/run") if n.startswith(("session", "sock"))]
            if left:
                is_(left, [], "left behind")
                break
    finally:
        for c in collectors:
            if c.poll() is None:
                c.terminate()  # killed, it would be replaced
                c.wait()
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failures else 0)
