#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One host sends as much as a relay's disk holds: it waits at its share, is told why, and loses nothing; another host's
recording arrives.

arguments: DUET PROGRAM LIBDUET
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
if os.environ.get("OWN_MOUNTS") != "1":
    if os.geteuid() or subprocess.run(["unshare", "-m", "-u", "true"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no right to mount")
        sys.exit(77)
    os.environ["OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "-m", "-u", "--propagation", "private", sys.executable] + sys.argv)
import atexit  # noqa: E402
import socket  # noqa: E402
from relaying import Relay  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
MIB = 1 << 20


def recording(name, events):
    """As of another host, with so many events of 30 bytes."""
    trace = "%s/%s-%d" % (work, name, len(os.listdir(work)))
    socket.sethostname(name)
    status, _, err = cmd("record", "-q", "--no-kernel", "-o", trace, "--", program, str(events), stdin=subprocess.DEVNULL)
    is_(status, 0, "a recording: " + err)
    return trace


def bytes_of(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


def waits_at(relay, limit, reason):
    greedy, modest = recording("greedy", 300000), recording("modest", 20000)
    socket.sethostname("greedy")
    g = start(duet, "send", "--plain", greedy, "127.0.0.1:%d" % relay.port)
    received = relay.output + "/greedy"
    until(lambda: os.path.isdir(received) and bytes_of(received) > limit // 3, "much of the greedy host has arrived")
    socket.sethostname("modest")
    status, _, err = cmd("send", "--plain", modest, "127.0.0.1:%d" % relay.port)
    is_(status, 0, "the modest host's recording is sent: " + err)
    is_(g.poll(), None, "the greedy host waits")
    ok(bytes_of(received) <= limit, "its share is not exceeded", str(bytes_of(received)))
    g.terminate()
    g.wait()
    ok(bytes_of(greedy) > limit, "its data is still there")
    relay.stop()


def a_host_waits_at_its_share():
    disk = work + "/disk"
    os.mkdir(disk)
    atexit.register(subprocess.run, ["umount", "-l", disk], stderr=subprocess.DEVNULL)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", disk], check=True)
    waits_at(Relay(disk + "/out", keys=["--plain"]), 6 * MIB, "share")


def a_host_waits_at_its_limit():
    waits_at(Relay(work + "/out", keys=["--plain"], more=["--disk", "4M"]), 4 * MIB, "limit")


run_cases(a_host_waits_at_its_share, a_host_waits_at_its_limit)
