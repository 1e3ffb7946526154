# SPDX-License-Identifier: MIT
"""Recordings made by hand for the browser tests: always the same bytes, without a kernel that can be traced.

    web(directory)         a server with four workers on two CPUs, which hold one lock over fsync
    web(directory, lossy)  the same; CPU 1 lost events twice
    damaged(directory)     the first, with one stream cut and another overwritten in its middle

The server is simulated: threads are generators that compute, call, wait, and wake each other, on two CPUs with turns
of 1 ms.  So states, calls and wakeups are as a scheduler makes them, and the expected figures are `duet report`'s.
"""
import heapq
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../cmd/analysis")
from make import LOST, kernel, switch, ust, wakeup

US, MS = 1000, 1000000
TURN = 1 * MS
PID = 4068
BLOCKS, ENDS = 1, 0x10
IDLE = ("swapper/0", 0)
LOCK = 0x55550040
DUMP = 9  # the stream of the state dump; duet writes it into a file of its own


class Thread:
    def __init__(self, name, tid, work):
        self.who, self.work = (name, tid), work


class Machine:
    """Two CPUs, a queue of threads, a heap of future actions, and the events recorded so far."""

    def __init__(self):
        self.kernel, self.ust, self.next, self.n = [], [], [], 0
        self.running, self.turn_ends, self.queue = [None, None], [0, 0], []
        self.interrupted_until = [0, 0]
        self.holder, self.waiters, self.now = None, [], 0

    def at(self, time, action, *arguments):
        self.n += 1
        heapq.heappush(self.next, (time, self.n, action, arguments))

    def run(self):
        while self.next:
            self.now, _, action, arguments = heapq.heappop(self.next)
            action(*arguments)

    # ------------------------------------------------ the scheduler

    def give(self, cpu, before, state):
        after = self.queue.pop(0) if self.queue else None
        self.running[cpu] = after
        self.kernel.append(switch(self.now, cpu, before.who if before else IDLE, after.who if after else IDLE, state))
        if after:
            after.cpu = cpu
            self.turn_ends[cpu] = self.now + TURN
            self.at(self.now + 700, self.go_on, after)

    def take_if_idle(self, cpu):
        if self.now < self.interrupted_until[cpu]:
            return self.at(self.interrupted_until[cpu], self.take_if_idle, cpu)
        if not self.running[cpu] and self.queue:
            self.give(cpu, None, 0)

    def on(self, cpu):
        return self.running[cpu].who if self.running[cpu] else IDLE

    def wake(self, thread, cpu):
        self.kernel.append(wakeup(self.now, cpu, self.on(cpu), thread.who))
        self.queue.append(thread)
        for idle in (0, 1):
            if not self.running[idle]:
                self.at(self.now + 2 * US, self.take_if_idle, idle)

    def start(self, thread):
        thread.left = 0
        self.queue.append(thread)
        for cpu in (0, 1):
            self.at(self.now, self.take_if_idle, cpu)

    # ------------------------------------------------ actions of threads

    def go_on(self, thread):
        cpu = thread.cpu
        if self.now < self.interrupted_until[cpu]:
            return self.at(self.interrupted_until[cpu], self.go_on, thread)
        if thread.left:
            if self.queue and self.now >= self.turn_ends[cpu]:
                self.queue.append(thread)
                return self.give(cpu, thread, 0)
            chunk = min(thread.left, 250 * US)
            thread.left -= chunk
            return self.at(self.now + chunk, self.go_on, thread)
        step = next(thread.work, None)
        if step is None:
            self.kernel.append((self.now, cpu, thread.who[1], "sched_process_exit",
                                dict(comm=thread.who[0], tid=thread.who[1], prio=20)))
            return self.give(cpu, thread, ENDS)
        getattr(self, "do_" + step[0])(thread, cpu, *step[1:])

    def then(self, thread, ns=300):
        self.at(self.now + ns, self.go_on, thread)

    def do_compute(self, thread, cpu, ns):
        thread.left = ns
        self.then(thread, 0)

    def do_enter(self, thread, cpu, call, fields):
        self.kernel.append((self.now, cpu, thread.who[1], "syscall_entry_" + call, fields))
        self.then(thread)

    def do_leave(self, thread, cpu, call, ret):
        self.kernel.append((self.now, cpu, thread.who[1], "syscall_exit_" + call, dict(ret=ret)))
        self.then(thread)

    def do_event(self, thread, cpu, name, fields):
        self.ust.append((self.now, cpu, (PID, thread.who[1]), name, fields))
        self.then(thread)

    def do_sleep(self, thread, cpu, ns):
        self.give(cpu, thread, BLOCKS)
        self.at(self.now + ns, self.wake, thread, cpu)

    def do_disk(self, thread, cpu, sector, ns):
        request = dict(dev=254 << 20, sector=sector, nr_sector=8)
        self.kernel.append((self.now, cpu, thread.who[1], "block_rq_issue", dict(request, bytes=4096, rwbs="WS")))
        self.give(cpu, thread, BLOCKS)
        self.at(self.now + ns, self.interrupt, cpu, thread, request)

    def interrupt(self, cpu, thread, request):
        """6 us on a CPU where nothing else goes on meanwhile."""
        if self.now < self.interrupted_until[cpu]:
            return self.at(self.interrupted_until[cpu], self.interrupt, cpu, thread, request)
        self.interrupted_until[cpu] = self.now + 6 * US

        def record(name, fields):
            self.kernel.append((self.now, cpu, self.on(cpu)[1], name, fields))
        record("irq_handler_entry", dict(irq=24, name="virtio0-req.0"))
        self.at(self.now + 1 * US, record, "block_rq_complete", dict(request, error=0, rwbs="WS"))
        self.at(self.now + 2 * US, self.wake, thread, cpu)
        self.at(self.now + 5 * US, record, "irq_handler_exit", dict(irq=24, ret=1))

    def set_frequency(self, cpu, khz):
        self.kernel.append((self.now, cpu, self.on(cpu)[1], "power_cpu_frequency", dict(state=khz, cpu_id=cpu)))

    def do_lock(self, thread, cpu):
        if self.holder is None:
            self.holder = thread
            return self.then(thread)
        self.waiters.append(thread)
        self.give(cpu, thread, BLOCKS)

    def do_unlock(self, thread, cpu):
        self.holder = self.waiters.pop(0) if self.waiters else None
        if self.holder:
            self.wake(self.holder, cpu)
        self.then(thread)

    def is_locked(self):
        return self.holder is not None


def call(name, fields, *inside, ret=0):
    yield "enter", name, fields
    yield from inside
    yield "leave", name, ret


def worker(machine, number, dice):
    for i in range(14):
        request = 100 * number + i
        path = dice.choice(("/cart", "/checkout", "/search?q=tea"))
        yield from call("clock_nanosleep", dict(which_clock=1, flags=0), ("sleep", dice.randrange(300, 2600) * US))
        yield "event", "web:request_begin", dict(id=request, path=path)
        yield "compute", dice.randrange(120, 900) * US
        if path == "/checkout":
            yield "event", "web:lock_begin", dict(name="audit")
            if machine.is_locked():
                yield from call("futex", dict(uaddr=LOCK, op=128, val=2), ("lock",))
            else:
                yield ("lock",)
            yield "event", "web:lock_end", dict(name="audit")
            yield from call("write", dict(fd=5, buf=LOCK + 64, count=120), ("compute", 20 * US), ret=120)
            yield from call("fsync", dict(fd=5), ("compute", 30 * US),
                            ("disk", 8 * request, dice.randrange(200, 1700) * US), ("compute", 10 * US))
            yield from call("futex", dict(uaddr=LOCK, op=129, val=1), ("unlock",), ret=1)
        if dice.random() < 0.3:
            yield "event", "web:cache_miss", dict(id=request, key=path)
        yield "compute", dice.randrange(60, 400) * US
        yield "event", "web:request_end", dict(id=request)


def background(dice):
    for _ in range(30):
        yield from call("epoll_wait", dict(epfd=4, maxevents=16, timeout=5), ("sleep", dice.randrange(800, 3000) * US))
        yield "compute", dice.randrange(20, 300) * US


def simulated():
    machine, dice = Machine(), random.Random(412)
    threads = [Thread("worker-%d" % i, PID + i, worker(machine, i, random.Random(i))) for i in range(1, 5)]
    other = Thread("logd", 311, background(dice))
    first = Thread("web", PID, iter([("compute", 300 * US)]))
    dump = [(1000 + 10 * i, DUMP, 1, "lttng_statedump_process_state", dict(tid=t.who[1], pid=pid, ppid=1, name=t.who[0]))
            for i, (t, pid) in enumerate([(t, PID) for t in [first] + threads] + [(other, 311)])]
    dump += [(1100, DUMP, 1, "lttng_statedump_file_descriptor",
              dict(pid=PID, fd=5, flags=1, fmode=2, filename="/var/log/web/audit.log")),
             (1110, DUMP, 1, "lttng_statedump_block_device", dict(dev=254 << 20, diskname="vda"))]
    dump += [(1200 + cpu, cpu, 0, "power_cpu_frequency", dict(state=2400000, cpu_id=cpu)) for cpu in (0, 1)]
    machine.now = 100 * US
    for thread in [first, other] + threads:
        machine.start(thread)
    for i in range(1, 12):
        machine.at(i * 5 * MS, machine.set_frequency, 0, (2400000, 3100000, 800000)[i % 3])
    machine.run()
    return dump + machine.kernel, machine.ust


def in_order(events):
    return sorted(events, key=lambda e: e[0])


def web(directory, lossy=False):
    events, of_programs = simulated()
    if lossy:
        middle = events[-1][0] // 2
        hole = lambda e: e[1] == 1 and (middle < e[0] < middle + 2 * MS)
        events = [e for e in events if not hole(e)] + [LOST(middle + 2 * MS, 1, 57)]
    kernel(directory + "/kernel", in_order(events))
    os.rename(directory + "/kernel/cpu_%d" % DUMP, directory + "/kernel/statedump")
    ust(directory + "/ust", in_order(of_programs))
    return directory


def damaged(directory):
    """The packet of the kernel's CPU 1 claims more bytes than there are, and the program's stream of CPU 0 is cut."""
    web(directory)
    with open(directory + "/kernel/cpu_1", "r+b") as f:
        f.truncate(os.path.getsize(f.name) * 2 // 3)
    with open(directory + "/ust/cpu_0", "r+b") as f:
        f.seek(os.path.getsize(f.name) // 2)
        f.write(b"\xff" * 400)
    return directory
