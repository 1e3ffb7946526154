#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet list --functions prints each function with its kind of site or the reason, then the sums, which agree.

    functions.py DUET FUNCTIONS MARKS
"""
import re
import subprocess
import sys


def listed(duet, target):
    p = subprocess.run([duet, "list", "--functions", target], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0 and not p.stderr, (target, p)
    return p.stdout.splitlines()


def main():
    duet, functions, marks = sys.argv[1:4]
    lines = listed(duet, functions)
    assert lines[0].endswith("libfunctions.so"), lines[0]
    of = {}
    for line in lines[1:]:
        m = re.fullmatch(r"  (\S+) +0x[0-9a-f]+ +\d+  (\S+)(?:  \((.*)\))?", line)
        if m:
            of[m[2]] = (m[1], m[3])
    assert of["five_nops"] == ("nops", None), of["five_nops"]
    assert of["xray_sled"] == ("sled", None)
    assert of["island_before_call"] == ("island", None)
    assert of["two_stack_arguments"] == ("prologue", "16 bytes of stack arguments")
    assert of["setjmp"] == ("-", "returns twice")
    assert of["variable_arguments"] == ("-", "variable arguments, or an address of arguments on the stack")
    good, n = re.search(r"^(\d+) of (\d+) functions can be patched", "\n".join(lines), re.M).groups()
    assert int(good) == sum(kind != "-" for kind, _ in of.values()) and int(n) == len(of), (good, n, len(of))
    refused = sum(int(m[1]) for m in map(re.compile(r"  +(\d+)  \D").match, lines) if m)
    assert refused == int(n) - int(good), (refused, n, good)

    lines = listed(duet, functions + ":*_nops")
    assert len(lines) == 3 and lines[-1].startswith("1 of 1 functions can be patched (100.0 %)"), lines

    lines = listed(duet, marks)
    assert any(re.match(r"  mark .* shop:forward$", line) for line in lines), lines
    assert any(re.match(r"  - .* shop:no_room  \(no room for a jump around the mark\)$", line) for line in lines)
    assert any(re.match(r"\d+ of 9 USDT marks can be patched", line) for line in lines), lines


main()
