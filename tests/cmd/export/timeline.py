#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""timeline.py DUET - `duet export perfetto`, `chrome` and `csv`, on recordings made by hand."""
import csv
import io
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../analysis"))
from check import Duet, Failed, check, run_all
from make import EPOCH, LOST, kernel, switch, ust, wakeup
import perfetto

csv.field_size_limit(2**30)
A, B, IDLE = ("a", 7), ("b", 8), ("swapper/0", 0)
SLEEPS = 1


def recording(where):
    return [kernel(where + "/k", [
        wakeup(1000, 0, IDLE, A), switch(1500, 0, IDLE, A), (1600, 0, 7, "syscall_entry_read", dict(fd=3)),
        (1700, 0, 7, "irq_handler_entry", dict(irq=3)), (1750, 0, 7, "irq_handler_exit", dict(irq=3)),
        switch(1800, 0, A, B, SLEEPS), wakeup(1900, 0, B, A), switch(2000, 0, B, A, 0),
        (2100, 0, 7, "syscall_exit_read", dict(ret=-4)), (2150, 0, 7, "syscall_entry_exit", dict(code=0)),
        switch(2300, 0, A, IDLE, SLEEPS)]), ust(where + "/u", [
            (1550, 0, (7, 7), "work:begin", dict(id=1)), (1650, 0, (7, 7), "shop:order", dict(id=2**63, t="x,\"\n")),
            (2120, 0, (7, 7), "work:end", dict(id=1)), (2160, 0, (7, 7), "shop:start", dict(n=-5))])]


def to_perfetto(duet, *argv):
    p = subprocess.run([duet.path, "export", "perfetto"] + list(argv), stdout=subprocess.PIPE, check=True)
    return perfetto.Trace(p.stdout)


def to_chrome(duet, *argv):
    return json.loads(duet.text("export", "chrome", *argv))


# ---------------------------------------------------------------- perfetto

def perfetto_has_processes_threads_and_cpus(duet, where):
    t = to_perfetto(duet, *recording(where))
    check(sorted((d.thread.tid, d.thread.pid, d.thread.thread_name) for d in t.tracks.values()
                 if d.HasField("thread")), [(7, 7, "a"), (8, 8, "b")])
    check(sorted(d.process.pid for d in t.tracks.values() if d.HasField("process")), [7, 8])
    check(sorted(d.name for d in t.tracks.values() if d.name), ["CPU 0", "CPUs"])
    for d in t.tracks.values():
        if d.HasField("thread"):
            check(t.tracks[d.parent_uuid].process.pid, d.thread.pid)


def perfetto_slices_are_calls_and_pairs_that_nest(duet, where):
    t = to_perfetto(duet, *recording(where))
    check(sorted(perfetto.slices(t.of_thread(7))),
          [("read", EPOCH + 1600, EPOCH + 2100, {"fd": 3, "ret": -4}),
           ("work", EPOCH + 1550, EPOCH + 2120, {"id": 1})])
    cpu = [e for e in t.events if t.tracks[e.track].name == "CPU 0"]
    check(perfetto.slices(cpu), [("irq_handler", EPOCH + 1700, EPOCH + 1750, {"irq": 3})])
    # Events without a partner are instants with all fields.
    check([(e.name, e.time - EPOCH, e.fields) for e in t.of_thread(7) if e.type == "INSTANT" and e.name != "woken"],
          [("shop:order", 1650, {"id": -2**63, "t": 'x,"\n'}), ("syscall_entry_exit", 2150, {"code": 0}),
           ("shop:start", 2160, {"n": -5})])


def interrupts_are_the_cpus_and_soft_ones_have_names(duet, where):
    def pair(at, event, **fields):
        return [(at, 0, 7, event + "_entry", fields), (at + 10, 0, 7, event + "_exit", {k: v for k, v in fields.items() if k != "name"})]
    path = kernel(where + "/k", [switch(1500, 0, IDLE, A)] + pair(1600, "irq_handler", irq=3, name="virtio3-tx") +
                  pair(1620, "irq_softirq", vec=3) + pair(1640, "irq_softirq", vec=99) +
                  pair(1660, "x86_irq_vectors_local_timer", vector=236) +
                  [switch(2000, 0, A, IDLE, SLEEPS)])
    t = to_perfetto(duet, path)
    check([s[0] for s in perfetto.slices([e for e in t.events if t.tracks[e.track].name == "CPU 0"])],
          ["irq_handler", "NET_RX", "irq_softirq", "x86_irq_vectors_local_timer"])
    check([e.name for e in t.of_thread(7) if e.type != "INSTANT"], [])
    begun = [e["name"] for e in to_chrome(duet, path)["traceEvents"] if e["ph"] == "B"]
    check([n for n in begun if n in ("irq_handler", "NET_RX")], ["irq_handler", "NET_RX"])


def perfetto_has_switches_in_the_form_of_ftrace(duet, where):
    t = to_perfetto(duet, *recording(where))
    check([(time - EPOCH, cpu, pid, s.prev_comm, s.prev_pid, s.prev_state, s.next_comm, s.next_pid, s.next_prio)
           for time, cpu, pid, s in t.switches],
          [(1500, 0, 0, "swapper/0", 0, 0, "a", 7, 20), (1800, 0, 7, "a", 7, 1, "b", 8, 20),
           (2000, 0, 8, "b", 8, 0, "a", 7, 20), (2300, 0, 7, "a", 7, 1, "swapper/0", 0, 20)])
    check([(time - EPOCH, pid, w.comm, w.pid, w.target_cpu) for time, _, pid, w in t.wakings],
          [(1000, 0, "a", 7, 0), (1900, 8, "a", 7, 0)])


def perfetto_flows_lead_from_wakeup_to_running(duet, where):
    t = to_perfetto(duet, *recording(where))
    begins = {f: e for e in t.events for f in e.flows}
    ends = {f: e for e in t.events for f in e.ends}
    check(sorted(begins), sorted(ends))
    check(sorted((begins[f].time - EPOCH, begins[f].name, ends[f].time - EPOCH, t.tracks[ends[f].track].thread.tid)
                 for f in begins), [(1000, "sched_waking", 1500, 7), (1900, "sched_waking", 2000, 7)])


def counters_are_of_processes(duet, where):
    path = ust(where + "/u", [(1000, 0, (7, 7), "shop:stock", dict(n=3)), (1100, 0, (7, 9), "shop:stock", dict(n=-8)),
                              (1200, 0, (8, 8), "shop:stock", dict(n=5))])
    t = to_perfetto(duet, "--counter", "shop:stock:n", path)
    check([(e.time - EPOCH, e.value, t.tracks[t.tracks[e.track].parent_uuid].process.pid, t.tracks[e.track].name)
           for e in t.events if e.type == "COUNTER"],
          [(1000, 3, 7, "shop:stock:n"), (1100, -8, 7, "shop:stock:n"), (1200, 5, 8, "shop:stock:n")])
    c = to_chrome(duet, "--counter", "shop:stock:n", path)["traceEvents"]
    check([(e["pid"], e["args"]["value"]) for e in c if e["ph"] == "C"], [(7, 3), (7, -8), (8, 5)])
    check("has such a field" in duet.run("export", "chrome", "--counter", "shop:stock:m", path, status=2).stderr, True)


def pairs_may_be_named(duet, where):
    path = ust(where + "/u", [(1000, 0, (7, 7), "shop:open", dict(n=3)), (1100, 0, (7, 7), "shop:shut", dict(m=4)),
                              (1200, 0, (7, 7), "shop:shut", dict(m=5))])
    t = to_perfetto(duet, "--pair", "shop:open,shop:shut", path)
    check(perfetto.slices(t.events), [("shop:open", EPOCH + 1000, EPOCH + 1100, {"n": 3, "m": 4})])
    check([e.name for e in t.events if e.type == "INSTANT"], ["shop:shut"])


def slices_end_where_something_was_lost_and_with_their_thread(duet, where):
    path = kernel(where + "/k", [
        (1000, 0, 7, "syscall_entry_read", dict(fd=0)), LOST(1500, 0, 9), (1600, 0, 7, "syscall_exit_read", dict(ret=1)),
        (1700, 0, 8, "syscall_entry_read", dict(fd=1)), (1800, 0, 8, "sched_process_exit", dict(tid=8))])
    t = to_perfetto(duet, path)
    check(perfetto.slices(t.of_thread(7)), [("read", EPOCH + 1000, EPOCH + 1500, {"fd": 0})])
    check(perfetto.slices(t.of_thread(8)), [("read", EPOCH + 1700, EPOCH + 1800, {"fd": 1})])
    check([(e.name, e.time - EPOCH) for e in t.events if "lost" in (e.name or "")], [("9 events lost", 1500)])


def an_end_out_of_order_closes_the_slices_above_it(duet, where):
    path = ust(where + "/u", [(1000, 0, (7, 7), "x:a_begin", dict(n=1)), (1100, 0, (7, 7), "x:b_begin", dict(n=2)),
                              (1200, 0, (7, 7), "x:a_end", dict(n=1)), (1300, 0, (7, 7), "x:b_end", dict(n=2))])
    t = to_perfetto(duet, path)
    check(perfetto.slices(t.events), [("x:b", EPOCH + 1100, EPOCH + 1200, {"n": 2}),
                                      ("x:a", EPOCH + 1000, EPOCH + 1200, {"n": 1})])
    check([(e.name, e.time - EPOCH) for e in t.events if e.type == "INSTANT"], [("x:b_end", 1300)])


def filters_choose_as_in_view(duet, where):
    paths = recording(where)
    t = to_perfetto(duet, "-e", "shop", "-e", "syscall_*", *paths)
    check(([e.name for e in t.events if e.name], len(t.switches)), (["read", "shop:order", "syscall_entry_exit", "shop:start"], 0))
    t = to_perfetto(duet, "-f", "n == -5", *paths)
    check([e.name for e in t.events], ["shop:start"])
    # Half a microsecond on either side: seconds since 1970 have nine decimals.
    t = to_perfetto(duet, "--from", "1700000000.000001600", "--to", "1700000000.000002130", *paths)
    check([(e.type, e.name) for e in t.of_thread(7)][:2], [("BEGIN", "read"), ("INSTANT", "shop:order")])
    check(max(e.time for e in t.events) <= EPOCH + 2130, True)
    check("nothing recorded is called so" in duet.run("export", "csv", "-e", "nope:*", *paths, status=2).stderr, True)


# ---------------------------------------------------------------- chrome

def walk_chrome(events):
    """Checks that B and E nest on each row, and that X events nest or are disjoint; returns the slices of each row."""
    rows, done = {}, {}
    for e in events:
        row = (e["pid"], e["tid"])
        if e["ph"] == "B":
            rows.setdefault(row, []).append(e)
        elif e["ph"] == "E":
            if not rows.get(row):
                raise Failed("an end without a beginning: %r" % e)
            b = rows[row].pop()
            done.setdefault(row, []).append((b["name"], b["ts"], e["ts"]))
        elif e["ph"] == "X":
            done.setdefault(row, []).append((e["name"], e["ts"], round(e["ts"] + e["dur"], 3)))
    for row, slices in done.items():
        ends = []
        for name, begin, end in sorted(slices, key=lambda s: (s[1], -s[2])):
            while ends and ends[-1] <= begin:
                ends.pop()
            if ends and end > ends[-1]:
                raise Failed("%s of row %r ends after the slice around it" % (name, row))
            ends.append(end)
    return done


def chrome_has_the_same_slices_states_and_flows(duet, where):
    c = to_chrome(duet, *recording(where))
    check(c["otherData"]["begin_ns"], str(EPOCH + 1000))
    events = c["traceEvents"]
    rows = walk_chrome(events)
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
             if e.get("name") == "thread_name"}
    by_name = {names[r]: sorted(s, key=lambda s: s[1]) for r, s in rows.items()}
    check(by_name["a"], [("work", 0.55, 1.12), ("read", 0.6, 1.1)])
    check(by_name["a (states)"], [("runnable", 0.0, 0.5), ("running", 0.5, 0.8), ("blocked", 0.8, 0.9),
                                  ("runnable", 0.9, 1.0), ("running", 1.0, 1.3)])
    check(by_name["CPU 0"], [("a:7", 0.5, 0.8), ("irq_handler", 0.7, 0.75), ("b:8", 0.8, 1.0), ("a:7", 1.0, 1.3)])
    flows = [(e["ph"], e["id"], e["ts"]) for e in events if e["ph"] in "sf"]
    check(flows, [("s", 1, 0.0), ("f", 1, 0.5), ("s", 2, 0.9), ("f", 2, 1.0)])


def states_span_no_loss_and_no_switch_that_is_missing(duet, where):
    path = kernel(where + "/k", [switch(1000, 0, IDLE, A), LOST(1500, 0, 1), switch(2000, 0, A, B, SLEEPS),
                                 switch(2100, 0, B, A, SLEEPS)])
    rows = walk_chrome(to_chrome(duet, path)["traceEvents"])
    cpu = [s for r, ss in rows.items() if r[0] == 0 for s in ss]
    check(cpu, [("b:8", 1.0, 1.1)])


def each_event_is_there_once(duet, where):
    """A thousand random events: begins, ends and instants together are the events of view, except switches."""
    r, events, time = random.Random(7), [], 1000
    names = ["syscall_entry_a", "syscall_exit_a", "x_begin", "x_end", "irq_handler_entry", "irq_handler_exit",
             "plain", "sched_process_exit"]
    for _ in range(1000):
        time += r.randrange(100)
        cpu, name = r.randrange(3), r.choice(names)
        if r.random() < 0.2:
            a, b = ("t%d" % r.randrange(4), r.randrange(4)), ("u", r.randrange(4))
            events.append(switch(time, cpu, a, b, r.choice((0, 1, 0x20))))
        elif r.random() < 0.1:
            events.append(wakeup(time, cpu, ("w", r.randrange(4)), ("v", r.randrange(4))))
        elif r.random() < 0.02:
            events.append(LOST(time, cpu, 1))
        else:
            events.append((time, cpu, r.randrange(4), name, dict(v=r.randrange(100))))
    path = kernel(where + "/k", events)
    n = sum(1 for e in events if e[3] not in (None, "sched_switch"))
    chrome = to_chrome(duet, path)["traceEvents"]
    walk_chrome([e for e in chrome if e["ph"] != "X"])
    # Synthetic ends have no fields.
    shown = [e for e in chrome if e["ph"] in "BEi" and e["name" if e["ph"] != "E" else "ph"] != "events lost"
            and "args" in e]
    check(len(shown), n, "events in chrome")
    t = to_perfetto(duet, path)
    shown = [e for e in t.events if e.fields and e.type in ("BEGIN", "END", "INSTANT")]
    check(len(shown), n, "events in perfetto")
    check(len(t.switches), sum(1 for e in events if e[3] == "sched_switch"))
    for uuid in t.tracks:
        perfetto.slices([e for e in t.events if e.track == uuid])


# ---------------------------------------------------------------- csv

def csv_agrees_with_view(duet, where):
    paths = recording(where)
    rows = list(csv.DictReader(io.StringIO(duet.text("export", "csv", *paths), newline="")))
    view = [json.loads(line) for line in duet.text("view", "--json", *paths).splitlines()]
    check(len(rows), len(view))
    for r, v in zip(rows, view):
        check((int(r["time"]), r["host"], r["domain"], r["cpu"], r["pid"], r["tid"], r["procname"], r["event"],
               json.loads(r["fields"])),
              (v["time"], v["host"], v["domain"], str(v["cpu"]), str(v.get("pid", "")), str(v.get("tid", "")),
               v.get("proc", ""), v["event"], v["fields"]))


def csv_of_one_class_has_a_column_per_field(duet, where):
    text = duet.text("export", "csv", "-e", "shop:order", *recording(where))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    check([(r["id"], r["t"]) for r in rows], [(str(-2**63), 'x,"\n')])
    check("fields" in rows[0], False)


def view_csv_is_export_csv(duet, where):
    paths = recording(where)
    check(duet.text("view", "--csv", "--state", *paths), duet.text("export", "csv", *paths))
    check(duet.text("view", "--csv", "-e", "shop:order", *paths), duet.text("export", "csv", "-e", "shop:order", *paths))
    check(len(duet.text("view", "--csv", "--state", "--limit", "1", *paths).splitlines()), 2)


# ---------------------------------------------------------------- trouble

def an_empty_recording_gives_an_empty_file_of_the_format(duet, where):
    path = kernel(where + "/k", [LOST(1000, 0, 0)])
    check(to_perfetto(duet, path).events, [])
    check([e for e in to_chrome(duet, path)["traceEvents"] if e["ph"] != "M" and e.get("name") != "events lost"], [])
    check(len(duet.text("export", "csv", path).splitlines()), 1)


def damaged_recordings_are_exported_without_the_damage(duet, where):
    """Cut at many places, and with flipped bits: the result is a well-formed file, or an error."""
    paths = recording(where)
    file, r = where + "/k/cpu_0", random.Random(3)
    with open(file, "rb") as f:
        whole = f.read()
    for i in range(60):
        data = bytearray(whole[:r.randrange(len(whole))] if i % 2 else whole)
        for _ in range(3 if i % 2 == 0 else 0):
            data[r.randrange(len(data))] ^= 1 << r.randrange(8)
        with open(file, "wb") as f:
            f.write(data)
        for form in ("chrome", "csv", "perfetto"):
            p = subprocess.run([duet.path, "export", form] + paths, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               timeout=60)
            if p.returncode not in (0, 2):
                raise Failed("%s: status %d" % (form, p.returncode))
            if form == "chrome" and not p.returncode:
                json.loads(p.stdout)
            elif form == "perfetto" and not p.returncode:
                perfetto.Trace(p.stdout)


def an_incomplete_file_is_reported_and_removed(duet, where):
    paths = recording(where)
    check("cannot write" in duet.run("export", "csv", "-o", where + "/no/file", *paths, status=2).stderr, True)
    if os.path.exists("/dev/full"):
        check("No space" in duet.run("export", "chrome", "-o", "/dev/full", *paths, status=2).stderr, True)
        check(os.path.exists("/dev/full"), True)
    check("call stack" in duet.run("export", "svg", "-o", where + "/out.svg", *paths, status=2).stderr, True)
    check(os.path.exists(where + "/out.svg"), False)
    check("--help" in duet.run("export", "pdf", *paths, status=2).stderr, True)
    check("no recording" in duet.run("export", "csv", status=2).stderr, True)


def a_million_events_need_little_memory(duet, where):
    n, copies = 10000, 100
    events = []
    for i in range(n // 4):
        t = 1000 + i * 40
        tid = 100 + i % 50
        events += [(t, 0, tid, "syscall_entry_read", dict(fd=i)), (t + 10, 0, tid, "syscall_exit_read", dict(ret=i)),
                   switch(t + 20, 0, ("a", tid), ("a", 100 + (i + 1) % 50), 0), (t + 30, 0, tid, "plain", dict(x=i))]
    path = kernel(where + "/k", events)
    size = os.path.getsize(path + "/cpu_0") * copies
    for form in ("perfetto", "chrome", "csv"):
        command = [duet.path, "export", form, "-o", "/dev/null"] + [path] * copies
        pid = os.posix_spawn(command[0], command, os.environ)
        _, status, used = os.wait4(pid, 0)
        check(status, 0, form)
        print("# %s: %d KiB for %d events in %d KiB, %.2f s" % (form, used.ru_maxrss, n * copies, size >> 10,
                                                               used.ru_utime))
        # Mapped file pages count as well; little else may be used.  A child begins with the memory of this script.
        if used.ru_maxrss * 1024 > size + (96 << 20):
            raise Failed("%s: %d KiB for %d events" % (form, used.ru_maxrss, n * copies))


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and not k.startswith("__")
                      and k not in ("run_all", "to_perfetto", "to_chrome", "walk_chrome")], Duet(sys.argv[1])))
