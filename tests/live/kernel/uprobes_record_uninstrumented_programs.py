#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes in programs without libduet: functions, their returns and markers of sys/sdt.h, each call once and
with its arguments; only in recorded processes; probes are removed from the kernel, by the next recorder if
need be; a function that a program has patched itself gets none.

arguments: DUET PROGRAM PROGRAM_CC LIBDUET
"""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from tracefs import TRACEFS, mount_tracefs  # noqa: E402

mount_tracefs()
from proc import descendants, kill_all  # noqa: E402
from recorder import view  # noqa: E402
from trial import begins, cmd, duet, is_, ok, paths, run, run_cases, skip, start, until, work  # noqa: E402

# Copies: all kernel events with these paths are this test's.
program, program_cc = [shutil.copy(p, work) for p in paths(3)[:2]]
EVENTS = TRACEFS + "/uprobe_events"
has_markers = "shop:order" in cmd("list", "--usdt", program)[1]


def ours():
    """The probes in the kernel that are of this test."""
    with open(EVENTS) as f:
        return [line for line in f if work in line]


class Waiting:
    """The program, as `record`'s command or alone: it does n rounds on request."""

    def __init__(self, *before):
        self.p = start(*before, program, "wait", stdin=subprocess.PIPE)
        ok(self.p.stdout.readline() == "ready\n", "it waits")

    def go(self, n):
        """-> its pid, the sum of what a function returned, how often a marker was enabled"""
        self.p.stdin.write("%d\n" % n)
        self.p.stdin.flush()
        return [int(word) for word in self.p.stdout.readline().split()]


def fields(recording, event, *names):
    return [tuple(e["fields"][n] for n in names) for e in view(recording, "-e", event)]


def made(i):
    return i * -3 + 200 + i + 5


def functions_and_returns_have_their_arguments():
    other = Waiting()
    p = Waiting(duet, "record", "-o", work + "/functions", "-u", program + ":tea_make cups=arg1:s32 kind=arg2:str sugar=arg3:u8",
                "-u", program + ":tea_make%return sum=retval:s64", "-u", program + ":tea_d*", "--")
    other.go(5)
    pid, total, wanted = p.go(40)
    other.go(5)
    is_(total, sum(made(i) for i in range(40)), "the program works as without probes")
    status, out, err = p.p.end()
    ok(status == 0, "it is recorded", err)
    is_(fields(work + "/functions", "uprobe_tea_make", "cups", "kind", "sugar"),
        [(i, "green" if i % 2 else "black", 200 + i) for i in range(40)], "each call, with its arguments")
    is_(fields(work + "/functions", "uretprobe_tea_make", "sum"), [(made(i),) for i in range(40)], "each return, with its value")
    is_(len(view(work + "/functions", "-e", "uprobe_tea_drink")), 40, "a glob finds a function")
    is_({e["tid"] for e in view(work + "/functions", "-e", "u*probe_*")}, {pid}, "of recorded processes alone")
    is_(ours(), [], "nothing is left in the kernel")
    if shutil.which("babeltrace2"):
        status, out, err = run("babeltrace2", work + "/functions")
        is_((status, err, out.count(" uprobe_tea_make:")), (0, "", 40), "Babeltrace reads it without a warning")
    other.p.end()


def markers_have_their_arguments_and_are_wanted_while_they_are_recorded():
    if not has_markers:
        print("left out: the program was built without sys/sdt.h (systemtap-sdt-dev)")
        return
    other = Waiting()
    p = Waiting(duet, "record", "-o", work + "/markers", "-q", "--usdt-by", "kernel", "--usdt", program + ":shop:order id,item:str", "--usdt",
                program + ":shop:paid id const", "--usdt", program + ":*:none", "--")
    is_(p.go(40)[2], 40, "recorded markers are enabled")
    ok(p.p.end()[0] == 0, "it is recorded")
    is_(other.go(3)[2], 0, "markers no longer recorded are no longer enabled")
    is_(fields(work + "/markers", "usdt_shop_order", "id", "item", "arg3"), [(i, "item %d" % i, -i) for i in range(40)],
        "a marker with numbers and a text")
    is_(fields(work + "/markers", "usdt_shop_paid", "id", "const"), [(i, 77) for i in range(40)], "a byte and a constant")
    is_(len(view(work + "/markers", "-e", "usdt_shop_none")), 40, "and one without arguments")
    is_(ours(), [], "nothing is left in the kernel")
    other.p.end()


def the_kernel_applies_filters_and_triggers_wait_for_probes():
    c = begins(start(duet, "collect", "-q", "-s", "all", "-o", work + "/all", "-u", program + ":tea_make cups=arg1:s32", "-f",
                     "cups > 6", "--trigger", "event kernel:uprobe_tea_make if cups == 8 -> end"), "all")
    other = Waiting()
    other.go(10)
    is_(c.wait(), 0, "a trigger ends it")
    got = [cups for cups, in fields(work + "/all", "uprobe_tea_make", "cups")]
    ok(got in ([7, 8], [7, 8, 9]), "of all programs, those that pass, until then", got)
    other.p.end()


def cxx_names_are_known_as_linked_and_as_written():
    linked = "_ZNK4shop5Order5placeEi"
    for name, n in ((linked, 6), ("shop::Order::place(int) const", 6), ("shop::Order::place", 12), ("shop::*", 12)):
        if name != linked and "shop::Order::place(int) const" not in cmd("list", "-u", program_cc)[1]:
            print("left out: no libstdc++ to say how they are written")
            return
        out = "%s/cxx-%d" % (work, len(os.listdir(work)))
        status, _, err = cmd("record", "-q", "-o", out, "-u", program_cc + ":" + name, "--", program_cc, "6")
        ok(status == 0, name, err)
        names = {e["event"] for e in view(out, "-e", "uprobe_*")}
        is_(len(view(out, "-e", "uprobe_*")), n, "calls of " + name)
        ok(names and all(event.startswith("uprobe_shop_Order_place") for event in names), "are called so", names)


def the_next_recorder_removes_the_probes_of_a_killed_one():
    c = begins(start(duet, "collect", "-q", "-s", "dies", "-o", work + "/dies", "-u", program + ":tea_drink"), "dies")
    ok(len(ours()) == 1, "there is a probe", ours())
    killed = kill_all([c.pid] + descendants(c.pid))
    c.wait()
    until(lambda: all(n.is_dead() for n in killed), "all are dead, and have closed their files")

    # A process that reads the dead one's instance at this moment keeps it: also another recorder of this machine.
    def next_one():
        out = "%s/next-%d" % (work, len(os.listdir(work)))
        status, _, err = cmd("record", "-q", "-o", out, "-u", program_cc + ":main", "--", program_cc, "1")
        ok(status == 0, "another recorder", err)
        return not ours()
    until(next_one, lambda: "the next recorders take it back: %s" % ours())


def a_function_that_is_patched_gets_no_breakpoint():
    """The kernel would execute its first instruction from the file, and then the rest of the jump that lies there."""
    p = Waiting(duet, "record", "-q", "--no-kernel", "-o", work + "/graph", "--graph", os.path.basename(program) + ":tea_make", "--")
    pid, want, _ = p.go(5)
    for command in (["record", "-q", "-o", work + "/refused", "-u", program + ":tea_make", "--", program_cc, "1"],
                    ["record", "-q", "-o", work + "/refused", "-u", program + ":tea_m*%return", "--", program_cc, "1"],
                    ["script", "-e", 'probe process("%s").function("tea_make") { exit() }' % program]):
        status, out, err = cmd(*command)
        ok(status == 2 and "process %d (" % pid in err and "would not survive" in err, "refused: %r" % command, err)
    is_(ours(), [], "nothing is left in the kernel")
    out = work + "/spared"
    c = begins(start(duet, "collect", "-q", "-s", "spared", "-o", out, "-u", program + ":tea_drink"), "spared")
    is_(p.go(5)[:2], [pid, want], "the program goes on, with a breakpoint in another function")
    c.end(signal.SIGINT)
    ok(len(view(out, "-e", "uprobe_tea_drink")) >= 5, "that one is recorded")
    is_(p.p.end()[0], 0, "and it ends well")


def malformed_probes_are_refused_in_a_line():
    for bad in ("-u", "nothing"), ("-u", ":f"), ("-u", program + ":"), ("-u", "/nonexistent:f"), ("-u", program + ":no_such"), \
            ("-u", program + ":tea_make cups"), ("-u", program + ":tea_make cups=%nix"), ("-u", program + ":tea_make 1=arg1"), \
            ("-u", program + ":tea_make a=arg1:nix"), ("-u", "/etc/passwd:f"), ("--usdt", program + ":shop"), \
            ("--usdt", program + ":shop:nix"), ("--usdt", "/etc/passwd:a:b"), ("-u", program + ":tea_make a=%di\np:x/y /bin/sh:0"):
        status, out, err = cmd("record", "-q", "-o", work + "/bad", *bad, "--", program, "1")
        ok(status == 2 and err.startswith("duet record: ") and err.count("\n") <= 2, "refused: %r" % (bad,), err)
        if os.path.exists(work + "/bad"):
            shutil.rmtree(work + "/bad")
    is_(ours(), [], "and nothing is left in the kernel")


if os.geteuid():
    skip("needs root: probes are set")
if not os.path.exists(EVENTS):
    skip("this kernel has no uprobes (CONFIG_UPROBE_EVENTS), or tracefs cannot be mounted")
run_cases(functions_and_returns_have_their_arguments, markers_have_their_arguments_and_are_wanted_while_they_are_recorded,
          the_kernel_applies_filters_and_triggers_wait_for_probes, cxx_names_are_known_as_linked_and_as_written,
          the_next_recorder_removes_the_probes_of_a_killed_one, a_function_that_is_patched_gets_no_breakpoint, malformed_probes_are_refused_in_a_line)
