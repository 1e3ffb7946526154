#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/far.py DUET - `duet view --from` on a recording of 20 MB: the lines are those of the whole reading, and
the second reader begins at a mark (docs/design/reading/far.md)."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

DUET = sys.argv[1]
UUID = bytes(range(16))
PACKETS, EVENTS, CPUS = 40, 8000, 2
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f"; byte_order = le;
  packet.header := struct { u32 magic; u8 uuid[16]; u32 stream_id; }; };
env { domain = "kernel"; hostname = "host"; };
clock { name = c; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := t64;
stream { id = 0;
  packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 packet_size;
    u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };
  event.header := struct { u8 id; t64 timestamp; }; };
event { name = "sched_switch"; id = 0; stream_id = 0; fields := struct { integer { size = 8; encoding = UTF8; }
  _prev_comm[8]; s32 _prev_tid; integer { size = 8; encoding = UTF8; } _next_comm[8]; s32 _next_tid; }; };
event { name = "tick"; id = 1; stream_id = 0; fields := struct { u32 _n; s32 _a; s32 _b; s32 _c; s32 _d; s32 _e; }; };
"""
failed = 0


def ok(good, what):
    global failed
    failed += not good
    print("%s %s" % ("ok" if good else "not ok", what), flush=True)


def packet(sequence, cpu, begin, end, body):
    bits = (24 + 52 + len(body)) * 8
    return struct.pack("<I16sI6QI", 0xC1FC1FC1, UUID, 0, begin, end, bits, bits, sequence, 0, cpu) + body


def record(path):
    """Switches come in the first packets only, so the names of later events are far away from them."""
    r = random.Random(5)
    os.makedirs(path + "/kernel")
    os.mkdir(path + "/.duet")
    with open(path + "/kernel/metadata", "w") as f:
        f.write(METADATA)
    for cpu in range(CPUS):
        now = 1000
        with open("%s/kernel/kernel_%d" % (path, cpu), "wb") as f:
            for sequence in range(PACKETS):
                begin, body = now, []
                for i in range(EVENTS):
                    now += r.randrange(300)
                    if sequence % 30 == 0 and i % 50 == 0:
                        body.append(struct.pack("<BQ8si8si", 0, now, b"n%d" % r.randrange(99), r.randrange(1, 50),
                                                b"n%d" % r.randrange(99), r.randrange(1, 50)))
                    else:
                        body.append(struct.pack("<BQI5i", 1, now, i, 1, 2, 3, 4, 5))
                f.write(packet(sequence, cpu, begin, now, b"".join(body)))
    return now


def view(path, *arguments, env=None):
    r = subprocess.run([DUET, "view", "--time=epoch", "--columns=time,cpu,thread,fields", *arguments, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env=dict(os.environ, **(env or {})))
    return r.stdout.decode(), r.stderr.decode()


def lines_between(lines, times, begin, end):
    return "".join(line for line, t in zip(lines, times) if begin <= t <= end)


def main():
    r = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="duet-far-") as work:
        path, cache = work + "/r", {"XDG_CACHE_HOME": work + "/cache"}
        length = record(path)
        index = path + "/.duet/names-index"
        whole, _ = view(path, env=cache)
        ok(os.path.getsize(index) > 1000, "a whole reading leaves marks")
        ok(os.stat(index).st_mode & 0o777 == 0o600, "they are the user's own")
        lines = re.findall(r"[^\n]*\n", whole)
        times = [int(x.split(".")[0]) * 10**9 + int(x.split(".")[1].split()[0]) - 17 * 10**17 for x in lines]
        ok(len(lines) == PACKETS * EVENTS * CPUS, "all are shown")

        def is_same(begin, end, **more):
            out, err = view(path, "--from=%d.%09d" % (17 * 10**8, begin), "--to=%d.%09d" % (17 * 10**8, end), **more)
            return out == lines_between(lines, times, begin, end), err

        good = True
        for _ in range(25):
            begin = r.randrange(1000, length)
            same, err = is_same(begin, begin + r.choice((100, 10**4, 10**5)), env=cache)
            good = good and same and "names-index" not in err
        ok(good, "far lines are those of the whole reading")

        last = length - 5000
        ok(is_same(last, length, env=cache)[0], "the last lines, too")
        with open(index, "r+b") as f:
            f.seek(-8, 2)
            tail = f.read()
            f.seek(-8, 2)
            f.write(bytes(b ^ 1 for b in tail))
        same, err = is_same(last, length, env=cache)
        ok(same and "names-index was not used: it is damaged" in err, "a damaged file is reported and not used")
        same, err = is_same(last, length, env=cache)
        ok(same and "names-index" not in err, "then there is a new one")

        os.unlink(index)
        os.rmdir(path + "/.duet")
        ok(is_same(last, length, env=cache)[0] and len(os.listdir(work + "/cache/duet")) == 1,
           "a recording that cannot be written to has them in the cache")
        same, err = is_same(last, length, env=cache)
        ok(same and "names-index" not in err, "and they are read from there")
        nowhere = {"XDG_CACHE_HOME": "", "HOME": "/proc/nowhere"}
        ok(is_same(last, length, env=nowhere)[0], "or nowhere")
    return failed > 0


sys.exit(main())
