#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs steer recordings by duet/control.h: their own and others', also from signal handlers, and never
wait longer than their limit, with any peer at the other end.

arguments: DUET PROGRAM LIBDUET
"""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from recorder import collect_session, stop  # noqa: E402
from trial import cmd, duet, ok, paths, run, run_cases, runtime, start, until, work, worker_of  # noqa: E402

program, library = paths(2)
os.environ["PATH"] = os.path.dirname(duet) + ":" + os.environ["PATH"]


def steer(*args, prefix=()):
    return [line.split(None, 2) for line in run(*prefix, program, *args)[1].splitlines()]


def numbers(recording):
    out = cmd("view", "-e", "steer", recording)[1]
    return [int(line.split("number = ")[1].split()[0]) for line in out.splitlines()]


def start_program(*args):
    return start(program, *args, stdin=subprocess.PIPE)


def answers(session):
    return steer("-s", session, "status")[0][1] == "0"


def collect_and_answer(name, *args):
    p = collect_session(name, *args)
    until(lambda: answers(name), "duet collect answers")
    return p


def a_missing_session_is_reported():
    for verb in "flush", "snapshot", "status", "stop", "enable=x":
        ok(steer(verb)[0][1] == "ENOENT", "%s: nothing records" % verb)
    ok(steer("sessions") == [["sessions", "0"]], "there are no sessions")
    for name in "a/b", "x" * 64:
        ok(steer("-s", name, "flush")[0][1] == "EINVAL", "%.8s is no session's name" % name)


def others_are_steered():
    c = collect_and_answer("web", "-e", "none:*")
    ok(steer("sessions")[0][2].strip() == "web,", "sessions are listed")
    said = steer("-s", "web", "status")[0]
    ok(said[1] == "0" and said[2].startswith("web %s/web programs=0" % work), "status", said)
    ok(steer("-s", "web", "snapshot")[0][1] == "EREMOTEIO", "no flight recorder: refused")
    ok(steer("-s", "web", "rotate")[0][1] == "EREMOTEIO", "not in pieces: refused")
    said = steer("-s", "web", "enable=steer")[0]
    ok(said[1] == "0", "events are enabled", said)
    ok(steer("-s", "web", "enable=!x")[0][1] == "EREMOTEIO", "no pattern: refused")
    ok(steer("-s", "web", "enable=" + "x" * 600)[0][1] == "EREMOTEIO", "a long pattern: refused")
    ok(steer("-s", "web", "enable=" + "x" * 7000)[0][1] == "EINVAL", "a very long one does not go out")
    ok(steer("-s", "web", "enable=a\x01")[0][1] == "EINVAL", "nor one with control characters")
    said = steer("-s", "web", 'request={"verb":"frob"}')[0]
    ok(said[1] == "0" and said[2].startswith('{"ok":false,"error":"no such verb"'), "any request", said)
    stop(c)


def events_are_in_the_files_after_a_flush():
    os.environ["DUET_SESSION"] = "flush"
    c = collect_and_answer("flush", "-e", "steer:*")
    # The program is still there with its open chunk; its committed events are on disk all the same.
    p = start_program("events", "1000", "flush", "wait")
    ok(p.stdout.readline().split()[:2] == ["flush", "0"], "flush")
    ok(numbers(work + "/flush") == list(range(1000)), "all of it can be read", numbers(work + "/flush")[-3:])
    p.communicate("\n")
    ok(steer("handler", "flush")[0][1] == "0", "flush in a signal handler")
    stop(c)
    del os.environ["DUET_SESSION"]


def a_program_keeps_the_events_before_a_problem():
    said = steer("events", "10", "snapshot", "events", "5", "handler", "snapshot",
                 prefix=[duet, "record", "-q", "--no-kernel", "--overwrite", "-o", work + "/own", "--"])
    ok([s[:2] for s in said] == [["snapshot", "0"]] * 2, "two snapshots", said)
    ok([numbers(s[2].strip()) for s in said] == [list(range(10)), list(range(15))], "the events before each are there")


def one_that_records_a_running_program_is_found():
    p = start_program("wait", "events", "3", "flush")
    r = start(duet, "record", "-q", "--no-kernel", "-p", p.pid, "-o", work + "/attached")
    until(lambda: answers("record-%d" % r.pid), "it records")
    # The session can be asked as soon as programs are switched on.
    said = p.communicate("\n")[0].split()
    ok(said[:2] == ["flush", "0"], "the session that records it is found without its name", said)
    stop(r)
    ok(numbers(work + "/attached") == [0, 1, 2], "it was recorded")


def a_program_starts_and_stops_a_session():
    said = steer("-s", "mine", "start=" + work + "/mine", "events", "4", "start=" + work + "/again", "stop")
    ok([s[:2] for s in said] == [["start=" + work + "/mine", "0"], ["start=" + work + "/again", "EEXIST"],
                                 ["stop", "0"]], "start, start again, stop; and no SIGCHLD", said)
    ok(numbers(work + "/mine") == [0, 1, 2, 3], "it was recorded, and the recording is whole")
    ok(not os.path.exists(work + "/again"), "a failed start left nothing")
    p = start_program("start-alone=" + work + "/alone", "events", "2", "wait", "stop")
    ok(p.stdout.readline().split()[1:2] == ["0"], "a session for this process alone")
    steer("events", "3")
    ok(p.communicate("\n")[0].split()[:2] == ["stop", "0"], "and its end")
    ok(numbers(work + "/alone") == [0, 1], "no other program is in it")
    path = os.environ["PATH"]
    os.environ["PATH"] = work
    ok(steer("start=" + work + "/none")[0][1] == "ENOENT", "where duet is not installed it says so")
    os.environ["PATH"] = path


def no_call_waits_beyond_the_limit():
    c = collect_and_answer("still", "-e", "none:*")
    family = [c.pid, worker_of(c)]
    for pid in family:
        kill(pid, signal.SIGSTOP)
    begin = time.monotonic()
    ok(steer("-s", "still", "-l", "200", "flush")[0][1] == "ETIMEDOUT", "a stopped collector is not waited for")
    ok(time.monotonic() - begin >= 0.2, "but as long as was said")
    for pid in family:
        kill(pid, signal.SIGCONT)
    stop(c)


def hostile_collectors_do_no_harm():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(runtime + "/sock-evil")
    s.listen(8)
    answers = [b"", b"{", b'{"ok":true', b"\0" * 100, b'{"ok":true,"path":7}\n', b'{"ok":true' + b" " * 9000,
               b'{"ok":false,"error":"' + b"x" * 8000 + b'"}', b'{"ok":false}', b'{"ok":true,"path":"\\ud800"}']
    wanted = ["EPIPE", "EPROTO", "EPROTO", "EPROTO", "EPROTO", "EPROTO", "EREMOTEIO", "EREMOTEIO", "EPROTO"]

    def serve():
        for a in answers:
            c = s.accept()[0]
            c.recv(8192)
            if a:
                c.send(a)
            c.close()

    t = threading.Thread(target=serve, daemon=True)
    t.start()
    got = [steer("-s", "evil", "snapshot")[0][1] for _ in answers]
    ok(got == wanted, "answers that are none", got)
    s.close()
    os.unlink(runtime + "/sock-evil")


run_cases(a_missing_session_is_reported, others_are_steered, events_are_in_the_files_after_a_flush,
          a_program_keeps_the_events_before_a_problem, one_that_records_a_running_program_is_found,
          a_program_starts_and_stops_a_session, no_call_waits_beyond_the_limit,
          hostile_collectors_do_no_harm)
