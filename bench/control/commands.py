#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure duet's control commands beside LTTng's: number, time, time to the first event, cost of daemons.

usage: commands.py DUET LIBDUET PROGRAM [PROGRAM_WITH_LTTNG]      ROUNDS=7 IDLE=5 (seconds) RATE=1000000 CROWD=1000

A round: from nothing to recording, with a program running; to its first event, by the trace's timestamps; each
command once; all ended.  Then an event is enabled in CROWD programs; then the daemons are measured idle, and at
RATE events a second.  In each round the tracers take turns, so other load on the machine affects both.  LTTng is
measured once more with the contexts vpid and vtid, which each event of duet has.  Both write to /dev/shm.
"""
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

duet, library, program = map(os.path.abspath, sys.argv[1:4])
lttng_program = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 and shutil.which("lttng") else None
ROUNDS, IDLE, RATE, CROWD = (int(os.environ.get(k, v)) for k, v in
                             (("ROUNDS", "7"), ("IDLE", "5"), ("RATE", "1000000"), ("CROWD", "1000")))
PERIOD_US = "100"  # of the program's events
work = tempfile.mkdtemp(prefix="duet-control-", dir="/dev/shm")
env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library, LTTNG_HOME=work)
for name in ("DUET_SESSION", "DUET_TRACE", "UST_TRACE"):
    env.pop(name, None)
started, times = [], {}  # times of the current tool


def run(what, *command):
    """Run a command and return its output; record its time under @what."""
    begin = time.monotonic()
    p = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    if p.returncode:
        sys.exit("%s: %s" % (" ".join(command), p.stdout))
    times.setdefault(what, []).append((time.monotonic() - begin) * 1e3)
    return p.stdout


def note(what, ms):
    times.setdefault(what, []).append(ms)


def start(*command):
    p = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    started.append(p)
    return p


def end(p):
    p.kill()
    p.communicate()
    started.remove(p)


def stat(pid, file):
    with open("/proc/%d/%s" % (pid, file)) as f:
        return f.read()


def family(names):
    """Return the pids of daemons with these names that run in our directory."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if stat(int(pid), "comm").strip() in names and work in stat(int(pid), "environ"):
                found.append(int(pid))
        except OSError:
            pass
    return found


def cpu_ms(pids):
    total = 0
    for pid in pids:
        for task in os.listdir("/proc/%d/task" % pid):
            total += int(stat(pid, "task/%s/schedstat" % task).split()[0])
    return total / 1e6


def memory_kib(pids, key):
    return sum(int(re.search(r"^%s:\s+(\d+)" % key, stat(pid, "smaps_rollup"), re.M).group(1)) for pid in pids)


class Duet:
    name, daemons, program, commands = "duet", ("duet",), program, 1

    def begin(self, n):
        self.path = "%s/duet-%d" % (work, n)
        run("start", duet, "start", "-q", "-o", self.path, "-e", "control:*")

    def begin_idle(self, n):
        self.path = "%s/duet-%d" % (work, n)
        run("start, nothing on", duet, "start", "-q", "-o", self.path, "-e", "!*")

    def enable(self):
        run("enable", duet, "enable", "control:step")

    def disable(self):
        run("disable", duet, "disable", "control:step")

    def status(self):
        run("status", duet, "status")

    def finish(self):
        run("stop", duet, "stop", "-q")

    def leave(self):
        pass

    def first_event_s(self):
        view = subprocess.Popen([duet, "view", "--json", "-e", "control:step", self.path], env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        line = view.stdout.readline()
        view.kill()
        view.communicate()
        return json.loads(line)["time"] / 1e9


class Lttng:
    name, daemons, program, commands = "LTTng", ("lttng-sessiond", "lttng-consumerd", "lttng-runas"), lttng_program, 4

    def prepare(self, n):
        self.path = "%s/lttng-%d" % (work, n)
        run("sessiond", "lttng-sessiond", "--daemonize", "--no-kernel")
        run("create", "lttng", "-n", "create", "bench", "-o", self.path)

    def begin(self, n):
        self.prepare(n)
        self.enable()
        run("start", "lttng", "-n", "start")

    def begin_idle(self, n):
        self.prepare(n)
        run("enable other", "lttng", "-n", "enable-event", "-u", "none:*")
        run("start, nothing on", "lttng", "-n", "start")

    def enable(self):
        run("enable", "lttng", "-n", "enable-event", "-u", "bench:int1")

    def disable(self):
        run("disable", "lttng", "-n", "disable-event", "-u", "bench:int1")

    def status(self):
        run("status", "lttng", "-n", "status")

    def finish(self):
        run("stop", "lttng", "-n", "stop")
        run("destroy", "lttng", "-n", "destroy", "bench")

    def leave(self):
        for pid in family(("lttng-sessiond",)):
            os.kill(pid, signal.SIGTERM)
        while family(self.daemons):
            time.sleep(0.02)

    def first_event_s(self):
        view = subprocess.Popen(["babeltrace2", "--clock-seconds", self.path], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
        line = view.stdout.readline()
        view.kill()
        view.communicate()
        return float(re.match(r"\[(\d+\.\d+)\]", line).group(1))


class LttngWithIds(Lttng):
    name = "LTTng with vpid, vtid"

    def enable(self):
        super().enable()
        run("add-context", "lttng", "-n", "add-context", "-u", "-t", "vpid", "-t", "vtid")


def commands_of(tool, n):
    # From nothing to the first event of a running program.
    p = start(tool.program, "once", PERIOD_US)
    time.sleep(0.3)
    wall, begin = time.time(), time.monotonic()
    tool.begin(n)
    note("nothing to recording", (time.monotonic() - begin) * 1e3)
    time.sleep(0.5)
    tool.status()
    tool.disable()
    tool.finish()
    note("nothing to first event", (tool.first_event_s() - wall) * 1e3)
    tool.leave()
    end(p)
    # An event enabled in a session that records.
    tool.begin_idle(ROUNDS + n)
    p = start(tool.program, "once", PERIOD_US)
    time.sleep(0.5)
    wall = time.time()
    tool.enable()
    time.sleep(0.5)
    tool.finish()
    note("enable to first event", (tool.first_event_s() - wall) * 1e3)
    tool.leave()
    end(p)


def crowd(tool, n):
    tool.begin_idle(1000 + n)
    p = start(tool.program, "crowd", str(CROWD), "1000000")
    p.stdout.readline()
    time.sleep(3)
    tool.enable()
    note("enable in %d programs" % CROWD, times["enable"].pop())
    tool.finish()
    tool.leave()
    end(p)


def prove_all(tool, made):
    """The files hold each event that the program made, or the tracer says how many it lost."""
    stats = json.loads(subprocess.run([duet, "stats", "--json", tool.path], env=env, stdout=subprocess.PIPE, text=True).stdout)
    found = sum(e["n"] for e in stats["events"] if e["event"] in ("control:step", "bench:int1")) + stats["lost_events"]
    if found < made:
        sys.exit("%s: not proved: %d of %d events are in its files or counted as lost" % (tool.name, found, made))


def daemons(tool, n):
    tool.begin(2000 + n)
    p = start(tool.program, "once", "1000000")
    time.sleep(1)
    pids = family(tool.daemons)
    before = cpu_ms(pids)
    time.sleep(IDLE)
    idle, idle_kib = (cpu_ms(pids) - before) / IDLE, memory_kib(pids, "Pss")
    end(p)
    before, begin = cpu_ms(pids), time.monotonic()
    p = start(tool.program, "cost", "5", str(RATE), "0")
    time.sleep(4)
    busy_kib = memory_kib(pids, "Pss")
    made = int(p.communicate()[0].split()[0])
    started.remove(p)
    busy, took = cpu_ms(pids) - before, time.monotonic() - begin
    tool.finish()
    tool.leave()
    prove_all(tool, made)
    note("daemons idle, CPU ms/s", idle)
    note("daemons idle, Pss KiB", idle_kib)
    note("daemons busy, CPU ms/s", busy / took)
    note("daemons busy, Pss KiB", busy_kib)
    note("events a second, busy", made / 5)


def show(text, values):
    print("  %-24s %10.2f (%.2f-%.2f)" % (text, statistics.median(values), min(values), max(values)), flush=True)


try:
    print("# %s; %d CPUs, Linux %s; load %.1f before; ms: median (least-most) of %d rounds"
          % (time.strftime("%Y-%m-%d"), os.cpu_count(), os.uname().release, os.getloadavg()[0], ROUNDS), flush=True)
    tools = [Duet()] + ([Lttng(), LttngWithIds()] if lttng_program else [])
    all_times = {tool: {} for tool in tools}
    for n in range(ROUNDS):
        for part in commands_of, crowd, daemons:
            for tool in tools:
                times = all_times[tool]
                if part is daemons or tool.__class__ is not LttngWithIds:
                    part(tool, n)
    for tool in tools:
        print("%s: %d command%s from nothing to recording" % (tool.name, tool.commands, "s" if tool.commands > 1 else ""))
        for what, values in all_times[tool].items():
            show(what, values)
    print("# load %.1f after" % os.getloadavg()[0])
finally:
    for p in list(started):
        end(p)
    for pid in family(("lttng-sessiond",)):
        os.kill(pid, signal.SIGTERM)
    subprocess.run([duet, "stop", "-q", "--all"], env=env, stderr=subprocess.DEVNULL)
    shutil.rmtree(work, ignore_errors=True)
