# SPDX-License-Identifier: MIT
"""Makes recordings of calls by hand: batches, calls files and plans (docs/formats/calls.md).

    b = Batch(1000)                            # base: ns
    b.call(1500, 400, 7, depth=1)              # exit, duration, function, depth
    b.open(1, 900, depth=0)                    # function, entry
    program(where, ["main", "work"], [b.event(1600)], kernel_events)

A quantum is one nanosecond.
"""
import os
import struct

from make import kernel, ust

PID = 7
OBJECTS_AT, FUNCTIONS_AT, AREA = 4096, 4096 + 1024 * 256, 256 << 10
THREADS_AT = FUNCTIONS_AT + (1 << 18) * 16
AREA_HEAD = 4088
BUILD_ID = bytes([0xab, 0xcd]) + bytes(18)


def leb(*numbers):
    out = bytearray()
    for v in numbers:
        while v > 127:
            out.append(v & 127 | 128)
            v >>= 7
        out.append(v)
    return bytes(out)


class Batch:
    def __init__(self, base, tid=PID, sequence=0, lost=0, pid=PID, flags=0):
        self.base, self.last, self.tid, self.pid = base, base, tid, pid
        self.sequence, self.lost, self.flags, self.bytes = sequence, lost, flags, b""

    def call(self, end, duration, function, depth):
        self.bytes += leb(end - self.last, duration, function << 2 | 3, depth)
        self.last = end
        return self

    def open(self, function, entry, depth):
        back = self.last - entry
        self.bytes += leb(0, 0, 1, function, depth, back * 2 if back >= 0 else -back * 2 - 1)
        return self

    def note(self, kind, value):
        self.bytes += leb(0, 0, 2, kind, value)
        return self

    def fields(self):
        return dict(sequence=self.sequence, lost=self.lost, base_ns=self.base, mult=1 << 32, shift=0, flags=self.flags,
                    calls=self.bytes)

    def event(self, time, cpu=0):
        return (time, cpu, (self.pid, self.tid), "duet_calls:batch", self.fields())

    def area(self, frames=(), paths=()):
        """The thread's area of a calls file: this batch is unfinished.  frames: (entry, function); paths: (parent,
        function, calls, sampled, total ns)."""
        head = struct.pack("<8I", self.tid, 0, len(frames), self.sequence & 1, self.sequence, len(paths), 0, 0)
        head = head.ljust(AREA_HEAD, b"\0")
        batch = struct.pack("<QQIIQQIII", self.base, (self.last - self.base) << 16 | len(self.bytes), self.sequence,
                            self.lost, self.base, 1 << 32, 0, self.flags, 0) + self.bytes
        empty = b"".ljust(8192, b"\0")
        batches = [empty, empty]
        batches[self.sequence & 1] = batch.ljust(8192, b"\0")
        all_frames = b"".join(struct.pack("<QII", entry, f, 0) for entry, f in frames).ljust(2048 * 16, b"\0")
        all_paths = b"".join(struct.pack("<IIQQQII", p, f, n, s, ns, 0, 0) for p, f, n, s, ns in paths)
        return (head + b"".join(batches) + all_frames + all_paths).ljust(AREA, b"\0")


def plan(names, build_id=BUILD_ID, generation=1):
    text, sites = b"/bin/made\0", b""
    for i, name in enumerate(names):
        sites += struct.pack("<QQIIIIIIQIHHHBBBB6x16x4x", 0x1000 + i * 64, 0x1000 + i * 64, 64, len(text), 0, 0, 0, 0, 0, 0,
                             0, 0, 0, 1, 5, 0, 0)
        text += name.encode() + b"\0"
    at = 128 + len(sites)
    head = struct.pack("<QIIQ20sIIIQ15I", 0x6e616c7074656475, 1, at + len(text), generation, build_id, 20, 0,
                       0, 0, 0, 0, 0, len(names), 128, 0, 0, 0, 0, 0, 0, len(text), at, 0, 0)
    return head.ljust(128, b"\0") + sites + text


def calls_file(path, n_functions, areas, pid=PID, hook=0, states=()):
    """A sparse file.  states: {number: (state, calls, ns)}."""
    head = struct.pack("<QIIQQQIIQQIIQIIIIQQ64s64sII", 0x736c6c6163746575, 1, pid, 1, 1, 1, 1, 0, 1 << 32, 0, 0, 0, 0, 1,
                       n_functions + 1, len(areas), hook << 8, 0, 0, b"session", b"made", 0, 0)
    obj = struct.pack("<QQQQIIIIII20s180s", 0, 0, 0, 1, 1, n_functions, n_functions, 0, 1, 20, BUILD_ID, b"/bin/made")
    with open(path, "wb") as f:
        f.write(head)
        f.seek(OBJECTS_AT)
        f.write(obj)
        for number, state in dict(states).items():
            f.seek(FUNCTIONS_AT + 16 * number)
            f.write(struct.pack("<IIQ", *state))
        for i, area in enumerate(areas):
            f.seek(THREADS_AT + i * AREA)
            f.write(area)
        f.truncate(THREADS_AT + len(areas) * AREA)


def program(where, names, events, kernel_events=(), areas=(), **more):
    """A recording in `where`.  areas: of the calls file."""
    for d in ("calls", "plans"):
        os.makedirs(os.path.join(where, ".duet", d))
    if events:
        ust(os.path.join(where, "ust"), events)
    if kernel_events:
        kernel(os.path.join(where, "kernel"), list(kernel_events))
    calls_file(os.path.join(where, ".duet/calls/%d-1" % PID), len(names), areas, **more)
    with open(os.path.join(where, ".duet/plans", BUILD_ID.hex()), "wb") as f:
        f.write(plan(names))
    return where
