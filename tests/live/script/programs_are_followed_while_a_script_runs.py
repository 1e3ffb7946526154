#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet script` with probes in running programs: a recorder in a child process, followed; nothing lost, nothing left.

arguments: DUET PROGRAM LIBDUET
"""
import glob
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402
from trial import cmd, duet, go_on, is_, ok, paths, run_cases, runtime, start, until, work  # noqa: E402

program, library = paths(2)
os.environ["TMPDIR"] = work
COUNT = """global n, expected, gaps
probe begin { println("begun") }
probe app.counting.number {
	if ($n != expected[$thread])
		gaps++
	expected[$thread] = $n + 1
	n[$thread]++
}
probe end {
	foreach (t+ in n)
		println(t, " ", n[t])
	println("gaps ", gaps)
}
"""


def recordings():
    return glob.glob(work + "/duet-script-*")


def script(*options):
    """A running script, once programs can join its session."""
    before = set(glob.glob(runtime + "/session-script-*"))
    p = start(duet, "script", *options)
    until(lambda: set(glob.glob(runtime + "/session-script-*")) - before or p.poll() is not None, "its session begins")
    return p


def counting(first=0):
    p = start(program, first)
    is_(p.stdout.readline(), "ready\n", "it counts")
    return p


def a_program_that_runs_is_needed_for_the_types():
    status, out, err = cmd("script", "-e", 'probe app.counting.number { println($n) }')
    is_(out, "", "nothing ran")
    ok(status and "counting:number" in err and "-c or -x" in err, "the message says which", err)
    status, out, err = cmd("script", "-p", "2", "-c", program, "-e", "probe app.counting.number { println($n, text) }")
    is_(status, 0, "the file of -c is enough: " + err)
    status, out, err = cmd("script", "-c", program, "-e", "probe app.counting.number { println($threat) }")
    ok(status and "did you mean `thread`" in err, "a field is known before it runs", err)


def each_event_comes_once_and_in_order():
    first = counting()
    s = script("-e", COUNT)
    until(lambda: "begun\n" in s.stdout.so_far(), "it has begun: events of before are not the script's")
    second = counting(first=3)
    go_on(first, second)
    counts = [int(line) for line in second.end(signal.SIGTERM)[1].split()]
    go_on(first)
    status, out, err = s.end(signal.SIGINT)
    first.end(signal.SIGTERM)
    is_(status, 0, "it ends as exit() does: " + err)
    lines = dict(line.split(" ") for line in out.splitlines()[1:])
    is_([int(lines[str(3 + i)]) for i in range(3)], counts, "all events of the program that began and ended meanwhile")
    ok(all(int(lines[str(i)]) for i in range(3)), "and of the one that ran before", out)
    # The threads of the first program began before: one gap each.
    is_(lines["gaps"], "3", "none is missing between")
    is_(recordings(), [], "nothing is left")


def a_killed_script_leaves_nothing():
    p = counting()
    s = script("-e", COUNT)
    recorder = until(lambda: proc.children(s.pid), "it has a recorder")
    ok(recordings(), "it records")
    go_on(p)
    s.end(signal.SIGKILL)
    until(lambda: not recordings(), "the recording is removed")
    until(lambda: all(proc.is_dead(r) for r in recorder), "the recorder has ended")
    until(lambda: not glob.glob(runtime + "/session-script-*"), "so has its session")
    go_on(p)
    is_(p.end(signal.SIGTERM)[0], 0, "the program goes on")


def a_kept_recording_prints_the_same():
    p = counting()
    text = 'probe app.counting.number { printf("%d %d %d %s %s\\n", gettimeofday_ns(), $thread, n, execname(), text) }'
    s = script("--save", work + "/kept", "-e", text)
    until(lambda: s.stdout.so_far().count("\n") > 1000, "it prints")
    status, live, err = s.end(signal.SIGINT)
    p.end(signal.SIGTERM)
    is_(status, 0, "it ends: " + err)
    status, again, err = cmd("script", "-e", text, "-r", work + "/kept")
    ok(again == live, "the same bytes", "%d and %d bytes; %s" % (len(live), len(again), err))


def conditions_are_evaluated_in_the_program():
    p = counting()
    text = "global n, others\nprobe app.counting.number { if ($thread == 1) n++; else others++ }"
    few = "global n\nprobe app.counting.number { if ($thread != 1) next\n if (!n++) println(\"counts\") }"
    s = script("--save", work + "/few", "-e", few + "\nprobe end { println(n > 0) }")
    is_(s.stdout.readline(), "counts\n", "it counts")
    go_on(p)
    is_(s.end(signal.SIGINT)[1], "1\n", "it counted")
    p.end(signal.SIGTERM)
    out = cmd("script", "-e", text + "\nprobe end { println(n > 0, others) }", "-r", work + "/few")[1]
    is_(out, "10\n", "only what the handler wants was recorded")


run_cases(a_program_that_runs_is_needed_for_the_types, each_event_comes_once_and_in_order, a_killed_script_leaves_nothing,
          a_kept_recording_prints_the_same, conditions_are_evaluated_in_the_program)
