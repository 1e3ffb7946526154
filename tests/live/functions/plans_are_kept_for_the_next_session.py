#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plans are kept in the user's cache directory: taken for the same selection, made anew for any other, or for a damaged one.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, work  # noqa: E402

program, library = paths(2)
name = os.path.basename(program)
cache = work + "/cache"
os.environ["XDG_CACHE_HOME"] = cache


def calls(*options, functions="*"):
    """-> the calls by function of one recording"""
    trace = work + "/trace"
    shutil.rmtree(trace, ignore_errors=True)
    status, _, err = cmd("record", "-q", "--no-kernel", "-o", trace, "--graph-mode", "exact", "--graph",
                         "%s:%s" % (name, functions), *options, "--", program)
    is_(status, 0, "record: " + err)
    status, out, err = cmd("report", "functions", "--json", trace)
    is_(status, 0, "report: " + err)
    return {f["function"]: f["n"] for f in json.loads(out)["functions"]}


def entries():
    return {e: os.stat(cache + "/duet/" + e).st_ino for e in os.listdir(cache + "/duet")}


def a_plan_is_made_once_for_a_selection():
    first = calls()
    ok(len(first) > 1, "functions are recorded", str(first))
    made = entries()
    ok(made, "a plan is kept", str(made))
    is_(os.stat(cache + "/duet").st_mode & 0o777, 0o700, "for its user alone")
    is_(calls(), first, "the kept plan gives the same calls")
    is_(entries(), made, "and is not made again")
    one = sorted(first)[0]
    is_(calls(functions=one), {one: first[one]}, "another selection has its own plan")
    ok(len(entries()) > len(made), "which is kept too", str(entries()))


def a_damaged_entry_is_not_used():
    want = calls()
    for e in entries():
        path = cache + "/duet/" + e
        with open(path, "rb") as f:
            data = f.read()
        for bad in (b"", data[:100], data[:-1], data[:40] + b"\xff" * 300 + data[340:], b"x" * len(data)):
            with open(path, "wb") as f:
                f.write(bad)
            is_(calls(), want, "%d bytes of %s" % (len(bad), e))


def a_directory_of_others_is_not_used():
    os.chmod(cache + "/duet", 0o755)
    before = entries()
    calls("--graph-depth", "3")
    is_(entries(), before, "nothing is kept where others may look")


run_cases(a_plan_is_made_once_for_a_selection, a_damaged_entry_is_not_used, a_directory_of_others_is_not_used)
