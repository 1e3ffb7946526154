#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A relay whose disk is full says so, and so does its sender's status; nothing is lost when room comes back.

arguments: DUET PROGRAM LIBDUET

The disk is a tmpfs in a mount namespace of the relay's own.
"""
import os
import re
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from relaying import Relay, make_key, start_sending  # noqa: E402
from trial import PATIENCE, cmd, is_, ok, paths, remarks, run_cases, until, work  # noqa: E402

program, library = paths(2)
os.chdir(work)
make_key("key")
HELLO, WELCOME, TROUBLE, REFUSED = 1, 2, 10, 11
NO_ROOM = "(?:No space left|the disk share .* is reached)"


def relay_on_small_disk(name, size, **more):
    """-> a relay that writes into a disk of @size bytes, a number and k or m"""
    os.mkdir(name)
    script = 'mount -t tmpfs -o size=%s none %s && exec "$@"' % (size, name)
    # Without a floor of free space, which would be the reason before the disk is full.
    return Relay(name + "/out", more=["--disk-free", "0"], before=["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"], **more)


def inside(relay, *command):
    subprocess.run(["nsenter", "-t", str(relay.p.pid), "-m", *command], check=True, cwd=work)


def give_room(relay, name):
    inside(relay, "mount", "-o", "remount,size=64m", work + "/" + name)


def take_room(relay, name):
    inside(relay, "sh", "-c", "cat /dev/zero >%s/filler 2>/dev/null; rmdir %s/out/* 2>/dev/null; true"
           % (work + "/" + name, work + "/" + name))


def relay_tells(relay, pattern):
    until(lambda: re.search(pattern, relay.p.stdout.so_far()),
          lambda: "the relay reports %s: %s" % (pattern, relay.p.stdout.so_far()))


def status_shows_it_waits():
    shown = until(lambda: re.search(r"link .*\n.*the relay waits.*", cmd("status")[1]), "status shows that the relay waits")[0]
    ok(re.search(NO_ROOM, shown), "and why", shown)
    ok("NOT CONNECTED" not in shown, "but the link is up", shown)


def check_arrival(relay, name, n):
    inside(relay, "cp", "-r", work + "/" + name + "/out", work + "/" + name + "_copy")
    relay.output = name + "_copy"
    status, out, err = cmd("view", "-e", "relay:number", relay.only())
    got = [int(i) for i in re.findall(r"\bn = (\d+)", out)]
    is_((status, len(got), got == list(range(n))), (0, n, True), "each number arrived once, in order: " + err)


def a_disk_that_fills_up_is_reported_until_it_has_room():
    relay = relay_on_small_disk("filled", "600k")
    p = start_sending(relay.port, "-o", "waits", "--", program, 40000, 20000)
    status_shows_it_waits()
    relay_tells(relay, r"record-\d+-\S+ WAITS, the disk here has no room: .*" + NO_ROOM)
    ok(p.poll() is None, "the sender waits")
    give_room(relay, "filled")
    relay_tells(relay, r"is written again, the disk has room")
    status, _, err = p.end()
    is_((status, "none lost" in err), (0, True), "nothing is lost: " + err)
    check_arrival(relay, "filled", 40000)
    relay.stop()


def a_disk_that_is_full_from_the_begin_refuses_nobody():
    relay = relay_on_small_disk("full", "600k")
    take_room(relay, "full")
    p = start_sending(relay.port, "-o", "waits_too", "--", program, 40000, 20000)
    relay_tells(relay, r"WAITS, the disk here has no room: .*" + NO_ROOM)
    until(lambda: re.search(r"the relay waits.*" + NO_ROOM, cmd("status")[1]) or p.poll() is not None, "status shows it")
    ok(p.poll() is None, "the sender waits")
    inside(relay, "rm", work + "/full/filler")
    give_room(relay, "full")
    status, _, err = p.end()
    is_((status, "none lost" in err), (0, True), "nothing is lost: " + err)
    check_arrival(relay, "full", 40000)
    relay.stop()


def hello(version):
    def text(t):
        return bytes([len(t)]) + t
    body = b"duet\r\n\x1a\n" + struct.pack("<I", version) + bytes(range(16)) + text(b"host") + text(b"old") + text(b"20260101-000000")
    return struct.pack("<IBBBB", 8 + len(body), HELLO, 0, 0, 0) + body


def answers(port, version):
    """-> the types of the relay's messages to a sender of that version, up to the first or the end of the connection"""
    s = socket.create_connection(("127.0.0.1", port), PATIENCE)
    s.sendall(hello(version))
    head = s.recv(8, socket.MSG_WAITALL)
    s.close()
    return [head[4]] if len(head) == 8 else []


def a_sender_of_an_older_version_is_left_to_come_again():
    relay = relay_on_small_disk("older", "600k", keys=["--plain"])
    take_room(relay, "older")
    is_(answers(relay.port, 2), [], "version 2: the connection is closed without a refusal")
    is_(answers(relay.port, 3), [TROUBLE], "version 3: it is told why")
    inside(relay, "rm", work + "/older/filler")
    is_(answers(relay.port, 2), [WELCOME], "version 2, with room: welcome, under the name it asked for")
    inside(relay, "test", "-d", work + "/older/out/host/old-20260101-000000")
    relay.stop()


if os.geteuid() or subprocess.run(["unshare", "-m", "true"]).returncode:
    remarks.append("no right to mount a small disk: nothing was tried")
    run_cases()
else:
    run_cases(a_disk_that_fills_up_is_reported_until_it_has_room, a_disk_that_is_full_from_the_begin_refuses_nobody,
              a_sender_of_an_older_version_is_left_to_come_again)
