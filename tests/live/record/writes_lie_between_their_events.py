#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every write(2) lies between the two events around it, for our reader and for Babeltrace.

arguments: DUET ROUNDS LIBDUET PROGRAM...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

duet, rounds, library, programs = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]


def fail(text):
    print("FAILED:", text)
    sys.exit(1)


def expected(i, total):
    """The four lines of one round, as (event, its printed fields)."""
    text = '"number %d"' % i
    return (
        ("paper:before", "arg = %d, other = %s" % (i, text)),
        ("syscall_entry_write", "count = %d" % (i % 30 + 1)),
        ("syscall_exit_write", "ret = %d" % (i % 30 + 1)),
        ("paper:after", "arg = %d, other = %s, sum = %d" % (i, text, total)),
    )


def check(reader, lines):
    """lines: (event, fields) in the order the reader gives them."""
    at, seen, total = 0, 0, 0
    for i in range(rounds):
        total += i * 7
        for event, fields in expected(i, total):
            if at == len(lines):
                fail("%s: the trace ends in round %d of %d" % (reader, i, rounds))
            got_event, got_fields = lines[at]
            at += 1
            seen += 1
            if got_event != event or fields not in got_fields:
                fail("%s: round %d: wanted %s { %s }, got %s {%s}"
                     % (reader, i, event, fields, got_event, got_fields))
    if at != len(lines):
        fail("%s: %d more lines than events" % (reader, len(lines) - at))
    print("%s: %d events in order, %d of %d writes between their two events"
          % (reader, seen, rounds, rounds))


def run(*command):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.returncode:
        fail("%s: status %d: %s" % (" ".join(command), p.returncode, p.stderr))
    return p


if os.geteuid():
    print("needs root: the kernel is recorded")
    sys.exit(77)
work = tempfile.mkdtemp(prefix="duet-bracket-")
os.environ["DUET_RUNTIME_DIR"] = os.path.join(work, "run")
os.environ["DUET_LIBRARY"] = library


def check_program(program):
    trace = os.path.join(work, os.path.basename(program))
    p = run(duet, "record", "-o", trace, "-b", "256M", "-k", "syscall_entry_write", "-k",
            "syscall_exit_write", "--", program, str(rounds))
    if "LOST" in p.stderr:
        fail("events were lost: " + p.stderr)
    ours = re.compile(r"^\S+ \(\S+ *\) \[.\] \S+ (paper:\w+|syscall_\w+_write) \{(.*)\}$")
    theirs = re.compile(r"^\[.*?\] \(.*?\) \S+ (paper:\w+|syscall_\w+_write): .*?\{([^{}]*)\}$")
    view = run(duet, "view", trace)
    lines = [m.groups() for m in map(ours.match, view.stdout.splitlines()) if m]
    # Before its exec the child of duet may write too; nothing else of the tree does.
    check("duet view", lines)
    if shutil.which("babeltrace2"):
        bt = run("babeltrace2", "--log-level=W", trace)
        if bt.stderr:
            fail("babeltrace2 says: " + bt.stderr[:1000])
        lines = [m.groups() for m in map(theirs.match, bt.stdout.splitlines()) if m]
        check("babeltrace2", lines)
    shutil.rmtree(trace)


try:
    for program in programs:
        check_program(program)
finally:
    shutil.rmtree(work)
