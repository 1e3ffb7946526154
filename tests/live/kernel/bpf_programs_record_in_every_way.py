#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events that BPF programs record, in every kind of recording: in pieces, in the background with collectors that are
killed, followed while it is written, sent to a relay, waited for by triggers, and kept in a flight recorder.

arguments: DUET PROGRAM LIBDUET

A program makes system calls with consecutive numbers: each must be there once, or be counted as lost.
"""
import glob
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import kill  # noqa: E402
from relaying import KEY, Relay, make_key  # noqa: E402
from trial import begins, cmd, duet, is_, ok, paths, run_cases, skip, start, until, work  # noqa: E402
from trial import worker_of  # noqa: E402

program, library = paths(2)
BPF = ["--kernel-backend=bpf", "-k", "syscall_entry_dup"]
FIRST = 1000000


class Numbers:
    """A program that counts until a signal ends it."""

    def __init__(self):
        self.p = start(program, "numbers", stdin=subprocess.PIPE)
        self.pid = int(self.p.stdout.readline())

    def end(self):
        """-> how many"""
        return int(self.p.communicate("")[0])


def numbers_in(path, counter):
    """The recorded events of a program, and how many are reported as lost."""
    status, out, err = cmd("view", "--json", "-e", "syscall_entry_dup", path)
    is_(status, 0, "it can be read: %s" % err)
    found = [json.loads(line) for line in out.splitlines()]
    lost = sum(e.get("lost_events", 0) for e in found if "event" not in e)
    return [e["fields"]["fildes"] - FIRST for e in found if e.get("tid") == counter.pid and "event" in e], lost


def count_on(counter, more=500):
    """Until so many more have been counted: it goes on by itself."""
    before = progress(counter)
    until(lambda: progress(counter) > before + more / 20, "the program goes on")


def progress(counter):
    return int(open("/proc/%d/status" % counter.pid).read().split("voluntary_ctxt_switches:")[1].split()[0])


def pieces_are_whole():
    path = work + "/pieces"
    counter = Numbers()
    c = begins(start(duet, "collect", "-q", "--rotate", "request", "-o", path, *BPF))
    first = until(lambda: recorded(path), "something is recorded")
    for _ in range(4):
        count_on(counter)
        status, _, err = cmd("rotate")
        is_(status, 0, "a piece is finished: %s" % err)
    n = counter.end()
    is_(c.end(signal.SIGTERM)[0], 0, "it ends well")
    together, lost = numbers_in(path, counter)
    is_((together, lost), (list(range(together[0], n)), 0), "all pieces together have each number once")
    parts = sorted(glob.glob(path + "/piece-*"))
    is_(len(parts), 5, "five pieces")
    is_(sum((numbers_in(p, counter)[0] for p in parts), []), together, "each has its part, in order")
    ok(all(glob.glob(p + "/kernel/bpf_*") for p in parts) and first, "by BPF programs")


def recorded(path):
    """Its files, if there are any yet: then it records, and later events are there."""
    return glob.glob(path + "/**/bpf_*", recursive=True)


def background_sessions_survive_their_collectors():
    """The rings belong to the keeper, too: the next collector finds the records that the killed one had not consumed.
    Those it had taken and perhaps not written are counted as lost."""
    path = work + "/background"
    counter = Numbers()
    status, _, err = cmd("start", "back", "-o", path, *BPF)
    is_(status, 0, "it starts: %s" % err)
    keeper = int(json.loads(cmd("status", "--json", "back")[1])["sessions"][0]["pid"])
    for _ in range(5):
        count_on(counter)
        worker = worker_of(keeper)
        kill(worker)
        until(lambda: worker_of(keeper) != worker and cmd("status", "back")[0] == 0, "another collector comes")
    count_on(counter)
    n = counter.end()
    status, out, err = cmd("stop", "back")
    is_(status, 0, "it stops: %s" % err)
    found, lost = numbers_in(path, counter)
    ok(len(found) == len(set(found)) and found == sorted(found), "none is there twice")
    missing = n - found[0] - len(found)
    ok(missing <= lost, "missing events are reported as lost", "%d missing, %d reported" % (missing, lost))
    ok(glob.glob(path + "/kernel-*/bpf_*"), "by BPF programs in each life")


def a_recording_of_bpf_programs_is_followed_live():
    counter = Numbers()
    c = begins(start(duet, "collect", "-q", "-o", work + "/live", *BPF))
    live = start(duet, "live", "--json")
    until(lambda: live.stdout.so_far().count("syscall_entry_dup") > 500, "events are shown while they happen")
    n = counter.end()
    is_(c.end(signal.SIGTERM)[0], 0, "it ends well")
    shown = [json.loads(line) for line in live.end()[1].splitlines()]
    found = [e["fields"]["fildes"] - FIRST for e in shown if e.get("tid") == counter.pid and e.get("event") == "syscall_entry_dup"]
    is_(found, list(range(found[0], n)), "each event is shown, in order")


def a_recording_of_bpf_programs_is_sent_to_a_relay():
    os.chdir(work)
    make_key("key")
    relay = Relay(work + "/there")
    counter = Numbers()
    c = begins(start(duet, "collect", "-q", "-o", work + "/spool", "--to", "127.0.0.1:%d" % relay.port, *KEY, *BPF))
    count_on(counter)
    n = counter.end()
    is_(c.end(signal.SIGTERM)[0], 0, "it ends well")
    (there,) = relay.recordings()
    found, lost = numbers_in(there, counter)
    is_((found, lost), (list(range(found[0], n)), 0), "each number has arrived, once")
    relay.stop()


def fired(session):
    return json.loads(cmd("status", "--json", session)[1])["sessions"][0]["trigger"][0]["fired"]


def triggers_see_it():
    for name, more in (("stream", []), ("flight", ["--overwrite"])):
        counter = Numbers()
        c = begins(start(duet, "collect", "-q", "-s", name, "-o", work + "/trigger-" + name, *BPF, *more, "--trigger",
                         "event kernel:syscall_entry_dup if fildes > %d -> notify, once" % (FIRST + 100)), name)
        until(lambda: fired(name) == 1, "the trigger of the %s fires" % name)
        counter.end()
        is_(c.end(signal.SIGTERM)[0], 0, "it ends well")


def a_flight_recorder_keeps_the_newest_in_bounded_memory():
    """In rings that are filled several times.  A collector that comes late loses of the newest, and says so."""
    path, ring_bytes, event_bytes = work + "/flight", 512 << 10, 72
    counter = Numbers()
    os.sched_setaffinity(counter.pid, {min(os.sched_getaffinity(0))})  # each CPU's ring has its own oldest
    r = start(duet, "record", "-q", "--overwrite", "--kernel-buffer", "512K", "-o", path, "-p", counter.pid, *BPF)
    session = "record-%d" % begins(r, "record-%d" % r.pid).pid
    count_on(counter, 30000)
    taken = []
    for i in range(3):
        count_on(counter, 3000)
        status, _, err = cmd("snapshot", "-s", session, "-o", "%s-%d" % (path, i))
        is_(status, 0, "a snapshot: %s" % err)
        taken.append(numbers_in("%s-%d" % (path, i), counter))
    n = counter.end()
    is_(r.end(signal.SIGINT)[0], 0, "it ends well")
    taken.append(numbers_in(path, counter))
    for found, lost in taken:
        ok(found == sorted(set(found)), "each once, in order")
        missing = found[-1] + 1 - found[0] - len(found)
        ok(missing <= lost, "a run, but for events reported as lost", "%d missing, %d reported" % (missing, lost))
        ok(0 < len(found) <= ring_bytes // event_bytes, "no more than fits into its CPU's ring", len(found))
    ends = [found[-1] for found, _ in taken]
    ok(ends == sorted(set(ends)) and (ends[-1] == n - 1 or taken[-1][1]), "each reaches further, the end to the last", ends)
    ok(glob.glob(path + "/kernel/bpf_*"), "by BPF programs")


if os.geteuid():
    skip("needs root: the kernel is recorded")
status, _, why = cmd("record", "-q", *BPF, "-o", work + "/probe", "--", "true")
if status:
    skip(why)
run_cases(pieces_are_whole, background_sessions_survive_their_collectors, a_recording_of_bpf_programs_is_followed_live,
          a_recording_of_bpf_programs_is_sent_to_a_relay, triggers_see_it, a_flight_recorder_keeps_the_newest_in_bounded_memory)
