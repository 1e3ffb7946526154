#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""functions_are_planned_and_what_programs_keep_is_copied.py DUET PLANNED LIBDUET

From --graph to plans, and from calls files to the recording.  The test plays the programs: it asks for plans as
libduet does, and makes calls files, sound and hostile.  PLANNED is an ordinary program with some functions.
"""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import calls  # noqa: E402
import proc  # noqa: E402
from relaying import KEY, Relay, make_key  # noqa: E402
from trial import cmd, is_, ok, paths, run_cases, runtime, until, work  # noqa: E402

planned, library = paths(2)
FILE = os.path.basename(planned)
ID = calls.build_id(planned)
PLANS = runtime + "/calls-default/"


def start(*options, path=None):
    """-> the directory of a session in the background"""
    trace = path or "%s/trace-%d" % (work, len(os.listdir(work)))
    status, _, err = cmd("start", "-q", "-o", trace, *options)
    is_(status, 0, "duet start: " + err)
    return trace


def stop():
    status, _, err = cmd("stop")
    is_(status, 0, "duet stop: " + err)
    return err


def supervisor():
    """-> the process of the session that a command names"""
    return json.loads(cmd("status", "--json")[1])["sessions"][0]["pid"]


def child(name):
    """-> the planner (duet-plan), or the collector (duet), of the session"""
    return until(lambda: [p for p in proc.children(supervisor()) if proc.read(p, "comm").strip() == name],
                 "the session has a child " + name)[0]


def copies(trace, kind="calls"):
    path = "%s/.duet/%s" % (trace, kind)
    return sorted(os.listdir(path)) if os.path.isdir(path) else []


def a_pattern_that_cannot_match_is_refused_before_the_command_runs():
    mark = work + "/ran"
    for pattern, message in [(FILE + ":plan_twise", "plan_twice"), (FILE + ":@nothing.c", "no such function"),
                             ("libc.so.6:getenw", "getenv")]:
        status, _, err = cmd("record", "-o", work + "/refused", "--graph", pattern, "--", planned, mark)
        is_(status, 2, pattern + " is refused")
        ok(pattern in err and message in err, "the message names what is near", err)
        is_(err.count("\n"), 1, "one line: " + err)
    is_(os.path.exists(mark), False, "the program did not run")
    is_(os.path.exists(work + "/refused"), False, "nothing is left of the recording")
    is_([n for n in os.listdir(runtime) if "record" in n], [], "nor in the runtime directory")


def a_command_and_its_libraries_are_planned_before_it_runs():
    trace = work + "/command"
    status, out, err = cmd("record", "-o", trace, "--graph", FILE + ":plan_*,!" + FILE + ":plan_twice,libc.so.6:getenv",
                           "--graph-mode", "exact", "--graph-depth", "7", "--", planned)
    is_(status, 0, err)
    libc = calls.build_id("/lib/x86_64-linux-gnu/libc.so.6")
    ok("kernel" not in err, "no half of the kernel", err)
    is_(copies(trace, "plans"), sorted([ID, libc]), "the plans of the program and of libc")
    plan = calls.Plan("%s/.duet/plans/%s" % (trace, ID))
    is_((plan.n_sites >= 2, plan.mode, plan.depth, plan.generation), (True, 1, 7, 1), "as the options say")
    is_([n for n in os.listdir(runtime) if "record" in n], [], "the directory of plans is removed")


def programs_get_the_plans_they_ask_for():
    start("--graph", FILE + ":plan_*")
    is_(calls.has_calls(runtime), 1, "the session file says that calls are recorded")
    is_(os.stat(PLANS).st_mode & 0o777, 0o700, "others see no plans")
    is_(calls.ask_plan(runtime, "default", planned, ID), 0, "it is planned")
    n = calls.Plan(PLANS + ID).n_sites
    ok(n >= 3, "with its functions", n)
    other = calls.build_id(library)
    is_(calls.ask_plan(runtime, "default", library, other), 0, "a file that no pattern names")
    is_(calls.Plan(PLANS + other).n_sites, 0, "has a plan without sites")


def hostile_requests_are_refused():
    fifo, large, text = work + "/" + "fifo", work + "/large", work + "/" + FILE
    os.mkfifo(fifo)
    with open(large, "wb") as f:
        f.truncate(2 << 30)
    with open(text, "w") as f:
        f.write("no program")
    zero = "00" * 20
    for path, identity in [("/nowhere", zero), ("relative", zero), (fifo, zero), (large, zero), (planned, "")]:
        answer = calls.ask_plan(runtime, "default", path, identity)
        ok(answer < 0 and not os.path.exists(PLANS + zero), "%s is not planned" % path, answer)
    for path in text, "/lib/x86_64-linux-gnu/libm.so.6":
        ok(calls.ask_plan(runtime, "default", path, "11" * 20) < 0, "%s has not that build ID" % path)
    is_(os.path.exists(PLANS + "11" * 20), False, "nothing hides the file that has it")
    copy = "%s/other/%s" % (work, FILE)
    os.mkdir(work + "/other")
    shutil.copy(planned, copy)
    ok(calls.ask_plan(runtime, "default", copy, "22" * 20) < 0, "a file with another build ID is refused")
    is_(calls.ask_plan(runtime, "default", planned, ID, size=100), None, "half a request has no answer")
    is_(os.path.exists(PLANS + ID), True, "the plan of before is still there")


def a_killed_planner_is_replaced():
    first = child("duet-plan")
    os.kill(first, signal.SIGKILL)
    until(lambda: proc.is_dead(first), "the planner is dead")
    other = "/lib/x86_64-linux-gnu/libm.so.6"
    until(lambda: calls.ask_plan(runtime, "default", other, calls.build_id(other)) == 0, "another one answers")
    is_(calls.Plan(PLANS + calls.build_id(other)).n_sites, 0, "with the same patterns")


def functions_change_while_programs_run():
    player = calls.CallsFile(runtime, "default")
    before = calls.Plan(PLANS + ID).n_sites
    status, out, err = cmd("disable", "--graph", FILE + ":plan_twice")
    is_(status, 0, err)
    is_(calls.generation(runtime), 2, "a second generation")
    is_(calls.Plan(PLANS + ID).n_sites, before - 1, "one function less")
    is_((player.wanted(), player.limit()), (2, 0), "programs are asked to look")
    status, out, err = cmd("enable", "--graph", "libm.so.6:ldexp", "--graph-mode", "exact", "--graph-depth", "3")
    is_(status, 0, err)
    m = calls.Plan(PLANS + calls.build_id("/lib/x86_64-linux-gnu/libm.so.6"))
    is_((m.mode, m.depth, m.generation, m.n_sites > 0), (1, 3, 3, True), "a file that was not wanted before")
    status, out, err = cmd("enable", "--graph", FILE + ":plan_thrice")
    is_(status, 2, "a function that does not exist")
    ok("plan_thrice: no such function" in err, "is named", err)
    for text in ("x", "!", "!x", "mod:xfs"):
        is_(cmd("enable", "--graph", text)[0], 2, "%r is refused" % text)
    is_(calls.generation(runtime), 4, "refused requests change nothing")
    status, out, err = cmd("status")
    ok("GRAPH OF" in out and "waits for a call to apply a change" in out, "status shows the program", out)
    shown = json.loads(cmd("status", "--json")[1])["sessions"][0]["graph"]
    is_([(p["pid"], p["waits"]) for p in shown], [(os.getpid(), True)], "also for programs")
    player.die()


def one_session_at_a_time_has_the_calls():
    status, _, err = cmd("start", "second", "-o", work + "/second", "--graph", "*:*")
    is_(status, 2, "a second session is refused")
    ok("default" in err and "one session at a time" in err, "and told why", err)
    stop()
    is_(os.path.exists(PLANS), False, "the plans end with the session")


def calls_files_are_copied_when_a_program_ends_and_at_stop():
    trace = start("--graph", FILE + ":plan_*")
    calls.ask_plan(runtime, "default", planned, ID)
    ended, lives = calls.CallsFile(runtime, "default", 901, threads=3), calls.CallsFile(runtime, "default", 902)
    earlier = calls.CallsFile(runtime, "default", 902, registered=7, suffix=".7")
    ended.die()
    earlier.die()
    until(lambda: len(copies(trace)) == 2, "the files of ended programs are copied")
    is_(copies(trace), sorted([ended.name[6:], earlier.name[6:]]), "under their numbers")
    is_(os.path.getsize("%s/.duet/calls/%s" % (trace, ended.name[6:])), calls.THREADS_AT + 3 * calls.AREA,
        "with the areas of its threads")
    ok(os.stat("%s/.duet/calls/%s" % (trace, ended.name[6:])).st_blocks * 512 < 200000, "holes stay holes")
    again = calls.CallsFile(runtime, "default", 901, registered=9)  # the pid is used again
    again.die()
    until(lambda: ended.name[6:] + ".9" in copies(trace), "a later program of the same pid is kept too")
    stop()
    ok(lives.name[6:] in copies(trace), "a living program's file is copied at stop")
    is_((lives.limit(), lives.collect()), (0, 1), "and it is asked to stop")
    is_(sorted(n for n in os.listdir(runtime) if n.startswith("calls-")), [lives.name], "only its own file is left")
    is_(copies(trace, "plans"), [ID], "the plans with sites are copied")
    lives.die()
    os.unlink(lives.path)


def a_large_calls_file_is_copied_in_parts():
    """Each pass copies 16 MiB, so the collector answers in between.  A pass follows after a second, in which a busy machine
    may not let us look: then there is another file."""
    part, parts = 16 << 20, 2
    trace = start("--graph", FILE + ":plan_*")
    content = os.urandom(1 << 20) * (parts * 16 + 1)

    def is_seen_in_parts(pid):
        large, small = calls.CallsFile(runtime, "default", pid), calls.CallsFile(runtime, "default", pid + 1)
        os.pwrite(large.fd, content, calls.THREADS_AT)
        large.die()
        small.die()
        name = large.name[6:]
        sizes = until(lambda: (name in copies(trace) and [0]) or seen_at("%s/.duet/calls/.%s" % (trace, name), part), "a part")
        is_(cmd("status")[0], 0, "status is answered")
        until(lambda: {name, small.name[6:]} <= set(copies(trace)), "the rest follows, and the other file")
        with open("%s/.duet/calls/%s" % (trace, name), "rb") as f:
            f.seek(calls.THREADS_AT)
            ok(f.read(len(content)) == content, "the copy is whole")
        return sizes != [0]
    ok(any(is_seen_in_parts(pid) for pid in range(903, 943, 2)), "a pass copies one part")
    is_([n for n in os.listdir(runtime) if n.startswith("calls-9")], [], "the files are removed")
    stop()


def seen_at(path, size):
    """Whether it has about so many bytes."""
    n = os.stat(path).st_blocks * 512
    return abs(n - size) < size // 16 and [n]


def hostile_calls_files_do_no_harm():
    trace = start("--graph", FILE + ":plan_*")
    number = os.stat("/proc/self").st_dev & 0x7fffffff
    os.symlink("/etc/passwd", "%s/calls-11-%d" % (runtime, number))
    os.mkfifo("%s/calls-12-%d" % (runtime, number))
    os.mkdir("%s/calls-13-%d" % (runtime, number))
    with open("%s/calls-14-%d" % (runtime, number), "wb") as f:
        f.write(os.urandom(100))
    giant, short, wild = (calls.CallsFile(runtime, "default", pid) for pid in (15, 16, 17))
    os.ftruncate(giant.fd, 1 << 42)
    os.pwrite(giant.fd, b"x", (1 << 42) - 1)
    os.ftruncate(short.fd, 300)
    os.pwrite(wild.fd, b"\xff" * 16, 80)  # n_objects .. n_threads
    for p in (giant, short, wild):
        p.die()
    until(lambda: len(copies(trace)) >= 3, "what can be copied is copied")
    ok(os.path.getsize("%s/.duet/calls/%s" % (trace, giant.name[6:])) <= calls.THREADS_AT + 4096 * calls.AREA,
       "at most as much as a calls file has")
    cmd("status")
    stop()
    for n in os.listdir(runtime):
        if n.startswith("calls-1"):
            path = runtime + "/" + n
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def trace_chunks_and_snapshots_have_them_too():
    trace = start("--graph", FILE + ":plan_*", "--rotate", "1h")
    calls.ask_plan(runtime, "default", planned, ID)
    player = calls.CallsFile(runtime, "default")
    is_(cmd("rotate")[0], 0, "it rotates")
    player.die()
    stop()
    for piece in ("piece-000001", "piece-000002"):
        is_((copies(trace + "/" + piece), copies(trace + "/" + piece, "plans")), ([player.name[6:]], [ID]), piece)
    start("--graph", FILE + ":plan_*", "--overwrite")
    calls.ask_plan(runtime, "default", planned, ID)
    player = calls.CallsFile(runtime, "default")
    snapshot = work + "/snapshot"
    status, _, err = cmd("snapshot", "-o", snapshot)
    is_(status, 0, err)
    is_((copies(snapshot), copies(snapshot, "plans")), ([player.name[6:]], [ID]), "the snapshot")
    player.die()
    stop()


def the_successor_of_a_killed_collector_goes_on():
    trace = start("--graph", FILE + ":plan_*", "--rotate", "1h")
    calls.ask_plan(runtime, "default", planned, ID)
    player = calls.CallsFile(runtime, "default")
    keeper, first = supervisor(), child("duet")
    os.kill(first, signal.SIGKILL)
    until(lambda: first not in proc.children(keeper) and len(proc.children(keeper)) == 2, "another collector")
    other = calls.build_id("/bin/true")
    is_(calls.ask_plan(runtime, "default", "/bin/true", other), 0, "it answers programs")
    status, _, err = cmd("disable", "--graph", FILE + ":plan_twice")
    is_((status, player.wanted()), (0, 2), "and requests: " + err)
    player.die()
    stop()
    last = sorted(n for n in os.listdir(trace) if n.startswith("piece-"))[-1]
    is_(copies(trace + "/" + last), [player.name[6:]], "the calls file is kept")


def what_a_killed_session_left_is_removed():
    start("--graph", FILE + ":plan_*")
    ended, lives = calls.CallsFile(runtime, "default", 901), calls.CallsFile(runtime, "default", 902)
    pids = [supervisor()] + proc.children(supervisor())
    proc.kill_all(pids)
    until(lambda: all(proc.is_dead(p) for p in pids), "the session is dead")
    ended.die()
    start("--graph", FILE + ":plan_*")
    is_([n for n in os.listdir(runtime) if n.startswith("calls-9")], [lives.name], "the ended program's file is gone")
    is_(lives.collect(), 1, "the living one stops")
    stop()
    lives.die()
    os.unlink(lives.path)


def a_relay_has_the_same_files():
    os.chdir(work)
    make_key("key")
    for options in [], ["--compress", "zstd"]:
        relay = Relay("%s/relay-%d" % (work, len(options)))
        trace = start("--graph", FILE + ":plan_*", "--to", "127.0.0.1:%d" % relay.port, *KEY, "--keep", *options)
        calls.ask_plan(runtime, "default", planned, ID)
        ended, lives = calls.CallsFile(runtime, "default", 901), calls.CallsFile(runtime, "default", 902)
        ended.die()
        until(lambda: copies(trace), "the file of an ended program is copied")
        stop()
        arrived = until(lambda: relay.recordings(), "a recording at the relay")[0]
        until(lambda: copies(arrived) == copies(trace) and len(copies(arrived)) == 2, "both calls files arrive")
        for name in copies(trace):
            path = "/.duet/calls/" + name
            until(lambda: open(arrived + path, "rb").read() == open(trace + path, "rb").read(), name + " is the same")
        is_(copies(arrived, "plans"), [ID], "so does the plan")
        is_(calls.Plan("%s/.duet/plans/%s" % (arrived, ID)).n_sites > 2, True, "which can be read")
        relay.stop()
        lives.die()
        os.unlink(lives.path)


def a_session_without_functions_can_record_some_later():
    trace = start("-e", "nothing:*")
    is_(calls.has_calls(runtime), 0, "no calls at first")
    is_(cmd("disable", "--graph", "a:b")[0], 2, "there is nothing to disable")
    status, _, err = cmd("enable", "--graph", FILE + ":plan_*")
    is_(status, 2, "no running program matches: " + err)
    is_(calls.has_calls(runtime), 1, "but programs that start later are asked")
    is_(calls.ask_plan(runtime, "default", planned, ID), 0, "and planned")
    ok(calls.Plan(PLANS + ID).n_sites > 2, "with sites")
    stop()
    is_(copies(trace, "plans"), [ID], "the plan is kept")


run_cases(a_pattern_that_cannot_match_is_refused_before_the_command_runs,
          a_command_and_its_libraries_are_planned_before_it_runs, programs_get_the_plans_they_ask_for,
          hostile_requests_are_refused, a_killed_planner_is_replaced, functions_change_while_programs_run,
          one_session_at_a_time_has_the_calls, calls_files_are_copied_when_a_program_ends_and_at_stop,
          a_large_calls_file_is_copied_in_parts, hostile_calls_files_do_no_harm, trace_chunks_and_snapshots_have_them_too,
          the_successor_of_a_killed_collector_goes_on, what_a_killed_session_left_is_removed, a_relay_has_the_same_files, a_session_without_functions_can_record_some_later)
