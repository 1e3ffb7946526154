#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/stopped/stopped.py DUET - commands that read recordings for long show their progress, and end at Ctrl-C.

The recording is practically endless: STREAMS names of one file.  Each command runs on a terminal of its own, and
gets Ctrl-C there after it has shown its progress, which it does after a second.
"""
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import PATIENCE, duet, is_, ok, run_cases, work

STREAMS, PACKETS, EVENTS = 900, 400, 1000  # 360 million events, of 16 bytes and more
UUID = bytes(range(16))
NAMES = ("sched_switch", "sched_waking", "syscall_entry_read", "syscall_exit_read", "irq_handler_entry", "irq_handler_exit",
         "syscall_entry_futex", "syscall_exit_futex")
FIELDS = {
    "sched_switch": "integer { size = 8; encoding = UTF8; } _prev_comm[16]; int32_t _prev_tid; int64_t _prev_state; "
                    "integer { size = 8; encoding = UTF8; } _next_comm[16]; int32_t _next_tid;",
    "sched_waking": "integer { size = 8; encoding = UTF8; } _comm[16]; int32_t _tid;",
    "syscall_entry_read": "uint32_t _fd; uint64_t _buf; uint64_t _count;",
    "syscall_exit_read": "int64_t _ret;",
    "syscall_entry_futex": "uint64_t _uaddr; int32_t _op; uint32_t _val;",
    "syscall_exit_futex": "int64_t _ret;",
    "irq_handler_entry": "int32_t _irq; string _name;",
    "irq_handler_exit": "int32_t _irq; int32_t _ret;",
}
KERNEL = """/* CTF 1.8 */
typealias integer { size = 8; } := uint8_t;
typealias integer { size = 16; } := uint16_t;
typealias integer { size = 32; } := uint32_t;
typealias integer { size = 32; signed = true; } := int32_t;
typealias integer { size = 64; } := uint64_t;
typealias integer { size = 64; signed = true; } := int64_t;
trace { major = 1; minor = 8; uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f"; byte_order = le;
  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };
env { domain = "DOMAIN"; hostname = "host"; };
clock { name = c; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 32; map = clock.c.value; } := time32;
typealias integer { size = 64; map = clock.c.value; } := time64;
stream { id = 0;
  packet.context := struct { time64 timestamp_begin; time64 timestamp_end; uint64_t content_size; uint64_t packet_size;
    uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };
  event.header := struct { time32 timestamp; uint16_t id; };
  event.context := struct { CONTEXT }; };
"""


def a_class(number, name, fields):
    return 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s }; };\n' % (name, number, fields)


def packet(number, body):
    bits = (24 + 52 + len(body)) * 8
    begin = 1000000 * (number + 1)
    return struct.pack("<I", 0xC1FC1FC1) + UUID + struct.pack("<I", 0) + \
        struct.pack("<6QI", begin, begin + 999999, bits, bits, number, 0, 1) + body


def make(path, metadata, one_event):
    os.makedirs(path)
    with open(path + "/metadata", "w") as f:
        f.write(metadata)
    with open(path + "/s0", "wb") as f:
        for i in range(PACKETS):
            f.write(packet(i, b"".join(one_event(1000000 * (i + 1) + k, k) for k in range(EVENTS))))
    for i in range(1, STREAMS):
        os.link(path + "/s0", path + "/s%d" % i)


def call(time, k):
    """A read begins, and ends."""
    head = struct.pack("<IHi", time, NAMES.index("syscall_exit_read" if k % 2 else "syscall_entry_read"), 77)
    return head + (struct.pack("<q", 5) if k % 2 else struct.pack("<IQQ", 3, 0, 5))


def sample(time, k):
    return struct.pack("<IHiiI2QI", time, 0, 7, 7, 2, 0x1000, 0x2000 + k % 9, k)


def make_all():
    os.chdir(work)
    make("kernel", KERNEL.replace("DOMAIN", "kernel").replace("CONTEXT", "int32_t _tid;") +
         "".join(a_class(i, n, FIELDS[n]) for i, n in enumerate(NAMES)), call)
    make("ust", KERNEL.replace("DOMAIN", "ust").replace("CONTEXT", "int32_t _vpid; int32_t _vtid; "
         "uint32_t __callstack_user_length; uint64_t _callstack_user[ __callstack_user_length ];") + a_class(0, "shop:order", "uint32_t _id;"), sample)


class Stopped:
    """A command on a terminal of its own; it is stopped after it has shown its progress."""

    def __init__(self, arguments, output=None):
        self.arguments, self.shown, self.has_reported = arguments, b"", False
        self.pid, self.master = pty.fork()
        if not self.pid:
            if output:
                os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
            os.execv(duet, [duet, *arguments])

    def listen(self):
        """Reads the output; returns False if the command has ended."""
        try:
            self.shown += os.read(self.master, 65536)
        except OSError:  # the other end was closed
            os.close(self.master)
            return False
        if not self.has_reported and b"% of " in self.shown:
            self.has_reported = True
            os.write(self.master, b"\3")
        return True

    def check(self):
        what, verb = " ".join(self.arguments), "strace" if "--syscalls" in self.arguments else self.arguments[0]
        shown = self.shown.decode(errors="replace").replace("^C", "")  # as the terminal shows it
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        is_((self.has_reported, status), (True, -signal.SIGINT), what)
        ok(re.search(r"duet %s: interrupted[^\n]*\r\n$" % verb, shown), "its last output: " + what, shown[-500:])
        ok(re.search(r"\r\x1b\[Kduet %s: [0-9]+ %% of [0-9.]+ [kMGT]?B, [0-9]+ s\r" % verb, shown), "how far: " + what, shown)


def all_are_stopped(*commands):
    """All at the same time: each takes a second until it shows progress."""
    left = {p.master: p for p in commands}
    while left:
        ready = select.select(left, [], [], PATIENCE)[0]
        if not ok(ready, "some command reports progress or ends", [p.arguments for p in left.values()]):
            return
        for master in ready:
            if not left[master].listen():
                left.pop(master).check()


def statistics_and_reports_are_stopped():
    all_are_stopped(Stopped(["stats", "kernel"]), Stopped(["diff", "kernel", "kernel"]),
                    Stopped(["report", "latency", "syscall_entry_read", "syscall_exit_read", "kernel"]),
                    *(Stopped(["report", q, "kernel"]) for q in ("syscalls", "io", "why")))


def lines_before_the_stop_are_complete():
    forms = (["view"], ["view", "--json"], ["view", "--csv"], ["view", "--syscalls"], ["strace", "-i"])
    all_are_stopped(*(Stopped([*form, "kernel"], "lines%d" % i) for i, form in enumerate(forms)))
    for i, form in enumerate(forms):
        with open("lines%d" % i, "rb") as f:
            f.seek(-1, os.SEEK_END)
            is_(f.read(), b"\n", "the last byte of " + " ".join(form))
        os.unlink("lines%d" % i)


def no_half_written_file_is_left():
    before = sorted(os.listdir("."))
    all_are_stopped(*(Stopped(["export", form, "-o", "out-" + form, "kernel"]) for form in ("perfetto", "chrome", "csv", "ctf")),
                    *(Stopped(["export", form, "-o", "out-" + form, "ust"]) for form in ("speedscope", "firefox", "folded", "svg")),
                    Stopped(["repair", "kernel", "new"]))
    is_(sorted(os.listdir(".")), before, "the files left")


def fewer():
    """A recording that opens faster."""
    os.makedirs("fewer")
    for name in ("metadata", *("s%d" % i for i in range(30))):
        os.link("kernel/" + name, "fewer/" + name)


def without_a_terminal_there_is_no_progress_and_a_signal_ends_it():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen([duet, "view", "fewer"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            p.stdout.read(1)  # so it is reading
            p.send_signal(number)
            shown = p.stdout.read()
            is_(p.stderr.read(), b"duet view: interrupted\n", "its message")
            is_(p.wait(), -number, "how it ended")
            is_(shown[-1:], b"\n", "the last byte")


def a_command_that_ignores_the_signal_goes_on():
    """As a shell starts a background command."""
    p = subprocess.Popen([duet, "view", "--limit", "100000", "fewer"], stdout=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    first = p.stdout.read(1)
    p.send_signal(signal.SIGINT)
    is_((first + p.stdout.read()).count(b"\n"), 100000, "lines")
    is_(p.wait(), 0, "how it ended")


make_all()
fewer()
run_cases(statistics_and_reports_are_stopped, lines_before_the_stop_are_complete, no_half_written_file_is_left,
          without_a_terminal_there_is_no_progress_and_a_signal_ends_it,
          a_command_that_ignores_the_signal_goes_on)
