#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording that a relay on another host receives is shown as it comes: all of it, in order, over any faults of the link; only
to permitted users; few of the copied bytes are here at any time, and none at the end.

arguments: DUET PROGRAM LIBDUET COUNT   (COUNT: tests/live/network/programs/relay_count.c)
"""
import bisect
import json
import os
import re
import signal
import struct
import subprocess
import sys

from following import *
from ports import free_port  # noqa: E402

many = os.path.abspath(sys.argv[4])
KEY = ["--psk", work + "/key"]
COPIES = work + "/copies"
os.environ["TMPDIR"] = COPIES


class Relay:
    """On a port of its own, which it keeps when it is started again."""

    def __init__(self, output, *more):
        self.output, self.more, self.port = output, more, free_port()
        self.begin()

    def begin(self):
        self.p = start(duet, "relay", "-o", self.output, "-l", "127.0.0.1:%d" % self.port, *KEY, *self.more)
        is_(self.p.stdout.readline().split(",")[0], "listens on port %d" % self.port, "the relay")
        self.at = "127.0.0.1:%d" % self.port

    def kill(self):
        self.p.kill()
        self.p.wait()

    def has(self, n=1):
        """So many recordings have said how far they are."""
        there = sorted(os.path.join(self.output, host, name) for host in os.listdir(self.output)
                       for name in os.listdir(os.path.join(self.output, host)))
        return len(there) >= n and all(is_written_on(at) for at in there) and there


def nothing_is_left():
    until(lambda: not os.listdir(COPIES), lambda: "the copies are gone: %r" % os.listdir(COPIES))


def same(name, want, what):
    got = lines(name)
    for i, (a, b) in enumerate(zip(got, want)):
        if a != b:
            return ok(False, "%s: line %d is %r, not %r" % (what, i + 1, a, b))
    return ok(len(got) == len(want) and got, "%s: %d lines of %d: %r" % (what, len(got), len(want), lines(name + ".err")))


def without_pause(line):
    return re.sub(r" \(.*?\)", "", line, count=1)


def a_recording_on_a_remote_relay_is_shown():
    """From its beginning, and from now; pieces as well."""
    for options in [], ["--rotate", "20K"]:
        r = Relay(work + "/all%d" % len(options), "--watch")
        c = collect(work + "/c%d" % len(options), "-e", "follow:*", "--to", r.at, *KEY, *options)
        p = run_program()
        there = until(r.has, "it arrives")[0]
        f = to_file(work + "/f", duet, "live", "--begin", "--at", r.at, *KEY)
        g = to_file(work + "/g", duet, "live", "--at=" + r.at, *KEY, "-f", "thread == 1")
        until(lambda: len(lines(work + "/f")) > 100 and len(lines(work + "/g")) > 10, "events are shown while it records")
        counts = [int(n) for n in end_program(p).split()]
        stop(c, signal.SIGINT, status=None)
        is_((f.wait(), g.wait()), (0, 0), "it ends with the recording: %r" % lines(work + "/f.err"))
        ok(any("has ended" in t for t in lines(work + "/f.err")), "it says so: %r" % lines(work + "/f.err"))
        same(work + "/f", view_lines(there), "live --at")
        is_(sum("follow:number" in line for line in lines(work + "/f")), sum(counts), "all of them")
        got, want = ([without_pause(line) for line in some] for some in
                     (lines(work + "/g"), view_lines(there, "-f", "thread == 1")))
        end = want[-len(got):] if got else []
        differ = next(((i, pair) for i, pair in enumerate(zip(got, end)) if pair[0] != pair[1]), None)
        ok(got and not differ, "from now on it is the end of it: %d of %d, line %r" % (len(got), len(want), differ))
        r.p.end(signal.SIGTERM)
        nothing_is_left()


def a_cut_link_is_made_again():
    r = Relay(work + "/cut", "--watch")
    c = collect(work + "/cut_c", "-e", "follow:*", "--to", r.at, *KEY)
    p = run_program()
    there = until(r.has, "it arrives")[0]
    f = to_file(work + "/h", duet, "live", "--begin", "--at", r.at, *KEY)
    for i in range(3):
        n = until(lambda: len(lines(work + "/h")), "events are shown")
        until(lambda: len(lines(work + "/h")) > n, "more are shown")
        r.kill()
        until(lambda: sum("cut" in t for t in lines(work + "/h.err")) > i, "the cut link is reported")
        r.begin()
        until(lambda: sum("goes on" in t for t in lines(work + "/h.err")) > i, "its return is reported")
    end_program(p)
    stop(c, signal.SIGINT, status=None)
    is_(f.wait(), 0, "it ends with the recording: %r" % lines(work + "/h.err"))
    same(work + "/h", view_lines(there), "over four links")
    r.p.end(signal.SIGTERM)
    nothing_is_left()


def one_of_several_recordings_must_be_named():
    r = Relay(work + "/two", "--watch")
    status, out, err = cmd("live", "--at", r.at, *KEY)
    ok(status == 2 and "nothing is being recorded there" in err, "of none: " + err)
    a = begins(start(duet, "collect", "--session", "one", "-o", work + "/o1", "-e", "follow:*", "--to", r.at, *KEY), "one")
    b = begins(start(duet, "collect", "--session", "two", "-o", work + "/o2", "-e", "follow:*", "--to", r.at, *KEY), "two")
    p = run_program()
    until(lambda: r.has(2), "both arrive")
    status, out, err = cmd("live", "--at", r.at, *KEY)
    ok(status == 2 and not out and "/one-" in err and "/two-" in err, "both are listed: " + err)
    status, out, err = cmd("live", "--at", r.at, *KEY, "three")
    ok(status == 2 and "three" in err and "/one-" in err, "missing events: " + err)
    f = to_file(work + "/t", duet, "live", "--begin", "--at", r.at, *KEY, "two")
    g = to_file(work + "/b", duet, "live", "--begin", "--at", r.at, *KEY, "*/one-*", "two")
    until(lambda: len(lines(work + "/t")) > 10 and len(lines(work + "/b")) > 10, "events are shown")
    f.send_signal(signal.SIGINT)
    is_(f.wait(), 0, "Ctrl-C ends it")
    n = sum(int(n) for n in end_program(p).split())
    stop(a, signal.SIGINT, status=None)
    stop(b, signal.SIGINT, status=None)
    is_(g.wait(), 0, "it ends when both have")
    is_(sum("follow:number" in line for line in lines(work + "/b")), 2 * n, "both are shown as one")
    r.p.end(signal.SIGTERM)
    nothing_is_left()


def only_a_permitted_user_with_the_key_follows():
    r = Relay(work + "/shut")
    for args, why in (([*KEY], "--watch"), (["--plain"], "127.0.0.1"), (["--psk", work + "/other"], "key"), ([], "a key is needed")):
        status, out, err = cmd("live", "--at", r.at, *args)
        ok(status == 2 and not out and why in err and len(re.findall("^duet live:", err, re.M)) == 1, "%r: %s" % (args, err))
    r.p.end(signal.SIGTERM)
    nothing_is_left()


def most_between_lines(trace):
    """Bytes of packets that begin between two times, each reported by the recorder as completely written: none of them
    can be shown before all of them are there."""
    known = [int(line.split()[5]) for line in lines(trace + "/.duet/clock") if line.split()[-1].isdigit() and len(line.split()) == 6]
    held = [0] * (len(known) + 1)
    for at, _, files in os.walk(trace):
        for name in files if at.endswith("/index") else []:
            with open(os.path.join(at, name), "rb") as f:
                for e in struct.iter_unpack(">9Q", f.read()[16:]):
                    held[bisect.bisect_left(known, e[3])] += e[1] // 8
    return max(held), sum(held)


def bytes_of_copies():
    """On the disk; files go meanwhile."""
    n = 0
    for d, _, names in os.walk(COPIES):
        for name in names:
            try:
                n += os.stat(os.path.join(d, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return n


def a_slow_reader_does_not_make_bytes_pile_up():
    """The copy may occupy 1 MB, and the data that cannot be shown without the rest."""
    r = Relay(work + "/slow", "--watch")
    n = 480000
    is_(start(duet, "record", "--no-kernel", "-b", "64M", "-o", work + "/slow_c", "--to", r.at, *KEY, "--", many, str(n), "60000")
        .end()[0], 0, "it is recorded and sent")
    f = subprocess.Popen([duet, "live", "--at", r.at, *KEY, "--spool", "1M", "--json", "*"], stdout=subprocess.PIPE, text=True)
    most, got = 0, []
    for line in f.stdout:
        e = json.loads(line)
        if e.get("event") == "relay:number" or e.get("name") == "relay:number":
            got.append(int(e["fields"]["n"]))
        if len(got) % 5000 == 0:
            most = max(most, bytes_of_copies())
    is_((f.wait(PATIENCE), got == list(range(n))), (0, True), "each number once, in order: %d" % len(got))
    between, whole = most_between_lines(r.has()[0])
    ok(0 < most < 3 * between + (8 << 20), "at most %d bytes of %d lay here, where %d are needed at once" % (most, whole, between))
    r.p.end(signal.SIGTERM)
    nothing_is_left()


os.mkdir(COPIES)
for name in "key", "other":
    with open(os.open(work + "/" + name, os.O_WRONLY | os.O_CREAT, 0o600), "w") as key:
        key.write(name * 20)
run_cases(a_recording_on_a_remote_relay_is_shown, a_cut_link_is_made_again, one_of_several_recordings_must_be_named,
          only_a_permitted_user_with_the_key_follows, a_slow_reader_does_not_make_bytes_pile_up)
