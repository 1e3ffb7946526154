#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bindings/python/test.py DIRECTORY DUET LIBDUET - the module in DIRECTORY reads the same events as `duet view --json`."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, sys.argv[1])
import duetread
from check_table import check_tables, plain_columns

DUET, LIBRARY = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
THREAD_CONTEXTS = {"vpid", "vtid", "pid", "tid", "procname"}


def check(condition, what):
    if not condition:
        raise SystemExit("not ok " + what)
    print("ok " + what)


def refused(kind, call, *arguments):
    try:
        call(*arguments)
    except kind:
        return True
    return False


def record(directory, out, *options):
    env = dict(os.environ, DUET_RUNTIME_DIR=directory + "/run", DUET_LIBRARY=LIBRARY)
    subprocess.run([DUET, "record", "-q", "--no-kernel", "-e", "lttng_ust_libc:*", *options, "-o", out, "--", "ls", "/"], env=env, stdout=subprocess.DEVNULL, check=True)
    return out


def shown(trace):
    text = subprocess.run([DUET, "view", "--json", "--state", trace], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in text.splitlines():
        e = json.loads(line)
        if "event" in e:
            fields = {**e.get("context", {}), **e["fields"]}
            # view shows a label beside the number.
            yield e["time"], e["event"], {k: v["label"] or v["value"] if isinstance(v, dict) and set(v) == {"value", "label"}
                                          else v for k, v in fields.items() if k not in THREAD_CONTEXTS}


def without_thread(e):
    return e.time, e.name, {k: v for k, v in e.fields.items() if k not in THREAD_CONTEXTS}


def check_columns(trace, events):
    r = duetread.Reader(trace)
    name = "lttng_ust_libc:malloc"
    number = [n for n, _ in r.classes].index(name)
    check("size" in r.classes[number][1], "classes name their fields")
    times, sizes, cpus = r.columns(number, ("time", "size", "cpu"), 1 << 20)
    mine = [e for e in events if e.name == name]
    check([e.time for e in mine] == list(times) and [e["size"] for e in mine] == list(sizes) and
          [e.cpu for e in mine] == list(cpus), "columns hold what events do")
    check(times.format == "q" and times.itemsize == 8, "columns are memoryviews of numbers")
    array = next(k for k, v in mine[0].fields.items() if isinstance(v, list))
    check(refused(KeyError, r.columns, number, ("nothing",)) and refused(IndexError, r.columns, 1 << 30, ()) and
          refused(TypeError, r.columns, number, (array,)), "a field that is not a column is refused")
    r.seek(-2**63)
    check(len(r.columns(None, ("time", "class"), 10)[1]) == 10, "columns of all classes")


def check_following(directory):
    out = directory + "/followed"
    env = dict(os.environ, DUET_RUNTIME_DIR=directory + "/run", DUET_LIBRARY=LIBRARY)
    p = subprocess.Popen([DUET, "record", "-q", "--no-kernel", "-e", "lttng_ust_libc:*", "-o", out, "--", "sh", "-c",
                          "ls /; echo; read x"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    while p.stdout.readline().strip():
        pass  # ls has ended
    r = duetread.Reader(out, follow=True)
    events = [next(r)]  # waits until the recorder has written it
    p.stdin.write(b"\n")
    p.stdin.close()
    events += r
    check(p.wait() == 0 and [(e.time, e.name, e.fields) for e in events] ==
          [(e.time, e.name, e.fields) for e in duetread.Reader(out)], "what is written meanwhile is waited for: %d" % len(events))
    check(refused(duetread.Error, r.previous), "a following reader moves forward only")
    check(len(list(duetread.Reader(out, follow=True, timeout=0))) == len(events), "an ended recording is read to its end")
    check(refused(ValueError, lambda: duetread.Reader(out, follow=True, timeout=-1)), "an invalid timeout is refused")
    os.makedirs(directory + "/begun/.duet")
    open(directory + "/begun/.duet/clock", "w").close()
    check(refused(TimeoutError, next, duetread.Reader(directory + "/begun", follow=True, timeout=0.01)), "waiting too long raises TimeoutError")


METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { };
event { name = "all"; fields := struct { u8 n; integer { size = 8; align = 8; signed = true; } i;
    enum : integer { size = 8; align = 8; signed = true; } { LOW = -2, "\u00e4" = 0 ... 3 } label;
    floating_point { exp_dig = 11; mant_dig = 53; align = 8; } real; string text; u8 n; u8 last; }; };
"""


def all_kinds(directory):
    """Makes a trace of 700 events with every kind of field; returns the events."""
    os.mkdir(directory)
    with open(directory + "/metadata", "w") as f:
        f.write(METADATA)
    data, events = b"", []
    for k in range(700):
        label, text = k // 3 % 8 - 3, ("same", "same", "sam", "", "\u00e4\u00f6", "text %d" % k)[k % 6]
        data += struct.pack("<Bbbd", k % 256, -k % 128, label, k // 2 / 4) + text.encode() + b"\0" + bytes((k % 3, 7))
        events.append({"n": k % 3, "i": -k % 128, "label": {-2: "LOW", 0: "\u00e4", 1: "\u00e4", 2: "\u00e4", 3: "\u00e4"}.get(label, label),
                       "real": k // 2 / 4, "text": text, "last": 7})
    with open(directory + "/stream", "wb") as f:
        f.write(data)
    return events


SAME_NAMES = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { major = 1; minor = 8; byte_order = le; };
stream { };
event { name = "all"; fields := struct { u8 cpu; u8 n; string time; u8 n; u8 n; u8 last; }; };
"""


def check_same_names(directory):
    """Columns of one name do not hide each other, nor time, cpu and stream."""
    os.mkdir(directory)
    with open(directory + "/metadata", "w") as f:
        f.write(SAME_NAMES)
    with open(directory + "/stream", "wb") as f:
        f.write(b"".join(bytes((k, k + 1)) + b"t%d\0" % k + bytes((k + 2, k + 3, 9)) for k in range(5)))
    columns = plain_columns(duetread.Reader(directory).table("all"))
    check(list(columns) == ["time", "cpu", "stream", "cpu.1", "n", "time.1", "n.1", "n.2", "last"], "columns have names of their own")
    check([columns[c][2] for c in list(columns)[3:]] == [2, 3, "t2", 4, 5, 9], "and the values of their fields")
    columns = plain_columns(duetread.Reader(directory).table("all", fields=["n"]))
    check(list(columns) == ["time", "cpu", "stream", "n", "n.1", "n.2"], "a name stands for all fields that have it")
    check_tables(directory, list(duetread.Reader(directory)), check, refused)
    try:
        import pandas  # noqa: F401
    except ImportError:
        return
    frame = duetread.Reader(directory).to_pandas("all")
    check(len(frame.columns) == 9 and frame["n.2"].tolist() == [3, 4, 5, 6, 7] and frame["n"].tolist() == [1, 2, 3, 4, 5], "pandas has them all")


def fnv(text):
    h = 0xcbf29ce484222325
    for c in text:
        h = (h ^ c) * 0x100000001b3 & 0xffffffffffffffff
    return h ^ h >> 32


def check_chosen_texts(directory):
    """Texts that a known hash function would put into one place take no longer than others."""
    many, plain, chosen, k = 3000, [], [], 0
    while len(chosen) < many:
        text = b"%x" % k
        k += 1
        if not fnv(text) & 0xff00:
            chosen.append(text)
        elif len(plain) < many:
            plain.append(text)
    seconds = []
    for which, texts in enumerate((plain, chosen)):
        where = "%s-%d" % (directory, which)
        os.mkdir(where)
        with open(where + "/metadata", "w") as f:
            f.write(SAME_NAMES.replace("u8 cpu; u8 n; string time; u8 n; u8 n; u8 last;", "string text;"))
        with open(where + "/stream", "wb") as f:
            f.write(b"".join(t + b"\0" for t in texts))
        taken = []
        for _ in range(3):
            begin = time.process_time()
            table = duetread.Reader(where).table("all")
            taken.append(time.process_time() - begin)
        seconds.append(min(taken))
        check([table.columns[3][3], len(table)] == [[t.decode() for t in texts], many], "all texts are there")
    check(seconds[1] < 5 * seconds[0] + 0.005, "chosen texts do not collide: %.4f and %.4f s" % tuple(seconds))


AT_EXIT = """
import ctypes, sys
sys.path[:0] = sys.argv[2:]
import duetread, check_table as c
capsules = c.open_capsules(duetread.Reader(sys.argv[1]).table("all"))
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
getattr(libc, "__cxa_atexit").argtypes = [ctypes.c_void_p] * 3
for kind, found in ((c.Schema, capsules[2]), (c.Array, capsules[3])):
    moved = libc.malloc(ctypes.sizeof(kind))
    ctypes.memmove(moved, ctypes.byref(found), ctypes.sizeof(kind))
    getattr(libc, "__cxa_atexit")(found.release, moved, None)  # called after the interpreter has ended
    found.release = None
print("moved", flush=True)
"""


def check_the_end_of_python(trace):
    """A consumer of Arrow may release an array when the process ends, after the interpreter."""
    r = subprocess.run([sys.executable, "-c", AT_EXIT, trace, sys.argv[1], os.path.dirname(os.path.abspath(__file__))],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(r.stdout == "moved\n" and r.returncode == 0 and not r.stderr, "an array may outlive the interpreter: %d %s" % (r.returncode, r.stderr))


def same(a, b):
    return (a.time, a.cpu, a.name, a.stream, a.class_number, a.fields, a.lost_events) == \
           (b.time, b.cpu, b.name, b.stream, b.class_number, b.fields, b.lost_events)


def check_batches(directory):
    """Reading ahead has no visible effect: moving to and fro, by columns, after a seek."""
    trace = record(directory, directory + "/plain", "-c", "procname,ip")
    r = duetread.Reader(trace)
    events = list(r)
    n = len(events)
    back = [r.previous() for _ in range(n)][::-1]
    check(n > 300 and all(map(same, events, back)), "batches hold what single events do: %d" % n)
    at, furthest, good = 0, 0, True
    for step in range(1, 150):
        for _ in range(min(step, n - at)):
            good &= same(next(r), events[at])
            at += 1
        furthest = max(at, furthest)
        for _ in range(min(step * 2 // 3, at)):
            at -= 1
            good &= same(r.previous(), events[at])
    check(good and furthest == n, "to and fro, the events come in turn: %d" % furthest)
    r.seek(-2**63)
    for _ in range(100):
        next(r)
    times, = r.columns(None, ("time",), 10)
    check(list(times) == [e.time for e in events[100:110] if e.name] and same(next(r), events[110]), "columns begin at the position of the iteration")
    for _ in range(100):
        next(r)
    r.seek(events[n // 2].time)
    check(next(r).time == events[n // 2].time, "seek drops events that were read ahead")

    check_dropped_events(trace)
    events = all_kinds(directory + "/kinds")
    check_dropped_events(directory + "/kinds")
    r = duetread.Reader(directory + "/kinds")
    mine = [e.fields for e in r]
    check(mine == events and [list(m) for m in mine] == [list(e) for e in events], "every kind of field")
    check([r.previous().fields for _ in events][::-1] == events, "every kind of field, one by one")
    check_tables(directory + "/kinds", list(r), check, refused)


def change(fields, how):
    """A script may do with an event's dict what it wants."""
    if how == 0:
        fields["more"] = 1
    elif how == 1 and fields:
        del fields[next(iter(fields))]
    elif how == 2 and fields:
        fields[next(iter(fields))] = "other"
    elif how == 3:
        fields.clear()
    elif how == 4 and fields:
        name = next(iter(fields))
        fields[name] = fields.pop(name)  # the same, in another order


def check_dropped_events(trace):
    """The dict of an event that was dropped serves a later one: nobody sees that."""
    events, r = list(duetread.Reader(trace)), random.Random(3)
    kept, good = [], True
    for i, e in enumerate(duetread.Reader(trace)):
        good = good and same(e, events[i]) and list(e.fields) == list(events[i].fields)
        what = r.randrange(4)
        if what == 0:
            kept.append((i, e))
        elif what == 1:
            kept.append((i, e.fields))
        elif what == 2:
            change(e.fields, r.randrange(6))
    check(good, "changed dicts of dropped events do not come back")
    check(all(same(k, events[i]) if isinstance(k, duetread.Event) else k == events[i].fields for i, k in kept),
          "events and dicts that are kept stay the same")


def check_use_by_two(directory):
    """While a thread waits in next(), a call of another thread raises an exception."""
    r = duetread.Reader(directory + "/begun", follow=True, timeout=0.5)
    stop, is_refused, end = threading.Event(), False, time.monotonic() + 30

    def wait():
        while not stop.is_set():
            refused((TimeoutError, ValueError), next, r)

    thread = threading.Thread(target=wait)
    thread.start()
    while not is_refused and time.monotonic() < end:
        is_refused = refused(ValueError, r.seek, 0)
    stop.set()
    thread.join()
    check(is_refused, "a reader in use refuses other calls")
    r.seek(0)
    r.close()


def main():
    with tempfile.TemporaryDirectory(prefix="duet-python-") as directory:
        trace = record(directory, directory + "/trace", "-c", "ip,callstack")
        check_following(directory)
        check_use_by_two(directory)
        check_batches(directory)
        check_same_names(directory + "/names")
        check_chosen_texts(directory + "/texts")
        check_the_end_of_python(directory + "/names")
        with duetread.Reader(trace) as r:
            events = list(r)
            n = len(events)
            back = [without_thread(r.previous()) for _ in range(n)]
            check(r.previous() is None, "backward ends at the beginning")
            r.seek(events[n // 2].time)
            check(next(r).time == events[n // 2].time, "seek finds the time")
            parts = [r.stream(i) for i in range(r.n_streams)]
            check(sum(len(list(p)) for p in parts) == n, "single streams together have all events")
            check(refused(IndexError, r.stream, r.n_streams), "no stream beyond the last")
            check(refused(ValueError, r.close), "a reader that others borrow from is not closed")
            for p in parts:
                p.close()
        check(refused(ValueError, next, r), "a closed reader raises ValueError")
        mine = [without_thread(e) for e in events]
        for ours, theirs in zip(mine, shown(trace)):
            if ours != theirs:
                print("# %r, view %r" % (ours, theirs))
                break
        check(mine == list(shown(trace)), "events, contexts and fields are those of view: %d" % n)
        check(back == mine[::-1], "backward gives the same")
        check(any(isinstance(v, list) for e in events for v in e.fields.values()), "arrays are lists")
        check(refused(KeyError, lambda: events[0]["nothing"]), "a field that is not there is a KeyError")
        check_columns(trace, events)
        check_tables(trace, events, check, refused)
        cut = directory + "/trace/ust/uid/%d/64-bit/" % os.getuid()
        victim = max((cut + f for f in os.listdir(cut) if f.startswith("cpu_")), key=os.path.getsize)
        os.truncate(victim, os.path.getsize(victim) // 2)
        with duetread.Reader(trace) as r:
            check(0 < len(list(r)) < n and len(r.damages) >= 1 and "bytes" in r.damages[0], "damage is reported")
        check(refused(duetread.Error, duetread.Reader, directory + "/nothing"), "a missing recording is an error")
        strict = refused(duetread.Error, lambda: list(duetread.Reader(trace, strict=True)))
        check(strict, "strict refuses damage")


if __name__ == "__main__":
    main()
