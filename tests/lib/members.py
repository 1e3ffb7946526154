# SPDX-License-Identifier: MIT
"""A group that may record the kernel, its users, and a lender for them.  For root; see `duet lend`.

    members.make(2)                     the group, and two users in it: members.uids
    members.lend("--own-processes")     a lender at DUET_LENDER
    members.as_user(0, duet, "record")  the words that run a command as the first user
    members.remove()                    at the end, after trial.close()
"""
import os
import shutil

import trial
from trial import duet, is_, start, until, work

GROUP = "duet-g%d" % os.getpid()
SOCKET = work + "/lend.sock"
names, uids = [], []
gid = -1
os.environ["DUET_LENDER"] = SOCKET


def can_be_made():
    return not os.geteuid() and shutil.which("setpriv") and not trial.cmd("list", "-k")[0]


def run_unlocked(*args):
    """-> as trial.run().  The tools give up after some seconds if another test changes users meanwhile."""
    def result():
        r = trial.run(*args)
        return r if "cannot lock" not in r[2] else None
    return until(result, " ".join(args) + " has its lock")


def must(*args):
    status, out, err = run_unlocked(*args)
    is_(status, 0, "%s: %s" % (" ".join(args), err))
    return out


def make(n):
    """Also a directory that the users may write: u."""
    global gid
    must("groupadd", "-r", GROUP)
    gid = int(must("getent", "group", GROUP).split(":")[2])
    for i in range(n):
        names.append("duet-u%d-%d" % (os.getpid(), i))
        must("useradd", "-r", "-M", "-N", "-g", GROUP, names[-1])
        uids.append(int(must("id", "-u", names[-1])))
    os.chmod(work, 0o755)
    os.mkdir(work + "/u")
    os.chmod(work + "/u", 0o777)
    for uid in uids:
        os.mkdir(runtime_of(uid))
        os.chown(runtime_of(uid), uid, gid)


def runtime_of(uid):
    return "%s/u/run-%d" % (work, uid)


def remove():
    for tool, some in ("userdel", names), ("groupdel", [GROUP]):
        for name in some:
            run_unlocked(tool, name)


def as_uid(uid, *args, member=True):
    groups = ["--groups", str(gid)] if member else ["--clear-groups"]
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), *groups, "env",
            "DUET_RUNTIME_DIR=" + runtime_of(uid), *args]


def as_user(i, *args, member=True):
    return as_uid(uids[i], *args, member=member)


def _is_group_socket():
    try:
        return os.stat(SOCKET).st_mode & 0o777 == 0o660
    except FileNotFoundError:
        return False


def lend(*args):
    if os.path.exists(SOCKET):
        os.unlink(SOCKET)  # that of a killed one would look ready
    p = start(duet, "lend", "--socket", SOCKET, "--group", GROUP, *args)
    until(lambda: _is_group_socket() or p.poll() is not None, "it lends")
    return p
