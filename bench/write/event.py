# SPDX-License-Identifier: MIT
"""The cost of an event for its program, the collector and the disk: loops of events (see ../event/loop.h)."""
import statistics

import proof
from tracers import NotInThisBuild

ONE = ("empty", "int", "int+str16", "8ints", "mark")
THREADS = (1, 2, 16, 200)
MANY = ("size=1000000", "batches=4", "pause=100")  # events shared among threads
EACH = ("size=30000", "batches=40", "pause=10")
QUANTILES = ("p50", "p99", "p99.9", "max")
IDS = ("vpid", "vtid")
CONTEXTS = (("procname",), ("ip", "vuid"))  # the same names in both
FILTER = "a > 29998"  # true for the last event of each batch: so the files prove that it ran
PASSED = "a != 29999"  # false for that event alone
BATCHES = 11  # of ../event/loop.h, without batches=
MODES = [", " + "+".join(c) for c in CONTEXTS] + [", filtered out", ", filter passed", ", overwrite"]


def read(text):
    """Return {argument: numbers} from the output of a program of ../event."""
    return {line.split()[0]: [float(n) for n in line.split()[1:]] for line in text.splitlines()}


class Events:
    def __init__(self, table, work, duet, duet_program, lttng, lttng_program):
        self.table, self.work, self.duet, self.lttng = table, work, duet, lttng
        self.programs = {"duet": duet_program, "LTTng": lttng_program}
        self.bracket = 0.0
        self.missing = set()

    def tracers(self):
        return [t for t in (self.duet, self.lttng) if t]

    def program(self, tracer, env, *arguments):
        return read(self.work.run(self.programs[tracer.name], *arguments, **env).stdout)

    def add(self, column, results, rows):
        """Add the medians of batches; @rows names the row of each argument."""
        for argument, numbers in results.items():
            if argument.startswith("made:"):
                continue
            if argument.endswith("^"):
                for q, v in zip(QUANTILES, numbers):
                    self.table.add("one event, " + q, column, v - self.bracket)
            else:
                self.table.add(rows(argument), column, statistics.median(numbers))

    def recorded(self, tracer, column, arguments, rows, proves=proof.all_recorded, **options):
        """One run in a session; the rows note lost events.  Without proof there is no figure."""
        try:
            with tracer.session(**options) as s:
                results = self.program(tracer, tracer.environment(), *arguments)
        except NotInThisBuild as e:
            self.missing.add((tracer.name, str(e)))
            for a in results_of(arguments):
                self.table.note(rows(a), "%s: not in this build (%s)" % (tracer.name, e))
            return None
        why = proves(results, s) or proof.of_contexts(s, options.get("contexts", ()))
        if not why:
            self.add(column, results, rows)
        for a in results_of(arguments):
            row = rows(a) if "^" not in a else "one event, p50"
            if why:
                self.table.refute(row, column, why)
            elif s.lost:
                self.table.note(row, "%s lost %d in this run" % (column, s.lost))
        return s

    def reference(self):
        arguments = ("loop", "clock", "int", *MANY, *("clock@%d" % n for n in THREADS), *EACH, "loop^")
        r = self.program(self.duet, self.duet.dormant(), *arguments)
        loop, clock = statistics.median(r["loop"]), statistics.median(r["clock"])
        t = self.table
        t.group("Dormant: over an empty loop")
        if not t.notes.get("int, dormant"):
            t.note("int, dormant", "one turn of the empty loop: %.2f ns" % loop)
        t.add("int, dormant", "duet", max(statistics.median(r["int"]) - loop, 0))
        if self.lttng:
            value = self.program(self.lttng, {}, "int")["int"]
            t.add("int, dormant", "LTTng", max(statistics.median(value) - loop, 0))
        t.group("One thread; reference: a loop of bare clock reads")
        for row in ONE:
            t.add(row, "reference", clock)
        t.group("Threads: busy CPUs x wall time / events, int; reference: the clock loop in as many threads")
        for n in THREADS:
            t.add(thread_row(n), "reference", statistics.median(r["clock@%d" % n]))
        t.group("One event between two fenced clock reads, an empty bracket's median taken off; "
                "reference: empty brackets")
        self.bracket = r["loop^"][0]
        for q, v in zip(QUANTILES, r["loop^"]):
            t.add("one event, " + q, "reference", v - self.bracket)
        t.note("one event, p50", "empty bracket %.1f ns" % self.bracket)
        t.group("Modes, one thread; LTTng with vpid, vtid, which duet's events always carry")
        for row in ("int", "8ints"):
            for mode in MODES:
                t.add(row + mode, "reference", clock)

    def plain_sessions(self):
        arguments = (*ONE, *MANY, *("int@%d" % n for n in THREADS), *EACH, "int^")
        rows = lambda a: thread_row(int(a.split("@")[1])) if "@" in a else a
        self.recorded(self.duet, "duet", arguments, rows)
        if self.lttng:
            self.recorded(self.lttng, "LTTng", arguments, rows)
            self.recorded(self.lttng, "LTTng+ids", arguments, rows, contexts=IDS)

    def modes(self):
        for tracer in self.tracers():
            column = "duet" if tracer is self.duet else "LTTng+ids"
            ids = () if tracer is self.duet else IDS
            two = ("int", "8ints")
            for contexts in CONTEXTS:
                self.recorded(tracer, column, two, lambda a: a + ", " + "+".join(contexts),
                              contexts=ids + contexts)
            self.recorded(tracer, column, two, lambda a: a + ", filtered out", contexts=ids,
                          event_filter=FILTER, proves=lambda r, s: proof.refused(r, s, BATCHES))
            self.recorded(tracer, column, two, lambda a: a + ", filter passed", contexts=ids,
                          event_filter=PASSED, proves=lambda r, s: proof.passed(r, s, BATCHES))
            # Enough events to fill the buffers many times, without a pause.
            self.recorded(tracer, column, ("size=300000", "pause=0", *two), lambda a: a + ", overwrite",
                          contexts=ids, overwrite=True, proves=proof.overwritten)

    def collectors(self, cases):
        """CPU of the consumer, and bytes in the files, for some of ONE."""
        self.table.group("The collector and the file")
        for tracer in self.tracers():
            for contexts in ((),) if tracer is self.duet else ((), IDS):
                column = tracer.name + ("+ids" if contexts else "")
                for case in cases:
                    more = {} if tracer is self.duet else {"sub_buffer": "256k"}
                    with tracer.session(contexts=contexts, **more) as s:
                        results = self.program(tracer, tracer.environment(), "batches=34", case)
                    n = sum(proof.made(results).values())
                    why = proof.all_recorded(results, s) or proof.of_contexts(s, contexts)
                    if not why and not s.cpu_ns:
                        why = "the collector's CPU time was not found"
                    if why:
                        self.table.refute("in the file, " + case, column, why)
                        continue
                    if case == "int":
                        self.table.add("collector's CPU", column, s.cpu_ns / n)
                    self.table.add("in the file, " + case, column, s.bytes / n, "bytes")
                    if s.lost:
                        self.table.note("in the file, " + case, "%s lost %d" % (column, s.lost))

    def round(self):
        self.reference()
        self.plain_sessions()
        self.modes()


def thread_row(n):
    return "%d thread%s" % (n, "s" if n > 1 else "")


def results_of(arguments):
    return [a for a in arguments if "=" not in a]
