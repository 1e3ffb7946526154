#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost of a recorded kernel event for its program and for the reader, with each tracer on this machine.

usage: run.py DUET LOOP [ROUNDS]        as root; some minutes

In each round every tracer records the same loop, in turn.  The tables show medians, the spread (lowest to highest),
the cost added to the plain loop per event, and that as a part of the cost of bare ftrace.  The loop is on the last
CPU, tracers on any.  Bare ftrace is an instance of tracefs that `cat trace_pipe_raw` empties into a file: with the
kernel's default options, and with the options that duet sets.
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

duet, loop = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
CPU = str(max(os.sched_getaffinity(0)))
TRACEFS = "/sys/kernel/tracing"
INSTANCE = TRACEFS + "/instances/duet-bench-%d" % os.getpid()
BUFFER_KIB = 65536
NUMBERS = {"write": 1, "getppid": 110, "openat": 257, "close": 3}


class Row:
    """An operation, and its recorded events."""

    def __init__(self, turn, fast, slow, n, calls=(), events=()):
        self.turn, self.fast, self.slow = turn, fast, slow  # how often, and with tracers that stop the program
        self.n = n  # events in each turn
        self.calls, self.events = calls, events


ROWS = {
    "getppid": Row("getppid", 1000000, 30000, 2, calls=["getppid"]),
    "openat and close": Row("openat", 200000, 10000, 4, calls=["openat", "close"]),
    "write": Row("write", 500000, 10000, 2, calls=["write"]),
    "switches of a ping-pong": Row("switch", 100000, 10000, 2, events=["sched_switch"]),
    "its wake-ups": Row("switch", 100000, 10000, 4, events=["sched_waking", "sched_wakeup"]),
}


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


# ---------------------------------------------------------------- tracers: run a recorded command; None: not possible

def run(command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300).stderr


def nothing(row, command):
    return run(command)


def by_duet(backend, *options):
    def record(row, command):
        patterns = ["syscall_*_" + c for c in row.calls] + list(row.events)
        return run([duet, "record", "-q", "--kernel-backend", backend, *options, "-o", "t", "-k", ",".join(patterns), "--", *command])
    return record


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


def measure(tracer, row):
    tool, is_slow, record = TRACERS[tracer]
    for old in glob.glob("t*"):
        shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)
    if tool and not shutil.which(tool):
        return None
    said = record(row, [loop, row.turn, str(row.slow if is_slow else row.fast), CPU])
    m = re.search(r"duet-loop ([0-9.]+)", said or "")
    return float(m.group(1)) if m else None


def table(name):
    row = ROWS[name]
    got = {t: [] for t in TRACERS}
    for _ in range(rounds):
        for t in TRACERS:
            got[t].append(measure(t, row))
    got = {t: [v for v in values if v is not None] for t, values in got.items()}
    more = {t: (statistics.median(v) - statistics.median(got["nothing"])) / row.n for t, v in got.items() if v}
    print("\n%s: %d events in each turn, medians of %d, ns; load now %.1f\n" % (name, row.n, rounds, os.getloadavg()[0]))
    print("| recorded by | a turn | lowest - highest | more, per event | of bare ftrace |\n|---|---|---|---|---|")
    for t, values in got.items():
        if values:
            print("| %s | %.0f | %.0f - %.0f | %.0f | %.2f |" % (t, statistics.median(values), min(values), max(values), more[t],
                                                              more[t] / more["bare ftrace, duet's options"]))
        else:
            print("| %s | cannot | | | |" % t)
    sys.stdout.flush()


# ---------------------------------------------------------------- the reader

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
    calls = 3000000
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
    return spent * 1e3 / (n / 2 * RECORD_BYTES[backend] / 1e6), spent * 1e9 / n


def readers():
    print("\nThe reader, 6 M events of getppid: read, converted, written; medians of %d; load now %.1f\n" % (rounds, os.getloadavg()[0]))
    print("| backend | ms per MB of ring | ns per event |\n|---|---|---|")
    got = {b: [] for b in RECORD_BYTES}
    for _ in range(rounds):
        for b in got:
            got[b].append(read_by(b))
    for b, values in got.items():
        print("| %s | %.3f | %.1f |" % (b, *[statistics.median(v) for v in zip(*values)]))


if os.geteuid():
    sys.exit("needs root: the kernel is recorded")
work = tempfile.mkdtemp(prefix="duet-bench-", dir=os.environ.get("TMPDIR"))
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.chdir(work)
try:
    print("Linux %s, %d CPUs" % (os.uname().release, os.cpu_count()))
    for name in ROWS:
        table(name)
    readers()
finally:
    os.chdir("/")
    shutil.rmtree(work)
