#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Events in strange places, and programs in strange surroundings: recorded, or counted, or reported; none is harmed.

arguments: DUET LIBDUET PROGRAM LINKED CPP STATIC STATIC_PIE LIBC PLUGIN
"""
import os
import shutil
import signal
import struct
import subprocess
import sys

from recording import Recording, duet, is_, library, program, run_all, run_command, runtime, start, until, work
from proc import children, is_stopped, kill, read

linked, cpp, static, static_pie, wrapper, plugin = sys.argv[4:10]
as_root = os.geteuid() == 0
NOBODY = ["setpriv", "--reuid=65534", "--clear-groups"]


def whole(mode, number=0, status=0, **more):
    r = Recording()
    is_(r.run(mode, number, **more), status, mode + ": " + r.err)
    r.end().is_whole(mode)
    is_(r.notes()["bad_end"], 0, mode)
    is_(r.total > 0, True, mode + ": something is recorded")
    return r


def duet_says(*args):
    status, out, err = run_command(duet, *args)
    return status, out + err


def wait_ready(r, n=1, word="ready"):
    until(lambda: sum(line.startswith(word) for line in open(r.notes_file)) >= n, "%d programs say %s" % (n, word))


def later(*modes, prefix=(), status=0):
    """Programs that a command enables while they run -> their recording, and the output of `duet list`."""
    r = Recording("-e", "no:such")
    p = [start(*prefix, program, m, r.notes_file) for m in modes]
    wait_ready(r, len(p))
    r.enabled = duet_says("enable", "life:*")
    lingers = set(modes) <= {"plain_later", "without_counter"}
    if lingers:
        wait_ready(r, len(p), "lingers")
    r.listing = duet_says("list")[1]
    for x in p:
        for pid in (children(x.pid) or [x.pid]) if lingers else []:  # the child, if @prefix made one
            kill(pid, signal.SIGTERM)
        is_(x.wait(), status, "%s: its end" % (modes,))
    return r.end()


def from_the_first_constructor_to_the_last_destructor():
    is_(whole("ordered").total, 4, "main, a thread's key, atexit, a late destructor")
    is_(whole("quick").total, 2, "main, at_quick_exit")
    if cpp:
        # `early` and `usual` are made before libduet knows the program or after; all are destroyed after.
        r = whole("any", prog=cpp)
        is_(r.total >= 6, True, "static and thread_local objects: %d" % r.total)


def on_small_stacks():
    r = Recording()
    is_(r.run("small_stacks"), 0, "PTHREAD_STACK_MIN")
    r.end()
    is_((r.total, r.lost), (r.said, 0), "small stacks")
    r = later("signal_stack")
    n = r.notes()
    is_((r.total, r.lost), (r.said, 0), "a signal stack")
    is_(0 < n["later_depth"] <= n["first_depth"] <= 6000, True,
        "an event needs so much of it: %d, later %d" % (n["first_depth"], n["later_depth"]))


def signals():
    later("all_blocked").is_whole("all signals blocked")
    r = Recording()
    p = start(program, "stopped", r.notes_file)
    until(lambda: is_stopped(p.pid), "it stops")
    p.send_signal(signal.SIGCONT)
    is_(p.wait(), 0, "SIGSTOP, SIGCONT")
    r.end().is_whole("stopped for a while")


def threads_and_children_made_by_hand():
    r = Recording()
    is_(r.run("by_hand"), 0, "by hand: " + r.err)
    r.end()
    # A clone that shares the memory records in the name of the thread that made it.
    is_((r.total, r.lost), (r.said, 0), "clone, clone3")
    whole("forked_then_threaded")
    whole("exec_fails")


def children_that_gave_up_their_rights():
    if not as_root:
        print("  (not root)")
        return
    is_(whole("drop_rights").total, 61, "root, then the user nobody, and its child")
    r = later("drop_rights_first")
    is_((r.total, r.lost), (0, 20), "the user nobody before the first event: counted")


def capabilities_of_the_file():
    if not as_root:
        print("  (not root)")
        return
    copy = work + "/capable"
    shutil.copy(linked, copy)
    os.chmod(copy, 0o755)
    os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0))
    r = Recording()
    before = sorted(os.listdir(runtime))
    p = subprocess.run(NOBODY + [copy, "plain", r.notes_file, "10"], stderr=subprocess.PIPE, text=True)
    if p.returncode == 127:
        print("  (libraries of root alone)")
    else:
        is_((p.returncode, sorted(os.listdir(runtime))), (0, before), "inert: " + p.stderr)
    is_(r.end().total, 0, "nothing is recorded")


def programs_without_a_clock():
    r = later("without_counter")
    is_((r.total, r.lost), (0, 20), "PR_SET_TSC: counted")
    is_("time stamp counter" in r.listing, True, "and reported: " + r.listing)
    r = Recording("-e", "no:such")
    p = start(program, "strict", r.notes_file, stdin=subprocess.PIPE)
    until(lambda: "Seccomp:\t1" in read(p.pid, "status"), "it has locked itself up")
    status, said = duet_says("enable", "life:*")
    is_((status, "strict" in said), (2, True), "enable reports: " + said)
    r.end()
    status, said = duet_says("record", "--no-kernel", "-o", work + "/strict", "-p", str(p.pid), "-e", "life:*")
    is_((status, "strict" in said), (2, True), "record -p reports: " + said)
    is_(p.communicate("x") and p.returncode, 0, "it is not killed")


def limits():
    r = later("no_address_space")
    is_((r.total, r.lost), (0, 20), "RLIMIT_AS: counted")
    r = later("no_descriptor")
    is_((r.total, r.lost), (20, 20), "RLIMIT_NOFILE: counted, then recorded")
    r = Recording()
    is_(r.run("plain", 20, prefix=["sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh"]), 0, "ulimit -s unlimited")
    r.end().is_whole("an unlimited stack")


def shared_memory_that_is_full_or_not_there():
    if not as_root:
        print("  (not root)")
        return
    for what, script in (("full", "mount -t tmpfs -o size=4k none /dev/shm; head -c 4096 /dev/zero > /dev/shm/full"),
                         ("read-only", "mount -t tmpfs -o ro none /dev/shm"),
                         ("missing", "mount -t tmpfs -o ro none /dev"),
                         ("full of inodes", "mount -t tmpfs -o nr_inodes=2 none /dev/shm")):
        r = Recording()
        is_(r.run("plain", 20, prefix=["unshare", "-m", "sh", "-c", script + '; exec "$@"', "sh"],
                  DUET_RUNTIME_DIR=""), 0, what + ": the program runs")
        is_((r.end().total, r.lost), (0, 0), what + ": and is inert")


def an_environment_that_changes():
    r = later("environment_changes")
    r.is_whole("setenv and clearenv change nothing")
    is_(r.total, 40, "both are recorded")


def a_strange_umask():
    here = work + "/nobodys"
    os.mkdir(here)
    os.chmod(here, 0o777)
    copy = shutil.copy(program, work + "/copy")
    own = shutil.copy(library, work + "/libduet.so")
    r = Recording()
    r.run("modes_of_files", prog=copy, prefix=(NOBODY if as_root else []) + ["sh", "-c", 'umask 0777; exec "$@"', "sh"],
          DUET_RUNTIME_DIR=here + "/run", DUET_LIBRARY=own)
    n = r.notes()
    is_((n["page_mode"], n["directory_mode"]), (0o600, 0o700), "umask 0777")
    r.end()


def core_dumps():
    r = Recording()
    is_(r.run("core"), -signal.SIGSEGV, "a core dump")
    is_(r.notes()["excluded"], 1, "holds no buffers")
    r.end().is_whole("the events of the killed program")


def a_thousand_libraries():
    os.mkdir(work + "/plugins")
    first = shutil.copy(plugin, work + "/plugins/plugin-0.so")
    for i in range(1, 1100):
        shutil.copy(first, work + "/plugins/plugin-%d.so" % i)
    r = whole("many_objects", 1100, LIFE_PLUGINS=work + "/plugins")
    is_((r.notes()["more_events"], r.total), (0, 2220), "the same two events in all of them")


def a_library_that_goes_while_it_is_switched():
    r = Recording("-e", "no:such")
    p = start(os.path.join(os.path.dirname(program), "life_program"), "load_and_unload", r.notes_file, 3000)
    n = 0
    while p.poll() is None:
        duet_says(("enable", "disable")[n % 2], "life:*")
        n += 1
    is_((p.returncode, n > 3), (0, True), "it runs on")
    r.end()
    is_(r.strangers, 0, "all is well formed")


def namespaces_with_the_same_numbers():
    if not as_root:
        print("  (not root)")
        return
    for proc, options in (("one /proc", []), ("a /proc each", ["--mount-proc"])):
        r = later("plain_later", "plain_later", "plain_later", prefix=["unshare", "-p", "-f"] + options)
        is_((r.total, r.lost, r.strangers, 1 <= len(r.by_pid) <= 3, "1" in r.by_pid), (60, 0, 0, True, False),
            "three programs with one pid, %s: %s%s" % (proc, r.enabled[1], r.listing))
    whole("nested_namespaces")
    is_([n for n in os.listdir(runtime) if n.startswith("app-")], [], "no page is left")


def debuggers():
    is_(whole("traced").notes()["status"], 0, "ptrace")
    for name, prefix in (("strace", ["strace", "-f", "-o", "/dev/null"]),
                         ("gdb", ["gdb", "-nx", "-batch", "-ex", "run", "--args"])):
        if not shutil.which(name):
            print("  (no %s)" % name)
            continue
        r = Recording()
        subprocess.run(prefix + [program, "plain", r.notes_file, "100"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=300)
        r.end().is_whole(name)
        is_(r.total, 100, name)


def static_programs_run():
    for name, prog in (("static", static), ("static-pie", static_pie)):
        if not prog:
            print("  (no %s program can be built)" % name)
            continue
        r = Recording()
        is_(r.run("plain", 10, prog=prog), 0, name)
        r.end()
        if r.total: # its libc can load libduet: the one it was linked with is installed
            r.is_whole(name)


def allocations_of_the_loader():
    r = Recording("-e", "life:*", "-e", "lttng_ust_libc:*")
    old = os.path.join(os.path.dirname(program), "life_program")
    for mode, number in (("load_and_unload", 60), ("fork_among_threads", 5), ("fork_in_handler", 20)):
        is_(r.run(mode, number, prog=old, LD_PRELOAD=wrapper), 0, mode + " with allocations: " + r.err)
    r.end()
    is_((r.total, r.lost), (r.said, 0), "events beside allocations")


run_all([from_the_first_constructor_to_the_last_destructor, on_small_stacks, signals, threads_and_children_made_by_hand,
         children_that_gave_up_their_rights, capabilities_of_the_file, programs_without_a_clock, limits,
         shared_memory_that_is_full_or_not_there, an_environment_that_changes, a_strange_umask, core_dumps,
         a_thousand_libraries, a_library_that_goes_while_it_is_switched, namespaces_with_the_same_numbers, debuggers,
         static_programs_run, allocations_of_the_loader])
