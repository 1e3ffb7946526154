#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""strace.py DUET - `duet strace -i` on recordings made by hand, including malformed ones."""
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, Failed, check, run_all
from make import LOST, kernel

A, B = 7, 8


def entry(time, tid, name, **fields):
    return (time, 0, tid, "syscall_entry_" + name, fields)


def leave(time, tid, name, ret):
    return (time, 0, tid, "syscall_exit_" + name, dict(ret=ret))


def call(time, tid, name, ret, took=100, **fields):
    return [entry(time, tid, name, **fields), leave(time + took, tid, name, ret)]


def named(pid, fd, name, flags=0):
    return (10, 0, 1, "lttng_statedump_file_descriptor", dict(pid=pid, fd=fd, flags=flags, fmode=1, filename=name))


def fork(time, parent, child):
    return (time, 0, parent, "sched_process_fork", dict(parent_comm="a", parent_tid=parent, child_comm="b", child_tid=child))


def executes(time, tid, old_tid, name):
    return (time, 0, tid, "sched_process_exec", dict(filename=name, tid=tid, old_tid=old_tid))


def lines(duet, where, events, *options):
    return shown(duet, kernel(where + "/r", events), *options)


def shown(duet, recording, *options):
    """Returns the output without names of threads, which depend on other events."""
    return [without_thread(line) for line in duet.text("strace", "-i", recording, *options).splitlines()]


def without_thread(line):
    return re.sub(r"^\[pid +\d+(<[^>]*>)?\] ", "", line)


def calls_are_one_line_each_when_they_return(duet, where):
    events = [entry(1000, A, "read", fd=3, buf=4096, count=100)] + call(1100, B, "getpid", 8) + \
        [leave(3500, A, "read", -11)] + call(4000, A, "close", 0, fd=3)
    check(lines(duet, where, events, "-T", "-a1"), [
        "getpid() = 8 <0.000000100>",
        "read(3, 4096, 100) = -1 EAGAIN (Resource temporarily unavailable) <0.000002500>",
        "close(3) = 0 <0.000000100>"])
    check(shown(duet, where + "/r", "-ttt", "-a1")[1],
          "1700000000.000001 read(3, 4096, 100) = -1 EAGAIN (Resource temporarily unavailable)")
    check([line.split()[0] for line in shown(duet, where + "/r", "-r", "-a", "1")],
          ["0.000000", "0.000000", "0.000003"])
    check(shown(duet, where + "/r", "-a1", "-e", "!read,close"), ["getpid() = 8"])
    check(shown(duet, where + "/r", "-e", "%desc", "-Z", "-a1"), ["read(3, 4096, 100) = -1 EAGAIN (Resource temporarily unavailable)"])
    check(shown(duet, where + "/r", "-p", str(B), "-a1"), ["getpid() = 8"])
    text = duet.text("strace", "-i", where + "/r")
    check(re.findall(r"(?m)^\[pid +\d\] .{17,} = ", text) and all(line.index(" = ") == 39 for line in text.splitlines()), True)
    check(len(shown(duet, where + "/r", "--limit", "2")), 2)
    out = duet.text("view", "--syscalls", "--from", "1700000000.0000011", "--limit", "1", where + "/r")
    check(out.split("] ")[-1].split(" ", 1)[1], "getpid()                                = 8 <0.000000100>\n")


def descriptors_are_files_through_all_that_happens_to_them(duet, where):
    events = [named(A, 0, "/dev/null"), named(A, 4, "/dir", 0o2000000)] + \
        call(1000, A, "openat", 3, dfd=-100, filename="/etc/a b", flags=0, mode=0) + \
        call(1200, A, "openat", 5, dfd=4, filename="x", flags=0, mode=0) + \
        [fork(1400, A, B)] + call(1500, B, "read", 1, fd=3) + call(1700, A, "close", 0, fd=3) + \
        call(1900, A, "read", -9, fd=3) + [entry(2100, A, "execve", filename=99, argv=1, envp=2), executes(2150, A, A, "/bin/x"),
                                          leave(2200, A, "execve", 0)] + call(2300, A, "dup", 9, fildes=4) + \
        call(2500, A, "write", 5, fd=5)
    check(lines(duet, where, events, "-y", "-a1"), [
        'openat(AT_FDCWD, "/etc/a b", O_RDONLY) = 3</etc/a b>',
        'openat(4</dir>, "x", O_RDONLY) = 5</dir/x>',
        'read(3</etc/a b>) = 1',
        'close(3</etc/a b>) = 0',
        'read(3) = -1 EBADF (Bad file descriptor)',
        'execve("/bin/x", 1, 2) = 0',
        'dup(4) = 9',
        'write(5</dir/x>) = 5'])


def a_loss_joins_nothing_and_is_shown_in_its_place(duet, where):
    events = [entry(1000, A, "read", fd=3), LOST(2000, 0, 12), leave(3000, A, "read", 5)] + \
        [entry(4000, A, "read", fd=4), entry(5000, A, "getpid"), leave(5100, A, "getpid", 7)]
    p = duet.run("strace", "-T", "-a1", "-i", kernel(where + "/r", events))
    check([without_thread(line) for line in p.stdout.splitlines()], [
        "... 12 events lost here",
        "read(3 <unfinished ...>",
        "<... read resumed>) = 5",
        "read(4 <unfinished ...>",
        "getpid() = 7 <0.000000100>"])
    check("12 events" in p.stderr, True, p.stderr)


def the_end_and_the_beginning_may_be_missing(duet, where):
    events = [leave(1000, A, "read", 5), entry(2000, A, "futex", uaddr=16, op=128, val=2, utime=0, uaddr2=0, val3=0)]
    check(lines(duet, where, events, "-a1"), ["<... read resumed>) = 5", "futex(16, FUTEX_WAIT_PRIVATE, 2, 0 <unfinished ...>"])
    check(shown(duet, where + "/r", "-e", "status=unfinished"), ["futex(16, FUTEX_WAIT_PRIVATE, 2, 0 <unfinished ...>"])


def signals_and_deaths_are_shown(duet, where):
    def signal(time, tid, sig, code, handler):
        return (time, 0, tid, "signal_deliver", dict(sig=sig, errno=0, code=code, sa_handler=handler, sa_flags=0))

    def dies(time, tid):
        return (time, 0, tid, "sched_process_exit", dict(comm="a", tid=tid, prio=20))

    def sent(time, tid, sig, code, to):
        return (time, 0, tid, "signal_generate", dict(sig=sig, errno=0, code=code, comm="a", pid=to, group=1, result=0))
    events = [signal(1000, A, 17, 1, 4096), entry(1100, A, "rt_sigreturn"), leave(1200, A, "unknown", 4),
              signal(1300, B, 15, 0, 0), dies(1400, B), entry(1500, A, "exit_group", error_code=259), dies(1600, A)]
    check(lines(duet, where, events, "-a1"), [
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED} ---", "rt_sigreturn() = 4",
        "--- SIGTERM {si_signo=SIGTERM, si_code=SI_USER} ---",
        "+++ killed by SIGTERM +++", "exit_group(259) = ?", "+++ exited with 3 +++"])
    check(shown(duet, where + "/r", "-a1", "-e", "signal=none"), [
        "rt_sigreturn() = 4", "+++ killed by SIGTERM +++", "exit_group(259) = ?", "+++ exited with 3 +++"])
    check(shown(duet, where + "/r", "-a1", "-qq", "-e", "signal=!SIGCHLD"), [
        "rt_sigreturn() = 4", "--- SIGTERM {si_signo=SIGTERM, si_code=SI_USER} ---", "exit_group(259) = ?"])
    # A killed thread gets a SIGKILL from the kernel, for any signal sent.
    events = [sent(800, A, 17, 1, B), signal(900, B, 17, 1, 99), sent(1000, A, 10, 0, B), signal(1300, B, 9, 0, 0), dies(1400, B)]
    check(shown(duet, kernel(where + "/killed", events), "-a1"), [
        "--- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=7} ---",
        "--- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_USER, si_pid=7} ---", "+++ killed by SIGUSR1 +++"])
    events = [sent(800, A, 17, 1, B), signal(900, B, 17, 1, 99), signal(1300, B, 9, 0, 0), dies(1400, B)]
    check(shown(duet, kernel(where + "/sigkill", events), "-a1")[1:], ["+++ killed by SIGKILL +++"])


def a_call_goes_on_under_the_number_of_the_process(duet, where):
    events = [entry(1000, B, "execve", filename=99, argv=1, envp=2), executes(1500, A, B, "/bin/x"), leave(2000, A, "execve", 0)]
    check(lines(duet, where, events, "-a1", "-T"), [
        'execve("/bin/x", 1, 2 <pid changed to %d ...>' % A, "+++ superseded by execve in pid %d +++" % B,
        "<... execve resumed>) = 0 <0.000001000>"])


def a_thread_that_executes_is_left(duet, where):
    """-b execve: the program that the other thread's number stands for from then on is not shown."""
    events = call(500, A, "getpid", A) + [entry(1000, B, "execve", filename=99, argv=1, envp=2), executes(1500, A, B, "/bin/x"),
                                          leave(2000, A, "execve", 0)] + call(3000, A, "getuid", 0)
    check(lines(duet, where, events, "-a1", "-f", "-b", "execve"), [
        "getpid() = %d" % A, 'execve("/bin/x", 1, 2 <pid changed to %d ...>' % A, "+++ superseded by execve in pid %d +++" % B])


INET = bytes([2, 0, 0, 80, 127, 0, 0, 1]) + bytes(8)
INET_TEXT = '{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}'


def accepted(time, tid, ret, address):
    return (time, 0, tid, "syscall_exit_accept", dict(ret=ret, addr_bytes=address))


def pointed_to_memory_is_shown_as_far_as_recorded(duet, where):
    accepts = entry(1400, A, "accept", fd=3, upeer_sockaddr=99, upeer_addrlen=98)
    events = call(1000, A, "connect", 0, fd=3, uservaddr=99, addrlen=16, addr_bytes=INET) + \
        call(1200, A, "connect", -14, fd=3, uservaddr=99, addrlen=16, addr_bytes=b"") + \
        [accepts, accepted(1500, A, 4, INET), accepted(1700, A, -11, b"")] + \
        call(1800, A, "nanosleep", 0, rqtp=99, rmtp=98, timespec=[0, 1000]) + \
        [entry(2000, A, "execve", filename=99, argv=97, envp=96, argv_bytes=b"ls\0-l\0..."), executes(2050, A, A, "/bin/ls"),
         leave(2100, A, "execve", 0)]
    check(lines(duet, where, events, "-a1"), [
        "connect(3, %s, 16) = 0" % INET_TEXT,
        "connect(3, 99, 16) = -1 EFAULT (Bad address)",
        "accept(3, %s, 98) = 4" % INET_TEXT,
        "<... accept resumed>) = -1 EAGAIN (Resource temporarily unavailable)",
        "nanosleep({tv_sec=0, tv_nsec=1000}, 98) = 0",
        'execve("/bin/ls", ["ls", "-l", ...], 96) = 0'])
    check(lines(duet, where + "/late", [accepted(1000, A, 4, INET)], "-a1"), ["<... accept resumed>%s) = 4" % INET_TEXT])


def memory_that_a_call_writes_is_shown_when_it_returns(duet, where):
    def done(time, name, ret, **fields):
        return (time, 0, A, "syscall_exit_" + name, dict(ret=ret, **fields))
    text = '"%s"...' % (32 * "a")
    events = [entry(1000, A, "read", fd=3, buf=99, count=100), done(1100, "read", 50, buf_bytes=40 * b"a"),
              entry(1200, A, "read", fd=3, buf=99, count=100), done(1300, "read", 0, buf_bytes=b""),
              entry(1400, A, "read", fd=3, buf=99, count=100), done(1500, "read", -11, buf_bytes=b""),
              entry(1600, A, "poll", ufds=99, nfds=1, timeout_msecs=5, pollfd_bytes=bytes([3, 0, 0, 0, 1, 0, 0, 0])),
              done(1700, "poll", 1, pollfd_bytes=bytes([3, 0, 0, 0, 1, 0, 1, 0])),
              entry(1800, A, "getsockname", fd=3, usockaddr=99, usockaddr_len=98, length_bytes=bytes([128, 0, 0, 0])),
              done(1900, "getsockname", 0, addr_bytes=INET, length_bytes=bytes([16, 0, 0, 0])),
              entry(2000, A, "access", filename="0x7f00", mode=0), done(2100, "access", -2, late_bytes=b"/a\0"),
              entry(2200, A, "access", filename="0x7f00", mode=0), done(2300, "access", -14, late_bytes=b"\0"),
              entry(2400, A, "wait4", upid=-1, stat_addr=99, options=0, ru=0)]
    check(lines(duet, where, events, "-a1"), [
        "read(3, %s, 100) = 50" % text, 'read(3, "", 100) = 0', "read(3, 99, 100) = -1 EAGAIN (Resource temporarily unavailable)",
        "poll([{fd=3, events=POLLIN}], 1, 5) = 1 ([{fd=3, revents=POLLIN}])",
        "getsockname(3, %s, [128 => 16]) = 0" % INET_TEXT, 'access("/a", F_OK) = -1 ENOENT (No such file or directory)',
        'access(0x7f00, F_OK) = -1 EFAULT (Bad address)', "wait4(-1,  <unfinished ...>"])
    check(shown(duet, where + "/r", "-a1", "-s", "100")[0], 'read(3, "%s"..., 100) = 50' % (40 * "a"))
    check(shown(duet, where + "/r", "-a1", "-P", "/b"), [])


def a_text_that_was_not_read_is_an_address_and_an_empty_one_is_empty(duet, where):
    def made(time, ret, name, late):
        return [entry(time, A, "access", filename=name, mode=0),
                (time + 50, 0, A, "syscall_exit_access", dict(ret=ret, late_texts=late))]
    events = made(1000, -2, "0x7f00", b"\1\0") + made(1200, -22, "0x7f00", b"\0\0") + \
        made(1400, -2, "0x7f00", b"") + made(1600, -2, "0x7f00", b"\1/a\0") + made(1800, -14, "0x0", b"") + \
        made(2000, -2, "", b"") + made(2200, -2, 252 * "a" + "...", b"")
    enoent = " = -1 ENOENT (No such file or directory)"
    check(lines(duet, where, events, "-a1"), [
        'access("", F_OK)' + enoent, "access(0x7f00, F_OK) = -1 EINVAL (Invalid argument)",
        'access("0x7f00", F_OK)' + enoent, 'access("/a", F_OK)' + enoent,
        "access(NULL, F_OK) = -1 EFAULT (Bad address)", 'access("", F_OK)' + enoent,
        'access("%s"..., F_OK)' % (252 * "a") + enoent])


def the_kernel_wrote_no_more_than_the_caller_had_room_for(duet, where):
    events = [entry(1000, A, "accept", fd=3, upeer_sockaddr=99, upeer_addrlen=98, length_bytes=bytes([4, 0, 0, 0])),
              (1100, 0, A, "syscall_exit_accept", dict(ret=4, addr_bytes=b"\1\0/aSTALE", length_bytes=bytes([9, 0, 0, 0])))]
    check(lines(duet, where, events, "-a1"), ['accept(3, {sa_family=AF_UNIX, sun_path="/a"}, [4 => 9]) = 4'])


def constants_texts_and_structures_are_shown_in_the_requested_style(duet, where):
    stat = bytes(24) + bytes([0xa4, 0x81, 0, 0]) + bytes(20) + bytes([7]) + bytes(71)
    events = call(1000, A, "openat", -2, dfd=-100, filename="a\x01", flags=0o2000001, mode=0) + \
        [entry(1200, A, "fstat", fd=3, statbuf=99), (1300, 0, A, "syscall_exit_fstat", dict(ret=0, stat_bytes=stat))] + \
        call(1400, A, "kill", 0, pid=5, sig=9) + call(1600, A, "lseek", 0, fd=3, offset=0, whence=77)
    enoent = " = -1 ENOENT (No such file or directory)"
    check(lines(duet, where, events, "-a1"), [
        'openat(AT_FDCWD, "a\\1", O_WRONLY|O_CLOEXEC)' + enoent, "fstat(3, {st_mode=S_IFREG|0644, st_size=7, ...}) = 0",
        "kill(5, SIGKILL) = 0", "lseek(3, 0, 0x4d /* SEEK_??? */) = 0"])
    check(shown(duet, where + "/r", "-a1", "-Xraw", "-x"), [
        'openat(-100, "\\x61\\x01", 0x80001)' + enoent, "fstat(3, {st_mode=0100644, st_size=7, ...}) = 0",
        "kill(5, 9) = 0", "lseek(3, 0, 0x4d) = 0"])
    check(shown(duet, where + "/r", "-a1", "-X", "verbose", "--strings-in-hex=non-ascii-chars")[:3], [
        'openat(-100 /* AT_FDCWD */, "a\\x01", 0x80001 /* O_WRONLY|O_CLOEXEC */)' + enoent,
        "fstat(3, {st_mode=0100644 /* S_IFREG|0644 */, st_size=7, ...}) = 0", "kill(5, 9 /* SIGKILL */) = 0"])
    check(shown(duet, where + "/r", "-a1", "-v")[1].startswith("fstat(3, {st_dev=makedev(0, 0), st_ino=0, st_mode=S_IFREG|0644, "), True)
    check(shown(duet, where + "/r", "-a1", "-e", "verbose=none")[1], "fstat(3, 99) = 0")


def data_of_descriptors_is_shown_in_full_on_request(duet, where):
    events = call(1000, A, "write", 3, fd=1, buf=99, count=3, buf_bytes=b"a\nb") + \
        call(1200, A, "write", 1, fd=2, buf=99, count=1, buf_bytes=b"c")
    check(lines(duet, where, events, "-a1", "-e", "write=1"), [
        'write(1, "a\\nb", 3) = 3', " | 00000  61 0a 62                                          a.b              |",
        'write(2, "c", 1) = 1'])


def names_are_relative_to_the_working_directory_if_it_is_known(duet, where):
    def opens(time, fd, dfd, name):
        return call(time, A, "openat", fd, dfd=dfd, filename=name, flags=0, mode=0)
    events = [named(A, 0, "/dev/null")] + opens(1000, 3, -100, "x") + call(1200, A, "chdir", 0, filename="/a/b") + \
        opens(1400, 4, -100, "../x<1") + call(1600, A, "chdir", 0, filename="c") + opens(1800, 5, -100, "./y") + \
        call(2000, A, "chdir", -2, filename="/z") + opens(2200, 6, -100, "/q")
    check([x for x in lines(duet, where, events, "-y", "-a1") if x.startswith("openat")], [
        'openat(AT_FDCWD, "x", O_RDONLY) = 3<x>', 'openat(AT_FDCWD</a/b>, "../x<1", O_RDONLY) = 4</a/x\\0741>',
        'openat(AT_FDCWD</a/b/c>, "./y", O_RDONLY) = 5</a/b/c/y>', 'openat(AT_FDCWD</a/b/c>, "/q", O_RDONLY) = 6</q>'])


def late_bytes_are_shown_only_if_there_are_some(duet, where):
    path = kernel(where + "/r", [(1100, 0, A, "syscall_exit_access", dict(ret=-2, late_bytes=b"")),
                                 (1300, 0, A, "syscall_exit_access", dict(ret=-2, late_bytes=b"/a"))])
    for args in ("view",), ("export", "chrome"):
        out = duet.text(*args, path)
        check((out.count("late_bytes"), "-2" in out), (1, True), args)


def pointed_to_memory_may_be_malformed(duet, where):
    events = call(1000, A, "connect", 0, fd=3, uservaddr=99, addrlen=1, addr_bytes=b"\2") + \
        call(1200, A, "bind", 0, fd=3, umyaddr=99, addrlen=1, addr_bytes=[2, 0, 0]) + \
        call(1400, A, "nanosleep", 0, rqtp=99, rmtp=98, timespec=[1]) + \
        call(1600, A, "clock_nanosleep", 0, which_clock=0, flags=0, rqtp=99, rmtp=98, timespec=b"0123456789abcdef") + \
        call(1800, A, "sendto", 0, fd=3, addr_bytes=INET) + \
        call(2000, A, "execve", -1, filename="x", argv=99, envp=98, argv_bytes=5000 * b"y") + \
        [entry(2200, A, "getsockname", fd=3), accepted(2300, A, 4, INET)]
    check(lines(duet, where, events, "-a1"), [
        "connect(3, 99, 1) = 0", "bind(3, 99, 1) = 0", "nanosleep(99, 98) = 0", "clock_nanosleep(CLOCK_REALTIME, 0, 99, 98) = 0",
        "sendto(3) = 0", 'execve("x", ["%s"...], 98) = -1 EPERM (Operation not permitted)' % (32 * "y"),
        "getsockname(3 <unfinished ...>", "<... accept resumed>%s) = 4" % INET_TEXT])


def the_summary_counts_calls_that_returned(duet, where):
    events = call(1000, A, "read", 1, 3000) + call(5000, B, "read", -11, 1000) + call(7000, A, "getpid", 7, 1000) + \
        [entry(8000, A, "read", fd=1)]
    recording = kernel(where + "/r", events)
    env = dict(os.environ, COLUMNS="80")
    rows = [line.split() for line in duet.run("strace", "-c", "-i", recording, env=env).stdout.splitlines()]
    check(rows[2:4], [["80.00", "0.000004", "2", "2", "1", "read"], ["20.00", "0.000001", "1", "1", "getpid"]])
    check(rows[5], ["100.00", "0.000005", "1", "3", "1", "total"])
    rows = [line.split() for line in duet.run("strace", "-c", "-S", "name", "-i", recording, env=dict(env, COLUMNS="120")).stdout.splitlines()]
    check(rows[2], ["20.00", "0.000001", "1", "1", "1.0", "1.0", "1.0", "getpid"])
    check(rows[3][5:], ["1.0", "3.0", "3.0", "read"])


def malformed_recordings_are_shown_or_refused(duet, where):
    """Fields of other types, or missing; then bytes changed at random, with a fixed seed."""
    text, none = dict(fd="x", flags="y", op="z", ret="r"), {}
    events = [(10, 0, 1, "lttng_statedump_file_descriptor", dict(filename=5, pid="x")), entry(20, A, "openat", **text),
              (30, 0, A, "syscall_exit_openat", none), entry(40, A, "open", flags=-100), leave(50, A, "close", 2 ** 63),
              entry(60, A, "mmap", a=1, b="2", c=3, d=4, e=5, f=6, g=7, h=8), leave(70, A, "mmap", -1),
              (80, 0, A, "signal_deliver", none), (90, 0, A, "sched_process_exec", dict(filename=1)),
              (95, 0, A, "sched_process_fork", dict(child_tid="x")), entry(100, A, "fcntl", fd=2 ** 62, cmd=-1, arg=-1),
              (110, 0, A, "sched_process_exit", none), entry(120, A, "", x=1), leave(130, A, "", 0),
              entry(140, -5, "socket", family="x", type=-1, protocol=2 ** 60), leave(150, -5, "socket", 2 ** 40),
              entry(160, A, "accept", fd=3, upeer_sockaddr=9), accepted(170, A, 4, INET),
              entry(180, A, "execve", filename=9, argv=9, argv_bytes=b"a\0b\0"), entry(190, A, "futex", timespec=[1, 2])]
    recording = kernel(where + "/r", events)
    first = duet.text("strace", "-yYT", "-i", recording)
    check('openat("x", "y", "z"' in first, True, first)
    chance = random.Random(1)
    for name in "metadata", "cpu_0":
        whole = open(recording + "/" + name, "rb").read()
        for _ in range(60):
            wrong = bytearray(whole)
            for _ in range(chance.randrange(1, 6)):
                wrong[chance.randrange(len(wrong))] = chance.randrange(256)
            with open(recording + "/" + name, "wb") as f:
                f.write(wrong)
            p = subprocess.run([duet.path, "strace", "-yYT", "-C", "-i", recording], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=60)
            if p.returncode not in (0, 2):
                raise Failed("%s changed: status %d: %r" % (name, p.returncode, bytes(wrong)))
        with open(recording + "/" + name, "wb") as f:
            f.write(whole)


if __name__ == "__main__":
    sys.exit(run_all([calls_are_one_line_each_when_they_return, descriptors_are_files_through_all_that_happens_to_them,
                      a_loss_joins_nothing_and_is_shown_in_its_place, the_end_and_the_beginning_may_be_missing,
                      signals_and_deaths_are_shown, a_call_goes_on_under_the_number_of_the_process, a_thread_that_executes_is_left,
                      pointed_to_memory_is_shown_as_far_as_recorded,
                      memory_that_a_call_writes_is_shown_when_it_returns,
                      a_text_that_was_not_read_is_an_address_and_an_empty_one_is_empty,
                      the_kernel_wrote_no_more_than_the_caller_had_room_for,
                      constants_texts_and_structures_are_shown_in_the_requested_style,
                      data_of_descriptors_is_shown_in_full_on_request,
                      names_are_relative_to_the_working_directory_if_it_is_known,
                      late_bytes_are_shown_only_if_there_are_some, pointed_to_memory_may_be_malformed,
                      the_summary_counts_calls_that_returned, malformed_recordings_are_shown_or_refused], Duet(sys.argv[1])))
