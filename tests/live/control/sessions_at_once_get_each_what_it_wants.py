#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several sessions at once on the same programs: each gets the events it wants, once, in order, and no more.

arguments: DUET PROGRAM LIBDUET [TIMES]     TIMES sessions come and go (default 40)
"""
import json
import os
import shutil
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill, kill_tree  # noqa: E402
from trial import begins, cmd, duet, go_on, is_, ok, paths, run_cases, runtime, start, until, work  # noqa: E402

program, library = paths(2)
times = int(sys.argv[4]) if len(sys.argv) > 4 else 40
CHILD_COUNTS = 300


class Program:
    def __init__(self, threads, forks=0, **env):
        self.p = start(program, threads, forks, env=dict(os.environ, **env))
        self.pid = int(self.p.stdout.readline().split()[1])
        self.forks = forks

    def end(self):
        go_on(self, times=1)  # each thread has begun
        status, out, _ = self.p.end(signal.SIGTERM)
        lines = [line.split() for line in out.splitlines()]
        is_(status, 0, "the program ends well")
        self.counts = {int(w[1]): int(w[2]) for w in lines if w[0] == "thread"}
        self.children = [int(w[1]) for w in lines if w[0] == "child"]


class Session:
    def __init__(self, name, *options):
        self.name, self.path = name, work + "/" + name
        self.p = begins(start(duet, "collect", "-q", "-s", name, "-o", self.path, *options), name)

    def end(self):
        status, _, err = self.p.end(signal.SIGTERM)
        is_((status, err), (0, ""), "session %s ends well" % self.name)
        return self

    def kill(self):
        """Both processes: each would replace the other."""
        kill_tree(self.p.pid)
        self.p.wait()

    def read(self):
        """(pid, thread, event) -> its numbers, in order; the last event of each name, and of each of these.

        A machine that is too busy to accept a program within half a second makes it lose events: these are reported."""
        self.lost = 0
        status, out, err = cmd("view", "--json", self.path)
        is_(status, 0, "view: " + err)
        numbers, self.last, self.last_of = {}, {}, {}
        for line in out.splitlines():
            e = json.loads(line)
            if "event" not in e:
                self.lost += e["lost_events"]
            elif not e["event"].startswith("lttng_ust_statedump"):
                f = e["fields"]
                numbers.setdefault((e["pid"], f["thread"], e["event"]), []).append(f["n"])
                self.last[e["event"]] = self.last_of[e["pid"], f["thread"], e["event"]] = e
        return numbers


def step(event):
    return {"many:large": 16, "many:marked": 8}.get(event, 1)


def all_of(p, events, wanted=lambda n: True):
    """The events of a session that ran from the program's beginning to its end."""
    want = {(p.pid, t, e): [n for n in range(0, count, step(e)) if wanted(n)]
            for t, count in p.counts.items() for e in events}
    return {k: v for k, v in want.items() if v}


def of_children(p, events, wanted=lambda n: True):
    return {(pid, 0, e): [n for n in range(0, CHILD_COUNTS, step(e)) if wanted(n)]
            for pid in p.children for e in events}


def of(numbers, *pids):
    return {k: v for k, v in numbers.items() if k[0] in pids}


def is_all(session, got, want, what):
    """Each event once, in order; missing ones are reported as lost."""
    if not session.lost:
        return is_(got, want, what)
    for key, numbers in got.items():
        ok(numbers == sorted(set(numbers)) and set(numbers) <= set(want.get(key, [])), "%s: %s" % (what, key))
    missing = sum(map(len, want.values())) - sum(map(len, got.values()))
    ok(missing <= session.lost, "%s: missing events are reported" % what, str((missing, session.lost)))


def is_gapless(session, numbers, what, at_least=1):
    for (pid, thread, event), got in numbers.items():
        ok(got == sorted(set(got)), "%s: each %s of %d/%d once, in order" % (what, event, pid, thread))
    if session.lost:
        return
    for (pid, thread, event), got in numbers.items():
        s = step(event)
        if got != list(range(got[0], got[0] + s * len(got), s)) or got[0] % s:
            ok(False, "%s: each %s of %d/%d once, in order" % (what, event, pid, thread), str(got[:50]))
    ok(len(numbers) >= at_least, "%s: something is there" % what, str(list(numbers)))


EVENTS = ("many:small", "many:word", "many:large", "many:marked")


def five_sessions_get_each_the_events_it_wants():
    early = Program(2)
    everything = Session("everything", "-e", "many:*")
    odd = Session("odd", "-e", "many:small", "-f", "n & 1 == 1", "-e", "many:large", "-f", "n & 31 == 0")
    contexts = Session("contexts", "-e", "many:word", "-e", "many:large", "-c", "procname,callstack")
    channels = Session("channels", "-e", "many:*", "--channel", "rare:events=many:large;many:marked,mode=block")
    later_on = Session("later_on", "-e", "!*")
    sessions = (everything, odd, contexts, channels, later_on)
    late = Program(2, 5)
    go_on(early, late)
    is_(cmd("enable", "-s", "later_on", "many:word")[0], 0, "enable")
    listed = cmd("list", "-p", str(late.pid))[1]
    ok("(everything, contexts, channels, later_on)" in listed, "list names the sessions that record an event", listed)
    latest = Program(1, 2)
    go_on(early, late, latest, times=100)
    status = cmd("status")[1]
    for s in sessions:
        ok("%s: " % s.name in status, "status shows each", status)
    programs = (early, late, latest)
    for p in programs:
        p.end()
    numbers = {s: s.end().read() for s in sessions}
    got = numbers[everything]
    is_gapless(everything, of(got, early.pid), "a program that ran before")
    for p in (late, latest):
        is_all(everything, of(got, p.pid, *p.children), {**all_of(p, EVENTS), **of_children(p, EVENTS)},
               "all of a later one")
        got_odd = of(numbers[odd], p.pid, *p.children)
        want = {**all_of(p, ["many:small"], lambda n: n & 1), **of_children(p, ["many:small"], lambda n: n & 1),
                **all_of(p, ["many:large"], lambda n: n & 31 == 0),
                **of_children(p, ["many:large"], lambda n: n & 31 == 0)}
        is_all(odd, got_odd, {k: v for k, v in want.items() if v}, "events that pass filters, large or not")
        is_all(contexts, of(numbers[contexts], p.pid, *p.children),
               {**all_of(p, EVENTS[1:3]), **of_children(p, EVENTS[1:3])}, "with contexts")
        is_all(channels, of(numbers[channels], p.pid, *p.children),
               {**all_of(p, EVENTS), **of_children(p, EVENTS)}, "in two channels")
    is_all(later_on, of(numbers[later_on], latest.pid, *latest.children),
           {**all_of(latest, ["many:word"]), **of_children(latest, ["many:word"])}, "enabled before it began")
    is_gapless(later_on, numbers[later_on], "enabled later")
    is_({e for _, _, e in numbers[later_on]}, {"many:word"}, "and no other")
    last = json.dumps(contexts.last["many:large"])
    ok("callstack" in last, "contexts are there", last[:300])
    last = json.dumps(everything.last["many:large"])
    ok("callstack" not in last, "and not in the session that did not ask", last[:300])
    is_(len(contexts.last["many:large"]["fields"]["text"]), 1999, "a long text is whole in each")
    # Each session reads the clock itself, so two threads' events may have another order in each.
    one = next(k for k in everything.last_of if k[2] == "many:large" and k in channels.last_of)
    if not everything.lost + channels.lost:
        is_(everything.last_of[one]["fields"], channels.last_of[one]["fields"], "and the same")


def a_killed_session_does_not_disturb_the_others():
    p = Program(2)
    sessions = [Session("kept%d" % i, "-e", "many:*") for i in range(2)]
    victim = Session("victim", "-e", "many:*")
    q = Program(1)
    go_on(p, q)
    victim.kill()
    r = Program(1)
    go_on(p, q, r)
    listed = cmd("list", "-p", str(q.pid))[1]
    ok("victim" not in listed and "(kept0, kept1)" in listed, "the next command sweeps it up", listed)
    with open(runtime + "/seats", "rb") as f:
        seats = f.read()
    is_(sum(any(seats[17 + 72 * i:24 + 72 * i]) for i in range(7)), 2, "its seat is free")
    for one in (p, q, r):
        one.end()
    for s in sessions:
        got = s.end().read()
        is_gapless(s, of(got, p.pid), "the one that was there")
        for one in (q, r):
            is_all(s, of(got, one.pid), all_of(one, EVENTS), "all of another")
    shutil.rmtree(victim.path)


def seven_sessions_are_the_most():
    p = Program(1)
    sessions = [Session("full%d" % i, "-e", "many:small") for i in range(7)]
    status, _, err = cmd("collect", "-s", "eighth", "-o", work + "/eighth")
    is_((status, err.count("\n")), (2, 1), "an eighth is refused: " + err)
    ok("7 sessions" in err, "why", err)
    ok(not os.path.exists(work + "/eighth"), "and leaves nothing")
    q = Program(1)
    go_on(p, q)
    p.end()
    q.end()
    for s in sessions:
        got = s.end().read()
        is_gapless(s, of(got, p.pid), "one of seven")
        is_all(s, of(got, q.pid), all_of(q, ["many:small"]), "all, in each")


def sessions_have_members():
    outer = Session("always", "-e", "many:small")
    other = Session("other", "-e", "many:small")
    limited = Program(1, DUET_SESSION="other")
    both = Program(1, DUET_SESSION="other+always")
    free = Program(1)
    inside = "%s record -q --no-kernel -o %s/inner -e many:word -- %s 1" % (duet, work, program)
    r = start(duet, "record", "-q", "--no-kernel", "-o", work + "/outer", "-e", "many:small", "--", "sh", "-c",
              "exec " + inside)
    nested = int(r.stdout.readline().split()[1])
    go_on(limited, both, free, nested)
    status, out, _ = cmd("enable", "-s", "always", "many:marked")
    ok("in 3 programs" in out, "one is left alone", out)
    kill(nested, signal.SIGTERM)
    counts = {int(w[1]): int(w[2]) for w in (line.split() for line in r.communicate()[0].splitlines())}
    is_(r.returncode, 0, "the command ends")
    for p in (limited, both, free):
        p.end()
    got, theirs = outer.end().read(), other.end().read()
    is_({k[0] for k in got}, {both.pid, free.pid, nested}, "programs that belong to the session that is always on")
    is_({k[0] for k in theirs}, {limited.pid, both.pid, free.pid, nested}, "and to the other")
    recording = Session.__new__(Session)
    for name, event in (("outer", "many:small"), ("inner", "many:word")):
        recording.name, recording.path = name, work + "/" + name
        is_all(recording, recording.read(), {(nested, 0, event): list(range(counts[0]))},
               "a command's recording has it alone")


def recordings_without_a_name_run_side_by_side():
    p = Program(1)
    always = begins(start(duet, "collect", "-q", "-o", work + "/collect", "-e", "many:small"))
    beside = start(duet, "record", "-q", "-o", work + "/beside", "-e", "many:word")
    until(lambda: "(default, record-%d)" % beside.pid in cmd("enable", "-s", "default", "many:word")[1] + cmd("list")[1],
          lambda: "another one is beside it: " + cmd("list")[1])
    for one in (beside, always):
        status, _, err = one.end(signal.SIGTERM)
        is_((err, status), ("", 0), "it ends well")
    p.end()


def sessions_come_and_go_under_load():
    always = Session("stays", "-e", "many:*")
    programs = [Program(2) for _ in range(2)]
    guests, read = [], 0
    for i in range(times):
        guests.append(Session("guest%d" % i, "-e", "many:" + ("*" if i % 3 else "small")))
        if len(guests) == 5:
            guest = guests.pop((i * 7) % 5)
            if i % 10 == 9:
                guest.kill()
            else:
                got = guest.end().read()
                is_gapless(guest, got, guest.name, 0)  # it may have begun a moment ago
                read += len(got) > 0
            shutil.rmtree(guest.path, ignore_errors=True)
        if i % 20 == 19:
            programs.append(Program(1, 3))
    for guest in guests:
        is_gapless(guest, guest.end().read(), guest.name, 0)
    for p in programs:
        p.end()
    got = always.end().read()
    is_gapless(always, of(got, *(p.pid for p in programs)), "the one that stays")
    for p in programs[2:]:
        is_all(always, of(got, p.pid, *p.children), {**all_of(p, EVENTS), **of_children(p, EVENTS)}, "all of a later one")
    ok(read > times / 4, "the guests had something", str(read))


run_cases(five_sessions_get_each_the_events_it_wants, a_killed_session_does_not_disturb_the_others, seven_sessions_are_the_most,
          sessions_have_members, recordings_without_a_name_run_side_by_side, sessions_come_and_go_under_load)
