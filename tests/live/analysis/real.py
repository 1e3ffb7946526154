# SPDX-License-Identifier: MIT
"""Records program.c now, and compares with other counts of the same run."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd/analysis"))
from check import Failed  # noqa: E402

LIBRARY = None


def need_root():
    if os.geteuid():
        print("needs root: the kernel is recorded")
        sys.exit(77)


def record_all(duet, where, options, command):
    """Records; returns the trace's directory and the command's output.  No event may be lost."""
    env = dict(os.environ, DUET_RUNTIME_DIR=os.path.join(where, "run"), DUET_LIBRARY=LIBRARY)
    trace = os.path.join(where, "trace")
    p = duet.run("record", "-b", "128M", *options, "-o", trace, "--", *command, env=env)
    if "LOST" in p.stderr:
        raise Failed("events were lost: " + p.stderr)
    if "not recorded" in p.stderr:
        print("the kernel cannot be recorded here: " + p.stderr)
        sys.exit(77)
    return trace, [line.split() for line in p.stdout.splitlines()]


def stolen_ns():
    """Time that the host took from this machine, in steps of 10 ms: schedstat excludes it, a recording cannot see it."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8]) * 10**7


def have(command):
    return subprocess.run(["sh", "-c", "command -v " + command], stdout=subprocess.DEVNULL).returncode == 0
