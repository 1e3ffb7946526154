#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings have each field that Trace Compass's kernel, disk, memory, heap and call-stack analyses read, as a number where
these compute with it: programs/fields.py.

arguments: DUET CYG_PROGRAM LIBC_PROGRAM TREE LIBDUET
"""
import glob
import os
import re
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)) + p for p in ("/../../lib", "/programs")]
from trial import cmd, is_, ok, paths, run, run_cases, skip, work  # noqa: E402
import fields  # noqa: E402

cyg_program, libc_program, tree, _ = paths(4)


def metadata_of(path):
    """The text as Babeltrace sees it."""
    status, text, err = run("babeltrace2", "-o", "ctf-metadata", path)
    is_((status, err), (0, ""), "babeltrace2 of " + path)
    return text


def record(name, *options):
    status, out, err = cmd("record", "-o", "%s/%s" % (work, name), *options)
    if status and re.search("no right|tracefs|root", err):
        skip(err.strip().splitlines()[0])
    is_(status, 0, out + err)
    return "%s/%s" % (work, name)


def contexts_are_there(path, domain):
    text = metadata_of(path)
    stream = re.search(r"^stream \{(.*?)^\};", text, re.S | re.M).group(1) + re.search(r"^struct packet_context \{(.*?)^\}", text, re.S | re.M).group(1)
    for name in fields.CONTEXTS[domain].split():
        ok(re.search(r"\b_?%s;" % name, stream), "%s has %s" % (path, name), stream)


def kernel_events_have_them():
    path = record("k", "-k", "sched,syscalls,irq,block,timer,power,kmem:mm_page_alloc,kmem:mm_page_free,irq_vectors:*", "--",
                  "sh", "-c", "cat /etc/passwd; /bin/true") + "/kernel"
    is_(fields.missing(fields.KERNEL, metadata_of(path)), [], "fields of the kernel's events")
    contexts_are_there(path, "kernel")


def heap_events_have_them():
    path = record("h", "--no-kernel", "-e", "lttng_ust_libc:*", "--", libc_program, "values")
    trace = glob.glob(path + "/ust/uid/*/64-bit")[0]
    is_(fields.missing(fields.HEAP, metadata_of(trace)), [], "fields of the heap's events")
    contexts_are_there(trace, "ust")


def calls_have_them():
    path = record("c", "--no-kernel", "-e", "lttng_ust_cyg_profile:*", "--", cyg_program)
    trace = glob.glob(path + "/ust/uid/*/64-bit")[0]
    is_(fields.missing(fields.CALLS, metadata_of(trace)), [], "fields of calls")
    path = record("g", "--no-kernel", "--graph", os.path.basename(tree) + ":*", "--", tree, "3")
    status, out, err = cmd("export", "ctf", "-o", work + "/exported", path)
    is_(status, 0, out + err)
    is_(fields.missing(fields.EXPORTED_CALLS, metadata_of(work + "/exported/calls")), [], "fields of exported calls")


def the_table_finds_what_is_missing():
    text = 'event {\n\tname = "a";\n\tid = 0;\n\tfields := struct {\n\t\tstring _s;\n\t\tuint32_t _n;\n\t};\n};\n'
    is_(fields.missing([("x", "a", 's" n')], text), [], "text and number")
    is_([row[1:3] for row in fields.missing([("x", "a", "s m"), ("x", "b", "n"), ("x", "[c]", "n")], text)],
        [("a", "s"), ("a", "m"), ("b", "n")], "a text for a number, a missing field, a missing event")


if __name__ == "__main__":
    run_cases(the_table_finds_what_is_missing, kernel_events_have_them, heap_events_have_them, calls_have_them)
