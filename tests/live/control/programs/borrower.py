# SPDX-License-Identifier: MIT
"""A hostile borrower of tracefs instances: python3 borrower.py SOCKET UID GID, commands on its
standard input.  It is started as root and becomes that user: a user need not be able to run our Python.

    borrow        ask for an instance: "0", or the error's number and its text
    take          open all that can be had of each instance, to write too: the files that can be written; and hold
                  the locks that a living lender would hold
    ask OP PATH [TEXT]   send a message about the last instance: the error's number
    raw HEX       send bytes on the last connection
    return        close the connections, keep all else
    misuse        write what makes an instance record into each file that can be written: how many accepted it
    read          what can be read of the rings of CPUs within a moment: bytes
    map           map the rings: how many could be mapped
    crowd N       make N connections without a request, and keep them

It also tries the directory of an instance as the borrowers of earlier lenders did.  It ends with its input, or is
killed.  One line is the answer to one.
"""
import array
import ctypes
import errno
import fcntl
import mmap
import os
import select
import socket
import struct
import sys

ANSWER, MESSAGE = struct.Struct("=iIQ240s"), struct.Struct("=c119sQ4096s")
loans, writable, pipes, others, maps, connections = [], {}, [], [], [], []
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
PR_SET_DUMPABLE = 4
CPUS = range(os.cpu_count())
WANTED = ["tracing_on", "set_event", "set_event_pid", "events/enable", "events/sched/sched_switch/enable",
          "events/sched/sched_switch/filter", "events/sched/sched_switch/trigger", "buffer_size_kb", "trace_options",
          "current_tracer", "trace_marker", "trace_clock", "trace", "free_buffer", "tracing_cpumask"]
MISUSE = {"tracing_on": "1", "set_event": "sched:*", "events/enable": "1", "events/sched/sched_switch/enable": "1",
          "buffer_size_kb": "8192", "trace_marker": "noise"}


def receive(connection):
    data, ancillary, _, _ = connection.recvmsg(ANSWER.size, 1024)
    fds = array.array("i")
    for level, kind, part in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(part[:len(part) - len(part) % 4])
    if len(data) < ANSWER.size:
        return 255, "closed", list(fds)
    error, _, _, why = ANSWER.unpack(data)
    return -error, why.split(b"\0")[0].decode(), list(fds)


def borrow():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(60)
    connection.connect(sys.argv[1])
    try:
        connection.send(b"i")
        error, why, fds = receive(connection)
    except ConnectionError:
        error, why, fds = 255, "closed", []
    if error:
        connection.close()
        return "%d %s" % (error, why.replace("\n", " "))
    loans.append((connection, fds[1]))
    others.extend(fds)
    for fd in fds:
        keep_if_writable(fd)
    return "0"


def keep_if_writable(fd):
    name = os.readlink("/proc/self/fd/%d" % fd).rpartition("/")[2]
    try:
        os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY))
        writable.setdefault(name, []).append(fd)
    except OSError:
        pass  # that it cannot be opened again is no proof: it was opened to write if the kernel says so
    with open("/proc/self/fdinfo/%d" % fd) as f:
        flags = int(f.read().split("flags:")[1].split()[0], 8)
    if flags & 3 and fd not in writable.get(name, []):
        writable.setdefault(name, []).append(fd)


def ask(connection, operation, path, text=""):
    connection.send(MESSAGE.pack(operation.encode(), path.encode(), 7, text.encode()))
    error, _, fds = receive(connection)
    return error, fds


def crowd(n):
    """That many connections without a request; those that the lender closes count too."""
    for _ in range(n):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        while connection.connect_ex(sys.argv[1]) == errno.EAGAIN:
            select.select([], [], [], 0.001)
        connections.append(connection)
    return str(len(connections))


def is_new(connection):
    """Whether the lender takes messages; an earlier one closes the connection."""
    try:
        return ask(connection, "o", "tracing_on")[0] == 0
    except (OSError, ConnectionError):
        return False


def hold_lock(fd):
    """Locks the open file, as a living lender does."""
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))


def take():
    for connection, directory in loans:
        hold_lock(directory)
        for name in "options", "per_cpu", "events":
            try:
                others.append(os.open(name, os.O_RDONLY, dir_fd=directory))
                hold_lock(others[-1])
            except OSError:
                pass
        for path in WANTED:
            for flags in os.O_RDWR, os.O_WRONLY:
                try:
                    writable.setdefault(path, []).append(os.open(path, flags, dir_fd=directory))
                    break
                except OSError:
                    pass
        for cpu in CPUS:
            try:
                pipes.append(os.open("per_cpu/cpu%d/trace_pipe_raw" % cpu, os.O_RDONLY | os.O_NONBLOCK,
                                     dir_fd=directory))
            except OSError:
                pass
        if is_new(connection):
            for path in WANTED:
                others.extend(ask(connection, "o", path)[1])
            for cpu in CPUS:
                pipes.extend(ask(connection, "o", "per_cpu/cpu%d/trace_pipe_raw" % cpu)[1])
            ask(connection, "w", "buffer_size_kb", "4096")
            ask(connection, "w", "events/sched/sched_switch/enable", "1")
            ask(connection, "w", "tracing_on", "1")
        else:
            misuse()
    for fd in others:
        keep_if_writable(fd)
    return " ".join(sorted(n for n in writable if writable[n])) or "-"


def misuse():
    n = 0
    for path, fds in writable.items():
        for fd in fds:
            try:
                n += os.write(fd, MISUSE.get(path, "1").encode()) > 0
            except OSError:
                pass
    return str(n)


def read():
    poller, size = select.poll(), 0
    for fd in pipes:
        poller.register(fd)
    for _ in range(20):
        for fd in pipes:
            try:
                size += len(os.read(fd, 1 << 16))
            except OSError:
                pass
        select.select([], [], [], 0.01)
    return str(size)


def map_rings():
    for fd in pipes:  # not mmap.mmap(): it compares the size of the file
        address = libc.mmap(None, mmap.PAGESIZE, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
        if address != ctypes.c_void_p(-1).value:
            maps.append(address)
    return str(len(maps))


os.setgroups([int(sys.argv[3])])
os.setresgid(*[int(sys.argv[2])] * 3)
os.setresuid(*[int(sys.argv[2])] * 3)
libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # /proc/self is its own again
for line in sys.stdin:
    word, *rest = line.rstrip("\n").split(" ", 3)
    if word == "borrow":
        said = borrow()
    elif word == "take":
        said = take()
    elif word == "misuse":
        said = misuse()
    elif word == "read":
        said = read()
    elif word == "crowd":
        said = crowd(int(rest[0]))
    elif word == "map":
        said = map_rings()
    elif word == "ask":
        said = str(ask(loans[-1][0], *rest)[0])
    elif word == "raw":
        loans[-1][0].send(bytes.fromhex(rest[0]))
        said = "sent"
    elif word == "return":
        for c, _ in loans:
            c.close()
        loans.clear()
        said = "returned"
    print(said, flush=True)
