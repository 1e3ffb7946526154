#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaching to a running process changes nothing that it can see, also if the attaching process is killed.

arguments: DUET ATTACHER TARGET STATIC LIBDUET TIMES      1000 by hand; the library stands in for libduet
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import Failed, dice, is_, ok, paths, run, run_cases, runtime, start, until, work  # noqa: E402

attacher, target, alone, library = paths(4)
times = int(sys.argv[6])
NOBODY = 65534
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17


def begin(*argv, **more):
    p = start(*argv, stdin=subprocess.PIPE, **more)
    is_(p.stdout.readline(), "ready\n", "%s begins" % p)
    return p


def attach(p, *how, program=attacher, **more):
    """-> (status, its output)"""
    status, out, err = run(program, library, runtime, getattr(p, "pid", p), *how, timeout=2000, **more)
    return status, out + err


def end(p):
    out, err = p.communicate()
    is_((p.returncode, out), (0, "ok\n"), "%s: %s" % (p, err))


def attach_often(kind, n, errors=0):
    p = begin(target, kind)
    status, out = attach(p, n, errors)
    is_(status, 0, "attaching to %s: %s" % (kind, out))
    print("  %s: %s" % (kind, " ".join(out.split())))
    end(p)


def a_busy_process_does_its_work():
    attach_often("busy", times)


def a_process_in_malloc_never_hangs():
    attach_often("heap", times)


def blocked_calls_are_resumed():
    attach_often("blocked", times)


def signals_arrive_all_the_time():
    attach_often("signals", times)


def threads_and_processes_begin_and_end():
    attach_often("forks", times)


def a_program_may_replace_itself():
    attach_often("execs", times, times)


def a_process_may_end_meanwhile():
    random = dice()
    for i in range(times):
        p = start(target, "short", random.randrange(1, 60))
        until(lambda: os.path.exists("/proc/%d" % p.pid), "it starts")
        attach(p, 2, 2)
        out, err = p.communicate()
        is_((p.returncode, out), (0, "ok\n"), "a program that ends meanwhile: %s" % err)


def whoever_attaches_may_be_killed():
    for kind in "busy", "heap", "waiting", "signals", "forks", "idle":
        p = begin(target, kind)
        status, out = attach(p, "kill", max(times // 4, 5))
        is_(status, 0, "killed while attaching to %s: %s" % (kind, out))
        end(p)


def an_interpreter_goes_on():
    script = ("import sys, threading\n"
              "ended, wrong = threading.Event(), []\n"
              "def work():\n"
              "    while not ended.is_set():\n"
              "        d = {str(i): [i] * 3 for i in range(2000)}\n"
              "        if sum(v[0] for v in d.values()) != 1999000: wrong.append(1)\n"
              "t = [threading.Thread(target=work) for _ in range(3)]\n"
              "[x.start() for x in t]\n"
              "print('ready', flush=True); sys.stdin.read(); ended.set()\n"
              "[x.join() for x in t]\n"
              "print('wrong' if wrong else 'ok')\n")
    p = begin(sys.executable, "-c", script)
    status, out = attach(p, times)
    is_(status, 0, "attaching to an interpreter: %s" % out)
    end(p)


# ---------------------------------------------------------------- refused

def refused(p, text, **more):
    for how in "check", "1":
        status, out = attach(p, how, **more)
        is_(status, 2 if how == "check" else 1, "status of %s" % how)
        ok(text in out, "%s is the reason" % text, out)


def impossible_processes_are_named():
    p = begin(alone)
    refused(p, "runs a statically linked program")
    end(p)
    p = begin(target, "sandboxed")
    refused(p, "is sandboxed by seccomp")
    end(p)
    refused(1 << 22, "there is no process 4194304")
    p = begin(target)
    p.stdin.close()
    until(lambda: "State:\tZ" in open("/proc/%d/status" % p.pid).read(), "it ends")
    refused(p, "has ended already")


def a_stopped_process_stays_stopped():
    p = begin(target)
    p.send_signal(signal.SIGSTOP)
    until(lambda: "State:\tT" in open("/proc/%d/status" % p.pid).read(), "it stops")
    refused(p, "is stopped")
    p.send_signal(signal.SIGCONT)
    end(p)


def a_traced_process_is_left_to_its_tracer():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    p = begin(target)
    if libc.ptrace(PTRACE_SEIZE, p.pid, None, None):
        raise Failed("PTRACE_SEIZE: errno %d" % ctypes.get_errno())
    refused(p, "is traced already, by process %d" % os.getpid())
    p.stdin.close()
    until(lambda: p.poll() is not None, "it ends")
    is_(p.returncode, 0, "status")


def rights_are_those_of_ptrace():
    if os.geteuid():
        refused(1, "belongs to another user")
        return
    os.chmod(work, 0o755)
    mine = shutil.copy(attacher, work + "/attacher"), shutil.copy(target, work + "/target")
    p = begin(mine[1])
    refused(p, "belongs to another user", program=mine[0], user=NOBODY)
    end(p)
    p = begin(mine[1], "guarded", user=NOBODY, group=NOBODY)
    refused(p, "may not be attached to", program=mine[0], user=NOBODY, group=NOBODY)
    end(p)


os.makedirs(runtime, 0o700)
run_cases(impossible_processes_are_named, a_stopped_process_stays_stopped, a_traced_process_is_left_to_its_tracer,
          rights_are_those_of_ptrace, a_busy_process_does_its_work, a_process_in_malloc_never_hangs,
          blocked_calls_are_resumed, signals_arrive_all_the_time, threads_and_processes_begin_and_end,
          a_program_may_replace_itself, a_process_may_end_meanwhile, an_interpreter_goes_on,
          whoever_attaches_may_be_killed)
