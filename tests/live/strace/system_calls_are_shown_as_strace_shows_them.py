#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet strace` beside strace: in one and the same run every call, argument and result, as far as the kernel records them.

arguments: DUET PROGRAM LIBDUET
"""
import collections
import glob
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc
from strace_lines import compared, lines_by_thread
from trial import cmd, duet, fail, is_, ok, paths, run, run_cases, skip, start, until, work

program, library = paths(2)
os.environ["TMPDIR"] = work  # the directory of temporary recordings

# How many calls of the program show an address, a time, arguments.
IN_MEMORY = {"bind": 4, "connect": 4, "accept": 2, "getsockname": 2, "getpeername": 2, "sendto": 1, "recvfrom": 1, "nanosleep": 2,
             "clock_nanosleep": 1, "clock_gettime": 2, "clock_getres": 1, "futex": 1, "execve": 2, "newfstatat": 2, "prlimit64": 1,
             "rt_sigaction": 1, "socketpair": 1, "poll": 1, "epoll_ctl": 1, "epoll_wait": 1, "rt_sigprocmask": 1, "wait4": 1,
             "clone3": 1, "timerfd_settime": 1}


def calls_arguments_and_results_are_those_of_strace_in_the_same_run():
    here = work + "/same"
    os.mkdir(here)
    status, _, err = cmd("strace", "-f", "-s", "4096", "-o", here + "/ours", "--", "strace", "-f", "-s", "4096", "-o", here + "/theirs", program,
                         "calls", here)
    is_(status, 7, "the status is the program's: %s" % err)
    ours, theirs = lines_by_thread(here + "/ours"), lines_by_thread(here + "/theirs")
    ok(len(theirs) == 3, "strace saw a program, its child and its thread: %s" % list(theirs))
    n, wrong = compared(ours, theirs)
    for what in wrong:
        fail(what)
    ok(n > 150, "%d calls were compared" % n)
    texts = sum(a.startswith('"') for calls in ours.values() for _, arguments, _ in calls for a in arguments)
    there = collections.Counter(name for tid in theirs for name, arguments, _ in ours[tid]
                                if any(a[0] in "{[" for a in arguments))
    print("%d calls, %d texts, and data in memory: %s" % (n, texts, dict(there)))
    if not cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", here + "/bpf", "--", "true")[0]:
        ok(texts > 10, "file names, where BPF programs can record them")
        for name, at_least in IN_MEMORY.items():
            ok(there[name] >= at_least, "%s shows data in memory: %d" % (name, there[name]))


def counts(path):
    found = {}
    for line in open(path):
        w = line.split()
        if len(w) >= 4 and w[3].isdigit() and w[-1] != "total":
            found[w[-1]] = (int(w[3]), int(w[4]) if re.fullmatch(r"\d+", w[4]) else 0)
    return found


def the_summary_counts_as_strace_does():
    here = work + "/counts"
    os.mkdir(here)
    status, _, err = cmd("strace", "-f", "-c", "-o", here + "/ours", "--", program, "calls", here,
                         env=dict(os.environ, COLUMNS="80"))
    is_(status, 7, "the program's status: %s" % err)
    shutil.rmtree(here + "/d", ignore_errors=True)
    if os.path.exists(here + "/a"):
        os.unlink(here + "/a")
    is_(run("strace", "-f", "-c", "-o", here + "/theirs", program, "calls", here)[0], 7, "strace runs it")
    ours, theirs = counts(here + "/ours"), counts(here + "/theirs")
    for name in sorted(set(ours) | set(theirs)):
        # Whether a thread waits for another depends on their order.
        if name not in ("futex", "unknown", "restart_syscall") and not name.startswith("syscall_"):
            is_(ours.get(name), theirs.get(name), "calls and errors of " + name)


def the_chosen_calls_are_shown():
    here = work + "/chosen"
    os.mkdir(here)

    def shown(*options):
        cmd("strace", "-f", "-o", here + "/out", *options, "--", program, "calls", here)
        return open(here + "/out").read().splitlines()
    lines = shown("-e", "lseek,%network", "-e", "signal=none", "-qq")
    names = {re.sub(r"^\d+ +", "", line).split("(")[0] for line in lines}
    is_(names, {"lseek", "socket", "setsockopt", "bind", "listen", "accept", "accept4", "connect", "getsockname",
                "getpeername", "shutdown", "socketpair", "sendto", "recvfrom"},
        "those and no others")
    lines = shown("-e", "!lseek,mmap", "-Z", "-y")
    ok(lines and all("= -1 E" in line for line in lines if "(" in line), "failed ones only", lines[:3])
    ok(not any(re.search(r"\b(lseek|mmap)\(", line) for line in lines), "and not those", lines[:3])
    lines = shown("-e", "fcntl", "-e", "signal=none", "-qq", "-ttt", "-T")
    ok(all(re.match(r"\d+ +\d{10}\.\d{6} fcntl\(\d+, F_.* = .* <0\.\d{9}>$", line) for line in lines), "with times", lines)
    is_(len(shown("--limit", "5")), 5, "so many lines")
    status, _, err = cmd("strace", "--limit", "1", "--keep", here + "/kept", "--", program, "calls", here)
    is_(status, 7, "the command runs on to its end: %s" % err)
    ok(os.path.exists(here + "/kept/kernel/metadata"), "the recording is kept")
    is_(cmd("strace", "-a1", "--limit", "1", "-i", here + "/kept")[0], 0, "and can be shown again")


def there_is_bpf():
    return not cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", work + "/probe", "--", "true")[0]


def texts_that_are_not_in_memory_are_read_when_the_kernel_has_them():
    if not there_is_bpf():
        return
    cold = work + "/cold"
    with open(cold, "wb") as f:
        f.write(b"".join((b"/no/such/%d\0" % i).ljust(4096, b"\0") for i in range(8)) + bytes(4096))
    status, _, err = cmd("strace", "--keep", work + "/cold-kept", "-e", "access", "-o", work + "/out", "--", program, "cold", cold)
    is_(status, 0, "it runs: %s" % err)
    found = re.findall(r'access\("(/no/such/\d)", F_OK\)', open(work + "/out").read())
    is_(found, ["/no/such/%d" % i for i in range(8)], "each has its name")
    ok('access("", F_OK) ' in open(work + "/out").read(), "one has none")
    late = cmd("view", "-e", "syscall_exit_access", work + "/cold-kept")[1]
    ok(re.search(r"late_texts = \[ 0x1, 0x2f", late), "some of them were read at the end", late[-300:])


def options_are_those_that_strace_has():
    out = work + "/options"

    def shown(*options):
        status, _, err = cmd("strace", "-o", out, *options)
        is_(status, 0, "%s: %s" % (options, err))
        return open(out).read().splitlines()
    if there_is_bpf():
        lines = shown("-P", "/etc/passwd", "-qq", "--", "cat", "/etc/passwd", "/etc/shells")
        ok(len(lines) > 3 and lines[0].startswith('openat(AT_FDCWD, "/etc/passwd"') and lines[-1].startswith("close(3)"),
           "calls about a file, by its name and by its descriptor", lines)
        ok(all("shells" not in line for line in lines), "and none about another", lines)
        lines = shown("-s", "3", "-e", "write", "-qq", "--", "echo", "abcdef")
        ok(re.fullmatch(r'write\(1, "abc"\.\.\., 7\) += 7', lines[-1]), "three of the bytes written", lines)
    status, _, err = cmd("strace", "--kernel-backend", "ftrace", "-o", out, "-e", "openat,read", "--", "cat", "/etc/passwd")
    is_(err.count("are shown as addresses"), 1, "data that ftrace does not record are reported once")
    ok("openat(AT_FDCWD, 0x" in open(out).read(), "and shown as addresses")
    lines = shown("-e", "trace=/^getp+id$,?nosuchcall", "-q", "--quiet", "--", "sh", "-c", ":")
    ok(lines and all(re.match(r"getp+id\(", line) for line in lines), "by a regular expression", lines)
    shown("-A", "-e", "none", "--", "true")
    ok(open(out).read().startswith(lines[0]), "behind the earlier content")
    for option, instead in ("-u root", "setpriv"), ("-e inject=all:error=1", "strace can do that"):
        status, _, err = cmd("strace", *option.split(), "--", "true")
        ok(status == 2 and instead in err, "%s is refused with a remedy" % option, err)
    status, text, _ = cmd("strace", "-o", out, "-E", "DUET_NEW=x y", "-E", "HOME", "--", "env")
    ok("DUET_NEW=x y\n" in text and "HOME=" not in re.findall(r"^HOME=", text, re.M), "the command's environment", text)


def left_behind():
    return glob.glob(work + "/duet-strace-*")


def a_running_process_is_shown_while_it_runs_and_notices_nothing():
    p = start(program, "waits", stdin=subprocess.PIPE)
    is_(p.stdout.readline(), "ready\n", "it runs")
    until(lambda: re.match(r"\d+ 0x0 ", proc.read(p.pid, "syscall")), "it waits in read")
    s = start(duet, "strace", "-p", p.pid, "-e", "getppid,write,read", "-e", "signal=none", "-qq")
    until(lambda: "read(... <unfinished ...>" in s.stderr.so_far(), "where it waits is shown at once")

    def answers():
        p.stdin.write("x")
        p.stdin.flush()
        return p.stdout.readline() == "done\n" and "getppid()" in s.stderr.so_far()
    until(answers, "calls are shown while it goes on")
    ok("TracerPid:\t0\n" in proc.read(p.pid, "status"), "no tracer is attached")
    status, _, err = s.end(signal.SIGINT)
    is_(status, 0, "it ends with Ctrl-C: %s" % err)
    ok("<... read resumed>)" in err, "and that it returned from there")
    lines = [line for line in err.splitlines() if "read" not in line]
    first = next(i for i, line in enumerate(lines) if line.startswith("getppid"))
    ok(all(re.match(r'getppid\(\)\s+= %d$|write\(1, ("done\\n"|0x[0-9a-f]+), 5\)\s+= 5$' % os.getpid(), line) for line in lines[first:]),
       "every line is one of its calls", lines[:3])
    n = sum(line.startswith("write") for line in lines)
    ok(100 * (n - 1) <= sum(line.startswith("getppid") for line in lines) <= 100 * (n + 1), "a hundred for each answer: %d" % n)
    p.stdin.write("x")
    p.stdin.flush()
    is_(p.stdout.readline(), "done\n", "it runs on")
    p.stdin.close()
    is_(p.wait(), 0, "to its own end")
    is_(left_behind(), [], "nothing is left")


def a_call_that_lasts_is_shown_before_it_returns():
    s = start(duet, "strace", "--", program, "rests", stdin=subprocess.PIPE)
    until(lambda: re.search(r"^read\(0,  <unfinished ...>$", s.stderr.so_far(), re.M), "it is shown unfinished")
    s.stdin.write("x")
    s.stdin.close()
    is_(s.wait(), 0, "it ends")
    ok(re.search(r'^<\.\.\. read resumed>("x"|0x[0-9a-f]+), 1\)\s+= 1$', s.stderr.read(), re.M), "and when it returned")


def a_killed_recorder_leaves_nothing():
    s = start(duet, "strace", "--", program, "rests", stdin=subprocess.PIPE)
    rests = until(lambda: [c for c in proc.descendants(s.pid) if proc.exe(c) == os.path.realpath(program)], "the program runs")
    ok(left_behind(), "something is recorded")
    until(lambda: "write(1" in s.stderr.so_far(), "it is shown")
    s.kill()
    until(lambda: not left_behind(), "the recorder ends, and removes its files")
    ok(not proc.is_dead(rests[0]), "the program runs on")
    s.stdin.close()
    until(lambda: proc.is_dead(rests[0]), "to its own end")


if __name__ == "__main__":
    if os.geteuid():
        skip("only root may record the kernel")
    if not shutil.which("strace"):
        skip("needs strace")
    run_cases(calls_arguments_and_results_are_those_of_strace_in_the_same_run, the_summary_counts_as_strace_does,
              the_chosen_calls_are_shown, a_running_process_is_shown_while_it_runs_and_notices_nothing,
              a_call_that_lasts_is_shown_before_it_returns, texts_that_are_not_in_memory_are_read_when_the_kernel_has_them,
              options_are_those_that_strace_has, a_killed_recorder_leaves_nothing)
