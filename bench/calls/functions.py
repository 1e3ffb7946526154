#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nanoseconds of one call, entry and exit, in each mode, with a collector running; uftrace and LTTng in the same rounds.

    functions.py DUET [ROUNDS]

The program (leaf.c) is built here.  Printed is the median of the rounds; in each round the program prints its lowest
repetition.  LTTng runs if lttng-sessiond and liblttng-ust-cyg-profile are installed; JSON=FILE writes all figures.
"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["leaf", "chain", "tree"]


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return f"{re.search(r'model name.*: (.*)', text).group(1)}, model {re.search(r'model.*: (.*)', text).group(1)}"


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def figures(text):
    return {m.group(1): float(m.group(2)) for m in re.finditer(r"^(leaf|chain|tree) ([0-9.]+)$", text, re.M)}


def build(where, name, *flags):
    program = where / name
    run(["gcc", "-O1", *flags, "-o", program, HERE / "leaf.c"])
    return program


def duet(binary, where, *options):
    def once(program):
        recording = where / "recording"
        shutil.rmtree(recording, ignore_errors=True)
        printed = run([binary, "record", "-o", recording, "--graph", f"{program.name}:*", *options, "--", program])
        if not json.loads(run([binary, "report", "functions", "--json", recording]))["n_calls"]:
            sys.exit(f"duet {' '.join(options)}: not proved: no call is in the recording")
        return printed

    return once


def uftrace(where, *options):
    def once(program):
        data = where / "uftrace"
        shutil.rmtree(data, ignore_errors=True)
        return run(["uftrace", "record", "--no-pager", "--force", "-d", data, *options, program])

    return once


def lttng(where):
    def once(program):
        shutil.rmtree(where / "lttng", ignore_errors=True)
        run(["lttng", "create", "bench-calls", "--output", where / "lttng"])
        try:
            run(["lttng", "enable-event", "-u", "lttng_ust_cyg_profile*"])
            run(["lttng", "start"])
            return run([program], env={**os.environ, "LD_PRELOAD": "liblttng-ust-cyg-profile.so"})
        finally:
            subprocess.run(["lttng", "destroy", "bench-calls"], capture_output=True)

    return once


def has_lttng():
    return shutil.which("lttng") and not subprocess.run(["lttng", "list"], capture_output=True).returncode


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binary, rounds = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(prefix="duet-bench-") as d:
        where = pathlib.Path(d)
        os.environ["DUET_RUNTIME_DIR"] = str(where / "runtime")
        nops = build(where, "nops", "-fpatchable-function-entry=5")
        plain = build(where, "plain")
        hooks = build(where, "hooks", "-finstrument-functions")
        ways = {
            "plain": (plain, lambda program: run([program])),
            "duet, not recorded": (nops, lambda program: run([program])),
            "duet exact": (nops, duet(binary, where, "--graph-mode", "exact")),
            "duet over 1 ms": (nops, duet(binary, where, "--graph-over", "1ms")),
            "duet profile": (nops, duet(binary, where, "--graph-mode", "profile")),
            "duet governed": (nops, duet(binary, where)),
        }
        if shutil.which("uftrace"):
            ways["uftrace"] = (nops, uftrace(where, "-P", "."))
            ways["uftrace -t 1ms"] = (nops, uftrace(where, "-P", ".", "-t", "1ms"))
        if has_lttng():
            ways["LTTng cyg-profile"] = (hooks, lttng(where))
        seen = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (program, once) in ways.items():
                seen[name].append(figures(once(program)))
    print(f"processor: {processor()}; {rounds} rounds, median, ns a call")
    print(f"{'':32}" + "".join(f"{n:>9}" for n in NAMES))
    for name, rows in seen.items():
        print(f"{name:32}" + "".join(f"{statistics.median(r[n] for r in rows):9.1f}" for n in NAMES))
    if os.environ.get("JSON"):
        pathlib.Path(os.environ["JSON"]).write_text(json.dumps(seen, indent=1))


main()
