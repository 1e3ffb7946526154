#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""functions_of_programs_are_recorded_whatever_happens.py DUET FUNCTIONS LIBDUET

Calls of functions of ordinary programs, by --graph: from the command line, with -p, in children, changed while they
run; and the program or the collector is killed.  FUNCTIONS says how often it has called work() and leaf().
"""
import collections
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import calls  # noqa: E402
import proc  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run_cases, start, until, work  # noqa: E402

functions, library = paths(2)
FILE = os.path.basename(functions)
PATTERN = "%s:work,%s:leaf" % (FILE, FILE)


def counted(trace, pid=None):
    """-> calls in the recording, by the name of the function, as `duet view` decodes them"""
    status, out, err = cmd("view", "--json", trace)
    is_(status, 0, err)
    found = collections.Counter()
    for line in out.splitlines():
        e = json.loads(line)
        if e.get("event") == "call" and (not pid or e["pid"] == pid):
            found[e["fields"]["function"]] += 1
    return found


def noted(text):
    work_calls, leaf_calls = text.split()[-2:]
    return {"work": int(work_calls), "leaf": int(leaf_calls)}


def kept(trace):
    return [calls.Kept(trace, n) for n in sorted(os.listdir(trace + "/.duet/calls"))]


def begin_waiting(threads=2, **more):
    return start(functions, threads, 0, "wait", stdin=subprocess.PIPE, **more)


def finish(p):
    p.stdin.close()
    p.stdin = None
    return noted(p.communicate()[0])


def signal_thread(pid, tid):
    """Ends pause() in that thread."""
    until(lambda: proc.read(pid, "task/%d/syscall" % tid).startswith("34 "), "the thread is in pause()")
    ctypes.CDLL(None).syscall(234, pid, tid, signal.SIGUSR1)  # tgkill


def go_on_in_threads(p):
    """Each thread but the first, which only waits for the others, has called work() some more times."""
    before = proc.sleeps(p.pid)
    until(lambda: all(proc.sleeps(p.pid).get(t, 0) > n + 50 for t, n in before.items() if t != p.pid), "it goes on")


def state(pid):
    """-> the line of the program in `duet status`"""
    found = [p for s in json.loads(cmd("status", "--json")[1])["sessions"] for p in s["graph"] if p["pid"] == pid]
    return found[0] if found else None


def every_call_of_every_thread_is_recorded():
    trace = work + "/exact"
    status, out, err = cmd("record", "-o", trace, "--graph", PATTERN, "--graph-mode", "exact", "--", functions, 4, 5000)
    is_(status, 0, err)
    is_(noted(out), {"work": 20000, "leaf": 40000}, "the program ran")
    is_(dict(counted(trace)), noted(out), "each call, once")
    ok("none lost" in err, "nothing is lost", err)
    [k] = kept(trace)
    is_(set(k.names.values()) >= {"work", "leaf"}, True, "the plan names them")
    is_(os.path.exists(trace + "/kernel"), False, "the kernel was not recorded")
    is_(cmd("repair", trace, trace + "-sound")[0], 0, "a copy is made")
    is_(dict(counted(trace + "-sound")), noted(out), "it has the calls too")


def children_are_planned_when_they_are_first_seen():
    trace = work + "/children"
    status, out, err = cmd("record", "-o", trace, "--graph", PATTERN, "--graph-mode", "exact", "--", "sh", "-c",
                           "%s 1 10; exec %s 2 10" % (functions, functions))
    is_(status, 0, err)
    is_(dict(counted(trace)), {"work": 30, "leaf": 60}, "both children")
    is_(len([k for k in kept(trace) if k.names]), 2, "each with its calls file, also the one that replaced the shell")


def a_killed_program_leaves_its_open_calls():
    trace = work + "/killed"
    p = start(duet, "record", "-q", "-o", trace, "--graph", PATTERN + "," + FILE + ":deep", "--graph-mode", "exact",
              "--", functions, 3, 100, "stay")
    child = until(lambda: [c for c in proc.children(p.pid) if proc.exe(c) == os.path.realpath(functions)],
                  "the program runs")[0]
    asleep = 4  # main waits for its threads, and these in deep()
    until(lambda: len([t for t in os.listdir("/proc/%d/task" % child)
                       if "pause" in proc.read(child, "task/%s/wchan" % t)
                       or proc.read(child, "task/%s/syscall" % t).startswith(("34 ", "202 "))]) == asleep,
          "its threads wait")
    os.kill(child, signal.SIGKILL)
    p.wait()
    [k] = kept(trace)
    names = [[k.names[f] for f in opened] for _, _, _, opened in k.threads if opened]
    is_(names, [["deep"] * 6] * 3, "six open calls of each thread")
    found = counted(trace)
    is_({f: found[f] for f in ("work", "leaf")}, {"work": 300, "leaf": 600}, "all calls that had returned")


def a_running_process_is_attached_to():
    trace = work + "/attached"
    p = begin_waiting()
    d = start(duet, "record", "-q", "-o", trace, "--graph", PATTERN, "--graph-mode", "exact", "-p", p.pid)
    until(lambda: (state(p.pid) or {}).get("functions") == 2, "its functions are patched")
    go_on_in_threads(p)
    status, _, err = d.end(signal.SIGINT)
    is_(status, 0, err)
    found = counted(trace)
    ok(found["work"] > 0 and found["leaf"] > 0, "calls of the process", found)
    done = finish(p)
    ok(done["work"] >= found["work"], "it went on untouched", done)


def functions_are_switched_in_running_programs():
    trace = work + "/switched"
    is_(cmd("start", "-q", "-o", trace, "--graph", FILE + ":leaf", "--graph-mode", "exact")[0], 0, "a session")
    p = begin_waiting(env=dict(os.environ, LD_PRELOAD=library))
    until(lambda: (state(p.pid) or {}).get("functions"), "it begins")
    status, out, err = cmd("enable", "--graph", FILE + ":work")
    is_(status, 0, out + err)
    until(lambda: state(p.pid)["functions"] >= 2 and not state(p.pid)["waits"], "both are patched")
    status, out, err = cmd("disable", "--graph", FILE + ":leaf")
    is_(status, 0, out + err)
    until(lambda: not state(p.pid)["waits"], "the change is applied")
    go_on_in_threads(p)
    is_(cmd("stop")[0], 0, "it ends")
    found, done = counted(trace), finish(p)
    ok(0 < found["work"] < done["work"] and 0 < found["leaf"] < done["leaf"], "calls of both", (found, done))
    [k] = kept(trace)
    ok(k.generation >= 3, "the third generation was applied", k.generation)


def a_killed_collector_loses_no_call():
    trace = work + "/replaced"
    is_(cmd("start", "-q", "-o", trace, "--graph", PATTERN, "--graph-mode", "exact")[0], 0, "a session")
    p = begin_waiting(env=dict(os.environ, LD_PRELOAD=library))
    until(lambda: (state(p.pid) or {}).get("functions") == 2, "it begins")
    keeper = json.loads(cmd("status", "--json")[1])["sessions"][0]["pid"]
    for _ in range(3):
        first = until(lambda: [c for c in proc.children(keeper) if proc.read(c, "comm").strip() == "duet"],
                      "a collector")[0]
        os.kill(first, signal.SIGKILL)
        until(lambda: first not in proc.children(keeper), "it is gone")
    until(lambda: state(p.pid), "another one answers")
    done = finish(p)
    until(lambda: os.path.isdir(trace + "/.duet/calls"), "the file of the ended program is copied")
    is_(cmd("stop")[0], 0, "it ends")
    is_(dict(counted(trace)), done, "each call, once")


def a_program_waits_for_a_late_collector():
    """As at its first event: a second, or a little more.  An attempt in which the machine itself took so long
    proves nothing."""
    def is_whole(attempt):
        trace = "%s/late-%d" % (work, attempt)
        is_(cmd("start", "-q", "-o", trace, "--graph", PATTERN, "--graph-mode", "exact")[0], 0, "a session")
        keeper = json.loads(cmd("status", "--json")[1])["sessions"][0]["pid"]
        collector = [c for c in proc.children(keeper) if proc.read(c, "comm").strip() == "duet"][0]
        os.kill(collector, signal.SIGSTOP)
        p = begin_waiting(env=dict(os.environ, LD_PRELOAD=library))
        begin = time.monotonic()
        until(lambda: time.monotonic() > begin + 0.5, "the registration of events has given up")
        os.kill(collector, signal.SIGCONT)
        until(lambda: len(proc.threads(p.pid)) == 3, "its threads run")
        go_on_in_threads(p)
        done = finish(p)
        is_(cmd("stop")[0], 0, "it ends")
        return dict(counted(trace)) == done
    ok(any(is_whole(attempt) for attempt in range(10)), "each call, once")


def a_slow_call_fires_a_trigger():
    trace = work + "/slow"
    status, _, err = cmd("start", "-q", "-o", trace, "--overwrite", "-e", "none:*", "--graph", "%s:deep,%s:leaf" % (FILE, FILE),
        "--graph-over", "200ms", "--trigger",
        'event duet_calls:slow if function == "deep" && duration_ns > 250000000 -> snapshot, once')
    is_(status, 0, err)
    p = start(functions, 1, 100, "stay", env=dict(os.environ, LD_PRELOAD=library))
    until(lambda: (state(p.pid) or {}).get("functions") == 2, "it begins")
    waits = [t for t in os.listdir("/proc/%d/task" % p.pid) if int(t) != p.pid]
    begin = time.monotonic()
    until(lambda: time.monotonic() > begin + 0.3, "the call lasts")
    is_(os.path.exists(trace + "/snapshot-1"), False, "no call was slow until now")
    signal_thread(p.pid, int(waits[0]))
    until(lambda: os.path.isdir(trace + "/snapshot-1/.duet/calls"), "the slow call makes a snapshot")
    is_(cmd("stop")[0], 0, "it ends")
    p.wait()


run_cases(every_call_of_every_thread_is_recorded, children_are_planned_when_they_are_first_seen,
          a_killed_program_leaves_its_open_calls, a_running_process_is_attached_to,
          functions_are_switched_in_running_programs, a_program_waits_for_a_late_collector,
          a_slow_call_fires_a_trigger, a_killed_collector_loses_no_call)
