#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""However a process begins, multiplies, locks itself up and ends: what it recorded is there, or counted.

usage: life.py DUET LIBDUET PROGRAM LINKED STATIC ASAN TSAN [TIMES]

PROGRAM and its likes are program.c, built in several ways ('' where that cannot be built).  TIMES
multiplies the repetitions: 1 in the suite, 10 loads a library 10 000 times.
"""
import collections
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

duet, library, program, linked, static, asan, tsan = sys.argv[1:8]
times = int(sys.argv[8]) if len(sys.argv) > 8 else 1
work = tempfile.mkdtemp(prefix="duet-life-")
os.chmod(work, 0o755)
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library, LIFE_DIR=os.path.dirname(program))
failures = 0
collectors = []


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("  not ok: %s: got %r, wanted %r" % (what, got, want))


class Recording:
    """A collector; in the end, what it has and what the programs say they recorded."""

    def __init__(self, *args):
        self.trace = tempfile.mkdtemp(prefix="trace-", dir=work)
        self.notes_file = self.trace + ".notes"
        open(self.notes_file, "w").close()
        os.chmod(self.notes_file, 0o666)
        self.collector = subprocess.Popen([duet, "collect", "-o", self.trace] + list(args or ("-e", "life:*")),
                                          stderr=subprocess.PIPE, text=True)
        collectors.append(self.collector)
        while not (os.path.isdir(work + "/run") and "session-default" in os.listdir(work + "/run")):
            time.sleep(0.005)

    def run(self, mode, number=0, prog=None, prefix=(), **env):
        p = subprocess.run(list(prefix) + [prog or program, mode, self.notes_file, str(number)], text=True,
                           stderr=subprocess.PIPE, timeout=120, env=dict(os.environ, **env))
        self.err = p.stderr
        return p.returncode

    def notes(self):
        n = collections.Counter()
        with open(self.notes_file) as f:
            for line in f:
                what, value = line.split()
                n[what] += int(value)
        return n

    def end(self):
        self.collector.terminate()
        err = self.collector.communicate(timeout=30)[1]
        is_(self.collector.returncode, 0, "the collector ends well (%s)" % err)
        m = re.search(r"(\d+) LOST", err)
        self.lost = int(m.group(1)) if m else 0
        p = subprocess.run([duet, "view", "--json", self.trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True)
        is_(p.returncode, 0, "duet view: " + p.stderr)
        self.by_pid = collections.Counter()
        self.strangers = 0
        for line in p.stdout.splitlines():
            e = json.loads(line)
            if e.get("event", "").startswith("life:"):
                self.by_pid[str(e["pid"])] += 1
                self.strangers += e["pid"] != e["fields"]["pid"]
        self.total = sum(self.by_pid.values())
        self.said = sum(v for k, v in self.notes().items() if k.isdigit())
        return self

    def is_whole(self, what, lost=0):
        is_((self.total, self.lost, self.strangers), (self.said - lost, lost, 0), what)


def whole(mode, number=0, status=0, prog=None, **env):
    """Nothing is lost, all is said by who did it."""
    r = Recording()
    is_(r.run(mode, number, prog, **env), status, mode + ": " + r.err)
    r.end().is_whole(mode)
    if not r.total:
        is_(r.total, "some", mode)
    return r


def fork_from_a_program_with_threads():
    whole("fork_among_threads", 50 * times)


def fork_from_a_signal_handler():
    whole("fork_in_handler", 100 * times)


def fork_from_a_handler_that_interrupts_registration():
    whole("fork_in_handler_of_a_loader", 100 * times)


def vfork_spawn_and_clone():
    whole("vfork_and_spawn", 10 * times)
    whole("raw_clone", 20 * times)
    r = Recording()
    r.run("vfork_and_record", 20)
    r.end()
    is_((r.total, r.lost), (r.said, 0), "a vfork child records in its parent's name")


def exec_in_a_loop():
    r = whole("exec_again", 50 * times)
    is_(len(r.by_pid), 1, "one process")


def a_daemon_that_closes_everything():
    r = Recording()
    is_(r.run("daemonise"), 0, "daemon")
    for _ in range(500):
        if "descriptor" in r.notes():
            break
        time.sleep(0.01)
    time.sleep(0.05)
    is_(r.notes()["descriptor"], 0, "we hold no descriptor of its")
    r.end().is_whole("daemon")
    is_(len(r.by_pid), 2, "parent and grandchild")


def every_end():
    for how, status in (("_exit", 0), ("abort", -6), ("exec", 0), ("sigkill", -9), ("quick_exit", 0),
                        ("segv", -11), ("pthread_exit", 0)):
        is_(whole(how, status=status).total, 20, how)
    is_(whole("thread_exits", 100 * times).total, 2000 * times, "threads that end")


def libraries_that_come_and_go():
    r = whole("load_and_unload", 1000 * times)
    n = r.notes()
    if n["rss"] > 64:
        is_(n["rss"], "at most 64 KiB more", "memory")
    is_((n["maps"], n["next_descriptor"]), (0, 4), "mappings, descriptors")


def sanitizers():
    for name, prog in (("address", asan), ("thread", tsan)):
        if not prog:
            print("  (no program with the %s sanitizer)" % name)
            continue
        r = whole("fork_among_threads", 5, prog=prog)
        is_(r.err, "", name)
        r = whole("thread_exits", 20, prog=prog)
        is_(r.err, "", name)


def a_static_program_runs():
    if not static:
        print("  (no static program can be built)")
        return
    r = Recording()
    is_(r.run("plain", 10, prog=static), 0, "static")
    r.end()
    if r.total: # its libc can load libduet: the one it was linked with is installed
        r.is_whole("static")


def a_busy_timer_does_not_keep_anybody_from_joining():
    for _ in range(10):
        whole("plain", 100, LIFE_TIMER="1")


def locked_up(mode, early):
    """-> recording of a program that filters itself; recorded from its start, or enabled afterwards"""
    r = Recording("-e", "life:*") if early else Recording("-e", "no:such")
    p = subprocess.Popen([program, mode, r.notes_file, "50"])
    if not early:
        while not r.notes()["ready"]:
            time.sleep(0.01)
        is_(subprocess.run([duet, "enable", "life:*"], stdout=subprocess.DEVNULL).returncode, 0, "enable")
        while not any(k.isdigit() for k in r.notes()) and p.poll() is None:
            time.sleep(0.01)
        r.listing = subprocess.run([duet, "list"], stdout=subprocess.PIPE, text=True).stdout
    is_(p.wait(), 0, mode + ": it is not killed")
    return r.end()


def seccomp():
    r = locked_up("filter_refuses", True)
    r.is_whole("refused sockets, joined before")
    r = locked_up("filter_kills", True)
    is_((r.total, r.lost), (40, 0), "killing filter, joined before")
    for mode in ("filter_refuses", "filter_kills"):
        r = locked_up(mode, False)
        is_((r.total, r.lost), (0, 40), mode + ": enabled afterwards: counted")
        is_("dormant" in r.listing, True, mode + ": told: " + r.listing)
    r = Recording()
    is_(r.run("filter_kills_a_child"), 0, "filtered child")
    r.end()
    is_((r.notes()["status"], r.total, r.lost), (0, 1, 20), "a child that filters itself before its first event")


def chroot():
    if os.geteuid():
        print("  (not root)")
        return
    r = Recording()
    is_(r.run("chroot"), 0, "chroot")
    r.end()
    is_((r.total, r.lost), (20, 20), "joined before: recorded; its child cannot join: counted")


def raised_privileges():
    if os.geteuid():
        print("  (not root)")
        return
    copy = work + "/setuid"
    shutil.copy(linked, copy)
    os.chown(copy, 0, 0)
    os.chmod(copy, 0o4755)
    r = Recording()
    before = sorted(os.listdir(work + "/run"))
    status = r.run("secure", prog=copy, prefix=["setpriv", "--reuid=65534", "--clear-groups"], LIFE_DIR="")
    n = r.notes()
    if status == 127 or not n["secure"]:
        print("  (file system without setuid, or libraries of root alone: %s)" % r.err.strip())
    else:
        is_((status, n["enabled"]), (0, 0), "inert")
        is_(sorted(os.listdir(work + "/run")), before, "without a page")
    r.end()
    r = Recording()
    is_(r.run("secure", prog=linked), 0, "without raised privileges")
    is_(r.notes()["enabled"], 1, "the same program records")
    r.end().is_whole("linked")


def namespaces():
    for name, options in (("mount", ["-m"]), ("pid", ["-p", "-f"]), ("user", ["-U", "-r"]), ("ipc, uts", ["-i", "-u"]),
                          ("net", ["-n"]), ("all", ["-U", "-r", "-m", "-p", "-f", "-n"])):
        if subprocess.run(["unshare"] + options + ["true"], stderr=subprocess.DEVNULL).returncode:
            print("  (no %s namespace here)" % name)
            continue
        r = Recording()
        is_(r.run("fork_among_threads", 3, prefix=["unshare"] + options), 0, name)
        r.end().is_whole(name + " namespace")


try:
    for test in (fork_from_a_program_with_threads, fork_from_a_signal_handler,
                 fork_from_a_handler_that_interrupts_registration, vfork_spawn_and_clone, exec_in_a_loop,
                 a_daemon_that_closes_everything, every_end, libraries_that_come_and_go, sanitizers,
                 a_static_program_runs, a_busy_timer_does_not_keep_anybody_from_joining, seccomp, chroot,
                 raised_privileges, namespaces):
        before = failures
        begin = time.monotonic()
        try:
            test()
        except subprocess.TimeoutExpired as e:
            is_("a hang: %s" % e, "none", test.__name__)
        print("%s - %s (%.1f s)" % ("ok" if failures == before else "not ok", test.__name__, time.monotonic() - begin))
        left = [n for n in os.listdir(work + "/run") if n.startswith(("session", "sock"))]
        if left:
            is_(left, [], "left behind")
            break
finally:
    for c in collectors:
        if c.poll() is None:
            c.kill()
            c.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
