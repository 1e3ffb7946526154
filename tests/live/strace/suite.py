#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs strace's own tests with `duet strace`, beside strace.

usage: suite.py DUET [--work DIR] [--list] [--results FILE] [NAME...]

The tests are those of Debian's source package of strace. Its programs make system calls and print
the lines that a tracer must print for them; each plain entry of tests/gen_tests.in runs one of them
under a tracer with some options, and compares. This runs the plain entries with both tracers: those
whose second word is an option or nothing, and no injection (that changes the program's calls).

The result of each entry is one of:
  pass     the tracer printed the expected lines
  text     at least one line differs
  refused  the tracer refused an option
  skip     the machine lacks the feature, says the program

--work DIR keeps source, programs and results of strace there for the next run. NAME: only these.
--list prints a line for each entry that differs, with the share of equal lines; the differences are
in DIR/duet. --results FILE adds a line for each entry to FILE. Needs root, a compiler and apt.
"""
import argparse
import difflib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from source_package import fetch, find, run  # noqa: E402

PACKAGE = "strace"
SECONDS = 300


def build(source):
    """Builds the test programs, not strace itself; the directory where tests run."""
    at = os.path.join(source, "build")
    os.makedirs(at)
    run(["../configure", "--enable-mpers=no", "--without-libdw", "--without-libunwind",
         "--disable-gcc-Werror"], at, "configure")
    # With newer headers some programs do not compile: then strace does not pass their entries.
    subprocess.run(["make", "-k", "-C", "tests", "-j", str(os.cpu_count()), "check", "TESTS=", "CFLAGS=-O1"], cwd=at,
                   capture_output=True)
    if not os.path.exists(at + "/tests/zeroargc"):
        sys.exit("suite.py: make -k -C %s/tests check TESTS= made no programs" % at)
    return at + "/tests"


def plain_entries(source):
    for line in open(source + "/tests/gen_tests.in"):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1 or words[1].startswith("-") and "inject=" not in line:
            yield words[0]


def share(expected, got):
    """The share of expected lines that are among those printed, in order."""
    if not expected:
        return 1.0 if not got else 0.0
    m = difflib.SequenceMatcher(None, expected, got, autojunk=False)
    return sum(b.size for b in m.get_matching_blocks()) / max(len(expected), len(got))


def lines_of(path):
    try:
        return open(path, errors="surrogateescape").read().splitlines()
    except OSError:
        return []


def one(name, tracer, source, at, keep):
    """Runs one entry; (result, share of equal lines)."""
    environment = dict(os.environ, STRACE=tracer, STRACE_ARCH="x86_64", STRACE_NATIVE_ARCH="x86_64",
                       SIZEOF_LONG="8", SIZEOF_KERNEL_LONG_T="8", MIPS_ABI="",
                       srcdir=source + "/tests", TIMEOUT_DURATION=str(SECONDS),
                       SLEEP_A_BIT="sleep 1")
    test = "%s/tests/%s.gen.test" % (source, name)
    try:
        done = subprocess.run(["timeout", "-k", "5", "-s", "XCPU", str(SECONDS), "sh", "-efu", test],
                              cwd=at, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace")
    finally:
        place = "%s/%s.dir" % (at, name)
        expected = lines_of(place + "/exp")
        log = lines_of(place + "/out") or lines_of(place + "/log")
        shutil.rmtree(place, ignore_errors=True)
    if done.returncode == 77:
        return "skip", 0.0
    if not done.returncode and (expected or log):  # a tracer that runs nothing leaves both empty
        return "pass", 1.0
    refused = re.search(r"(?m)^duet strace: (-.*|.*option.*)$", done.stderr)
    if keep:
        with open("%s/%s" % (keep, name), "w", errors="surrogateescape") as f:
            f.write(done.stderr[-3000:] + "\n")
            f.writelines(l + "\n" for l in difflib.unified_diff(expected, log, "expected", "printed",
                                                                lineterm="", n=0))
    return "refused" if refused and not log else "text", share(expected, log)


def all_of(names, tracer, source, at, keep):
    for i, name in enumerate(names):
        if sys.stderr.isatty():
            print("\r%4d of %d %-40s" % (i + 1, len(names), name), end="", file=sys.stderr)
        yield name, one(name, tracer, source, at, keep)


def counts(results):
    kinds = [r for r, _ in results.values()]
    return ", ".join("%d %s" % (kinds.count(k), k) for k in ("pass", "text", "refused", "skip"))


def main():
    o = argparse.ArgumentParser(usage=__doc__)
    o.add_argument("duet")
    o.add_argument("--work")
    o.add_argument("--list", action="store_true")
    o.add_argument("--results")
    o.add_argument("names", nargs="*")
    a = o.parse_intermixed_args()
    duet = os.path.abspath(a.duet)
    work = os.path.abspath(a.work) if a.work else tempfile.mkdtemp(prefix="strace-suite-")
    os.makedirs(work, exist_ok=True)
    try:
        source = find(PACKAGE, work) or fetch(PACKAGE, work)
        at = source + "/build/tests"
        at = at if os.path.isdir(at) else build(source)
        keep = work + "/duet"
        os.makedirs(keep, exist_ok=True)
        names = [n for n in plain_entries(source) if not a.names or n in a.names]
        known = work + "/strace.json"
        theirs = json.load(open(known)) if os.path.exists(known) else {}
        new = dict(all_of([n for n in names if n not in theirs], "strace", source, at, None))
        theirs.update(new)
        if new:
            with open(known, "w") as f:
                json.dump(theirs, f)
        passed = [n for n in names if theirs[n][0] == "pass"]
        ours = dict(all_of(passed, duet + " strace", source, at, keep))
        if a.results:
            with open(a.results, "a") as f:
                f.writelines("%s %s %.3f\n" % (n, *ours[n]) for n in passed)
        if a.list:
            for n in passed:
                if ours[n][0] != "pass":
                    print("%-40s %-8s %5.1f %%" % (n, ours[n][0], 100 * ours[n][1]))
        print("%s, %d plain entries" % (os.path.basename(source), len(names)))
        print("strace:      %s" % counts({n: theirs[n] for n in names}))
        print("duet strace: %s, of the %d that strace passes" % (counts(ours), len(passed)))
        differ = [s for r, s in ours.values() if r == "text"]
        if differ:
            print("where the text differs: median %.0f %% of the lines are equal"
                  % (100 * statistics.median(differ)))
        if passed:
            print("%.1f %% of those that strace passes"
                  % (100 * sum(r == "pass" for r, _ in ours.values()) / len(passed)))
    finally:
        if not a.work:
            shutil.rmtree(work, ignore_errors=True)


main()
