#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each script of examples/scripts answers its question about one workload: on a recording of it, and live.

arguments: DUET PROGRAM LIBDUET EXAMPLES

A live run that keeps its recording (--save) must print the same bytes as the script then prints on that recording.
Without a recording the probes are BPF programs, and the answer is the same kind.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, skip, work  # noqa: E402

program, library = paths(2)
examples = os.path.abspath(sys.argv[4])
KERNEL = "syscalls,sched,irq,signal,timer,exceptions:*,sock:*,tcp:*"
ORDERS = 40
MORE = 25  # times as many, where other programs of the machine leave no room in a table

# Of each script: its arguments, and what its output must have.
ANSWERS = {
    "syscalls/by-process": ([], r"^ *\d+ questions$"),
    "syscalls/by-call": ([], r"^openat +\d+ +\d+"),
    "syscalls/errors": ([], r"^ +\d+  questions +openat +ENOENT"),
    "syscalls/slowest": ([], r"^ +\d+ us  .+ \w+\("),
    "syscalls/latency": (["pread64"], r"^pread64: \d+ calls, mean \d+ ns"),
    "syscalls/trace": ([], r'^questions\[\d+\] openat\(AT_FDCWD, "no-such-file", O_RDONLY\) = -1 ENOENT'),
    "syscalls/rate": ([], r"^ +1 s +\d+ calls$"),
    "syscalls/waits": ([], r"^questions +(clock_)?nanosleep +\d+"),
    "files/opens": ([], r"^questions +\d+ +-2 no-such-file$"),
    "files/missing": ([], r"^ +ORDERS  questions +no-such-file$"),
    "files/slow": ([], r"^questions +\d+ +\d+ +\d+  stock$"),
    "files/bytes": ([], r"^questions +\d+ +4\d\d\d +\d+$"),
    "files/sizes": ([], r"^\w+: \d+ reads of \d+ bytes on average$"),
    "files/removed": ([], r'^questions\[\d+\] unlink(at)?\(.*"sold"'),
    "files/sync": ([], r"^questions +fsync +TENTH calls"),
    "files/leaks": ([], r"^$|exits with \d+ open"),
    "processes/execs": ([], r"^ *\d+ true +/(usr/)?bin/true$"),
    "processes/tree": ([], r"questions\[\d+\] forks \d+$"),
    "processes/lifetimes": ([], r"^true +1 +\d+ +\d+$"),
    "processes/signals": ([], r"^questions\[\d+\] -> questions\[\d+\] SIGTERM$"),
    "processes/deaths": ([], r"^questions\[\d+\] exits with 3$"),
    "scheduling/run-queue": ([], r"^\d+ waits for a CPU, median \d+ ns"),
    "scheduling/run-queue-by-program": ([], r"^questions +\d+ +\d+ +\d+$"),
    "scheduling/wakers": ([], r"^ +\d+  questions +wakes questions$"),
    "scheduling/cpu-time": ([], r"^ +\d+ us +\d+ %  questions$"),
    "scheduling/switches": ([], r"^questions +\d+ +\d+ +\d+$"),
    "scheduling/preempted-by": ([], r"^$|preempted by"),
    "scheduling/off-cpu": ([], r"^questions +\d+ +\d+ +\d+ +\d+$"),
    "scheduling/migrations": ([], r"^$|CPU \d to CPU \d$"),
    "scheduling/idle": ([], r"^CPU \d+: (\d\d?|100) % idle of \d+ ms$"),
    "scheduling/long-runs": ([], r"^questions +\d+ +\d+ +\d+$"),
    "memory/faults": ([], r"^ +\d+ faults, +\d+ in the kernel  questions$"),
    "memory/growth": ([], r"^questions +\d+ +\d+ +\d+ +\d+$"),
    "memory/large-maps": (["4"], r"^questions\[\d+\] maps .*: mmap\(NULL, 4194304"),
    "network/connects": ([], r"^questions\[\d+\] connect\(.*AF_INET.*127\.0\.0\.1.*\) = 0$"),
    "network/states": ([], r"port +\d+ to +\d+: state \d+ to \d+$"),
    "network/retransmits": ([], r"^ +TIMES +FROM +TO$"),
    "network/traffic": ([], r"^questions +received +\d+ times, +\d+ bytes$"),
    "interrupts/softirq-time": ([], r"^SOFTIRQ +TIMES"),
    "interrupts/irq-time": ([], r"^$|handlers|times"),
    "interrupts/timers": ([], r"^ +\d+  questions$"),
    "programs/locks": ([], r"^questions +\d+ +[0-9a-f]+ +\d+"),
    "programs/lock-holders": ([], r"^questions\[\d+\] held [0-9a-f]+ while others waited"),
    "programs/events": ([], r"^ +ORDERS  (shop:)?order$"),
    "programs/between": ([], r"^ORDERS orders: median \d+ ns"),
    "programs/by-item": ([], r"tea +HALF"),
    "programs/with-kernel": ([], r"^ +ORDERS  pread64$"),
}
# Their events may not occur here: then duet warns of what is never used.
RARE = {"network/retransmits", "interrupts/irq-time"}
# They need other recordings: a sampled one, one with the calls of functions.
OTHERS = {
    "scheduling/samples": (["-k", "profile:999", "--all-kernel"], [], r"^ +\d+  questions$"),
    "programs/functions": (["--no-kernel", "--graph", "questions:ring_up", "--graph-mode", "exact"], [program],
                           r"us +ORDERS calls  ring_up$"),
    "programs/call-tree": (["--no-kernel", "--graph", "questions:ring_up", "--graph-mode", "exact"], [program],
                           r"questions\(\d+\): *-> ring_up$"),
}


def record(path, *options, orders=ORDERS):
    os.mkdir(path + ".files")
    status, _, err = cmd("record", "-q", "-o", path, *options, "--", program, path + ".files", orders)
    is_(status, 0, "it is recorded: " + err)


def script(name, *args):
    return cmd("script", "%s/%s.stp" % (examples, name), *args)


def answers(pattern, out, orders=ORDERS):
    for word, n in ("ORDERS", orders), ("HALF", orders // 2), ("TENTH", orders // 10):
        pattern = pattern.replace(word, str(n))
    return re.search(pattern, out, re.M)


def check(name, out, err, status, pattern, orders=ORDERS):
    ok(status == 0 and (not err or name in RARE), "%s runs without a word" % name, "%s %s" % (status, err))
    ok(answers(pattern, out, orders), "%s answers" % name, out[-2000:])


def live(name, path, args, pattern, *options):
    """The script while the program runs.  -> its output, and its recording if @options are to save one"""
    for orders in ORDERS, MORE * ORDERS:
        at = "%s-%d" % (path, orders)
        os.mkdir(at + ".files")
        status, out, err = script(name, *[at if o == "PATH" else o for o in options], "-c",
                                  "%s %s %d" % (program, at + ".files", orders), "--", *args)
        if status or answers(pattern, out, orders):
            break
    check(name, out, err, status, pattern, orders)
    return out, at


def every_script_has_an_answer_here():
    found = {os.path.relpath(os.path.join(d, f), examples)[:-4] for d, _, fs in os.walk(examples) for f in fs
             if f.endswith(".stp")}
    is_(sorted(found), sorted(set(ANSWERS) | set(OTHERS)), "no script is left out")


def they_answer_on_a_recording():
    record("all", "-e", "shop:*", "-k", KERNEL)
    for name, (args, pattern) in ANSWERS.items():
        status, out, err = script(name, "-r", "all", "--", *args)
        check(name, out, err, status, pattern)
    for i, (name, (options, args, pattern)) in enumerate(OTHERS.items()):
        # A sample each millisecond of a CPU: there must be many.
        record("other%d" % i, *options, orders=1000 if "samples" in name else ORDERS)
        status, out, err = script(name, "-r", "other%d" % i, "--", *args)
        check(name, out, err, status, pattern)


def live_they_print_what_they_print_on_what_they_saw():
    for name, (args, pattern) in ANSWERS.items():
        out, path = live(name, "live-" + name.replace("/", "-"), args, pattern, "--save", "PATH")
        status, again, err = script(name, "-r", path, "--", *args)
        is_(status, 0, "%s runs on what it saw: %s" % (name, err))
        is_(again, out, "%s: the same bytes" % name)


def live_they_answer_from_the_kernel_itself():
    for name, (args, pattern) in ANSWERS.items():
        live(name, "direct-" + name.replace("/", "-"), args, pattern)


if os.geteuid():
    skip("needs root: the kernel is recorded")
os.chdir(work)
run_cases(every_script_has_an_answer_here, they_answer_on_a_recording, live_they_print_what_they_print_on_what_they_saw,
          live_they_answer_from_the_kernel_itself)
