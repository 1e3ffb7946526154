#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The units of systemd give few rights, and duet does its work with these alone.

arguments: DUET UNITS PROGRAM LIBDUET.  Limits of a unit are applied by unit_limits.py.
"""
import os
import shutil
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import members  # noqa: E402
import trial  # noqa: E402
import unit_limits  # noqa: E402
from counting import record_counting, start_counting, stop_counting  # noqa: E402
from recorder import stop  # noqa: E402
from trial import begins, duet, is_, ok, run_cases, start, until, work  # noqa: E402

UNITS, PROGRAM, LIBRARY = [os.path.abspath(a) for a in sys.argv[2:5]]
os.environ["DUET_LIBRARY"] = LIBRARY
TENTHS_MOST = 30
SYSTEM = ["duet@.service", "duet-lend.service", "duet-relay.service"]


def within(unit, writable, *command, **more):
    return start(sys.executable, unit_limits.__file__, UNITS + "/" + unit, ",".join(writable), *command, **more)


def count():
    """A program emits events."""
    return sum(stop_counting(start_counting(PROGRAM)))


def burn():
    """A program runs for 0.3 s of CPU time: some thirty samples of `profile`, which idle CPUs do not give."""
    is_(trial.run(sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass")[0], 0, "it ran")


def each_unit_scores_three_at_most():
    for unit in SYSTEM:
        status, out, err = trial.run("systemd-analyze", "security", "--offline=yes", "--no-pager",
                                     "--threshold=%d" % TENTHS_MOST, UNITS + "/" + unit)
        is_(status, 0, "%s: %s%s" % (unit, "".join(out.splitlines(True)[-1:]), err))
        with open(UNITS + "/" + unit) as f:
            ok("What remains, and why" in f.read(), "%s explains what remains" % unit)


def a_session_records_the_kernel_and_programs():
    os.mkdir(work + "/lib")
    os.mkdir(work + "/cache")
    os.mkdir(trial.runtime, 0o700)
    c = within("duet@.service", [work + "/lib", work + "/cache", trial.runtime, "/dev/shm"], duet, "collect",
               "--session", "web", "-e", "counting:*", "-k", "sched_process_*,syscall_*_getppid,profile",
               "-o", work + "/lib/all", cwd=work + "/lib")
    begins(c, "web")
    count()
    burn()
    status, out, err = trial.cmd("status", "web")
    ok(status == 0 and "bpf" in out.lower(), "BPF programs record", out + err)
    stop(c)
    out = trial.cmd("stats", "--by", "event", work + "/lib/all")[1]
    for event in "sched_process_exec", "profile", "counting:number":
        ok(event in out, "%s is recorded" % event, out)


def a_flight_recorder_writes_snapshots():
    c = within("duet@.service", [work + "/lib", work + "/cache", trial.runtime, "/dev/shm"], duet, "collect", "-q",
               "--session", "web", "--overwrite", "-e", "counting:*", "-k", "sched", "-o", work + "/lib/flight",
               cwd=work + "/lib")
    begins(c, "web")
    count()
    status, out, err = trial.cmd("snapshot", "-s", "web")
    is_(status, 0, "a snapshot: %s%s" % (out, err))
    stop(c)


def it_writes_nowhere_else():
    c = within("duet@.service", [work + "/lib", trial.runtime], duet, "collect", "-q", "-e", "*", "-o",
               work + "/other")
    status, _, err = c.end()
    ok(status == 2 and "Read-only file system" in err, "the limits are in force", err)


def members_record_by_a_confined_lender():
    """The socket is the manager's: the lender may give no file to the group."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.bind(members.SOCKET)
        os.chown(members.SOCKET, 0, members.gid)
        os.chmod(members.SOCKET, 0o660)
        s.listen(8)

        def be_systemd():
            os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)

        lender = within("duet-lend.service", [work], "/bin/sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"',
                        duet, "lend", close_fds=False, preexec_fn=be_systemd)
        args = members.as_user(0, duet, "record", "-q", "-k", "sched", "-o", work + "/u/lent", "--", "true")
        status, _, err = trial.run(*args)
        is_(status, 0, "a member records: " + err)
        ok("sched_switch" in trial.cmd("stats", "--by", "event", work + "/u/lent")[1], "the kernel")
        stop(lender)


def a_confined_relay_receives():
    """The key is readable by an ACL, as a credential of systemd."""
    secret = work + "/credentials"
    os.mkdir(secret)
    os.mkdir(work + "/relay")
    os.chown(work + "/relay", 61234, 61234)
    with open(secret + "/key", "w") as f:
        f.write("k" * 64)
    os.chown(secret + "/key", 0, 61234)
    os.chmod(secret + "/key", 0o440)
    env = dict(os.environ, CREDENTIALS_DIRECTORY=secret)
    relay = within("duet-relay.service", [work + "/relay"], duet, "relay", "-l", "127.0.0.1:0", "--output",
                   work + "/relay", "--psk", secret + "/key", env=env)
    line = relay.stdout.readline()
    port = line.split("port ")[1].split(",")[0]
    mine = work + "/key"
    with open(mine, "w") as f:
        f.write("k" * 64)
    os.chmod(mine, 0o600)
    record_counting(PROGRAM, "-q", "--no-kernel", "-e", "*", "--to", "127.0.0.1:" + port, "--psk", mine, "-o", work + "/sent")
    ok(any(files for _, _, files in os.walk(work + "/relay")), "and arrives")
    relay.end(2)
    err = trial.run(duet, "relay", "-l", "127.0.0.1:0", "--output", work + "/relay", "--psk", secret + "/key")[2]
    ok("others cannot read" in err, "elsewhere such a file is no key", err)


if not shutil.which("systemd-analyze") or not members.can_be_made() or os.uname().machine != "x86_64":
    trial.skip("no root, no tracefs or no systemd-analyze")
members.make(1)
try:
    run_cases(each_unit_scores_three_at_most, a_session_records_the_kernel_and_programs,
              a_flight_recorder_writes_snapshots, it_writes_nowhere_else, members_record_by_a_confined_lender,
              a_confined_relay_receives)
finally:
    trial.close()
    members.remove()
