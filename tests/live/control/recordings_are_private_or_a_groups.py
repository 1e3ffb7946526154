#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recordings: readable for their owner alone, whatever the umask, or for one group; the command keeps its umask.

arguments: DUET LIBDUET
"""
import grp
import os
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import collect, stop  # noqa: E402
from relaying import KEY, Relay, make_key  # noqa: E402
from trial import cmd, is_, ok, paths, run_cases, work  # noqa: E402

library, = paths(1)
GROUP = "daemon"  # every Debian has it
GID = grp.getgrnam(GROUP).gr_gid
os.umask(0)


def is_closed(top, what, directories, files, group=None):
    """Each file and directory of the recording has this mode, and there are some."""
    found = [top] + [os.path.join(where, name) for where, below, names in os.walk(top) for name in below + names]
    ok(len(found) > 5, what + " has files", str(found))
    for path in found:
        s = os.lstat(path)
        is_(oct(s.st_mode & 0o777), oct(directories if stat.S_ISDIR(s.st_mode) else files), "%s: mode of %s" % (what, path))
        if group is not None:
            is_(s.st_gid, group, "%s: group of %s" % (what, path))


def is_private(top, what):
    is_closed(top, what, 0o700, 0o600)


def is_the_groups(top, what):
    is_closed(top, what, 0o750, 0o640, GID)


def make_file(path):
    return ["sh", "-c", "true > %s" % path]


def a_recording_is_private_and_its_command_is_not():
    trace, made = work + "/plain", work + "/made"
    status, _, err = cmd("record", "-q", "-o", trace, "-k", "sched_switch", "--", *make_file(made))
    is_((status, err), (0, ""), "record")
    is_private(trace, "record")
    is_(oct(os.stat(made).st_mode & 0o777), "0o666", "the command has the umask of its caller")


def sessions_chunks_and_snapshots_are_private():
    trace = work + "/session"
    status, _, err = cmd("start", "-o", trace, "-k", "sched_switch", "--rotate", "request", "--compress", "zstd")
    is_(status, 0, "start: " + err)
    is_(cmd("rotate")[0], 0, "rotate")
    is_(cmd("stop")[0], 0, "stop")
    is_private(trace, "start")

    c = collect(work + "/flight", "-e", "*", "--overwrite")
    is_(cmd("snapshot")[0], 0, "snapshot")
    is_(cmd("snapshot", "-o", work + "/snapshot")[0], 0, "snapshot elsewhere")
    stop(c)
    is_private(work + "/flight", "flight recorder")
    is_private(work + "/snapshot", "snapshot")


def copies_are_private():
    trace = work + "/copied"
    is_(cmd("record", "-q", "-o", trace, "-k", "sched_switch", "--", "true")[0], 0, "record")
    for verb in (["export", "ctf", trace, "-o", work + "/export"], ["repair", trace, work + "/repaired"]):
        status, _, err = cmd(*verb)
        is_(status, 0, verb[0] + ": " + err)
        is_private(verb[-1], verb[0])


def a_relay_keeps_what_it_receives_private():
    make_key("key")
    relay = Relay(work + "/received")
    status, _, err = cmd("record", "-q", "--no-kernel", "--to", "127.0.0.1:%d" % relay.port, *KEY, "--", "true")
    is_(status, 0, "record --to: " + err)
    relay.stop()
    is_private(work + "/received", "relay")


def a_group_may_read():
    trace = work + "/group"
    status, _, err = cmd("record", "-q", "-o", trace, "--group", GROUP, "-k", "sched_switch", "--", "true")
    is_((status, err), (0, ""), "record --group")
    is_the_groups(trace, "record --group")
    c = collect(work + "/groups", "-e", "*", "--overwrite", "--group", GROUP)
    is_(cmd("snapshot")[0], 0, "snapshot")
    stop(c)
    is_the_groups(work + "/groups", "collect --group and its snapshot")


def a_group_that_does_not_exist_is_refused():
    status, _, err = cmd("record", "-o", work + "/none", "--group", "nosuchgroup", "--", "true")
    ok(status == 1 or status == 2, "refused", str(status))
    ok("--group nosuchgroup" in err and not os.path.exists(work + "/none"), "and named", err)


os.chdir(work)
run_cases(a_recording_is_private_and_its_command_is_not, sessions_chunks_and_snapshots_are_private, copies_are_private,
          a_relay_keeps_what_it_receives_private, a_group_may_read, a_group_that_does_not_exist_is_refused)
