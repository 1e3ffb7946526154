#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every option whose argument is a SIZE takes 250M, 250MB and 250MiB, and one with a TIME 900ms, 2s and 1m, whichever
verb it belongs to.  The options are those that the help shows.  Each command then ends for another reason: its output
is a file, or its session does not exist.

arguments: DUET
"""
import concurrent.futures
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, run_cases, work  # noqa: E402

FILE = work + "/a-file"
open(FILE, "w").close()
SESSION = ["-s", "nosuch-session"]
ENDS = {"record": ["-o", FILE, "--", "true"], "collect": ["-o", FILE], "start": ["-o", FILE], "relay": ["-o", FILE],
        "top": ["nosuch-session"], "status": ["nosuch-session"], "live": SESSION, "enable": SESSION, "snapshot": SESSION}
VALUES = {"SIZE": ("250M", "250MB", "250MiB"), "TIME": ("900ms", "2s", "1m")}
EITHER = ("rotate", "keep-last")  # their argument is called otherwise
NOT_DURATIONS = ("from", "to")    # points in time


def options_of(verb):
    text = cmd(verb, "--help")[1]
    found = {(o, "TIME" if kind == "T" else kind) for o, kind in re.findall(r"--([a-z-]+) (SIZE|TIME|T)\b", text)}
    found |= {(o, kind) for o in EITHER if "--%s " % o in text for kind in VALUES}
    return sorted((o, kind) for o, kind in found if o not in NOT_DURATIONS)


def one(verb, option, value):
    status, _, err = cmd(verb, "--" + option, value, *ENDS.get(verb, [FILE]))
    return verb, option, value, status, err


def sizes_and_times_are_written_in_one_way():
    verbs = re.findall(r"^  ([a-z]+) ", cmd("--help")[1], re.M)
    asked = [(verb, option, value) for verb in verbs for option, kind in options_of(verb) for value in VALUES[kind]]
    ok(len(asked) >= 100, "options are found in the help", len(asked))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for verb, option, value, status, err in pool.map(lambda a: one(*a), asked):
            ok(value not in err, "duet %s --%s %s" % (verb, option, value), err)
            is_(status != 0, True, "duet %s ends for its other reason" % verb)


def others_are_refused():
    for verb, option, value in (("record", "buffer", "250X"), ("record", "rotate", "5 seconds"), ("status", "watch", "2 s"),
                                ("strace", "kernel-buffer", "1.5.2M"), ("record", "graph-over", "10 parsecs")):
        _, _, _, status, err = one(verb, option, value)
        is_((status, value in err), (2, True), "duet %s --%s %s: %s" % (verb, option, value, err))


run_cases(sizes_and_times_are_written_in_one_way, others_are_refused)
