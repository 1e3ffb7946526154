#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet strace` needs no tracefs instance: BPF programs record births, names and ends too. If the kernel refuses one of
the programs, an instance is made, and the lines are the same.

arguments: DUET LIBRARY        a library that refuses programs: programs/refuse.c
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from tracefs import TRACEFS, mount_tracefs  # noqa: E402

mount_tracefs()
from trial import cmd, is_, ok, paths, run_cases, skip  # noqa: E402

refuse, = paths(1, library=False)
# The command's parent is the recorder, and its number is in the name of its instance.
LIST = "echo $PPID; ls %s/instances; true & wait $!; sh -c 'exit 3'; kill -USR1 $$" % TRACEFS
PROGRAMS = "duet_sys_enter", "duet_sys_exit", "duet_task_newt", "duet_task_rena", "duet_signal"


def traced(*options, refused=None):
    """The recorder's instances; the lines about execs, signals and ends, without numbers."""
    environment = dict(os.environ)
    if refused:
        os.environ.update(LD_PRELOAD=refuse, REFUSED=refused, ASAN_OPTIONS="verify_asan_link_order=0:%s"
                          % os.environ.get("ASAN_OPTIONS", ""))
    _, out, lines = cmd("strace", "-f", "-E", "LD_PRELOAD", *options, "sh", "-c", LIST)
    os.environ.clear()
    os.environ.update(environment)
    parent, *names = out.split()
    kept = [re.sub(r"^\[pid +\d+\] |0x[0-9a-f]+|\d{2,}", "", line) for line in lines.splitlines()
            if re.search(r"exited with|killed by|SIGUSR1", line)]
    return [n for n in names if n.startswith("duet-%s-" % parent)], sorted(kept), lines


def no_instance_is_made():
    found, kept, lines = traced()
    is_(found, [], "of this recorder there is no instance")
    ok(any("killed by SIGUSR1" in k for k in kept) and any("exited with 3" in k for k in kept), "ends are shown", lines)


def a_backend_of_tracefs_has_one():
    found, _, lines = traced("--kernel-backend=ftrace")
    is_(len(found), 1, "an instance: %s" % lines)


def a_refused_program_is_replaced_by_one():
    _, ends, _ = traced()
    for name in PROGRAMS:
        found, kept, lines = traced(refused=name)
        is_(len(found), 1, "%s is refused: there is an instance" % name)
        without_info = [re.sub(r"\{.*\}", "", k) for k in kept]
        is_(without_info, [re.sub(r"\{.*\}", "", k) for k in ends], "%s is refused: the same ends: %s" % (name, lines))


def a_refused_birth_is_no_failure_of_the_backend():
    for name in "duet_task_newt", "duet_task_rena":
        found, kept, lines = traced("--kernel-backend=bpf", refused=name)
        is_(len(found), 1, "%s is refused: there is an instance: %s" % (name, lines))
        ok(any("exited with 3" in k for k in kept), "ends are shown", lines)


if os.geteuid():
    skip("needs root: the kernel is recorded")
status, _, why = cmd("strace", "--kernel-backend=bpf", "true")
if status:
    skip(why)
run_cases(no_instance_is_made, a_backend_of_tracefs_has_one, a_refused_program_is_replaced_by_one,
          a_refused_birth_is_no_failure_of_the_backend)
