#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_user.py DUET LIBDUET PROGRAM - latencies and the balance of the heap agree with the program's own measurements."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import real
from check import check, Duet, Failed, measured, near, row, run_all

PROGRAM = None


@measured
def latencies_are_those_the_program_took(duet, where):
    trace, output = real.record_all(duet, where, ["--no-kernel", "-e", "work"], [PROGRAM, "latency"])
    took = {int(w[1]): int(w[2]) for w in output if w and w[0] == "took"}
    r = json.loads(duet.run("report", "latency", "work:begin", "work:end", "--by", "id", "--json",
                            "--slowest", "100", trace).stdout)
    check((r["times"][0]["n"], r["n_a"], r["n_b"], len(r["slowest"])), (52, 52, 52, 52))
    n_close = 0
    for s in r["slowest"]:
        i = int(s["key"])
        if i == 1001:
            near(s["duration_ns"], 3e6, 1, 100, "the outer time")
        elif i != 1002 and not (30000000 if i == 31 else (i + 1) * 50000) <= s["duration_ns"] <= took[i]:
            raise Failed("%d took %d ns, and the report says %r" % (i, took[i], s))
        elif i != 1002:
            n_close += took[i] - s["duration_ns"] < 100000
    if n_close < 40:  # another process may run between an event and the program's own clock reading
        raise Failed("only %d of 50 times are within 100 us of the program's" % n_close)
    ours = sorted(s["duration_ns"] for s in r["slowest"])
    check(r["times"][0]["p50_ns"], ours[25])
    check(r["times"][0]["p90_ns"], ours[46])
    check(sum(h["n"] for h in r["histogram"]), 52)


def without_the_field_the_thread_joins(duet, where):
    trace, _ = real.record_all(duet, where, ["--no-kernel", "-e", "work"], [PROGRAM, "latency"])
    r = json.loads(duet.run("report", "latency", "work:begin", "work:end", "--json", trace).stdout)
    check([r[k] for k in ("n_a", "n_b", "n_abandoned", "n_without_a")], [52, 52, 1, 1])


def the_heaps_balance_is_the_programs(duet, where):
    trace, _ = real.record_all(duet, where, ["--no-kernel", "-e", "lttng_ust_libc"], [PROGRAM, "heap"])
    r = duet.json("report", "heap", "--slowest", "100", trace)
    p = r["processes"][0]
    # Seven blocks of 1000, one of 5000, one of 777; other live blocks are libc's own.
    ours = sorted(o["bytes"] for o in r["oldest"] if o["bytes"] in (1000, 5000, 777))
    check(ours, [777] + 7 * [1000] + [5000])
    near(r["peak_bytes"], 39 * 1000 + 500000, 1, 1.2, "the peak")
    check((p["n_reallocs"], p["n_unknown"]), (2, 0))
    check(p["grown_bytes"], 500000 - 1000 + 5000 - 3000)
    check(p["n_failed"], 2, "posix_memalign with an alignment of 3, realloc of PTRDIFF_MAX")
    check(p["n_given"], p["n_taken"] + p["n_live"] + p["n_at_exec"] + p["n_unseen_ends"])


def leaks_are_those_of_the_programs_functions(duet, where):
    for contexts in "callstack", "ip":
        with tempfile.TemporaryDirectory(dir=where) as here:
            # The program lives until its maps are recorded: they could not be read after its end.
            trace, output = real.record_all(duet, here, ["--no-kernel", "-c", contexts, "-e", "lttng_ust_libc"],
                                            [PROGRAM, "leaks", here + "/trace/.duet/maps"])
            r = duet.json("report", "heap", "--limit", "1000", trace)
        found = {}
        for s in r["sites"]:
            if s["file"] == os.path.basename(PROGRAM):
                sums = found.setdefault(s["site"].split("+")[0].split(".")[0], [0, 0])  # f.part.0 belongs to f
                sums[0] += s["n_live"]
                sums[1] += s["live_bytes"]
        leaks = {w[1]: [int(w[2]), int(w[3])] for w in output if w and w[0] == "leak"}
        check(len(leaks), 4)
        check({f: n for f, n in found.items() if f.startswith("leak_")}, leaks, contexts)
        # The totals of the report are the sums of its sites.
        check(sum(s["live_bytes"] for s in r["sites"]), r["live_bytes"])
        check(sum(s["n_given"] for s in r["sites"]), sum(p["n_given"] for p in r["processes"]))


if __name__ == "__main__":
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([latencies_are_those_the_program_took, without_the_field_the_thread_joins,
                      the_heaps_balance_is_the_programs, leaks_are_those_of_the_programs_functions],
                     Duet(sys.argv[1])))
