# SPDX-License-Identifier: MIT
"""Two users with a home each, for tests of what one may do to the other."""
import os
import re

USER, OTHER = 65533, 65534


def become(uid):
    """-> what makes a child of ours that user, if we may"""
    if os.geteuid():
        return None

    def switch():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    return switch


def home(work, name, uid):
    path = work + "/" + name
    os.mkdir(path)
    if not os.geteuid():
        os.chown(path, uid, uid)
    return path


def env_of(path, library):
    return dict(os.environ, DUET_RUNTIME_DIR=path + "/run", DUET_LIBRARY=library)


def own_memory(pid):
    """-> KiB of anonymous memory of the collector whose keeper @pid is"""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        pid = int((f.read().split() or [pid])[0])
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))
