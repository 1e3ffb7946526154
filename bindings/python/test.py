#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bindings/python/test.py DIRECTORY DUET LIBDUET - the module in DIRECTORY gives what `duet view --json` shows."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import duetread

DUET, LIBRARY = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
TOLD = {"vpid", "vtid", "pid", "tid", "procname"}


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


def record(directory):
    out = directory + "/trace"
    env = dict(os.environ, DUET_RUNTIME_DIR=directory + "/run", DUET_LIBRARY=LIBRARY)
    subprocess.run([DUET, "record", "-q", "--no-kernel", "-e", "lttng_ust_libc:*", "-c", "ip,callstack", "-o", out, "--",
                    "ls", "/"], env=env, stdout=subprocess.DEVNULL, check=True)
    return out


def shown(trace):
    text = subprocess.run([DUET, "view", "--json", "--state", trace], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in text.splitlines():
        e = json.loads(line)
        if "event" in e:
            fields = {**e.get("context", {}), **e["fields"]}
            # view shows a label beside the number.
            yield e["time"], e["event"], {k: v["label"] or v["value"] if isinstance(v, dict) and set(v) == {"value", "label"}
                                          else v for k, v in fields.items() if k not in TOLD}


def without_told(e):
    return e.time, e.name, {k: v for k, v in e.fields.items() if k not in TOLD}


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
          refused(TypeError, r.columns, number, (array,)), "what is no column is refused")
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
    check(refused(duetread.Error, r.previous), "who follows goes forward only")
    check(len(list(duetread.Reader(out, follow=True, timeout=0))) == len(events), "what has ended is read to its end")
    check(refused(ValueError, lambda: duetread.Reader(out, follow=True, timeout=-1)), "a time that makes no sense is refused")
    os.makedirs(directory + "/begun/.duet")
    open(directory + "/begun/.duet/clock", "w").close()
    check(refused(TimeoutError, next, duetread.Reader(directory + "/begun", follow=True, timeout=0.01)), "who waits too long says so")


def main():
    with tempfile.TemporaryDirectory(prefix="duet-python-") as directory:
        trace = record(directory)
        check_following(directory)
        with duetread.Reader(trace) as r:
            events = list(r)
            n = len(events)
            back = [without_told(r.previous()) for _ in range(n)]
            check(r.previous() is None, "backward ends at the beginning")
            r.seek(events[n // 2].time)
            check(next(r).time == events[n // 2].time, "seek finds the time")
            parts = [r.stream(i) for i in range(r.n_streams)]
            check(sum(len(list(p)) for p in parts) == n, "streams alone make up the whole")
            check(refused(IndexError, r.stream, r.n_streams), "no stream beyond the last")
            check(refused(ValueError, r.close), "a reader that others borrow from is not closed")
            for p in parts:
                p.close()
        check(refused(ValueError, next, r), "a closed reader says so")
        mine = [without_told(e) for e in events]
        for ours, theirs in zip(mine, shown(trace)):
            if ours != theirs:
                print("# %r, view %r" % (ours, theirs))
                break
        check(mine == list(shown(trace)), "events, contexts and fields are those of view: %d" % n)
        check(back == mine[::-1], "backward gives the same")
        check(any(isinstance(v, list) for e in events for v in e.fields.values()), "arrays are lists")
        check(refused(KeyError, lambda: events[0]["nothing"]), "a field that is not there is a KeyError")
        check_columns(trace, events)
        cut = directory + "/trace/ust/uid/%d/64-bit/" % os.getuid()
        victim = max((cut + f for f in os.listdir(cut) if f.startswith("cpu_")), key=os.path.getsize)
        os.truncate(victim, os.path.getsize(victim) - 100)
        with duetread.Reader(trace) as r:
            check(0 < len(list(r)) < n and len(r.damages) >= 1 and "bytes" in r.damages[0], "damage is told")
        check(refused(duetread.Error, duetread.Reader, directory + "/nothing"), "what is not there is an error")
        strict = refused(duetread.Error, lambda: list(duetread.Reader(trace, strict=True)))
        check(strict, "strict refuses damage")


if __name__ == "__main__":
    main()
