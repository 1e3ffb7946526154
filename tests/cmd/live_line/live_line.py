#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/live_line/live_line.py DUET - the line with the counts of a recording, on a terminal and elsewhere."""
import os
import pty
import re
import select
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import duet, is_, ok, run_cases, until, work

ERASE = "\r\x1b[K"


class Terminal:
    """duet in the foreground of a terminal of its own"""

    def __init__(self, *args):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execv(duet, [duet, *args])
        self.text = ""

    def read(self):
        """-> all output so far"""
        try:
            while select.select([self.fd], [], [], 0)[0]:
                self.text += os.read(self.fd, 65536).decode()
        except OSError:  # its last process has ended
            pass
        return self.text

    def end(self):
        """-> all output, after it ended well"""
        until(lambda: (self.read(), os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))[1], "duet ends")
        is_(os.waitpid(self.pid, 0)[1], 0, "its status")
        text = self.read()
        os.close(self.fd)
        return text


def a_terminal_shows_the_counts_and_loses_them_at_the_end():
    t = Terminal("record", "-e", "none:*", "-o", work + "/shown")
    until(lambda: t.read().count("events/s") >= 2, "the line is drawn and drawn anew")
    os.kill(t.pid, signal.SIGINT)
    text = t.end()
    ok(re.search(re.escape(ERASE) + r"duet record: [1-9]\d* s, 0 events/s, 0 bytes, none lost\r", text), "the line", text)
    ok("events/s" not in text.split(ERASE)[-1], "nothing of it is left before the summary", text)
    ok(all(line.count("\n") == 0 for line in text.split(ERASE)[1:-1]), "no other output is mixed with it", text)


def a_command_has_the_terminal_for_itself():
    command = ["--no-kernel", "-o", work + "/command", "--", "sleep", "1.5"]
    ok("events/s" not in Terminal("record", *command).end(), "no line without --progress")
    seen = work + "/seen"
    t = Terminal("record", "--progress", "--no-kernel", "-o", work + "/command-progress", "--", "sh", "-c",
                 "until [ -e %s ]; do sleep 0.1; done" % seen)
    until(lambda: "events/s" in t.read(), "a line with it")
    open(seen, "w").close()
    t.end()


def other_outputs_get_neither_line_nor_escape_codes():
    r = subprocess.run([duet, "record", "--progress", "--no-kernel", "-o", work + "/file", "--", "sleep", "1.5"],
                       stderr=subprocess.PIPE, text=True)
    is_(r.returncode, 0, r.stderr)
    ok("\x1b" not in r.stderr and "events/s" not in r.stderr, "plain text", r.stderr)
    t = Terminal("record", "-q", "--progress", "--no-kernel", "-o", work + "/quiet", "--", "sleep", "1.5")
    ok("events/s" not in t.end(), "nothing with -q")


run_cases(a_terminal_shows_the_counts_and_loses_them_at_the_end, a_command_has_the_terminal_for_itself,
          other_outputs_get_neither_line_nor_escape_codes)
