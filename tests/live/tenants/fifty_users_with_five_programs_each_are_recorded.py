#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fifty users at once, all without a name on this machine, each with five programs: each is recorded, and status can
be read.

arguments: DUET PROGRAM LIBDUET [USERS]
"""
import collections
import json
import os
import re
import sys

from world import World, enter  # first: it finds tests/lib
import proc
from trial import duet, is_, ok, paths, run, run_cases, skip, start, until

program, library = paths(2)
USERS = int(sys.argv[4]) if len(sys.argv) > 4 else 50
PROGRAMS, FIRST = 5, 61000


def pss_kib(pid):
    m = re.search(r"^Pss:\s+(\d+)", proc.read(pid, "smaps_rollup"), re.M)
    return int(m[1]) if m else 0


def fifty_users_with_five_programs_each():
    uids = range(FIRST, FIRST + USERS)
    trace = world.work + "/many"
    c = start(duet, "collect", "-e", "tenants:*", "--all-users", "-o", trace, env=world.env())
    programs = [(uid, world.user(uid)) for uid in uids for _ in range(PROGRAMS)]
    for uid in uids:
        until(lambda: os.path.exists("/dev/shm/duet-0/session-default@%d" % uid), "user %d is served" % uid)
    last = {}
    for uid, p in programs:
        until(lambda: p.record(1) and "memfd:duet-pool" in proc.read(p.pid, "maps"), "a program of %d has joined" % uid)
        last[p.pid] = p.record(10)
    status, out, err = run(duet, "status", env=world.env())
    is_((status, err), (0, ""), "status")
    ok("applications  %d programs" % (USERS * PROGRAMS) in out, "all programs", out[:300])
    is_(len(re.findall(r"^  default@\d+ +- +%d " % PROGRAMS, out, re.M)), USERS, "a line for each user")
    is_(len(re.findall(r"^  program +\d+ ", out, re.M)), USERS * PROGRAMS, "and for each program")
    everybody = proc.descendants(c.pid) + [c.pid]
    fds = sorted(len(proc.fds(pid)) for pid in everybody)
    print("# %d processes, %d KiB (PSS), at most %d descriptors in one, half of them at most %d" % (
        len(everybody), sum(map(pss_kib, everybody)), fds[-1], fds[len(fds) // 2]))
    ok(fds[-1] < 40 + 2 * USERS and fds[len(fds) // 2] < 64, "descriptors are bounded", str(fds))
    for _, p in programs:
        p.end()
    c.terminate()
    is_(c.wait(), 0, "it ends well: " + c.stderr.so_far())
    _, out, err = run(duet, "view", "--json", "-e", "tenants:*", trace, env=world.env())
    events = [e for e in map(json.loads, out.splitlines()) if "fields" in e]
    got = collections.Counter(e["pid"] for e in events)
    is_({uid for uid in uids} - {e["fields"]["uid"] for e in events}, set(), "all users are in it: " + err)
    is_([pid for pid in last if not 10 <= got[pid] <= last[pid]], [], "with all of their programs")
    is_("LOST" in c.stderr.so_far(), False, "nothing is lost")


if not enter():
    skip("no right to make namespaces")
world = World(program, library)
run_cases(fifty_users_with_five_programs_each)
