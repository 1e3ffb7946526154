#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An element that has no room in its array ends a script with its error probes, whether handlers or the kernel count.

arguments: DUET LIBDUET
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, skip  # noqa: E402

paths(1)
THREE_THREADS = "sh -c 'sh -c :; sh -c :; sh -c :'"
ENDS = 'probe end { println("it ends well") } probe error { foreach (t in n) println("one of ", t > 0) println("it failed") }'


def check(script, *options):
    status, out, err = cmd("script", *options, "-e", script + ENDS, "-c", THREE_THREADS)
    is_(status, 1, "the status: " + err)
    ok("array" in err and "is full" in err and err.count("is full") == 1, "one error", err)
    is_(out, "one of 1\none of 1\nit failed\n", "the error probes run, with what has room")


def counted_by_handlers():
    check('global n[2]; probe syscall.getppid { if (execname() == "sh") { n[tid()]++; if (n[tid()] > 1000) exit() } } ')


def counted_in_the_kernel():
    script = 'global n[2]; probe syscall.getppid { if (execname() == "sh") n[tid()]++ } '
    check(script)
    explained = cmd("script", "-v", "-e", script + ENDS, "-c", "true")[2]
    ok("syscall.getppid: folded into the kernel" in explained, "it is counted in the kernel", explained)


def an_error_that_is_allowed_is_no_end():
    script = 'global n[2]; probe syscall.getppid { if (execname() == "sh") n[tid()]++ } '
    status, out, err = cmd("script", "-D", "MAXERRORS=1", "-e", script + 'probe end { println("it ends well") delete n }',
                           "-c", THREE_THREADS)
    is_((status, out), (0, "it ends well\n"), "it goes on: " + err)
    ok("is full" in err, "the error is shown", err)


if os.geteuid():
    skip("needs root: the kernel is recorded")
run_cases(counted_by_handlers, counted_in_the_kernel, an_error_that_is_allowed_is_no_end)
