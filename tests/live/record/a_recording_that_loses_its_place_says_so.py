#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording whose directory is removed, unmounted or cannot be written says so in status, and stop exits with 1.

arguments: DUET PROGRAM LIBDUET

Small disks are mounted in a mount namespace of this test's own, so it begins once more there.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
INSIDE = "PLACE_IS_PRIVATE"
if not os.geteuid() and INSIDE not in os.environ and not subprocess.run(["unshare", "-m", "true"]).returncode:
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable] + sys.argv)
from counting import all_are_there, numbers_of, start_counting, stop_counting  # noqa: E402
from proc import kill  # noqa: E402
from recorder import collect  # noqa: E402
from trial import cmd, command_of, duet, is_, ok, paths, remarks, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
may_mount = INSIDE in os.environ


def small_disk(name, *options):
    """-> where a disk is mounted, or None"""
    disk = work + "/" + name
    os.mkdir(disk)
    if not may_mount or subprocess.run(["mount", *options, disk]).returncode:
        remarks.append("no right to mount a small disk: %s was not tried" % name)
        return None
    return disk


def tmpfs(name):
    return small_disk(name, "-t", "tmpfs", "-o", "size=8m", "tmpfs")


def unmount(disk):
    subprocess.run(["umount", "-l", disk], check=True)


def status_shows(pattern):
    return until(lambda: re.search(r"NOT WRITTEN +[^\n]*(?:%s)[^\n]*" % pattern, cmd("status")[1]),
                 "status shows NOT WRITTEN: " + pattern)[0]


def status_is_well():
    until(lambda: "NOT WRITTEN" not in cmd("status")[1], "status is well again")


def stop(status, pattern):
    """Ends the session.  @status: of duet stop.  -> its messages"""
    got, _, told = cmd("stop")
    is_(got, status, "status of duet stop: " + told)
    ok(re.search(pattern, told), "its message: " + pattern, told)
    return told


def fill(disk):
    """Leaves no byte there.  -> the file that takes the room"""
    with open(disk + "/filler", "wb", buffering=0) as f:
        try:
            while f.write(bytes(65536)):
                pass
        except OSError:
            pass
        try:
            while f.write(bytes(1)):
                pass
        except OSError:
            pass
    return disk + "/filler"


def a_removed_directory_is_reported():
    trace = work + "/removed"
    c = collect(trace, "-e", "counting:*", "-b", "1M")
    p = start_counting(program)
    shutil.rmtree(trace)
    ok(trace in status_shows("was removed"), "with its name")
    until(lambda: int(re.search(r'"lost":(\d+)', cmd("status", "--json")[1])[1]), "what does not fit the buffers is counted")
    stop_counting(p)
    told = stop(1, "was removed while it was written")
    ok("LOST" in told and "NOT WRITTEN" in told, "what is missing is counted", told)
    is_(c.wait(), 1, "the collector's own status")


def a_removed_directory_ends_record_with_1():
    trace = work + "/removed_too"
    p = start(duet, "record", "--no-kernel", "-o", trace, "--", program)
    is_(p.stdout.readline(), "ready\n", "the program records")
    shutil.rmtree(trace)
    told = until(lambda: re.search(r"NOT WRITTEN.*was removed", cmd("status")[1]), "status shows it")
    kill(command_of(p, program), signal.SIGTERM)
    status, _, err = p.end()
    ok(told and status == 1 and "was removed while it was written" in err, "duet record ends with 1", "%s: %s" % (status, err))


def an_unmounted_directory_is_reported():
    disk = tmpfs("unmounted")
    if not disk:
        return
    c = collect(disk + "/trace", "-e", "counting:*")
    p = start_counting(program)
    unmount(disk)
    status_shows("was unmounted")
    stop_counting(p)
    stop(1, "was unmounted while it was written")
    is_(c.wait(), 1, "the collector's own status")


def a_full_disk_is_reported_and_loses_nothing_if_room_comes_back():
    disk = tmpfs("full")
    if not disk:
        return
    c = collect(disk + "/trace", "-e", "counting:*", "-b", "64M", "--disk-free", "0")
    p = start_counting(program)
    filler = fill(disk)
    status_shows("No space left")
    counts = stop_counting(p)
    os.unlink(filler)
    subprocess.run(["mount", "-o", "remount,size=256m", disk], check=True)
    status_is_well()
    told = stop(0, "none lost")
    ok("No space left" in told, "it is reported at the end, too", told)
    is_(c.wait(), 0, "the collector's own status")
    all_are_there(numbers_of(cmd("view", disk + "/trace")[1]), counts, "a disk that was full")
    unmount(disk)


def a_disk_that_stays_full_is_reported():
    disk = tmpfs("stays_full")
    if not disk:
        return
    c = collect(disk + "/trace", "-e", "counting:*", "-b", "1M", "--disk-free", "0")
    p = start_counting(program)
    fill(disk)
    status_shows("No space left")
    stop_counting(p)
    stop(1, "No space left")
    is_(c.wait(), 1, "the collector's own status")
    unmount(disk)


def a_file_system_that_fails_is_reported():
    """Linux refuses to remount it read-only while files are written.  So it fails, as after an error of its disk."""
    image = work + "/image"
    with open(image, "wb") as f:
        f.truncate(32 << 20)
    if not may_mount or not shutil.which("mkfs.ext4") or subprocess.run(["mkfs.ext4", "-q", image]).returncode:
        remarks.append("no mkfs.ext4: a failing file system was not tried")
        return
    disk = small_disk("fails", "-o", "loop", image)
    if not disk:
        return
    c = collect(disk + "/trace", "-e", "counting:*", "-b", "1M", "--disk-free", "0")
    p = start_counting(program)
    subprocess.run(["mount", "-o", "remount,abort", disk], check=True)
    status_shows("read-only|Read-only|Input/output error")
    stop_counting(p)
    stop(1, "read-only|Read-only|Input/output error")
    is_(c.wait(), 1, "the collector's own status")
    unmount(disk)


run_cases(a_removed_directory_is_reported, a_removed_directory_ends_record_with_1, an_unmounted_directory_is_reported,
          a_full_disk_is_reported_and_loses_nothing_if_room_comes_back, a_disk_that_stays_full_is_reported,
          a_file_system_that_fails_is_reported)
