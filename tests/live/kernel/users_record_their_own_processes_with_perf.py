#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Through perf the kernel reports to each user about the user's own processes: when they run, samples, counters; and what it omits.

arguments: DUET PROGRAM
"""
import collections
import grp
import json
import os
import re
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from tracefs import where_mounted  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run, run_cases, skip, start, until, work  # noqa: E402

program, = paths(1, library=False)
UID = 54321
WAITS = 40


def as_user(*args):
    env = ["env", "DUET_RUNTIME_DIR=" + work + "/rt", "DUET_LENDER=" + work + "/nobody-lends"]
    return run("setpriv", "--reuid", UID, "--regid", UID, "--clear-groups", *env, *args)


def record_as_user(name, kernel, *command):
    status, out, err = as_user(duet, "record", "-k", kernel, "-o", work + "/user/" + name, "--", *command)
    is_(status, 0, "duet record: " + err)
    found = collections.defaultdict(list)
    for e in map(json.loads, cmd("view", "--json", work + "/user/" + name)[1].splitlines()):
        found[e["event"]].append(e)
    return out, err, found


# ---------------------------------------------------------------- cases

def each_time_a_thread_leaves_its_cpu_is_there():
    out, err, found = record_as_user("switches", "sched", program, WAITS)
    pid, voluntary, forced, _ = map(int, out.split())
    ok("duet-lend" in err, "and that a capability would give more", err)
    mine = [e["fields"]["preempted"] for e in found["thread_switched_out"] if e["tid"] == pid]
    # It does some more between asking and its end; and events before its exec count for it, too.
    ok(voluntary >= WAITS, "it waits", voluntary)
    ok(voluntary - 5 <= mine.count(0) <= voluntary + 5, "those it wanted", (mine.count(0), voluntary))
    ok(mine.count(1) >= forced - 5, "and the others", (mine.count(1), forced))
    ran = [e["time"] for e in found["thread_switched_in"] if e["tid"] == pid]
    ok(abs(len(ran) - len(mine)) <= 1, "it comes as often as it goes", (len(ran), len(mine)))
    ok(pid in [e["tid"] for e in found["thread_ended"]], "its end")
    ok(any(e["tid"] == pid and e.get("proc", "").startswith("own_program") for e in found["thread_switched_out"]), "it is named by its program")


def samples_and_counters_are_of_ones_own():
    out, _, found = record_as_user("samples", "profile:997,counter:page-faults", program, WAITS)
    pid, _, _, faults = map(int, out.split())
    is_({e["fields"]["pid"] for e in found["counter_page_faults"]}, {pid}, "its faults, no others'")
    # Those in the kernel are not reported.
    ok(len(found["counter_page_faults"]) >= faults / 4, "many of them", (len(found["counter_page_faults"]), faults))
    ok(found["profile"] and {e["fields"]["pid"] for e in found["profile"]} == {pid}, "samples of it", len(found["profile"]))
    ok(any(e["fields"]["callstack_user"] for e in found["profile"]), "with stacks")
    ok("thread_switched_in" not in found, "and nothing that was not asked for")


def babeltrace_reads_it():
    status, out, err = run("babeltrace2", work + "/user/switches/kernel")
    is_((status, err), (0, ""), "babeltrace2")
    ok("thread_switched_out" in out and "newcomm" in out, "the events")


def events_that_need_more_rights_are_refused_and_named():
    for args in ["-k", "sched,syscalls"], ["-k", "stack:sched_switch"], ["-k", "sched", "--all-kernel"], ["-k", "sched", "--overwrite"], \
            ["-k", "sched_switch", "-f", "prev_tid > 1"]:
        status, _, err = as_user(duet, "record", "-q", *args, "-o", work + "/user/refused", "--", "true")
        ok(status and "duet-lend" in err and "profile" in err, " ".join(args), err)
    if not os.path.exists("/sys/bus/event_source/devices/cpu"):
        status, _, err = as_user(duet, "record", "-q", "-k", "counter:cycles", "-o", work + "/user/refused", "--", "true")
        ok(status and "no PMU" in err, "a counter of the processor without one", err)


def the_missing_right_is_named():
    status, _, err = as_user(duet, "list", "-k")
    ok(status and re.search("tracefs needs root.*mode 0[0-7]{3}", err) and "duet-lend" in err, "list -k", err)
    paranoid = open("/proc/sys/kernel/perf_event_paranoid").read().strip()
    # Root with tracefs but without the rights to perf, as in some containers.
    rights = "-perfmon,-sys_admin"
    status, _, err = run(*where_mounted("setpriv", "--bounding-set=" + rights, "--inh-caps=" + rights, duet, "record", "-q",
                                        "-k", "profile:99", "-o", work + "/capable", "--", "true"))
    if int(paranoid) > 0:
        ok(status and "perf_event_paranoid is " + paranoid in err and "CAP_PERFMON" in err, "profile", err)
    else:
        is_(status, 0, "all users may: " + err)


def a_lent_instance_and_perf_go_together():
    """The instance shows the scheduler; perf samples the own threads.  Nothing says that it was refused."""
    group = "nogroup"
    lender = start(*where_mounted(duet, "lend", "--socket", work + "/lend.sock", "--group", group))
    until(lambda: os.path.exists(work + "/lend.sock") and os.stat(work + "/lend.sock").st_gid == grp.getgrnam(group).gr_gid,
          "the lender listens, for its group")
    env = ["env", "DUET_RUNTIME_DIR=" + work + "/rt", "DUET_LENDER=" + work + "/lend.sock"]
    status, out, err = run("setpriv", "--reuid", UID, "--regid", group, "--clear-groups", *env, duet, "record", "-k",
                           "sched,profile:997", "-o", work + "/user/lent", "--", program, WAITS)
    lender.end(signal.SIGTERM)
    is_(status, 0, "duet record: " + err)
    ok("cannot be recorded" not in err and "tracefs needs" not in err, "no error is reported: " + err)
    pid = int(out.split()[0])
    found = collections.Counter((e["event"], e["tid"] if e["event"] == "sched_switch" else e.get("fields", {}).get("pid"))
                                for e in map(json.loads, cmd("view", "--json", work + "/user/lent")[1].splitlines())
                                if "event" in e)
    ok(found["sched_switch", pid] >= WAITS, "switches of the instance", found[("sched_switch", pid)])
    ok(found["profile", pid] > 0, "samples", [k for k in found if k[0] == "profile"])
    ok({k[1] for k in found if k[0] == "profile"} == {pid}, "of it alone")


def may_try():
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        paranoid = int(f.read())
    if os.geteuid() or not shutil.which("setpriv"):
        skip("needs root, to become another user")
    if paranoid > 2:
        skip("perf_event_paranoid is %d: perf is root's" % paranoid)
    for d in "user", "rt":
        os.makedirs(work + "/" + d, 0o700)
        os.chown(work + "/" + d, UID, UID)
    os.chmod(work, 0o711)
    status, _, err = as_user(duet, "--version")
    if status:
        skip("another user cannot run it: " + err)


if __name__ == "__main__":
    may_try()
    run_cases(each_time_a_thread_leaves_its_cpu_is_there, samples_and_counters_are_of_ones_own, babeltrace_reads_it,
              a_lent_instance_and_perf_go_together,
              events_that_need_more_rights_are_refused_and_named, the_missing_right_is_named)
