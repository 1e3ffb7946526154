#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/random_ctf.py - unusual CTF 1.8 traces: random types, random bits.

make(directory, seed): byte order, packetised metadata or plain, magic, uuid, headers, contexts; integers of 1 to 64
bits at alignments of 1 to 64 and either order, floats, enums, strings, text, arrays and sequences, structs and
variants in each other.  The same seed makes the same trace.
"""
import os
import random
import struct
import uuid


class Bits:
    """Bits in the layout of CTF; numbers of both orders never share a byte."""

    def __init__(self):
        self.bytes = bytearray()
        self.at = 0

    def align(self, n):
        self.put_zeros(-self.at % n)

    def put_zeros(self, n):
        self.at += n
        self.bytes.extend(b"\0" * ((self.at + 7) // 8 - len(self.bytes)))

    def put(self, v, size, big):
        v &= (1 << size) - 1
        start = self.at
        self.put_zeros(size)
        for i in range(size):
            at = start + i
            if big:
                self.bytes[at // 8] |= (v >> (size - 1 - i) & 1) << (7 - at % 8)
            else:
                self.bytes[at // 8] |= (v >> i & 1) << (at % 8)

    def put_bytes(self, b):
        self.align(8)
        self.bytes.extend(b)
        self.at += 8 * len(b)


class Integer:
    def __init__(self, r, order, size=None, align=None, signed=None, clock=None, base=None):
        self.size = size or r.choice((1, 3, 5, 7, 8, 8, 13, 16, 16, 24, 31, 32, 32, 33, 48, 63, 64, 64))
        self.signed = r.random() < 0.5 if signed is None else signed
        whole = self.size % 8 == 0
        self.align = align or (r.choice((8, 8, 8, 16, 32, 64)) if whole or r.random() < 0.2 else 1)
        # Within a byte the trace's order is used: the next field may share that byte.
        self.big = (r.choice((order, not order)) if whole and self.align >= 8 else order) if clock is None else order
        self.clock, self.base = clock, base or r.choice((10, 10, 16, 8, 2))

    def text(self):
        return "integer { size = %d; align = %d; signed = %s; byte_order = %s; base = %d;%s }" % (
            self.size, self.align, str(self.signed).lower(), "be" if self.big else "le", self.base,
            " map = clock.%s.value;" % self.clock if self.clock else "")

    def draw(self, r):
        top = 1 << self.size
        v = r.choice((0, 1, top - 1, top >> 1, r.randrange(top)))
        return v - top if self.signed and v >= top >> 1 else v

    def write(self, bits, r, v=None):
        bits.align(self.align)
        bits.put(self.draw(r) if v is None else v, self.size, self.big)


class Float:
    def __init__(self, r, order):
        self.size, self.big = r.choice((32, 64)), order
        self.align = r.choice((8, 32))

    def text(self):
        return "floating_point { exp_dig = %d; mant_dig = %d; align = %d; byte_order = %s; }" % (
            8 if self.size == 32 else 11, 24 if self.size == 32 else 53, self.align, "be" if self.big else "le")

    def write(self, bits, r):
        bits.align(self.align)
        v = r.choice((0.0, -1.5, 3.25, 1e30, -1e-30, r.random()))
        bits.put_bytes(struct.pack((">" if self.big else "<") + ("f" if self.size == 32 else "d"), v))


class Text:
    def text(self):
        return r"string { encoding = UTF8; }"

    def write(self, bits, r):
        bits.align(8)
        # Never empty: Babeltrace 2.0.4 shows an earlier text for it.
        bits.put_bytes("".join(r.choice("abcXYZ \"\\{}\t\u00e4\u20ac") for _ in range(r.randrange(1, 20))).encode() + b"\0")


class Enum:
    def __init__(self, r, order, labels=None):
        self.of = Integer(r, order, size=r.choice((8, 8, 16, 32, 5)), signed=False)
        self.labels = labels or ["L%d" % i for i in range(r.randrange(1, 5))]

    def text(self):
        return "enum : %s { %s }" % (self.of.text(), ", ".join(
            "%s = %d ... %d" % (n, 3 * i, 3 * i + 2) for i, n in enumerate(self.labels)))

    def write(self, bits, r, label=None):
        i = r.randrange(len(self.labels)) if label is None else label
        self.of.write(bits, r, 3 * i + r.randrange(3))
        return i


class Struct:
    """Members as (name, type); a Sequence's length and a Variant's tag are members before it."""

    def __init__(self, members, align=None):
        self.members, self.align = members, align

    def text(self):
        lines = []
        for name, t in self.members:
            suffix = ""
            while isinstance(t, (Array, Sequence)):
                suffix += "[ %s ]" % t.length
                t = t.of
            lines.append("%s %s%s;" % (t.text(), name, suffix))
        return "struct { %s }%s" % (" ".join(lines), " align(%d)" % self.align if self.align else "")

    def alignment(self):
        return max([alignment(t) for _, t in self.members] + [self.align or 1])

    def write(self, bits, r, **given):
        bits.align(self.alignment())
        known = {}
        for name, t in self.members:
            if isinstance(t, (Sequence, Variant)):
                t.write(bits, r, known)
            elif name in given:
                t.write(bits, r, given[name])
            elif name.startswith("_len"):
                known[name] = r.randrange(5)
                t.write(bits, r, known[name])
            elif name.startswith("_tag"):
                known[name] = t.write(bits, r)
            else:
                t.write(bits, r)


class Array:
    def __init__(self, of, length):
        self.of, self.length = of, length

    def write(self, bits, r):
        bits.align(alignment(self.of))
        for _ in range(self.length):
            self.of.write(bits, r)


class Sequence:
    def __init__(self, of, length):
        self.of, self.length = of, length

    def write(self, bits, r, known):
        bits.align(alignment(self.of))
        for _ in range(known[self.length]):
            self.of.write(bits, r)


class Variant:
    def __init__(self, tag, options):
        self.tag, self.options = tag, options

    def text(self):
        return "variant <%s> { %s }" % (self.tag, " ".join("%s %s;" % (t.text(), n) for n, t in self.options))

    def write(self, bits, r, known):
        self.options[known[self.tag]][1].write(bits, r)


def alignment(t):
    if isinstance(t, Struct):
        return t.alignment()
    if isinstance(t, (Array, Sequence)):
        return alignment(t.of)
    if isinstance(t, Enum):
        return t.of.align
    if isinstance(t, Text):
        return 8
    return 1 if isinstance(t, Variant) else t.align


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.big = self.r.random() < 0.5
        self.n = 0
        self.is_context = False

    def simple(self):
        kind = self.r.randrange(10)
        if kind < 6:
            return Integer(self.r, self.big)
        return (Float(self.r, self.big), Text(), Enum(self.r, self.big), Text())[kind - 6]

    def name(self, what="f"):
        self.n += 1
        return "_%s%d" % (what, self.n)

    def fields(self, depth):
        """Members for a struct, with the lengths and tags they need.  Not in an event's
        own context: Babeltrace 2.0.4 fails an assertion there (ctf-meta-update-value-storing-indexes.c)."""
        members = []
        for _ in range(self.r.randrange(1, 6)):
            kind = self.r.randrange(8 if self.is_context else 12)
            if kind < 6 or depth >= 3:
                members.append((self.name(), self.simple()))
            elif kind < 8:
                members.append((self.name(), Array(self.element(depth), self.r.randrange(1, 4))))
            elif kind < 10:
                length = self.name("len")
                members.append((length, Integer(self.r, self.big, size=self.r.choice((8, 16, 32)), signed=False)))
                members.append((self.name(), Sequence(self.element(depth), length)))
            elif kind == 10:
                members.append((self.name(), self.struct(depth)))
            else:
                tag, labels = self.name("tag"), ["A", "B", "C"][:self.r.randrange(1, 4)]
                members.append((tag, Enum(self.r, self.big, labels)))
                members.append((self.name(), Variant(tag, [(n, self.element(depth)) for n in labels])))
        return members

    def element(self, depth):
        if self.r.random() > 0.25 or depth >= 2:
            return self.simple()
        return self.struct(depth)

    def struct(self, depth):
        return Struct(self.fields(depth + 1))

    def event_context(self):
        self.is_context = True
        t = Struct(self.fields(2))
        self.is_context = False
        return t


def write_metadata(path, text, r, big, ident):
    """Plain, or in packets of either order."""
    data = text.encode()
    if r.random() < 0.5:
        order = ">" if big else "<"
        packed = b""
        while data:
            size = r.randrange(300, 4000)
            piece, data = data[:size], data[size:]
            content = 37 + len(piece)
            room = content + r.choice((0, 11, 64))
            packed += struct.pack(order + "I16sIIIBBBBB", 0x75D11D57, ident.bytes, 0, content * 8, room * 8,
                                  0, 0, 0, 1, 8) + piece + b"\0" * (room - content)
        data = packed
    with open(path, "wb") as f:
        f.write(data)


def make(directory, seed):
    m = Maker(seed)
    r, big = m.r, m.big
    ident = uuid.UUID(int=r.getrandbits(128))
    frequency = 1000000000  # Babeltrace 2.0.4 rounds others through floating point
    time = Integer(r, big, size=r.choice((64, 32, 27)), align=8, signed=False, clock="c")
    wide = Integer(r, big, size=64, align=8, signed=False, clock="c")
    word = Integer(r, big, size=32, align=8, signed=False)
    head = Struct([("id", Integer(r, big, size=r.choice((8, 16)), align=8, signed=False)), ("timestamp", time)])
    plain = Integer(r, big, size=64, align=8, signed=False)
    word.big = plain.big = big
    head.members[0][1].big = big
    packet = Struct([("timestamp_begin", wide), ("timestamp_end", wide), ("content_size", plain),
                     ("packet_size", plain), ("events_discarded", plain), ("cpu_id", word)])
    common = Struct(m.fields(1)) if r.random() < 0.5 else None
    classes = [(m.event_context() if r.random() < 0.3 else None, Struct(m.fields(0))) for _ in range(r.randrange(1, 6))]
    text = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; uuid = \"%s\"; byte_order = %s; packet.header := struct {\n" \
        "%s magic; integer { size = 8; align = 8; signed = false; } uuid[16]; %s stream_id; }; };\n" \
        "clock { name = c; freq = %d; offset_s = 1600000000; offset = %d; };\n" \
        "stream { id = 7; packet.context := %s; event.header := %s; %s};\n" % (
            ident, "be" if big else "le", word.text(), word.text(), frequency, r.randrange(frequency),
            packet.text(), head.text(), "event.context := %s; " % common.text() if common else "")
    for i, (context, fields) in enumerate(classes):
        text += "event { id = %d; name = \"random:e%d\"; stream_id = 7; %sfields := %s; };\n" % (
            i, i, "context := %s; " % context.text() if context else "", fields.text())
    write_metadata(os.path.join(directory, "metadata"), text, r, big, ident)
    for stream in range(r.randrange(1, 4)):
        write_stream(os.path.join(directory, "s%d" % stream), r, big, ident, (word, packet, head, common, classes), stream)


def write_stream(path, r, big, ident, types, cpu):
    word, packet, head, common, classes = types
    now = r.randrange(1 << 40)
    with open(path, "wb") as f:
        for _ in range(r.randrange(1, 4)):
            begin, body = now, None
            # Written twice: sizes and the end are known only after the events; the same random values are used again.
            state = r.getstate()
            sizes = (0, 0, 0)
            for turn in range(2):
                r.setstate(state)
                now = begin
                bits = Bits()
                word.write(bits, r, 0xC1FC1FC1)
                bits.put_bytes(ident.bytes)
                word.write(bits, r, 7)
                packet.write(bits, r, timestamp_begin=begin, timestamp_end=sizes[0], content_size=sizes[1],
                             packet_size=sizes[2], events_discarded=0, cpu_id=cpu)
                for _ in range(r.randrange(1, 30)):
                    now += r.randrange(1000)
                    i = r.randrange(len(classes))
                    head.write(bits, r, id=i, timestamp=now)
                    for t in (common, *classes[i]):
                        if t:
                            t.write(bits, r)
                content = bits.at
                bits.align(8)
                bits.put_zeros(8 * r.choice((0, 3, 100)))
                sizes = (now, content, bits.at)
            f.write(bits.bytes)
            now += 1000000


if __name__ == "__main__":
    import sys
    os.makedirs(sys.argv[1], exist_ok=True)
    make(sys.argv[1], int(sys.argv[2]))
