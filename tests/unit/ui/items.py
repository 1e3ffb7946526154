#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""items.py DUET ASK - items of the timeline have the fields, words and causes of their events; small recordings.

ASK answers requests of a recording, a line each (ask_query.c).  Values are by hand.
"""
import json
import os
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd/analysis"))
from check import Duet, Failed, check, run_all
from make import Hex, kernel, switch, ust, wakeup

ASK = None
WEB, OTHER, IDLE = ("web", 7), ("other", 8), ("swapper", 0)
EVIL = '</script>"}, { x = "1", y = [ 2'


def ask(path, *requests):
    lines = ["/api/%s?%s" % (name, urllib.parse.urlencode(params)) for name, params in requests]
    p = subprocess.run([ASK, path, "--", *lines], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
    if p.returncode:
        raise Failed("ask: %r" % p.stderr)
    answers = [line.split(b" ", 1) for line in p.stdout.splitlines()]
    for status, body in answers:
        check(int(status), 200, body)
    return [json.loads(body) for _, body in answers]


def items(path, *wanted):
    """Answers for (kind, name, n): the n-th of that kind and name."""
    [known] = ask(path, ("recording", {}))
    ids = []
    for kind, name, n in wanted:
        found = []
        for row in known["rows"]:
            for track in row["tracks"]:
                if track["kind"] != kind:
                    continue
                item = ask(path, ("next", dict(track=track["id"], at=-1)))[0]
                while item:
                    if item["name"] == name:
                        found.append((item["from"], item["id"]))
                    item = ask(path, ("next", dict(track=track["id"], id=item["id"])))[0]
        ids.append(sorted(found)[n][1])
    return ask(path, *[("item", dict(id=i)) for i in ids])


def web(where):
    """A thread that opens a file, syncs it, and is woken by another; in an order of an application."""
    kernel(os.path.join(where, "kernel"), [
        switch(1000, 0, IDLE, WEB),
        (2000, 0, 7, "syscall_entry_openat", dict(dfd=-100, filename="/var/audit.log", flags=0o2001, mode=0)),
        (2500, 0, 7, "syscall_exit_openat", dict(ret=4)),
        (3000, 0, 7, "syscall_entry_fsync", dict(fd=4)),
        switch(3100, 0, WEB, OTHER, state=2),
        (4000, 0, 8, "syscall_entry_write", dict(fd=4, buf=Hex(0x1000), count=3)),
        wakeup(5000, 0, OTHER, WEB),
        (5100, 0, 8, "syscall_exit_write", dict(ret=-9)),
        switch(5200, 0, OTHER, WEB),
        (5400, 0, 7, "syscall_exit_fsync", dict(ret=0)),
        (6000, 0, 7, "syscall_entry_fsync", dict(fd=4)),
        (6010, 0, 7, "syscall_exit_fsync", dict(ret=-5)),
        (7000, 0, 7, "syscall_entry_exit", dict(code=1)),
    ])
    ust(os.path.join(where, "ust"), [
        (2800, 0, (7, 7), "shop:order_begin", dict(id=412, path="/checkout", evil=EVIL, list=[1, 2, 3])),
        (5600, 0, (7, 7), "shop:step", dict(text="a, b")),
        (5800, 0, (7, 7), "shop:order_end", dict(status="paid")),
        (6500, 0, (7, 7), "shop:order_begin", dict(id=413, path="", evil="", list=[])),
        (6600, 0, (7, 7), "shop:order_end", dict(status="lost")),
    ])
    return where


def a_system_call_is_told_in_words(duet, where):
    one, failed, opened = items(web(where), ("syscalls", "fsync", 0), ("syscalls", "fsync", 1),
                                ("syscalls", "openat", 0))
    check(one["call"], "fsync(4</var/audit.log>)", "call")
    check(one["result"], "0", "result")
    check(one["object"], "/var/audit.log", "object")
    check(one["fields"], [["fd", "4"]], "fields")
    check(one["end_fields"], [["ret", "0"]], "fields of the exit")
    check((one["from"], one["to"] - one["from"], one["event"], one["cpu"]),
          (one["from"], 2400, "syscall_entry_fsync", 0), "time and event")
    check(one["rank"], dict(n=1, of=2, p50=10, p99=2400, least=10, greatest=2400), "rank")
    check(failed["result"], "-1 EIO (Input/output error)", "an error")
    check(opened["call"].startswith('openat(AT_FDCWD, "/var/audit.log", O_WRONLY|O_APPEND'), True, opened["call"])
    check(opened["result"], "4</var/audit.log>", "a descriptor")


def its_time_adds_up_and_its_wait_has_a_waker(duet, where):
    one, blocked, runnable = items(web(where), ("syscalls", "fsync", 0), ("states", "blocked", 0),
                                   ("states", "runnable", 0))
    check(one["sums"], dict(user=0, kernel=300, irq=0, preempted=0, runnable=200, blocked=1900, unknown=0), "sums")
    [wait] = one["waits"]
    check((wait["to"] - wait["from"], wait["call"], wait["id"]), (1900, "fsync", blocked["id"]), "the wait")
    [known] = ask(where, ("recording", {}))
    names = {r["id"]: r["name"] for r in known["rows"]}
    check(names[wait["waker"]], "other", "who woke it")
    check(names[blocked["woken"]["waker"]], "other", "who ended the state")
    check(blocked["woken"]["runs"] - blocked["woken"]["at"], 200, "then it waited for a CPU")
    check(blocked["woken"]["in"]["name"], "write", "what the waker was doing")
    check(runnable["woken"]["at"], blocked["woken"]["at"], "the same wakeup")
    check([a["name"] for a in blocked["around"]], ["fsync", "shop:order"], "what encloses the state")
    check(blocked["event"], "sched_switch", "the event that began it")


def a_span_has_the_fields_of_both_events(duet, where):
    first, second = items(web(where), ("spans", "shop:order", 0), ("spans", "shop:order", 1))
    check(dict(first["fields"]), dict(id="412", path='"/checkout"', list="[ 1, 2, 3 ]",
                                      evil=json.dumps(EVIL)), "fields")
    check(first["end_fields"], [["status", '"paid"']], "fields of the end")
    check(first["sums"], dict(user=600, kernel=300, irq=0, preempted=0, runnable=200, blocked=1900, unknown=0), "sums")
    check(first["rank"]["n"], 1, "rank")
    check(first["next"]["id"], second["id"], "neighbour")
    check(second["previous"]["id"], first["id"], "neighbour")
    check(dict(second["fields"])["path"], '""', "an empty text")
    check(dict(second["fields"])["list"], "[ ]", "an empty list")


def points_and_cpus_have_fields(duet, where):
    step, other = items(web(where), ("events", "shop:step", 0), ("running", "other", 0))
    check(step["fields"], [["text", '"a, b"']], "fields")
    check([a["name"] for a in step["around"]], ["shop:order"], "what encloses it")
    check(other["to"] - other["from"], 2100, "its time on the CPU")
    check(dict(other["fields"])["next_comm"], '"other"', "it is switched to")
    check(dict(other["end_fields"])["next_comm"], '"web"', "and away from")
    check("waits" in other, False, "a CPU does not wait")


def an_open_call_has_no_result(duet, where):
    [one] = items(web(where), ("syscalls", "exit", 0))
    check(one["open"], True, "open")
    check(one["call"], "exit(1)", "call")
    check("result" in one, False, "result")


def damage_of_one_half_leaves_the_other(duet, where):
    path = web(where)
    for name in os.listdir(os.path.join(path, "ust")):
        if name != "metadata":
            os.truncate(os.path.join(path, "ust", name), 100)
    [one] = items(path, ("syscalls", "fsync", 0))
    check(one["call"], "fsync(4</var/audit.log>)", "the kernel's half is whole")


def titles(path, *wanted):
    """Titles for (kind, name, n)."""
    ids = [i["id"] for i in items(path, *wanted)]
    [answer] = ask(path, ("titles", dict(ids=",".join(reversed(ids)))))
    check(sorted(answer["titles"]), sorted(ids), "all were read")
    return [answer["titles"][i] for i in ids]


def titles_say_what_spans_and_calls_are_about(duet, where):
    check(titles(web(where), ("syscalls", "fsync", 0), ("spans", "shop:order", 1), ("spans", "shop:order", 0),
                 ("syscalls", "openat", 0), ("syscalls", "write", 0), ("syscalls", "exit", 0), ("states", "blocked", 0),
                 ("syscalls", "fsync", 1)),
          ["audit.log", "413 [ ]", "412 /checkout %s [ 1, 2, 3 ]" % json.dumps(EVIL)[1:-1], "audit.log", "fd 4", "", "",
           "audit.log"], "titles")


def a_title_follows_a_descriptor_and_says_what_has_no_name(duet, where):
    name = "/tmp/é7" + "é" * 300
    kernel(os.path.join(where, "kernel"), [
        (1000, 9, 7, "lttng_statedump_file_descriptor", dict(pid=7, fd=3, flags=0, fmode=1, filename="/run/early")),
        (1010, 9, 7, "lttng_statedump_process_state", dict(tid=8, pid=7, ppid=1, name="other")),
        switch(1100, 0, IDLE, WEB),
        (1200, 0, 8, "syscall_entry_fsync", dict(fd=3)),
        (1300, 0, 8, "syscall_exit_fsync", dict(ret=0)),
        (2000, 0, 7, "syscall_entry_read", dict(fd=3, count=1)),
        (2100, 0, 7, "syscall_exit_read", dict(ret=1, buf=Hex(0))),
        (3000, 0, 7, "syscall_entry_openat", dict(dfd=-100, filename="/a/second", flags=0, mode=0)),
        (3100, 0, 7, "syscall_exit_openat", dict(ret=3)),
        (4000, 0, 7, "syscall_entry_read", dict(fd=3, count=1)),
        (4100, 0, 7, "syscall_exit_read", dict(ret=1, buf=Hex(0))),
        (5000, 0, 7, "syscall_entry_futex", dict(uaddr=Hex(0x55550040), op=0)),
        (5100, 0, 7, "syscall_exit_futex", dict(ret=0)),
        (6000, 0, 7, "syscall_entry_openat", dict(dfd=-100, filename=name, flags=0, mode=0)),
        (6100, 0, 7, "syscall_exit_openat", dict(ret=-2)),
    ])
    os.rename(os.path.join(where, "kernel/cpu_9"), os.path.join(where, "kernel/statedump"))
    got = titles(where, ("syscalls", "read", 1), ("syscalls", "read", 0), ("syscalls", "futex", 0), ("syscalls", "openat", 1))
    check(titles(where, ("syscalls", "fsync", 0)), ["early"], "of another thread")
    check(got[1:3], ["early", "0x55550040"], "the first descriptor, the futex")
    check(got[0], "second", "the descriptor was opened again")
    check(got[3], "é7" + "é" * 38 + "…", "a long name is cut")


def wrong_ids_of_titles_are_refused(duet, where):
    path = web(where)
    many = ",".join(["0.0"] * 65)
    for ids, status in (("x", 400), ("1.1,", 400), (",1.1", 400), ("1.1;2.2", 400), (many, 400), ("1.99999", 404),
                        ("99999999999.1", 404), ("-1.1", 404)):
        p = subprocess.run([ASK, path, "--", "/api/titles?ids=" + ids], stdout=subprocess.PIPE, timeout=100)
        check(int(p.stdout.split(b" ", 1)[0]), status, "ids=%.20s" % ids)
    check(ask(path, ("titles", {})), [dict(titles={})], "none are asked for")


if __name__ == "__main__":
    ASK = sys.argv[2]
    sys.exit(run_all([
        a_system_call_is_told_in_words,
        its_time_adds_up_and_its_wait_has_a_waker,
        a_span_has_the_fields_of_both_events,
        points_and_cpus_have_fields,
        an_open_call_has_no_result,
        damage_of_one_half_leaves_the_other,
        titles_say_what_spans_and_calls_are_about,
        a_title_follows_a_descriptor_and_says_what_has_no_name,
        wrong_ids_of_titles_are_refused,
    ], Duet(sys.argv[1])))
