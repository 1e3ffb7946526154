#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet diff --repeat: two commands are recorded in turn and compared, and nothing is left.

arguments: DUET LIBDUET
"""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run_cases, start, until, work  # noqa: E402

paths(1)
os.chdir(work)
os.mkdir("tmp")
os.environ["TMPDIR"] = work + "/tmp"


def left():
    return os.listdir("tmp")


def a_change_between_commands_is_found():
    """6 and 6: a sleep of fifty times the length; its output is not in the answer."""
    if os.geteuid():
        return print("# not tried: system calls take root")
    status, out, err = cmd("diff", "--json", "--repeat", "6", "-k", "syscalls", "sh", "-c", "echo said; exec sleep 0.01", "--", "sleep",
                           "0.5")
    is_(status, 0, err)
    r = json.loads(out)
    is_((r["order"], r["n_recordings_a"], r["n_recordings_b"], r["n_permutations"]), ("in turn", 6, 6, 924), "how it was made")
    naps = [c for c in r["syscalls"] if c["call"] == "clock_nanosleep"][0]
    is_((naps["n_a"], naps["n_b"], naps["verdict"]), (1, 1, "slower"), naps)
    is_(left(), [], "nothing is left")


def recordings_are_kept_in_the_order_of_turns():
    script = "echo %s >>order"
    status, _, err = cmd("diff", "--no-kernel", "--repeat", "3", "-o", "kept", "sh", "-c", script % "a", "--", "sh", "-c", script % "b")
    is_(status, 0, err)
    is_(open("order").read().split(), ["a", "b", "b", "a", "a", "b"], "each begins in its turn")
    is_(sorted(d for d in os.listdir(".") if d.startswith("kept")), ["kept-%s-%d" % (s, i) for s in "ab" for i in (1, 2, 3)], "names")
    status, _, err = cmd("diff", "--no-kernel", "--repeat", "3", "-o", "kept", "sh", "-c", script % "a", "--", "true")
    is_((status, len(open("order").read().split())), (2, 6), "nothing is run")
    ok("kept-a-1 exists" in err, "it says which", err)


def options_behind_a_command_are_its_own():
    status, out, err = cmd("diff", "--no-kernel", "--repeat", "1", "sh", "-c", "[ $0 = --all ]", "--all", "--", "true", "--json")
    is_(status, 0, err)
    ok("exit status" not in err and not out.startswith("{"), "they reach it", out + err)


def a_command_that_fails_is_named():
    status, _, err = cmd("diff", "--no-kernel", "--repeat", "2", "true", "--", "sh", "-c", "exit 3")
    is_(status, 0, err)
    ok("sh: exit status 3 in 2 of 2 runs" in err, "its status and how often", err)


def a_signal_leaves_nothing():
    for number in (signal.SIGTERM, signal.SIGHUP):
        ended_by(number)


def ended_by(number):
    if os.path.exists("cut.runs"):
        os.remove("cut.runs")
    p = start(duet, "diff", "--no-kernel", "--repeat", "5", "true", "--", "sh", "-c", "echo >>cut.runs; exec sleep 1000")
    until(lambda: os.path.exists("cut.runs"), "B runs")
    ok(left(), "there is a directory meanwhile")
    p.send_signal(number)
    status, out, err = p.end()
    is_((status, out, left()), (2, "", []), err)
    ok("signal in turn 1 of 5: nothing is compared" in err, "it says so", err)


def sides_in_sequence_are_said():
    if os.geteuid():
        return print("# not tried: scheduling takes root")
    for side in "xy":
        for i in range(4):
            cmd("record", "-q", "-k", "sched", "-o", "seq-%s-%d" % (side, i), "--", "true")
    a, b = (["seq-%s-%d" % (s, i) for i in range(4)] for s in "xy")
    _, out, _ = cmd("diff", *a, "--", *b)
    ok("B was recorded after A" in out and "diff --repeat 4" in out, "B behind A", out)
    _, out, _ = cmd("diff", "--json", *b, "--", *a)
    is_(json.loads(out)["order"], "b first", "A behind B")
    mixed = [a[0], b[1], a[2], b[3]], [b[0], a[1], b[2], a[3]]
    _, out, _ = cmd("diff", *mixed[0], "--", *mixed[1])
    ok("was recorded after" not in out, "mixed", out)


run_cases(a_change_between_commands_is_found, recordings_are_kept_in_the_order_of_turns, options_behind_a_command_are_its_own,
          a_command_that_fails_is_named, a_signal_leaves_nothing, sides_in_sequence_are_said)
