#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet top`: its figures are those of /proc, its rates those of the program, and its screen obeys its keys.

arguments: DUET PROGRAM LIBDUET
"""
import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import PATIENCE, cmd, duet, go_on, is_, ok, paths, run_cases, skip, start, until, work  # noqa: E402

program, library = paths(2)
# The busy thread computes without Python's lock: it would wait for that while the other one has no CPU.
BUSY = """import hashlib, threading, time
def sleep():
    while True: time.sleep(0.05)
threading.Thread(target=sleep, daemon=True).start()
while True: hashlib.pbkdf2_hmac("sha256", b"", b"", (1 << 31) - 1)"""
TICK = os.sysconf("SC_CLK_TCK")


def intervals(*args):
    """The objects that duet top --json prints."""
    status, out, err = cmd("top", "--json", *args)
    is_((status, err), (0, ""), "duet top %s" % (args,))
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(out.rstrip()):
        o, at = decoder.raw_decode(out, at)
        found.append(o)
        at += len(out[at:]) - len(out[at:].lstrip())
    return found


def cpu_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def times_are_those_of_proc():
    p = start(sys.executable, "-c", BUSY)
    until(lambda: cpu_s(p.pid) > 0.1, "it is busy")
    before = cpu_s(p.pid)
    found = intervals("-n", "3", "-i", "500ms", "-p", p.pid)
    used = cpu_s(p.pid) - before
    is_(len(found), 3, "three intervals")
    shown = 0
    for i in found[1:]:
        seconds = (i["to_ns"] - i["from_ns"]) / 1e9
        ours = [t for t in i["threads"] if t["pid"] == p.pid]
        is_(len(ours), 2, "both threads, no others: %s" % i["threads"])
        for t in ours:
            total = t["cpu"] + t["waits"] + t["blocked"] + t["unknown"]
            ok(99 < total < 100.01, "its times add up to the interval", t)
        sleeper, busy = sorted(ours, key=lambda t: t["cpu"])
        ok(re.search("nanosleep|select|futex|run", sleeper["now"]), "what it waits in", sleeper)
        ok(busy["tid"] == p.pid and busy["cpu"] + busy["waits"] > 90, "the busy one runs, or waits for a CPU", busy)
        shown += busy["cpu"] / 100 * seconds
    for one, other in zip(found, found[1:]):
        is_(one["to_ns"], other["from_ns"], "no moment is left out")
    ok(shown <= used + 3 / TICK, "no more CPU time than the kernel counted", (shown, used))
    p.kill()
    p.wait()


def a_session_is_followed_and_records_nothing_more():
    status, _, err = cmd("start", "shown", "-o", work + "/shown", "-e", "many:small", "-K")
    if status:
        status, _, err = cmd("start", "shown", "-o", work + "/shown", "-e", "many:small")
    is_(status, 0, "duet start: " + err)
    p = start(program, 1, 0)
    p.stdout.readline()
    found = intervals("-n", "4", "-i", "300ms", "--by", "event", "shown")
    rates = [r for i in found for r in i["rates"] if r["event"] == "many:small"]
    listed = cmd("top", "-b", "-n", "2", "-i", "300ms", "--by", "event", "--name", "no such", "shown")
    p.kill()
    p.wait()
    is_(cmd("stop", "shown")[0], 0, "duet stop")
    ok(not any(r["event"].startswith("syscall") for i in found for r in i["rates"]), "nothing of the kernel was added", found)
    ok(not rates or all(r["events_per_s"] > 0 and not r["kernel"] for r in rates), "rates of its events", rates)
    ok("many:small" not in listed[1], "a name that nothing has shows nothing", listed)


class Screen:
    """duet top on a terminal of 40 lines."""

    def __init__(self, *args):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "xterm"
            os.execv(duet, [duet, "top", *map(str, args)])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self.text = ""

    def until(self, pattern, what):
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.text):
            if time.monotonic() > end:
                raise AssertionError("the screen does not show %s: %r" % (what, self.text[-2000:]))
            if select.select([self.fd], [], [], 0.2)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")

    def type(self, keys):
        self.text = ""
        os.write(self.fd, keys.encode())

    def end(self):
        os.write(self.fd, b"q")
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        return os.waitpid(self.pid, 0)[1]


def the_screen_obeys_its_keys():
    hostile = start(sys.executable, "-c", "import ctypes\nctypes.CDLL(None).prctl(15, b'\\x1b]0;evil\\x07x')\nwhile True: pass")
    s = Screen("-i", "300ms")
    s.until("NOW", "its head")
    s.until(r"\\x1b\]0;evil\\x07x", "a hostile name without its control characters")
    ok("\x1b]0;evil" not in s.text, "and they do not reach the terminal")
    s.type("e")
    s.until("EVENTS/S.*FROM", "events")
    s.until("sched_switch", "and their rates")
    s.type("p")
    s.until(r"x\d", "processes, with the number of their threads")
    s.type("?")
    s.until("filter by name", "the keys")
    s.type("?/")
    s.until("filter:", "a filter")
    s.type("evil\n")
    s.until("(?s)e.*v.*i.*l", "what is typed, as differences of the screen")
    is_(s.end(), 0, "q ends it")
    hostile.kill()
    hostile.wait()


def what_is_wrong_is_named():
    for args, want in ((("--by", "thraed"), "did you mean"), (("-i", "1ms"), "from 100ms"), (("-n", "0"), "from 1 on"),
                       (("no-such-session",), "no such session"), (("-e", "x", "shown"), "of its own"),
                       (("--", "/no/such/command"), "/no/such/command")):
        status, _, err = cmd("top", *args)
        ok(status == 2 and want in err, "top %s is refused with a reason" % (args,), err)


def nothing_is_left():
    left = lambda: [d for d in os.listdir("/dev/shm") if d.startswith("duet-top-")]
    until(lambda: not left(), lambda: "no recording of its own, nor of another test for long: %s" % left())


if os.geteuid():
    skip("needs root: the kernel is recorded")
run_cases(times_are_those_of_proc, a_session_is_followed_and_records_nothing_more, the_screen_obeys_its_keys,
          what_is_wrong_is_named, nothing_is_left)
