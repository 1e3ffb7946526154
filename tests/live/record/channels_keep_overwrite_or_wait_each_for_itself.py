#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Channels: each keeps, overwrites or waits for itself; lost events are counted, and memory comes and goes.

arguments: DUET PROGRAM LIBDUET [TEST]...
"""
import collections
import glob
import os
import platform
import re
import time

from channels import *

CPUS = os.sysconf("SC_NPROCESSORS_CONF")
HEADER, IDS, U64 = 4, 6, 8
EVENT = HEADER + IDS + U64  # the bytes of an event of these classes


def a_rare_event_is_kept_while_others_overflow():
    c = Collector("-e", "*", "-b", "1M", "--channel", "rare:events=low:*")
    p = Program()
    c.stopped()
    p.do("both", 400000, 1000)
    c.goes_on()
    head, lines = c.status()
    p.quit()
    c.end()
    lost = 400000 - c.count["high:flood"]
    is_(ids(c, "low:step"), list(range(400)), "the rare ones are all there")
    ok(lost > 100000, "the others overflow", str(lost))
    is_(c.lost, lost, "the summary counts them")
    is_(c.lost_in, {"default": lost}, "by channel")
    is_({k: v for k, v in lost_by_stream(c.trace).items() if v}, {"default": lost}, "so does stats")
    ok("%d LOST" % lost in head and lines["default"].split()[-1] == str(lost) and
       lines["rare"].split()[-1] == "0", "and status, while it runs", head + str(lines))
    told = sum(e.get("lost_events", 0) for e in events(c.trace) if "event" not in e)
    is_(told, lost, "view reports losses at their place")


def a_flight_recorder_and_a_drained_channel_share_a_session():
    c = Collector("-e", "*", "--channel", "flight:events=high:*,mode=overwrite,size=4K,count=16")
    p = Program()
    p.do("both", 100000, 100)
    code, out, err = cmd("snapshot", "-o", work + "/snap")
    is_((code, err), (0, ""), "snapshot")
    p.do("both", 100000, 100)
    p.quit()
    c.end()
    snap = [e for e in events(work + "/snap") if "event" in e]
    is_({e["event"] for e in snap}, {"high:flood"}, "the snapshot has the events of the flight recorder, and no more")
    got = [e["fields"]["id"] for e in snap]
    ok(got and got[-1] == 99999 and len(got) * EVENT < 64 << 10, "the newest", str((len(got), got[-1:])))
    is_(count_with_babeltrace(work + "/snap"), len(snap), "babeltrace2 reads the snapshot")
    is_(ids(c, "low:step"), 2 * list(range(1000)), "drained channels are whole at the end")
    ok(ids(c, "high:flood")[-1] == 99999 and c.count["high:flood"] * EVENT < 64 << 10, "the others have the newest events")
    is_(c.lost, 0, "nothing is lost")


def the_default_channel_may_be_the_flight_recorder():
    c = Collector("--overwrite", "-b", "256K", "-e", "*", "--channel", "all:events=low:*,mode=discard")
    p = Program()
    p.do("both", 200000, 100)
    code, _, err = cmd("snapshot", "-o", work + "/snap2")
    is_((code, err), (0, ""), "snapshot")
    p.quit()
    c.end()
    is_({e["event"] for e in events(work + "/snap2") if "event" in e}, {"high:flood"}, "it alone is in the snapshot")
    is_(ids(c, "low:step"), list(range(2000)), "the other one is whole")


def blocked(wait, *more):
    return Collector("-e", "*", "--channel", "wait:events=slow:*,events=hand:*,mode=block,size=4K,count=4,wait=" + wait,
                     *more)


def a_program_waits_for_a_collector_that_comes_back():
    c = blocked("20s")
    p = Program()
    c.stopped()
    p.begin("slow", 20000, 200)
    go_on(p.p, times=3)  # it waits; so long that it is seen
    time.sleep(0.4)
    c.goes_on()
    held, worst, total = p.end()
    _, lines = c.status()
    p.quit()
    c.end()
    is_(ids(c, "slow:step"), list(range(20000)), "nothing is lost")
    is_(c.lost, 0, "and nothing said to be")
    ok(held >= 1 and worst >= 200, "the program was held", str((held, worst, total)))
    ok(int(lines["wait"].split()[-2]) > 0, "status reports the waits", str(lines))


def a_wait_in_vain_is_not_repeated():
    c = blocked("300ms")
    p = Program()
    c.stopped()
    held, worst, total = p.do("slow", 50000, 150)
    ok(1 <= held <= 2 and 290 <= worst, "held about once", str((held, worst, total)))
    ok(worst < 3000 and total < 5000, "for about as long as said", str((worst, total)))
    c.goes_on()
    time.sleep(0.2)
    first = p.do("slow", 100, 150)
    p.quit()
    c.end()
    got = ids(c, "slow:step")
    ok(len(got) < 50100, "some are lost")
    is_(c.lost, 50100 - len(got), "exactly those are counted")
    is_(c.lost_in, {"wait": c.lost}, "in their channel")
    is_(got[-100:], list(range(100)), "then all goes on: " + str(first))


def handlers_record_while_their_program_waits():
    c = blocked("20s")
    p = Program()
    c.stopped()
    p.do("timer", 5000)
    p.begin("slow", 20000, 200)
    go_on(p.p, times=3)
    time.sleep(0.2)
    c.goes_on()
    p.end()
    ticks = int(p.do("timer", 0)[0])
    p.quit()
    c.end()
    is_(ids(c, "slow:step"), list(range(20000)), "the program's events are whole")
    is_(ids(c, "hand:tick"), list(range(ticks)), "and so are the handler's")
    ok(ticks > 0 and c.lost == 0, "there are some, none lost", str(ticks))
    c = blocked("100ms")
    p = Program()
    c.stopped()
    p.do("timer", 2000)
    p.do("slow", 100000, 50)
    ticks = int(p.do("timer", 0)[0])
    c.goes_on()
    p.quit()
    c.end()
    is_(c.count["slow:step"] + c.count["hand:tick"] + c.lost, 100000 + ticks, "in vain: recorded + lost = attempted")


def a_thread_that_may_not_sleep_does_not_wait():
    c = blocked("20s")
    p = Program()
    c.stopped()
    p.do("lock")
    _, worst, _ = p.do("slow", 20000, 150)
    c.goes_on()
    p.quit()
    c.end()
    ok(c.lost > 0 and worst < 5000, "it loses events at once", str((c.lost, worst)))
    is_(len(ids(c, "slow:step")) + c.lost, 20000, "and they are counted")


def a_full_disk_does_not_delay_each_event():
    disk = work + "/disk"
    os.mkdir(disk)
    if os.system("mount -t tmpfs -o size=300k none " + disk):
        return ok(False, "a small disk is mounted")
    try:
        c = Collector("-e", "*", "-q", "--channel", "wait:events=slow:*,mode=block,size=4K,count=4,wait=200ms",
                      "--disk-free", "0", "-o", disk + "/t")
        p = Program()
        held, worst, total = p.do("slow", 100000, 100)
        ok(held <= 8, "held a few times, not for each event", str((held, worst, total)))
        p.quit()
        c.p.terminate()
        c.p.wait()
    finally:
        os.system("umount -l " + disk)


def events_larger_than_a_sub_buffer_are_lost_and_counted():
    c = Collector("-e", "*", "--channel", "small:events=big:*,size=4K")
    p = Program()
    for size in (100, 3000, 3900, 4096, 5000, 70000):
        p.do("large", size, 10)
    p.quit()
    c.end()
    sizes = [len(e["fields"]["body"]) for e in c.events if e["event"] == "big:text"]
    is_(sorted(set(sizes)), [100, 3000, 3900], "those that fit are there")
    is_((len(sizes), c.lost, c.lost_in), (30, 30, {"small": 30}), "the others are counted")
    c = Collector("-e", "*", "--channel", "large:events=big:*,size=1M")
    p = Program()
    for size in (100, 70000, 1000000, 1100000):
        p.do("large", size, 10)
    p.quit()
    c.end(others=False)  # Babeltrace takes minutes for a megabyte of text
    sizes = [len(e["fields"]["body"]) for e in c.events if e["event"] == "big:text"]
    is_((sorted(set(sizes)), len(sizes), c.lost), ([100, 70000, 1000000], 30, 10), "larger ones fit larger ones")


def size_and_count_are_respected():
    c = Collector("-e", "*", "--channel", "a:events=high:*,size=8K,count=64,mode=overwrite",
                  "--channel", "b:events=low:*,size=4K,count=1")
    p = Program()
    p.do("both", 200000, 100)
    _, lines = c.status()
    p.quit()
    c.end()
    n = c.count["high:flood"]
    ok(0.7 * 512 * 1024 < n * EVENT < 64 * 8192, "64 sub-buffers of 8K", str(n))
    ok("524 kB" in lines["a"], "status says so", lines["a"])
    least = 4
    while least < 4 * CPUS:
        least *= 2
    ok("%.1f kB" % (least * 4.096) in lines["b"] or "%.0f kB" % (least * 4.096) in lines["b"],
       "never fewer than each CPU needs", lines["b"])
    for line in ("size=3K", "size=2M", "count=0", "count=2000000", "wait=2m", "mode=none", "events=", "x", "x=1"):
        code, _, err = cmd("collect", "-o", work + "/no", "--channel", "a:events=x," + line)
        is_((code, err.count("\n")), (2, 1), "%s is refused in a line: %s" % (line, err))


def a_channel_may_leave_out_the_numbers_of_threads():
    c = Collector("-e", "*", "-f", "$vpid > 1 && $vtid == $vpid", "-b", "16M", "--channel", "bare:events=low:*,ids=none",
                  "--channel", "owner:events=slow:*,events=hand:*,ids=none,context=uid", "--channel", "all:events=big:*,ids=thread")
    p = Program()
    p.do("both", 3000, 3)
    p.do("slow", 100, 0)
    pid = p.pid
    p.quit()
    c.end()
    by = collections.defaultdict(list)
    for e in c.events:
        by[e["event"]].append(e)
    is_({(e.get("pid"), e.get("tid")) for e in by["low:step"]}, {(None, None)}, "its events have none")
    is_({(e.get("pid"), e.get("tid")) for e in by["high:flood"]}, {(pid, pid)}, "those of other channels have both")
    is_([e["fields"]["id"] for e in by["low:step"]], list(range(1000)), "they are whole")
    is_({e["context"]["vuid"] for e in by["slow:step"]}, {os.getuid()}, "other contexts are there")
    is_(len(by["slow:step"]), 100, "and the events with them")
    size = sum(os.path.getsize(f) for f in glob.glob(c.trace + "/ust/**/bare_cpu_*", recursive=True) if "/index/" not in f)
    ok(1000 * (HEADER + U64) < size < 1000 * EVENT, "they are smaller", str(size))
    text = run(babeltrace, c.trace)[1].splitlines()
    low = [line for line in text if " low:step: " in line]
    is_((len(low), [line for line in low if "vpid" in line or "vtid" in line]), (1000, []), "babeltrace2 shows none")
    ok(all("vpid = %d, vtid = %d" % (pid, pid) in line for line in text if " high:flood: " in line), "and those of others")
    for args, why in ((("--channel", "a:events=x,ids=no"), "ids=no"),
                      (("--channel", "calls:ids=none", "--graph", "x:*"), "calls belong to threads")):
        code, _, err = cmd("record", "-o", work + "/no", *args, "--", "true")
        is_((code, why in err), (2, True), "%s is refused: %s" % (args[1], err))


def a_coarse_channel_has_early_times_in_order():
    c = Collector("-e", "*", "--channel", "quick:events=high:*,clock=coarse", "--channel", "exact:events=low:*")
    p = Program()
    for _ in range(20):
        p.do("both", 3000, 100)
    out = cmd("status")[1]
    told = cmd("status", "--json")[1]
    p.quit()
    c.end()
    ok(re.search(r"coarse clock: times up to 10 ms early \(\d+ at worst so far\)", out), "status states the error", out)
    ok(re.search(r'"clock_error_ns": ?10000000\b', told), "and for programs", told)
    quick = [e for e in c.events if e["event"] == "high:flood"]
    is_([e["fields"]["id"] for e in quick], 20 * list(range(3000)), "all are there, in their order")
    times = [e["time"] for e in quick]
    is_(times, sorted(times), "their times do not run back")
    if platform.machine() == "x86_64":
        ok(len(set(times)) < len(times) // 2, "most have the time of the one before", str(len(set(times))))
    steps = [e["time"] for e in c.events if e["event"] == "low:step"]
    is_(len(steps), 20 * 30, "an exact event follows the first of each hundred")
    late = [(i, times[100 * i] - t) for i, t in enumerate(steps) if times[100 * i] > t]
    early = [(i, t - times[100 * i + 1]) for i, t in enumerate(steps) if times[100 * i + 1] < t]
    is_(late, [], "none is later than the exact event that its thread wrote next")
    is_(early, [], "none is earlier than the one that its thread wrote before")
    text = open(glob.glob(c.trace + "/ust/**/metadata", recursive=True)[0]).read()
    ok('duet_coarse_channels = "quick";' in text and "duet_coarse_error_ns = 10000000;" in text, "the metadata states it",
       text[:1500])
    is_(count_with_babeltrace(c.trace), len(c.events), "babeltrace2 reads them")
    code, _, err = cmd("record", "-o", work + "/no", "--channel", "a:events=x,clock=fast", "--", "true")
    is_((code, "clock=fast" in err), (2, True), "another clock is refused: " + err)


def buffers_grow_when_a_burst_needs_it():
    c = Collector("-e", "*", "-b", "256M")
    p = Program()
    begin = c.memory()
    ok(64 * MIB <= begin <= 68 * MIB, "it begins with 64 MiB", str(begin))
    attempted, memory = 0, 64
    while memory <= 256:
        c.stopped()
        n = memory * MIB * 8 // 10 // EVENT
        p.do("high", n)
        attempted += n
        c.goes_on()
        memory *= 2
        until(lambda: is_drained(c, min(memory, 256)), "it is drained")
    ok(200 * MIB < c.memory() <= 264 * MIB, "it has grown to the limit", str(c.memory()))
    p.quit()
    c.stop()
    got = stats(c.trace)
    is_((got["n_events"] - 1, got["lost_events"], c.lost), (attempted, 0, 0), "no burst has lost anything")


def is_drained(c, memory):
    """Whether it has so many MiB, and nearly all are free."""
    m = re.search(r"(\S+) MB +268 MB +(\d+)%", c.status()[1]["default"])
    return float(m.group(1)) >= memory * MIB // 1000000 and int(m.group(2)) < 10


run_all(a_rare_event_is_kept_while_others_overflow, a_flight_recorder_and_a_drained_channel_share_a_session,
        the_default_channel_may_be_the_flight_recorder, a_program_waits_for_a_collector_that_comes_back,
        a_wait_in_vain_is_not_repeated, handlers_record_while_their_program_waits, a_thread_that_may_not_sleep_does_not_wait,
        a_full_disk_does_not_delay_each_event, events_larger_than_a_sub_buffer_are_lost_and_counted,
        size_and_count_are_respected, a_channel_may_leave_out_the_numbers_of_threads,
        a_coarse_channel_has_early_times_in_order, buffers_grow_when_a_burst_needs_it)
