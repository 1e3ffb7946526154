#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nonsense does not stop a relay: it goes on, leaks nothing, writes nowhere else, and receives from others meanwhile.

arguments: DUET PROGRAM LIBDUET N [SEED]      whole: 1000000 messages
"""
import os
import re
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import fds, field  # noqa: E402
from relaying import start_sending  # noqa: E402
from trial import PATIENCE, cmd, dice, duet, fail, paths, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
count = int(sys.argv[4])
rng = dice(*map(int, sys.argv[5:6]))
N_NUMBERS, SILENT, GROWS_MAX_KIB = 2000, 200, 8 << 10


# ---------------------------------------------------------------- messages: docs/formats/relay.md

def message(kind, content, size=None):
    return struct.pack("<IB3x", 8 + len(content) if size is None else size, kind) + content


def text(s):
    s = s.encode("latin-1", "replace")[:255]
    return bytes([len(s)]) + s


def a_name():
    return rng.choice(["ust/uid/0/64-bit/cpu_0", "ust/uid/0/64-bit/metadata", ".duet/clock", "../../../etc/x", "/etc/x", "a//b",
                       ".duet/relay", ".duet/stream", "a/../b", "." * 300, "\x01", "x" * 200, "a/b/c/d/e/f/g/h/i/j/k/l", "kernel/x",
                       "n%d" % rng.randrange(100), ""])


def hello():
    return message(1, b"duet\r\n\x1a\n" + struct.pack("<I", rng.choice([1, 1, 1, 1, 0, 2, 1 << 31])) + rng.randbytes(16) +
                   text(rng.choice(["host", "host", "..", "a/b", "x" * 65])) + text(rng.choice(["s", "nonsense", ""])) +
                   text(rng.choice(["20260101", "d", "../d"])))


def a_message(numbers):
    kind = rng.randrange(8)
    if kind < 2:
        numbers.append(len(numbers))
        return message(3, struct.pack("<I", rng.choice([len(numbers) - 1] * 5 + [7, 1 << 31])) + text(a_name()))
    if kind < 5:
        body = rng.randbytes(rng.choice([0, 1, 100, 3000]))
        return message(5, struct.pack("<IIQ", rng.choice((numbers or [0]) * 3 + [9, 1 << 31]), 0,
                                      rng.choice([0, 0, 0, 100, 1 << 63, (1 << 64) - 1])) + body)
    if kind == 5:
        return message(6, rng.randbytes(40))
    if kind == 6:
        return message(rng.randrange(256), rng.randbytes(rng.randrange(60)), rng.choice([None, 0, 7, 8, 1 << 20, (1 << 32) - 1]))
    return message(8, b"")


def mutated(data):
    data = bytearray(data)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        at = rng.randrange(len(data))
        what = rng.randrange(3)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1:
            del data[at:at + rng.randrange(1, 9)]
        else:
            data[at:at] = data[at:at + rng.randrange(1, 9)]
        if not data:
            return b"\0"
    return bytes(data)


silent = []


def converse(port):
    """-> messages said"""
    s = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    numbers, said = [], 0
    try:
        s.sendall(mutated(hello()))
        said += 1
        for _ in range(rng.randrange(12)):
            s.sendall(mutated(a_message(numbers)))
            said += 1
        if rng.randrange(4) == 0:
            s.sendall(a_message(numbers)[:rng.randrange(1, 9)])  # half a message
        what = rng.randrange(16)
        if what == 0:
            silent.append(s)
            if len(silent) > SILENT:
                silent.pop(0).close()
            return said
        if what < 8:
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
    except OSError:
        pass  # it was shown the door
    s.close()
    return said


# ---------------------------------------------------------------- the relay

def descriptors(pid):
    return len(fds(pid))


def files_below(path):
    return {os.path.join(at, f) for at, _, files in os.walk(path) for f in files}


def numbers_in(trace):
    return len(cmd("view", "-e", "relay:number", trace)[1].splitlines())


def send_numbers(port, name):
    """-> a recording being sent"""
    return start_sending(port, "-o", work + "/" + name, "--", program, N_NUMBERS, keys=["--plain"])


def the_relay_goes_on():
    relay = start(duet, "relay", "-o", work + "/out", "-l", "127.0.0.1:0", "--plain", cwd=work)
    port = int(re.search(r"port (\d+)", relay.stdout.readline()).group(1))
    said = 0
    while said < min(count, 1000):
        said += converse(port)
    before, begin = (descriptors(relay.pid), field(relay.pid, "RssAnon")), time.monotonic()
    said, proper, n_proper = 0, send_numbers(port, "proper-0"), 0
    while said < count or proper:
        said += converse(port) if said < count else 0
        if proper and proper.poll() is not None:
            err = proper.communicate()[1]
            n_proper += 1
            if proper.returncode:
                fail("a proper sender: status %d: %s" % (proper.returncode, err))
            proper = send_numbers(port, "proper-%d" % n_proper) if said < count else None
        if relay.poll() is not None:
            return fail("the relay ended with %d" % relay.returncode)
        if said >= count:
            time.sleep(0.01)
    took = time.monotonic() - begin
    while silent:
        silent.pop().close()
    until(lambda: descriptors(relay.pid) <= before[0],
          lambda: "its descriptors are %d again, not %d" % (before[0], descriptors(relay.pid)))
    after = (descriptors(relay.pid), field(relay.pid, "RssAnon"))
    if after[1] > before[1] + GROWS_MAX_KIB:
        fail("descriptors and KiB were %s, are %s" % (before, after))
    if relay.end(signal.SIGTERM)[0]:
        fail("the relay ended with %d" % relay.returncode)
    strange = {f for f in files_below(work) if not f.startswith((work + "/out/", work + "/run/", work + "/proper-"))}
    if strange:
        fail("files elsewhere: %s" % strange)
    whole = sum(numbers_in(at) == N_NUMBERS for at, directories, _ in os.walk(work + "/out")
                if ".duet" in directories and os.path.basename(at).startswith("record-"))
    if whole != n_proper:
        fail("of %d proper recordings %d arrived whole" % (n_proper, whole))
    print("%d messages in %.1f s, %d proper recordings meanwhile, all whole; descriptors and KiB: %s, %s"
          % (said, took, n_proper, before, after))


run_cases(the_relay_goes_on)
