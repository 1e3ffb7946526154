#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""index.py DUET ASK - the timeline's index of recordings made by hand agrees with `duet report` of the same."""
import json
import os
import random
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmd/analysis"))
from check import Duet, Failed, check, row, run_all
from make import LOST, kernel, switch, ust, wakeup

STATES = ["unknown", "user", "kernel", "irq", "preempted", "runnable", "blocked"]
CALLS = ["read", "write", "futex", "poll"]
ASK = None


def ask(*paths):
    p = subprocess.run([ASK, *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100)
    if p.returncode:
        raise Failed("ask: " + p.stderr)
    return json.loads(p.stdout)


def tracks(index, track, **want):
    return [t for r in index["rows"] for t in r["tracks"]
            if t["kind"] == track and all(r[k] == v for k, v in want.items())]


def named(index, items):
    return [(b, e, index["names"][what]) for b, e, what, _, _ in items]


class Machine:
    """Threads that run, call, sleep, wake each other and are interrupted at random."""

    def __init__(self, seed, n_cpus=2, n_threads=7, n=3000, loses=False, forgets=0):
        self.dice = random.Random(seed)
        self.now, self.events, self.forgets = 1000, [], forgets
        self.threads = [("t%d" % i, 10 + i) for i in range(n_threads)]
        self.ready, self.asleep = set(self.threads[:2]), set(self.threads[2:])
        self.runs, self.calls, self.irqs = [None] * n_cpus, {}, [0] * n_cpus
        while len(self.events) < n:
            self.now += self.dice.choice([10, 100, 1000, 30000, 5000000000 if self.dice.random() < 0.001 else 50])
            self.step(self.dice.randrange(n_cpus))
            if loses and self.dice.random() < 0.002:
                self.events.append(LOST(self.now, self.dice.randrange(n_cpus), 3))

    def put(self, event):
        if self.dice.random() >= self.forgets:
            self.events.append(event)

    def switch_to(self, cpu, who, sleeps):
        before = self.runs[cpu]
        if before:
            (self.asleep if sleeps else self.ready).add(before)
        self.ready.discard(who)
        self.runs[cpu] = who
        self.irqs[cpu] = 0
        self.put(switch(self.now, cpu, before or ("idle", 0), who or ("idle", 0), 1 if before and sleeps else 0))

    def step(self, cpu):
        who, what = self.runs[cpu], self.dice.randrange(10)
        if what < 3:
            self.switch_to(cpu, self.dice.choice(sorted(self.ready)) if self.ready and what else None, what == 1)
        elif what == 3 and self.asleep:
            other = self.dice.choice(sorted(self.asleep))
            self.asleep.discard(other)
            self.ready.add(other)
            self.put(wakeup(self.now, cpu, who or ("idle", 0), other))
        elif what < 6 and who:
            call = self.calls.pop(who, None)
            if call:
                self.put((self.now, cpu, who[1], "syscall_exit_" + call, dict(ret=3)))
            else:
                self.calls[who] = call = self.dice.choice(CALLS)
                self.put((self.now, cpu, who[1], "syscall_entry_" + call, dict(fd=3)))
        elif what < 8:
            name = "irq_softirq_exit" if self.irqs[cpu] else "irq_softirq_entry"
            self.irqs[cpu] ^= 1
            self.put((self.now, cpu, who[1] if who else 0, name, dict(vec=1)))


def agree(duet, where, machine):
    """Sums of each thread, numbers of calls, and each track's sums over parts of the time."""
    trace = kernel(where + "/r", machine.events)
    index, why = ask(trace), duet.json("report", "why", "--limit", "1000", trace)
    for t in why["threads"]:
        want = [t[s + "_ns"] for s in STATES]
        got = tracks(index, "states", kind="thread", tid=t["tid"])
        check([g["sums"]["ns"] for g in got], [want], "states of " + t["thread"])
    wants = {c["call"]: c["n"] - c["n_headless"] for c in duet.json("report", "syscalls", trace)["syscalls"]}
    counts = {}
    for t in tracks(index, "syscalls"):
        for item in t["items"]:
            name = index["names"][item[2]]
            counts[name] = counts.get(name, 0) + 1
    for c in duet.json("report", "syscalls", trace)["syscalls"]:
        check(counts.get(c["call"], 0) >= wants[c["call"]], True, c["call"])
        check(counts.get(c["call"], 0) <= wants[c["call"]] + c["n_open"], True, c["call"])
    for t in (t for r in index["rows"] for t in r["tracks"]):
        check(t["ascends"], True)
        check(t["sums"]["n"], t["n"])
        check(t["before"]["n"] + t["after"]["n"], t["n"])
        if t["kind"] in ("states", "running", "syscalls", "busy"):
            check([a + b for a, b in zip(t["before"]["ns"], t["after"]["ns"])], t["sums"]["ns"])
            check(sum(t["added"]["ns"]), sum(t["sums"]["ns"]))
    check((index["events"], index["lost"], index["failure"]), (why["n_events"], why["lost_events"], ""))
    return index


def states_are_those_of_report_why(duet, where):
    for seed in range(8):
        os.makedirs("%s/%d" % (where, seed))
        agree(duet, "%s/%d" % (where, seed), Machine(seed))


def states_are_those_of_report_why_with_losses(duet, where):
    for seed in range(8):
        os.makedirs("%s/%d" % (where, seed))
        index = agree(duet, "%s/%d" % (where, seed), Machine(100 + seed, loses=True))
        check(sum(g[2] for g in index["gaps"]), index["lost"])
        check(all(g[0] < g[1] for g in index["gaps"]), True)


def states_are_those_of_report_why_where_events_contradict_each_other(duet, where):
    for seed in range(8):
        os.makedirs("%s/%d" % (where, seed))
        agree(duet, "%s/%d" % (where, seed), Machine(200 + seed, forgets=0.1))


def a_thread_has_its_state_before_its_first_event(duet, where):
    a, b, idle = ("a", 7), ("b", 8), ("idle", 0)
    index = ask(kernel(where + "/r", [
        switch(1000, 0, idle, a), wakeup(3000, 0, a, b), switch(3500, 0, a, b, 1), switch(4000, 0, b, idle, 1)]))
    check([i[:3] for i in tracks(index, "states", tid=8)[0]["items"][:3]],
          [[1000, 3000, 6], [3000, 3500, 5], [3500, 4000, 1]])
    check(row(index["rows"], kind="thread", tid=8)["first"], 1000)
    check(len(index["wakes"]), 1)
    check(index["wakes"][0][1:], [row(index["rows"], kind="thread", tid=7)["id"], 3000, 3500])


def rows_of_devices_are_there(duet, where):
    a, idle = ("a", 7), ("idle", 0)
    index = ask(kernel(where + "/r", [
        switch(1000, 0, idle, a),
        (1100, 0, 7, "block_rq_issue", dict(dev=0x800000, sector=8)),
        (1200, 0, 7, "irq_handler_entry", dict(irq=5, name="disk")),
        (1250, 0, 7, "block_rq_complete", dict(dev=0x800000, sector=8)),
        (1300, 0, 7, "irq_handler_exit", dict(irq=5)),
        (1400, 0, 7, "power_cpu_frequency", dict(state=2000, cpu_id=0)),
        (1500, 0, 7, "counter_page_faults", dict(pid=7, count=10)),
        (1600, 0, 7, "counter_page_faults", dict(pid=7, count=10)),
        (1700, 0, 7, "profile", dict(pid=7)), (1800, 0, 7, "net_dev_queue", dict(len=5)),
    ]))
    check(tracks(index, "busy", kind="disk")[0]["items"][0][:2], [1100, 1250])
    check(named(index, tracks(index, "busy", kind="irq")[0]["items"]), [(1200, 1300, "disk")])
    values = {r["name"]: [i[3] for i in r["tracks"][0]["items"]] for r in index["rows"] if r["kind"] == "counter"}
    check(values, {"power_cpu_frequency 0": [2000], "page_faults": [10, 20]})
    check(tracks(index, "samples", tid=7)[0]["n"], 1)
    check([n for _, _, n in named(index, tracks(index, "events", tid=7)[0]["items"])],
          ["counter_page_faults", "counter_page_faults", "net_dev_queue"])


def pairs_of_events_nest(duet, where):
    def at(time, name, **fields):
        return (time, 0, (5, 6), "shop:" + name, dict(fields or {"id": 1}))
    index = ask(ust(where + "/r", [
        at(1000, "order_begin"), at(1100, "pay_entry"), at(1200, "stock", level=17), at(1300, "pay_exit"),
        at(1400, "order_end"), at(1500, "order_begin"), at(1600, "stock", level=-3)]))
    by_depth = {t["depth"]: named(index, t["items"]) for t in tracks(index, "spans", tid=6, pid=5)}
    check(by_depth, {0: [(1000, 1400, "shop:order"), (1500, 1600, "shop:order")], 1: [(1100, 1300, "shop:pay")]})
    check([i[4] for i in tracks(index, "spans", tid=6)[0]["items"]], [0, 1], "the last is open")
    check([i[3] for i in tracks(index, "counter")[0]["items"]], [17, -3])
    check(row(index["rows"], kind="counter")["name"].startswith("shop:stock level"), True)


def a_damaged_recording_shows_its_good_part(duet, where):
    machine = Machine(300)
    trace = kernel(where + "/r", machine.events)
    with open(trace + "/cpu_1", "r+b") as f:
        f.truncate(os.path.getsize(trace + "/cpu_1") // 2)
    index, why = ask(trace), duet.json("report", "why", "--limit", "1000", trace)
    check(index["damages"] > 0 and "cpu_1" in index["damage"], True, index["damage"])
    check(index["events"], why["n_events"])
    for t in why["threads"]:
        check([g["sums"]["ns"] for g in tracks(index, "states", kind="thread", tid=t["tid"])],
              [[t[s + "_ns"] for s in STATES]])


def rows_of_several_hosts_have_their_host_above(duet, where):
    a, idle, paths = ("a", 7), ("idle", 0), []
    for i, host in enumerate(("left", "right")):
        paths.append(kernel("%s/%s" % (where, host), [
            switch(1000 + i, 0, idle, a), (1500, 0, 7, "irq_handler_entry", dict(irq=5, name="disk")),
            (1600, 0, 7, "irq_handler_exit", dict(irq=5)), switch(2000, 0, a, idle, 1)]))
        with open(paths[-1] + "/metadata", "r+") as f:
            text = f.read().replace('hostname = "host"', 'hostname = "%s"' % host)
            f.seek(0)
            f.write(text)
    index = ask(*paths)
    rows = {r["id"]: r for r in index["rows"]}
    check([r["name"] for r in rows.values() if r["kind"] == "host"], ["left", "right"])
    for r in rows.values():
        top = r
        while top["parent"] >= 0:
            top = rows[top["parent"]]
        check(top["kind"], "host", r["name"])
    for kind, n in (("cpu", 2), ("irq", 2), ("thread", 2), ("process", 2)):
        found = [r for r in rows.values() if r["kind"] == kind]
        check((len(found), len({r["recording"] for r in found})), (n, 2), kind)
    check([g["n"] for g in tracks(index, "busy")], [1, 1])


def a_recording_that_is_followed_to_its_end_is_the_same(duet, where):
    trace = kernel(where + "/r", Machine(400, loses=True).events)
    a, b = ask(trace), ask("--follow", trace)
    for index in (a, b):
        for r in index["rows"]:
            r["tracks"].sort(key=lambda t: (t["kind"], t["depth"]))
            for t in r["tracks"]:
                if t["kind"] in ("events", "syscalls", "busy"):
                    t["items"] = named(index, t["items"])
    check(a["rows"], b["rows"])
    check((a["gaps"], a["wakes"], a["ready"]), (b["gaps"], b["wakes"], b["ready"]))


def an_index_beyond_its_memory_ends_early_and_says_so(duet, where):
    index = ask("--most", "1", kernel(where + "/r", Machine(500, n=40000, loses=True).events))
    check(index["cut"], 1)
    check("the index is full" in index["failure"], True, index["failure"])
    check(0 < index["events"] < 40000, True, index["events"])


def an_index_from_its_file_is_the_same(duet, where):
    trace = kernel(where + "/r", Machine(600, loses=True).events)
    os.mkdir(trace + "/.duet")
    first, second = ask("--cache", trace), ask("--cache", trace)
    check(("was written" in first.pop("note"), "was read" in second.pop("note")), (True, True))
    check(first, second)
    with open(trace + "/.duet/ui-index", "r+b") as f:
        f.seek(300)
        f.write(b"damage")
    third = ask("--cache", trace)
    check("was written" in third.pop("note"), True)
    check(third, first)
    os.utime(trace + "/cpu_0", (1, 1))
    check("was written" in ask("--cache", trace)["note"], True)


def hostile_names_are_text(duet, where):
    name = "</script>\"'&<b>\n\t\\"
    index = ask(kernel(where + "/r", [switch(1000, 0, ("idle", 0), (name, 7)), switch(2000, 0, (name, 7), ("idle", 0))]))
    check(row(index["rows"], kind="thread", tid=7)["name"], name[:16])


if __name__ == "__main__":
    ASK = sys.argv[2]
    sys.exit(run_all([
        states_are_those_of_report_why,
        states_are_those_of_report_why_with_losses,
        states_are_those_of_report_why_where_events_contradict_each_other,
        a_thread_has_its_state_before_its_first_event,
        rows_of_devices_are_there,
        pairs_of_events_nest,
        a_damaged_recording_shows_its_good_part,
        rows_of_several_hosts_have_their_host_above,
        a_recording_that_is_followed_to_its_end_is_the_same,
        an_index_beyond_its_memory_ends_early_and_says_so,
        an_index_from_its_file_is_the_same,
        hostile_names_are_text,
    ], Duet(sys.argv[1])))
