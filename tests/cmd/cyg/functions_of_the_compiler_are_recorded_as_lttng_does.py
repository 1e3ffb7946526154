#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs built with -finstrument-functions give the events of LTTng-UST's library for them.

arguments: DUET PROGRAM LIBDUET
"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run, run_cases, work  # noqa: E402

program, library = paths(2)
LTTNG = "/usr/lib/x86_64-linux-gnu/liblttng-ust-cyg-profile%s.so"
CHANNEL = "lttng_ust_cyg_profile"


def record(pattern):
    """-> (lines of duet view, metadata)"""
    trace = "%s/%s" % (work, re.sub(r"\W", "_", pattern))
    status, out, err = cmd("record", "--no-kernel", "-o", trace, "-e", pattern, "--", program)
    is_(status, 0, "record: " + err)
    status, out, err = cmd("view", trace)
    is_(status, 0, "view: " + err)
    metadata = glob.glob(trace + "/ust/uid/*/64-bit/metadata")
    status, text, err = run("babeltrace2", trace)
    is_((status, err), (0, ""), "Babeltrace")
    is_(text.count("func_"), len(out.splitlines()), "events that Babeltrace reads")
    with open(metadata[0]) as f:
        return out.splitlines(), f.read()


def entries_and_exits_pair():
    lines, metadata = record(CHANNEL + ":*")
    stack, depths = [], []
    for line in lines:
        kind, addr, site = re.search(r":func_(\w+) \{ addr = (0x\w+), call_site = (0x\w+) \}", line).groups()
        if kind == "entry":
            stack.append((addr, site))
            depths.append(len(stack))
        else:
            is_(stack.pop(), (addr, site), "the innermost entry of an exit")
    is_(stack, [], "entries without exit")
    is_(depths, [1] + 2 * [2, 3, 3, 3, 3], "depths")
    for name in "func_entry", "func_exit":
        body = re.search(r'name = "%s:%s".*?fields := struct \{(.*?)\n\t\};' % (CHANNEL, name), metadata, re.S).group(1)
        is_(re.findall(r"size = (\d+).*?base = (\d+).*?\} _(\w+);", body),
            [("64", "16", "addr"), ("64", "16", "call_site")], "fields of " + name)


def the_fast_variant_has_one_address():
    lines, _ = record(CHANNEL + "_fast:*")
    shapes = [re.sub(r"0x\w+", "N", re.search(r"%s_fast:(.*)" % CHANNEL, line).group(1)).split() for line in lines]
    is_(sorted(map(" ".join, shapes)), 11 * ["func_entry { addr = N }"] + 11 * ["func_exit { }"], "events")


def names_are_those_in_lttngs_library():
    for variant, channel in ("", CHANNEL), ("-fast", CHANNEL + "_fast"):
        with open(LTTNG % variant, "rb") as f:
            lttng = f.read()
        for word in [channel, "func_entry", "func_exit", "addr"]:
            ok(word.encode() + b"\0" in lttng, "LTTng has " + word)
        is_(b"call_site" in lttng, not variant, "call_site in %s" % variant)
    both = [subprocess.run(["nm", "-D", "--defined-only", lib], capture_output=True, text=True).stdout
            for lib in (LTTNG % "", os.path.dirname(library) + "/libduet-cyg.so.0")]
    for text in both:
        is_(sorted(re.findall(r" T (__cyg_\w+)", text)), ["__cyg_profile_func_enter", "__cyg_profile_func_exit"],
            "functions")


run_cases(entries_and_exits_pair, the_fast_variant_has_one_address, names_are_those_in_lttngs_library)
