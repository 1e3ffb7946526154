#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""diff.py DUET - `duet diff` on recordings made by hand, compared with the same test over all pairs."""
import math
import random
import struct
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, near, row, run_all
from make import EPOCH, LOST, kernel, switch, ust

BEGIN_BYTE = 24  # of timestamp_begin in a packet of make.py
A, IDLE = ("a", 7), ("swapper/0", 0)


def mann_whitney(a, b):
    """Counts pairs.  Returns p, and the share of pairs with the greater value in b."""
    wins = sum((y > x) + (y == x) / 2 for x in a for y in b)
    n, m = len(a), len(b)
    both = a + b
    ties = sum(t**3 - t for t in (both.count(v) for v in set(both)))
    variance = n * m / 12 * (n + m + 1 - ties / ((n + m) * (n + m - 1)))
    z = max(0, abs(wins - n * m / 2) - 0.5) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2)), wins / (n * m)


def calls(durations, name="read", begin=1000, who=7):
    events = []
    for i, d in enumerate(durations):
        at = begin + i * 10**6
        events += [(at, 0, who, "syscall_entry_" + name, dict(fd=0)),
                   (at + d, 0, who, "syscall_exit_" + name, dict(ret=0))]
    return events


def sorted_by_time(*lists):
    return sorted(sum(lists, []), key=lambda e: e[0])


def diff(duet, where, a, b, *options):
    return duet.json("diff", *options, kernel(where + "/a", a), kernel(where + "/b", b))


def p_is_that_of_counting_all_pairs(duet, where):
    """With ties, near the level, and far from it."""
    for i, (shift, spread) in enumerate(((0, 50), (6, 50), (30, 5), (300, 1000))):
        rnd = random.Random(i)
        a = [1000 + rnd.randrange(spread) for _ in range(60)]
        b = [1000 + shift + rnd.randrange(spread) for _ in range(45)]
        r = diff(duet, where + "/%d" % i, calls(a), calls(b))
        p, share = mann_whitney(a, b)
        c = row(r["syscalls"], call="read")
        check(round(c["superiority"], 9), round(share, 9))
        # Holm's correction: the other lines are the two events, with p of at most 1; the least is multiplied by 3.
        if p < 1e-4:
            near(c["p"], p * r["n_tested"], 0.999999, 1.000001, "p")
        if c["p"] < 1:
            check(any(abs(c["p"] / (p * k) - 1) < 1e-9 for k in (1, 2, 3)), True, "p %g of %g" % (c["p"], p))
        check(c["verdict"], "" if c["p"] >= 0.05 else "slower" if share > 0.5 else "faster")


def equal_recordings_do_not_differ(duet, where):
    events = calls([100 + i for i in range(50)])
    r = diff(duet, where, events, events)
    check((r["n_significant"], row(r["syscalls"], call="read")["p"]), (0, 1))


def few_values_are_not_tested(duet, where):
    r = diff(duet, where, calls([100] * 7), calls([900] * 50))
    check((row(r["syscalls"], call="read")["verdict"], row(r["syscalls"], call="read")["p"]), ("too few", None))


def the_most_important_changes_come_first(duet, where):
    """write changed more in percent, read cost more; getpid did not change."""
    def half(read, write):
        return sorted_by_time(calls([read + i for i in range(40)], "read"), calls([write + i for i in range(40)], "write", 400000, 8),
                              calls([50] * 40, "getpid", 700000, 9))
    r = diff(duet, where, half(100000, 1000), half(150000, 3000))
    check([(c["call"], c["verdict"]) for c in r["syscalls"]], [("read", "slower"), ("write", "slower"), ("getpid", "")])
    c = r["syscalls"][0]
    check((c["n_a"], c["n_b"], c["p50_a_ns"], c["p50_b_ns"]), (40, 40, 100019, 150019))


def rates_are_compared_per_second_for_any_length(duet, where):
    """B is twice as long and has twice as many events: the same rate."""
    def beat(name, n, step):
        return [(1000 + i * step, 0, 7, name, dict(x=1)) for i in range(n)]
    r = diff(duet, where, sorted_by_time(beat("same", 1600, 1000), beat("rare", 160, 10000)),
             sorted_by_time(beat("same", 3200, 1000), beat("rare", 3200, 1000)))
    same, rare = row(r["events"], event="same"), row(r["events"], event="rare")
    near(same["rate_b"], same["rate_a"], 0.99, 1.01, "rate")
    check((same["verdict"], rare["verdict"]), ("", "more"))


def cpu_time_of_programs_is_compared_by_name(duet, where):
    def run(share, tid):
        events = []
        for i in range(320):
            events += [switch(1000 + i * 1000, 0, IDLE, ("prog", tid)),
                       switch(1000 + i * 1000 + share, 0, ("prog", tid), IDLE, 1)]
        return events
    r = diff(duet, where, run(200, 7), run(600, 17))
    c = row(r["programs"], program="prog")
    check((c["a_ns"], c["b_ns"], c["verdict"]), (320 * 200, 320 * 600, "more"))


def pairs_of_app_events_are_compared(duet, where):
    def half(took):
        return sum(([(1000 + i * 10**5, 0, (7, 7), "shop:order", dict(id=i)),
                     (1000 + i * 10**5 + took + i, 0, (7, 7), "shop:paid", dict(id=i))] for i in range(30)), [])
    r = duet.json("diff", "--pair", "shop:order", "shop:paid", ust(where + "/a", half(1000)), ust(where + "/b", half(500)))
    check((r["pairs"][0]["n_a"], r["pairs"][0]["p50_a_ns"], r["pairs"][0]["p50_b_ns"], r["pairs"][0]["verdict"]),
          (30, 1014, 514, "faster"))


def losses_are_reported_and_nothing_spans_them(duet, where):
    a, b = calls([100])
    path = where + "/a"
    r = diff(duet, where, [a, LOST(1050, 0, 5), b], calls([100] * 10))
    check((r["lost_a"], r["lost_b"], row(r["syscalls"], call="read")["n_a"]), (5, 0, 0))
    check("counts are low" in duet.text("diff", path, where + "/b"), True)


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


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k not in ("run_all", "mann_whitney", "sorted_by_time")
                      and not k.startswith("__")], Duet(sys.argv[1])))
