#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""losses.py DUET PROGRAM LIBDUET - the hint after losses names the channel, the option and a size that helps."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run, run_cases, work  # noqa: E402

program, library = paths(2)
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def told(name, *options, command=(program,), text=""):
    """-> what duet record prints about applications, after the program read these lines"""
    status, _, err = run(duet, "record", "--no-kernel", "-o", work + "/" + name, *options, "--", *command, input=text)
    is_(status, 0, "duet record: " + err)
    return err


def size_of(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def a_full_default_channel_gets_a_larger_b():
    err = told("full", "-b", "256K", text="high 300000\n")
    m = re.search(r"\d+ LOST \((\d+[KMG]?) were full; more memory: -b (\d+[KMG])", err)
    ok(m and size_of(m[2]) > size_of(m[1]), "more than today: " + err)


def a_full_channel_is_named():
    err = told("channel", "--channel", "rare:events=high:*,size=4K,count=8", text="high 300000\n")
    m = re.search(r"of them in channel rare \(32K were full; more memory: --channel rare:count=(\d+)", err)
    ok(m and int(m[1]) > 8, "its count: " + err)
    ok("-b " not in err, "the default channel lost nothing: " + err)


def an_event_larger_than_a_sub_buffer_gets_a_larger_one():
    err = told("large", text="large 100000 3\n")
    ok("3 LOST (events larger than a sub-buffer of 64K: --channel default:size=1M)" in err, err)
    err = told("larger", "--channel", "default:size=1M", text="large 100000 3\n")
    ok("none lost" in err, "the hint helps: " + err)


def address_space_is_named():
    err = told("addresses", command=("sh", "-c", "ulimit -v 150000; exec " + program), text="high 1000\n")
    m = re.search(r"1000 LOST \(\S+ could not map 256M of buffers: more address space \(ulimit -v\), or -b (\d+[KMG])", err)
    if ok(m, err):
        err = told("less", "-b", m[1], command=("sh", "-c", "ulimit -v 150000; exec " + program), text="high 1000\n")
        ok("none lost" in err, "the hint helps: " + err)


def nothing_lost_has_no_hint():
    err = told("none", text="high 10\n")
    ok("none lost" in err and "more memory" not in err, err)


def a_session_says_the_same():
    is_(cmd("start", "-b", "256K", "-o", work + "/session")[0], 0, "duet start")
    run(program, input="high 300000\n")
    err = cmd("stop")[2]
    ok(re.search(r"LOST \(\d+K were full; more memory: -b \d+[KM]", err), err)


run_cases(a_full_default_channel_gets_a_larger_b, a_full_channel_is_named,
          an_event_larger_than_a_sub_buffer_gets_a_larger_one, address_space_is_named, nothing_lost_has_no_hint,
          a_session_says_the_same)
