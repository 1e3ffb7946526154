#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No control character of a running program's name, of its threads, values, functions, files and host reaches a
terminal through any verb that looks at programs: exec -a and prctl(PR_SET_NAME) take any bytes (lib/terminal.py).

arguments: DUET PROGRAM LIBDUET
"""
import atexit
import ctypes
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from terminal import ALL, PIECES, forged_in, harm_in, on_terminal  # noqa: E402
from trial import Failed, PATIENCE, begins, duet, ok, paths, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
NAMES = [p[:15] for p in PIECES] + [b"\x1b]0;x\x07" + p[:8] for p in PIECES[2:5]]
VALUE = ALL.replace(b"\x00", b"")
USER = 61789
running = []


class Program(subprocess.Popen):
    """It has executed a link with the name; its argv[0] is hostile, too."""

    def __init__(self, name, **more):
        link = os.fsencode(work) + b"/" + name.replace(b"/", b"") + b"%d" % len(running)
        os.symlink(program, link)
        super().__init__([link, name, VALUE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)
        running.append(self)
        if self.stdout.readline() != b"ready\n":
            raise Failed("a program with a hostile name runs")

    def write(self):
        self.stdin.write(b"\n")
        self.stdin.flush()
        self.stdout.readline()


def judge(what, out, is_json=False):
    for wrong in (harm_in(out), forged_in(out)):
        ok(not wrong, "%s: %s" % (what, wrong))
    if is_json:
        try:
            json.loads(out)
        except ValueError as e:
            ok(False, "%s: no JSON: %s: %r" % (what, e, out[:300]))


def once(*args, shown=False, expects=None, **more):
    """Runs duet once: on a terminal if @shown."""
    argv = [os.fsencode(a) for a in (duet, *(str(a) if isinstance(a, int) else a for a in args))]
    what = "duet %r" % (b" ".join(argv[1:])[:100],)
    if shown:
        status, out = on_terminal(argv, PATIENCE, env=dict(os.environ, PAGER="", TERM="xterm"), **more)
    else:
        p = subprocess.run(argv, **dict(dict(stdin=subprocess.DEVNULL), **more), capture_output=True, timeout=PATIENCE)
        status, out = p.returncode, p.stdout
        judge(what + ", its messages", p.stderr)
    judge(what, out, "--json" in args)
    if expects:
        ok(expects in out, "%s has %r: %r" % (what, expects, out[-1500:]))
    return out


def both(*args, expects=None, **more):
    once(*args, expects=expects, **more)
    return once(*args, shown=True, expects=expects, **more)


ESCAPED = rb"\x1b]0;pwned\x07"


def programs_are_listed():
    for name in NAMES:
        Program(name)
    both("list", expects=ESCAPED)
    both("list", running[0].pid, expects=ESCAPED)
    both("doctor", running[0].pid)
    both("doctor")
    both("list", "-u", program, expects=rb"title\x1b]0;pwned\x07")
    both("list", "--functions", program, expects=rb"title\x1b]0;pwned\x07")
    both("list", "--complete", "duet", "record", "-u", "")
    both("list", "--complete", "duet", "record", "-e", "")


def those_of_other_users_too():
    if os.geteuid():
        return
    env = {k: v for k, v in os.environ.items() if not k.startswith("DUET_")}
    os.chmod(work, 0o755)
    atexit.register(shutil.rmtree, "/dev/shm/duet-%d" % USER, ignore_errors=True)
    Program(PIECES[0], user=USER, group=USER, extra_groups=[], env=env)
    both("list", "--all-users", expects=ESCAPED)


def a_session_shows_them():
    # A file name may have anything but a slash; the session's own name may not.
    directory = os.fsencode(work) + b"/recording-" + VALUE
    once("start", "-s", PIECES[0], "-o", directory)
    once("start", "-s", "s", "--no-kernel", "-o", directory)
    for p in running:
        p.write()
    once("trigger", "add", "-s", "s", b"event hostile:order -> notify, run /no/such/" + PIECES[0])  # refused
    both("trigger", "add", "-s", "s", b"event hostile:order -> notify, shell 'true " + PIECES[2] + PIECES[4] + b"', every 1ms")
    watch = start(duet, "trigger", "watch", "-s", "s", "-n", "1", text=False)
    seen = start("script", "-qec", "'%s' trigger watch -s s -n 1" % duet, "/dev/null", text=False)
    until(lambda: watch.poll() is not None or [p.write() for p in running] and False, "a trigger fires")
    until(lambda: seen.poll() is not None or [p.write() for p in running] and False, "a trigger fires again")
    judge("trigger watch", os.pread(watch.stdout.file.fileno(), 1 << 20, 0))
    judge("trigger watch on a terminal", os.pread(seen.stdout.file.fileno(), 1 << 20, 0).replace(b"\r\n", b"\n"))
    both("trigger", "list", "-s", "s", expects=rb"\xc2\x9b31m")
    until(lambda: ESCAPED in once("status"), "status lists the programs")
    both("status", expects=ESCAPED)
    both("status", "s", expects=ESCAPED)
    once("status", "--json")
    both("enable", "-s", "s", b"hostile:" + PIECES[0])
    both("disable", "-s", "s", "hostile:*")
    both("enable", "-s", "s", "hostile:*")
    both("list", expects=b"(s)")
    both("snapshot", "-s", "s", "-o", os.fsencode(work) + b"/snap" + VALUE)
    both("rotate", "s")
    live = start(duet, "live", "s", "--limit", "1", text=False)
    until(lambda: live.poll() is not None or [p.write() for p in running] and False, "an event is followed")
    judge("live", os.pread(live.stdout.file.fileno(), 1 << 20, 0))
    once("stop", "s", shown=True)
    for form in ([], ["--json", "--limit", "1"], ["--columns", "host,thread,event,fields"]):
        both("view", *form, directory)
    both("stats", "--by", "process", directory, expects=rb"\xc2\x9b31m")


def functions_and_commands_too():
    link = os.fsencode(work) + b"/" + PIECES[0] + b"run"
    os.symlink(program, link)
    recording = os.fsencode(work) + b"/graph" + VALUE
    with open(work + "/lines", "w") as f:
        f.write("\n" * 3)
    with open(work + "/lines") as f:
        once("record", "-v", "--no-kernel", "--graph", b"*:*", "-o", recording, "--", link, PIECES[0], VALUE, stdin=f, shown=True)
    once("record", "-v", "--no-kernel", "-o", recording + b"2", "--", link, VALUE)
    once("record", "--no-kernel", "-o", recording + b"3", "-p", str(running[0].pid), "--", "true")
    for args in (["graph"], ["graph", "--tree"], ["graph", "--tree", "--json"], ["report", "functions"], ["view"],
                 ["stats", "--by", "function"], ["diff", recording]):
        both(*args, recording)
    once("strace", "-f", "--", link, PIECES[0], VALUE, shown=True)
    once("strace", "--", "/no/such/" + PIECES[0].decode())
    once("report", "syscalls", "--", link, PIECES[0])


def a_hosts_name_too():
    """In a namespace of its own: the host of the sender has a hostile name."""
    if os.geteuid():
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def rename():
        name = PIECES[0] + PIECES[4]
        if libc.unshare(0x04000000) or libc.sethostname(name, len(name)):
            os._exit(9)

    recording = work + "/of-host"
    once("record", "--no-kernel", "-o", recording, "--", program, "x", preexec_fn=rename)
    both("view", "--columns", "time,host,thread,event,fields", recording)
    received = os.fsencode(work) + b"/received" + PIECES[0]
    os.mkdir(received)
    relay = start(duet, "relay", "--plain", "-l", "127.0.0.1:0", "-o", os.fsdecode(received), text=False)

    def printed():
        return os.pread(relay.stdout.file.fileno(), 1 << 20, 0)

    port = until(lambda: printed().split(b"port ", 1)[1].split(b",")[0] if b"port " in printed() else None, "a relay")
    once("send", "--plain", recording, b"127.0.0.1:" + port, preexec_fn=rename)
    once("send", "--plain", recording, b"127.0.0.1:" + port, shown=True, preexec_fn=rename)
    relay.terminate()
    relay.wait()
    judge("the relay", printed())
    judge("the relay, its messages", os.pread(relay.stderr.file.fileno(), 1 << 20, 0))


def all_end():
    for p in running:
        p.stdin.close()
        p.wait(PATIENCE)


run_cases(programs_are_listed, those_of_other_users_too, a_session_shows_them, functions_and_commands_too, a_hosts_name_too,
          all_end)
