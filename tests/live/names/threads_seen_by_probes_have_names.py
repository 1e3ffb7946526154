#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads and processes that only a probe shows have the names that they gave themselves.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record  # noqa: E402
from trial import cmd, is_, paths, run_cases, skip, work  # noqa: E402

program, library = paths(2)
NAMES = {"GC Thread#0", "http-nio-8080", "backend", "named"}


def names_of(trace):
    status, out, err = cmd("view", "--json", "-e", "uprobe_step", trace)
    is_(status, 0, "duet view: " + err)
    return [json.loads(line)["proc"] for line in out.splitlines()]


def each_hit_of_a_probe_has_the_name_of_its_time():
    trace = work + "/probe"
    status, _, err = cmd("record", "-u", program + ":step", "-o", trace, "--", program)
    if status and "root" in err:
        skip(err.strip().splitlines()[0])
    is_(status, 0, "duet record: " + err)
    got = names_of(trace)
    is_((set(got), len(got)), (NAMES, 4), "names")


def patterns_beside_the_probe_change_nothing():
    trace = work + "/both"
    record(trace, "-u", program + ":step", "-k", "syscall_entry_getpid", "--", program)
    is_(set(names_of(trace)), NAMES, "names")


run_cases(each_hit_of_a_probe_has_the_name_of_its_time, patterns_beside_the_probe_change_nothing)
