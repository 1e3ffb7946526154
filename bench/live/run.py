#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the delay of events in Babeltrace 2 over lttng-live, and the processor time of all processes.

It attaches to `duet live --serve`, and to lttng-relayd with a live timer of 1 s, with the same events.

usage: run.py DUET LIBDUET PACED-DUET [PACED-LTTNG]      ninja bench-live

The program makes 2000 events a second for 12 s.  Delay is from an event's timestamp to the moment its line is read.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

duet, library, paced = map(os.path.abspath, sys.argv[1:4])
paced_lttng = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
PER_SECOND, SECONDS = 2000, 12
work = tempfile.mkdtemp(prefix="duet-bench-live-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
started = []


def start(*command, **more):
    p = subprocess.Popen(command, text=True, **more)
    started.append(p)
    return p


def wait_for(what, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise SystemExit("it does not come")


def cpu_of(p):
    """Return the seconds of processor time so far, with the children's."""
    total, pids = 0, [p.pid]
    for task in os.listdir("/proc/%d/task" % p.pid):
        with open("/proc/%d/task/%s/children" % (p.pid, task)) as f:
            pids += map(int, f.read().split())
    for pid in pids:
        fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def read_delays(viewer):
    """Return the delays in seconds, sorted; ends with the viewer."""
    delays = []
    for line in viewer.stdout:
        now = time.time()
        m = re.match(r"\[(\d+\.\d+)\]", line)
        if m:
            delays.append(now - float(m[1]))
    return sorted(delays)


def attach(url):
    return start("stdbuf", "-oL", "babeltrace2", "--clock-seconds", "-i", "lttng-live", url, stdout=subprocess.PIPE,
                 stderr=subprocess.DEVNULL)


def tell(name, delays, wanted, cpu):
    if len(delays) < wanted:
        raise SystemExit("%s: not proved: %d of %d events came" % (name, len(delays), wanted))
    at = lambda q: delays[min(len(delays) - 1, int(q * len(delays)))]
    print("%-6s %6d of %d events, delay s: median %.2f, 99 %% %.2f, most %.2f; processor s: %s"
          % (name, len(delays), wanted, at(0.5), at(0.99), delays[-1],
             ", ".join("%s %.2f" % (what, seconds) for what, seconds in cpu)))


def measure(name, daemons, url, program, end):
    viewer = attach(url)
    time.sleep(1)
    before = [cpu_of(p) for _, p in daemons]
    p = start(program, str(PER_SECOND), str(SECONDS))
    cpu = []

    def finish():
        p.wait()
        time.sleep(3)
        cpu.extend((what, cpu_of(d) - b) for (what, d), b in zip(daemons, before))
        cpu.append(("babeltrace2", cpu_of(viewer)))
        end()

    ending = threading.Thread(target=finish)
    ending.start()
    delays = read_delays(viewer)
    ending.join()
    tell(name, delays, PER_SECOND * SECONDS, cpu)


def of_duet():
    trace = work + "/trace"
    c = start(duet, "collect", "-o", trace, "-e", "bench:*", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(work + "/run/session-default"))
    warm = start(paced, "10", "1")  # gives the session a stream to attach to
    warm.wait()
    s = start(duet, "live", "--serve=:0", trace, stdout=subprocess.PIPE)
    port = re.search(r"port (\d+)", s.stdout.readline())[1]
    time.sleep(1.5)
    measure("duet", [("collector", c), ("server", s)], "net://localhost:%s/host/%s/trace" % (port, os.uname().nodename),
            paced, lambda: c.send_signal(signal.SIGINT))
    c.wait()
    s.wait()


def of_lttng():
    env = dict(os.environ, LTTNG_HOME=work, LTTNG_RUNDIR=work + "/lttng", LTTNG_UST_APP_PATH=work + "/lttng")
    os.environ.update(env)
    os.makedirs(work + "/lttng", exist_ok=True)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    r = start("lttng-relayd", "-C", "tcp://127.0.0.1:15342", "-D", "tcp://127.0.0.1:15343", "-L",
              "tcp://127.0.0.1:15344", "-o", work + "/relayed", **quiet)
    s = start("lttng-sessiond", "--no-kernel", **quiet)
    lttng = lambda *a: subprocess.run(["lttng", "--no-sessiond", *a], **quiet).returncode
    wait_for(lambda: lttng("list") == 0)
    if lttng("create", "bench", "--live=1000000", "--ctrl-url=tcp://127.0.0.1:15342", "--data-url=tcp://127.0.0.1:15343"):
        return print("lttng: no live session here")
    lttng("enable-event", "-u", "bench:*")
    lttng("start")
    warm = start(paced_lttng, "10", "1")
    warm.wait()
    time.sleep(1.5)
    measure("lttng", [("daemons", s), ("relayd", r)], "net://localhost:15344/host/%s/bench" % os.uname().nodename,
            paced_lttng, lambda: lttng("destroy", "bench"))


try:
    of_duet()
    if paced_lttng and shutil.which("lttng-relayd"):
        of_lttng()
finally:
    for p in started:
        if p.poll() is None:
            p.terminate()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
    shutil.rmtree(work, ignore_errors=True)
