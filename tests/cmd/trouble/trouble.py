#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What may happen to a recording from outside: disks that fill, limits, terminals that go, files and
visitors that do not belong where they are.

usage: trouble.py DUET PROGRAM MANY LIBDUET
"""
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

duet, program, many, library = sys.argv[1:5]
work = tempfile.mkdtemp(prefix="duet-trouble-")
run = work + "/run"
os.environ["DUET_RUNTIME_DIR"] = run
os.environ["DUET_LIBRARY"] = library
os.mkdir(run, 0o700)
started = []
failures = 0
NO_LIMIT = resource.RLIM_INFINITY


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("not ok: %s: got %.200r, wanted %.200r" % (what, got, want))


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %s" % (what, more))


def start(*args, **more):
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    started.append(p)
    return p


def start_program(*args, **more):
    p = start(program, *args, **more)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    return p


def start_collector(trace, *args):
    p = start(duet, "collect", "-o", work + "/" + trace, "-e", "trouble", *args)
    for _ in range(500):
        if os.path.exists(run + "/session-default"):
            return p
        time.sleep(0.01)
    ok(False, "the collector starts")
    return p


def worker_of(c):
    """The process that collects, not its keeper."""
    found = []
    while not found and c.poll() is None:
        with open("/proc/%d/task/%d/children" % (c.pid, c.pid)) as f:
            found = [int(n) for n in f.read().split()]
    return found[0]


def end(p, sig=signal.SIGTERM):
    p.send_signal(sig)
    try:
        return p.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        return "does not end\n" + p.communicate()[1]


def view(trace):
    p = subprocess.run([duet, "view", "--json", work + "/" + trace], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    is_(p.returncode, 0, "view " + p.stderr)
    return [json.loads(line) for line in p.stdout.splitlines()]


def page_of(pid):
    return "app-%d-%d" % (pid, os.lstat("/proc/self").st_dev)


def numbers(trace, event):
    return [e["fields"]["n"] for e in view(trace) if e["event"] == event]


def limit_files(p, size):
    resource.prlimit(worker_of(p), resource.RLIMIT_FSIZE, (size, NO_LIMIT))


def strange_files_in_the_runtime_directory_stop_nobody():
    for name in ("session-default", "session-pipe", "seats", page_of(4194305)):
        os.mkfifo(run + "/" + name)
    for name in ("session-empty", page_of(4194306), "sock-file"):
        open(run + "/" + name, "w").close()
    for name in ("session-noise", page_of(4194307)):
        with open(run + "/" + name, "wb") as f:
            f.write(os.urandom(5000))
    os.symlink("/etc/passwd", run + "/session-link")
    os.mkdir(run + "/session-directory")
    for number in (4194305, 4194306, 4194307):  # older than a page that is being made
        os.utime(run + "/" + page_of(number), (1, 1))
    p = start_program(env=dict(os.environ, DUET_TRACE="1"))
    end(p)
    done = subprocess.run([duet, "list"], stdout=subprocess.PIPE, timeout=20)
    is_(done.returncode, 0, "list")
    left = sorted(set(os.listdir(run)) - {page_of(p.pid), "seats"})
    is_(left, ["session-directory"], "they are swept up")
    os.rmdir(run + "/session-directory")
    c = start_collector("strange")
    end(c)
    is_(c.returncode, 0, "a session has a seat, whatever lay there")


def a_limit_on_file_sizes_does_not_kill_the_traced():
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, NO_LIMIT))
    p = start_program(preexec_fn=limit)
    end(p)
    is_(p.returncode, -signal.SIGTERM, "it ends as it was told")


def a_full_disk_costs_what_did_not_fit_and_no_more():
    c = start_collector("full")
    p = start_program("first")
    time.sleep(0.3)
    limit_files(c, 20000)
    time.sleep(3)
    end(p)
    said = end(c)
    is_(c.returncode, 2, "the status tells")
    ok("NOT WRITTEN" in said and "File too large" in said, "and the summary", said)
    got = numbers("full", "trouble:first")
    ok(got[:100] == list(range(100)) and got == sorted(set(got)), "what fitted is in order")
    ok(len(got) < 2500, "not all did", str(len(got)))


def a_disk_that_has_room_again_gets_all_of_it():
    c = start_collector("again")
    p = start_program("first")
    time.sleep(0.3)
    limit_files(c, 1000)  # neither packets nor a new class fit
    q = start_program("second")
    time.sleep(2.2)
    limit_files(c, NO_LIMIT)
    time.sleep(0.3)
    end(p)
    end(q)
    said = end(c)
    ok("none lost" in said and "NOT WRITTEN" not in said, "nothing is lost", said)
    for event in ("trouble:first", "trouble:second"):
        got = numbers("again", event)
        is_(got, list(range(len(got))), event)
        ok(len(got) > 500, "all of " + event, str(len(got)))


def a_terminal_that_goes_ends_the_recording_well():
    c = start_collector("hangup")
    p = start_program()
    time.sleep(0.2)
    said = end(c, signal.SIGHUP)
    is_((c.returncode, sorted(os.listdir(run))), (0, [page_of(p.pid), "seats"]), "the end, and what it leaves: " + said)
    end(p)
    ok(len(numbers("hangup", "trouble:first")) > 50, "all is there")


def the_command_has_the_limits_duet_had():
    for soft in (64, 1024):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, 4096))
        p = subprocess.run([duet, "record", "--no-kernel", "-q", "-o", work + "/limits%d" % soft, "--",
                            "sh", "-c", "ulimit -S -n; grep SigIgn /proc/self/status"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
        ignored = [l for l in open("/proc/self/status") if l.startswith("SigIgn")]
        xfsz = 1 << (signal.SIGXFSZ - 1)
        said = p.stdout.split()
        is_((p.returncode, said[0]), (0, str(soft)), "files: " + p.stderr)
        is_(int(said[-1], 16) & xfsz, 0, "SIGXFSZ kills it as ever")


def signals_do_not_keep_a_program_from_its_collector():
    c = start_collector("signals")
    worker = worker_of(c)
    os.kill(worker, signal.SIGSTOP)
    p = start_program("first", "timer")
    time.sleep(0.2)
    os.kill(worker, signal.SIGCONT)
    time.sleep(0.5)
    end(p)
    said = end(c)
    got = numbers("signals", "trouble:first")
    is_(got, list(range(len(got))), "from the first event on: " + said)
    ok(len(got) > 100 and "none lost" in said, "all are there", said)


def visitors_who_say_nothing_keep_nobody_out():
    c = start_collector("crowd")
    collecting = worker_of(c)
    fds0 = [os.readlink("/proc/%d/fd/%s" % (collecting, fd))
            for fd in os.listdir("/proc/%d/fd" % collecting)].count(os.readlink("/proc/self/fd/0"))
    crowd = []
    for _ in range(300):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(run + "/sock-default")
        crowd.append(s)
    for n, s in enumerate(crowd[::7]):
        try:
            socket.send_fds(s, [os.urandom(80)], [0] * (n % 4))
        except OSError:
            pass
    p = start_program()
    time.sleep(1.5)
    collecting = worker_of(c)
    fds = [os.readlink("/proc/%d/fd/%s" % (collecting, fd)) for fd in os.listdir("/proc/%d/fd" % collecting)]
    is_(sum(f.startswith("socket") for f in fds), 1, "they are not kept for ever")
    is_(fds.count(os.readlink("/proc/self/fd/0")), fds0, "nor what they bring")
    end(p)
    end(c)
    for s in crowd:
        s.close()
    got = numbers("crowd", "trouble:first")
    ok(got == list(range(len(got))) and len(got) > 100, "a program is recorded", str(got[:3]))


def events_that_find_no_room_are_told():
    p = start(many)
    is_(p.stdout.readline(), "ready\n", "the program runs")
    out = subprocess.run([duet, "list", "-p", str(p.pid)], stdout=subprocess.PIPE, text=True).stdout
    end(p)
    is_(out.count("many:e"), 4096, "those that do are there")
    ok("and 904 sites that cannot be recorded" in out, "the others are counted", out[-100:])


def main():
    for test in (strange_files_in_the_runtime_directory_stop_nobody,
                 a_limit_on_file_sizes_does_not_kill_the_traced,
                 a_full_disk_costs_what_did_not_fit_and_no_more,
                 a_disk_that_has_room_again_gets_all_of_it,
                 a_terminal_that_goes_ends_the_recording_well,
                 the_command_has_the_limits_duet_had,
                 signals_do_not_keep_a_program_from_its_collector,
                 visitors_who_say_nothing_keep_nobody_out,
                 events_that_find_no_room_are_told):
        before = failures
        test()
        print("%s %s" % ("ok" if failures == before else "not ok", test.__name__.replace("_", " ")))
    return failures > 0


try:
    status = main()
finally:
    for p in started:
        if p.poll() is None:
            p.send_signal(signal.SIGCONT)
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(status)
