#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an event costs: duet, a bare clock loop, and LTTng-UST where it is installed, in one run.

usage: run.py DUET DUET_PROGRAM LIBDUET [LTTNG_PROGRAM]

Tracers take turns, ROUNDS times, so that a noisy minute hits all of them.  LTTng records with its
contexts vpid and vtid as well, because duet's events always carry them.  A round with lost events
does not count and is said.
"""
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("ROUNDS", "5"))
duet, program, library = sys.argv[1:4]
peer = sys.argv[4] if len(sys.argv) > 4 and shutil.which("lttng") else None
work = tempfile.mkdtemp(prefix="duet-bench-", dir="/dev/shm")
env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library, LTTNG_HOME=work + "/lttng")


def read(text, rows, tag):
    """Adds each case's median of its batches to rows[tag][case]."""
    for line in text.splitlines():
        name, *numbers = line.split()
        rows.setdefault(tag, {}).setdefault(name, []).append(
            statistics.median(map(float, numbers)))


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=env, check=True)


def run_duet(rows):
    trace = work + "/trace"
    p = run(duet, "record", "--no-kernel", "-o", trace, "--", program)
    shutil.rmtree(trace)
    if "LOST" in p.stderr:
        return print("# a duet round lost events and does not count")
    read(p.stdout, rows, "duet")


def run_lttng(rows, tag, contexts):
    out = work + "/lttng-trace"
    run("lttng", "--no-sessiond", "create", "bench", "--output=" + out)
    run("lttng", "--no-sessiond", "enable-channel", "-u", "--subbuf-size=2M", "--num-subbuf=8", "c")
    run("lttng", "--no-sessiond", "enable-event", "-u", "-c", "c", "bench:*,lttng_ust_tracef:*")
    for c in contexts:
        run("lttng", "--no-sessiond", "add-context", "-u", "-c", "c", "-t", c)
    run("lttng", "--no-sessiond", "start")
    text = run(peer).stdout
    run("lttng", "--no-sessiond", "stop")
    listing = run("lttng", "--no-sessiond", "list", "bench").stdout
    run("lttng", "--no-sessiond", "destroy", "bench")
    shutil.rmtree(out)
    lost = sum(int(n) for n in re.findall(r"Discarded events?: *(\d+)", listing))
    if lost:
        return print("# an LTTng round lost %d events and does not count" % lost)
    read(text, rows, tag)


def start_sessiond():
    os.makedirs(env["LTTNG_HOME"])
    p = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=env, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    for _ in range(100):
        if not subprocess.run(["lttng", "--no-sessiond", "list"], env=env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode:
            return p
        time.sleep(0.1)
    p.kill()
    raise SystemExit("lttng-sessiond does not answer")


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return "%s, %d CPUs, Linux %s" % (model.group(1) if model else os.uname().machine,
                                      os.cpu_count(), os.uname().release)


def cell(values):
    return "%7.2f (%.2f-%.2f)" % (statistics.median(values), min(values), max(values)) \
        if values else "-"


def main():
    rows = {}
    sessiond = start_sessiond() if peer else None
    try:
        for _ in range(ROUNDS):
            read(subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True,
                                env=dict(env, DUET_LIBRARY="/nonexistent")).stdout, rows, "dormant")
            run_duet(rows)
            if peer:
                run_lttng(rows, "lttng", ())
                run_lttng(rows, "lttng+ids", ("vpid", "vtid"))
    finally:
        if sessiond:
            sessiond.send_signal(signal.SIGTERM)
            sessiond.wait()
        shutil.rmtree(work, ignore_errors=True)
    clock = statistics.median(rows["duet"]["clock"])
    print("# %s; ns per event, median (min-max) of %d rounds" % (machine(), ROUNDS))
    print("%-14s %-22s %6s  %-24s %-24s %s" % ("case", "duet", "/clock", "LTTng-UST",
                                               "LTTng-UST +vpid,vtid", "LTTng/duet"))
    dormant = statistics.median(rows["dormant"]["int"]) - statistics.median(rows["dormant"]["loop"])
    print("%-14s %7.2f" % ("dormant int", max(dormant, 0)))
    for name, values in rows["duet"].items():
        lttng = rows.get("lttng", {}).get(name)
        ids = rows.get("lttng+ids", {}).get(name)
        mine = statistics.median(values)
        ratio = "%5.1f / %.1f" % (statistics.median(lttng) / mine, statistics.median(ids) / mine) \
            if lttng and ids else "-"
        print("%-14s %-22s %6.2f  %-24s %-24s %s" % (name, cell(values), mine / clock, cell(lttng),
                                                     cell(ids), ratio))


main()
