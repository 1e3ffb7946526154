#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several sessions at once on the same programs: each gets what it wants, once, in order, and no more.

usage: check.py DUET PROGRAM LIBDUET [TIMES]     TIMES sessions come and go (default 40)
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

duet, program, library = sys.argv[1:4]
times = int(sys.argv[4]) if len(sys.argv) > 4 else 40
work = tempfile.mkdtemp(prefix="duet-seats-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
os.environ.pop("DUET_SESSION", None)
os.mkdir(work + "/run", 0o700)
started = []
failures = 0
CHILD_COUNTS = 300


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("not ok: %s: got %.300r, wanted %.300r" % (what, got, want))


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %.500s" % (what, more))


def wait_for(condition, seconds=30):
    for _ in range(int(seconds * 100)):
        if condition():
            return True
        time.sleep(0.01)
    return False


def cmd(*args):
    p = subprocess.run([duet] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p.returncode, p.stdout, p.stderr


def start(args, **env):
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         env=dict(os.environ, **env))
    started.append(p)
    return p


class Program:
    def __init__(self, threads, forks=0, **env):
        self.p = start([program, str(threads), str(forks)], **env)
        self.pid = int(self.p.stdout.readline().split()[1])
        self.forks = forks

    def end(self):
        self.p.send_signal(signal.SIGTERM)
        lines = [line.split() for line in self.p.communicate()[0].splitlines()]
        is_(self.p.returncode, 0, "the program ends well")
        self.counts = {int(w[1]): int(w[2]) for w in lines if w[0] == "thread"}
        self.children = [int(w[1]) for w in lines if w[0] == "child"]


class Session:
    def __init__(self, name, *options):
        self.name, self.path = name, work + "/" + name
        self.p = start([duet, "collect", "-q", "-s", name, "-o", self.path] + list(options))
        if not wait_for(lambda: os.path.exists(work + "/run/session-" + name) or self.p.poll() is not None):
            ok(False, "session %s begins" % name)

    def end(self):
        self.p.send_signal(signal.SIGTERM)
        err = self.p.communicate()[1]
        is_((self.p.returncode, err), (0, ""), "session %s ends well" % self.name)
        return self

    def workers(self):
        with open("/proc/%d/task/%d/children" % (self.p.pid, self.p.pid)) as f:
            return [int(n) for n in f.read().split()]

    def kill(self):
        """Both processes: each would replace the other, so the keeper is stopped first."""
        self.p.send_signal(signal.SIGSTOP)
        for pid in self.workers():
            os.kill(pid, signal.SIGKILL)
        self.p.kill()
        self.p.wait()

    def read(self):
        """(pid, thread, event) -> its numbers, in order; fields and contexts of the last.

        A machine that is too busy to let a program in within half a second makes it lose events: these are told."""
        self.lost = 0
        status, out, err = cmd("view", "--json", self.path)
        is_(status, 0, "view: " + err)
        numbers, self.last = {}, {}
        for line in out.splitlines():
            e = json.loads(line)
            if "event" not in e:
                self.lost += e["lost_events"]
            elif not e["event"].startswith("lttng_ust_statedump"):
                f = e["fields"]
                numbers.setdefault((e["pid"], f["thread"], e["event"]), []).append(f["n"])
                self.last[e["event"]] = e
        return numbers


def step(event):
    return {"many:large": 16, "many:marked": 8}.get(event, 1)


def all_of(p, events, wanted=lambda n: True):
    """What a session has that saw the program from beginning to end."""
    want = {(p.pid, t, e): [n for n in range(0, count, step(e)) if wanted(n)]
            for t, count in p.counts.items() for e in events}
    return {k: v for k, v in want.items() if v}


def of_children(p, events, wanted=lambda n: True):
    return {(pid, 0, e): [n for n in range(0, CHILD_COUNTS, step(e)) if wanted(n)]
            for pid in p.children for e in events}


def of(numbers, *pids):
    return {k: v for k, v in numbers.items() if k[0] in pids}


def is_all(session, got, want, what):
    """Each event once, in order; what is missing is told as lost."""
    if not session.lost:
        return is_(got, want, what)
    for key, numbers in got.items():
        ok(numbers == sorted(set(numbers)) and set(numbers) <= set(want.get(key, [])), "%s: %s" % (what, key))
    missing = sum(map(len, want.values())) - sum(map(len, got.values()))
    ok(missing <= session.lost, "%s: what is missing is told" % what, str((missing, session.lost)))


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


def five_sessions_get_each_what_it_wants():
    early = Program(2)
    everything = Session("everything", "-e", "many:*")
    odd = Session("odd", "-e", "many:small", "-f", "n & 1 == 1", "-e", "many:large", "-f", "n & 31 == 0")
    contexts = Session("contexts", "-e", "many:word", "-e", "many:large", "-c", "procname,callstack")
    channels = Session("channels", "-e", "many:*", "--channel", "rare:events=many:large;many:marked,mode=block")
    later_on = Session("later_on")
    sessions = (everything, odd, contexts, channels, later_on)
    late = Program(2, 5)
    time.sleep(0.3)
    is_(cmd("enable", "-s", "later_on", "many:word")[0], 0, "enable")
    listed = cmd("list", "-p", str(late.pid))[1]
    ok("(everything, contexts, channels, later_on)" in listed, "list tells who records an event", listed)
    latest = Program(1, 2)
    time.sleep(0.5)
    status = cmd("status")[1]
    for s in sessions:
        ok("%s: " % s.name in status, "status tells of each", status)
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
        is_all(odd, got_odd, {k: v for k, v in want.items() if v}, "what passes filters, large or not")
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
    is_(everything.last["many:large"]["fields"], channels.last["many:large"]["fields"], "and the same")


def a_killed_one_takes_nobody_with_it():
    p = Program(2)
    sessions = [Session("kept%d" % i, "-e", "many:*") for i in range(2)]
    victim = Session("victim", "-e", "many:*")
    q = Program(1)
    time.sleep(0.3)
    victim.kill()
    r = Program(1)
    time.sleep(0.2)
    listed = cmd("list", "-p", str(q.pid))[1]
    ok("victim" not in listed and "(kept0, kept1)" in listed, "the next command sweeps it up", listed)
    with open(work + "/run/seats", "rb") as f:
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


def the_house_is_full_with_seven():
    p = Program(1)
    sessions = [Session("full%d" % i, "-e", "many:small") for i in range(7)]
    status, _, err = cmd("collect", "-s", "eighth", "-o", work + "/eighth")
    is_((status, err.count("\n")), (2, 2), "an eighth is told: " + err)
    ok("7 sessions" in err, "why", err)
    ok(not os.path.exists(work + "/eighth"), "and leaves nothing")
    q = Program(1)
    time.sleep(0.2)
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
    r = start([duet, "record", "-q", "--no-kernel", "-o", work + "/outer", "-e", "many:small", "--", "sh", "-c",
               "exec " + inside])
    nested = int(r.stdout.readline().split()[1])
    time.sleep(0.3)
    status, out, _ = cmd("enable", "-s", "always", "many:marked")
    ok("in 3 programs" in out, "one is left alone", out)
    os.kill(nested, signal.SIGTERM)
    counts = {int(w[1]): int(w[2]) for w in (line.split() for line in r.communicate()[0].splitlines())}
    is_(r.returncode, 0, "the command ends")
    for p in (limited, both, free):
        p.end()
    got, theirs = outer.end().read(), other.end().read()
    is_({k[0] for k in got}, {both.pid, free.pid, nested}, "who belongs to the one that is always on")
    is_({k[0] for k in theirs}, {limited.pid, both.pid, free.pid, nested}, "and to the other")
    recording = Session.__new__(Session)
    for name, event in (("outer", "many:small"), ("inner", "many:word")):
        recording.name, recording.path = name, work + "/" + name
        is_all(recording, recording.read(), {(nested, 0, event): list(range(counts[0]))},
               "a command's recording has it alone")


def recordings_without_a_name_run_side_by_side():
    p = Program(1)
    always = start([duet, "collect", "-q", "-o", work + "/collect", "-e", "many:small"])
    ok(wait_for(lambda: os.path.exists(work + "/run/session-default")), "the usual session begins")
    beside = start([duet, "record", "-q", "-o", work + "/beside", "-e", "many:word"])
    ok(wait_for(lambda: "(default, record-%d)" % beside.pid in
                cmd("enable", "-s", "default", "many:word")[1] + cmd("list")[1]), "another one beside it", cmd("list")[1])
    for one in (beside, always):
        one.send_signal(signal.SIGTERM)
        is_((one.communicate()[1], one.returncode), ("", 0), "it ends well")
    p.end()


def sessions_come_and_go_under_load():
    always = Session("always", "-e", "many:*")
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


try:
    for test in (five_sessions_get_each_what_it_wants, a_killed_one_takes_nobody_with_it,
                 the_house_is_full_with_seven, sessions_have_members, recordings_without_a_name_run_side_by_side,
                 sessions_come_and_go_under_load):
        before, begin = failures, time.time()
        test()
        print("%s - %s (%.1f s)" % ("ok" if failures == before else "not ok", test.__name__, time.time() - begin))
        sys.stdout.flush()
        if os.environ.get("DUET_TEST_KEEP") is None:
            for name in os.listdir(work):
                if name != "run":
                    shutil.rmtree(work + "/" + name)
finally:
    for p in started:
        if p.poll() is None:
            p.terminate()  # a collector that is killed is replaced
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
