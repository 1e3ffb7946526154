#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The server of `duet ui` starts a session, switches its events, shows its rates, takes a snapshot, follows it while
it records, and stops it, all by requests; other sessions are listed beside it.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../lib", HERE + "/../../cmd/ui"]
from counting import start_counting, stop_counting  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run_cases, until, work  # noqa: E402
import served  # noqa: E402

program, library = paths(2)


def change(s, verb, status=200, **members):
    got, _, body = s.post("/api/session", dict(members, verb=verb))
    is_(got, status, "%s: %s" % (verb, body))
    return json.loads(body)


def session(s, name):
    return next((x for x in s.json("/api/sessions")["sessions"] if x["session"] == name), None)


def one_session_from_start_to_stop():
    p = start_counting(program)
    with served.Server(duet) as s:
        is_(s.json("/api/sessions")["sessions"], [], "nothing records yet")
        is_(s.get("/api/recording")[0], 404, "nothing is open")
        answer = change(s, "start", session="web", output=work + "/web", events=["!*"])
        is_(answer["path"], work + "/web", "where it records to")
        ok("already" in change(s, "start", 409, session="web", output=work + "/other")["error"], "twice")
        is_(session(s, "web")["app_bytes"], 0, "no event is on")
        change(s, "enable", session="web", events=["counting:number"])
        found = until(lambda: session(s, "web").get("events_per_s") and session(s, "web"), "there is a rate")
        ok(found["bytes_per_s"] > 0 and found["lost"] == 0 and found["channel"][0]["limit_bytes"] > 0, "figures", found)
        ok([x for x in found["program"] if x["pid"] == p.pid], "the program", found["program"])

        os.mkdir("web")  # it is no recording, and a session was asked for
        is_(s.post("/api/open", {"session": "web"})[0], 200, "it is opened")
        os.rmdir("web")
        is_(s.json("/api/sessions")["open"], "web", "it is what is shown")
        first = until(lambda: s.json("/api/recording")["events"], "its events are followed")
        until(lambda: s.json("/api/recording")["events"] > first, "more of them")
        recording = s.json("/api/recording")
        ok(recording["live"] and recording["paths"] == [work + "/web"], "it is live", recording)
        ok("rotate" in change(s, "rotate", 409, session="web")["error"], "it has no chunks")

        change(s, "disable", session="web", events=["counting:number"])
        answer = change(s, "stop", session="web")
        is_(answer["path"], work + "/web", "what it has recorded")
        ok("none lost" in answer["text"], "the summary", answer)
        is_(s.json("/api/sessions")["sessions"], [], "it is gone")
        until(lambda: s.json("/api/recording")["done"], "the page has all of it")
        events = s.json("/api/recording")["events"]
        status, out, err = cmd("stats", "--json", work + "/web")
        ok(str(events) in out, "as many as duet counts: %d" % events, out)
        is_(s.post("/api/open", {"session": "web"})[0], 409, "a session that has ended")
        is_(s.post("/api/open", {"path": work + "/web"})[0], 200, "its recording")
        until(lambda: s.json("/api/recording")["done"], "it is read")
        is_(s.json("/api/recording")["live"], False, "it is not live any more")
        is_(s.json("/api/recording")["events"], events, "it is the same")
    is_((s.status, s.messages()), (0, ""), "the server ends")
    stop_counting(p)


def a_flight_recorder_is_opened_as_its_snapshots():
    p = start_counting(program)
    with served.Server(duet) as s:
        change(s, "start", session="fly", output=work + "/fly", overwrite=True, buffer="8M", events=["counting:*"])
        until(lambda: session(s, "fly")["channel"][0]["used_bytes"], "it has events in memory")
        status, _, body = s.post("/api/open", {"session": "fly"})
        ok(status == 409 and b"snapshot" in body, "it has no files", body)
        answer = change(s, "snapshot", session="fly", last="10s")
        ok(os.path.isdir(answer["path"]), "a snapshot", answer)
        is_(s.post("/api/open", {"path": answer["path"]})[0], 200, "it is opened")
        until(lambda: s.json("/api/recording")["done"], "it is read")
        ok(s.json("/api/recording")["events"] > 0, "it has events")
        change(s, "stop", session="fly")
    stop_counting(p)


def wrong_requests_change_nothing():
    with served.Server(duet) as s:
        for body in ({}, {"verb": "record"}, {"verb": "start", "sesion": "x"},
                     {"verb": "start", "triggers": ["event x -> run id"]}, {"verb": "stop", "events": ["a"]}, [],
                     "start", {"verb": "start", "events": [["a"]]}, {"verb": "start", "events": 7}):
            is_(s.post("/api/session", body)[0], 400, "refused: %s" % body)
        for name in "--help", "-o/tmp/x", "a/b", "../x", "", "--all":
            status, _, body = s.post("/api/session", {"verb": "stop", "session": name})
            is_(status, 409, "no session of this name: %s %s" % (name, body))
        for output in "--help", work + "/no/such\n/x":
            s.post("/api/session", {"verb": "stop", "session": output})
        for body in ({}, {"session": "a/b"}, {"path": "relative"}, {"path": ""}, {"x": "y"}):
            is_(s.post("/api/open", body)[0], 400, "refused: %s" % body)
        for body in {"session": "none"}, {"path": work + "/run"}, {"path": "/etc/passwd"}, {"path": "/proc/self/mem"}:
            is_(s.post("/api/open", body)[0], 409, "not opened: %s" % body)
        is_(s.get("/api/recording")[0], 404, "nothing is open")
        is_(s.json("/api/sessions")["sessions"], [], "nothing was started")
    is_((s.status, s.messages()), (0, ""), "the server ends")


def a_session_is_named_on_the_command_line():
    p = start_counting(program)
    is_(cmd("start", "named", "-o", work + "/named", "-e", "counting:*")[0], 0, "it records")
    for arguments in ["-s", "named"], ["named"], [work + "/named"]:
        with served.Server(duet, [], *arguments) as s:
            until(lambda: s.json("/api/recording")["events"], "it is followed")
            is_(s.json("/api/recording")["live"], True, "it is live")
    is_(cmd("stop", "named")[0], 0, "it stops")
    status, _, err = cmd("ui", "named")
    ok(status == 2 and "no such recording, and no session of this name" in err, "it has ended", err)
    stop_counting(p)


run_cases(one_session_from_start_to_stop, a_flight_recorder_is_opened_as_its_snapshots, wrong_requests_change_nothing,
          a_session_is_named_on_the_command_line)
