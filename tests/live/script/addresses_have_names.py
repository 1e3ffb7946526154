#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Samples and stacks of the running system have the names of functions, of the kernel and of programs.

arguments: DUET LIBDUET
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, skip, work  # noqa: E402

paths(1)


def script(text, command):
    status, out, err = cmd("script", "-e", text, "-c", command)
    is_(status, 0, "it runs: " + err)
    return out


def a_sample_lies_in_a_function_of_the_program():
    """bash exports its functions."""
    out = script('global n; probe timer.profile { if (pid() == target() && user_mode()) n[usymname(uaddr())]++ } '
                 "probe end { foreach (f in n-) println(n[f], \" \", f) }", "bash -c 'for ((i = 0; i < 400000; i++)); do :; done'")
    found = [line.split() for line in out.splitlines()]
    ok(sum(int(n) for n, f in found if not f.startswith("0x")) > 10, "most of its work has names", out[:500])


def a_stack_names_functions_of_the_kernel():
    out = script('probe kernel.trace("sched:sched_switch") { if ($prev_state && pid() == target()) { print_backtrace(); exit() } }',
                 "sleep 0.3")
    ok(re.search(r" : schedule\+0x[0-9a-f]+/0x[0-9a-f]+ \[kernel\]$", out, re.M), "it went through schedule()", out[:2000])


if os.geteuid():
    skip("needs root: the kernel is probed")
os.chdir(work)
run_cases(a_sample_lies_in_a_function_of_the_program, a_stack_names_functions_of_the_kernel)
