#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/agree.py - `duet view --json` and Babeltrace 2 read the same from a trace.

agree.py DUET SAMPLE [TRACE...]: without TRACE, records the program SAMPLE with LTTng-UST in several ways and
compares each; with TRACE, compares those. Every event's time, cpu, name, contexts and fields are compared, and the
number of lost events. Exit: 0 all agree, 1 not, 3 Babeltrace refuses one, 77 nothing to compare with.
"""
import collections
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import record_lttng

try:
    import bt2
except ImportError:
    # The bt2 module belongs to the distribution's interpreter.
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)
    print("no python3-bt2")
    sys.exit(77)

UNKNOWN = 2**32 - 1
TOLD = {"vpid": "pid", "vtid": "tid", "procname": "proc", "pid": "pid", "tid": "tid"}


def plain_real(v, code):
    """@code: f or d.  A 32-bit number is printed with the fewest digits that identify it."""
    v = float(v)
    return {code: b"NaN" if math.isnan(v) else struct.pack(code, v)}


def plain(f):
    """Converts a bt2 field to plain data."""
    t = f.cls
    if type(f) in (bt2._SignedEnumerationFieldConst, bt2._UnsignedEnumerationFieldConst):
        return {"value": int(f), "labels": sorted(f.labels)}
    if hasattr(f, "active_flag_labels"):  # a bit map of CTF 2, with Babeltrace 2.1
        return {"value": f.value_as_integer, "labels": sorted(f.active_flag_labels)}
    if isinstance(f, bt2._IntegerFieldConst):
        return int(f)
    if isinstance(f, bt2._RealFieldConst):
        return plain_real(f, "f" if "Single" in type(t).__name__ else "d")
    if isinstance(f, bt2._StringFieldConst):
        return re.sub("[\ud800-\udfff]", "\ufffd", str(f))  # invalid UTF-8
    if isinstance(f, bt2._StructureFieldConst):
        return plain_struct(f)
    if isinstance(f, bt2._VariantFieldConst):
        return plain(f.selected_option)
    if isinstance(f, bt2._ArrayFieldConst):
        return [plain(e) for e in f]
    raise TypeError(str(t))


def is_padding(name):
    return name.startswith("pad") and name[3:].isdigit()


def plain_struct(s):
    return {n: plain(s[n]) for n in s.keys() if not is_padding(n)}


def is_length(name, names):
    """Whether @name is the length of a sequence: view omits it.  For a string (Babeltrace's writer makes one of a
    text sequence) the length is an ordinary field; bt2 does not show the difference."""
    return name.startswith("_") and name.endswith("_length") and name[1:-7] in names


class Stopped(Exception):
    """Babeltrace refused the rest of a trace."""


def messages_of(path):
    try:
        yield from bt2.TraceCollectionMessageIterator(path)
    except (bt2._Error, RuntimeError, ValueError, OverflowError) as e:
        raise Stopped(str(e).strip().splitlines()[0][:100]) from e


def babeltrace_events(path):
    """Returns (events, lost) as Babeltrace reads them."""
    events, lost = [], 0
    for m in messages_of(path):
        if type(m) is bt2._DiscardedEventsMessageConst:
            # Where LTTng's counter steps back, Babeltrace reports the difference modulo 2^64.
            lost += m.count if m.count and m.count < 1 << 63 else 0
        if type(m) is not bt2._EventMessageConst:
            continue
        e = m.event
        packet = e.packet.context_field if e.stream.cls.supports_packets else None
        time = m.default_clock_snapshot.ns_from_origin if e.stream.cls.default_clock_class else 0
        context = {}
        for c in (e.common_context_field, e.specific_context_field):
            if c is not None:
                context.update(plain_struct(c))
        cpu = int(packet.get("cpu_id", UNKNOWN)) if packet is not None else UNKNOWN
        events.append((time, None if cpu == UNKNOWN else cpu,
                       e.name, context, plain_struct(e.payload_field) if e.payload_field else {}))
    return events, lost


def same(ours, bt):
    """Whether a JSON value equals the bt2 value."""
    if isinstance(bt, dict) and isinstance(next(iter(bt.values()), None), (bytes, float)):
        return plain_real(ours, next(iter(bt))) == bt
    if isinstance(bt, dict) and set(bt) == {"value", "labels"}:
        first = [] if ours["label"] is None else [ours["label"]]
        return ours["value"] == bt["value"] and sorted(set(ours.get("labels", first))) == sorted(set(bt["labels"]))
    if isinstance(bt, dict):
        hidden = {k for k in set(bt) - set(ours) if is_length(k, bt)}
        return set(ours) == set(bt) - hidden and all(same(ours[k], bt[k]) for k in ours)
    if isinstance(bt, list):
        return len(ours) == len(bt) and all(same(a, b) for a, b in zip(ours, bt))
    # Babeltrace 2.0.4 shows an empty string as the text that field had in the event before.
    return ours == bt or (ours == "" and isinstance(bt, str))


def ours(view, path):
    events, lost = [], 0
    out = subprocess.run(view + ["--json", path], stdout=subprocess.PIPE, check=True).stdout
    for line in out.decode("utf-8").splitlines():
        e = json.loads(line)
        if "event" not in e:
            lost += e["lost_events"]
            continue
        context = dict(e.get("context", {}))
        events.append((e["time"], e.get("cpu"), e["event"], context, e["fields"], e))
    return events, lost


def check_event(a, b):
    """Returns the first difference between our event and Babeltrace's, or None."""
    context = {k: v for k, v in b[3].items() if k not in TOLD}
    if a[:3] != b[:3]:
        return "head"
    for k, v in b[3].items():
        if k in TOLD and not (k == "procname" and not v) and a[5].get(TOLD[k]) != v:
            return "context " + k
    if not same(a[3], context):
        return "contexts"
    return None if same(a[4], b[4]) else "fields"


def order(e):
    return (e[0], -1 if e[1] is None else e[1], e[2])


def compare(view, path):
    """Events of one instant may come in another order; sorted() is stable within a stream.  None: Babeltrace
    refuses a part of the trace."""
    a, a_lost = ours(view, path)
    try:
        b, b_lost = babeltrace_events(path)
    except Stopped as e:
        print("%s: %d events; Babeltrace: %s" % (path, len(a), e))
        return None
    if [e[0] for e in a] != sorted(e[0] for e in a):
        print("%s: out of order" % path)
        return False
    a, b = sorted(a, key=order), sorted(b, key=order)
    for x, y in zip(a, b):
        what = check_event(x, y)
        if what:
            print("%s: %s differ:\n  view %r\n  bt2  %r" % (path, what, x[:5], y))
            return False
    if len(a) != len(b):
        print("%s: %d events, Babeltrace %d" % (path, len(a), len(b)))
        return False
    if a_lost < b_lost:
        print("%s: %d lost, Babeltrace %d" % (path, a_lost, b_lost))
        return False
    print("%s: %d events agree, %d lost (Babeltrace says %d)" % (path, len(a), a_lost, b_lost))
    return True


def record_all(sample, directory):
    d = record_lttng.Daemon()
    everything = ("vpid", "vtid", "procname", "ip", "pthread_id", "vuid", "veuid", "vsuid", "vgid", "vegid", "vsgid",
                  "cgroup_ns", "ipc_ns", "mnt_ns", "net_ns", "pid_ns", "time_ns", "user_ns", "uts_ns")
    ways = {
        "contexts": dict(commands=[[sample, "25"]], contexts=everything),
        "compact": dict(commands=[[sample, "25", "300"]],
                        channel=("--subbuf-size=4096", "--num-subbuf=16")),
        "by-pid": dict(commands=[[sample, "9"], [sample, "9"]], contexts=("vpid",),
                       buffers="--buffers-pid"),
        "lossy": dict(commands=[[sample, "3000"]], contexts=("vtid",),
                      channel=("--subbuf-size=4096", "--num-subbuf=2")),
    }
    try:
        for name, way in ways.items():
            d.record(os.path.join(directory, name), events=["sample:*"], **way)
        d.record(os.path.join(directory, "all"), [[sample, "5"]], events=["-a"])
    finally:
        d.close()
    return [os.path.join(directory, n) for n in [*ways, "all"]]


def counted(duet, trace):
    """Checks that `duet stats --by CONTEXT` counts the values that Babeltrace shows."""
    shown = subprocess.run(["babeltrace2", trace], stdout=subprocess.PIPE, encoding="latin-1", check=True).stdout
    for name in "vuid", "net_ns", "procname", "pthread_id":
        want = collections.Counter(v.strip('"') for v in re.findall(r"\b%s = (\"[^\"]*\"|-?\w+)" % name, shown))
        got = json.loads(subprocess.run([duet, "stats", "--json", "--by", "ctx." + name, trace], stdout=subprocess.PIPE,
                                        check=True).stdout)["values"]
        if not want or {v["value"]: v["n"] for v in got} != want:
            print("%s: by %s we count %r, Babeltrace shows %r" % (trace, name, got, want))
            return False
    return True


def main():
    view, sample, traces = [os.path.abspath(sys.argv[1]), "view"], sys.argv[2], sys.argv[3:]
    if traces:
        results = [compare(view, t) for t in traces]
        return 1 if False in results else 3 if None in results else 0
    record_lttng.enter_private_mounts()
    with tempfile.TemporaryDirectory(prefix="duet-agree-") as directory:
        try:
            traces = record_all(os.path.abspath(sample), directory)
        except record_lttng.LttngMissing as e:
            print(e)
            return 77
        good = all([compare(view, t) for t in traces])
        return 0 if counted(view[0], os.path.join(directory, "contexts")) and good else 1


if __name__ == "__main__":
    sys.exit(main())
