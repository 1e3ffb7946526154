#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions in the background: started, asked, stopped; their processes killed one by one.

arguments: DUET PROGRAM LIBDUET [KILLS]      long form: 300
"""
import json
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import trial  # noqa: E402
from counting import all_are_there, numbers_of, start_counting, stop_counting  # noqa: E402
from proc import children, is_dead, kill  # noqa: E402
from trial import dice, duet, is_, ok, paths, run_cases, runtime, start, until, work  # noqa: E402

program, library = paths(2)
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 12
rng = dice()
os.chdir(work)


def cmd(*args, status=0):
    """Its output, on both; with a time limit, which finds a process that keeps a pipe of ours open."""
    got, out, err = trial.cmd(*args)
    is_(got, status, "duet %s: %s" % (" ".join(args), err))
    return out, err


def check(trace, counts):
    """All that the threads counted is there, in order, each once."""
    all_are_there(numbers_of(cmd("view", "-e", "counting:number", trace)[0]), counts, trace)


def keeper_of(session):
    return int(re.search(r"process (\d+)", cmd("status", session)[0])[1])


def a_session_records_from_start_to_stop():
    out, err = cmd("start", "-e", "counting:*", "-o", "plain")
    is_((out, err), ("session default records counting:* of all programs (0 of them now) into %s/plain; `duet stop` ends it\n" % work, ""), "start")
    p = start_counting(program)
    time.sleep(0.1)
    counts = stop_counting(p)
    ok("default: " in cmd("status")[0], "status shows it")
    out, err = cmd("stop")
    is_(out, "", "stop")
    ok("none lost" in err and "counting:number %d" % sum(counts) in err,
       "the summary of record", err)
    check("plain", counts)
    is_([n for n in os.listdir(work + "/run") if n != "seats"], [], "nothing is left in the runtime directory")
    is_(open("plain/.duet/log").read(), "", "no command printed anything")
    ok("nothing records" in cmd("stop", status=1)[1], "stop without a session")


def status_shows_sessions_channels_and_programs():
    cmd("start", "-o", "busy", "-e", "counting:*", "--channel", "rare:events=counting:none")
    cmd("start", "flight", "-o", "flight", "--overwrite", "-e", "!*")
    p = start_counting(program)

    def look():
        sessions = json.loads(cmd("status", "--json")[0])["sessions"]
        is_([s["session"] for s in sessions], ["default", "flight"], "both")
        s = sessions[0]
        return s if s["program"] and s["program"][0].get("events_per_s") else None

    busy = until(look, "rates come when a second is in the files")
    is_([q["pid"] for q in busy["program"]], [p.pid], "its program")
    is_(busy["program"][0]["events_per_s"] <= busy["events_per_s"], True, "all events are some program's")
    ok(busy["program"][0]["bytes_per_s"] > 24 * busy["program"][0]["events_per_s"], "bytes", str(busy))
    is_([c["name"] for c in busy["channel"]], ["default", "rare"], "its channels")
    ok(0 < busy["disk_used"] < busy["disk_free"] + busy["disk_used"], "the disk", str(busy))
    is_((busy["lost"], busy["lives"], busy["path"]), (0, 1, work + "/busy"), "and so on")
    until(lambda: re.search(r"^  counting +%d +[1-9]\d* " % p.pid, cmd("status", "default")[0], re.M), "for people")
    ok("events/s" not in cmd("status", "flight")[0], "events in memory alone are not counted")
    w = start(duet, "status", "default", "--json", "-w", "0.1")
    for _ in range(3):
        ok(json.loads(w.stdout.readline())["sessions"][0]["session"] == "default", "watching")
    w.end(signal.SIGKILL)
    stop_counting(p)
    cmd("stop", "--all", "-q")
    is_(cmd("status", "--json", status=1)[0], '{"sessions":[]}\n', "no session")


def a_failed_start_says_why_and_leaves_nothing():
    os.mkdir("full")
    open("full/file", "w").close()
    cmd("start", "taken", "-o", "taken")
    for args, why in (
            (("-o", "full"), "full is not empty"),
            (("taken", "-o", "again"), "session taken is already being recorded"),
            (("a/b",), "a/b: a name of letters"),
            (("x", "y"), "one name for the session"),
            (("-e", "counting:*", "-f", "(", "-o", "filter"), "is missing here"),
            (("-k", "no_such_event", "-o", "kernel"), "no_such_event|kernel events cannot be recorded"),
            (("-p", "1", "-e", "no:no", "-o", "pid"), "process 1 .*(no trace sites|not shown by /proc)"),
            (("-o", "/proc/no/such"), "/proc/no/such")):
        out, err = cmd("start", *args, status=2)
        ok(not out and re.search(why, err) and err.startswith("duet start: "), "start %s" % (args,), err)
    is_([d for d in ("again", "filter", "kernel", "pid") if os.path.exists(d)], [], "no directory is left")
    ok("none lost" in cmd("stop", "taken")[1], "the one that records was not touched")


def sessions_run_side_by_side():
    for name in ("one", "two", "three"):
        cmd("start", name, "-o", name, "-e", "counting:*", *(["--overwrite"] if name == "three" else []))
    out = cmd("status")[0]
    is_(re.findall(r"^(\w+): ", out, re.M), ["one", "three", "two"], "status shows all")
    ok("3 sessions are recording" in cmd("stop", status=2)[1], "stop asks which")
    cmd("stop", "two")
    is_(re.findall(r"^(\w+): ", cmd("status")[0], re.M), ["one", "three"], "one has ended")
    err = cmd("stop", "--all")[1]
    ok("/one: " in err and "/three: " in err, "the others, too", err)
    is_([n for n in os.listdir(work + "/run") if n != "seats"], [], "nothing is left")


def either_process_may_be_killed_again_and_again():
    cmd("start", "-e", "counting:*", "-o", "killed")
    p = start_counting(program)
    done = 0
    while done < kills:
        time.sleep(rng.random() * 0.06)
        keeper = keeper_of("default")
        workers = until(lambda: children(keeper) or is_dead(keeper) and [None], "the keeper has a collector, or is dead")
        if not workers[0]:
            continue  # the keeper was that of before the kill
        victim = rng.choice((keeper, workers[0]))
        kill(victim)
        until(lambda: is_dead(victim), "it dies")
        done += 1
    late = start_counting(program, 3)
    time.sleep(0.1)
    counts = stop_counting(p) + stop_counting(late)
    err = cmd("stop")[1]
    ok("none lost" in err and "killed %d times" % kills in err, "nothing is lost, the kills are reported", err)
    check("killed", counts)


def a_session_that_cannot_be_found_ends():
    """Both its processes hold on to each other: without this, they would for ever."""
    cmd("start", "-e", "!*", "-o", "lost")
    keeper = keeper_of("default")
    until(lambda: shutil.rmtree(runtime, ignore_errors=True) or not os.path.exists(runtime), "its directory is gone")
    until(lambda: is_dead(keeper), "it ends by itself")
    cmd("view", "lost")


def programs_are_in_all_sessions_that_want_them():
    cmd("start", "all", "-o", "all", "-e", "counting:*")
    cmd("start", "none", "-o", "none", "-e", "!*")
    p = start_counting(program)
    cmd("start", "late", "-o", "late", "-e", "counting:*")
    until(lambda: trial.cmd("view", "late")[1].count("counting:number"), "it records")
    counts = stop_counting(p)
    cmd("stop", "--all", "-q")
    check("all", counts)
    late = cmd("view", "late")[0].count("counting:number")
    ok(0 < late <= sum(counts), "from when it began", "%d of %d" % (late, sum(counts)))
    is_(cmd("view", "none")[0].count("counting:number"), 0, "nothing that was not asked for")


def stop_outlives_the_worker_it_asked():
    """It is killed with the question in its hand; the next one is asked again."""
    cmd("start", "-e", "counting:*", "-o", "stopped")
    p = start_counting(program)
    time.sleep(0.1)
    counts = stop_counting(p)
    worker = trial.worker_of(keeper_of("default"))
    kill(worker, signal.SIGSTOP)
    stop = start(duet, "stop")
    time.sleep(0.2)
    kill(worker)
    status, _, err = stop.end()
    is_(status, 0, "stop: " + err)
    check("stopped", counts)


run_cases(a_session_records_from_start_to_stop, status_shows_sessions_channels_and_programs,
          a_failed_start_says_why_and_leaves_nothing, sessions_run_side_by_side,
          either_process_may_be_killed_again_and_again, stop_outlives_the_worker_it_asked,
          programs_are_in_all_sessions_that_want_them, a_session_that_cannot_be_found_ends)
