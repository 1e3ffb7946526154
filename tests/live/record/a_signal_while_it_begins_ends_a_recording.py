#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SIGTERM or SIGINT before a recording has begun ends it: no command starts, and no directory stays.

arguments: DUET PROGRAM LIBDUET

A lock of the runtime directory, which every recorder takes, stops it on its way.
"""
import fcntl
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402
from trial import duet, is_, ok, paths, run_cases, runtime, start, until, work  # noqa: E402

program, library = paths(2)
os.makedirs(runtime, 0o700)


class Lock:
    def __enter__(self):
        self.fd = os.open(runtime, os.O_RDONLY)
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def __exit__(self, *_):
        os.close(self.fd)


def waits_for_it(pid):
    """In flock, as /proc/locks shows it: `12: -> FLOCK ADVISORY WRITE 4711 ...`."""
    with open("/proc/locks") as f:
        return any("->" in line and line.split()[5] == str(pid) for line in f)


def ends_before_it_begins(sig, *args, more=()):
    path, mark = "%s/%d" % (work, len(os.listdir(work))), work + "/mark"
    with Lock():
        p = start(duet, *args, "-o", path, *[m.replace("MARK", mark) for m in more])
        until(lambda: waits_for_it(p.pid), "%s waits for the lock" % args[0])
        p.send_signal(sig)
    status, _, err = p.end()
    is_(status, 2, "it ends without a recording: " + err)
    ok("a signal ended it before it recorded anything" in err, "and says so", err)
    is_((os.path.exists(mark), os.path.exists(path)), (False, False), "no command ran, and no directory stays")


def sigterm_ends_a_command_that_has_not_begun():
    ends_before_it_begins(signal.SIGTERM, "record", more=["--", "touch", "MARK"])


def sigint_ends_it_too():
    ends_before_it_begins(signal.SIGINT, "record", more=["--", "touch", "MARK"])


def so_does_a_session():
    ends_before_it_begins(signal.SIGTERM, "collect")


def a_recorder_whose_reader_was_killed_ends():
    with Lock():
        p = start(duet, "script", "-c", program, "-e", "probe app.*.* { }")
        child = until(lambda: [c for c in proc.descendants(p.pid) if waits_for_it(c)], "its recorder waits for the lock")[0]
        p.end(signal.SIGKILL)
    until(lambda: proc.is_dead(child), "its recorder ends")


run_cases(sigterm_ends_a_command_that_has_not_begun, sigint_ends_it_too, so_does_a_session,
          a_recorder_whose_reader_was_killed_ends)
