# SPDX-License-Identifier: MIT
"""Plans and calls files (docs/formats/calls.md) as bytes, for tests that play a program or check what was kept."""
import fcntl
import os
import re
import socket
import struct
import subprocess

MAGIC_CALLS, MAGIC_PLAN, MAGIC_REQUEST = b"uetcalls", b"udetplan", b"duetwant"
PATH_BYTES, THREADS_AT, AREA = 4096, 4096 + 1024 * 256 + (1 << 18) * 16, 256 << 10
WANTED_AT = 32
HEAD = "<8sIIQQQ"  # magic, version, pid, epoch, generation, wanted


def build_id(path):
    """In hexadecimal, as a plan is called."""
    out = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", out).group(1)


def epoch(runtime, session="default"):
    with open("%s/session-%s" % (runtime, session), "rb") as f:
        return struct.unpack("<QIIQ", f.read(24))[3]


def has_calls(runtime, session="default"):
    with open("%s/session-%s" % (runtime, session), "rb") as f:
        return struct.unpack("<I", f.read(36)[32:])[0]


def generation(runtime, session="default"):
    with open("%s/calls-%s/generation" % (runtime, session), "rb") as f:
        magic, number, of = struct.unpack("<8sQQ", f.read())
    assert magic == b"duetgens" and of == epoch(runtime, session), magic
    return number


class Plan:
    """The head of a plan, and the addresses of its sites."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        magic, version, size, self.generation, self.id, n, self.mode, self.depth, self.over, self.elide, _, flags, \
            self.n_sites, sites = struct.unpack("<8sIIQ20sIIIQIIIII", data[:84])
        assert magic == MAGIC_PLAN and version == 1 and size == len(data), path
        self.addresses = [struct.unpack_from("<Q", data, sites + 88 * i)[0] for i in range(self.n_sites)]
        self.has_within = flags & 1


def ask_plan(runtime, session, path, identity, size=None):
    """Plays a program: -> the collector's answer, 0 or -errno; None if it hangs up."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect("%s/sock-%s" % (runtime, session))
    raw = bytes.fromhex(identity)[:20]
    message = struct.pack("<8sII20sI", MAGIC_REQUEST, 1, len(raw), raw, 0) + path.encode().ljust(PATH_BYTES, b"\0")
    s.send(message[:size])
    answer = s.recv(64)
    s.close()
    return struct.unpack("<8si", answer[:12])[1] if answer else None


class CallsFile:
    """Plays a program that records calls: makes its file, locked while it lives."""

    def __init__(self, runtime, session, pid=None, registered=1, threads=1, suffix=""):
        self.name = "calls-%d-%d%s" % (pid or os.getpid(), os.stat("/proc/self").st_dev & 0x7fffffff, suffix)
        self.path = runtime + "/" + self.name
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.fcntl(self.fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
        os.ftruncate(self.fd, THREADS_AT + 4096 * AREA)
        head = struct.pack(HEAD, MAGIC_CALLS, 1, pid or os.getpid(), epoch(runtime, session), 1, 1)
        # clock 24 bytes, shift, mode, threshold, n_objects, n_functions, n_threads, hook_ticks, lost, registered_ns
        head += bytes(24) + struct.pack("<IIQIIIIQQ", 0, 0, 0, 0, 1, threads, 0, 0, registered)
        os.pwrite(self.fd, head + session.encode().ljust(64, b"\0") + b"player".ljust(64, b"\0"), 0)
        for i in range(threads):
            os.pwrite(self.fd, struct.pack("<IIIIIIQQ", 1000 + i, 0, 0, 0, 7, 0, 0, 5000), THREADS_AT + i * AREA)

    def limit(self, thread=0):
        return struct.unpack("<Q", os.pread(self.fd, 8, THREADS_AT + thread * AREA + 32))[0]

    def wanted(self):
        return struct.unpack("<Q", os.pread(self.fd, 8, WANTED_AT))[0]

    def collect(self):
        """The word by which the collector stops the recording of calls."""
        return struct.unpack("<I", os.pread(self.fd, 4, 240))[0]

    def die(self):
        os.close(self.fd)


# ---------------------------------------------------------------- recordings

BATCHES = 4088  # in the area of a thread


def leb(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def decoded(data):
    """-> [(function, duration, depth)] of a batch's records, and the functions of its open calls"""
    at, depth, records, opened = 0, 0, [], []
    while at < len(data):
        _, at = leb(data, at)
        duration, at = leb(data, at)
        code, at = leb(data, at)
        function, how = code >> 2, code & 3
        if function:
            if how == 3:
                depth, at = leb(data, at)
            else:
                depth += (0, -1, 1)[how]
            records.append((function, duration, depth))
        elif how == 0:
            break  # torn
        else:
            first, at = leb(data, at)
            _, at = leb(data, at)
            if how == 1:
                _, at = leb(data, at)
                opened.append(first)
    return records, opened


class Kept:
    """A calls file in a recording: the names of its functions, its unfinished batches and open calls."""

    def __init__(self, trace, name):
        with open("%s/.duet/calls/%s" % (trace, name), "rb") as f:
            self.data = data = f.read()
        self.pid, _, self.generation = struct.unpack_from("<IQQ", data, 12)
        n_objects, _, n_threads = struct.unpack_from("<III", data, 80)
        self.names = {}
        for i in range(n_objects):
            _, _, _, of, first, n, _, _, _, size = struct.unpack_from("<QQQQIIIIII", data, 4096 + 256 * i)
            identity = data[4096 + 256 * i + 56:][:size].hex()
            self.add_names(trace, identity, of, first)
        self.threads = [self.thread(THREADS_AT + i * AREA) for i in range(n_threads)]

    def add_names(self, trace, identity, of, first):
        directory = trace + "/.duet/plans/"
        for name in os.listdir(directory):
            if name.startswith(identity) and Plan(directory + name).generation == of:
                for i, text in enumerate(plan_names(directory + name)):
                    self.names[first + i] = text
                return

    def thread(self, at):
        """-> tid, sequence of the batch in use, its records, open functions from outside in"""
        tid, _, depth, current, sequence = struct.unpack_from("<IIIII", self.data, at)
        word = struct.unpack_from("<Q", self.data, at + BATCHES + 8192 * current + 8)[0]
        begin = at + BATCHES + 8192 * current + 16 + 36
        records = decoded(self.data[begin:begin + (word & 0xffff)])[0]
        frames = at + BATCHES + 2 * 8192
        opened = [struct.unpack_from("<QI", self.data, frames + 16 * i)[1] for i in range(min(depth, 2048))]
        return tid, sequence, records, opened


def plan_names(path):
    with open(path, "rb") as f:
        data = f.read()
    n_sites, sites = struct.unpack_from("<II", data, 76)
    text = struct.unpack_from("<I", data, 112)[0]
    found = []
    for i in range(n_sites):
        name = struct.unpack_from("<I", data, sites + 88 * i + 20)[0]
        found.append(data[text + name:].split(b"\0")[0].decode())
    return found
