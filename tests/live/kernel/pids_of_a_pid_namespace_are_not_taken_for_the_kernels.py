#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""In a pid namespace the kernel would follow processes of the host that have the pids of ours: duet refuses, and says how to
record. The whole machine can be recorded, and no process of it gets a name of one here.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from tracefs import TRACEFS, mount_tracefs  # noqa: E402

mount_tracefs()
from recorder import view  # noqa: E402
from trial import duet, is_, ok, run, run_cases, skip, work  # noqa: E402

INSIDE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
NOTE = "in a pid namespace"
SLEEPS = ("sh", "-c", "for i in 1 2 3; do sleep 0.01; done")


def record(name, *options):
    return run(*INSIDE, duet, "record", *options, "-o", work + "/" + name, "--", *SLEEPS)


def events_of_the_kernel_by_process_are_refused():
    for i, options in enumerate((["-k", "sched_switch"], ["-k", "syscalls"], ["--kernel-backend=ftrace", "-k", "sched_switch"],
                                 ["--kernel-backend=bpf"], ["-k", "profile:99"])):
        status, _, err = record("refused%d" % i, *options)
        is_(status, 2, "%s: refused" % options)
        ok(err.count(NOTE) == 1 and "--all-kernel" in err, "one note says how to record", err)


def without_a_request_the_other_half_is_recorded():
    status, _, err = record("half")
    is_(status, 0, "it records: " + err)
    ok(err.count(NOTE) == 1 and "--all-kernel" in err, "one note says that the kernel is missing", err)


def the_whole_machine_is_recorded_without_names_of_ours():
    for backend in "ftrace", "bpf":
        status, _, err = record(backend, "--all-kernel", "--kernel-backend=" + backend, "-k", "sched_switch")
        is_(status, 0, "it records: " + err)
        is_(err.count(NOTE), 1, "one note: " + err)
        events = view(work + "/" + backend, may_be_empty=False)
        ok(any(e.get("event") == "sched_switch" for e in events), "events are there")
        states = [e["fields"] for e in events if e.get("event") == "lttng_statedump_process_state"]
        is_([s for s in states if s["pid"] == 1], [], "our first process gives the host's no name")


if os.geteuid() or subprocess.run([*INSIDE, "true"], stderr=subprocess.DEVNULL).returncode:
    skip("no right to make pid namespaces")
if not os.path.isdir(TRACEFS + "/instances"):
    skip("tracefs cannot be mounted")
run_cases(events_of_the_kernel_by_process_are_refused, without_a_request_the_other_half_is_recorded,
          the_whole_machine_is_recorded_without_names_of_ours)
