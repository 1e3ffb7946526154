# SPDX-License-Identifier: MIT
"""Makes recordings by hand: takes a list of events, writes a directory that `duet` reads.

    kernel(directory, [
        (1000, 0, 7, "sched_switch", dict(prev_comm="a", prev_tid=7, ...)),  # time ns, cpu, tid, name, fields
        LOST(2000, 0, 5),                                                    # 5 events of cpu 0 lost here
    ])
    ust(directory, [(1000, 0, (10, 11), "shop:order", dict(id=3))])          # the thread is (vpid, vtid)

Integers become 64-bit signed fields, text becomes strings, bytes and lists of integers sequences.  Times count from
2023-11-14 22:13:20 UTC.
"""
import os
import struct

EPOCH = 1700000000 * 10**9
UUID = bytes(range(16))
HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
trace { major = 1; minor = 8; uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f"; byte_order = le;
  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };
env { domain = "%s"; hostname = "host";%s };
clock { name = c; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time64;
stream { id = 0;
  packet.context := struct { time64 timestamp_begin; time64 timestamp_end; uint64_t content_size;
    uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };
  event.header := struct { time64 timestamp; uint16_t id; };
  event.context := struct { %s }; };
"""
HEADER_BYTES = 10


class Hex(int):
    """A number with hexadecimal as its display base."""


def LOST(time, cpu, n):
    return (time, cpu, None, None, n)


def _encode(value):
    if isinstance(value, str):
        return value.encode() + b"\0"
    if isinstance(value, bytes):
        return struct.pack("<H", len(value)) + value
    if isinstance(value, list):
        return struct.pack("<H", len(value)) + b"".join(map(_encode, value))
    return struct.pack("<q", value if value < 2**63 else value - 2**64)


def _field(name, value):
    if isinstance(value, (bytes, list)):
        element = "uint8_t" if isinstance(value, bytes) else "int64_t"
        return "uint16_t __%s_length; %s _%s[__%s_length];" % (name, element, name, name)
    if isinstance(value, Hex):
        return "integer { size = 64; align = 8; base = 16; } _%s;" % name
    return "%s _%s;" % ("string" if isinstance(value, str) else "int64_t", name)


class _Stream:
    def __init__(self, cpu):
        self.cpu, self.bytes, self.sequence, self.discarded = cpu, b"", 0, 0
        self.begin_packet(0)

    def begin_packet(self, time):
        self.body, self.begin = bytearray(), time

    def end_packet(self, time):
        bits = (24 + 52 + len(self.body)) * 8
        self.bytes += (struct.pack("<I", 0xC1FC1FC1) + UUID + struct.pack("<I", 0) +
                       struct.pack("<6QI", self.begin, time, bits, bits, self.sequence, self.discarded,
                                   self.cpu) + self.body)
        self.sequence += 1


def _make(directory, domain, context, context_text, events, env=""):
    ids, metadata, streams, time = {}, HEAD % (domain, env, context_text), {}, 0
    for time, cpu, thread, name, fields in events:
        s = streams.setdefault(cpu, _Stream(cpu))
        if name is None:
            s.end_packet(time)
            s.begin_packet(time)
            s.discarded += fields
            continue
        if name not in ids:
            ids[name] = len(ids)
            metadata += 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s }; };\n' % (
                name, ids[name], " ".join(_field(k, v) for k, v in fields.items()))
        s.body += (struct.pack("<QH", time, ids[name]) + context(thread) +
                   b"".join(_encode(v) for v in fields.values()))
    os.makedirs(directory)
    with open(os.path.join(directory, "metadata"), "w") as f:
        f.write(metadata)
    for cpu, s in streams.items():
        s.end_packet(time)
        with open(os.path.join(directory, "cpu_%d" % cpu), "wb") as f:
            f.write(s.bytes)
    return directory


def kernel(directory, events, **env):
    """env: further entries of the environment, texts."""
    return _make(directory, "kernel", lambda tid: struct.pack("<i", tid), "int32_t _tid;", events,
                 "".join(' %s = "%s";' % entry for entry in env.items()))


def ust(directory, events, contexts=()):
    """contexts: names of further contexts; the threads give their values behind vpid and vtid."""
    first = next(e[2] for e in events if e[2])
    return _make(directory, "ust", lambda t: struct.pack("<ii", *t[:2]) + b"".join(map(_encode, t[2:])),
                 "int32_t _vpid; int32_t _vtid; " + " ".join(map(_field, contexts, first[2:])), events)


def switch(time, cpu, prev, following, state=0):
    """prev and following are (comm, tid)."""
    return (time, cpu, prev[1], "sched_switch", dict(
        prev_comm=prev[0], prev_tid=prev[1], prev_prio=20, prev_state=state, next_comm=following[0],
        next_tid=following[1], next_prio=20))


def wakeup(time, cpu, by, who, name="sched_waking"):
    return (time, cpu, by[1], name, dict(comm=who[0], tid=who[1], prio=20, target_cpu=cpu))
