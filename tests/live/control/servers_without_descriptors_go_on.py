#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector, a relay and an lttng-live server that have few descriptors, and an attacker who takes them all by silent connections: honest
clients are served, the servers sleep when there is nothing to do, and afterwards all is as before.

arguments: DUET PROGRAM LIBDUET
"""
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from counting import record_counting  # noqa: E402
from trial import (begins, cmd, duet, go_on, is_, ok, paths, run, run_cases, runtime, start, until, work,  # noqa: E402
                   worker_of)
import proc  # noqa: E402

program, library = paths(2)
CROWD = 200

# Holds @argv[1] connections to a socket, and makes those anew that are closed, unless @argv[4] is "once".
ATTACKER = """
import select, socket, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) if kind == "unix" else socket.socket()
    s.setblocking(False)
    try:
        s.connect(place if kind == "unix" else ("127.0.0.1", int(place)))
    except BlockingIOError:
        pass
    except OSError:
        s.close()
        return None
    return s
n, kind, place, is_once = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:] == ["once"]
held = []
first = True
while True:
    held = [s for s in held if s and s not in select.select(held, [], [], 0)[0]] if held else []
    while len(held) < n and (first or not is_once):
        s = connect()
        if not s:
            break
        held.append(s)
    if first:
        print("holds", flush=True)
    first = False
    time.sleep(0.05)
"""


def limited(files, *argv, **more):
    return start("prlimit", "--nofile=%d:%d" % (files, files), *argv, **more)


def attack(kind, place, *how):
    a = start(sys.executable, "-c", ATTACKER, CROWD, kind, place, *how)
    is_(a.stdout.readline(), "holds\n", "the attacker has its connections")
    return a


def clear(attacker):
    attacker.send_signal(signal.SIGKILL)
    attacker.wait()


def a_collector_serves_honest_clients():
    trace = work + "/collected"
    c = begins(limited(64, duet, "collect", "-o", trace, "--no-kernel"))
    is_(cmd("status", "default")[0], 0, "it has begun, and answers")
    before = len(proc.fds(worker_of(c)))
    attacker = attack("unix", runtime + "/sock-default")
    go_on(worker_of(c), times=3)
    for _ in range(3):
        status, out, err = cmd("status", "default")
        is_(status, 0, "status is answered: " + err)
    status, _, err = cmd("enable", "nothing:*")
    ok("no running program has such an event" in err, "enable is answered", err)
    clear(attacker)
    until(lambda: len(proc.fds(worker_of(c))) <= before, "its descriptors are those of before")
    status, _, err = c.end(signal.SIGTERM)
    is_(status, 0, "it ends well: " + err)


def a_relay_receives_from_honest_senders():
    trace, output = work + "/sent", work + "/received"
    record_counting(program, "-q", "--no-kernel", "-o", trace)
    r = limited(24, duet, "relay", "--plain", "-l", "127.0.0.1:0", "-o", output)
    port = r.stdout.readline().split("port ")[1].split(",")[0]
    attacker = attack("tcp", port)
    go_on(r.pid, times=3)
    status, _, err = cmd("send", "--plain", trace, "127.0.0.1:" + port)
    is_(status, 0, "the recording is sent: " + err)
    clear(attacker)
    go_on(r.pid, times=3)
    status, _, err = r.end(signal.SIGTERM)
    is_(status, 0, "it ends well: " + err)
    ok(any("metadata" in files for _, _, files in os.walk(output)), "it arrived", str(list(os.walk(output)))[:300])


def an_lttng_live_server_serves_honest_viewers():
    trace = work + "/sent"
    s = limited(40, duet, "live", "--serve=:0", "--begin", trace)
    port = s.stdout.readline().split("port ")[1].split(":")[0]
    before = len(proc.fds(s.pid))
    attacker = attack("tcp", port, "once")
    until(lambda: len(proc.fds(s.pid)) >= before + 20, "it has as many connections as it takes")
    listed = run("babeltrace2", "-i", "lttng-live", "net://localhost:" + port)[1]
    url = re.search(r"net://\S+/sent", listed)
    ok(url, "an honest viewer gets the list", listed)
    status, out, err = run("babeltrace2", "-i", "lttng-live", url[0])
    is_(status, 0, "and follows to the end: " + err[-500:])
    # Not the texts: Babeltrace 2.0 shows an earlier event's instead of an empty one.
    shown, whole = (re.findall(r"thread = \d+, n = \d+", text) for text in (out, run("babeltrace2", trace)[1]))
    ok(len(shown) > 100 and sorted(shown) == sorted(whole), "and sees all events", "%d of %d" % (len(shown), len(whole)))
    clear(attacker)
    s.wait()  # it ends after its last viewer


run_cases(a_collector_serves_honest_clients, a_relay_receives_from_honest_senders,
          an_lttng_live_server_serves_honest_viewers)
