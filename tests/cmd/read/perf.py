#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/perf.py DUET - CTF with the layout of `perf data convert --to-ctf`: Babeltrace 2 and duet agree.

Debian's perf is built without that command, so the layout is made here: env domain = "kernel" and tracer_name =
"perf", a clock perf_clock, a stream per CPU of class 0, event headers of a 32-bit id and a 64-bit time, fields
perf_* before those of the tracepoint.  Tracepoints are named with their system ("sched:sched_switch").  Call chains
and raw bytes are sequences; with --all there are perf_comm, perf_fork and the like.  Exit: 0, 1 no agreement, 77 no
Babeltrace.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agree  # exits with 77 without bt2

INT = "integer { size = %d; align = 8; signed = %s; encoding = none; base = %s; byte_order = le; }"
S32, U32, S64, U64 = (INT % (n, s, "decimal") for n, s in ((32, "true"), (32, "false"), (64, "true"), (64, "false")))
HEX32, HEX64 = INT % (32, "false", "hexadecimal"), INT % (64, "false", "hexadecimal")
TEXT = "string { encoding = UTF8; }"
TIME = ("integer { size = 64; align = 8; signed = false; encoding = none; base = decimal; byte_order = le; "
        "map = clock.perf_clock.value; }")
BASIC = [("perf_ip", HEX64), ("perf_tid", S32), ("perf_pid", S32), ("perf_id", U64), ("perf_period", U64)]
COMMON = [("common_type", U64), ("common_flags", U64), ("common_preempt_count", U64), ("common_pid", S64)]
EVENTS = [
    ("sched:sched_switch", BASIC + COMMON + [("prev_comm", TEXT), ("prev_pid", S64), ("prev_prio", S64), ("prev_state", HEX64),
                                             ("next_comm", TEXT), ("next_pid", S64), ("next_prio", S64)]),
    ("sched:sched_waking", BASIC + COMMON + [("comm", TEXT), ("pid", S64), ("prio", S64), ("target_cpu", S64)]),
    ("raw_syscalls:sys_enter", BASIC + COMMON + [("id", S64), ("args", "%s _args[ 6 ]" % HEX64)]),
    ("cycles:u", BASIC + [("perf_callchain_size", U32), ("perf_callchain", "%s _perf_callchain[ _perf_callchain_size ]" % HEX64)]),
    ("bpf-output", BASIC + [("raw_len", U32), ("raw_data", "%s _raw_data[ _raw_len ]" % HEX32)]),
    ("perf_comm", [("pid", U32), ("tid", U32), ("comm", TEXT)]),
    ("perf_fork", [("pid", U32), ("ppid", U32), ("tid", U32), ("ptid", U32), ("time", U64)]),
]
UUID = bytes(range(16))


def metadata():
    text = """/* CTF 1.8 */

trace {
	major = 1;
	minor = 8;
	uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f";
	byte_order = le;
	packet.header := struct {
		%s magic;
		integer { size = 8; align = 8; signed = false; encoding = none; base = decimal; byte_order = le; } uuid[16];
		%s stream_id;
	} align(8);
};

env {
	domain = "kernel";
	host = "machine";
	sysname = "Linux";
	release = "6.18.0";
	version = "perf";
	machine = "x86_64";
	tracer_name = "perf";
};

clock {
	name = perf_clock;
	uuid = "10111213-1415-1617-1819-1a1b1c1d1e1f";
	description = "perf clock";
	freq = 1000000000;
	precision = 1;
	offset_s = 0;
	offset = 0;
	absolute = FALSE;
};

stream {
	id = 0;
	event.header := struct {
		%s id;
		%s timestamp;
	} align(8);
	packet.context := struct {
		%s timestamp_begin;
		%s timestamp_end;
		%s content_size;
		%s packet_size;
		%s events_discarded;
		%s cpu_id;
	} align(8);
};
""" % (HEX32, U32, U32, TIME, TIME, TIME, U64, U64, U64, U32)
    for number, (name, fields) in enumerate(EVENTS):
        text += '\nevent {\n\tname = "%s";\n\tid = %d;\n\tstream_id = 0;\n\tfields := struct {\n' % (name, number)
        for field, what in fields:
            text += "\t\t%s;\n" % (what if what.endswith("]") else "%s _%s" % (what, field))
        text += "\t} align(8);\n};\n"
    return text


def value(r, field, what):
    if what == TEXT:
        return r.choice((b"swapper/0", b"kworker/u8:1-fl", b"", b"s\xc3\xa4ge")) + b"\0"
    if field == "args":
        return struct.pack("<6Q", *(r.getrandbits(64) for _ in range(6)))
    size = 8 if "size = 64" in what else 4
    return r.getrandbits(8 * size if r.random() < 0.2 else 20).to_bytes(size, "little")


def payload(r, fields):
    out, length = b"", 0
    for field, what in fields:
        if field in ("perf_callchain_size", "raw_len"):
            length = r.choice((0, 1, 2, 7, 40))
            out += struct.pack("<I", length)
        elif field in ("perf_callchain", "raw_data"):
            size = 8 if "size = 64" in what else 4
            out += b"".join(r.getrandbits(8 * size).to_bytes(size, "little") for _ in range(length))
        else:
            out += value(r, field, what)
    return out


def packet(r, cpu, time, discarded):
    begin, body = time, b""
    for _ in range(r.randrange(1, 60)):
        time += r.randrange(2000)
        number = r.randrange(len(EVENTS))
        body += struct.pack("<IQ", number, time) + payload(r, EVENTS[number][1])
    content = 24 + 44 + len(body)
    size = (content + 4095) // 4096 * 4096
    head = struct.pack("<I", 0xC1FC1FC1) + UUID + struct.pack("<I", 0)
    return (head + struct.pack("<5QI", begin, time, content * 8, size * 8, discarded, cpu) + body).ljust(size, b"\0"), time


def make(path, seed):
    r = random.Random(seed)
    os.makedirs(path)
    with open(path + "/metadata", "w") as f:
        f.write(metadata())
    for cpu in range(r.randrange(1, 5)):
        time, discarded = 1000000 + r.randrange(5000), 0
        with open("%s/perf_stream_%d" % (path, cpu), "wb") as f:
            for _ in range(r.randrange(1, 9)):
                packed, time = packet(r, cpu, time + r.randrange(3000), discarded)
                discarded += r.randrange(5) if r.random() < 0.1 else 0
                f.write(packed)


def main():
    duet = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="duet-perf-") as d:
        good = True
        for seed in range(12):
            make("%s/%d" % (d, seed), seed)
            good = agree.compare([duet, "view"], "%s/%d" % (d, seed)) and good
        # An event with a system in its name is selected by either name.
        lines = subprocess.run([duet, "view", "--json", "-e", "sched_switch", d + "/0"], stdout=subprocess.PIPE, check=True).stdout
        n = [json.loads(line)["event"] for line in lines.splitlines()]
        both = subprocess.run([duet, "view", "--json", "-e", "sched:sched_switch", d + "/0"], stdout=subprocess.PIPE, check=True).stdout
        if not n or set(n) != {"sched:sched_switch"} or both != lines:
            print("-e sched_switch: %r" % set(n))
            good = False
        for verb in (["stats"], ["repair"]):
            r = subprocess.run([duet, *verb, d + "/0", *([d + "/whole"] if verb == ["repair"] else [])], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
            if r.returncode or r.stderr:
                print("%s: %d, %s" % (verb, r.returncode, r.stderr))
                good = False
        return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
