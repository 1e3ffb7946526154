#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each one-liner of docs/coming-from-bpftrace.md and coming-from-systemtap.md runs live, without an error.

arguments: DUET PROGRAM LIBDUET DOCS

The program stands where the documents name ./shop.  Those with functions of the kernel run where it has probes for them.
"""
import os
import re
import shlex
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, skip, work  # noqa: E402

program, library = paths(2)
docs = os.path.abspath(sys.argv[4])
# They print only at times, or of events that the workload may not have.
QUIET = ("timer.s", "ioblock.", "vfs_read", "us > 10000")


def one_liners():
    """The scripts of duet in the fenced blocks; a command ends with its block."""
    for name in ("coming-from-bpftrace.md", "coming-from-systemtap.md"):
        for block in re.findall(r"^```\n(.*?)^```", open(os.path.join(docs, name)).read(), re.S | re.M):
            at = re.search(r"^duet script ", block, re.M)
            if at:
                words = shlex.split(block[at.start():])
                yield words[words.index("-e") + 1]


def has_functions_of_the_kernel():
    return cmd("script", "-l", 'kernel.function("vfs_read")')[0] == 0


def they_run_and_answer():
    shutil.copy(program, "shop")
    scripts = list(one_liners())
    ok(len(scripts) > 15, "there are one-liners")
    for i, text in enumerate(scripts):
        if "kernel.function" in text and not has_functions_of_the_kernel():
            continue
        os.mkdir("files%d" % i)
        status, out, err = cmd("script", "-c", "./shop files%d 8" % i, "-e", text)
        is_((status, err), (0, ""), "it runs: %s\n" % text)
        ok(out or any(word in text for word in QUIET), "it answers: %s" % text, out)


if os.geteuid():
    skip("needs root: the kernel is observed")
os.chdir(work)
run_cases(they_run_and_answer)
