#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Marks: a string with a precision ("%.3s", "%.*s") is recorded up to it, and nothing behind it is read.

arguments: DUET PROGRAM LIBDUET
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record, view  # noqa: E402
from trial import is_, paths, run_cases, work  # noqa: E402

program, library = paths(2)
EXPECTED = [
    ("fixed", {"text": "def", "after": 1}),
    ("argument", {"width0": 6, "text": "abcdef", "after": 2}),
    ("none", {"text": "", "after": 3}),
    ("shorter", {"text": "short", "after": 4}),
    ("negative", {"width0": -1, "text": "whole", "after": 5}),
    ("number", {"width0": 2, "real": 1.5, "text": "not cut"}),
    ("two", {"a": "ab", "b": "cdef", "c": "plain"}),
    ("large", {"text": "x" * 2000, "after": 6}),
    ("large_argument", {"width0": 2000, "text": "x" * 2000, "after": 7}),
]


def a_precision_ends_what_a_mark_reads():
    trace = work + "/trace"
    record(trace, "--no-kernel", "-e", "precision:*", "--", program)
    got = [(e["event"].removeprefix("precision:"), e["fields"]) for e in view(trace)
           if e.get("event", "").startswith("precision:")]
    is_(got, EXPECTED, "fields as printf would print them")


run_cases(a_precision_ends_what_a_mark_reads)
