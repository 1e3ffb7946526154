#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/far.py DUET - `duet view --from` on recordings of 20 MB: the lines are those of the whole reading.  The
second reader of a kernel begins at a mark, and every reader of applications near the time, also beside a small kernel
(docs/design/reading/far.md)."""
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
TASK = """event { name = "task_newtask"; id = 2; stream_id = 0; fields := struct { s32 _pid; u64 _clone_flags; }; };
"""
APPLICATION = METADATA[:METADATA.index("env")] + """env { domain = "ust"; hostname = "host"; };
""" + METADATA[METADATA.index("clock {"):METADATA.index("stream {")] + "".join("""stream { id = %d;
  packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 content_size; u64 packet_size;
    u64 packet_seq_num; u64 events_discarded; u32 cpu_id; };
  event.header := struct { u8 id; t64 timestamp; }; event.context := struct { s32 _vpid; s32 _vtid; }; };
""" % i for i in (0, 16)) + """event { name = "shop:order"; id = 0; stream_id = 0; fields := struct { u32 _n; s32 _a; s32 _b; s32 _c; }; };
event { name = "lttng_ust_statedump:procname"; id = 0; stream_id = 16; fields := struct { string _procname; s32 _pid; }; };
"""
failed = 0


def ok(good, what):
    global failed
    failed += not good
    print("%s %s" % ("ok" if good else "not ok", what), flush=True)


def packet(sequence, cpu, begin, end, body, of=0):
    bits = (24 + 52 + len(body)) * 8
    return struct.pack("<I16sI6QI", 0xC1FC1FC1, UUID, of, begin, end, bits, bits, sequence, 0, cpu) + body


def write_indexed(directory, name, packets, of):
    """@packets: (begin, end, bytes)."""
    at = 0
    with open("%s/%s" % (directory, name), "wb") as f, open("%s/index/%s.idx" % (directory, name), "wb") as index:
        index.write(struct.pack(">4I", 0xC1F1DCC1, 1, 1, 72))
        for sequence, (begin, end, data) in enumerate(packets):
            f.write(data)
            index.write(struct.pack(">9Q", at, len(data) * 8, len(data) * 8, begin, end, 0, of, 0, sequence))
            at += len(data)


def record_applications(path):
    """Programs change their names in a stream of their own, between the events of the others."""
    r, length = random.Random(9), 150 * PACKETS * EVENTS
    where = path + "/ust"
    os.makedirs(where + "/index")
    with open(where + "/metadata", "w") as f:
        f.write(APPLICATION)
    for cpu in range(CPUS):
        now, packets = 1000, []
        for sequence in range(PACKETS):
            begin, body = now, []
            for i in range(EVENTS):
                now += r.randrange(300)
                body.append(struct.pack("<BQ2iI3i", 0, now, r.randrange(1, 9), r.randrange(9, 50), i, 1, 2, 3))
            packets.append((begin, now, packet(sequence, cpu, begin, now, b"".join(body))))
        write_indexed(where, "cpu_%d" % cpu, packets, 0)
    now, packets = 1000, []
    for sequence in range(PACKETS):
        begin, body = now, []
        for i in range(40):
            now += r.randrange(length // PACKETS // 20)
            pid = r.randrange(1, 9)
            body.append(struct.pack("<BQ2i", 0, now, pid, pid) + b"n%d\0" % r.randrange(99) + struct.pack("<i", pid))
        packets.append((begin, now, packet(sequence, 0, begin, now, b"".join(body), 16)))
    write_indexed(where, "state_0", packets, 16)
    return length


def record_small_kernel(path, length, last):
    """System calls of threads that applications name, and @last: an event of the kernel, near the end."""
    r = random.Random(6)
    where = path + "/kernel"
    os.mkdir(where)
    with open(where + "/metadata", "w") as f:
        f.write(METADATA.replace(
            "struct { u8 id; t64 timestamp; }; };", "struct { u8 id; t64 timestamp; }; "
            "event.context := struct { s32 _tid; }; };") + TASK)
    for cpu in range(CPUS):
        body = []
        for now in sorted(r.randrange(1000, length) for _ in range(2000)):
            body.append(struct.pack("<BQiI5i", 1, now, r.randrange(9, 50), 1, 1, 2, 3, 4, 5))
        if not cpu and last:
            body.append(struct.pack("<BQi", 2, length, 90) + last)
        with open("%s/kernel_%d" % (where, cpu), "wb") as f:
            f.write(packet(0, cpu, 1000, length, b"".join(body)))


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


def split(whole):
    lines = re.findall(r"[^\n]*\n", whole)
    return lines, [int(x.split(".")[0]) * 10**9 + int(x.split(".")[1].split()[0]) - 17 * 10**17 for x in lines]


def far_is_same(path, whole, begin, end, *options, **more):
    out, err = view(path, *options, "--from=%d.%09d" % (17 * 10**8, begin), "--to=%d.%09d" % (17 * 10**8, end), **more)
    return out == lines_between(*whole, begin, end), err


def applications_need_no_marks(work):
    r, path = random.Random(8), work + "/a"
    length, good = record_applications(path), True
    nowhere = {"XDG_CACHE_HOME": work + "/cache-a"}
    text, _ = view(path, "-e", "*", env=nowhere)
    whole = split(text)
    ok(len(whole[0]) == PACKETS * (EVENTS * CPUS + 40), "all events of applications are shown")
    for _ in range(25):
        begin = r.randrange(1000, length)
        same, err = far_is_same(path, whole, begin, begin + 10**5, "-e", "*", env=nowhere)
        good = good and same and "names-index" not in err
    ok(good, "their far lines are those of the whole reading")


def small_kernels_need_no_marks(work, name, last):
    """Threads are shown with the names of their processes.  @last: a birth by a thread that no event has named lets the
    reader begin anew; it makes marks then."""
    r, path, good, n_marks = random.Random(8), work + "/" + name, True, 0
    os.makedirs(path + "/.duet")
    length = record_applications(path)
    record_small_kernel(path, length, last)
    index = path + "/.duet/names-index"
    text, _ = view(path, "-e", "*")
    whole = split(text)
    ok(len(whole[0]) == PACKETS * (EVENTS * CPUS + 40) + 2000 * CPUS + bool(last), "all events of both are shown")
    for i in range(10):
        begin = r.randrange(1000, length) if i else length - 10**5
        os.unlink(index)
        same, err = far_is_same(path, whole, begin, begin + 10**5, "-e", "*")
        good = good and same and "names-index" not in err
        n_marks += os.path.getsize(index) > 0
    ok(good, "far lines with a kernel are those of the whole reading")
    ok(cut_ones_are_same(path, length), "and of recordings that were cut")
    return n_marks


def cut_ones_are_same(path, length):
    r, good = random.Random(4), True
    for name in ("kernel/kernel_1", "ust/cpu_1", "ust/state_0"):
        where = path + "/" + name
        os.truncate(where, os.path.getsize(where) * r.randrange(60, 99) // 100)
        whole = split(view(path, "-e", "*")[0])
        for begin in (r.randrange(1000, length), r.randrange(length // 2, length), length - 10**5):
            good = good and far_is_same(path, whole, begin, begin + 10**5, "-e", "*")[0]
    return good


def main():
    r = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="duet-far-") as work:
        applications_need_no_marks(work)
        ok(small_kernels_need_no_marks(work, "k", b"") == 0, "no far reader reads all")
        ok(small_kernels_need_no_marks(work, "l", struct.pack("<iQ", 60, 0x10000)) == 1,
           "but one that needs an unknown process does")
        path, cache = work + "/r", {"XDG_CACHE_HOME": work + "/cache"}
        length = record(path)
        index = path + "/.duet/names-index"
        text, _ = view(path, env=cache)
        ok(os.path.getsize(index) > 1000, "a whole reading leaves marks")
        ok(os.stat(index).st_mode & 0o777 == 0o600, "they are the user's own")
        whole = split(text)
        ok(len(whole[0]) == PACKETS * EVENTS * CPUS, "all are shown")

        def is_same(begin, end, **more):
            return far_is_same(path, whole, begin, end, **more)

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
