#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""However a process begins, multiplies, locks itself up and ends: its events are there, or counted.

arguments: DUET LIBDUET PROGRAM LINKED STATIC ASAN TSAN [TIMES]

PROGRAM and its likes are program.c, built in several ways ('' where that cannot be built).  TIMES
multiplies the repetitions: 1 in the suite, 10 loads a library 10 000 times.
"""
import os
import shutil
import subprocess
import sys

from recording import Recording, cmd, is_, program, run_all, runtime, start, until, work

linked, static, asan, tsan = sys.argv[4:8]
times = int(sys.argv[8]) if len(sys.argv) > 8 else 1


def whole(mode, number=0, status=0, prog=None, **env):
    """Nothing is lost, and each event has the pid of its process."""
    r = Recording()
    is_(r.run(mode, number, prog, **env), status, mode + ": " + r.err)
    r.end().is_whole(mode)
    if not r.total:
        is_(r.total, "some", mode)
    return r


def fork_from_a_program_with_threads():
    whole("fork_among_threads", 50 * times)


def fork_from_a_signal_handler():
    r = whole("fork_in_handler", 100 * times)
    is_({p: t for p, t in r.tids.items() if t != {p}}, {}, "each process has its main thread alone")


def fork_in_the_middle_of_an_event():
    whole("fork_in_mid_event", 200 * times)


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
    until(lambda: r.n_said() == 2, "both have noted their number of events")
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
    p = start(program, mode, r.notes_file, 12000)
    if not early:
        until(lambda: r.notes()["ready"], "it waits")
        is_(cmd("enable", "life:*")[0], 0, "enable")
    until(lambda: r.n_said() or p.poll() is not None, "it has recorded")
    r.listing = cmd("list")[1]
    p.terminate()  # it lingers until then
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
        is_("dormant" in r.listing, True, mode + ": reported: " + r.listing)
    r = Recording()
    is_(r.run("filter_kills_a_child"), 0, "filtered child")
    r.end()
    is_((r.notes()["status"], r.total, r.lost), (0, 21, 0), "a child that filters itself before its first event")


def chroot():
    if os.geteuid():
        print("  (not root)")
        return
    r = Recording()
    is_(r.run("chroot"), 0, "chroot")
    r.end()
    is_((r.total, r.lost), (40, 0), "joined before: recorded; its child, which cannot join, in its parent's buffers")


def raised_privileges():
    if os.geteuid():
        print("  (not root)")
        return
    copy = work + "/setuid"
    shutil.copy(linked, copy)
    os.chown(copy, 0, 0)
    os.chmod(copy, 0o4755)
    r = Recording()
    before = sorted(os.listdir(runtime))
    status = r.run("secure", prog=copy, prefix=["setpriv", "--reuid=65534", "--clear-groups"], LIFE_DIR="")
    n = r.notes()
    if status == 127 or not n["secure"]:
        print("  (file system without setuid, or libraries of root alone: %s)" % r.err.strip())
    else:
        is_((status, n["enabled"]), (0, 0), "inert")
        is_(sorted(os.listdir(runtime)), before, "without a page")
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


run_all([fork_from_a_program_with_threads, fork_from_a_signal_handler, fork_in_the_middle_of_an_event,
         fork_from_a_handler_that_interrupts_registration, vfork_spawn_and_clone, exec_in_a_loop,
         a_daemon_that_closes_everything, every_end, libraries_that_come_and_go, sanitizers, a_static_program_runs,
         a_busy_timer_does_not_keep_anybody_from_joining, seccomp, chroot, raised_privileges, namespaces])
