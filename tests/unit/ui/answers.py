#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""answers.py DUET ASK - events, area, latency and why of the timeline agree with `duet view` and `duet report`.

ASK answers requests of a recording, a line each (ask_query.c).
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, HERE + "/../../cmd/analysis", HERE + "/../../browser"]
import made
from check import Duet, Failed, check, run_all
from index import Machine
from make import LOST, kernel, switch, ust, wakeup

STATES = ["unknown", "user", "kernel", "irq", "preempted", "runnable", "blocked"]
ASK = None


class Recording:
    def __init__(self, duet, *paths):
        self.duet, self.paths = duet, paths
        [self.known] = self.ask(("recording", {}))
        self.begin, self.end = int(self.known["begin"]), self.known["end"]
        self.names, self.rows = self.known["names"], {r["id"]: r for r in self.known["rows"]}
        self.threads = [r for r in self.known["rows"] if r["kind"] == "thread"]

    def ask_any(self, *requests):
        lines = ["/api/%s?%s" % (path, urllib.parse.urlencode(
            {k.rstrip("_"): v for k, v in params.items()}, quote_via=urllib.parse.quote)) for path, params in requests]
        p = subprocess.run([ASK, *self.paths, "--", *lines], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100)
        if p.returncode:
            raise Failed("ask: %d %r" % (p.returncode, p.stderr))
        answers = [line.split(b" ", 1) for line in p.stdout.splitlines()]
        check(len(answers), len(requests), "answers")
        return [(int(status), json.loads(body)) for status, body in answers]

    def ask(self, *requests):
        answers = self.ask_any(*requests)
        for (status, body), request in zip(answers, requests):
            check(status, 200, "%s %s" % (request, body.get("error")))
        return [body for _, body in answers]

    def report(self, *argv):
        return self.duet.json("report", *argv, *self.paths)

    def tid(self, row):
        return self.rows[row]["tid"]


# ---------------------------------------------------------------- events

def viewed(r, *options):
    text = r.duet.text("view", "--time", "epoch", "--columns", "time,cpu,thread,event,fields", *options, *r.paths)
    return text.splitlines()


def line(r, e):
    ns = r.begin + e["at"]
    thread = e["thread"] + " " if e["thread"] else ""
    return "%d.%09d [%d] %s%s %s" % (ns // 10**9, ns % 10**9, e["cpu"], thread, e["name"], e["fields"])


def pages(r, limit, direction=1, **params):
    """All pages, one after the other; a page at the first position of the one before must not come again."""
    events, after = [], {}
    for _ in range(10000):
        [page] = r.ask(("events", dict(params, direction=direction, limit=limit, **after)))
        check(len(page["events"]) <= limit, True)
        if page["events"] and "lost" not in page["events"][0]:
            check(page["searched"][0] <= page["events"][0]["at"], True, "searched")
            check(page["events"][-1]["at"] <= page["searched"][1], True, "searched")
        events = events + page["events"] if direction > 0 else page["events"] + events
        on = page["later" if direction > 0 else "earlier"]
        if on is None:
            check(len({e["pos"] for e in events}), len(events), "positions")
            return [line(r, e) for e in events if "lost" not in e]
        after = {"after": on}
    raise Failed("pages do not end")


def pages_are_the_lines_of_view(duet, where):
    for r in Recording(duet, kernel(where + "/k", Machine(1, n=1200).events)), Recording(duet, made.web(where + "/w")):
        want = viewed(r)
        check(pages(r, 1000), want)
        check(pages(r, 1000, -1), want)
    check(pages(r, 97), want)
    check(pages(r, 97, -1), want)


def events_of_one_time_have_their_places(duet, where):
    r = Recording(duet, kernel(where + "/r", [
        (1000 + i // 40, i % 2, 5 + i % 3, "net_step", dict(id=i)) for i in range(90)]))
    want = viewed(r)
    for limit in 1, 40:
        check(pages(r, limit), want, limit)
        check(pages(r, limit, -1), want, -limit)


def filters_are_those_of_view(duet, where):
    r = Recording(duet, made.web(where + "/w"))
    for expression in "ret < 0", '$procname ~ "worker*"', "ret >= 0 && $tid != %d" % r.threads[2]["tid"]:
        want = viewed(r, "-f", expression)
        check(pages(r, 1000, filter=expression), want, expression)
        check(pages(r, 1000, -1, filter=expression), want, expression)
    for wrong, position in ("prev_tid = 3", 9), ("((", 2), ("nofield == 1", None), ("$" * 2000, None):
        [(status, body)] = r.ask_any(("events", dict(filter=wrong)))
        said = subprocess.run([duet.path, "view", "-f", wrong, *r.paths], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=100).stderr
        check(status, 400)
        check(body["error"] in said, True, "%r in %r" % (body["error"], said))
        check(position is None or body["position"] == position, True, body)


def rows_and_times_choose_events(duet, where):
    r = Recording(duet, made.web(where + "/w"))
    lines = viewed(r)
    thread = r.threads[1]
    cpu = next(x for x in r.known["rows"] if x["kind"] == "cpu")
    process = thread["parent"]
    tids = {x["tid"] for x in r.threads if x["parent"] == process}
    tid_of = re.compile(r"^\S+ \[(\d+)\] [^{]*?:(\d+) ")
    found = [(tid_of.match(text), text) for text in lines]
    check(pages(r, 1000, rows=thread["id"]), [t for m, t in found if m and int(m[2]) == thread["tid"]])
    check(pages(r, 1000, -1, rows=process), [t for m, t in found if m and int(m[2]) in tids])
    check(pages(r, 1000, rows=cpu["id"]), [t for t in lines if " [%d] " % cpu["cpu"] in t[:40]])
    part = [e for e in r.ask(("events", dict(limit=1000)))[0]["events"]]
    first, last = part[100]["at"], part[300]["at"]
    check(pages(r, 50, from_=first, to=last), [line(r, e) for e in part if first <= e["at"] <= last])
    check(pages(r, 50, -1, from_=first, to=last), [line(r, e) for e in part if first <= e["at"] <= last])
    [page] = r.ask(("events", dict(at=first, limit=10)))
    check([e["at"] for e in page["events"]], [e["at"] for e in part if e["at"] >= first][:10])
    check(page["events"][0]["row"] in r.rows, True)


def rare_threads_are_found_in_long_recordings(duet, where):
    rare, busy, idle = ("rare", 7), ("busy", 9), ("idle", 0)
    for loses in False, True:
        events, now = [], 1000
        for i in range(9000):
            who = rare if i in (0, 5000, 5001, 8990) else busy
            for event in (lambda t: switch(t, 0, idle, who)), (lambda t: (t, 0, who[1], "net_step", dict(id=i))), \
                    (lambda t: switch(t, 0, who, idle, 1)), (lambda t: wakeup(t, 0, idle, busy if i % 7 else rare)):
                now += 100
                events.append(event(now))
            if loses and i == 3000:
                events.append(LOST(now, 0, 5))
        r = Recording(duet, kernel("%s/%d" % (where, loses), events))
        row = next(x for x in r.threads if x["tid"] == 7)["id"]
        want = [text for text in viewed(r) if " rare:7 " in text]
        check(len(want) >= 8, True)
        for direction in 1, -1:
            for limit in 3, 1000:
                check(pages(r, limit, direction, rows=row), want, "%d %d" % (direction, limit))
        lost = [e for e in r.ask(("events", dict(rows=row)))[0]["events"] if "lost" in e]
        check(sum(e["lost"] for e in lost), 5 if loses else 0)


def events_of_several_hosts_have_rows_of_theirs(duet, where):
    a, idle, paths = ("a", 7), ("idle", 0), []
    for i, host in enumerate(("left", "right")):
        paths.append(kernel("%s/%s" % (where, host), [
            switch(1000 + i, 0, idle, a), (1500, 0, 7, "net_step", dict(id=i)), switch(2000, 0, a, idle, 1)]))
        with open(paths[-1] + "/metadata", "r+") as f:
            text = f.read().replace('hostname = "host"', 'hostname = "%s"' % host)
            f.seek(0)
            f.write(text)
    r = Recording(duet, *paths)
    [page] = r.ask(("events", {}))
    steps = {e["fields"]: r.rows[e["row"]]["recording"] for e in page["events"] if e["name"] == "net_step"}
    check(steps, {"{ id = 0 }": 0, "{ id = 1 }": 1})
    for i, host in enumerate(x for x in r.known["rows"] if x["kind"] == "host"):
        for page in r.ask(("events", dict(rows=host["id"])), ("events", dict(rows=host["id"], direction=-1))):
            check([e["fields"] for e in page["events"] if e["name"] == "net_step"], ["{ id = %d }" % i])
            check(len(page["events"]), 3)


def losses_are_events_of_the_table(duet, where):
    r = Recording(duet, made.web(where + "/w", lossy=True))
    lost = [e for e in r.ask(*[("events", dict(limit=1000, from_=i * r.end // 50, to=(i + 1) * r.end // 50 - 1))
                               for i in range(50)])]
    check(sum(e.get("lost", 0) for page in lost for e in page["events"]), r.known["lost"])
    check(pages(r, 1000), [text for text in viewed(r) if not text.startswith("[lost")])


# ---------------------------------------------------------------- area

def areas_are_those_of_reports(duet, where):
    for seed in range(3):
        areas_agree(Recording(duet, kernel("%s/%d" % (where, seed), Machine(seed).events)))
    areas_agree(Recording(duet, made.web(where + "/w")))
    check(areas_agree(Recording(duet, made.web(where + "/lossy", lossy=True))) > 0, True, "calls that a loss cut")


def areas_agree(r):
    [area] = r.ask(("area", dict(limit=1000)))
    got = {r.tid(t["row"]): [t[s] for s in STATES] for t in area["threads"]["list"]}
    for t in r.report("why", "--limit", "1000")["threads"]:
        check(got.get(t["tid"]), [t[s + "_ns"] for s in STATES], t["thread"])
    calls = {r.names[c["name"]]: c for c in area["syscalls"]["list"]}
    n_cut = 0
    for want in r.report("syscalls")["syscalls"]:
        whole = want["n"] - want["n_open"] - want["n_headless"]  # entry and exit were recorded
        n_cut += want["n_open"]
        c = calls.pop(want["call"], None)
        if not whole:
            check(c, None, want["call"])
            continue
        check([c["n"], c["sum"], c["min"], c["p50"], c["p99"], c["max"], c["is_exact"]],
              [whole, want["total_ns"], want["min_ns"], want["p50_ns"], want["p99_ns"], want["max_ns"], True],
              want["call"])
        check(bool(want["n_headless"] or c["errors"] == want["n_errors"]), True, want["call"])
    check(calls, {}, "no other calls")
    on_cpus = collections.Counter()
    for c in area["cpus"]["list"]:
        for row, ns, _ in c["threads"]:
            on_cpus[row] += ns
        check(sum(ns for _, ns, _ in c["threads"]), c["busy"], "busy")
    for p in r.report("sched")["threads"]:
        check(p["tid"] in {r.tid(row) for row in on_cpus}, True, p["thread"])
    for p in area["processes"]["list"]:
        members = [t for t in area["threads"]["list"] if r.rows[t["row"]]["parent"] == p["row"]]
        check(p["threads"], len(members))
        check([p[s] for s in STATES], [sum(t[s] for t in members) for s in STATES])
    return n_cut


def areas_side_by_side_add_up(duet, where):
    r = Recording(duet, made.web(where + "/w"))
    dice = random.Random(1)
    cuts = [0] + sorted(dice.randrange(r.end) for _ in range(5)) + [r.end]
    rows = ",".join(str(t["id"]) for t in r.threads[1:4])
    whole, *parts = r.ask(("area", dict(rows=rows, limit=1000)),
                          *[("area", dict(rows=rows, limit=1000, from_=a, to=b)) for a, b in zip(cuts, cuts[1:])])
    for kind, members in ("threads", STATES), ("syscalls", ["n", "sum", "errors"]), ("spans", ["n", "sum"]), \
            ("events", ["n"]):
        sums = collections.Counter()
        for part in parts:
            for x in part[kind]["list"]:
                for m in members:
                    sums[x.get("row", x.get("name")), m] += x[m]
        check({k: v for k, v in sums.items() if v},
              {(x.get("row", x.get("name")), m): x[m] for x in whole[kind]["list"] for m in members if x[m]}, kind)
    check({t["row"] for t in whole["threads"]["list"]} <= {t["id"] for t in r.threads[1:4]}, True)


# ---------------------------------------------------------------- latency

def latencies_are_those_of_report(duet, where):
    r = Recording(duet, made.web(where + "/w"))
    for call in "fsync", "write", "futex":
        wants = r.report("latency", "syscall_entry_" + call, "syscall_exit_" + call, "--slowest", "20")
        [want] = wants["times"]
        [got] = r.ask(("latency", dict(name=call)))
        check([got[k] for k in ("n", "sum", "min", "p50", "p90", "p99", "max")],
              [want[k] for k in ("n", "total_ns", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")], call)
        check([s["to"] - s["from"] for s in got["slowest"]], [s["duration_ns"] for s in wants["slowest"]])
        check(sum(n for _, _, n in got["bins"]), got["n"])
        by_power = {b["from_ns"]: b["n"] for b in wants["histogram"]}
        for begin, n in by_power.items():
            check(sum(c for a, _, c in got["bins"] if begin <= a < 2 * begin), n, "bins from %d" % begin)
        for rank, s in enumerate(got["slowest"], 1):
            [again] = r.ask(("latency", dict(name=call, kind="syscalls", item=s["id"])))
            low, high, n = again["bins"][again["item"]["bin"]]
            check(low <= again["item"]["duration"] < high and n > 0, True)
            check(again["item"]["rank"] <= rank, True)
            check(s["row"] in r.rows, True)
    check(r.ask(("latency", dict(name="nothing is called so")))[0]["n"], 0)


def spans_have_latencies(duet, where):
    r = Recording(duet, ust(where + "/r", [
        (1000 + 100 * i + (i % 7 if end else 0), 0, (5, 6), "shop:order_" + ("end" if end else "begin"), dict(id=i))
        for i in range(50) for end in (0, 1)]))
    [got] = r.ask(("latency", dict(name="shop:order")))
    check([got["kind"], got["n"], got["min"], got["max"], got["p50"]], ["spans", 50, 0, 6, 3])


# ---------------------------------------------------------------- why

def leaves(node):
    return [leaf for c in node["causes"] for leaf in leaves(c)] if node["causes"] else [node]


def an_interrupt(text):
    """Which one it was is looked up for as long as an answer may take."""
    return re.sub(r", until (irq|softirq|interrupt|block i/o) .*|, until block i/o$", ", until an interrupt", text)


def as_in_the_page(text):
    """Without the arguments of a call, and without those that ran in a thread's place."""
    return re.sub(r"^preempted by .*", "preempted", re.sub(r"( in \w+)\(.*?\)", r"\1", text))


def plain(text):
    """Without the thread, the number of times, and the object of a call."""
    text = re.sub(r"^.*? was ", "", text)
    text = re.sub(r", \d+ times.*$", "", text)
    until = re.search(r", until .*$", text)
    text = re.sub(r"( in \w+).*$", r"\1", text)
    return text + (until[0] if until and until[0] not in text else "")


def reasons_are_those_of_report_why(duet, where):
    for seed in range(4):
        reasons_agree(Recording(duet, kernel("%s/%d" % (where, seed), Machine(seed, n=2000).events)))
    reasons_agree(Recording(duet, made.web(where + "/w")))


def reasons_agree(r):
    n = 0
    for t in r.report("why", "--limit", "1000")["threads"]:
        row = next(x for x in r.threads if x["tid"] == t["tid"])
        [why] = r.ask(("why", dict(row=row["id"], limit=1000)))
        check(why["states"], [t[s + "_ns"] for s in STATES], t["thread"])
        check(why["is_whole"], True)
        want, got = collections.Counter(), collections.Counter()
        for part in r.report("why", "-t", t["tid"], "--limit", "100000")["chain"]:
            want[part["tid"], an_interrupt(as_in_the_page(part["what"]))] += part["ns"]
        for reason in why["reasons"]:
            check(sum(c["ns"] for c in reason["causes"]) <= reason["ns"], True, reason["text"])
            for leaf in leaves(reason) if reason["state"] == 6 else []:
                got[r.tid(leaf["row"]), an_interrupt(plain(leaf["text"]))] += leaf["ns"]
        check({k: (got[k], want[k]) for k in got | want if got[k] != want[k]}, {}, t["thread"])
        check([c["ns"] for c in why["reasons"]], sorted((c["ns"] for c in why["reasons"]), reverse=True))
        n += len(want)
    check(n > 0, True)


def a_path_covers_its_span(duet, where):
    r = Recording(duet, made.web(where + "/w"))
    for row in [x for x in r.threads if x["name"].startswith("worker")]:
        a, b = r.end // 3, r.end // 2
        [why] = r.ask(("why", dict(row=row["id"], from_=a, to=b)))
        check(sum(why["states"]), b - a, row["name"])
        at = a
        for step in why["path"]:
            check(step[1], at, "a step begins where the one before ends")
            at = step[2]
            check(step[0] in r.rows and 0 <= step[3] < 7 and step[5] >= 0, True)
        check(at, b)
        check(sum(c["ns"] for c in why["reasons"]), sum(why["states"]) - sum(why["states"][1:4]))


def said(r):
    """All sentences about all threads."""
    texts = []
    for row in r.threads:
        [why] = r.ask(("why", dict(row=row["id"], limit=50)))
        nodes = list(why["reasons"])
        while nodes:
            texts.append(nodes[0]["text"])
            nodes = nodes[1:] + nodes[0]["causes"]
    return texts


def files_and_interrupts_are_named(duet, where):
    texts = said(Recording(duet, made.web(where + "/w")))
    for part in "until block i/o of vda", "(longest: of 0x", "fsync", "ran on CPU 1", "CPU 0 was idle":
        check(any(part in t for t in texts), True, "%s in %r" % (part, texts[:20]))
    ls = ("ls", 7)
    texts = said(Recording(duet, kernel(where + "/r", [
        switch(1000, 0, ("idle", 0), ls), (1100, 0, 7, "syscall_entry_openat", dict(dfd=-100, filename="/etc/hosts")),
        (1200, 0, 7, "syscall_exit_openat", dict(ret=4)), (1300, 0, 7, "syscall_entry_read", dict(fd=4, count=10)),
        switch(1400, 0, ls, ("idle", 0), 1), (9000, 0, 0, "irq_handler_entry", dict(irq=5, name="disk")),
        wakeup(9100, 0, ("idle", 0), ls), (9200, 0, 0, "irq_handler_exit", dict(irq=5, ret=1)),
        switch(9300, 0, ("idle", 0), ls), (9400, 0, 7, "syscall_exit_read", dict(ret=10))])))
    check("blocked in read of /etc/hosts, until irq disk" in texts, True, texts)


# ---------------------------------------------------------------- requests

def wrong_parameters_are_refused(duet, where):
    r = Recording(duet, kernel(where + "/r", Machine(1, n=300).events))
    some = r.threads[0]["id"]
    process = next(x["id"] for x in r.known["rows"] if x["kind"] == "process")
    numbers = ["", "x", "1e3", "0x10", "-1", "99999999999999999999", "1 ", "+1", "1,", "'", "\u0663"]
    wrong = [("why", {}), ("why", dict(row=process)), ("why", dict(row=some, from_=5, to=5)), ("latency", {}),
             ("latency", dict(name="read", kind="states")), ("events", dict(direction=0)),
             ("area", dict(from_=2, to=1)), ("latency", dict(name="read", from_=2, to=1))]
    wrong += [("events", dict(after=p)) for p in
              ["", "1", "1.", ".1", "1.x", "-1.0", "1.-1", "1.99999999999", "9" * 30 + ".0", "1.0.0", " 1.0"]]
    wrong += [("latency", dict(name="read", item=p)) for p in ["", "1", "1.", "1.x", "-1.1", "1." + "9" * 30, "1.1 "]]
    for path, more in ("events", {}), ("area", {}), ("latency", dict(name="read")), ("why", dict(row=some)):
        wrong += [(path, dict(more, limit=n)) for n in numbers + ["0", "1000000"]]
        wrong += [(path, dict(more, from_=n)) for n in numbers if n != "-1"]
        if path != "why":
            wrong += [(path, dict(more, rows=n)) for n in numbers if n != ""] + [(path, dict(more, rows="99999"))]
    wrong += [("why", dict(row=n)) for n in numbers]
    for (status, body), request in zip(r.ask_any(*wrong), wrong):
        check((status, bool(body.get("error"))), (400, True), request)


def cancelled_requests_end_and_harm_no_others(duet, where):
    r = Recording(duet, made.web(where + "/w"))
    some = r.threads[2]["id"]
    asked = ["events", "events?direction=-1", "events?filter=ret%20==%20987654321", "events?rows=%d" % some, "area",
             "latency?name=fsync", "why?row=%d" % some]
    lines = [mark + "/api/" + request for request in asked for mark in ("", "!", "")]
    p = subprocess.run([ASK, *r.paths, "--", *lines], stdout=subprocess.PIPE, timeout=100)
    check(p.returncode, 0)
    answers = p.stdout.splitlines()
    check(len(answers), len(lines))
    for before, after, request in zip(answers[::3], answers[2::3], asked):
        check(before.split()[0], b"200", request)
        check(after, before, request)


def hostile_texts_stay_texts(duet, where):
    name = "</script>\"'&<b>\n\t\\"
    r = Recording(duet, kernel(where + "/r", [
        switch(1000, 0, ("idle", 0), (name, 7)), (1100, 0, 7, "syscall_entry_openat", dict(dfd=3, filename=name)),
        switch(1200, 0, (name, 7), ("idle", 0), 1), wakeup(1300, 0, ("idle", 0), (name, 7)),
        switch(1400, 0, ("idle", 0), (name, 7)), (1500, 0, 7, "syscall_exit_openat", dict(ret=4)),
        (1600, 0, 7, "net_" + "x" * 200, dict(text=name))]))
    p = subprocess.run([ASK, *r.paths, "--", "/api/events", "/api/why?row=%d" % r.threads[0]["id"],
                        "/api/latency?name=" + urllib.parse.quote(name)], stdout=subprocess.PIPE, timeout=100)
    check(b"<" in p.stdout, False, p.stdout)
    bodies = [json.loads(text.split(b" ", 1)[1]) for text in p.stdout.splitlines()]
    check(bodies[0]["events"][1]["thread"], name[:16] + ":7")
    check(bodies[2]["name"], name)


if __name__ == "__main__":
    ASK = sys.argv[2]
    sys.exit(run_all([
        pages_are_the_lines_of_view,
        events_of_one_time_have_their_places,
        filters_are_those_of_view,
        rows_and_times_choose_events,
        rare_threads_are_found_in_long_recordings,
        events_of_several_hosts_have_rows_of_theirs,
        losses_are_events_of_the_table,
        areas_are_those_of_reports,
        areas_side_by_side_add_up,
        latencies_are_those_of_report,
        spans_have_latencies,
        reasons_are_those_of_report_why,
        a_path_covers_its_span,
        files_and_interrupts_are_named,
        wrong_parameters_are_refused,
        cancelled_requests_end_and_harm_no_others,
        hostile_texts_stay_texts,
    ], Duet(sys.argv[1])))
