#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Benchmarks prove their rows, and a worse row is named: tested without measuring any time.

usage: prove_test.py
"""
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/write", HERE + "/strace"]
import compare
import proof
from seen import calls_seen
from table import Table


class Files:
    """A session, as tracers.Session."""

    def __init__(self, lost=0, metadata="", **found):
        self.lost, self.metadata, self.found = lost, metadata, {"bench:" + k: v for k, v in found.items()}


MADE = {"int": [10.0], "made:int": [333000.0]}


class Proofs(unittest.TestCase):
    def test_each_event_is_found_or_lost(self):
        self.assertEqual(proof.all_recorded(MADE, Files(int1=333000)), "")
        self.assertEqual(proof.all_recorded(MADE, Files(int1=332990, lost=10)), "")
        self.assertIn("332990 of 333000", proof.all_recorded(MADE, Files(int1=332990)))
        self.assertIn("found and 10 lost", proof.all_recorded(MADE, Files(int1=332980, lost=10)))
        self.assertIn("333001 of", proof.all_recorded(MADE, Files(int1=333001)))
        self.assertIn("mostly", proof.all_recorded(MADE, Files(int1=33000, lost=300000)))
        self.assertIn("no event", proof.all_recorded({"int": [10.0]}, Files()))

    def test_a_filter_that_was_dropped_is_noticed(self):
        self.assertEqual(proof.refused(MADE, Files(int1=11), 11), "")
        self.assertIn("passed 333000", proof.refused(MADE, Files(int1=333000), 11))
        self.assertIn("passed 0", proof.refused(MADE, Files(), 11))

    def test_a_filter_that_passes_refuses_some(self):
        self.assertEqual(proof.passed(MADE, Files(int1=332989), 11), "")
        self.assertEqual(proof.passed(MADE, Files(int1=332980, lost=9), 11), "")
        self.assertIn("passed 333000", proof.passed(MADE, Files(int1=333000), 11))
        self.assertIn("passed 332980", proof.passed(MADE, Files(int1=332980), 11))
        self.assertIn("of 332989 that pass", proof.passed(MADE, Files(int1=332980, lost=8), 11))
        self.assertIn("mostly the refusal", proof.passed(MADE, Files(int1=32989, lost=300000), 11))

    def test_a_flight_recorder_keeps_a_part(self):
        self.assertEqual(proof.overwritten(MADE, Files(int1=1000)), "")
        self.assertIn("333000 of", proof.overwritten(MADE, Files(int1=333000)))
        self.assertIn("0 of", proof.overwritten(MADE, Files()))

    def test_contexts_are_in_the_files(self):
        self.assertEqual(proof.of_contexts(Files(metadata="uint8_t _procname[17];"), ["procname"]), "")
        self.assertIn("ip", proof.of_contexts(Files(metadata="int32_t _vip;"), ["ip"]))

    def test_a_row_without_proof_has_no_figure(self):
        t = Table()
        t.group("all")
        t.add("int", "duet", 10)
        t.refute("int", "duet", "3 of 4 found")
        self.assertIsNone(t.median("int", "duet"))
        self.assertTrue(t.refuted)
        self.assertIn("3 of 4 found", t.as_json())


class Calls(unittest.TestCase):
    def test_calls_are_counted_in_each_output(self):
        self.assertEqual(calls_seen(["getppid() = 7", "17 getppid() = 7", "xgetppid() = 1", "[pid 1] getppid( <unfinished ...>",
                                     "<... getppid resumed>) = 7"], "getppid", False), 3)
        perf = ["     0.010 ( 0.001 ms): loop/77 getppid(                                   ) = 76", "LOST 3 events!"]
        self.assertEqual(calls_seen(perf, "getppid", False), 1)
        summary = ["% time seconds usecs/call calls errors syscall", " 98.0 1.0 1 1000 getppid", " 1.0 0.0 1 7 3 openat"]
        self.assertEqual(calls_seen(summary, "getppid", True), 1000)
        self.assertEqual(calls_seen(summary, "openat", True), 7)


def table(**rows):
    return {"rows": [dict(row=r, group="all", unit="ns", notes=[], **v) for r, v in rows.items()]}


def row(*ours, reference=10):
    return {"duet": list(ours), "reference": [reference] * len(ours)}


class Comparisons(unittest.TestCase):
    def verdict(self, old, new):
        (found, (line,)), = compare.compare(table(int=old), table(int=new)).items()
        return found

    def test_a_row_beyond_the_noise_is_worse(self):
        self.assertEqual(self.verdict(row(11, 11.2, 11.4, 11.3), row(12, 12.1, 12.2, 13)), "worse")
        self.assertEqual(self.verdict(row(12, 12.1, 12.2, 13), row(11, 11.2, 11.4, 11.3)), "better")

    def test_a_row_within_the_noise_is_the_same(self):
        self.assertEqual(self.verdict(row(11, 11.2, 11.4, 12), row(11.9, 12.1, 12.2, 13)), "same")
        self.assertEqual(self.verdict(row(11, 11, 11, 11), row(11.1, 11.1, 11.1, 11.1)), "same")  # 1 %

    def test_a_slower_machine_is_no_worse_row(self):
        self.assertEqual(self.verdict(row(11, 11.2, 11.4, 11.3), row(22, 22.4, 22.8, 22.6, reference=20)), "same")

    def test_too_few_rounds_and_missing_rows_are_named(self):
        self.assertEqual(self.verdict(row(11, 11.2, 11.4, 12), row(13)), "missing")
        self.assertEqual(list(compare.compare(table(int=row(1, 1, 1, 1)), table(mark=row(1)))), ["missing"])

    def test_one_round_of_a_size_is_enough(self):
        old, less, more = (table(file=row(n)) for n in (18, 14, 19))
        for t in (old, less, more):
            t["rows"][0]["unit"] = "bytes"
        self.assertEqual(list(compare.compare(old, less)), ["better"])
        self.assertEqual(list(compare.compare(old, more)), ["worse"])
        self.assertEqual(list(compare.compare(old, old)), ["same"])

    def test_seconds_are_compared_with_the_reference(self):
        old, new = table(find=row(1, 1.1, 1.2, 1.3)), table(find=row(2, 2.2, 2.4, 2.6, reference=20))
        for t in (old, new):
            t["rows"][0]["unit"] = "s"
        self.assertEqual(list(compare.compare(old, new)), ["same"])

    def test_a_part_that_was_not_run_is_no_missing_row(self):
        self.assertEqual(list(compare.compare(table(int=row(1, 1, 1, 1)), table())), ["not run"])


unittest.main()
