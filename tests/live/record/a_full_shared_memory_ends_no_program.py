#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""/dev/shm is full, of bytes or of files: programs with events run on as without duet, whenever they start; what was
written before is there, status and summary name the reason, and with room again programs are recorded.

arguments: DUET PROGRAM LIBDUET
"""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
if os.environ.get("OWN_SHM") != "1":  # a mount namespace of its own, before anything else
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no right to mount")
        sys.exit(77)
    os.environ["OWN_SHM"] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable] + sys.argv)
from trial import begins, cmd, duet, is_, ok, paths, run, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
RUNTIME = "/dev/shm/run"
os.environ["DUET_RUNTIME_DIR"] = RUNTIME


def fill_bytes():
    fd = os.open("/dev/shm/filling", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(fd, bytes(4096))
    except OSError:
        os.close(fd)


def fill_names():
    try:
        for i in range(1 << 20):
            open("/dev/shm/filling-%d" % i, "w").close()
    except OSError:
        pass


def make_room():
    for name in os.listdir("/dev/shm"):
        if name.startswith("filling"):
            os.unlink("/dev/shm/" + name)


class Program:
    def __init__(self):
        self.p = start(program, stdin=subprocess.PIPE)
        self.p.stdout.readline()

    def record(self, n):
        self.p.stdin.write("%d\n" % n)
        self.p.stdin.flush()
        ok(self.p.stdout.readline().startswith("done"), "it runs on")

    def end(self):
        status = self.p.end()[0]
        is_(status, 0, "the program ends as it would alone")


def survives(options, fill):
    run("umount", "/dev/shm")
    is_(run("mount", "-t", "tmpfs", "-o", "mode=1777," + options, "none", "/dev/shm")[0], 0, "a small /dev/shm")
    trace = work + "/" + fill.__name__
    c = begins(start(duet, "collect", "-e", "tenants:*", "-o", trace), directory=RUNTIME)
    early = Program()
    early.record(10)
    fill()
    late = Program()
    late.record(10)
    early.record(10)
    until(lambda: "/dev/shm) was full" in cmd("status")[1], "status names the reason")
    make_room()
    later = Program()
    later.record(10)
    for p in (early, late, later):
        p.end()
    status, _, err = c.end(signal.SIGTERM)
    is_(status, 0, "the collector ends well: " + err)
    ok("/dev/shm) was full" in err, "the summary names the reason", err)
    ok("from 2 programs" in err, "the one without a page does not count as recorded", err)
    out = cmd("view", "-e", "tenants:tick", trace)[1]
    is_(len(re.findall("tenants:tick", out)), 30, "all events of programs that had room are there")


def a_file_system_without_bytes():
    survives("size=1m", fill_bytes)


def a_file_system_without_inodes():
    survives("size=4m,nr_inodes=64", fill_names)


run_cases(a_file_system_without_bytes, a_file_system_without_inodes)
