# SPDX-License-Identifier: MIT
"""The cost of tracing for a program's start and end, and the resources that it uses."""
import statistics

TIMES = 60
WARMS = 3  # starts before, of start.c
FLOOR = "an empty library"  # added to the plain program too, in the column of the reference
PARTS = ("threads", "descriptors", "Rss", "Pss", "Private_Dirty")


class Begin:
    def __init__(self, table, work, duet, lttng, programs, empty):
        self.table, self.work, self.duet, self.lttng = table, work, duet, lttng
        self.programs, self.empty = programs, empty

    def take_turns(self, launched):
        """{row: (column, program, environment)}: the median of each start less the plain program's."""
        arguments = [self.programs["plain"]]
        for _, program, env in launched.values():
            arguments += ["--"] + ["%s=%s" % e for e in env.items()] + [self.programs[program]]
        lines = self.work.run(self.programs["start"], str(TIMES), *arguments).stdout.splitlines()
        plain, *others = [statistics.median(map(float, line.split())) for line in lines]
        for (row, (column, _, _)), us in zip(launched.items(), others):
            if column != "reference":
                self.table.add("start, " + row, "reference", plain, "us")
            self.table.add("start, " + row, column, us - plain, "us")

    def linked(self, runtime):
        """Makes libduet present before the program looks for it.  It is preloaded, because a linked program in a build tree
        would spend its time on searching for the library."""
        return dict(self.duet.environment(runtime), LD_PRELOAD=self.duet.library)

    def round(self):
        t = self.table
        t.group("Start to end of a program with one site: added to the plain program (reference)")
        idle, active = self.duet.environment("idle"), self.duet.environment("active")
        with self.duet.session(events=None, runtime="idle") as i, \
                self.duet.session(runtime="active") as s:
            self.take_turns({
                "not installed": ("duet", "duet", {"DUET_LIBRARY": "/nonexistent"}),
                "no collector": ("duet", "duet", self.duet.environment("nobody")),
                "idle collector": ("duet", "duet", idle),
                "active session": ("duet", "duet", active),
                "no collector, linked": ("duet", "duet", self.linked("nobody")),
                "active session, linked": ("duet", "duet", self.linked("active")),
                FLOOR: ("reference", "plain", {"LD_PRELOAD": self.empty})})
            self.prove_floor()
            self.occupied("duet", "duet", active)
        # Two rows and the run for the resources record one event each time.
        self.prove("duet", "start, active session", s, 2 * (TIMES + WARMS) + 1)
        self.prove("duet", "start, idle collector", i, 0)
        if self.lttng:
            self.lttng_round()

    def lttng_round(self):
        self.lttng.down()
        self.take_turns({"no collector": ("LTTng", "lttng", {})})
        self.lttng.up()
        self.take_turns({"idle collector": ("LTTng", "lttng", {})})
        with self.lttng.session() as s:
            self.take_turns({"active session": ("LTTng", "lttng", {})})
            self.occupied("LTTng", "lttng", {})
        self.prove("LTTng", "start, active session", s, TIMES + WARMS + 1)

    def prove(self, column, row, session, starts):
        """Each start, and nothing else, has left an event."""
        n = session.found.get("bench:int1", 0)
        if session.lost or n != starts:
            self.table.refute(row, column, "%d events of %d starts, %d lost" % (n, starts, session.lost))

    def prove_floor(self):
        """The loader reports a library that it does not find, and goes on."""
        loaded = self.work.run(self.programs["plain"], LD_PRELOAD=self.empty, LD_TRACE_LOADED_OBJECTS="1").stdout
        if self.empty not in loaded:
            self.table.refute("start, " + FLOOR, "reference", "the library is not loaded")

    def occupied(self, column, program, env):
        """The resources in a session with one event recorded."""
        self.table.group("Added to the program, in a session, one event recorded; reference: plain")
        plain, mine = (list(map(int, self.work.run(self.programs[p], "tell", **e).stdout.split()))
                       for p, e in (("plain", {}), (program, env)))
        for part, a, b in zip(PARTS, plain, mine):
            unit = "KiB" if part[0].isupper() else ""
            self.table.add("added " + part, "reference", a, unit)
            self.table.add("added " + part, column, b - a, unit)
