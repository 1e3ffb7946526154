#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet record -q: one line if the kernel could not be recorded; else nothing is printed.

Root of a user namespace of its own has no right to the kernel's events; the machine's tracefs is hidden from it,
for its files belong to the same user.

arguments: DUET LIBDUET
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import duet, is_, ok, paths, run, run_cases, work  # noqa: E402

paths(1)
os.chdir(work)
in_namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$@"', "sh"]


def it_is_said_where_root_has_no_kernel():
    status, out, err = run(*in_namespace, duet, "record", "-q", "-o", "missing", "--", "true")
    is_((status, out), (0, ""), err)
    ok(err.startswith("duet record: the kernel is not in missing: ") and err.count("\n") == 1, "one line says why", err)


def without_the_kernel_nothing_is_said():
    is_(run(*in_namespace, duet, "record", "-q", "--no-kernel", "-o", "none", "--", "true"), (0, "", ""), "not wanted")
    if os.geteuid():
        return print("# the kernel takes root")
    is_(run(duet, "record", "-q", "-o", "all", "--", "true"), (0, "", ""), "recorded")


run_cases(it_is_said_where_root_has_no_kernel, without_the_kernel_nothing_is_said)
