#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording made to harm its readers harms none: every verb that reads ends by itself, with a status of its own and a few
lines, within limits of memory, processor time and time.

    recordings.py DUET [CASE]...       TEST_CASES=... chooses as well

Each case is a directory with a sound recording and something beside it.  Exit: 0, 1 failure.
"""
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../lib", HERE + "/../analysis"]
import make  # noqa: E402
from proc import field  # noqa: E402
from trial import duet, fail, is_, ok, run_cases, work  # noqa: E402

CPU_SECONDS, MEMORY_KIB, SECONDS, LINES = 20, 1 << 20, 100, 60
T = 10**6
GOOD_EVENTS = 4
os.chdir(work)

REPORTS = ("cpu", "sched", "syscalls", "io", "locks", "heap", "irq", "why", "functions")
EXPORTS = ("ctf", "chrome", "perfetto", "firefox", "speedscope", "folded", "svg", "csv", "cyg-profile")
FEW = (["view", "R"], ["stats", "R"], ["repair", "R", "NEW"])
ALL = FEW + (["view", "--json", "R"], ["view", "--csv", "R"], ["view", "--syscalls", "R"], ["strace", "-i", "R"],
             ["live", "R"], ["report", "latency", "a", "b", "R"], ["graph", "R"], ["diff", "R", "R"],
             ["script", "-e", "probe event(\"*\") { n++ }", "R"], ["ui", "--html", "NEW", "R"], ["send", "--to", "localhost:1", "R"],
             *(["report", r, "R"] for r in REPORTS), *(["export", f, "-o", "NEW", "R"] for f in EXPORTS))


def good(name, host="host", base=1):
    """A kernel half and an application half, GOOD_EVENTS events of shop:order."""
    d = work + "/" + name
    os.makedirs(d)
    make.kernel(d + "/kernel", [make.switch(T * base, 0, ("a", 7), ("b", 8)), make.switch(2 * T * base, 0, ("b", 8), ("a", 7)),
                                (3 * T, 0, 7, "syscall_entry_read", dict(fd=3, buf=1, count=5)),
                                (4 * T, 0, 7, "syscall_exit_read", dict(ret=5))])
    make.ust(d + "/ust", [(T * i, 0, (10, 11), "shop:order", dict(id=i)) for i in range(1, GOOD_EVENTS + 1)])
    for half in "kernel", "ust":
        with open("%s/%s/metadata" % (d, half), "r+") as f:
            text = f.read().replace('hostname = "host"', 'hostname = "%s"' % host)
            f.seek(0)
            f.write(text)
    os.mkdir(d + "/.duet")
    return d


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    os.setpgid(0, 0)


def read(arguments, recording):
    """-> (status, output, messages) of a reader within the limits; a signal or a hang is a failure"""
    new = work + "/new"
    argv = [duet] + [recording if a == "R" else new if a == "NEW" else a for a in arguments]
    what = "%s: %s" % (os.path.basename(recording), " ".join(arguments))
    with open(work + "/out", "w+", errors="replace") as out, open(work + "/err", "w+", errors="replace") as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limits)
        end = time.monotonic() + SECONDS
        while p.poll() is None:
            memory = field(p.pid, "RssAnon") or 0
            if memory > MEMORY_KIB or time.monotonic() > end:
                os.killpg(p.pid, signal.SIGKILL)
                fail("%s: it does not end, or takes too much memory: %d KiB" % (what, memory))
            time.sleep(0.003)
        out.seek(0)
        err.seek(0)
        out, err = out.read(1 << 24), err.read(1 << 20)
    if os.path.isdir(new):
        shutil.rmtree(new)
    elif os.path.exists(new):
        os.unlink(new)
    ok(p.returncode in (0, 1, 2), "%s: status %d" % (what, p.returncode), err[-600:])
    ok(len(err.splitlines()) <= LINES and "Assertion" not in err, what + ": its messages", err[-600:])
    ok(p.returncode == 0 or err.strip(), what + ": it failed and said nothing")
    return p.returncode, out, err


def all_readers(recording, verbs=ALL):
    for arguments in verbs:
        read(arguments, recording)


def still_there(recording, wanted=GOOD_EVENTS, message=None):
    """The sound part is shown all the same, and the rest is mentioned."""
    _, out, err = read(["view", "--json", "R"], recording)
    n = sum('"shop:order"' in line for line in out.splitlines())
    is_(n, wanted, "%s: the sound events; messages: %s" % (recording, err[-500:]))
    if message:
        ok(message in err, "%s: the message" % recording, err)


# ---------------------------------------------------------------- cases

def links_lead_nowhere():
    """Ten links to the directory itself, each followed 16 deep, would be 10^16 directories; others name files that are not
    the recording's."""
    r = good("links")
    for i in range(10):
        os.symlink(".", "%s/again%d" % (r, i))
    os.symlink("/", r + "/root")
    os.symlink("nowhere", r + "/nowhere")
    os.mkdir(r + "/other")
    os.symlink("/etc/passwd", r + "/other/metadata")
    os.symlink("/etc/passwd", r + "/ust/cpu_1")
    os.symlink("/dev/zero", r + "/ust/cpu_2")
    for name in "clock", "clock-relay", "maps", "kallsyms", "relay", "stream", "finished", "ui-index", "names-index":
        os.symlink("/dev/zero", r + "/.duet/" + name)
    still_there(r, message="a link, which is not followed")
    for arguments in ALL:
        _, out, err = read(arguments, r)
        ok("root:" not in out + err, "no bytes of /etc/passwd: " + " ".join(arguments), (out + err)[-300:])


def special(r, place):
    """A FIFO, a device and a socket at each name of @place."""
    for i, name in enumerate(place):
        path = "%s/%s" % (r, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if i % 3 == 0 or os.geteuid():
            os.mkfifo(path)
        elif i % 3 == 1:
            os.mknod(path, 0o020666, os.makedev(1, 5))  # as /dev/zero
        else:
            s = socket.socket(socket.AF_UNIX)
            here = os.getcwd()
            os.chdir(os.path.dirname(path))
            s.bind(os.path.basename(path))
            os.chdir(here)
            s.close()


SIDE = [".duet/" + n for n in ("clock", "clock-relay", "maps", "maps-1000", "kallsyms", "relay", "stream", "finished", "ui-index",
                               "names-index", "log", "calls/1-2", "calls/3-4", "calls/5-6", "plans/aa", "plans/bb", "plans/cc")]


def fifos_devices_and_sockets_are_no_files():
    for turn in range(3):  # each name is each kind once
        r = good("special%d" % turn)
        names = SIDE + ["ust/cpu_%d" % i for i in range(1, 4)] + ["ust/index/cpu_0.idx", "ust/lane_0.zst", "x/metadata", "y/metadata.zst"]
        special(r, names[turn:] + names[:turn])
        still_there(r)
        all_readers(r, FEW if turn else ALL)


def clocks_of_several_hosts_are_files():
    """Only then are the readings of clocks looked at."""
    r = good("hosts")
    os.rename(good("hosts-b", host="other"), r + "/b")
    for i, place in enumerate((r, r + "/b")):
        os.makedirs(place + "/.duet", exist_ok=True)
        os.mkfifo(place + "/.duet/clock-relay")
        os.mkfifo(place + "/.duet/clock")
    still_there(r, 2 * GOOD_EVENTS)
    for place in (r, r + "/b"):
        for name in "clock", "clock-relay":
            os.unlink("%s/.duet/%s" % (place, name))
            with open("%s/.duet/%s" % (place, name), "w") as f:
                f.truncate(1 << 40)
    all_readers(r, FEW)


def holes_cost_neither_time_nor_memory():
    """A terabyte that is not there: behind a packet, before one, and in each file beside."""
    r = good("holes")
    with open(r + "/ust/cpu_0", "rb") as f:
        packet = f.read()
    with open(r + "/ust/cpu_1", "wb") as f:
        f.truncate(1 << 40)
    with open(r + "/ust/cpu_2", "wb") as f:
        f.write(b"garbage" * 1000)
        f.truncate(1 << 29)
        f.seek(1 << 29)
        f.write(packet)
    os.makedirs(r + "/ust/index")
    for name in SIDE + ["ust/index/cpu_0.idx", "ust/lane_0.zst"]:
        os.makedirs(os.path.dirname("%s/%s" % (r, name)), exist_ok=True)
        with open("%s/%s" % (r, name), "w") as f:
            f.truncate(1 << 40)
    still_there(r, 2 * GOOD_EVENTS)  # those behind the hole too
    all_readers(r)


def metadata(r, text):
    with open(r + "/ust/metadata") as f:
        before = f.read()
    with open(r + "/ust/metadata", "w") as f:
        f.write(before)
        for piece in text:
            f.write(piece)


def long_metadata_ends():
    nested = lambda n: ["event { name = \"deep\"; id = 7; stream_id = 0; fields := "] + ["struct { "] * n + ["int32_t x;"] + ["} a;"] * n + ["};\n"]
    doubled = ["struct s0 { uint8_t a; };\n"] + ["struct s%d { struct s%d a; struct s%d b; };\n" % (i, i - 1, i - 1) for i in range(1, 40)] + \
        ["event { name = \"twice\"; id = 8; stream_id = 0; fields := struct { struct s39 a; }; };\n"]
    many = ["event { name = \"e%d\"; id = %d; stream_id = 0; fields := struct { uint8_t _a; }; };\n" % (i, i) for i in range(10, 67000)]
    long_name = ["event { name = \"%s\"; id = 9; stream_id = 0; fields := struct { uint8_t %s; }; };\n" % ("n" * (1 << 16), "f" * (1 << 16))]
    fields = ["event { name = \"wide\"; id = 6; stream_id = 0; fields := struct {"] + ["uint8_t _f%d; " % i for i in range(100000)] + ["}; };\n"]
    empty = ["event { name = \"empty\"; id = 5; stream_id = 0; fields := struct { struct { } _a[1099511627776]; uint8_t _b[4294967295][4294967295]; }; };\n"]
    chain = ["typealias uint8_t := t0;\n"] + ["typealias t%d := t%d;\n" % (i, i + 1) for i in range(30000)]
    for name, text in (("nested", nested(30000)), ("doubled", doubled), ("many", many), ("long", long_name), ("wide", fields),
                       ("empty", empty), ("chain", chain), ("comment", ["/*" + "x" * (1 << 20)] * 16), ("open", ["{" * (1 << 20)])):
        r = good("metadata-" + name)
        metadata(r, text)
        still_there(r)
        all_readers(r, FEW[1:])
    r = good("metadata-large")
    os.truncate(r + "/ust/metadata", 1 << 30)
    all_readers(r)


def long_json_metadata_ends():
    head = '\x1e{"type":"preamble","version":2}\n'
    for name, text in (("nested", head + "\x1e" + "[" * 10**4), ("object", head + "\x1e" + '{"a":' * 10**5), ("number", head + "\x1e" + "1" * 10**6),
                       ("text", head + '\x1e{"type":"' + "t" * 10**6 + '"}\n'), ("many", head + '\x1e{"type":"event-record-class"}\n' * 10**5)):
        r = good("json-" + name)
        with open(r + "/ust/metadata", "w") as f:
            f.write(text)
        still_there(r, 0)
        all_readers(r, FEW[1:])


def zstd(data):
    with open(work + "/plain", "wb") as f:
        f.write(data)
    return subprocess.run(["zstd", "-q", "-c", "-1", work + "/plain"], stdout=subprocess.PIPE, check=True).stdout


def few_compressed_bytes_do_not_become_many():
    """Some hundred kilobytes that claim to be gigabytes: zeros, one packet, and the smallest packets."""
    if subprocess.run(["sh", "-c", "command -v zstd >/dev/null"]).returncode:
        print("no zstd(1): the case of compressed files is left out")
        return
    size = 64 << 20
    same = zstd(b"\xff" * size)
    head = struct.pack("<I", 0xC1FC1FC1) + make.UUID + struct.pack("<I", 0)
    whole = 40 * size
    one = head + struct.pack("<6QI", T, 9 * T, whole * 8, whole * 8, 0, 0, 1)
    small = (head + struct.pack("<6QI", T, T, 76 * 8, 76 * 8, 0, 0, 1)) * (size // 76)
    r = good("bombs")
    with open(r + "/ust/cpu_1.zst", "wb") as f:
        f.write(same * 40)
    with open(r + "/ust/cpu_2.zst", "wb") as f:
        f.write(zstd(one + b"\xff" * (size - len(one))) + same * 39)
    with open(r + "/ust/cpu_3.zst", "wb") as f:
        f.write(zstd(small) * 10)
    os.mkdir(r + "/x")
    with open(r + "/x/metadata.zst", "wb") as f:
        f.write(same * 40)
    still_there(r)
    all_readers(r, FEW[:2])


def many_files_and_directories_end():
    r = good("many")
    for i in range(4000):
        open("%s/ust/s%d" % (r, i), "w").close()
    for i in range(500):
        os.makedirs("%s/d%d" % (r, i))
        os.link(r + "/ust/metadata", "%s/d%d/metadata" % (r, i))
    deep = r
    for i in range(60):
        deep += "/deep"
    os.makedirs(deep)
    still_there(r)
    all_readers(r, FEW + (["live", "R"],))


def a_file_that_is_cut_while_it_is_read_ends_no_reader():
    """It waits for its full pipe, so the file is cut in the middle of reading."""
    make.ust(work + "/long/ust", [(T + i, 0, (10, 11), "shop:order", dict(id=i)) for i in range(100000)])
    for n, arguments in enumerate((["view"], ["view", "--json"], ["view", "--csv"], ["export", "csv", "-o", "/dev/stdout"],
                                   ["live"], ["script", "-e", 'probe event("shop:order") { printf("%d a line of some bytes\\n", $id) }'])):
        r = work + "/cut%d" % n
        shutil.copytree(work + "/long", r)
        p = subprocess.Popen([duet, *arguments, r], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = p.stdout.read(1)
        os.truncate(r + "/ust/cpu_0", 4096)
        out, err = p.communicate(timeout=SECONDS)
        what = " ".join(arguments)[:60]
        ok(first and p.returncode in (1, 2), "%s: status %s" % (what, p.returncode), err.decode()[-300:])
        ok(b"a file was cut while it was read" in err, what + ": the message", err.decode()[-300:])


cases = (links_lead_nowhere, fifos_devices_and_sockets_are_no_files, clocks_of_several_hosts_are_files, holes_cost_neither_time_nor_memory,
         long_metadata_ends, long_json_metadata_ends, few_compressed_bytes_do_not_become_many, many_files_and_directories_end,
         a_file_that_is_cut_while_it_is_read_ends_no_reader)
run_cases(*cases)
