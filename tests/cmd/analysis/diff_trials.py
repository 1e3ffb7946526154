#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""diff_trials.py DUET PROGRAM [--sets N] [--planted N] [--in DIR] - how often `duet diff` raises a false alarm, and finds a change.

Each set is six recordings of the same work, one after the other: the first three against the last three, and each against
the next.  Behind the first sets stand five recordings with four planted changes, compared with the five before: each of
four sleeps takes 80 ms instead of 50, computing takes a quarter of the time (half of all CPU time), twice as many fsync,
and 10 000 reads of 10 % more bytes.  A second kind of work is a pipeline of a shell.

By hand, as root; with --in the recordings stay, and those that are there are not made again.  Figures:
docs/design/figures/diff.md.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SAME, PLANTED = ["50", "4000", "8", "65536"], ["80", "1000", "16", "72090"]
PIPELINE = ["sh", "-c", "find /usr/share/doc -maxdepth 2 | sort | gzip | wc -c"]
CHANGES = (("syscalls", "call", "clock_nanosleep", "slower"), ("programs", "program", "diff_program", "less"),
           ("syscalls", "call", "fsync", "more"), ("syscalls", "call", "read", "slower"))


class Trials:
    def __init__(self, duet, program, where):
        self.duet, self.program, self.where = duet, program, where

    def record(self, name, command):
        path = os.path.join(self.where, name)
        if not os.path.exists(path):
            subprocess.run([self.duet, "record", "-q", "-o", path, "--"] + command, stdout=subprocess.DEVNULL, check=True)

    def work(self, arguments):
        return [self.program, os.path.join(self.where, "file")] + arguments

    def record_set(self, i, is_planted):
        for k in range(6):
            self.record("n%d-%d" % (i, k + 1), self.work(SAME))
        for k in range(5 if is_planted else 0):
            self.record("p%d-%d" % (i, k + 1), self.work(PLANTED))
        for k in range(6):
            self.record("t%d-%d" % (i, k + 1), PIPELINE)

    def diff(self, a, b):
        """-> the rows that changed, as (row, verdict); or None if a recording is missing"""
        paths = [[os.path.join(self.where, n) for n in side] for side in (a, b)]
        if not all(os.path.exists(p) for side in paths for p in side):
            return None
        r = json.loads(subprocess.run([self.duet, "diff", "--totals", "--json"] + paths[0] + ["--"] + paths[1],
                                      stdout=subprocess.PIPE, check=True).stdout)
        keys = (("syscalls", "call"), ("programs", "program"), ("events", "event"))
        return [(table, row[key], row["verdict"]) for table, key in keys for row in r[table]
                if row["verdict"] not in ("", "cannot tell")]


def names(kind, i, numbers):
    return ["%s%d-%d" % (kind, i, k) for k in numbers]


def false_alarms(trials, n_sets, say):
    for kind, work in (("n", "program"), ("t", "pipeline")):
        for label, pairs in (("3 and 3", (((1, 2, 3), (4, 5, 6)),)), ("1 and 1", (((1,), (2,)), ((3,), (4,)), ((5,), (6,)))),
                             ("2 and 2", (((1, 2), (3, 4)),))):
            n, n_alarms, rows = 0, 0, collections.Counter()
            for i in range(1, n_sets + 1):
                for a, b in pairs:
                    changed = trials.diff(names(kind, i, a), names(kind, i, b))
                    n += changed is not None
                    n_alarms += bool(changed)
                    rows.update(changed or ())
            say("%s, %s: %d alarms in %d comparisons; %s" % (work, label, n_alarms, n, rows.most_common(5)))
        # Larger sides need neighbouring sets.
        n, n_alarms, rows = 0, 0, collections.Counter()
        for i in range(1, n_sets, 2):
            changed = trials.diff(names(kind, i, range(1, 6)), names(kind, i, (6,)) + names(kind, i + 1, range(1, 5)))
            n += changed is not None
            n_alarms += bool(changed)
            rows.update(changed or ())
        say("%s, 5 and 5: %d alarms in %d comparisons; %s" % (work, n_alarms, n, rows.most_common(5)))


def planted(trials, n_sets, say):
    for size in (5, 3, 1):
        n, found, others = 0, collections.Counter(), collections.Counter()
        for i in range(1, n_sets + 1):
            changed = trials.diff(names("n", i, range(7 - size, 7)), names("p", i, range(1, size + 1)))
            if changed is None:
                continue
            n += 1
            program = os.path.basename(trials.program)[:15]
            for table, _, name, verdict in CHANGES:
                name = program if table == "programs" else name
                found[name] += any(c[0] == table and c[1] == name and verdict in c[2].split(", ") for c in changed)
            others.update(c for c in changed if c[1] not in found)
        say("planted, %d and %d: of %d found %s; others %s" % (size, size, n, dict(found), others.most_common(5)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("duet")
    parser.add_argument("program")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--planted", type=int, default=100)
    parser.add_argument("--in", dest="where")
    parser.add_argument("--no-record", action="store_true")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duet-trials-") as temporary:
        trials = Trials(os.path.abspath(a.duet), os.path.abspath(a.program), a.where or temporary)
        for i in range(1, 1 if a.no_record else a.sets + 1):
            trials.record_set(i, i <= a.planted)
        planted(trials, a.planted, lambda line: print(line, flush=True))
        false_alarms(trials, a.sets, lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main())
