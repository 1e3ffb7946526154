# SPDX-License-Identifier: MIT
"""The workload of the LTTng-UST paper: find with its malloc, calloc, realloc and free recorded.

Plain, with each tracer's preload library dormant, and recorded; wall and CPU time are find's own.  The cost of an
event is the CPU time above plain find's, divided by the events recorded.  LTTng's wrapper records with vpid and vtid,
which duet's events carry unless ids=none.
"""
import os
import re
import sys

DIRECTORY = "/usr"
WRAPPERS = ["/usr/lib/%s/liblttng-ust-libc-wrapper.so.1" % m
            for m in ("x86_64-linux-gnu", "aarch64-linux-gnu")]
TIMED = """
import os, resource, subprocess, time
t = time.monotonic()
subprocess.run(["find", %r, "-regex", ".*a"], stdout=subprocess.DEVNULL, env=dict(os.environ, LD_PRELOAD=%r))
e = resource.getrusage(resource.RUSAGE_CHILDREN)
print(time.monotonic() - t, e.ru_utime + e.ru_stime)
"""


class Find:
    def __init__(self, table, work, duet, lttng, preload):
        self.table, self.work, self.duet, self.lttng, self.preload = table, work, duet, lttng, preload
        self.wrapper = next(filter(os.path.exists, WRAPPERS), None)
        self.n_events = 0

    def timed(self, preload, env):
        p = self.work.run(sys.executable, "-c", TIMED % (DIRECTORY, preload), **env)
        return list(map(float, p.stdout.split()))

    def count(self):
        """Return the number of events from duet's own summary; this also warms the caches."""
        out = self.work.path + "/count"
        p = self.work.run(self.duet.binary, "record", "--no-kernel", "-b", "512M", "-o", out, "-e",
                          "lttng_ust_libc:*", "--", "find", DIRECTORY, "-regex", ".*a",
                          **self.duet.environment("count"))
        said = re.search(r"applications\s+(\d+) events", p.stderr)
        self.n_events = int(said.group(1))
        self.work.run("rm", "-rf", out)

    def add(self, column, what, run, plain):
        self.table.add("find %s, wall" % what, "reference", plain[0], "s")
        self.table.add("find %s, wall" % what, column, run[0], "s")
        self.table.add("find %s, CPU" % what, "reference", plain[1], "s")
        self.table.add("find %s, CPU" % what, column, run[1], "s")
        if what == "recorded":
            self.table.add("find, per event", column, (run[1] - plain[1]) * 1e9 / self.n_events)

    def round(self):
        self.table.group("find %s -regex '.*a' with malloc and free recorded; reference: plain" % DIRECTORY)
        if not self.n_events:
            self.count()
            self.table.note("find, per event", "%d events" % self.n_events)
        plain = self.timed("", {})
        self.add("duet", "dormant", self.timed(self.preload, self.duet.environment("nobody")), plain)
        with self.duet.session(events="lttng_ust_libc:*") as s:
            self.add("duet", "recorded", self.timed(self.preload, self.duet.environment()), plain)
        self.check("duet", s)
        if not self.lttng or not self.wrapper:
            return
        plain = self.timed("", {})
        self.add("LTTng+ids", "dormant", self.timed(self.wrapper, {}), plain)
        with self.lttng.session(events="lttng_ust_libc:*", contexts=("vpid", "vtid")) as s:
            self.add("LTTng+ids", "recorded", self.timed(self.wrapper, {}), plain)
        self.check("LTTng+ids", s)

    def check(self, column, s):
        """The files hold the events of find: their number varies a little with the environment's size."""
        n = s.lost + sum(v for e, v in s.found.items() if e.startswith("lttng_ust_libc:"))
        if abs(n - self.n_events) > self.n_events / 100:
            self.table.refute("find, per event", column, "%d events, %d expected" % (n, self.n_events))
        if s.lost:
            self.table.note("find, per event", "%s lost %d" % (column, s.lost))
