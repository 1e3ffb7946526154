#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""why.py DUET - `duet report why` on recordings made by hand."""
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, kernel, switch, ust, wakeup

A, B, C, IDLE = ("a", 7), ("b", 8), ("c", 9), ("swapper/0", 0)
SLEEPS = 1


def enter(time, cpu, who, call, **fields):
    return (time, cpu, who[1], "syscall_entry_" + call, fields)


def leave(time, cpu, who, call, ret=0):
    return (time, cpu, who[1], "syscall_exit_" + call, dict(ret=ret))


def report(duet, where, events, *options):
    return duet.json("report", "why", *options, kernel(where + "/r", events))


def states(r):
    return {s["state"]: s["ns"] for s in r["states"]}


# A waits in a futex for B.  B computes, waits in a read for C, which is preempted, and wakes A.
CHAIN = [
    switch(1000, 0, IDLE, A), switch(1000, 1, IDLE, B),
    enter(1100, 0, A, "futex", uaddr=0x1000, op=128, val=1),
    switch(1200, 0, A, C, SLEEPS),
    enter(1400, 1, B, "read", fd=5, buf=0, count=1),
    switch(1500, 1, B, IDLE, SLEEPS),
    enter(1600, 0, C, "write", fd=6, buf=0, count=1),
    wakeup(1900, 0, C, B),
    switch(2000, 1, IDLE, B),
    leave(2000, 1, B, "read", 1),
    enter(2200, 1, B, "futex", uaddr=0x1000, op=129, val=1),
    wakeup(2300, 1, B, A),
    leave(2400, 1, B, "futex", 1),
    leave(2500, 0, C, "write", 1),
    switch(2600, 0, C, A, SLEEPS),
    leave(2700, 0, A, "futex", 0),
    switch(3000, 0, A, IDLE, 0x80),
    (3000, 1, 8, "sched_process_exec", dict(tid=8)),
]


def a_thread_s_time_is_divided_without_rest(duet, where):
    r = report(duet, where, CHAIN, "-t", "7")
    check(states(r), {"user": 100 + 300, "kernel": 100 + 100, "blocked": 1100, "runnable": 300})
    check(sum(states(r).values()), r["ns"])
    check(sum(p["ns"] for p in r["parts"]), r["ns"])
    blocked = row(r["parts"], state="blocked")
    check((blocked["where"], blocked["n"], blocked["max_ns"], blocked["max_at_ns"]),
          ("futex(0x1000)", 1, 1100, EPOCH + 1200))


def a_wait_is_explained_by_the_actions_of_its_wakers(duet, where):
    """A waited from 1200 to 2300; B woke it, ran before, and waited from 1500 to 1900 for C."""
    r = report(duet, where, CHAIN, "-t", "7")
    check([(p["time_ns"] - EPOCH, p["ns"], p["tid"], p["what"], p["depth"]) for p in r["path"]], [
        (1200, 200, 8, "running, user", 1),
        (1400, 100, 8, "running, kernel in read", 1),
        (1500, 100, 9, "running, user", 2),
        (1600, 300, 9, "running, kernel in write", 2),
        (1900, 100, 8, "waiting for a CPU", 1),
        (2000, 200, 8, "running, user", 1),
        (2200, 100, 8, "running, kernel in futex", 1),
    ])
    check(sum(c["ns"] for c in r["chain"]), 1100)
    check(row(r["chain"], tid=8, state="user")["ns"], 400)
    wait = r["waits"][0]
    check((wait["duration_ns"], wait["for_cpu_ns"], wait["waker"]), (1400, 300, "b:8"))
    check("futex(0x1000, op=WAIT private, val=1)" in wait["call"], True, wait["call"])


def a_part_of_the_recording_is_cut_exactly(duet, where):
    r = report(duet, where, CHAIN, "-t", "7", "--from", "1700000000.000001800", "--to", "1700000000.000002400")
    check(states(r), {"blocked": 500, "runnable": 100})
    check(sum(c["ns"] for c in r["chain"]), 500)


def interrupts_take_time_and_wake(duet, where):
    r = report(duet, where, [
        switch(1000, 0, IDLE, A), (1100, 0, 7, "irq_handler_entry", dict(irq=5, name="nvme0q1")),
        (1300, 0, 7, "irq_handler_exit", dict(irq=5, ret=1)), enter(1400, 0, A, "read", fd=3),
        switch(1500, 0, A, IDLE, SLEEPS), (1900, 0, 0, "irq_handler_entry", dict(irq=5, name="nvme0q1")),
        wakeup(2000, 0, IDLE, A), (2100, 0, 0, "irq_handler_exit", dict(irq=5, ret=1)),
        switch(2200, 0, IDLE, A), leave(2300, 0, A, "read", 0)], "-t", "7")
    check(states(r), {"user": 200, "irq": 200, "kernel": 200, "blocked": 500, "runnable": 200})
    check([(c["tid"], c["what"], c["ns"]) for c in r["chain"]],
          [(7, "blocked in read(fd 3), until irq nvme0q1", 500)])
    check(r["waits"][0]["waker"], "irq nvme0q1")


def the_disk_that_was_waited_for_is_named(duet, where):
    """Waits end in an interrupt of one disk, of another, and of one that is not in the state dump."""
    def wait(at, dev):
        return [switch(at, 0, A, IDLE, SLEEPS), (at + 300, 0, 0, "irq_handler_entry", dict(irq=5, name="disks")),
                (at + 350, 0, 0, "block_rq_complete", dict(dev=dev, sector=8, nr_sector=8, error=0, rwbs="R")),
                wakeup(at + 400, 0, IDLE, A), (at + 450, 0, 0, "irq_handler_exit", dict(irq=5, ret=1)),
                switch(at + 500, 0, IDLE, A)]
    r = report(duet, where, [switch(1000, 0, IDLE, A), enter(1050, 0, A, "read", fd=3)] + wait(2000, 254 << 20) +
               wait(3000, 8 << 20 | 1) + wait(4000, 7 << 20 | 3) +
               [(5000, 0, 7, "lttng_statedump_block_device", dict(dev=254 << 20, diskname="vda")),
                (5001, 0, 7, "lttng_statedump_block_device", dict(dev=8 << 20 | 1, diskname="sda1"))], "-t", "7")
    check(sorted(w["waker"] for w in r["waits"]), ["block i/o of 7:3", "block i/o of sda1", "block i/o of vda"])
    check(sorted(c["what"] for c in r["chain"]), ["blocked in read(fd 3), until block i/o of " + d for d in ("7:3", "sda1", "vda")])


def a_local_sender_wakes_through_its_own_soft_interrupt(duet, where):
    """B's write raises NET_RX, which runs on top of B and wakes A; later one raised by a hard interrupt wakes it."""
    r = report(duet, where, [
        switch(1000, 0, IDLE, A), switch(1000, 1, IDLE, B), enter(1100, 0, A, "read", fd=3),
        switch(1200, 0, A, IDLE, SLEEPS), enter(1500, 1, B, "write", fd=4),
        (1600, 1, 8, "irq_softirq_raise", dict(vec=3)), (1700, 1, 8, "irq_softirq_entry", dict(vec=3)),
        wakeup(1800, 1, B, A), (1900, 1, 8, "irq_softirq_exit", dict(vec=3)),
        switch(2000, 0, IDLE, A), switch(2100, 0, A, IDLE, SLEEPS),
        (2200, 1, 8, "irq_handler_entry", dict(irq=5, name="eth0")), (2300, 1, 8, "irq_softirq_raise", dict(vec=3)),
        (2400, 1, 8, "irq_handler_exit", dict(irq=5, ret=1)), (2500, 1, 8, "irq_softirq_entry", dict(vec=3)),
        wakeup(2600, 1, B, A), (2700, 1, 8, "irq_softirq_exit", dict(vec=3)),
        switch(2800, 0, IDLE, A), switch(2900, 0, A, IDLE, SLEEPS)], "-t", "7")
    check([w["waker"] for w in r["waits"]], ["b:8", "softirq NET_RX"])
    check([(p["tid"], p["what"], p["ns"]) for p in r["path"]],
          [(8, "running, user", 300), (8, "running, kernel in write", 200), (8, "interrupted", 100)])


def time_waiting_for_duet_itself_is_left_out(duet, where):
    """The process is forked, waits until the recording is ready, and then executes the command."""
    D, W = ("duet", 5), ("work", 6)
    exec_ = [(2000, 0, 6, "sched_process_exec", dict(tid=6, filename="/bin/work"))]
    before = [switch(1000, 0, IDLE, W), switch(1100, 0, W, D, SLEEPS), wakeup(1800, 0, D, W), switch(1900, 0, D, W, SLEEPS)]
    after = [enter(2100, 0, W, "read", fd=3), switch(2200, 0, W, IDLE, SLEEPS), (2300, 0, 0, "irq_handler_entry", dict(irq=5, name="i")),
             wakeup(2400, 0, IDLE, W), (2500, 0, 0, "irq_handler_exit", dict(irq=5, ret=1)), switch(2600, 0, IDLE, W), leave(2700, 0, W, "read")]
    r = report(duet, where + "/x", before + exec_ + after, "-t", "6")
    check((states(r), r["ns"]), ({"user": 100, "kernel": 200, "blocked": 200, "runnable": 200}, 700))
    check([w["waker"] for w in r["waits"]], ["irq i"])
    check(sum(c["ns"] for c in r["chain"]), 200)
    r = report(duet, where + "/y", before + after, "-t", "6")  # without an exec, waiting for duet counts
    check([w["waker"] for w in r["waits"]], ["duet:5", "irq i"])


def missed_switches_of_other_threads_are_not_reported(duet, where):
    """D is not recorded, so it is not shown."""
    D = ("d", 10)
    r = report(duet, where, CHAIN + [switch(4000 + 100 * i, 5, D, IDLE, SLEEPS) for i in range(9)])
    check((sorted(t["tid"] for t in r["threads"]), r["n_contradictions"]), ([7, 8, 9], 0))


def contradictory_times_are_unknown(duet, where):
    """A runs on CPU 0; then B leaves that CPU: the time at which A left is unknown."""
    r = report(duet, where, [switch(1000, 0, IDLE, A), switch(1500, 0, B, IDLE, SLEEPS),
                             switch(2000, 0, IDLE, A), switch(2100, 0, A, IDLE, SLEEPS)], "-t", "7")
    check(states(r), {"unknown": 1000, "user": 100})
    check(r["n_contradictions"], 1)


def no_state_is_assumed_across_a_loss(duet, where):
    r = report(duet, where, [switch(1000, 0, IDLE, A), LOST(1500, 0, 3), switch(2000, 0, A, IDLE, SLEEPS),
                             wakeup(2300, 0, IDLE, A), switch(2400, 0, IDLE, A)], "-t", "7")
    check((states(r), r["lost_events"]), ({"unknown": 1000, "blocked": 300, "runnable": 100}, 3))


def between_two_events_the_slowest_is_explained(duet, where):
    """Two requests of one thread; in the second it waits for B."""
    k = kernel(where + "/k", [
        switch(1000, 0, IDLE, A), enter(2100, 0, A, "futex", uaddr=16, op=128, val=0),
        switch(2200, 0, A, IDLE, SLEEPS), switch(2250, 1, IDLE, B), wakeup(2900, 1, B, A),
        switch(3000, 0, IDLE, A), leave(3050, 0, A, "futex", 0), switch(5000, 0, A, IDLE, 0)])
    u = ust(where + "/u", [(1500, 0, (7, 7), "shop:order", dict(id=1)), (1600, 0, (7, 7), "shop:paid", dict(id=1)),
                           (2000, 0, (7, 7), "shop:order", dict(id=2)), (3100, 0, (7, 7), "shop:paid", dict(id=2)),
                           (4000, 0, (7, 7), "shop:order", dict(id=3))])
    r = duet.json("report", "why", "--between", "shop:order", "shop:paid", k, u)
    check([(s["duration_ns"], s["time_ns"] - EPOCH, s["running_ns"], s["for_cpu_ns"], s["blocked_ns"])
           for s in r["slowest"]], [(1100, 2000, 300, 100, 700), (100, 1500, 100, 0, 0)])
    check((r["times"][0]["n"], r["ns"], r["n_open"]), (2, 1200, 1))
    check(row(r["states"], state="blocked")["slowest_ns"], 700)
    check([(w["duration_ns"], w["waker"]) for w in r["waits"]], [(800, "b:8")])


def without_a_thread_all_are_compared(duet, where):
    r = report(duet, where, CHAIN)
    check(sorted(t["tid"] for t in r["threads"]), [7, 8, 9])
    check(row(r["threads"], tid=7)["blocked_ns"], 1100)


def missing_events_are_reported_with_a_remedy(duet, where):
    path = kernel(where + "/r", [switch(1000, 0, A, B), switch(1100, 0, B, A)])
    text = duet.text("report", "why", "-t", "7", path)
    for word in ("no wakeups", "-k syscalls", "-k irq"):
        check(word in text, True, word)
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    check("duet record -k sched" in duet.run("report", "why", "-t", "7", where + "/u", status=2).stderr, True)
    check("no" in duet.run("report", "why", "-t", "99", path, status=2).stderr, True)


def page_faults_are_the_kernels_up_to_their_last_step(duet, where):
    fault = "x86_exceptions_page_fault_user"
    events = [
        switch(1000, 0, IDLE, A), enter(1100, 0, A, "getpid"), leave(1150, 0, A, "getpid"),
        (1300, 0, 7, fault, dict(address=1)), (1400, 0, 7, "rss_stat", dict(size=1)),
        (1450, 0, 7, "rss_stat", dict(size=1)),               # 1300 to 1450
        enter(1600, 0, A, "getpid"), leave(1650, 0, A, "getpid"),
        (1800, 0, 7, "rss_stat", dict(size=1)),               # in no fault
        (1900, 0, 7, fault, dict(address=1)), (1950, 0, 7, "kmem_mm_page_alloc", dict(order=0)),  # of an interrupt?
        (2000, 0, 7, fault, dict(address=1)),
        switch(2100, 0, A, IDLE, SLEEPS), wakeup(2500, 0, IDLE, A), switch(2600, 0, IDLE, A),
        (2700, 0, 7, "rss_stat", dict(size=1)),               # the same fault
        switch(3000, 0, A, IDLE)]
    r = report(duet, where, events, "-t", "7")
    check(states(r), {"user": 100 + 150 + 150 + 250 + 100 + 300, "kernel": 50 + 150 + 50 + 100 + 100,
                      "blocked": 400, "runnable": 100})
    check(sum(states(r).values()), r["ns"])
    check(sum(p["ns"] for p in r["parts"]), r["ns"])
    check({p["state"]: p["ns"] for p in r["parts"] if p["where"] == "page fault"},
          {"kernel": 150 + 100 + 100, "blocked": 400})
    text = duet.text("report", "why", "-t", "7", kernel(where + "/none", [e for e in events if e[3] != fault]))
    check("no page faults were recorded" in text, True, text)


def objects_are_those_of_the_process_and_of_their_time(duet, where):
    """Descriptor 3 is another file in another process, and after it is opened again."""
    def opened(time, who, path):
        return [enter(time, 0, who, "openat", dfd=-100, filename=path, flags=0, mode=0),
                leave(time + 10, 0, who, "openat", 3)]

    def waits(time, who):
        return [enter(time, 0, who, "read", fd=3, buf=0, count=1), switch(time + 10, 0, who, IDLE, SLEEPS),
                wakeup(time + 20, 0, IDLE, who), switch(time + 30, 0, IDLE, who), leave(time + 40, 0, who, "read", 1)]

    r = report(duet, where, [switch(100, 0, IDLE, A)] + opened(200, A, "/tmp/one") + waits(300, A) +
               [enter(400, 0, A, "close", fd=3), leave(410, 0, A, "close")] + opened(500, A, "/tmp/two") +
               waits(600, A) + [switch(700, 0, A, B)] + opened(800, B, "/tmp/three") + waits(900, B) +
               [switch(1000, 0, B, A)] + waits(1100, A), "-t", "7")
    check(sorted((p["where"], p["n"]) for p in r["parts"] if p["state"] == "blocked"),
          [("read(fd 3 = /tmp/one)", 1), ("read(fd 3 = /tmp/two)", 2)])


def a_pipe_is_that_of_the_process_at_its_other_end(duet, where):
    def has(who, fd, name):
        return (10, 0, 1, "lttng_statedump_file_descriptor", dict(pid=who[1], fd=fd, flags=0, fmode=0, filename=name))

    r = report(duet, where, [
        (10, 0, 1, "lttng_statedump_process_state", dict(tid=w[1], pid=w[1], ppid=1, name=w[0])) for w in (A, B, C)] + [
        has(A, 3, "pipe:[77]"), has(B, 4, "pipe:[77]"), has(C, 3, "pipe:[78]"), has(A, 5, "pipe:[79]"),
        switch(1000, 0, IDLE, A), enter(1100, 0, A, "read", fd=3, buf=0, count=1), switch(1200, 0, A, IDLE, SLEEPS),
        wakeup(1300, 0, IDLE, A), switch(1400, 0, IDLE, A), leave(1500, 0, A, "read", 1),
        enter(1600, 0, A, "read", fd=5, buf=0, count=1), switch(1700, 0, A, IDLE, SLEEPS),
        wakeup(1800, 0, IDLE, A), switch(1900, 0, IDLE, A)], "-t", "7")
    check(sorted(p["where"] for p in r["parts"] if p["state"] == "blocked"),
          ["read(fd 3 = pipe of 8)", "read(fd 5 = pipe:[79])"])


# A is preempted by B and then by C, on CPU 0; it is woken while C runs on CPU 1, and migrates to CPU 0.
QUEUE = [
    switch(1000, 0, IDLE, A), switch(1000, 1, IDLE, C),
    switch(1100, 0, A, B),  # preempted: 300 for B, 200 for C2
    switch(1400, 0, B, ("c2", 10)),
    switch(1600, 0, ("c2", 10), A, SLEEPS),
    switch(1700, 0, A, IDLE, SLEEPS),
    (2000, 1, 9, "sched_waking", dict(comm="a", tid=7, prio=20, target_cpu=1)),  # 100 for C
    (2100, 1, 9, "sched_migrate_task", dict(comm="a", tid=7, prio=20, orig_cpu=1, dest_cpu=0)),  # 50 for nobody
    switch(2150, 0, IDLE, A),
    switch(2300, 0, A, IDLE, 0x80),
]


def held(r):
    return {(h["state"], h["thread"], h["others"]): (h["ns"], h["n"]) for h in r["holders"]}


def threads_that_ran_on_its_cpu_have_the_time_that_it_waited_for_one(duet, where):
    r = report(duet, where, QUEUE, "-t", "7")
    check(held(r), {("preempted", "b:8", ""): (300, 1), ("preempted", "c2:10", ""): (200, 1),
                    ("runnable", "c:9", ""): (100, 1), ("runnable", "(idle)", ""): (50, 1)})
    s = states(r)
    check(sum(h["ns"] for h in r["holders"]), s["preempted"] + s["runnable"])
    preempted = row(r["waits"], waker="(preempted)")
    check((preempted["duration_ns"], preempted["holder"]), (500, "b:8"))
    text = duet.text("report", "why", "-t", "7", where + "/r")
    check("while it waited for a CPU, most of all, b:8 ran there: 300 ns" in text, True, text)


def all_threads_together_have_the_same_holders(duet, where):
    r = report(duet, where, QUEUE)
    check(row(r["holders"], thread="b:8")["ns"], 300)
    check(row(r["holders"], thread="c:9")["ns"], 100)
    # b was preempted by c2 until c2 slept, and never ran again; c2 had no thread behind it but a.
    check(sum(h["ns"] for h in r["holders"]), sum(states(r).get(s, 0) for s in ("preempted", "runnable")))


def a_step_of_a_wait_says_which_thread_preempted(duet, where):
    # B sleeps until A, which C preempts, wakes it.
    r = report(duet, where, [
        switch(1000, 0, IDLE, A), switch(1000, 1, IDLE, B), switch(1100, 1, B, IDLE, SLEEPS),
        switch(1200, 0, A, C), switch(1500, 0, C, A, SLEEPS), wakeup(1600, 0, A, B), switch(1700, 1, IDLE, B),
        switch(1800, 1, B, IDLE, 0x80)], "-t", "8")
    check([(p["thread"], p["what"], p["ns"]) for p in r["path"]],
          [("a:7", "running", 100), ("a:7", "preempted by c:9", 300), ("a:7", "running", 100)])


def a_cpu_that_was_passed_on_unseen_names_the_first_and_others(duet, where):
    """In a recording of A alone the switch from B to C is missing."""
    trace = kernel(where + "/r", [
        (900, 0, 7, "sched_process_exec", dict(tid=7)),
        switch(1000, 0, IDLE, A), switch(1100, 0, A, B), switch(1600, 0, C, A, SLEEPS),
        switch(1700, 0, A, B), switch(1900, 0, B, A, SLEEPS), switch(2300, 0, A, IDLE, 0x80)], duet_scope="followed")
    r = duet.json("report", "why", "-t", "7", trace)
    check(held(r), {("preempted", "b:8", "others, unrecorded"): (500, 1), ("preempted", "b:8", ""): (200, 1)})


def a_loss_leaves_no_holder(duet, where):
    r = report(duet, where, QUEUE[:4] + [LOST(1450, 0, 3)] + QUEUE[4:], "-t", "7")
    check([h for h in r["holders"] if h["state"] == "preempted"], [])
    check(states(r)["unknown"] >= 350, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
