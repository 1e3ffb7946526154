#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record --repeat: recordings NAME-1, NAME-2, ...; each is whole, or named as cut, whatever happens.

arguments: DUET PROGRAM LIBDUET
"""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
os.chdir(work)


def repeat(n, name, *command):
    return cmd("record", "-q", "--no-kernel", "--repeat", n, "-o", name, "--", *command)


def made(name):
    return sorted(d for d in os.listdir(work) if d.startswith(name + "-"))


def each_run_has_a_recording():
    status, _, err = repeat(3, "three", "sh", "-c", "echo run >>three.runs")
    is_((status, made("three")), (0, ["three-1", "three-2", "three-3"]), err)
    is_(len(open("three.runs").read().split()), 3, "runs of the command")


def a_recording_that_is_there_is_not_touched():
    os.mkdir("two-2")
    status, _, err = repeat(2, "two", "touch", "two.ran")
    is_((status, made("two"), os.path.exists("two.ran")), (2, ["two-2"], False), err)
    ok("two-2 exists" in err, "it says which", err)


def a_command_that_fails_does_not_end_it():
    status, _, err = repeat(3, "fails", "sh", "-c", "echo >>fails.runs; exit $(wc -l <fails.runs)")
    is_((status, len(made("fails"))), (1, 3), "the first status that is not 0: " + err)


def a_signal_ends_it_with_its_run():
    script = "echo >>cut.runs; [ $(wc -l <cut.runs) -lt 2 ] || exec sleep 1000"
    p = start(duet, "record", "-q", "--no-kernel", "--repeat", "5", "-o", "cut", "--", "sh", "-c", script)
    until(lambda: os.path.exists("cut.runs") and len(open("cut.runs").read()) == 2, "the second runs")
    p.send_signal(signal.SIGTERM)
    _, _, err = p.end()
    is_(made("cut"), ["cut-1", "cut-2"], "nothing follows")
    ok("1 of 5 recordings: cut-1" in err and "cut-2 is of a run that a signal cut" in err, "the cut one is named", err)


def without_processes_no_other_is_harmed():
    """The limit counts for users other than root alone, so setpriv makes root one; 60000 is nobody's number here."""
    os.mkdir("few")
    be_user = [] if os.geteuid() else ["setpriv", "--reuid=60000", "--regid=60000", "--clear-groups"]
    if be_user:
        os.chmod(work, 0o755)
        os.chown("few", 60000, 60000)
    witness = start(*be_user, "sleep", "1000")
    p = start(*be_user, "prlimit", "--nproc=1", duet, "record", "-q",
              "--no-kernel", "--repeat", "2", "-o", "few/r", "--", "true", env=dict(os.environ, DUET_RUNTIME_DIR=work + "/few/run"))
    status, _, err = p.end()
    is_((status, "cannot fork" in err), (2, True), err)
    ok(witness.poll() is None, "another process of the user goes on")
    witness.end(signal.SIGKILL)


run_cases(each_run_has_a_recording, a_recording_that_is_there_is_not_touched, a_command_that_fails_does_not_end_it,
          a_signal_ends_it_with_its_run, without_processes_no_other_is_harmed)
