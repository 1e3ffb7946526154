#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet report QUESTION -- COMMAND`, and graph, stats and export so: the answer about the command, whatever it does,
and afterwards nothing is left.

arguments: DUET PROGRAM LIBDUET
"""
import concurrent.futures
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run_cases, until, work  # noqa: E402

program, library = paths(2)
temporary = work + "/tmp"
os.mkdir(temporary)
os.environ["TMPDIR"] = temporary
os.chdir(work)  # for its log
ANSWERS = {
    ("report", "syscalls"): r"^ +fsync +\d+",
    ("report", "sched"): r"waits",
    ("report", "cpu"): r"recipes_web",
    ("report", "functions"): r"write_log",
    ("report", "heap"): r"live at the end",
    ("report", "why"): r"^By thread",
    ("report", "io"): r"web\.log",
    ("report", "irq"): r".",
    ("report", "locks"): r"waits for futexes",
    ("report", "latency", "web:request_begin", "web:request_end"): r"p50",
    ("report", "why", "--between", "web:request_begin", "web:request_end"): r"times from web:request_begin",
    ("graph", "--tree"): r"write_log",
    ("stats",): r"web:request_begin",
    ("export", "chrome"): r"recipes_web",
    ("export", "folded"): r"recipes_web;",
    ("export", "folded", "--weight", "off-cpu"): r"recipes_web;.*schedule",
}


# Of how many seconds of the program, and of more if these had no answer: a failure is one at once.  It mostly waits: a second has some
# 15 ms of work in each thread, and samples come each 10 ms of it.
SECONDS = {("export", "folded"): (10, 60)}


def left():
    return os.listdir(temporary)


def answer(question):
    for seconds in SECONDS.get(question, (1, 10)):
        status, out, err = cmd(*question, "--", program, seconds)
        if status or re.search(ANSWERS[question], out, re.M):
            break
    return status, out, err


def each_question_is_answered():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they wait most of the time
        answers = list(pool.map(answer, ANSWERS))
    for (question, shows), (status, out, err) in zip(ANSWERS.items(), answers):
        is_(status, 0, "%s: %s" % (" ".join(question), err))
        ok(re.search(shows, out, re.M), "%s shows %r" % (" ".join(question), shows), out[:2000] + err)
    is_(left(), [], "nothing is left")


def a_command_that_fails_is_answered_and_named():
    status, out, err = cmd("report", "syscalls", "--", "sh", "-c", "exit 3")
    is_((status, "exit status 3" in err), (0, True), err)
    ok("exit_group" in out, "its calls", out)


def other_questions_are_refused():
    for args, why in ((["report", "--", "true"], "stands before"), (["report", "scripts", "--", "true"], "stands before"),
                      (["report", "why", "--", "no-such-command"], "no such command"),
                      (["export", "nothing", "--", "true"], "stands before")):
        status, _, err = cmd(*args)
        is_((status, why in err), (2, True), "%s: %s" % (args, err))
        is_(left(), [], "nothing is left")


def a_recording_may_stand_behind_the_dashes():
    is_(cmd("record", "-q", "-o", work + "/kept", "--", "true")[0], 0, "a recording")
    status, out, err = cmd("stats", "--", work + "/kept")
    is_(status, 0, "duet stats -- DIRECTORY: " + err)
    ok("syscall_" in out, "its events", out)


def ctrl_c_ends_the_command_and_not_the_answer():
    os.unlink(work + "/web.log")
    p = subprocess.Popen([duet, "report", "syscalls", "--", program, "100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, start_new_session=True)
    until(lambda: left() and os.path.exists(work + "/web.log") and os.path.getsize(work + "/web.log") > 100, "it runs")
    os.killpg(p.pid, signal.SIGINT)
    out, err = p.communicate(timeout=100)
    is_(p.returncode, 0, "duet report: " + err)
    ok("clock_nanosleep" in out, "the calls until then", out + err)
    is_(left(), [], "nothing is left")


run_cases(each_question_is_answered, a_command_that_fails_is_answered_and_named, other_questions_are_refused,
          a_recording_may_stand_behind_the_dashes, ctrl_c_ends_the_command_and_not_the_answer)
