#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py DUET LIBDUET NODE_PACKAGES TEST.mjs [RECORDING[=PROGRAM]]... - makes recordings, and runs a test of the page
in Chromium.

Recordings: the makers of made.py and hostile.py by their name, `try`, and `machine=PROGRAM`, recorded here with the
kernel's half.  `program=PROGRAM` is only handed to the test.  Skipped where Chromium or playwright-core is missing (tools/setup installs them), or the kernel cannot be traced.
"""
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../lib", HERE]
import tracefs

tracefs.mount_tracefs()
import made
import hostile
from trial import duet, failures, paths, skip, work

paths(1)
packages, test, wanted = os.path.abspath(sys.argv[3]), os.path.abspath(sys.argv[4]), sys.argv[5:]


def machine(directory, program):
    """A server with threads, a lock, fsync, events and spans; the kernel's scheduling and calls."""
    if os.geteuid():
        skip("recording the kernel needs root")
    p = subprocess.run([duet, "record", "-q", "-o", directory, "-k", "sched,syscalls,irq", "-e", "web:*", "--", program],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=work)
    if p.returncode:
        sys.exit("duet record: %s" % p.stdout)
    return directory


def as_tools_try(directory):
    """As tools/try records it, of a smaller directory."""
    if os.geteuid():
        skip("recording the kernel needs root")
    p = subprocess.run([duet, "record", "-q", "-o", directory, "-e", "lttng_ust_libc:*", "--", "find", "/usr/share/doc",
                        "-regex", ".*a"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=work)
    if p.returncode:
        sys.exit("duet record: %s" % p.stderr)
    return directory


MAKERS = {"web": made.web, "lossy": lambda d: made.web(d, lossy=True), "damaged": made.damaged,
          "hostile": hostile.hostile, "machine": machine, "try": as_tools_try}

chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
if not os.path.exists(chromium):
    skip("no %s: tools/setup" % chromium)
if not os.path.isdir(packages + "/playwright-core"):
    skip("no playwright-core: tools/setup")
if not shutil.which("node"):
    skip("no node: tools/setup")

recordings = {}
for argument in wanted:
    kind, _, program = argument.partition("=")
    if kind == "program":
        os.environ["PROGRAM"] = os.path.abspath(program)
        continue
    os.makedirs(work + "/recordings", exist_ok=True)
    recordings[kind] = MAKERS[kind](*["%s/recordings/%s" % (work, kind)] + ([os.path.abspath(program)] if program else []))

environment = dict(os.environ, DUET=duet, WORK=work, NODE_PACKAGES=packages, CHROMIUM=chromium,
                   RECORDINGS=json.dumps(recordings), HOME=work)
status = subprocess.run(["node", test], env=environment).returncode
sys.exit(status or bool(failures))
