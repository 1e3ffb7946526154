#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Members of the group attack `duet lend`: after a loan nothing of it is of use, no member has more than four, a
lender of own processes shows no others.

arguments: DUET LIBDUET
"""
import glob
import os
import re
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import tracefs  # noqa: E402
tracefs.mount_tracefs()
import members  # noqa: E402
import proc  # noqa: E402
import trial  # noqa: E402
from recorder import stop  # noqa: E402
from trial import duet, go_on, is_, ok, paths, run_cases, start, until, work  # noqa: E402

paths(1)
BORROWER = os.path.dirname(os.path.abspath(__file__)) + "/programs/borrower.py"
HONEST, HOSTILE = 0, 1
EPERM, EDQUOT = 1, 122
MOST = 4  # loans of one user


def borrower(uid):
    p = start(sys.executable, BORROWER, members.SOCKET, uid, members.gid, stdin=-1)

    def ask(*words):
        p.stdin.write(" ".join(words) + "\n")
        p.stdin.flush()
        return p.stdout.readline().rstrip("\n")
    p.ask = ask
    return p


def instances():
    return sorted(n for n in os.listdir(tracefs.TRACEFS + "/instances") if n.startswith("duet-"))


def of_lender(lender):
    return [n for n in instances() if n.startswith("duet-%d-" % lender.pid)]


def file_of(instance, path):
    try:
        with open("%s/instances/%s/%s" % (tracefs.TRACEFS, instance, path)) as f:
            return f.read().strip()
    except OSError:
        return None  # it was removed


def is_worthless(instance):
    """Nothing is enabled, no tracer runs, nothing arrives, and the rings are small."""
    size = file_of(instance, "buffer_total_size_kb")
    return (file_of(instance, "events/enable") in ("0", None)
            and file_of(instance, "current_tracer") in ("nop", None)
            and (size is None or int(size.split()[0]) < 300 * os.cpu_count()))


def can_record(i):
    status, _, err = trial.run(*members.as_user(i, duet, "record", "-q", "-k", "sched", "-o",
                                                "%s/u/%d-%d" % (work, i, len(os.listdir(work + "/u"))), "--", "true"))
    return ok(status == 0, "user %d records the kernel" % i, err)


def the_group_is_made():
    members.make(2)


def files_kept_open_are_of_no_use():
    lender = members.lend()
    hostile = borrower(members.uids[HOSTILE])
    for _ in range(4 * MOST):
        hostile.ask("borrow")
        hostile.ask("take")
        hostile.ask("return")
    until(lambda: all(is_worthless(n) for n in of_lender(lender)), "what was returned is worthless")
    kept = of_lender(lender)
    ok(0 < len(kept) <= MOST, "at most four are left", kept)
    hostile.ask("misuse")
    hostile.ask("read")
    is_(hostile.ask("read"), "0", "nothing is recorded, whatever is written")
    ok(all(is_worthless(n) for n in kept), "they stay worthless",
       [(n, file_of(n, "events/enable"), file_of(n, "buffer_total_size_kb")) for n in kept])
    said = hostile.ask("borrow")
    ok(said.startswith("%d " % EDQUOT) and "keeps their files open" in said, "they count as that user's loans", said)
    can_record(HONEST)
    lender.end(signal.SIGKILL)
    lender = members.lend()
    said = hostile.ask("borrow")
    ok(said.startswith("%d " % EDQUOT), "the next lender counts them too", said)
    can_record(HONEST)
    hostile.end(signal.SIGKILL)
    until(lambda: not set(kept) & set(instances()), "it removes them when they are closed")
    can_record(HOSTILE)
    until(lambda: not of_lender(lender), "and nothing is left")
    stop(lender)


def mapped_rings_stop_nothing():
    lender = members.lend()
    hostile = borrower(members.uids[HOSTILE])
    is_(hostile.ask("borrow"), "0", "it borrows")
    hostile.ask("take")
    hostile.ask("map")
    hostile.ask("return")
    until(lambda: all(file_of(n, "events/enable") in ("0", None) for n in of_lender(lender)), "it records nothing")
    can_record(HONEST)
    hostile.end(signal.SIGKILL)
    until(lambda: not of_lender(lender), "it is removed at the end")
    stop(lender)


def four_are_four():
    """Many at once, and from numbers that a member has below its own: these share the loans of one."""
    lender = members.lend()
    uids = [members.uids[HOSTILE]] * 8 + [max(members.uids) + 100000 + i for i in range(8)]
    crowd = [borrower(uid) for uid in uids]
    for b in crowd:  # all ask before the first answer is read
        b.stdin.write("borrow\n" * 3)
        b.stdin.flush()
    answers = [[b.stdout.readline()[:1] for _ in range(3)] for b in crowd]
    is_(sum(a.count("0") for a in answers[:8]), MOST, "one user has four")
    is_(sum(a.count("0") for a in answers[8:]), MOST, "users that the group does not list have four together")
    is_(len(of_lender(lender)), 2 * MOST, "and the kernel shows as many")
    can_record(HONEST)
    for b in crowd:
        b.end(signal.SIGKILL)
    until(lambda: not of_lender(lender), "all are removed")
    stop(lender)


def kill_with_guard(lender):
    guards = proc.children(lender.pid)
    is_([proc.comm(g) for g in guards], ["duet-guard"], "the lender has a guard")
    proc.kill(guards[0])
    until(lambda: proc.is_dead(guards[0]), "the guard is dead")
    lender.end(signal.SIGKILL)


def a_loan_ends_with_its_lender():
    """The lender ends, is killed, or is killed with its guard: then the next lender does it."""
    for how in stop, lambda p: p.end(signal.SIGKILL), kill_with_guard:
        lender = members.lend()
        hostile = borrower(members.uids[HOSTILE])
        for _ in range(MOST):
            is_(hostile.ask("borrow"), "0", "it borrows")
            is_(hostile.ask("ask", "w", "events/sched/sched_switch/enable", "1"), "0", "an event is enabled")
            is_(hostile.ask("ask", "w", "tracing_on", "1"), "0", "and tracing")
        hostile.ask("take")
        until(lambda: hostile.ask("read") != "0", "it records")
        left = of_lender(lender)
        how(lender)
        if how != kill_with_guard:
            until(lambda: all(is_worthless(n) for n in left), "its loans are over")
        lender = members.lend()
        until(lambda: all(is_worthless(n) for n in left), "they are when the next lender has begun")
        hostile.ask("misuse")
        hostile.ask("read")
        is_(hostile.ask("read"), "0", "nothing more is recorded, whatever is written")
        ok(hostile.ask("borrow").startswith("%d " % EDQUOT), "four of the dead lender are four")
        can_record(HONEST)
        hostile.end(signal.SIGKILL)
        until(lambda: not set(left) & set(instances()), "they are removed")
        stop(lender)


def a_recorder_reports_that_its_lender_ended():
    lender = members.lend()
    directory = work + "/u/ended"
    c = start(*members.as_user(HONEST, duet, "collect", "ended", "-k", "sched", "-o", directory))
    until(lambda: any(os.path.getsize(path) for path in glob.glob(directory + "/kernel/kernel_*")), "the kernel is recorded")
    stop(lender)
    until(lambda: "the lender of kernel tracing (duet lend) ended" in trial.run(*members.as_user(HONEST, duet, "status", "ended"))[1],
          "status says so")
    status, _, err = c.end(signal.SIGTERM)
    is_(status, 0, "it ends well: " + err)
    ok("the lender of kernel tracing (duet lend) ended" in err, "so does the summary", err)
    status, out, err = trial.cmd("view", "-e", "sched_switch", directory)
    ok(status == 0 and "sched_switch" in out, "what was recorded before is there", err)


def only_what_is_needed_is_opened_and_written():
    lender = members.lend()
    hostile = borrower(members.uids[HOSTILE])
    is_(hostile.ask("borrow"), "0", "it borrows")
    for path in ("trace", "trace_pipe", "snapshot", "trace_marker", "../../kprobe_events", "/etc/shadow", "per_cpu/..",
                 "events/sched/sched_switch/trigger", "events/../format", "per_cpu/cpu0/../../trace", ""):
        is_(hostile.ask("ask", "o", path), str(EPERM), "%r is not opened" % path)
    for path, text in (("events/sched/sched_switch/trigger", "traceoff"), ("set_event", "*:*"), ("events/enable", "1"),
                       ("../../tracing_on", "0"), ("trace_options", "noevent-fork"), ("trace_marker", "x"),
                       ("events/duet_1_2_3/p0/enable", "1"), ("tracing_cpumask", "0"), ("current_tracer", "blk"),
                       ("buffer_size_kb", "-1")):
        is_(hostile.ask("ask", "w", path, text), str(EPERM), "%s is not written" % path)
    is_(hostile.ask("ask", "t", "set_event_pid"), str(EPERM), "nor emptied")
    is_(hostile.ask("ask", "w", "buffer_size_kb", "99999999999"), "27", "nor is a ring larger than the memory lent")
    is_(hostile.ask("take"), "tracing_on", "nothing else can be written")
    hostile.ask("raw", "ff" * 5000)
    hostile.end(signal.SIGKILL)
    until(lambda: not of_lender(lender), "noise ends the loan or nothing")
    can_record(HONEST)
    stop(lender)


# ---------------------------------------------------------------- own processes

def record_own(*args, privileges="--no-new-privs"):
    words = [privileges] if privileges else []
    argv = members.as_user(HONEST, "setpriv", *words, duet, *args) if words else members.as_user(HONEST, duet, *args)
    return trial.run(*argv)


def a_lender_without_descriptors_ends_loans_and_goes_on():
    lender = members.lend()
    hostile = borrower(members.uids[HOSTILE])
    for _ in range(MOST):
        is_(hostile.ask("borrow"), "0", "it borrows")
    hostile.ask("take")
    hostile.ask("crowd", "200")
    go_on(lender.pid, times=3)
    n = len(proc.fds(lender.pid))
    ok(n < 40, "one member takes few descriptors, whatever it does", n)
    can_record(HONEST)
    until(lambda: len(proc.fds(lender.pid)) <= n, "the honest loan is over")
    left = of_lender(lender)
    members.must("prlimit", "--pid", str(lender.pid), "--nofile=%d:%d" % (n + 1, n + 1))
    status, _, err = trial.run(*members.as_user(HONEST, duet, "record", "-q", "-k", "sched", "-o", work + "/u/few", "--", "true"))
    ok(status == 2 and "Too many open files" in err, "without a descriptor left it says why", err)
    go_on(lender.pid, times=3)
    hostile.ask("return")
    until(lambda: all(is_worthless(i) for i in left), "loans end without a descriptor left")
    hostile.ask("misuse")
    hostile.ask("read")
    is_(hostile.ask("read"), "0", "nothing more is recorded")
    hostile.end(signal.SIGKILL)
    until(lambda: not set(left) & set(instances()), "and are removed")
    can_record(HONEST)
    stop(lender)


def own_processes_are_shown_and_no_others():
    lender = members.lend("--own-processes")
    other = start("sh", "-c", "while :; do sleep 0.01; done")
    directory = work + "/u/own"
    status, _, err = record_own("record", "-q", "-k", "sched,syscalls", "-o", directory, "--",
                                "sh", "-c", "sleep 0.3; sh -c 'echo $$; sleep 0.3'")
    is_(status, 0, "it records: " + err)
    out = trial.cmd("view", "-e", "syscall_*", directory)[1]
    callers = set(re.findall(r"\] (\S+):(\d+) syscall_", out))
    is_(sorted({name for name, _ in callers} - {"duet"}), ["sh", "sleep"], "its own processes, and children of children")
    pids = {pid for _, pid in callers}
    ok(2 <= len(pids) <= 6 and str(other.pid) not in pids, "and no system call of others", callers)
    other.end(signal.SIGKILL)
    for args, why in ((("record", "-q", "-k", "sched", "-o", work + "/u/no", "--", "true"), "no-new-privs"),):
        status, _, err = record_own(*args, privileges=None)
        ok(status == 2 and why in err, "a process that may become another user's is refused", err)
    for args in (("collect", "-q", "-k", "sched", "-o", work + "/u/no"),
                 ("record", "-q", "-k", "irq", "-o", work + "/u/no", "--", "true"),
                 ("record", "-q", "-k", "sched", "-p", str(os.getpid()), "-o", work + "/u/no", "--timeout", "1")):
        status, _, err = record_own(*args)
        ok(status == 2, "refused: %s" % " ".join(args[2:5]), err)
    hostile = borrower(members.uids[HOSTILE])
    is_(hostile.ask("borrow"), "0", "it borrows")
    for operation, path, text in (("w", "set_event_pid", "1"), ("w", "set_event_pid", str(hostile.pid)),
                                  ("w", "set_event_pid", "999999999"), ("w", "trace_options", "noevent-fork"),
                                  ("t", "set_event_pid", ""), ("w", "events/irq/irq_handler_entry/enable", "1"),
                                  ("w", "current_tracer", "function")):
        is_(hostile.ask("ask", operation, path, text), str(EPERM), "%s %s is refused" % (path, text))
    is_(hostile.ask("ask", "w", "events/sched/sched_switch/enable", "1"), "0", "an event is enabled")
    is_(hostile.ask("ask", "w", "tracing_on", "1"), "0", "and tracing")
    hostile.ask("take")
    is_(hostile.ask("read"), "0", "but nothing is recorded: it follows no process")
    hostile.end(signal.SIGKILL)
    until(lambda: not of_lender(lender), "nothing is left")
    stop(lender)


def loans_of_a_lender_without_the_limit_end():
    lender = members.lend()
    hostile = borrower(members.uids[HOSTILE])
    is_(hostile.ask("borrow"), "0", "it borrows")
    hostile.ask("take")
    left = of_lender(lender)
    lender.end(signal.SIGKILL)
    lender = members.lend("--own-processes")
    until(lambda: all(is_worthless(n) for n in left), "the next lender ends what is not limited")
    hostile.ask("read")
    hostile.ask("misuse")
    is_(hostile.ask("read"), "0", "nothing more is recorded")
    hostile.end(signal.SIGKILL)
    until(lambda: not set(left) & set(instances()), "and it is removed")
    stop(lender)


if not members.can_be_made():
    trial.skip("no root, no setpriv or no tracefs")
try:
    run_cases(the_group_is_made, files_kept_open_are_of_no_use, mapped_rings_stop_nothing, four_are_four,
              a_loan_ends_with_its_lender, a_recorder_reports_that_its_lender_ended, only_what_is_needed_is_opened_and_written,
              a_lender_without_descriptors_ends_loans_and_goes_on, own_processes_are_shown_and_no_others, loans_of_a_lender_without_the_limit_end)
finally:
    trial.close()
    members.remove()
