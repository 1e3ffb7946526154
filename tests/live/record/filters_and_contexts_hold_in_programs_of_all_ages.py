#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Filters that run in programs, contexts, and changes of both by `duet enable` while a session runs.

arguments: DUET PROGRAM LIBDUET [TEST]...
"""
import bisect
import itertools
import os
import re
import subprocess

from channels import *

N = 60
EVENTS = ("kinds:all", "kinds:long_text", "kinds:marked", "kinds:marked_long")


def kinds(c, pid=None):
    """event -> the numbers that were recorded"""
    return {name: [e["fields"]["id"] for e in c.events if e["event"] == name and pid in (None, e["pid"])]
            for name in EVENTS}


def want(condition, *events):
    chosen = [i for i in range(N) if condition(i)]
    return {name: chosen if name in events else [] for name in EVENTS}


# An expression, its value for number i, and the events that have such fields.
FILTERS = (
    ("id >= 10 && id < 20", lambda i: 10 <= i < 20, EVENTS),
    ('name == "odd"', lambda i: i % 2, EVENTS[:1]),
    ('name ~ "ev*"', lambda i: not i % 2, EVENTS[:1]),
    ("ratio > 3.1 && ratio <= 7", lambda i: 3.1 < i / 4 <= 7, EVENTS[:1]),
    ('state == "PAID"', lambda i: i % 3 == 1, EVENTS[:1]),
    ("state == 6", lambda i: i % 3 == 2, EVENTS[:1]),
    ("triple[2] == 99", lambda i: i == 33, EVENTS[:1]),
    ("list[3] > 60", lambda i: i % 5 == 4 and 3 * i > 60, EVENTS[:1]),
    ('code == "0042"', lambda i: i == 42, EVENTS[:1]),
    ('body ~ "xx*"', lambda i: i % 2, EVENTS[1:2]),
    ('by ~ "yy*"', lambda i: not i % 2, EVENTS[3:]),
    ('by == "odd" && size > 70', lambda i: i % 2 and 7 * i > 70, EVENTS[2:3]),
    ('$procname ~ "channels*" && $vpid > 1 && $vtid == $vpid && id == 7', lambda i: i == 7, EVENTS),
    ("$ip != 0 && $cpu_id >= 0 && $uid == %d && id == 8" % os.getuid(), lambda i: i == 8, EVENTS),
    ("$ppid == %d && id == 9" % os.getpid(), lambda i: i == 9, EVENTS),
    ('$procname == "other"', lambda i: False, EVENTS),
)


def record_command(expression, trace):
    return subprocess.run([duet, "record", "--no-kernel", "-o", trace, "-e", "kinds:*", "-f", expression, "--", program],
                          input="kinds %d\n" % N, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Read:
    def __init__(self, trace):
        self.events = [e for e in events(trace) if "event" in e]


def filters_choose_in_a_launched_program():
    for k, (text, condition, names) in enumerate(FILTERS):
        if "$ppid" in text:
            continue  # not ours
        trace = "%s/launched-%d" % (work, k)
        p = record_command(text, trace)
        is_(p.returncode, 0, "record: " + p.stderr)
        is_(kinds(Read(trace)), want(condition, *names), text)
        unfit = p.stderr.count("lets no ")
        is_(unfit, int(names != EVENTS), "a filter that does not fit is reported once: " + p.stderr)
        is_(count_with_babeltrace(trace), sum(map(len, want(condition, *names).values())), "for babeltrace2, too")


def filters_choose_in_programs_that_run_and_that_start():
    for text, condition, names in FILTERS:
        p, q = Program(), Program()
        c = Collector("-e", "kinds:*", "-f", text)
        r = Program()
        for x in (p, q, r):
            x.do("kinds", N)
        c.end()
        for x in (p, q, r):
            is_(kinds(c, x.pid), want(condition, *names), text)
            x.quit()
        is_(c.lost, 0, "events that a filter refuses are not lost")


def one_process_has_a_filter():
    p, q = Program(), Program()
    c = Collector("--no-kernel", "-p", p.pid, "-e", "kinds:all", "-f", "id < 5", "-e", "kinds:marked",
                  "-f", "id == 50", verb="record")
    until(lambda: "[x] kinds:marked" in cmd("list", "-p", p.pid)[1], "it is switched on")
    p.do("kinds", N)
    q.do("kinds", N)
    c.end()
    is_(kinds(c), {"kinds:all": [0, 1, 2, 3, 4], "kinds:long_text": [], "kinds:marked": [50], "kinds:marked_long": []},
        "each its own, in that process alone")


def several_patterns_each_with_its_filter():
    args = ("-e", "kinds:*", "-f", "id < 30", "-e", "kinds:marked*", "-f", "id >= 30", "-e", "!kinds:marked_long",
            "-e", "low:*", "--channel", "other:events=kinds:marked")
    c = Collector(*args)
    p = Program()
    p.do("kinds", N)
    p.do("both", 100, 10)
    p.quit()
    c.end()
    is_(kinds(c), {"kinds:all": list(range(30)), "kinds:long_text": list(range(30)),
                   "kinds:marked": list(range(30, N)), "kinds:marked_long": []}, "the last pattern decides")
    is_((c.count["low:step"], c.count["high:flood"]), (10, 0), "without a filter all, without a pattern none")
    is_(sorted({os.path.basename(f).split("_")[0] for f in streams(c.trace)} - {"state", "lane"}), ["cpu", "other"],
        "and a channel of its own")


def streams(trace):
    return [os.path.join(d, f) for d, _, files in os.walk(trace) for f in files
            if re.match(r".*(cpu|lane|state)_\d+$", f) and os.path.getsize(os.path.join(d, f))]


def the_environment_and_channels_agree():
    c = Collector("--channel", "rare:events=low:*", "-e", "!hand:*")
    p = Program(DUET_TRACE="1", DUET_EVENTS="low:*,kinds:all")
    p.do("both", 100, 10)
    p.do("kinds", N)
    p.quit()
    c.end()
    is_((c.count["low:step"], c.count["high:flood"], c.count["kinds:all"]), (10, 0, N), "its own contexts")
    ok(any("rare_" in f for f in streams(c.trace)), "in the channel it belongs to", str(streams(c.trace)))


def contexts_are_those_of_the_channel():
    c = Collector("-e", "*", "-c", "procname", "--channel", "low:events=low:*,context=ip,context=ppid",
                  "--channel", "big:events=big:*,context=callstack")
    p = Program()
    p.do("both", 100, 10)
    for size in (10, 900, 1100, 5000):
        p.do("large", size, 3)
    p.do("kinds", N)
    child = int(p.do("fork", 5)[0])
    other = int(p.do("exec", 5)[0])
    p.do("threads", 5)
    p.quit()
    c.end()
    sets = {(e["event"], tuple(sorted(set(e.get("context", ())) - {"procname"}))) for e in c.events}
    is_({names for event, names in sets if event == "low:step"}, {("ip", "ppid")}, "of one channel")
    is_({names for event, names in sets if event == "big:text"}, {("callstack_user",)}, "of another")
    is_({names for event, names in sets if event.startswith(("high", "kinds"))}, {()}, "of all others")
    is_([len(e["fields"]["body"]) for e in c.events if e["event"] == "big:text"], [10] * 3 + [900] * 3 + [1100] * 3 +
        [5000] * 3, "large events carry them, too")
    is_(kinds(c), want(lambda i: True, *EVENTS), "nothing else changes")
    by = {pid: [e for e in c.events if e["event"] == "low:step" and e["pid"] == pid] for pid in (p.pid, child, other)}
    is_([(len(by[x]), {e["context"]["ppid"] for e in by[x]}) for x in (child, other)], [(5, {p.pid})] * 2,
        "a child's are its own, a new program's as well")
    worker = [e for e in by[p.pid] if e["tid"] != p.pid]
    is_((len(worker), {e["proc"] for e in worker}), (5, {"worker"}), "a thread's are its own")
    is_(c.lost, 0, "none is lost")


def functions_of(path):
    """[(address, name)], by nm"""
    out = subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True).stdout
    return sorted((int(w[0], 16), w[2]) for w in map(str.split, out.splitlines()) if len(w) == 3 and w[1] in "tT")


def call_stacks_lead_through_the_right_functions():
    for more in ((), ("-f", "id < 1000"), ("-f", "id + 1 < 1000")):  # none, comparisons, one that is interpreted
        call_stacks_with(*more)


def call_stacks_with(*more):
    c = Collector("-e", "stack:*", *more, "-c", "callstack,ip")
    p = Program()
    base = int(p.do("stack", 20)[0])
    p.quit()
    c.end()
    functions = functions_of(program)
    addresses = [a for a, _ in functions]
    is_(c.count["stack:here"], 20, "all are there")
    for e in c.events:
        stack = e["context"]["callstack_user"]
        names = [functions[bisect.bisect(addresses, a - base - 1) - 1][1] for a in stack[:3]]
        is_(names, ["stack_inner", "stack_middle", "stack_outer"], "the callers" + "".join(more))
        is_(e["context"]["ip"], stack[0], "it begins at ip")


def a_running_session_takes_filters():
    c = Collector()
    p = Program()
    code, out, err = cmd("enable", "-f", "id >= 50", "kinds:all", "kinds:marked")
    is_((code, err), (0, ""), "enable -f")
    q = Program()
    for x in (p, q):
        x.do("kinds", N)
    is_(cmd("enable", "-f", "id < 2", "kinds:all")[0], 0, "another one instead")
    r = Program()
    for x in (p, r):
        x.do("kinds", N)
    is_(cmd("enable", "kinds:all")[0], 0, "none any more")
    p.do("kinds", N)
    is_(cmd("disable", "kinds:*")[0], 0, "disable")
    p.do("kinds", N)
    s = Program()
    s.do("kinds", N)
    for x in (p, q, r, s):
        x.quit()
    c.end()
    late, all_ = list(range(50, N)), list(range(N))
    is_([kinds(c, x.pid)["kinds:all"] for x in (p, q, r, s)], [late + [0, 1] + all_, late, [0, 1], []], "as it was said")
    is_([kinds(c, x.pid)["kinds:marked"] for x in (p, q, r, s)], [3 * late, late, late, []], "of each pattern")


def impossible_enables_are_reported():
    c = Collector("--channel", "rare:events=low:*")
    p = Program()
    code, _, err = cmd("enable", "-f", "body ~ \"x*\"", "kinds:*")
    is_((code, err.count("lets no "), err.count("\n")), (1, 1, 1), "a filter that does not fit is refused: " + err)
    code, _, err = cmd("enable", "-f", "id <", "kinds:*")
    is_((code, err.count("\n")), (2, 1), "a filter that is none")
    ok("column 5" in err, "and where it is wrong", err)
    code, _, err = cmd("enable", "--channel", "none", "kinds:*")
    is_((code, err), (2, 'duet enable: session default: the session has no channel "none"\n'), "no such channel")
    for k in range(300):
        code, _, err = cmd("enable", "-f", "id == %d" % k, "kinds:all")
        if code:
            break
    ok(200 < k <= 254 and "no room for more filters" in err, "filters end in a line", "%d %s" % (k, err))
    is_(cmd("enable", "-f", "id == 5", "kinds:all")[0], 0, "those that are there can be had again")
    p.do("kinds", N)
    p.quit()
    c.end()
    is_(kinds(c)["kinds:all"], [5], "and count")


def events_change_their_channel():
    c = Collector("-e", "low:*", "-e", "kinds:*", "--channel", "rare:events=none:*,context=ppid")
    p = Program()
    p.do("fork", 5)
    is_(cmd("enable", "--channel", "rare", "low:step")[0], 0, "enable --channel")
    p.do("fork", 7)
    Program().do("fork", 9)
    is_(cmd("enable", "-p", p.pid, "--channel", "rare", "kinds:marked")[0], 0, "in one process")
    q = Program()
    p.do("kinds", 3)
    q.do("kinds", 3)
    p.quit()
    c.end()
    with_ppid = [("ppid" in e.get("context", {}), e["event"]) for e in c.events]
    is_((with_ppid.count((False, "low:step")), with_ppid.count((True, "low:step"))), (5, 16), "from then on")
    is_([("ppid" in e.get("context", {}), e["pid"]) for e in c.events if e["event"] == "kinds:marked"],
        [(True, p.pid)] * 3 + [(False, q.pid)] * 3, "no other")


def commands_at_the_same_time_all_count():
    c = Collector()
    p = Program()
    names = ["kinds:all", "kinds:long_text", "kinds:marked", "low:step", "high:flood", "slow:step", "big:text", "hand:tick"]
    for _ in range(10):
        crowd = [start(duet, verb, n) for verb, n in zip(itertools.cycle(["enable", "disable"]), names)]
        is_({x.wait() for x in crowd}, {0}, "each is done")
    q = Program()
    for x in (p, q):
        listed = cmd("list", "-p", x.pid)[1]
        for n, on in zip(names, itertools.cycle([True, False])):
            is_(listed.count("[%s] %s " % ("x" if on else " ", n)), 1, n)
    for _ in range(400):
        is_(ask_rules(c), True, "rules said again do not pile up")
    p.quit()
    q.quit()
    c.end()


def ask_rules(c):
    """Whether one more rule, of a long pattern, finds room."""
    import json
    import socket
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(runtime + "/sock-default")
    s.send(json.dumps({"verb": "enable", "pattern": "x" * 500}).encode())
    answer = json.loads(s.recv(8192))
    s.close()
    return answer["ok"]


run_all(filters_choose_in_a_launched_program, filters_choose_in_programs_that_run_and_that_start,
        one_process_has_a_filter, several_patterns_each_with_its_filter, the_environment_and_channels_agree,
        contexts_are_those_of_the_channel, call_stacks_lead_through_the_right_functions,
        a_running_session_takes_filters, impossible_enables_are_reported, events_change_their_channel,
        commands_at_the_same_time_all_count)
