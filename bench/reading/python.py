#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost of an event for a script: python.py MODULE_DIRECTORY TRACE...

All events with all fields as Python values, by duetread and by Babeltrace 2's bindings, in turns.  Each run is a
process of its own; CPU time, median of ROUNDS.  Then times and classes as columns; and a data frame of each event's
name, which reads the recording once for each.  All have to count the same events.
"""
import os
import resource
import statistics
import subprocess
import sys

ROUNDS = int(os.environ.get("ROUNDS", "5"))
HEAD = "import sys; sys.path.insert(0, %r)\n"
WAYS = {
    "bt2": """
import bt2
def plain(f):
    if isinstance(f, bt2._StructureFieldConst): return {k: plain(f[k]) for k in f}
    if isinstance(f, bt2._StringFieldConst): return str(f)
    if isinstance(f, bt2._ArrayFieldConst): return [plain(x) for x in f]
    if isinstance(f, bt2._RealFieldConst): return float(f)
    if isinstance(f, bt2._VariantFieldConst): return plain(f.selected_option)
    return int(f)
n = 0
for m in bt2.TraceCollectionMessageIterator(sys.argv[1]):
    if type(m) is bt2._EventMessageConst:
        n += 1
        e = m.event
        t = m.default_clock_snapshot.ns_from_origin, e.name, plain(e.payload_field)
        c = plain(e.common_context_field) if e.common_context_field is not None else None
print(n)
""",
    "duetread": """
import duetread
n = 0
for e in duetread.Reader(sys.argv[1]):
    if e.name is not None:
        n += 1
        t = e.time, e.name, e.fields
print(n)
""",
    "columns": """
import duetread
r = duetread.Reader(sys.argv[1])
n = 0
while True:
    times, classes = r.columns(None, ("time", "class"), 65536)
    if not len(times): break
    n += len(times)
print(n)
""",
    "pandas": """
import duetread, collections
r = duetread.Reader(sys.argv[1])
n = 0
for name in {name for name, fields in r.classes}:
    r.seek(-2**63)
    f = r.to_pandas(name)
    assert len(f) == 0 or f["time"].is_monotonic_increasing
    n += len(f)
print(n)
""",
}


def cpu(code, trace, directory):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(["/usr/bin/python3", "-c", HEAD % directory + code, trace], stdout=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(out.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    directory = os.path.abspath(sys.argv[1])
    for trace in sys.argv[2:]:
        rates = {w: [] for w in WAYS}
        for _ in range(ROUNDS):
            counts = set()
            for way, code in WAYS.items():
                n, seconds = cpu(code, trace, directory)
                counts.add(n)
                rates[way].append(n / seconds / 1e6)
            if len(counts) != 1:
                raise SystemExit("they count differently: %r" % counts)
        middle = {w: statistics.median(r) for w, r in rates.items()}
        print("%s: %d events, M events/s: " % (trace, n) + ", ".join(
            "%s %.3f (%.3f-%.3f)" % (w, middle[w], min(r), max(r)) for w, r in rates.items()) +
            "; duetread %.0f times bt2" % (middle["duetread"] / middle["bt2"]))


if __name__ == "__main__":
    main()
