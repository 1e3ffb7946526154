# SPDX-License-Identifier: MIT
"""Shared by the tests that follow recordings: recorders and programs with their output in files."""
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import field, kill  # noqa: E402, F401
from recorder import collect, stop  # noqa: E402, F401
from trial import PATIENCE, begins, cmd, command_of, duet, is_, ok, paths  # noqa: E402, F401
from trial import run, run_cases, skip, start, until, work, worker_of  # noqa: E402, F401

program, library = paths(2)


def to_file(name, *command):
    """The command, its output in a file of the work directory."""
    with open(name, "w") as out, open(name + ".err", "w") as err:
        return start(*command, stdout=out, stderr=err)


def lines(name):
    with open(name) as f:
        return f.read().splitlines()


def run_program(first=0):
    """Its threads are numbered from there."""
    p = start(program, str(first))
    is_(p.stdout.readline(), "ready\n", "the program runs")
    return p


def end_program(p):
    """-> its output"""
    return p.end(signal.SIGTERM)[1]


def view_lines(trace, *options):
    return cmd("view", *options, trace)[1].splitlines()


def is_written_on(trace):
    """How many times the recorder has said how far the files are."""
    return sum(len(line.split()) == 6 for line in lines(trace + "/.duet/clock"))


def recorder_says_how_far(trace, times=1):
    n = until(lambda: [is_written_on(trace)], "the recorder notes how far it is")[0]
    until(lambda: is_written_on(trace) > n + times - 1, "the recorder says how far it is")


def kill_worker(c):
    """Once another one is there."""
    worker = worker_of(c)
    kill(worker)
    until(lambda: worker_of(c) != worker, "another worker comes")
