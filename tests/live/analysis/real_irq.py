#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real_irq.py DUET LIBDUET PROGRAM - `duet report irq` counts the interrupts that the kernel counts.

/proc/interrupts and /proc/softirqs are read during the recording and around it: the report has not fewer than the
first difference and not more than the second."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
import real
from check import check, Duet, Failed, measured, run_all

PROGRAM = None
FILES = ("/proc/interrupts", "/proc/softirqs")


def counted(lines):
    """Returns the sum over CPUs by (kind, number or name); interrupts shared by several drivers are left out."""
    counts, n_cpus = {}, 0
    for w in (line.split() for line in lines):
        if w and w[0].startswith("CPU"):
            n_cpus = len(w)
        elif len(w) > n_cpus and w[0].endswith(":") and all(x.isdigit() for x in w[1:n_cpus + 1]):
            name, actions = w[0][:-1], " ".join(w[n_cpus + 1:])
            kind = "irq" if name.isdigit() else "vector" if actions else "softirq"
            if "," not in actions:
                counts[kind, int(name) if name.isdigit() else name] = sum(map(int, w[1:n_cpus + 1]))
    return counts


def look():
    return counted([line for f in FILES for line in open(f)])


def grown(before, after):
    return {k: after[k] - before[k] for k in after if k in before}


@measured
def interrupts_are_as_many_as_the_kernel_counts(duet, where):
    script = "cat %s; echo; echo between; '%s' cpu; echo between; cat %s" % (" ".join(FILES), PROGRAM, " ".join(FILES))
    before = look()
    trace, output = real.record_all(duet, where, ["--all-kernel", "-k", "irq"], ["sh", "-c", script])
    around = grown(before, look())
    marks = [i for i, w in enumerate(output) if w == ["between"]]
    during = grown(counted(" ".join(w) for w in output[:marks[0]]), counted(" ".join(w) for w in output[marks[1]:]))
    ours = {}
    for r in duet.json("report", "irq", trace)["interrupts"]:
        # Of the vectors, only the timer's has a counter of its own.
        key = ("vector", "LOC") if r["name"] == "local_timer" else (r["kind"], r["number"] if r["kind"] == "irq" else r["name"])
        ours[key] = ours.get(key, 0) + r["n"]
    wanted = [k for k in during if k[0] != "vector" or (k in ours and k[1] == "LOC")]
    for k in sorted(wanted, key=str):
        if not during[k] <= ours.get(k, 0) <= around[k]:
            raise Failed("%s %s: %d, the kernel counts %d during it and %d around it" % (*k, ours.get(k, 0), during[k], around[k]))
    check(any(k[0] == "softirq" and during[k] for k in wanted), True, "a soft interrupt came")
    print("# " + ", ".join("%s %s %d (%d to %d)" % (*k, ours.get(k, 0), during[k], around[k])
                           for k in sorted(wanted, key=str) if around[k]))


if __name__ == "__main__":
    real.need_root()
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([interrupts_are_as_many_as_the_kernel_counts], Duet(sys.argv[1])))
