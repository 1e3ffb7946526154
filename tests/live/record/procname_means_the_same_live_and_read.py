#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A filter on $procname chooses the same events while a program records and on the recording.

arguments: DUET PROGRAM LIBDUET
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, paths, run, run_cases, work  # noqa: E402

program, library = paths(2)
LONG = "a_program_of_a_long_name"
EVENTS = 30


def counted(name, filter_live, filter_read, *options, copy=LONG):
    """-> events of the program that pass a filter, of those that passed the first one when recorded"""
    shutil.copy(program, work + "/" + copy)
    live = ("-e", "high:*,low:*") + (("-f", filter_live) if filter_live else ())
    status, _, err = run(duet, "record", "--no-kernel", "-o", work + "/" + name, *live, *options, "--", work + "/" + copy,
                         input="high %d\nthreads %d\n" % (EVENTS, EVENTS))
    is_(status, 0, "duet record: " + err)
    status, out, err = cmd("view", "--no-pager", "-e", "high:flood", "-e", "low:step", *(("-f", filter_read) if filter_read else ()), work + "/" + name)
    return out.count("high:flood"), out.count("low:step")


def a_long_name_has_fifteen_bytes_in_both():
    for i, name in enumerate((LONG, LONG[:16], LONG[:15], LONG[:14], "short")):
        expression = '$procname == "%s"' % name
        live = counted("live%d" % i, expression, None)[0]
        read = counted("read%d" % i, None, expression)[0]
        is_(live, read, expression)
        is_(live, EVENTS if name == LONG[:15] else 0, expression)


def a_thread_has_its_own_name_if_the_context_is_recorded():
    """One of them, called worker, records low:step."""
    for i, (name, want) in enumerate(((LONG[:15], (EVENTS, 0)), ("worker", (0, EVENTS)))):
        expression = '$procname == "%s"' % name
        is_(counted("context-live%d" % i, expression, None, "-c", "procname"), want, expression + ", live")
        is_(counted("context-read%d" % i, None, expression, "-c", "procname"), want, expression + ", read")


def a_short_name_is_whole():
    is_(counted("short-live", '$procname == "shop"', None, copy="shop")[0], EVENTS, "live")
    is_(counted("short-read", None, '$procname == "shop"', copy="shop")[0], EVENTS, "read")


run_cases(a_long_name_has_fifteen_bytes_in_both, a_thread_has_its_own_name_if_the_context_is_recorded,
          a_short_name_is_whole)
