#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""io.py DUET - `duet report io` on recordings made by hand."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, row, run_all
from make import EPOCH, LOST, kernel, ust

A, B = ("a", 7), ("b", 8)
DISK = 8 << 20 | 1


def call(time, who, name, ret, took=100, **fields):
    return [(time, 0, who[1], "syscall_entry_" + name, fields),
            (time + took, 0, who[1], "syscall_exit_" + name, dict(ret=ret))]


def named(who, fd, name):
    return (10, 0, 1, "lttng_statedump_file_descriptor", dict(pid=who[1], fd=fd, flags=0, fmode=1, filename=name))


def issue(time, sector, n, rwbs="R", cpu=0):
    return (time, cpu, 7, "block_rq_issue", dict(dev=DISK, sector=sector, nr_sector=n, bytes=n * 512, rwbs=rwbs))


def complete(time, sector, n, rwbs="R", error=0, cpu=0):
    return (time, cpu, 7, "block_rq_complete", dict(dev=DISK, sector=sector, nr_sector=n, error=error, rwbs=rwbs))


def report(duet, where, events, *options):
    return duet.json("report", "io", *options, kernel(where + "/r", events))


def transfers_belong_to_files_that_the_dump_names(duet, where):
    r = report(duet, where, [named(A, 3, "/var/log/x"), named(B, 4, "/var/log/x")] +
               call(1000, A, "read", 4096, fd=3) + call(2000, B, "pread64", 100, 300, fd=4) +
               call(3000, A, "write", 7, fd=1))
    f = row(r["files"], file="/var/log/x")
    check((f["direction"], f["n"], f["bytes"], f["total_ns"], f["max_ns"]), ("read", 2, 4196, 400, 300))
    f = row(r["files"], file="fd 1")
    check((f["direction"], f["n"], f["bytes"], f["pid"]), ("write", 1, 7, 7))
    check((r["bytes_read"], r["bytes_written"], r["n_transfers"]), (4196, 7, 3))
    check([(s["from_bytes"], s["n"]) for s in r["read_sizes"] if s["n"]], [(64, 1), (4096, 1)])
    s = r["slowest"][0]
    check((s["duration_ns"], s["time_ns"] - EPOCH, s["call"], s["file"], s["bytes"]),
          (300, 2000, "pread64", "/var/log/x", 100))


def descriptors_are_followed_through_open_dup_fork_and_close(duet, where):
    r = report(duet, where, [named(A, 0, "/dev/null")] + call(1000, A, "openat", 3, dfd=-100) +
               call(1200, A, "dup2", 9, oldfd=0, newfd=9) +
               [(1400, 0, 7, "sched_process_fork", dict(parent_comm="a", parent_tid=7, child_comm="b", child_tid=8))] +
               call(1500, B, "read", 10, fd=9) + call(1700, A, "read", 20, fd=3) + call(1900, A, "close", 0, fd=3) +
               call(2100, A, "read", 30, fd=3))
    check(sorted((f["file"], f["bytes"]) for f in r["files"]),
          [("/dev/null", 10), ("fd 3", 30), ("fd 3 (openat)", 20)])
    hint = "--kernel-backend bpf"  # printed where names are missing that this backend records
    check(hint in duet.text("report", "io", where + "/r"), True)
    check(hint in duet.text("report", "io", kernel(where + "/named", [named(A, 3, "/x")] + call(1000, A, "read", 1, fd=3))), False)


def requests_are_recorded_as_letters_or_as_lttngs_bits(duet, where):
    kinds = [("R", 4), ("RA", 12), ("WS", 33), ("FWFS", 1569), ("D", 2), ("DE", 130), ("F", 256), ("N", 0)]

    def made(name, which):
        events = []
        for i, kind in enumerate(kinds):
            events += [issue(1000 + i * 100, 8 * i, 8, kind[which]), complete(1050 + i * 100, 8 * i, 8, kind[which])]
        return kernel(where + "/" + name, events)

    letters, bits = made("letters", 0), made("bits", 1)
    check(duet.json("report", "io", bits)["devices"], duet.json("report", "io", letters)["devices"])
    lines = duet.text("view", "-e", "block_rq_issue", bits).splitlines()
    check([re.search(r"rwbs = (\w+: \d+)", line)[1] for line in lines], ["%s: %d" % kind for kind in kinds])
    check(len(duet.text("view", "-f", 'rwbs == "WS"', bits).splitlines()), 2)
    script = 'probe ioscheduler.elv_next_request { if (rw) printf("%s\\n", rwbs) }'
    for recording in letters, bits:
        check(duet.text("script", "-e", script, "-r", recording).split(), ["WS", "FWFS"])


def terminal(duet, columns, *argv):
    """Returns the output on a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 50, columns, 0, 0))
    p = subprocess.Popen([duet.path, *argv], stdin=slave, stdout=slave, stderr=subprocess.DEVNULL,
                         env={**os.environ, "DUET_PAGER": ""})
    os.close(slave)
    output = b""
    try:
        while True:
            output += os.read(master, 65536)
    except OSError:
        pass
    os.close(master)
    check(p.wait(), 0)
    return output.decode().replace("\r\n", "\n")


def long_names_are_cut_in_the_middle_where_a_terminal_ends(duet, where):
    """Only there: in a file the full name can be searched."""
    name = "/begin/" + "\u00e4\x85x" * 60 + "/the-file-itself"  # with a control character, which is escaped
    path = kernel(where + "/r", [named(A, 3, name)] + call(1000, A, "read", 10, fd=3))
    check(name.replace("\x85", "\\xc2\\x85") in duet.text("report", "io", path), True)
    lines = [l for l in terminal(duet, 200, "report", "io", path).splitlines() if "the-file-itself" in l]
    check(len(lines) > 0, True, "shown")
    for l in lines:
        check((len(l) <= 200, "/begin/" in l, ".." in l, any(ord(c) in range(0x80, 0xa0) for c in l)), (True, True, True, False), l)
    wide = terminal(duet, 1200, "report", "io", path)
    check((".." in wide, "/begin/" in wide), (False, True))


def a_copy_is_a_read_and_a_write(duet, where):
    r = report(duet, where, call(1000, A, "sendfile", 500, out_fd=5, in_fd=4, offset=0, count=500))
    check(sorted((f["file"], f["direction"], f["bytes"]) for f in r["files"]),
          [("fd 4", "read", 500), ("fd 5", "write", 500)])


def errors_move_nothing_and_not_ready_is_no_error(duet, where):
    r = report(duet, where, call(1000, A, "read", -11, fd=3) + call(1200, A, "read", -5, fd=3) +
               call(1400, A, "read", 1, fd=3) + [(1600, 0, 7, "syscall_entry_read", dict(fd=3))])
    f = r["files"][0]
    check((f["n"], f["bytes"], f["n_errors"], f["n_again"], r["n_open"]), (1, 1, 1, 1, 1))


def by_process_and_in_a_part_of_the_recording(duet, where):
    events = call(1000, A, "read", 1, fd=3) + call(2000, A, "read", 2, fd=3) + call(3000, B, "fsync", 0, fd=3)
    r = report(duet, where, events, "--by", "process")
    check([(p["pid"], p["direction"], p["n"], p["bytes"]) for p in r["processes"]],
          [(7, "read", 2, 3), (8, "sync", 1, 0)])
    r = duet.json("report", "io", "--from", "1700000000.000001900", "--to", "1700000000.000002500", where + "/r")
    check((r["n_transfers"], r["bytes_read"]), (1, 2))


def no_transfer_spans_a_loss(duet, where):
    a, b = call(1000, A, "read", 1, fd=3)
    r = report(duet, where, [a, LOST(1050, 0, 1), b])
    check((r["n_transfers"], r["n_open"], r["lost_events"]), (0, 1, 1))


def requests_have_latency_and_depth(duet, where):
    """Two in flight from 1200 to 1500, one before and after."""
    r = report(duet, where, [issue(1000, 8, 8), issue(1200, 16, 8), complete(1500, 8, 8), complete(1700, 16, 8),
                             issue(1700, 64, 16, "WS"), complete(2000, 64, 16, "WS", -5), issue(2100, 99, 1),
                             complete(2200, 1234, 2, "W"), (2300, 0, 7, "block_getrq", dict(dev=DISK))])
    d = row(r["devices"], direction="read")
    check((d["device"], d["n"], d["bytes"], d["min_ns"], d["max_ns"], d["n_open"]), ("8:1", 2, 8192, 500, 500, 1))
    d = row(r["devices"], direction="write")
    check((d["n"], d["bytes"], d["total_ns"], d["n_errors"]), (1, 8192 + 1024, 300, 1))
    check(r["n_headless_requests"], 1)
    check((r["queues"][0]["depth_max"], round(r["queues"][0]["depth_mean"] * 1300)), (2, 200 + 600 + 200 + 300 + 200))


def a_flush_ends_with_another_sector(duet, where):
    """Issued for sector 0; then the write that asked for it completes, without sectors and without having been issued."""
    end = 2**63 - 1
    r = report(duet, where, [issue(1000, 0, 0, "FF"), complete(1300, end, 0, "FF"), complete(1310, 0, 0, "WS"),
                             issue(2000, 0, 0, "FF"), issue(2050, 8, 8, "W"), complete(2100, end, 0, "FF"),
                             complete(2110, 0, 0, "WS"), complete(2250, 8, 8, "W")])
    sync, write = row(r["devices"], direction="sync"), row(r["devices"], direction="write")
    check((sync["n"], sync["n_open"], sync["min_ns"], sync["max_ns"]), (2, 0, 100, 300))
    check((write["n"], write["n_open"], write["min_ns"]), (1, 0, 200))
    check((r["n_headless_requests"], r["queues"][0]["depth_max"]), (0, 2))


def disks_have_the_names_of_the_state_dump(duet, where):
    """The state dump may come after the first events, or lie before the selected range."""
    dump = [(1050, 0, 7, "lttng_statedump_block_device", dict(dev=DISK, diskname="sda1")),
            (1060, 0, 7, "lttng_statedump_block_device", dict(dev=DISK + 1, diskname="other"))]
    r = report(duet, where, [issue(1000, 8, 8), *dump, complete(1500, 8, 8)])
    check([(d["device"], d["name"]) for d in r["devices"]], [("8:1", "sda1")])
    check([(d["device"], d["name"]) for d in r["queues"]], [("8:1", "sda1")])
    check("sda1" in duet.text("report", "io", where + "/r"), True)
    kernel(where + "/p", [*dump, issue(2000, 8, 8), complete(2500, 8, 8)])
    r = duet.json("report", "io", "--from", "1700000000.0000015", where + "/p")
    check([d["name"] for d in r["devices"]], ["sda1"])
    kernel(where + "/n", [issue(1000, 8, 8), complete(1500, 8, 8)])
    check([d["name"] for d in duet.json("report", "io", where + "/n")["devices"]], [""])


def missing_events_are_reported_with_a_remedy(duet, where):
    path = kernel(where + "/r", call(1000, A, "read", 1, fd=3))
    check("-k block" in duet.text("report", "io", path), True)
    ust(where + "/u", [(1000, 0, (1, 1), "shop:order", dict(id=1))])
    check("duet record -k syscalls" in duet.run("report", "io", where + "/u", status=2).stderr, True)


if __name__ == "__main__":
    sys.exit(run_all([v for k, v in list(globals().items()) if "_" in k and callable(v) and k != "run_all"
                      and not k.startswith("__")], Duet(sys.argv[1])))
