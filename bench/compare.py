#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Name the rows of a benchmark that are worse than the committed table of this processor by more than the noise.

usage: compare.py NEW.json [TABLE.json]        TABLE: figures/PROCESSOR/BENCHMARK.json beside this file

A benchmark writes NEW.json with JSON=NEW.json; copied to that place it becomes the table.  Both hold the value of each
round.  Values are compared as ratios to the reference of the same round, or to LTTng's if there is no reference, so that
a busy minute affects both; only sizes, for which one round is enough, and rows without either, are compared as they are.

Noise is measured by repetition: the rounds.  A row is worse only if each of its new rounds is dearer than every round of
the table, and the median by more than 2 %.  Without a change this happens once in C(n + m, n) rows: with 5 and 5 rounds
once in 252; at least 4 and 4 are needed, 1 in 70.  Exit status: 0, none is worse; 1, some are; 2, nothing to compare.
"""
import json
import math
import os
import statistics
import sys

LEAST_ROUNDS, LEAST_CHANGE = 4, 1.02
OURS, REFERENCE, PEERS = "duet", "reference", ("LTTng+ids", "LTTng")
TIMES = ("ns", "us", "s")


def base_of(row):
    """Return the column that a row is compared with: the same in both tables."""
    if row["unit"] not in TIMES:
        return None
    columns = PEERS if row["unit"] == "us" else (REFERENCE,) + PEERS
    return next((c for c in columns if row.get(c) and len(row[c]) == len(row[OURS]) and min(row[c]) > 0), None)


def rounds_of(row, base):
    return [v / b for v, b in zip(row[OURS], row[base])] if base else row[OURS]


def judge(old, new):
    """Return (verdict, text) of a row: worse, better, same, or missing."""
    if not new or not new.get(OURS):
        return "missing", "has no figure now: %s" % "; ".join(new["notes"] if new else ["no such row"])
    base = base_of(old) if base_of(old) == base_of(new) else None  # a peer's value may be 0 in one of them
    a, b = rounds_of(old, base), rounds_of(new, base)
    if min(len(a), len(b)) < LEAST_ROUNDS and old["unit"] in TIMES:
        return "missing", "%d and %d rounds, %d are needed" % (len(a), len(b), LEAST_ROUNDS)
    before, now = statistics.median(a), statistics.median(b)
    text = "%.3g (%.3g-%.3g), was %.3g (%.3g-%.3g)%s" % (
        now, min(b), max(b), before, min(a), max(a), " of " + base if base else " " + old["unit"])
    if min(b) > max(a) and now > before * LEAST_CHANGE:
        return "worse", text
    return ("better" if max(b) < min(a) and before > now * LEAST_CHANGE else "same"), text


def compare(table, new):
    """Return {verdict: [line]}."""
    rows, verdicts = {r["row"]: r for r in new["rows"]}, {}
    groups = {r["group"] for r in new["rows"]}
    for old in table["rows"]:
        if old.get(OURS):
            is_run = old["group"] in groups  # a part of the benchmark may be run alone
            verdict, text = judge(old, rows.get(old["row"])) if is_run else ("not run", "")
            verdicts.setdefault(verdict, []).append("%-30s %s" % (old["row"], text))
    return verdicts


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1]) as f:
        new = json.load(f)
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[2] if len(sys.argv) == 3 else "%s/figures/%s/%s.json" % (here, new["processor"], new["benchmark"])
    if not os.path.exists(path):
        print("compare: %s has no table: copy %s to %s" % (new["processor"], sys.argv[1], path))
        sys.exit(2)
    with open(path) as f:
        table = json.load(f)
    print("table: %s\nnow:   %s" % (table["machine"], new["machine"]))
    verdicts = compare(table, new)
    n, m = (min((len(r[OURS]) for r in t["rows"] if r["unit"] in TIMES and r.get(OURS)), default=0) for t in (table, new))
    for verdict in ("worse", "missing", "better"):
        for line in verdicts.get(verdict, []):
            print("%-8s %s" % (verdict, line))
    print("%d rows are worse, %d cannot be compared, %d were not run, %d are better, %d the same within the noise (by chance "
          "1 row in %d would seem worse)" % (*(len(verdicts.get(v, [])) for v in ("worse", "missing", "not run", "better", "same")),
                                             math.comb(n + m, n)))
    sys.exit(1 if verdicts.get("worse") or verdicts.get("missing") else 0)


if __name__ == "__main__":
    main()
