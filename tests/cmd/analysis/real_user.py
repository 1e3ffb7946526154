#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_user.py DUET LIBDUET PROGRAM - latencies and the balance of the heap are those that the program
knows of itself."""
import json
import sys

sys.dont_write_bytecode = True  # beside the sources
import real
from check import Duet, Failed, check, near, row, run_all

PROGRAM = None


def latencies_are_those_the_program_took(duet, where):
    trace, said = real.record(duet, where, ["--no-kernel", "-e", "work"], [PROGRAM, "latency"])
    took = {int(w[1]): int(w[2]) for w in said if w and w[0] == "took"}
    r = json.loads(duet.run("report", "latency", "work:begin", "work:end", "--by", "id", "--json",
                            "--slowest", "100", trace).stdout)
    check((r["times"][0]["n"], r["n_a"], r["n_b"], len(r["slowest"])), (52, 52, 52, 52))
    for s in r["slowest"]:
        if s["key"] == "1001":
            near(s["duration_ns"], 3e6, 1, 30, "the outer time")
        elif s["key"] != "1002" and not took[int(s["key"])] - 3e6 < s["duration_ns"] <= took[int(s["key"])]:
            raise Failed("%s took %d ns, and the report says %r" % (s["key"], took[int(s["key"])], s))
    ours = sorted(s["duration_ns"] for s in r["slowest"])
    check(r["times"][0]["p50_ns"], ours[25])
    check(r["times"][0]["p90_ns"], ours[46])
    check(sum(h["n"] for h in r["histogram"]), 52)


def without_the_field_the_thread_joins(duet, where):
    trace, _ = real.record(duet, where, ["--no-kernel", "-e", "work"], [PROGRAM, "latency"])
    r = json.loads(duet.run("report", "latency", "work:begin", "work:end", "--json", trace).stdout)
    check([r[k] for k in ("n_a", "n_b", "n_abandoned", "n_without_a")], [52, 52, 1, 1])


if __name__ == "__main__":
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([latencies_are_those_the_program_took, without_the_field_the_thread_joins],
                     Duet(sys.argv[1])))
