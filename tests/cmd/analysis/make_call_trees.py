# SPDX-License-Identifier: MIT
"""Makes recordings of calls of programs by hand: batches, a calls file and a plan (docs/formats/calls.md).

    r = calls(where + "/r", {11: [("main", 1000, 9000, [("work", 2000, 3000, [])])]})

makes a recording of process 10, whose thread 11 called main at 1000 ns and work within it.  A call that did not return
has the end None; it must be the last of its siblings.  A quantum is one nanosecond.
"""
import os
import struct

from make import Hex, ust

BUILD_ID = bytes(range(0xa0, 0xb4))
BIAS = 0x555500000000
OBJECT = "/opt/shop/bin/shop"
OBJECTS_AT, OBJECTS, FUNCTIONS, THREAD_BYTES, BATCH_BYTES, HEAD_BYTES = 4096, 1024, 1 << 18, 256 << 10, 8192, 4088
FUNCTIONS_AT = OBJECTS_AT + OBJECTS * 256
THREADS_AT = FUNCTIONS_AT + FUNCTIONS * 16
SAME, PARENT, CHILD, DEPTH = range(4)


def leb(v):
    out = b""
    while True:
        out += bytes([v & 127 | (128 if v > 127 else 0)])
        v >>= 7
        if not v:
            return out


def zigzag(v):
    return v << 1 if v >= 0 else (-v << 1) - 1


class Calls:
    """Functions get numbers and addresses in the order in which they first appear."""

    def __init__(self):
        self.functions = []

    def number(self, name):
        if name not in self.functions:
            self.functions.append(name)
        return self.functions.index(name) + 1

    def address(self, name):
        return 0x1000 + 64 * (self.number(name) - 1)

    def exits(self, trees, depth=0):
        """(begin, end, name, depth, is_unwound) in the order of exits; then the open ones, outermost first."""
        closed, opened = [], []
        for name, begin, end, inner, *unwound in trees:
            c, o = self.exits(inner, depth + 1)
            closed += c
            if end is None:
                opened += [(begin, name, depth)]
            else:
                closed += [(begin, end, name, depth, bool(unwound and unwound[0]))]
            opened += o
        return closed, opened

    def batch(self, base, closed, opened):
        out, last, before = b"", base, None
        for begin, end, name, depth, unwound in closed:
            if unwound:
                out += leb(0) * 2 + leb(2) + leb(2) + leb(0)
            how = DEPTH if before is None else {0: SAME, -1: PARENT, 1: CHILD}.get(depth - before, DEPTH)
            out += leb(end - last) + leb(end - begin) + leb(self.number(name) << 2 | how)
            if how == DEPTH:
                out += leb(depth)
            last, before = end, depth
        for begin, name, depth in opened:
            out += leb(0) * 2 + leb(1) + leb(self.number(name)) + leb(depth) + leb(zigzag(last - begin))
        return out

    def plan(self):
        text, offsets = b"\0", []
        for name in self.functions + [OBJECT]:
            offsets.append(len(text))
            text += name.encode() + b"\0"
        n = len(self.functions)
        sites = b"".join(struct.pack("<QQIIIIIIQIHHHBBBB6s16s4x", self.address(f), self.address(f), 64, offsets[i], 0, 0, 0,
                                     0, 0, 0, 0, 0, 0, 4, 5, 0, 0, b"", b"") for i, f in enumerate(self.functions))
        at = 128 + len(sites)
        size = at + len(text)
        return struct.pack("<QIIQ20sIIIQIIIIIIIIIIIIIII4x", 0x6e616c7074656475, 1, size, 1, BUILD_ID, 20, 0, 0, 0, 0, 0, 0,
                           n, 128, 0, at, 0, at, 0, at, len(text), at, offsets[-1], 0) + sites + text

    def file(self, pid, program, hook_ticks, elided, threads, mode=0, lost=0):
        """elided: name: (calls, ns).  threads: (tid, sequence, [(begin, name), ...] open, [path, ..] of a profile)."""
        out = bytearray(THREADS_AT + THREAD_BYTES * len(threads))
        struct.pack_into("<QIIQQQIIQQIIQIIIIQQ64s64sII", out, 0, 0x736c6c6163746575, 1, pid, 1, 1, 1, 1, 0, 1 << 32, 0, 0,
                         mode, 0, 1, len(self.functions) + 1, len(threads), hook_ticks << 8, lost, 0, b"default",
                         program.encode(), 0, 0)
        struct.pack_into("<QQQQIIIIII20s180s", out, OBJECTS_AT, BIAS, 0, 0, 1, 1, len(self.functions),
                         len(self.functions), 0, 1, 20, BUILD_ID, OBJECT.encode())
        for i, name in enumerate(self.functions):
            calls, ns = elided.get(name, (0, 0))
            struct.pack_into("<IIQ", out, FUNCTIONS_AT + 16 * (i + 1), 2 if name in elided else 1, calls, ns)
        for i, (tid, sequence, frames, paths) in enumerate(threads):
            at = THREADS_AT + i * THREAD_BYTES
            struct.pack_into("<IIIIIIQQ", out, at, tid, 1, len(frames), 0, sequence, len(paths), 0, 8000)
            for k, (begin, name) in enumerate(frames):
                struct.pack_into("<QII", out, at + HEAD_BYTES + 2 * BATCH_BYTES + 16 * k, begin, self.number(name), 1)
            for k, (parent, name, n, sampled, ns) in enumerate(paths):
                struct.pack_into("<IIQQQII", out, at + HEAD_BYTES + 2 * BATCH_BYTES + 16 * 2048 + 40 * k, parent,
                                 self.number(name) if name else 0, n, sampled, ns, 0, 0)
        return bytes(out)


def batch_event(time, thread, sequence, base, data, lost=0, flags=0):
    return (time, 0, thread, "duet_calls:batch",
            dict(sequence=Hex(sequence), lost=Hex(lost), base_ns=Hex(base), mult=Hex(1 << 32), shift=Hex(0),
                 flags=Hex(flags), calls=data))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def calls(r, threads, events=(), pid=10, program="shop", hook_ns=0, elided={}, lost=0):
    """threads: tid: trees.  events: more events of programs, as make.ust() takes them.  Returns r."""
    made, batches, areas = Calls(), [], []
    for tid, trees in threads.items():
        closed, opened = made.exits(trees)
        base = min(t[1] for t in trees)
        last = max([c[1] for c in closed] + [base])
        batches.append(batch_event(last + 10, (pid, tid), 0, base, made.batch(base, closed, opened), lost))
        areas.append((tid, 1, [(begin, name) for begin, name, _ in opened], []))
    for name in elided:
        made.number(name)
    ust(r + "/ust/uid/0/64-bit", sorted(list(events) + batches, key=lambda e: e[0]))
    write("%s/.duet/calls/%d-1" % (r, pid), made.file(pid, program, hook_ns, elided, areas))
    write("%s/.duet/plans/%s" % (r, BUILD_ID.hex()), made.plan())
    return r


def profile(r, tid, paths, pid=10, program="shop"):
    """paths: (parent, function, calls, sampled, ns), the first is the root: (0, "", 0, 0, 0)."""
    made = Calls()
    for _, name, *_ in paths[1:]:
        made.number(name)
    ust(r + "/ust/uid/0/64-bit", [(1000, 0, (pid, tid), "shop:start", dict(n=1))])
    write("%s/.duet/calls/%d-1" % (r, pid), made.file(pid, program, 0, {}, [(tid, 0, [], paths)], mode=3))
    write("%s/.duet/plans/%s" % (r, BUILD_ID.hex()), made.plan())
    return r
