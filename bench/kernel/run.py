#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost of a recorded kernel event for its program and for the reader, with each tracer on this machine.

usage: run.py DUET LOOP [ROUNDS]        as root; at most SECONDS=225; JSON=FILE writes the values for ../compare.py

In each round every tracer records the same loop, in turn.  The tables show medians, the spread (lowest to highest),
the cost added to the plain loop per event, and that as a part of the cost of bare ftrace.  The loop is on the last
CPU, tracers on any.  Bare ftrace is an instance of tracefs that `cat trace_pipe_raw` empties into a file: with the
kernel's default options, and with the options that duet sets.

In the first round the events in each tracer's output are counted, with those that it says it lost.  A tracer that has not
recorded all system calls is shown as such, without a figure; for duet and ftrace the run then fails.  A wake-up of a
process that still runs is no event, so for events of the scheduler the cost is divided by the number found, at least half
of the usual one.  On a slow machine there are fewer rounds.  tracefs is mounted for this run alone, if it is not mounted.
"""
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/..", HERE + "/../write"]
from mounts import TRACEFS, mount_tracefs
from table import Table, machine, processor

mount_tracefs()
duet, loop = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CPU = str(max(os.sched_getaffinity(0)))
SECONDS = float(os.environ.get("SECONDS", "225"))
DEADLINE = time.monotonic() + SECONDS
PARTS = 6  # the rows and the readers
ALMOST = 0.98  # of the events: what other processes do in between may be missing
INSTANCE = TRACEFS + "/instances/duet-bench-%d" % os.getpid()
BUFFER_KIB = 65536
NUMBERS = {"write": 1, "getppid": 110, "openat": 257, "close": 3}


class Row:
    """An operation, and its recorded events."""

    def __init__(self, turn, fast, slow, n, calls=(), events=()):
        self.turn, self.fast, self.slow = turn, fast, slow  # how often, and with tracers that stop the program
        self.n = n  # events in each turn
        self.calls, self.events = calls, events
        self.counted = 0  # by the last run of bare ftrace


ROWS = {
    "getppid": Row("getppid", 300000, 10000, 2, calls=["getppid"]),
    "openat and close": Row("openat", 60000, 3000, 4, calls=["openat", "close"]),
    "write": Row("write", 150000, 5000, 2, calls=["write"]),
    "switches of a ping-pong": Row("switch", 30000, 3000, 2, events=["sched_switch"]),
    "its wake-ups": Row("switch", 30000, 3000, 4, events=["sched_waking", "sched_wakeup"]),
}


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


# ---------------------------------------------------------------- tracers: run a recorded command; None: not possible

class NoTime(Exception):
    pass


def left():
    """Return the seconds left."""
    return DEADLINE - time.monotonic()


def run(command):
    """Return its standard error.  A command for which the time is too short is ended with all its processes."""
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        return p.communicate(timeout=max(left(), 1))[1]
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGTERM)
        try:
            p.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
        raise NoTime from None


def output(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=max(left(), 1)).stdout


def nothing(row, command):
    return run(command)


def by_duet(backend, *options):
    def record(row, command):
        patterns = ["syscall_*_" + c for c in row.calls] + list(row.events)
        return run([duet, "record", "-q", "--kernel-backend", backend, *options, "-o", "t", "-k", ",".join(patterns), "--", *command])
    return record


def ring_events(path):
    """Return the events of one CPU's buffer: read, unread and lost."""
    with open(path) as f:
        numbers = dict(line.split(": ") for line in f.read().splitlines() if ": " in line)
    return sum(int(numbers[k]) for k in ("read events", "entries", "overrun", "dropped events"))


def bare(*options):
    def record(row, command):
        os.mkdir(INSTANCE)
        cats = []
        try:
            write(INSTANCE + "/trace_clock", "x86-tsc")
            for o in options:
                write(INSTANCE + "/" + ("trace_options" if o[0].isalpha() else "buffer_subbuf_size_kb"), o)
            write(INSTANCE + "/trace_options", "event-fork")
            write(INSTANCE + "/buffer_size_kb", str(BUFFER_KIB))
            for e in row.events:
                write("%s/events/sched/%s/enable" % (INSTANCE, e), "1")
            for e in ("sys_enter", "sys_exit") if row.calls else ():
                at = "%s/events/raw_syscalls/%s/" % (INSTANCE, e)
                write(at + "filter", "||".join("id==%d" % NUMBERS[c] for c in row.calls))
                write(at + "enable", "1")
            for i, pipe in enumerate(glob.glob(INSTANCE + "/per_cpu/cpu*/trace_pipe_raw")):
                cats.append(subprocess.Popen(["cat", pipe], stdout=open("t.%d" % i, "w")))
            return run(["sh", "-c", 'echo $$ >%s/set_event_pid; exec "$@"' % INSTANCE, "sh", *command])
        finally:
            write(INSTANCE + "/tracing_on", "0")
            for c in cats:
                c.kill()
                c.wait()
            row.counted = sum(map(ring_events, glob.glob(INSTANCE + "/per_cpu/cpu*/stats")))
            os.rmdir(INSTANCE)
    return record


def tracepoints(row):
    return ["syscalls:sys_%s_%s" % (k, c) for c in row.calls for k in ("enter", "exit")] + ["sched:" + e for e in row.events]


def by_perf(row, command):
    return run(["perf", "record", "-q", "-m", "64M", "-o", "t", *[a for e in tracepoints(row) for a in ("-e", e)], *command])


def by_trace_cmd(row, command):
    """trace-cmd writes ftrace_enabled, which not every kernel permits."""
    return run(["trace-cmd", "record", "-q", "-F", "-c", "-b", str(BUFFER_KIB), "-o", "t",
                *[a for e in tracepoints(row) for a in ("-e", e)], *command])


def stops(tool, *options):
    def record(row, command):
        return run([tool, *options, ",".join(row.calls), *command]) if row.calls else None
    return record


def by_bpftrace(row, command):
    """Prints text, as bpftrace does: one line per event."""
    probes = ",".join("tracepoint:" + e for e in tracepoints(row))
    script = "%s /comm == \"bench-syscall-l\"/ { printf(\"%%llu %%d\\n\", nsecs, tid); }" % probes
    return run(["bpftrace", "-q", "-o", "t", "-e", script, "-c", " ".join(command)])


# ---------------------------------------------------------------- how many of the row's events it has recorded or lost

def in_duet(row):
    names = ["syscall_%s_%s" % (k, c) for c in row.calls for k in ("entry", "exit")] + list(row.events)
    stats = json.loads(output([duet, "stats", "--json", "t"]))
    return sum(e["n"] for e in stats["events"] if e["event"] in names) + stats["lost_events"]


def in_perf(row):
    return sum(map(int, re.findall(r"(?:SAMPLE|LOST|LOST_SAMPLES) events: +(\d+)", output(["perf", "report", "--stats", "-i", "t"]))))


def in_lines(each):
    def count(row):
        with open("t", errors="replace") as f:
            return each * sum(1 for _ in f)
    return count


def in_trace_cmd(row):
    return len(re.findall(r"^ .*: (?:sys_|sched_)", output(["trace-cmd", "report", "-i", "t"]), re.M))


def counts(tracer):
    tool = tracer.split(",")[0]
    return {"nothing": None, "bare ftrace": lambda row: row.counted, "duet": in_duet, "perf record": in_perf, "bpftrace": in_lines(1),
            "trace-cmd record": in_trace_cmd, "perf trace": in_lines(2), "strace": in_lines(2)}[tool]


TRACERS = {  # the tool it needs, whether it stops the program, the function
    "nothing": (None, False, nothing),
    "bare ftrace, as it is": (None, False, bare()),
    "bare ftrace, duet's options": (None, False, bare("norecord-cmd", "nooverwrite", "64")),
    "duet, ftrace": (None, False, by_duet("ftrace", "--kernel-buffer", "64M")),
    "duet, bpf": (None, False, by_duet("bpf", "--kernel-buffer", "64M")),
    "duet, bpf, all defaults": (None, False, by_duet("auto")),
    "duet, bpf, --capture 32": (None, False, by_duet("bpf", "--kernel-buffer", "64M", "--capture", "32")),
    "perf record": ("perf", False, by_perf),
    "trace-cmd record": ("trace-cmd", False, by_trace_cmd),
    "bpftrace": ("bpftrace", True, by_bpftrace),
    "perf trace": ("perf", True, stops("perf", "trace", "-o", "t", "-e")),
    "strace": ("strace", True, stops("strace", "-f", "-o", "t", "-e")),
}


def measure(tracer, row, prove):
    """Return (ns of a turn, events of a turn), or (None, the reason why there is no figure)."""
    tool, is_slow, record = TRACERS[tracer]
    for old in glob.glob("t*"):
        shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)
    if tool and not shutil.which(tool):
        return None, "not installed"
    turns = row.slow if is_slow else row.fast
    said = record(row, [loop, row.turn, str(turns), CPU])
    m = re.search(r"duet-loop ([0-9.]+)", said or "")
    if not m:
        return None, "cannot"
    n = counts(tracer)(row) if prove and counts(tracer) else turns * row.n
    if n < (ALMOST if row.calls else 0.5) * turns * row.n:
        return None, "not proved: %d of %d events" % (n, turns * row.n)
    return float(m.group(1)), row.n if row.calls else n / turns


def rounds_of(name, part):
    """Take turns while there is time for this part.

    Return ({tracer: values}, {tracer: events of a turn}, {tracer: why it has none}).
    """
    row, got, events, why, took = ROWS[name], {t: [] for t in TRACERS}, {}, {}, 0
    end = time.monotonic() + left() / (PARTS - part)
    for n in range(rounds):
        begin = time.monotonic()
        if n and begin + took > end:
            break
        for t in [t for t in TRACERS if t not in why]:
            if left() < 2:
                raise NoTime
            value, more = measure(t, row, n == 0)
            if value is None:
                why[t] = more
            else:
                got[t].append(value)
                events.setdefault(t, more)
        took = time.monotonic() - begin
    return got, events, why


def table(name, part):
    row = ROWS[name]
    got, events, why = rounds_of(name, part)
    failed.extend("%s, %s: %s" % (name, t, text) for t, text in why.items()
                  if text.startswith("not proved") and t.split(",")[0] in ("duet", "bare ftrace"))
    more = {t: (statistics.median(v) - statistics.median(got["nothing"])) / events[t] for t, v in got.items() if v}
    print("\n%s: %d events in each turn, medians of %d, ns; load now %.1f\n"
          % (name, row.n, len(got["nothing"]), os.getloadavg()[0]))
    figures.group(name)
    print("| recorded by | a turn | lowest - highest | more, per event | of bare ftrace |\n|---|---|---|---|---|")
    for t, values in got.items():
        if values:
            for v, plain, bare_ns in zip(values, got["nothing"], got["bare ftrace, duet's options"]):
                figures.add("%s: %s" % (name, t), "duet", (v - plain) / events[t])
                figures.add("%s: %s" % (name, t), "reference", (bare_ns - plain) / events["bare ftrace, duet's options"])
            print("| %s | %.0f | %.0f - %.0f | %.0f | %.2f |" % (t, statistics.median(values), min(values), max(values), more[t],
                                                              more[t] / more.get("bare ftrace, duet's options", float("nan"))))
        else:
            print("| %s | %s | | | |" % (t, why.get(t, "cannot")))
    sys.stdout.flush()


# ---------------------------------------------------------------- the reader

READER_CALLS = 1500000
RECORD_BYTES = {"ftrace": 68 + 28, "bpf": 72 + 32}  # of an entry and an exit, in the ring


def cpu_seconds(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes_of(pid):
    return [pid] + [int(c) for c in open("/proc/%d/task/%d/children" % (pid, pid)).read().split()]


def read_by(backend):
    """Return the reader's milliseconds per MB of records written to files, and its ns per event."""
    for old in glob.glob("t*"):
        shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)
    calls = READER_CALLS
    c = subprocess.Popen([duet, "collect", "-q", "-s", "bench", "-o", "t", "--kernel-backend", backend, "--kernel-buffer", "256M",
                          "-k", "syscall_*_getppid"])
    try:
        for _ in range(600):
            if not subprocess.run([duet, "status", "bench"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                break
            time.sleep(0.1)
        who = processes_of(c.pid)
        before = sum(map(cpu_seconds, who))
        run([loop, "getppid", str(calls), CPU])
        subprocess.run([duet, "flush"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.5)
        spent = sum(map(cpu_seconds, who)) - before
        s = json.loads(subprocess.run([duet, "status", "--json", "bench"], stdout=subprocess.PIPE, text=True).stdout)["sessions"][0]
        n = int(s["kernel_events"])
    finally:
        c.send_signal(signal.SIGTERM)
        c.wait()
    if n < ALMOST * 2 * calls:
        failed.append("the reader, %s: not proved: %d of %d events" % (backend, n, 2 * calls))
    return spent * 1e3 / (n / 2 * RECORD_BYTES[backend] / 1e6), spent * 1e9 / n


def readers():
    print("\nThe reader, 3 M events of getppid: read, converted, written; load now %.1f\n" % os.getloadavg()[0])
    figures.group("reader")
    took = 0
    print("| backend | ms per MB of ring | ns per event |\n|---|---|---|")
    got = {b: [] for b in RECORD_BYTES}
    for _ in range(rounds):
        if left() < 5 or (got["bpf"] and left() < 2 * took):
            break
        begin = time.monotonic()
        for b in got:
            got[b].append(read_by(b))
        took = time.monotonic() - begin
    for b, values in got.items():
        for ms, ns in values:
            figures.add("the reader, %s" % b, "duet", ns)
        if values:
            print("| %s | %.3f | %.1f |" % (b, *[statistics.median(v) for v in zip(*values)]))


if os.geteuid():
    sys.exit("needs root: the kernel is recorded")
work = tempfile.mkdtemp(prefix="duet-bench-", dir=os.environ.get("TMPDIR"))
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.chdir(work)
figures, failed = Table(), []
head = "%s; %s; load before %.1f" % (time.strftime("%Y-%m-%d"), machine(), os.getloadavg()[0])
try:
    print("# " + head)
    for part, name in enumerate(ROWS):
        table(name, part)
    readers()
except (NoTime, subprocess.TimeoutExpired):
    failed.append("the rest: %.0f s are over; SECONDS=600 gives more" % SECONDS)
finally:
    os.chdir("/")
    shutil.rmtree(work)
for text in failed:
    print("# %s" % text)
if os.environ.get("JSON"):
    write(os.environ["JSON"], figures.as_json(machine=head, processor=processor(), benchmark="kernel") + "\n")
sys.exit(1 if failed else 0)
