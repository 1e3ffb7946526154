#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/export/cut.py - `duet export ctf --from --to` keeps exactly the events of a time, and Babeltrace 2 reads them.

cut.py DUET LIBDUET: recordings made by hand (browser/made.py), with losses too; one by duet, one in compressed trace
chunks; and random traces (read/random_ctf.py), whose fields are aligned in many ways.  For times that begin and end
inside, at and outside of packets:
  - events of the part are those that `duet view --from --to` shows, and the states before them; of fields aligned to
    more than bytes, some events before the time may stay
  - Babeltrace reads as many, if it reads the recording
  - losses inside of the time are reported, those of packets before are not; nothing is damaged
Exit: 0, 1 failure, 77 no Babeltrace.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../browser", HERE + "/../read"]
import made
import random_ctf
from record_heap import record_heap

duet, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
NEAR_NS = 5000000
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print("FAIL", what)


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def seconds(ns):
    return "%d.%09d" % divmod(ns, 10 ** 9)


def view(path, *options):
    """Events and losses, without fields that earlier events decide: names and processes of threads."""
    r = run(duet, "view", "--json", *options, path)
    check(not r.returncode and "byte" not in r.stderr, "view %s %s: %s" % (path, options, r.stderr[:200]))
    lines = [json.loads(line) for line in r.stdout.splitlines()]
    for e in lines:
        for key in "proc", "pid":
            e.pop(key, None)
    return [e for e in lines if "lost_events" not in e], [e for e in lines if "lost_events" in e]


def is_state(event):
    return event["event"].startswith(("lttng_statedump_", "lttng_ust_statedump:"))


def count_by_babeltrace(path):
    """None: it does not read this, even whole."""
    r = run("babeltrace2", path)
    return None if r.returncode else len(r.stdout.splitlines())


def check_part(recording, to, begin, end, is_exact, is_readable):
    label = "%s from %d to %d" % (os.path.basename(recording), begin, end)
    shutil.rmtree(to, ignore_errors=True)
    r = run(duet, "export", "ctf", "-o", to, "--from", seconds(begin), "--to", seconds(end), recording)
    wanted, lost = view(recording, "--from", seconds(begin), "--to", seconds(end))
    if r.returncode:
        check(not wanted and "nothing was recorded in that time" in r.stderr, "%s: %s" % (label, r.stderr))
        check(not os.path.exists(to), "%s: nothing is left behind" % label)
        return
    got, got_lost = view(to)
    inside = [e for e in got if begin <= e["time"] <= end]
    outside = [e for e in got if not begin <= e["time"] <= end and not is_state(e)]
    check(inside == wanted, "%s: %d events, %d wanted" % (label, len(inside), len(wanted)))
    if is_exact:
        check(not outside, "%s: events outside of the time: %s" % (label, outside[:2]))
    check(all(e["time"] < begin for e in outside), "%s: events after the time: %s" % (label, outside[-2:]))
    n, n_wanted = (sum(e["lost_events"] for e in l) for l in (got_lost, lost))
    is_near = any(begin - NEAR_NS < e["time"] < begin for e in view(recording)[1])  # it may belong to a packet that is cut
    check(n == n_wanted or (is_near and n > n_wanted), "%s: losses %s, wanted %s" % (label, got_lost, lost))
    if is_readable:
        n = count_by_babeltrace(to)
        check(n == len(got), "%s: babeltrace2 reads %s events of %d" % (label, n, len(got)))


def check_recording(recording, work, is_exact=True, is_readable=None):
    events, lost = view(recording)
    if is_readable is None:
        is_readable = count_by_babeltrace(recording) == len(events)
    first, last = events[0]["time"], events[-1]["time"]
    middle = (first + last) // 2
    times = [(first, last), (middle, last), (first, middle), (first + 1, last - 1), (middle + 1, middle + 1),
             (events[len(events) // 3]["time"], events[2 * len(events) // 3]["time"]), (last + 1000, last + 2000)]
    for e in lost:
        times += [(e["time"], last), (first, e["time"]), (e["time"] - 1000, e["time"] + 1000), (e["time"] + 1, last)]
    for begin, end in sorted(times):
        if begin > end:
            continue
        check_part(recording, work + "/part", begin, end, is_exact, is_readable)


def check_states(work):
    """A real recorder puts states into streams of their own; those stay from their begin on."""
    recording = made.web(work + "/states")
    os.rename(recording + "/kernel/cpu_0", recording + "/kernel/statedump-0")
    events, _ = view(recording)
    middle = (events[0]["time"] + events[-1]["time"]) // 2
    run(duet, "export", "ctf", "-o", work + "/of-states", "--from", seconds(middle), recording)
    got, _ = view(work + "/of-states")
    early = [e for e in got if e["time"] < middle]
    check(early and early == [e for e in events if e["time"] < middle and e["domain"] == "kernel" and e["cpu"] in (0, 9)],
          "a stream of states begins as in the recording: %d events before the part" % len(early))


def main():
    if not shutil.which("babeltrace2"):
        print("skipped: no babeltrace2")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        check_recording(made.web(work + "/web"), work)
        check_recording(made.web(work + "/lossy", lossy=True), work)
        for options in (), ("--rotate", "32K", "--compress", "zstd"):
            check_recording(record_heap(duet, library, work, "heap%d" % len(options), *options), work, is_readable=True)
        for seed in range(1, 13):
            os.mkdir(work + "/random-%d" % seed)
            random_ctf.make(work + "/random-%d" % seed, seed)
            check_recording(work + "/random-%d" % seed, work, is_exact=False)
        check_states(work)
        r = run(duet, "export", "ctf", "-o", work + "/x", "--from", "+2s", "--to", "1", work + "/web")
        check(r.returncode == 2 and "later than" in r.stderr, "a time that ends before it begins: %s" % r.stderr)
        check(not os.path.exists(work + "/x"), "nothing is left behind")
    print("FAILED: %d" % failures if failures else "ok")
    sys.exit(failures > 0)


main()
