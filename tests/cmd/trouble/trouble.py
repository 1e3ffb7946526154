#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings under outside influences: full disks, limits, closed terminals, and foreign files and visitors in duet's
directories.

usage: trouble.py DUET PROGRAM MANY LIBDUET
"""
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import fds, kill, read  # noqa: E402
import recorder  # noqa: E402
from recorder import stop  # noqa: E402
from trial import cmd, duet, go_on, is_, ok, paths, run_cases, runtime, start, until, work, worker_of  # noqa: E402

program, many, library = paths(3)
os.mkdir(runtime, 0o700)
NO_LIMIT = resource.RLIM_INFINITY
ATTACH_S = 0.95  # a program waits 1 s, on a clock of ticks: FIRST_US of src/inproc/attach.c


def start_program(*args, **more):
    p = start(program, *args, **more)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    return p


def start_collector(trace):
    return recorder.collect(work + "/" + trace, "-e", "trouble")


def page_of(pid):
    return "app-%d-%d" % (pid, os.lstat("/proc/self").st_dev)


def numbers(trace, event):
    return [e["fields"]["n"] for e in recorder.view(work + "/" + trace, may_be_empty=False) if e.get("event") == event]


def limit_files(p, size):
    resource.prlimit(worker_of(p), resource.RLIMIT_FSIZE, (size, NO_LIMIT))


def strange_files_in_the_runtime_directory_do_no_harm():
    for name in ("session-default", "session-pipe", "seats", page_of(4194305)):
        os.mkfifo(runtime + "/" + name)
    for name in ("session-empty", page_of(4194306), "sock-file"):
        open(runtime + "/" + name, "w").close()
    for name in ("session-noise", page_of(4194307)):
        with open(runtime + "/" + name, "wb") as f:
            f.write(os.urandom(5000))
    os.symlink("/etc/passwd", runtime + "/session-link")
    os.mkdir(runtime + "/session-directory")
    for number in (4194305, 4194306, 4194307):  # older than a page that is being created
        os.utime(runtime + "/" + page_of(number), (1, 1))
    p = start_program(env=dict(os.environ, DUET_TRACE="1"))
    p.end(signal.SIGTERM)
    is_(cmd("list")[0], 0, "list")
    left = sorted(set(os.listdir(runtime)) - {page_of(p.pid), "seats"})
    is_(left, ["session-directory"], "they are swept up")
    os.rmdir(runtime + "/session-directory")
    c = start_collector("strange")
    stop(c, status=None)
    is_(c.returncode, 0, "a session has a slot, whatever was in its place")


def a_limit_on_file_sizes_does_not_kill_the_traced():
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, NO_LIMIT))
    p = start_program(preexec_fn=limit)
    p.end(signal.SIGTERM)
    is_(p.returncode, -signal.SIGTERM, "the signal ends it")


def a_full_disk_loses_only_events_that_did_not_fit():
    c = start_collector("full")
    # In one file: several have room for all.
    p = start_program("first", preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    go_on(p, times=300)
    limit_files(c, 20000)
    go_on(p, times=3000)
    p.end(signal.SIGTERM)
    output = stop(c, status=None)
    is_(c.returncode, 1, "the status reports it")
    ok("NOT WRITTEN" in output and "File too large" in output, "and the summary", output)
    got = numbers("full", "trouble:first")
    ok(got[:100] == list(range(100)) and got == sorted(set(got)), "the recorded events are in order")
    ok(len(got) < 2500, "not all did", str(len(got)))
    ok(re.search(r" [1-9]\d* LOST \(they could not be written\)", output), "what is missing is counted", output)


def a_disk_that_has_room_again_gets_all_of_it():
    c = start_collector("again")
    p = start_program("first")
    go_on(p, times=300)
    limit_files(c, 1000)  # room for neither packets nor a new class
    q = start_program("second")
    go_on(p, q, times=2000)
    limit_files(c, NO_LIMIT)
    go_on(p, q, times=100)
    p.end(signal.SIGTERM)
    q.end(signal.SIGTERM)
    output = stop(c, status=None)
    ok("none lost" in output and "NOT WRITTEN" not in output, "nothing is lost", output)
    for event in ("trouble:first", "trouble:second"):
        got = numbers("again", event)
        is_(got, list(range(len(got))), event)
        ok(len(got) > 500, "all of " + event, str(len(got)))


def a_terminal_that_goes_ends_the_recording_well():
    c = start_collector("hangup")
    p = start_program()
    go_on(p, times=100)
    output = stop(c, signal.SIGHUP, status=None)
    is_((c.returncode, sorted(os.listdir(runtime))), (0, [page_of(p.pid), "seats"]), "the end, and the files it leaves: " + output)
    p.end(signal.SIGTERM)
    ok(len(numbers("hangup", "trouble:first")) > 50, "all is there")


def ctrl_c_is_no_death_of_a_collector():
    """It comes to keeper and worker, and from the keeper to the worker once more."""
    for i in range(3):
        c = subprocess.Popen([duet, "collect", "-o", work + "/group%d" % i, "--no-kernel"], stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
        ok("Ctrl-C ends" in c.stderr.readline(), "its first line")
        os.killpg(c.pid, signal.SIGINT)
        printed = c.communicate(timeout=100)[1]
        is_((c.returncode, "killed" in printed), (0, False), printed)


def messages_without_a_reader_end_no_worker():
    """As in `duet collect 2>&1 | head -1`: SIGPIPE would kill each worker that prints the summary, and the next one."""
    read_end, write_end = os.pipe()
    c = subprocess.Popen([duet, "collect", "-o", work + "/unread", "--no-kernel"], stdout=write_end, stderr=write_end)
    os.close(write_end)
    ok(os.read(read_end, 4096), "its first line")
    os.close(read_end)
    p = start_program()
    go_on(p, times=100)
    c.send_signal(signal.SIGINT)
    is_(c.wait(100), 0, "it ends")
    p.end(signal.SIGTERM)
    ok(len(numbers("unread", "trouble:first")) > 50, "all is there")


def the_command_has_the_limits_duet_had():
    for soft in (64, 1024):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, 4096))
        p = subprocess.run([duet, "record", "--no-kernel", "-q", "-o", work + "/limits%d" % soft, "--",
                            "sh", "-c", "ulimit -S -n; grep SigIgn /proc/self/status"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        xfsz = 1 << (signal.SIGXFSZ - 1)
        output = p.stdout.split()
        is_((p.returncode, output[0]), (0, str(soft)), "files: " + p.stderr)
        is_(int(output[-1], 16) & xfsz, 0, "SIGXFSZ kills it as ever")
        is_(int(output[-1], 16) & 1 << (signal.SIGPIPE - 1), 0, "and so does SIGPIPE")


def is_recorded(trace, output):
    """Checks that each number is recorded once, in order, from the first on; except those reported as not attached in
    time.  Returns whether there are such."""
    got = numbers(trace, "trouble:first")
    ok(len(got) > 100 and got == list(range(got[0], got[0] + len(got))), "a program is recorded", str(got[:3]))
    ok(got and (got[0] == 0 or "LOST" in output), "from the first event on, or reported as lost", output)
    return bool(got and got[0])


def has_attached(p):
    return "/memfd:duet-pool" in read(p.pid, "maps")


def signals_do_not_keep_a_program_from_its_collector():
    """A program waits a second for its collector, and no signal shortens that.  An attempt during which the machine
    itself took so long proves nothing."""
    for attempt in range(30):
        c = start_collector("signals-%d" % attempt)
        worker = worker_of(c)
        kill(worker, signal.SIGSTOP)
        begin = time.monotonic()
        p = start_program("first", "timer")
        go_on(p, times=5)
        kill(worker, signal.SIGCONT)
        until(lambda: has_attached(p), "it attaches")
        took = time.monotonic() - begin
        go_on(p, times=150)
        p.end(signal.SIGTERM)
        lacks_some = is_recorded("signals-%d" % attempt, stop(c, status=None))
        if took < ATTACH_S:
            return ok(not lacks_some, "from the first event on: it took %.3f s" % took)
    ok(False, "a program attaches in time: signals end its wait, or the machine is too slow for this test")


def silent_visitors_do_not_block_programs():
    c = start_collector("crowd")
    mine = os.readlink("/proc/self/fd/0")
    is_(cmd("status")[0], 0, "it has begun, and answers")
    before = fds(worker_of(c)).count(mine)
    crowd = []
    for _ in range(300):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(runtime + "/sock-default")
        crowd.append(s)
    for n, s in enumerate(crowd[::7]):
        try:
            socket.send_fds(s, [os.urandom(80)], [0] * (n % 4))
        except OSError:
            pass
    p = start_program()

    def has_none():
        now = fds(worker_of(c))
        return sum(f.startswith("socket") for f in now) == 1 and now.count(mine) == before
    until(has_none, "neither connections nor their descriptors are kept for ever")
    go_on(p, times=150)
    p.end(signal.SIGTERM)
    is_recorded("crowd", stop(c, status=None))
    for s in crowd:
        s.close()


def events_without_room_are_reported():
    p = start(many)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    out = cmd("list", "-p", str(p.pid))[1]
    p.end(signal.SIGTERM)
    is_(out.count("many:e"), 4096, "those that do are there")
    ok("and 904 sites that cannot be recorded" in out, "the others are counted", out[-100:])


run_cases(strange_files_in_the_runtime_directory_do_no_harm, a_limit_on_file_sizes_does_not_kill_the_traced,
          a_full_disk_loses_only_events_that_did_not_fit, a_disk_that_has_room_again_gets_all_of_it,
          a_terminal_that_goes_ends_the_recording_well, ctrl_c_is_no_death_of_a_collector, messages_without_a_reader_end_no_worker, the_command_has_the_limits_duet_had,
          signals_do_not_keep_a_program_from_its_collector, silent_visitors_do_not_block_programs,
          events_without_room_are_reported)
