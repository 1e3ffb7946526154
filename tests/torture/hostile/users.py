# SPDX-License-Identifier: MIT
"""Two users with a home each, for tests of the harm that one may do to the other."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402

USER, OTHER = 65533, 65534


def become(uid):
    """-> a function that changes a child process to that user, if permitted"""
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
    """-> KiB of anonymous memory of the collector under the supervisor @pid; None without one"""
    return max([proc.field(c, "RssAnon") or 0 for c in proc.children(pid)], default=0)
