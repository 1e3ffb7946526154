#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times, lengths, counters and chunk numbers that a program forges reach no reader, and the program is named.

arguments: DUET FORGER HOSTILE LIBDUET SECONDS      HOSTILE records honest events
"""
import glob
import os
import re
import shutil
import struct
import sys

import users  # noqa: F401  first: it finds tests/lib
from trial import cmd, duet, fail, is_, ok, paths, run, run_cases, runtime, start, until, work
from recorder import collect, stop

forger, hostile, library = paths(3)
seconds = sys.argv[5]
N_HONEST = 2
HALF = 1 << 63


def events_by_name(text):
    found = {}
    for name, i in re.findall(r"(honest:\w+)\b[^\n]*?\bi = (\d+)", text):
        found.setdefault(name, []).append(int(i))
    return found


def check_events(trace, totals, what):
    """Every honest event is there once, for babeltrace2 and for duet view."""
    status, out, err = run(duet, "view", trace)
    is_(status, 0, "%s: duet view: %s" % (what, err[-500:]))
    ok("duet:impossible" in out and 'program = "forger"' in out, what + ": the recording names the program", out[-1000:])
    readers = [("duet view", out)]
    status, out, err = run("babeltrace2", trace)
    is_(status, 0, "%s: babeltrace2: %s" % (what, err[-1500:]))
    readers.append(("babeltrace2", out))
    for reader, text in readers:
        found = events_by_name(text)
        for name in ("honest:step", "honest:waits"):
            wanted = sorted(i for n in totals for i in range(n))
            is_(len(found.get(name, [])), len(wanted), "%s: %s: number of %s" % (what, reader, name))
            ok(sorted(found.get(name, [])) == wanted, "%s: %s: each %s once" % (what, reader, name))


def forge_beside_honest_programs(trace, *options):
    """-> the numbers of honest events, the status that named the program, the last message"""
    collector = collect(trace, "-e", "honest:*", *options)
    honest = [start(hostile, "honest", seconds) for _ in range(N_HONEST)]
    forging = start(forger, runtime, seconds)
    status = until(lambda: re.search(r"(?s).*IMPOSSIBLE.*", cmd("status")[1]) or forging.poll() is not None and [""],
                   "status names the program")[0]
    totals = []
    for p in honest + [forging]:
        out, err = p.communicate()
        is_(p.returncode, 0, "a program ends well: " + err)
        totals += [int(out)] if p is not forging else []
    return totals, status, stop(collector)


def check_messages(status, told):
    uid = os.getuid()
    ok(re.search(r"IMPOSSIBLE    (program forger \(pid \d+, |a program \()uid %d\) wrote" % uid, status),
       "the status names it", status)
    ok(re.search(r"program forger \(pid \d+, uid %d\) wrote \d+ impossible times, \d+ impossible bytes" % uid, told),
       "and the last message", told)
    ok("impossible counter" in told, "counters too", told)
    ok("none lost" in told, "no forged number of lost events is shown", told)
    for number in re.findall(r"\d{12,}", status + told):
        fail("a number that cannot be true is shown: %s in %s" % (number, status + told))


def a_recording_is_whole():
    trace = work + "/trace"
    totals, status, told = forge_beside_honest_programs(trace)
    check_messages(status, told)
    check_events(trace, totals, "a recording")


def a_rotated_recording_is_whole():
    trace = work + "/rotated"
    totals, _, told = forge_beside_honest_programs(trace, "--rotate", "500ms")
    ok("none lost" in told, "no forged number of lost events is shown", told)
    check_events(trace, totals, "a rotated recording")


def a_flight_recorder_is_readable():
    trace = work + "/flight"
    forge_beside_honest_programs(trace, "--flight-recorder")
    status, out, err = run("babeltrace2", trace)
    is_(status, 0, "babeltrace2: " + err[-1500:])
    ok("honest:step" in out, "it has honest events")


def packets_of(data):
    """The packets of a stream: [(offset, bytes)].  The size is in bits, 36 bytes behind the begin."""
    at = 0
    while at < len(data):
        size = struct.unpack_from("<Q", data, at + 56)[0] // 8
        yield at, size
        at += size


def a_repaired_recording_is_readable_whatever_times_were_in_it():
    """Recordings of older collectors have forged times: one with them is made here."""
    trace, repaired = work + "/damaged", work + "/repaired"
    collector = collect(trace, "-e", "honest:*")
    is_(run(hostile, "honest", "2.5")[0], 0, "the program runs")
    stop(collector)
    stream = max(glob.glob(trace + "/ust/uid/*/*/cpu_*"), key=os.path.getsize)
    with open(stream, "rb") as f:
        data = bytearray(f.read())
    packets = list(packets_of(data))
    ok(len(packets) >= 2, "there are some packets", str(packets))
    last = data[packets[-1][0]:]
    struct.pack_into("<Q", data, packets[-1][0] + 40, 0)  # the end of the last packet
    for begin, end in (HALF, HALF + 1), (HALF, 2 * HALF - 1), (0, HALF):
        struct.pack_into("<QQ", last, 32, begin, end)
        data += last
    with open(stream, "wb") as f:
        f.write(data)
    shutil.rmtree(os.path.dirname(stream) + "/index")
    status, _, err = cmd("repair", trace, repaired)
    ok(status in (0, 1) and "a time beyond the year 2262" in err, "it is repaired: %d %s" % (status, err[-800:]))
    status, out, err = run("babeltrace2", repaired)
    is_(status, 0, "babeltrace2 reads it: " + err[-1500:])
    steps = events_by_name(out).get("honest:step", [])
    is_(steps, list(range(len(steps))), "its events are in order, each once")
    ok(len(steps) > 100, "and most are there", str(len(steps)))


run_cases(a_repaired_recording_is_readable_whatever_times_were_in_it, a_recording_is_whole, a_rotated_recording_is_whole, a_flight_recorder_is_readable)
