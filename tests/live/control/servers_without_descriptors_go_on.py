#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector and a relay that have few descriptors, and an attacker who takes them all by silent connections: honest
clients are served, the servers sleep when there is nothing to do, and afterwards all is as before.

arguments: DUET PROGRAM LIBDUET
"""
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import (begins, cmd, duet, go_on, is_, ok, paths, run_cases, runtime, start, until, work,  # noqa: E402
                   worker_of)
import proc  # noqa: E402

program, library = paths(2)
CROWD = 200

# Holds @argv[1] connections to a socket, and makes those anew that are closed.
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
n, kind, place = int(sys.argv[1]), sys.argv[2], sys.argv[3]
held = []
first = True
while True:
    held = [s for s in held if s and s not in select.select(held, [], [], 0)[0]] if held else []
    while len(held) < n:
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


def attack(kind, place):
    a = start(sys.executable, "-c", ATTACKER, CROWD, kind, place)
    is_(a.stdout.readline(), "holds\n", "the attacker has its connections")
    return a


def clear(attacker):
    attacker.send_signal(signal.SIGKILL)
    attacker.wait()


def a_collector_serves_honest_clients():
    trace = work + "/collected"
    c = begins(limited(64, duet, "collect", "-o", trace, "--no-kernel"))
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
    status, _, err = cmd("record", "-q", "--no-kernel", "-o", trace, "--", "sh", "-c", "\"$0\" & sleep 0.3; kill $!; wait $!", program)
    ok(os.path.isdir(trace), "a recording is there", err)
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


run_cases(a_collector_serves_honest_clients, a_relay_receives_from_honest_senders)
