# SPDX-License-Identifier: MIT
"""Reads the output of `duet export perfetto` with protoc, and resolves names, times and tracks.

    t = Trace(bytes)
    t.events    [Event(time, type, name, track, fields, flows, ends, categories)]
    t.tracks    {uuid: descriptor}
    t.switches, t.wakings   [(time, cpu, pid, message)]
"""
import collections
import importlib
import os
import subprocess
import sys
import tempfile

Event = collections.namedtuple("Event", "time type name track fields flows ends value")
HERE = os.path.dirname(os.path.abspath(__file__))


def messages():
    """The reader that protoc generates from perfetto.proto."""
    where = tempfile.mkdtemp(prefix="duet-proto-")
    subprocess.run(["protoc", "-I", HERE, "--python_out", where, "perfetto.proto"], check=True)
    sys.path.insert(0, where)
    module = importlib.import_module("perfetto_pb2")
    sys.path.pop(0)
    subprocess.run(["rm", "-r", where], check=True)
    return module


pb2 = messages()


class Trace:
    def __init__(self, data):
        message = pb2.Trace()
        message.ParseFromString(data)
        self.packets = list(message.packet)
        self.tracks, self.events, self.switches, self.wakings = {}, [], [], []
        self.names = {}, {}
        clocks = {c.clock_id: c for c in self.packets[0].clock_snapshot.clocks}
        assert clocks[64].is_incremental and clocks[1].timestamp == clocks[6].timestamp == clocks[64].timestamp
        assert self.packets[0].sequence_flags == 1 and self.packets[0].defaults.timestamp_clock_id == 64
        self.begin = self.time = clocks[64].timestamp
        for p in self.packets:
            assert not unknown(p), "a field that the schema does not have: %r" % p
            self.take(p)

    def take(self, p):
        for table, new in zip(self.names, (p.interned_data.event_names, p.interned_data.debug_annotation_names)):
            for i in new:
                assert i.iid and i.iid not in table
                table[i.iid] = i.name
        if p.HasField("track_descriptor"):
            d = p.track_descriptor
            assert d.uuid and d.uuid not in self.tracks
            assert not d.HasField("parent_uuid") or d.parent_uuid in self.tracks
            self.tracks[d.uuid] = d
        if p.HasField("ftrace_events"):
            for e in p.ftrace_events.event:
                if e.HasField("sched_switch"):
                    self.switches.append((e.timestamp, p.ftrace_events.cpu, e.pid, e.sched_switch))
                elif e.HasField("sched_waking"):
                    self.wakings.append((e.timestamp, p.ftrace_events.cpu, e.pid, e.sched_waking))
        if p.HasField("track_event"):
            assert p.sequence_flags == 2
            self.take_event(p, p.track_event)

    def take_event(self, p, e):
        if p.HasField("timestamp_clock_id"):
            assert p.timestamp_clock_id == 6
            time = p.timestamp
        else:
            self.time += p.timestamp
            time = self.time
        assert e.track_uuid in self.tracks
        name = e.name or (self.names[0][e.name_iid] if e.HasField("name_iid") else None)
        self.events.append(Event(time, pb2.TrackEvent.Type.Name(e.type), name, e.track_uuid,
                                 {self.names[1][a.name_iid]: self.value(a) for a in e.debug_annotations},
                                 list(e.flow_ids), list(e.terminating_flow_ids), e.counter_value))

    def value(self, a):
        for kind in ("uint_value", "int_value", "double_value", "string_value"):
            if a.HasField(kind):
                return getattr(a, kind)
        if a.dict_entries:
            return {self.names[1][m.name_iid]: self.value(m) for m in a.dict_entries}
        return [self.value(m) for m in a.array_values]

    def of_thread(self, tid):
        """Returns the events of a thread's track."""
        uuids = {u for u, d in self.tracks.items() if d.HasField("thread") and d.thread.tid == tid}
        return [e for e in self.events if e.track in uuids]


def unknown(message):
    fields = getattr(message, "UnknownFields", lambda: [])()
    if len(fields):
        return True
    for f, v in message.ListFields():
        if f.type == f.TYPE_MESSAGE:
            if any(unknown(m) for m in (v if f.label == f.LABEL_REPEATED else [v])):
                return True
    return False


def slices(events):
    """Returns (name, begin, end or None, fields) of one track; fails if slices do not nest."""
    stack, done = [], []
    for e in events:
        if e.type == "BEGIN":
            stack.append(e)
        elif e.type == "END":
            b = stack.pop()
            assert b.time <= e.time
            done.append((b.name, b.time, e.time, dict(b.fields, **e.fields)))
    return done + [(b.name, b.time, None, b.fields) for b in stack]
