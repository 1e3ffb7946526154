#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of `duet strace` are those of strace, letter by letter, for programs that do the same in each run.

arguments: DUET PROGRAM...
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, fail, is_, ok, run, run_cases, skip, work

programs = {os.path.basename(p).removeprefix("strace_"): os.path.abspath(p) for p in sys.argv[2:]}
os.environ["TMPDIR"] = work  # the directory of temporary recordings


def lines_of(path):
    return open(path, errors="surrogateescape").read().splitlines()


def both(options, *argv):
    """The lines of strace, and those of duet strace."""
    theirs, ours = work + "/theirs", work + "/ours"
    status, _, err = run("strace", *options, "-o", theirs, *argv)
    is_(cmd("strace", *options, "-o", ours, "--", *argv)[0], status, "the status of the command")
    return lines_of(theirs), lines_of(ours)


def same(options, *argv):
    theirs, ours = both(options, *argv)
    for a, b in zip(theirs, ours):
        if a != b:
            fail("duet strace %s prints\n%s\nnot\n%s" % (" ".join(options), b, a))
    is_(len(ours), len(theirs), "lines of %s" % " ".join(options))
    return theirs


def names_up_to_the_longest_path_are_shown():
    n = len(same(["-qq", "-e", "trace=chdir,rename,mount,setxattr"], programs["names"]))
    ok(n > 60, "%d calls" % n)


if not shutil.which("strace"):
    skip("there is no strace")
run_cases(names_up_to_the_longest_path_are_shown)
