#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""diff.py DUET - `duet diff` on recordings made by hand, compared with the same test over all divisions of them."""
import itertools
import math
import random
import struct
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, near, row, run_all
from make import EPOCH, LOST, kernel, switch, ust

BEGIN_BYTE = 24  # of timestamp_begin in a packet of make.py
A, IDLE = ("a", 7), ("swapper/0", 0)


def calls(durations, name="read", begin=1000, who=7):
    events = []
    for i, d in enumerate(durations):
        at = begin + i * 10**6
        events += [(at, 0, who, "syscall_entry_" + name, dict(fd=0)),
                   (at + d, 0, who, "syscall_exit_" + name, dict(ret=0))]
    return events


def sorted_by_time(*lists):
    return sorted(sum(lists, []), key=lambda e: e[0])


def sides(where, a, b, make=kernel):
    """Recordings of lists of events -> the arguments of `duet diff`."""
    return ([make("%s/a%d" % (where, i), events) for i, events in enumerate(a)] + ["--"]
            + [make("%s/b%d" % (where, i), events) for i, events in enumerate(b)])


def diff(duet, where, a, b, *options):
    return duet.json("diff", "--totals", *options, *sides(where, a, b))


def runs(n, seed, center, spread=20, **more):
    """n recordings of 40 calls each; the recordings differ by `spread`, calls within one by 1."""
    rnd = random.Random(seed)
    return [calls([center + shift + i % 3 for i in range(40)], **more) for shift in (rnd.randrange(spread) for _ in range(n))]


def student(a, b):
    """Student's t between logarithms of medians.  Returns |t|."""
    a, b = [math.log(v + 1) for v in a], [math.log(v + 1) for v in b]
    mean = [sum(x) / len(x) for x in (a, b)]
    variance = sum((v - m)**2 for x, m in zip((a, b), mean) for v in x) / (len(a) + len(b) - 2)
    return abs(mean[1] - mean[0]) / math.sqrt(variance * (1 / len(a) + 1 / len(b)))


def p_is_that_of_permuting_recordings(duet, where):
    """One row changes between recordings: p is the share of divisions whose t is at least that of A and B."""
    for k, shift in enumerate((0, 8, 40)):
        a, b = runs(4, 2 * k, 1000), runs(4, 2 * k + 1, 1000 + shift)
        r = diff(duet, "%s/%d" % (where, k), a, b)
        medians = [e[1][0] - e[0][0] + 1 for e in a + b]  # of v, v + 1, v + 2: the first call takes v
        own = student(medians[:4], medians[4:])
        t = [student([medians[i] for i in range(8) if i not in chosen], [medians[i] for i in chosen])
             for chosen in itertools.combinations(range(8), 4)]
        c = row(r["syscalls"], call="read")
        check((r["method"], r["n_permutations"], c["p50_a_ns"]), ("permutations", 70, int(sum(sorted(medians[:4])[1:3]) / 2)))
        near(c["p_p50"], sum(v >= own * (1 - 1e-9) for v in t) / 70, 0.999999, 1.000001, "p")
        check(c["verdict"], "slower" if c["p_p50"] < 0.03 else "")


def a_change_below_a_noisy_upper_half_is_found(duet, where):
    """The slower half of the calls depends on other work of the machine; the lower quartile does not."""
    rnd = random.Random(5)

    def loaded(base, least):
        return [calls([base + rnd.randrange(3) for _ in range(18)] + [base + load for _ in range(22)])
                for load in (least + rnd.randrange(4000) for _ in range(5))]

    r = diff(duet, where, loaded(1000, 100), loaded(1100, 1000))
    c = row(r["syscalls"], call="read")
    check(c["verdict"], "slower")
    near(c["p_p50"], 2 / 252, 0.999, 1.001, "p")


def calls_of_one_run_are_one_value(duet, where):
    """Ten thousand calls that are 10 % slower in one run, as in one of the others' runs, are no change."""
    def run(ns):
        return calls([ns + i % 7 for i in range(2000)])
    r = diff(duet, where, [run(1000), run(1100), run(1050), run(1000)], [run(1100), run(1090), run(1000), run(1110)])
    check((row(r["syscalls"], call="read")["verdict"], r["n_changed"]), ("", 0))


def equal_recordings_do_not_differ(duet, where):
    events = calls([100 + i for i in range(50)])
    r = diff(duet, where, [events] * 4, [events] * 4)
    c = row(r["syscalls"], call="read")
    check((r["n_changed"], r["n_tested"], c["p_p50"], c["verdict"]), (0, 0, None, ""))


def one_recording_a_side_admits_its_limits(duet, where):
    a, b = calls([100] * 50), calls([900] * 50)
    r = diff(duet, where, [a], [b])
    c = row(r["syscalls"], call="read")
    check((r["method"], r["n_changed"], c["p_p50"], c["verdict"]), ("one a side", 0, None, ""))
    text = duet.text("diff", where + "/a0", where + "/b0")
    check("cannot tell a change from the difference between two runs" in text, True)
    check("duet record --repeat 5" in text, True)


def one_recording_a_side_shows_the_row_that_stands_out(duet, where):
    """Twelve calls through the whole time; ten differ by up to 2 %, one by 300 %, and one by 5 %."""
    def half(factor):
        return sorted_by_time(*[calls([int((1000 + k) * factor(k)) + i % 2 for i in range(64)], "call%d" % k, 1000 + k * 20000, 7 + k)
                                for k in range(12)])
    r = diff(duet, where, [half(lambda k: 1)], [half(lambda k: 4 if k == 3 else 1.05 if k == 4 else 1 + k / 600)])
    check([(c["call"], c["verdict"]) for c in r["syscalls"] if c["verdict"]], [("call3", "slower")])


def few_recordings_must_be_separate(duet, where):
    """3 and 3: a row that overlaps is not shown."""
    a, b = runs(3, 1, 1000), runs(3, 2, 4000)
    r = diff(duet, where + "/1", a, b)
    check((r["method"], row(r["syscalls"], call="read")["verdict"]), ("separation", "slower"))
    r = diff(duet, where + "/2", a, b[:2] + [a[0]])
    check(row(r["syscalls"], call="read")["verdict"], "")


def the_most_important_changes_come_first(duet, where):
    """write changed more in percent, read cost more; getpid did not change."""
    def half(seed, read, write):
        return [sorted_by_time(*parts) for parts in zip(runs(4, seed, read, who=7), runs(4, seed, write, name="write", begin=400000, who=8),
                                                        runs(4, 9, 50, 1, name="getpid", begin=700000, who=9))]
    r = diff(duet, where, half(1, 100000, 1000), half(2, 150000, 3000))
    check([(c["call"], c["verdict"]) for c in r["syscalls"]], [("read", "slower"), ("write", "slower"), ("getpid", "")])


def numbers_are_totals_or_rates_and_lines_agree(duet, where):
    """B takes twice as long with the same calls: no change of totals, half the rate.  Entries and exits are the call's."""
    def run(step, jitter):
        return [(1000 + i * (step + jitter), 0, 7, "beat", dict(x=1)) for i in range(400 + jitter)]
    a, b = [run(1000, i % 3) for i in range(4)], [run(2000, i % 3) for i in range(4)]
    r = diff(duet, where, a, b)
    e = row(r["events"], event="beat")
    check((r["amounts"], e["verdict"], e["change_percent"]), ("totals", "", 0))
    r = duet.json("diff", "--rates", *[where + "/%s%d" % (s, i) if i < 4 else "--" for s in "ab" for i in range(5)][:-1])
    e = row(r["events"], event="beat")
    check((r["amounts"], e["verdict"]), ("per second", "fewer"))
    near(-e["change_percent"], 50, 0.99, 1.01, "change of the rate")
    c = diff(duet, where + "/2", runs(4, 1, 1000), runs(4, 2, 1000))
    check([e["event"] for e in c["events"]], [])


def more_calls_are_more(duet, where):
    def half(n):
        return [calls([1000 + i % 3] * (n + i)) for i in range(4)]
    c = row(diff(duet, where, half(40), half(80))["syscalls"], call="read")
    check((c["n_a"], c["n_b"], c["verdict"]), (41, 81, "more"))


def cpu_time_of_programs_is_compared_by_name(duet, where):
    def run(share, tid):
        events = []
        for i in range(320):
            events += [switch(1000 + i * 1000, 0, IDLE, ("prog", tid)),
                       switch(1000 + i * 1000 + share, 0, ("prog", tid), IDLE, 1)]
        return events
    r = diff(duet, where, [run(200 + i, 7) for i in range(4)], [run(600 + i, 17) for i in range(4)])
    c = row(r["programs"], program="prog")
    check((c["a_ns"], c["b_ns"], c["verdict"]), (320 * 201 + 160, 320 * 601 + 160, "more"))
    near(c["change_percent"], (601.5 / 201.5 - 1) * 100, 0.9999, 1.0001, "change of CPU time")


def pairs_of_app_events_are_compared(duet, where):
    def run(took):
        return sum(([(1000 + i * 10**5, 0, (7, 7), "shop:order", dict(id=i)),
                     (1000 + i * 10**5 + took + i, 0, (7, 7), "shop:paid", dict(id=i))] for i in range(30)), [])
    r = duet.json("diff", "--totals", "--pair", "shop:order", "shop:paid",
                  *sides(where, [run(1000 + i) for i in range(4)], [run(500 + i) for i in range(4)], ust))
    check((r["pairs"][0]["n_a"], r["pairs"][0]["p50_a_ns"], r["pairs"][0]["p50_b_ns"], r["pairs"][0]["verdict"]),
          (30, 1015, 515, "faster"))


def losses_are_reported_and_nothing_spans_them(duet, where):
    a, b = calls([100])
    path = where + "/a0"
    r = diff(duet, where, [[a, LOST(1050, 0, 5), b]], [calls([100] * 10)])
    check((r["lost_a"], r["lost_b"], row(r["syscalls"], call="read")["n_a"]), (5, 0, 0))
    check("counts are low" in duet.text("diff", path, where + "/b0"), True)


def a_packet_with_an_absurd_begin_is_survived(duet, where):
    """Its time to the events is more than an int64_t counts: the slices were counted beyond their array."""
    path = kernel(where + "/a", calls([100] * 20) + [(3 * 10**7, 1, 7, "beat", dict(n=1))])
    with open(path + "/cpu_1", "r+b") as f:
        f.seek(BEGIN_BYTE)
        f.write(struct.pack("<Q", 2**63 - EPOCH))
    duet.json("diff", path, kernel(where + "/b", calls([100] * 20)))


def two_recordings_are_needed(duet, where):
    duet.run("diff", kernel(where + "/a", calls([1])), status=2)
    duet.run("diff", where + "/a", where + "/nothing", status=2)
    for words in (["/a"] * 3, ["/a", "/a", "--"], ["--", "/a", "/a", "/a"]):
        duet.run("diff", *[w if w == "--" else where + w for w in words], status=2)
    check(duet.json("diff", "--", where + "/a", where + "/a")["n_recordings_b"], 1)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k not in ("run_all", "sorted_by_time")
                      and not k.startswith("__")], Duet(sys.argv[1])))
