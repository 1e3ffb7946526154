#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each set of the kernel's events under load: as many are read as were recorded, by duet and by Babeltrace, which
prints no warning; and events that LTTng has too have its names of fields.

Whether events are lost depends on the load of the machine; lost ones must be reported.

arguments: DUET
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, fail, is_, ok, run, run_cases, skip, work  # noqa: E402

LOAD = os.path.dirname(os.path.abspath(__file__)) + "/programs/load.py"
# set -> events that the load surely causes; for the others that differs between machines
SETS = {"sched": "sched_switch", "syscalls": "syscall_entry_sendto", "irq": None, "signal": "signal_deliver", "task": "task_newtask",
        "block": None, "fs": None, "net": "net_dev_queue", "mm": "x86_exceptions_page_fault_user", "timer": None,
        "lock": None, "power": None, "workqueue": None}
# As lttng-modules 2.13 has them; ours may have more.
FIELDS = {
    "sched_switch": {"prev_comm", "prev_tid", "prev_prio", "prev_state", "next_comm", "next_tid", "next_prio"},
    "sched_waking": {"comm", "tid", "prio", "target_cpu"},
    "sched_wakeup": {"comm", "tid", "prio", "target_cpu"},
    "sched_process_fork": {"parent_comm", "parent_tid", "parent_pid", "child_comm", "child_tid", "child_pid"},
    "sched_process_exit": {"comm", "tid", "prio"},
    "signal_generate": {"sig", "errno", "code", "comm", "pid", "group", "result"},
    "signal_deliver": {"sig", "errno", "code", "sa_handler", "sa_flags"},
    "syscall_entry_sendto": {"fd", "buff", "len", "flags", "addr", "addr_len"},
    "syscall_exit_sendto": {"ret"},
    "irq_softirq_entry": {"vec"}, "irq_softirq_exit": {"vec"}, "irq_softirq_raise": {"vec"},
    "irq_handler_entry": {"irq", "name"}, "irq_handler_exit": {"irq", "ret"},
    "timer_hrtimer_start": {"hrtimer", "function", "expires", "softexpires"}, "timer_hrtimer_cancel": {"hrtimer"},
    "block_rq_issue": {"dev", "sector", "nr_sector", "bytes", "rwbs", "comm"},
    "net_dev_queue": {"skbaddr", "len", "name"}, "net_if_receive_skb": {"skbaddr", "len", "name"},
    "x86_exceptions_page_fault_user": {"address", "ip", "error_code"},
}


def one(set_, brings):
    """-> of each event one, by name"""
    recording, directory = "%s/%s" % (work, set_), "%s/%s-files" % (work, set_)
    os.mkdir(directory)
    status, out, err = cmd("record", "-k", set_, "-o", recording, "--", sys.executable, LOAD, directory, 200)
    if status and "no kernel event matches" in err:
        return {}  # a kernel without them
    is_(status, 0, "duet record -k %s: %s" % (set_, out + err))
    told = re.search(r"^ +kernel +(\d+) events.*?(none|\d+) lost", out + err, re.M)
    ok(told, "it reports how many", out + err)
    status, out, err = cmd("view", "--json", "--state", recording)
    is_(status, 0, "duet view of %s: %s" % (set_, err))
    read = [e for e in map(json.loads, out.splitlines()) if "event" in e]
    is_(len(read), int(told[1]), "%s: as many are read as were recorded" % set_)
    status, out, err = run("babeltrace2", "--clock-seconds", recording + "/kernel")
    if told[2] == "none":
        is_((status, err), (0, ""), "babeltrace2 of %s" % set_)
    is_(len(re.findall(r"^\[", out, re.M)), int(told[1]), "%s: Babeltrace reads as many" % set_)
    by_name = {e["event"]: e for e in read}
    if brings and brings not in by_name:
        fail("%s: no %s under load, but %s" % (set_, brings, sorted(by_name)))
    return by_name


def each_set_is_read_as_it_was_recorded():
    seen = {}
    for set_, brings in SETS.items():
        seen.update(one(set_, brings))
    for name, fields in FIELDS.items():
        if name in seen:
            is_(fields - set(seen[name]["fields"]), set(), "fields of %s" % name)


if __name__ == "__main__":
    may = cmd("record", "-q", "-k", "sched_switch", "-o", work + "/may", "--", "true")
    if may[0] and re.search("no right|tracefs|root", may[2]):
        skip(may[2].strip().splitlines()[0])
    run_cases(each_set_is_read_as_it_was_recorded)
