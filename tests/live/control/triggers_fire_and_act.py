#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Triggers: conditions are detected, actions are done and noted in the recording; hostile texts
and full sockets do no harm; a killed collector's triggers are its successor's.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import children, kill  # noqa: E402
from recorder import collect_session, stop, view  # noqa: E402
from trial import PATIENCE, cmd as run, duet, ok, paths, run_cases, runtime, start, until, work  # noqa: E402
from trial import worker_of  # noqa: E402

program, library = paths(2)


class Program:
    def __init__(self, *before):
        self.p = start(*before, program, stdin=subprocess.PIPE)
        self.pid = int(self.p.stdout.readline().split()[1])

    def do(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        self.p.stdout.readline()

    def end(self):
        self.p.end()


def seen(recording):
    return [(e["event"].split(":")[1], e["fields"].get("id", e["fields"].get("number")))
            for e in view(recording) if e["event"].startswith(("shop:", "duet:"))]


def triggers(session):
    lines = run("trigger", "list", "-s", session)[1].splitlines()
    return [lines[i].split(None, 1) + [lines[i + 1].split()] for i in range(0, len(lines) - 1, 2)]


def has_fired(session, number, times=1):
    return any(int(t[0]) == number and int(t[2][1].rstrip(",")) >= times for t in triggers(session))


def the_event_is_in_its_snapshot_and_the_command_knows_where():
    facts = work + "/facts"
    p = Program(duet, "record", "-q", "--no-kernel", "--overwrite", "-o", work + "/flight", "--trigger",
                "event shop:order if id > 9 -> snapshot, shell 'env > %s.new; mv %s.new %s', once" % (facts, facts, facts),
                "--trigger", "event shop:large -> snapshot", "--")
    session = "record-%d" % p.p.pid
    for line in "noise 3", "order 5", "order 10", "order 11":
        p.do(line)
    until(lambda: os.path.exists(facts), "the command runs")
    env = dict(line.split("=", 1) for line in open(facts).read().splitlines() if "=" in line)
    ok([env.get(k) for k in ("DUET_TRIGGER", "DUET_FIRED", "DUET_EVENT", "DUET_PID", "DUET_RECORDED_SESSION")] ==
       ["1", "1", "shop:order", str(p.pid), session], "it has the facts", env)
    got = seen(env.get("DUET_SNAPSHOT", "none"))
    ok(got[:5] == [("noise", 0), ("noise", 1), ("noise", 2), ("order", 5), ("order", 10)],
       "the event that fired, and those before it, are in the snapshot", got)
    ok(("trigger", 1) in got, "and that it fired")
    for size in 700, 3000:
        before = triggers(session)[1][2][1]
        p.do("large %d" % size)
        until(lambda: triggers(session)[1][2][1] != before, "an event of %d bytes fires" % size)
        time.sleep(1.1)  # at most once a second
    p.end()
    got = seen(work + "/flight/snapshot-2")
    ok(("large", 700) in got, "an event written in place is in its snapshot, too", got)
    once = [e for e in view(work + "/flight/ust") if e["event"] == "duet:trigger" and e["fields"]["number"] == 1]
    ok(len(once) == 1, "it fired once", once)


def messages_to(watcher):
    """The whole lines so far."""
    return [json.loads(line) for line in watcher.stdout.so_far().splitlines(True) if line.endswith("\n")]


def conditions_hold_and_are_reported_to_listeners():
    c = collect_session("web", "-e", "shop:order")
    w, w1 = [start(duet, "trigger", "watch", "-s", "web", *more) for more in ((), ("-n", "1"))]
    flag = work + "/flag"
    texts = ["rate shop:noise > 3 per 1h -> notify, every 0s",
             "time shop:order to shop:paid > 1ms by id -> notify, every 0s",
             "late shop:order to shop:paid > 1s by id -> notify, every 0s",
             "event shop:noise if number == 2 && $procname == \"%s\" -> notify" % os.path.basename(program)[:15],
             "signal USR1 -> notify", "file %s -> notify" % flag, "event shop:order if id == 77 -> notify"]
    p = Program()
    code, out, err = run("trigger", "add", "-s", "web", *texts)
    ok(code == 0 and len(out.splitlines()) == 7, "triggers are added to a running session", out + err)
    ok([t[1] for t in triggers("web")] == texts, "and listed", triggers("web"))
    # A listener must be connected before anything fires: only a received message shows that it is.
    run("trigger", "add", "-s", "web", "signal USR2 -> notify, every 0s")

    def hear():
        c.send_signal(signal.SIGUSR2)
        return w.stdout.so_far() and w1.poll() is not None
    until(hear, "they watch")
    ok((w1.returncode, w1.stdout.read().count("\n")) == (0, 1), "one ends after as many as it was asked for")
    p.do("order 1")
    p.do("order 2")
    time.sleep(0.05)
    p.do("paid 2")
    p.do("noise 3")
    p.do("noise 1")
    until(lambda: has_fired("web", 3), "a pair without an end is late")
    late = Program()
    late.do("order 77")
    late.end()
    c.send_signal(signal.SIGUSR1)
    open(flag, "w").close()
    until(lambda: all(has_fired("web", n) for n in range(1, 8)), lambda: "all fire: %s" % triggers("web"))
    until(lambda: {t["trigger"] for t in messages_to(w)} == set(range(1, 9)), lambda: "all are reported: %r" % messages_to(w))
    by = {t["trigger"]: t for t in messages_to(w)}
    ok(by[1]["value"] == 4 and by[1]["pid"] == p.pid, "a rate", by[1])
    ok(by[2]["value"] >= 50000000 and by[2]["event"] == "shop:paid", "a time", by[2])
    ok(by[3]["value"] > 1000000000 and by[3]["event"] == "shop:order", "a lateness", by[3])
    ok(by[7]["pid"] == late.pid, "in a program that started later", by[7])
    w.end(signal.SIGTERM)
    ok(run("trigger", "remove", "-s", "web", "1", "4")[0] == 0, "two are removed")
    p.do("noise 5")
    p.do("order 3")
    p.do("paid 3")
    ok(run("trigger", "remove", "-s", "web", "2", "3", "7")[0] == 0, "the others that have events, too")
    p.do("paid 4")
    p.do("order 4")
    run("disable", "-s", "web", "shop:*")
    p.do("order 5")
    p.end()
    stop(c)
    got = [e for e in seen(work + "/web") if e[0] != "trigger"]
    ok(got == [("order", 1), ("order", 2), ("paid", 2), ("noise", 0), ("noise", 1), ("noise", 2), ("noise", 0),
               ("order", 77), ("order", 3), ("paid", 3), ("order", 4)],
       "the events requested are recorded, and a trigger's while it waited", got)
    fired = [e["fields"]["number"] for e in view(work + "/web") if e["event"] == "duet:trigger"]
    ok(set(fired) == set(range(1, 9)), "all firings are in it", fired)


def recording_starts_and_stops():
    c = collect_session("armed", "-e", "shop:*", "--trigger", "event shop:order if id == 1 -> start", "--trigger",
                        "event shop:order if id == 2 -> stop", "--trigger", "signal USR2 -> end")
    p = Program()
    p.do("noise 1")
    p.do("order 1")
    until(lambda: has_fired("armed", 1), "start")
    p.do("noise 2")
    later = Program()
    later.do("noise 3")
    later.do("order 2")
    until(lambda: has_fired("armed", 2), "stop")
    p.do("noise 4")
    later.end()
    p.do("order 1")
    until(lambda: has_fired("armed", 1, 2), "start again")
    p.do("noise 1")
    p.end()
    c.send_signal(signal.SIGUSR2)
    ok(c.wait() == 0, "a trigger ends it")
    got = seen(work + "/armed")
    wanted = [("order", 1), ("noise", 0), ("noise", 1), ("noise", 0), ("noise", 1), ("noise", 2), ("order", 2),
              ("order", 1), ("noise", 0)]
    ok([e for e in got if e[0] != "trigger"] == wanted, "the events between are recorded", got)


def a_switch_that_is_held_back_is_made_up_for():
    c = collect_session("late", "-e", "shop:noise", "--trigger", "event shop:order if id == 1 -> start, every 1s",
                        "--trigger", "event shop:order if id == 2 -> stop")
    p = Program()
    for number, times, line in (1, 1, "order 1"), (2, 1, "order 2"), (1, 2, "order 1"):
        p.do(line)
        until(lambda: has_fired("late", number, times), "%s, the %d. time" % (line, times))
    p.do("noise 1")
    p.end()
    stop(c)
    got = [e for e in seen(work + "/late") if e[0] == "noise"]
    ok(got == [("noise", 0)], "a start within its limit is late, and not lost", got)


def status_of(session):
    """-> number: its line of status"""
    code, out, err = run("status", "--json", session)
    return {t["number"]: t for t in json.loads(out)["sessions"][0]["trigger"]}


def a_killed_collectors_successor_makes_up_for_a_switch():
    c = collect_session("owed", "-e", "shop:noise", "--trigger", "event shop:order if id == 1 -> start, every 4s",
                        "--trigger", "event shop:order if id == 2 -> stop")
    p = Program()
    p.do("order 1")
    until(lambda: has_fired("owed", 1), "start")
    p.do("order 2")
    until(lambda: has_fired("owed", 2), "stop")
    p.do("order 1")
    until(lambda: status_of("owed")[1]["state"] == "held back" or has_fired("owed", 1, 2), "the start is held back")
    worker = worker_of(c)
    kill(worker)
    until(lambda: worker_of(c) != worker and run("status", "owed")[0] == 0, "another one takes over")
    until(lambda: has_fired("owed", 1, 2), "it starts when the limit is over")
    p.do("noise 1")
    p.end()
    stop(c)
    got = [e for e in seen(work + "/owed") if e[0] == "noise"]
    ok(got == [("noise", 0)], "a start within its limit is late, and not lost", got)


def triggers_that_do_not_fit_are_reported():
    c = collect_session("wrong", "-e", "none:*", "--trigger", "time shop:order to shop:paid > 1s by item -> notify",
                        "--trigger", "event shop:noise if nunber == 3 -> notify", "--trigger", "signal USR1 -> run /nonexistent/x",
                        "--trigger", "event shop:noise -> notify, once")
    p = Program()
    for line in "order 1", "paid 1", "noise 1":
        p.do(line)
    c.send_signal(signal.SIGUSR1)
    until(lambda: all("error" in status_of("wrong")[n] for n in (1, 2, 3)), lambda: "all are reported: %s" % status_of("wrong"))
    until(lambda: status_of("wrong")[4]["state"] == "over", "a trigger that fires once is over")
    told = status_of("wrong")
    ok("shop:paid has no field item" in told[1]["error"], "a field that is not there", told[1])
    ok("nunber" in told[2]["error"] and "/nonexistent/x" in told[3]["error"], "a filter, a command", told)
    ok("error" not in told[4] and told[4]["fired"] == 1 and told[4]["last_ns"], "and its success", told[4])
    ok("ERROR: " in run("status", "wrong")[1] and "ERROR: " in run("trigger", "list", "-s", "wrong")[1], "the tables show errors")
    for bad in "time shop:paid to shop:paid > 1s by item -> notify", "late shop:order to shop:noise > 1s by id -> notify", \
            "event shop:order if idd == 3 -> notify":
        code, out, err = run("trigger", "add", "-s", "wrong", bad)
        fits = bad.startswith("late")  # one of both events
        ok(code == (0 if fits else 2) and ("field" in err) != fits, "a running program's events are asked: %s" % bad, err)
    p.end()
    stop(c)


def a_killed_collectors_triggers_go_on():
    c = collect_session("kept", "-e", "none:*", "--trigger", "event shop:order -> notify, once")
    ok(run("trigger", "add", "-s", "kept", "event shop:paid -> shell 'echo $DUET_FIRED >> %s/paid', every 0s" % work)[0] == 0,
       "one more")
    p = Program()
    p.do("order 1")
    p.do("paid 1")
    until(lambda: has_fired("kept", 1) and has_fired("kept", 2), "both fire")
    worker = worker_of(c)
    kill(worker)
    until(lambda: worker_of(c) != worker and run("status", "kept")[0] == 0, "another one takes over")
    ok([t[2][1] for t in triggers("kept")] == ["1", "1"], "it knows them, and how often they fired", triggers("kept"))
    p.do("order 2")
    p.do("paid 2")
    until(lambda: has_fired("kept", 2, 2), "it records the events they wait for")
    ok(triggers("kept")[0][2][1].startswith("1"), "once is once", triggers("kept"))
    until(lambda: open(work + "/paid").read() == "1\n2\n", "commands run")
    p.end()
    stop(c)


def hostile_texts_and_listeners_do_no_harm():
    c = collect_session("safe", "-e", "shop:noise")
    for bad in "", "x", "event a", "event a -> snapshot", "event a -> stop" + " " * 2000, "event a -> run 'x", \
            "event a if $uid == 1 -> stop", "file relative -> stop":
        code, out, err = run("trigger", "add", "-s", "safe", bad)
        ok(code == 2 and err.count("\n") == 1 and not out, "refused in a line: %.30r" % bad, out + err)
    ok(run("trigger", "remove", "-s", "safe", "9")[0] == 2, "there is no trigger 9")
    ok(run("trigger", "list", "-s", "safe")[1].startswith("no triggers"), "none was added")
    # Twenty commands that do not end: four run, and the collector goes on.
    run("trigger", "add", "-s", "safe", "event shop:noise -> run sleep 3, every 0s")
    # A listener that never reads.
    run("trigger", "add", "-s", "safe", "event shop:order -> notify, every 0s")
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(PATIENCE)
    s.connect(runtime + "/sock-safe")
    s.send(b'{"verb":"watch"}')
    ok(json.loads(s.recv(8192))["ok"], "it may watch")
    p = Program()
    for _ in range(200):
        for _ in range(10):
            p.do("order 1")
        time.sleep(0.002)
    p.do("noise 20")
    until(lambda: has_fired("safe", 1, 4), "commands run")
    ok(len(children(worker_of(c))) <= 4, "at most four at once")
    ok(run("status", "safe")[0] == 0, "the collector answers")
    s.close()
    p.do("order 1")
    p.end()
    stop(c)


run_cases(the_event_is_in_its_snapshot_and_the_command_knows_where, conditions_hold_and_are_reported_to_listeners,
          recording_starts_and_stops, a_switch_that_is_held_back_is_made_up_for, a_killed_collectors_triggers_go_on,
          a_killed_collectors_successor_makes_up_for_a_switch, triggers_that_do_not_fit_are_reported,
          hostile_texts_and_listeners_do_no_harm)
