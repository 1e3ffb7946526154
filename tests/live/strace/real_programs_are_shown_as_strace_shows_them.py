#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Of real programs the calls as strace and as `duet strace` show them, in the same run: how many arguments are equal.

arguments: DUET PROGRAM LIBDUET          as a test: a few programs, and most must be equal
       with ALL=1 in the environment: all of them, and a line for each that differs: SHOW=20 of a reason

Each thread's calls are compared one by one.  Flags may be in another order, and remarks of strace's are no part.
"""
import collections
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from strace_lines import command, in_order, lines_by_thread
from trial import cmd, ok, paths, run_cases, skip, work

paths(2)
os.environ["TMPDIR"] = work
os.environ["PATH"] = "/usr/bin:/bin:/usr/sbin:/sbin"
ALL, SHOW = os.environ.get("ALL"), int(os.environ.get("SHOW", "0"))

PING = """
import os, socket, threading
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
def serve():
    c = s.accept()[0]
    while c.sendall(c.recv(64)) is None and c.recv(1, socket.MSG_PEEK): pass
t = threading.Thread(target=serve); t.start()
c = socket.create_connection(s.getsockname())
for _ in range(20): c.send(b"ping"); c.recv(64)
c.close(); t.join()
"""
THREADS = """
import threading, time, select, socket
a, b = socket.socketpair()
def wait():
    p = select.poll(); p.register(a, select.POLLIN); p.poll(2000)
ts = [threading.Thread(target=wait) for _ in range(4)]
for t in ts: t.start()
b.send(b"x")
for t in ts: t.join()
e = select.epoll(); e.register(a); e.poll(1); select.select([a], [b], [], 0.01)
"""
SOURCE = "#include <stdio.h>\nint main(void) { return puts(\"x\"); }\n"

PROGRAMS = {
    "ls -l /etc": (["ls", "-l", "/etc"], True),
    "cat /etc/passwd": (["cat", "/etc/passwd"], True),
    "find /usr/include/linux": (["find", "/usr/include/linux", "-name", "a*"], False),
    "sh, pipes": (["sh", "-c", "ls /usr | sort | head -3; echo a >%s/a; read b <%s/a" % (work, work)], True),
    "bash": (["bash", "-c", "for i in 1 2 3; do (exit $i); done; type ls; kill -0 $$"], False),
    "python3, sockets": (["python3", "-S", "-c", PING], True),
    "python3, threads": (["python3", "-S", "-c", THREADS], True),
    "git status": (["git", "-C", work + "/git", "status"], False),
    "cc": (["cc", "-o", work + "/x", work + "/x.c"], False),
    "sleep, killed": (["sh", "-c", "sleep 5 & sleep 0.2; kill $!; wait; trap 'echo t' USR1; kill -USR1 $$"], True),
    "dd": (["dd", "if=/dev/zero", "of=%s/dd" % work, "bs=4k", "count=50"], False),
    "tar": (["tar", "cf", work + "/t.tar", "/usr/include/linux"], False),
    "perl": (["perl", "-e", "print `uname -a`; select undef, undef, undef, 0.01; stat '/'; utime 1, 2, '/nowhere'"], False),
}
REMARK = re.compile(r" /\*.*?\*/")


def reason(a, b):
    """None: they are equal."""
    if a == b or in_order(REMARK.sub("", a)) == in_order(REMARK.sub("", b)) or command(b) == a:
        return None
    if re.fullmatch(r"0x[0-9a-f]+|NULL", a) and b[:1] in '"{[~':
        return "not captured"
    if re.fullmatch(r'".*"\.\.\.|\[.*\.\.\.\]', a) and (b.startswith(a.split('"...')[0].rstrip(".]"))):
        return "cut"
    if re.fullmatch(r"-?\d+|0x[0-9a-f]+|0", a) and not re.fullmatch(r"-?\d+|0x[0-9a-f]+", b):
        return "no name"
    return "other"


def compare(title, argv):
    """-> calls, missing calls, arguments, and how many of them differ, by reason"""
    ours, theirs = work + "/ours", work + "/theirs"
    cmd("strace", "-f", "-o", ours, "--", "strace", "-f", "-o", theirs, *argv)
    mine, all_ = lines_by_thread(ours), lines_by_thread(theirs)
    n_calls = n_missing = n_arguments = 0
    wrong = collections.Counter()
    for tid, wanted in all_.items():
        got = mine.get(tid, [])
        if wanted and wanted[0][0] == "execve":
            begin = [i for i, c in enumerate(got) if c[0] == "execve" and c[1][:1] == wanted[0][1][:1]]
            got = got[begin[0]:] if begin and begin[0] < 60 else got
        n_calls += len(wanted)
        if [c[0] for c in got] != [c[0] for c in wanted]:
            both = [(a, b) for a, b in zip(got, wanted)]
            same = next((i for i, (a, b) in enumerate(both) if a[0] != b[0]), len(both))
            n_missing += len(wanted) - same
            if SHOW:
                print("  %s: thread %d: %d of %d calls are the same, then %s, not %s" %
                      (title, tid, same, len(wanted), got[same:same + 2], wanted[same:same + 2]))
            got, wanted = got[:same], wanted[:same]
        for a, b in zip(got, wanted):
            pairs = list(zip(a[1], b[1])) + [(a[2], b[2])]
            n_arguments += max(len(a[1]), len(b[1])) + 1
            if len(a[1]) != len(b[1]):
                wrong["so many"] += abs(len(a[1]) - len(b[1]))
            for x, y in pairs:
                why = reason(x, y)
                wrong[why] += why is not None
                if why and wrong[why] <= SHOW:
                    print("  %s: %s: %s\n%30s %s" % (why, a[0], x, "not", y))
    return n_calls, n_missing, n_arguments, +wrong


def prepare():
    os.mkdir(work + "/git")
    open(work + "/x.c", "w").write(SOURCE)
    subprocess.run(["git", "init", "-q", work + "/git"], check=True)
    open(work + "/git/a", "w").write("a")


def real_programs_are_shown_as_strace_shows_them():
    if ALL:
        prepare()
    print("%-26s %7s %8s %9s %7s  %s" % ("", "calls", "missing", "arguments", "equal", "differ"))
    for title, (argv, is_quick) in PROGRAMS.items():
        if not ALL and not is_quick or not shutil.which(argv[0]):
            continue
        calls, missing, arguments, wrong = compare(title, argv)
        n = sum(v for k, v in wrong.items() if k)
        print("%-26s %7d %8d %9d %6.2f%%  %s" % (title, calls, missing, arguments, 100 - 100 * n / max(arguments, 1),
                                               ", ".join("%s %d" % i for i in wrong.items())))
        ok(calls > 10, "%s: strace saw its calls" % title)
        ok(missing == 0, "%s: all calls are there, in their order: %d missing" % (title, missing))
        ok(n < arguments / 20, "%s: at most one argument in twenty differs: %d of %d" % (title, n, arguments))


if __name__ == "__main__":
    if os.geteuid():
        skip("only root may record the kernel")
    if not shutil.which("strace"):
        skip("needs strace")
    if cmd("record", "-q", "--kernel-backend=bpf", "-k", "syscalls", "-o", work + "/bpf", "--", "true")[0]:
        skip("needs BPF: else pointers are recorded")
    run_cases(real_programs_are_shown_as_strace_shows_them)
