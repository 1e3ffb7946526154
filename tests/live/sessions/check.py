#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions in the background: started, asked, stopped; their processes killed one by one.

usage: check.py DUET PROGRAM LIBDUET [KILLS]      long form: 300
"""
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

duet, program, library = map(os.path.abspath, sys.argv[1:4])
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 12
work = tempfile.mkdtemp(prefix="duet-sessions-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
os.chdir(work)
seed = random.randrange(1 << 30)
rng = random.Random(seed)
failures = 0
started = []


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("not ok (seed %d): %s: got %r, wanted %r" % (seed, what, got, want))


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok (seed %d): %s %s" % (seed, what, more))


def wait_for(what, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        value = what()
        if value:
            return value
        time.sleep(0.002)
    return None


def cmd(*args, status=0):
    """What it says, on both; with a time limit: who keeps a pipe of ours open is found out."""
    p = subprocess.run([duet] + list(args), capture_output=True, text=True, timeout=60)
    is_(p.returncode, status, "duet %s: %s" % (" ".join(args), p.stderr))
    return p.stdout, p.stderr


def start_program(first=0):
    p = subprocess.Popen([program, str(first)], stdout=subprocess.PIPE, text=True)
    started.append(p)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    return p


def stop_program(p):
    p.send_signal(signal.SIGTERM)
    counts = [int(n) for n in p.communicate()[0].split()]
    is_(p.returncode, 0, "the program ends as ever")
    return counts


def check(trace, counts):
    """All that the threads counted is there, in order, each once."""
    found = collections.defaultdict(list)
    if not sum(counts):
        return  # too busy a machine
    for line in cmd("view", "-e", "keeper:number", trace)[0].splitlines():
        m = re.search(r"thread = (\d+), n = (\d+)", line)
        if m:
            found[int(m[1])].append(int(m[2]))
    for thread, n in enumerate(counts):
        ok(found[thread] == list(range(n)), "thread %d: %d events of %d, in order, each once" %
           (thread, len(found[thread]), n))


def keeper_of(session):
    return int(re.search(r"process (\d+)", cmd("status", session)[0])[1])


def child_of(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            children = f.read().split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(children[0]) if children else None


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def a_session_records_from_start_to_stop():
    out, err = cmd("start", "-e", "keeper:*", "-o", "plain")
    is_((out, err), ("session default records into %s/plain\n" % work, ""), "start")
    p = start_program()
    time.sleep(0.1)
    counts = stop_program(p)
    ok("default: " in cmd("status")[0], "status shows it")
    out, err = cmd("stop")
    is_(out, "", "stop")
    ok("none lost" in err and "keeper:number %d" % sum(counts) in err,
       "the summary of record", err)
    check("plain", counts)
    is_([n for n in os.listdir(work + "/run") if n != "seats"], [], "nothing is left in the runtime directory")
    is_(open("plain/.duet/log").read(), "", "nobody had anything to say")
    ok("nothing records" in cmd("stop", status=1)[1], "stop without a session")


def status_tells_sessions_channels_and_programs():
    cmd("start", "-o", "busy", "-e", "keeper:*", "--channel", "rare:events=keeper:none")
    cmd("start", "flight", "-o", "flight", "--overwrite", "-e", "!*")
    p = start_program()

    def look():
        sessions = json.loads(cmd("status", "--json")[0])["sessions"]
        is_([s["session"] for s in sessions], ["default", "flight"], "both")
        s = sessions[0]
        return s if s["program"] and s["program"][0].get("events_per_s") else None

    busy = wait_for(look)
    ok(busy, "rates come when a second is in the files")
    if busy:
        is_([q["pid"] for q in busy["program"]], [p.pid], "its program")
        is_(busy["program"][0]["events_per_s"] <= busy["events_per_s"], True, "all events are some program's")
        ok(busy["program"][0]["bytes_per_s"] > 24 * busy["program"][0]["events_per_s"], "bytes", str(busy))
        is_([c["name"] for c in busy["channel"]], ["default", "rare"], "its channels")
        ok(0 < busy["disk_used"] < busy["disk_free"] + busy["disk_used"], "the disk", str(busy))
        is_((busy["lost"], busy["lives"], busy["path"]), (0, 1, work + "/busy"), "and so on")
    out = cmd("status", "default")[0]
    ok(re.search(r"^  sessions +%d +[1-9]\d* " % p.pid, out, re.M), "for people", out)
    ok("events/s" not in cmd("status", "flight")[0], "what is in memory alone is not counted")
    w = subprocess.Popen([duet, "status", "default", "--json", "-w", "0.1"], stdout=subprocess.PIPE, text=True)
    started.append(w)
    for _ in range(3):
        ok(json.loads(w.stdout.readline())["sessions"][0]["session"] == "default", "watching")
    w.kill()
    w.wait()
    w.stdout.close()
    stop_program(p)
    cmd("stop", "--all", "-q")
    is_(cmd("status", "--json", status=1)[0], '{"sessions":[]}\n', "no session")


def what_does_not_start_says_why_and_leaves_nothing():
    os.mkdir("full")
    open("full/file", "w").close()
    cmd("start", "taken", "-o", "taken")
    for args, why in (
            (("-o", "full"), "full is not empty"),
            (("taken", "-o", "again"), "session taken is already being recorded"),
            (("a/b",), "a/b: a name of letters"),
            (("x", "y"), "one name for the session"),
            (("-e", "keeper:*", "-f", "(", "-o", "filter"), "is missing here"),
            (("-k", "no_such_event", "-o", "kernel"), "no_such_event|kernel events cannot be recorded"),
            (("-p", "1", "-e", "no:no", "-o", "pid"), "no such event"),
            (("-o", "/proc/no/such"), "/proc/no/such")):
        out, err = cmd("start", *args, status=2)
        ok(not out and re.search(why, err) and err.startswith("duet start: "), "start %s" % (args,), err)
    is_([d for d in ("again", "filter", "kernel", "pid") if os.path.exists(d)], [], "no directory is left")
    ok("none lost" in cmd("stop", "taken")[1], "the one that records was not touched")


def sessions_run_side_by_side():
    for name in ("one", "two", "three"):
        cmd("start", name, "-o", name, "-e", "keeper:*", *(["--overwrite"] if name == "three" else []))
    out = cmd("status")[0]
    is_(re.findall(r"^(\w+): ", out, re.M), ["one", "three", "two"], "status shows all")
    ok("3 sessions are recording" in cmd("stop", status=2)[1], "stop asks which")
    cmd("stop", "two")
    is_(re.findall(r"^(\w+): ", cmd("status")[0], re.M), ["one", "three"], "one has ended")
    err = cmd("stop", "--all")[1]
    ok("/one: " in err and "/three: " in err, "the others, too", err)
    is_([n for n in os.listdir(work + "/run") if n != "seats"], [], "nothing is left")


def either_process_may_be_killed_again_and_again():
    cmd("start", "-e", "keeper:*", "-o", "killed")
    p = start_program()
    done = 0
    while done < kills:
        time.sleep(rng.random() * 0.06)
        keeper = wait_for(lambda: keeper_of("default"))
        worker = wait_for(lambda: child_of(keeper), 5)
        if not worker:
            continue  # the keeper was that of before the kill
        victim = rng.choice((keeper, worker))
        os.kill(victim, signal.SIGKILL)
        ok(wait_for(lambda: not is_alive(victim)), "it dies")
        done += 1
    late = start_program(3)
    time.sleep(0.1)
    counts = stop_program(p) + stop_program(late)
    err = cmd("stop")[1]
    ok("none lost" in err and "killed %d times" % kills in err, "nothing is lost, the kills are told", err)
    check("killed", counts)


def a_session_that_nobody_can_find_ends():
    """Both its processes hold on to each other: without this, they would for ever."""
    cmd("start", "-e", "!*", "-o", "lost")
    keeper = keeper_of("default")
    shutil.rmtree(work + "/run")
    ok(wait_for(lambda: not is_alive(keeper)), "it ends by itself")
    cmd("view", "lost")


def programs_are_in_all_sessions_that_want_them():
    cmd("start", "all", "-o", "all", "-e", "keeper:*")
    cmd("start", "none", "-o", "none", "-e", "!*")
    p = start_program()
    cmd("start", "late", "-o", "late", "-e", "keeper:*")
    time.sleep(0.1)
    counts = stop_program(p)
    cmd("stop", "--all", "-q")
    check("all", counts)
    late = cmd("view", "late")[0].count("keeper:number")
    ok(0 < late <= sum(counts), "from when it began", "%d of %d" % (late, sum(counts)))
    is_(cmd("view", "none")[0].count("keeper:number"), 0, "nothing that was not asked for")


def stop_outlives_the_worker_it_asked():
    """It is killed with the question in its hand; the next one is asked again."""
    cmd("start", "-e", "keeper:*", "-o", "stopped")
    p = start_program()
    time.sleep(0.1)
    counts = stop_program(p)
    worker = child_of(keeper_of("default"))
    os.kill(worker, signal.SIGSTOP)
    stop = subprocess.Popen([duet, "stop"], stderr=subprocess.PIPE, text=True)
    started.append(stop)
    time.sleep(0.2)
    os.kill(worker, signal.SIGKILL)
    err = stop.communicate(timeout=60)[1]
    is_(stop.returncode, 0, "stop: " + err)
    check("stopped", counts)


try:
    a_session_records_from_start_to_stop()
    status_tells_sessions_channels_and_programs()
    what_does_not_start_says_why_and_leaves_nothing()
    sessions_run_side_by_side()
    either_process_may_be_killed_again_and_again()
    stop_outlives_the_worker_it_asked()
    programs_are_in_all_sessions_that_want_them()
    a_session_that_nobody_can_find_ends()
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    subprocess.run([duet, "stop", "--all", "-q"], stderr=subprocess.DEVNULL)
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
