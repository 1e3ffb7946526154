#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/mutated.py - `duet view` and Babeltrace 2 read the same damaged traces.

mutated.py DUET LIBDUET [N [PARALLEL]]: N (150; the long form is 10000) damaged copies of random traces
(random_ctf.py) and of a recording by duet, with a few bits or bytes of one file changed.  Number i is always the
same, except for the recording.  duet fails if
  - it crashes, refuses damaged streams, or uses more than 5 s of CPU or 2 GiB
  - an event of an unchanged packet is missing, or differs
  - events are missing where a stream was cut, and no message names the packet and byte; or a message comes twice
For Babeltrace the same is counted, as far as its messages show it: crashes, hangs, and fewer events than unchanged
packets hold. Exit: 0, 1 duet failed, 77 no Babeltrace.
"""
import collections
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_ctf
from record_heap import record_heap

duet, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
n_damaged = int(sys.argv[3]) if len(sys.argv) > 3 else 150
n_parallel = int(sys.argv[4]) if len(sys.argv) > 4 else 1
CPU_SECONDS, MEMORY = 5, 2 << 30
EDGES = (0, 1, 0xff, 0x7fffffff, 1 << 32, 1 << 63, (1 << 64) - 1)
MAGIC = 0xC1FC1FC1


def run(*args):
    """Runs a process with a time limit; the memory limit applies to all processes from here on."""
    r = subprocess.run(["prlimit", "--cpu=%d" % CPU_SECONDS, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       close_fds=False)
    return r.returncode, r.stdout, r.stderr.decode(errors="replace")


def key(line):
    """An event without data from other events: the names of threads."""
    e = json.loads(line)
    return json.dumps([e.get(k) for k in ("time", "cpu", "event", "context", "fields")])


def view_damaged(trace):
    """Returns (status, events, messages)."""
    status, out, messages = run(duet, "view", "--json", trace)
    lines = out.decode(errors="replace").splitlines()
    return status, collections.Counter(key(l) for l in lines if '"lost_events"' not in l), messages


class Original:
    """A trace, the packets of its files, and the events of each packet."""

    def __init__(self, path, scratch):
        self.path = path
        self.files = sorted(f for f in os.listdir(path) if os.path.isfile(os.path.join(path, f)))
        self.bytes = {f: open(os.path.join(path, f), "rb").read() for f in self.files}
        self.packets = {f: self.split(f) for f in self.files if f != "metadata" and self.bytes[f]}
        self.events = {}
        for f, packets in self.packets.items():
            for begin, end in packets:
                self.copy(scratch, {f: self.bytes[f][begin:end]}, [f, "metadata"])
                self.events[f, begin] = view_damaged(scratch)[1]
                shutil.rmtree(scratch)
        whole = view_damaged(path)[1]
        if sum(self.events.values(), collections.Counter()) != whole or not whole:
            raise SystemExit("%s: its packets alone are not the whole" % path)

    def split(self, f):
        """Packets begin with the magic number and the trace's UUID."""
        b = self.bytes[f]
        if b[:4] not in (MAGIC.to_bytes(4, "little"), MAGIC.to_bytes(4, "big")):
            raise SystemExit("%s/%s begins with no packet" % (self.path, f))
        at = [m.start() for m in re.finditer(re.escape(b[:20]), b)]
        return list(zip(at, at[1:] + [len(b)]))

    def copy(self, where, instead, only=None):
        os.makedirs(where)
        for f in only or self.files:
            with open(os.path.join(where, f), "wb") as out:
                out.write(instead.get(f, self.bytes[f]))


def change(r, b, at):
    """Changes @b at @at; returns (kind, where the unchanged part begins again, or None)."""
    n = min(1 + r.randrange(16), len(b) - at)
    kind = r.choice(("bit", "bit", "byte", "run", "edge", "cut", "out", "in", "moved"))
    if kind == "bit":
        b[at] ^= 1 << r.randrange(8)
        return kind, at + 1
    if kind == "byte":
        b[at] = r.randrange(256)
        return kind, at + 1
    if kind == "cut":
        del b[at:]
        return kind, None
    if kind == "out":
        del b[at:at + n]
        return kind, at + n
    if kind == "in":
        b[at:at] = bytes(r.randrange(256) for _ in range(n))
        return kind, at
    b[at:at + n] = {"run": bytes([r.choice((0, 255))]) * n, "edge": r.choice(EDGES).to_bytes(8, r.choice(("little", "big")))[:n],
                    "moved": b[(k := r.randrange(len(b) - n + 1)):k + n]}[kind][:n].ljust(n, b"\0")
    return kind, at + n


class Case:
    """Number @i: the damage, and the events that must survive it."""

    def __init__(self, i, originals):
        r = random.Random(i)
        self.original = o = originals[i % len(originals)]
        streams = sorted(o.packets)
        self.file = "metadata" if r.random() < 0.2 else r.choice(streams)
        b = bytearray(o.bytes[self.file])
        at = r.randrange(len(b))
        if self.file != "metadata" and r.random() < 0.5:  # headers are few bytes among many
            at = r.choice(o.packets[self.file])[0] + r.randrange(100)
            at = min(at, len(b) - 1)
        self.kind, end = change(r, b, at)
        self.at, self.changed = at, bytes(b)
        self.sound = collections.Counter()
        if self.file == "metadata":
            return
        for (f, begin), events in o.events.items():
            last = dict(o.packets[f])[begin]
            if f != self.file or last <= at or (end is not None and begin >= end and begin > at):
                self.sound.update(events)

    def text(self):
        return "%s at byte %d of %s of %s" % (self.kind, self.at, self.file, self.original.path)


def find_error(case, status, events, messages):
    """Returns the first error in duet's result, or None."""
    if status < 0 or status and not messages:
        return "ended with %d: %s" % (status, messages[:500])
    lines = [l for l in messages.splitlines() if "byte" in l]
    if len(set(lines)) != len(lines):
        return "reported twice: " + messages[:1000]
    if case.file == "metadata":
        return None
    if status:
        return "refused: " + messages[:500]
    missing = case.sound - events
    if missing:
        return "%d sound events are missing, as %s" % (sum(missing.values()), next(iter(missing))[:300])
    b = case.original.packets[case.file]
    if case.kind == "cut" and case.at not in [p[0] for p in b] and not any(case.file in l and "packet" in l for l in lines):
        return "a cut is not reported: " + messages[:500]
    return None


def try_one(i, originals, scratch):
    case = Case(i, originals)
    where = os.path.join(scratch, "%d" % i)
    case.original.copy(where, {case.file: case.changed})
    status, events, messages = view_damaged(where)
    ours = find_error(case, status, events, messages)
    bt_status, out, _ = run("babeltrace2", where)
    if bt_status < 0:
        babeltrace_counts = "crashed or hung (%s)" % signal.Signals(-bt_status).name
    elif out.count(b"\n") < sum(case.sound.values()):
        babeltrace_counts = "sound events not shown"
    else:
        babeltrace_counts = "refused, all sound events shown" if bt_status else "read"
    shutil.rmtree(where)
    return i, case, ours, babeltrace_counts, sum(events.values()), out.count(b"\n")


def main():
    if not shutil.which("babeltrace2"):
        print("no babeltrace2")
        return 77
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    failures, babeltrace_counts, shown = 0, collections.Counter(), [0, 0]
    with tempfile.TemporaryDirectory(prefix="duet-mutated-") as directory:
        recorded = record_heap(duet, library, directory, "recorded", "--no-kernel")
        trace = next(p for p, _, files in os.walk(recorded) if "metadata" in files)
        originals = [Original(trace, directory + "/alone")]
        for seed in range(1, 25):
            path = os.path.join(directory, "random-%d" % seed)
            os.mkdir(path)
            random_ctf.make(path, seed)
            originals.append(Original(path, directory + "/alone"))
        with concurrent.futures.ThreadPoolExecutor(n_parallel) as pool:
            for i, case, ours, bt, n_ours, n_bt in pool.map(lambda i: try_one(i, originals, directory), range(n_damaged)):
                if ours:
                    failures += 1
                    print("%d: %s: %s" % (i, case.text(), ours), flush=True)
                babeltrace_counts[bt] += 1
                shown[0] += n_ours
                shown[1] += n_bt
                if (i + 1) % 500 == 0:
                    print("# %d: %d failures, Babeltrace: %s" % (i + 1, failures, dict(babeltrace_counts)), flush=True)
    print("%d damaged traces: duet fails on %d, shows %d events; Babeltrace 2 shows %d: %s" % (
        n_damaged, failures, *shown, ", ".join("%d %s" % (n, what) for what, n in sorted(babeltrace_counts.items()))))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
