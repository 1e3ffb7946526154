# SPDX-License-Identifier: MIT
"""State in /proc of processes that may end, fork and exec between any two lines.

Nothing here raises because a process is gone: it has no children, no name, no descriptors, and is dead.  One that
has ended and waits to be reaped is dead as well.

Children are found by asking every process for its parent.  /proc/PID/task/TID/children would be shorter, but leaves
out living ones when another ends meanwhile (proc(5)).
"""
import os
import re
import signal
import time

GONE = (FileNotFoundError, ProcessLookupError, PermissionError)


def read(pid, name):
    """The text of one of its files; "" when it is gone."""
    try:
        with open("/proc/%d/%s" % (pid, name), "rb") as f:
            return f.read().decode(errors="replace")
    except GONE:
        return ""


def _link(pid, name):
    try:
        return os.readlink("/proc/%d/%s" % (pid, name))
    except GONE:
        return ""


def _list(pid, name):
    try:
        return os.listdir("/proc/%d/%s" % (pid, name))
    except GONE:
        return []


def _stat(pid):
    """From the state on, which is the third field of proc(5); [] when it is gone."""
    return read(pid, "stat").rpartition(")")[2].split()


def everybody():
    return [int(n) for n in os.listdir("/proc") if n.isdigit()]


def is_dead(pid):
    return (_stat(pid) or "Z")[0] in "ZX"


def is_stopped(pid):
    return (_stat(pid) or "Z")[0] in "Tt"


def start_time(pid):
    """With the pid it names a process for good; None when it is gone."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def cpu_ticks(pid):
    """The processor's time it took, its own and the kernel's for it; None when it is gone."""
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else None


def comm(pid):
    return read(pid, "comm").rstrip("\n")


def exe(pid):
    """The file it executes: its parent's until its exec."""
    return _link(pid, "exe")


def field(pid, name):
    """The first number of a line of its status, such as RssAnon (KiB); None when it is gone."""
    m = re.search(r"^%s:\s+(\d+)" % name, read(pid, "status"), re.M)
    return int(m[1]) if m else None


def fds(pid):
    """The targets of its descriptors."""
    return [t for t in (_link(pid, "fd/" + n) for n in _list(pid, "fd")) if t]


def threads(pid):
    return [int(n) for n in _list(pid, "task")]


def sleeps(pid):
    """How often each of its threads has gone to sleep.  Of several the first is left out: it waits for the others."""
    found = {t: re.search(r"^voluntary_ctxt_switches:\s+(\d+)", read(pid, "task/%d/status" % t), re.M) for t in threads(pid)}
    return {t: int(m[1]) for t, m in found.items() if m and (t != pid or len(found) == 1)}


def _living():
    """parent -> its children that live, the first one first"""
    found = {}
    for pid, s in ((pid, _stat(pid)) for pid in everybody()):
        if s and s[0] not in "ZX":
            found.setdefault(int(s[1]), []).append((int(s[19]), pid))
    return {parent: [pid for _, pid in sorted(some)] for parent, some in found.items()}


def children(pid):
    """Those that live, the first one first."""
    return _living().get(pid, [])


def descendants(pid):
    by_parent = _living()

    def below(pid):
        own = by_parent.get(pid, [])
        return own + [d for c in own for d in below(c)]
    return below(pid)


class Noted:
    """A process that is no child of ours: a signal to it never reaches another one that got its number."""

    def __init__(self, pid):
        self.pid, self.started = pid, start_time(pid)

    def is_dead(self):
        return self.started is None or start_time(self.pid) != self.started or is_dead(self.pid)

    def kill(self, sig=signal.SIGKILL):
        """-> whether it was there"""
        try:
            if not self.is_dead():
                os.kill(self.pid, sig)
                return True
        except ProcessLookupError:
            pass
        return False


def kill(pid, sig=signal.SIGKILL):
    """-> whether it was there.  For one that was found just now."""
    return Noted(pid).kill(sig)


def wait_for_end(noted):
    """Killed processes: their locks and sockets are free then."""
    for n in noted:
        while not n.is_dead():
            time.sleep(0.001)
    return noted


def kill_all(pids):
    """Collectors and their keepers replace each other: none of them may run while some of them are killed.  -> Noted, dead"""
    noted = [Noted(pid) for pid in pids]
    for n in noted:
        n.kill(signal.SIGSTOP)
    return kill_stopped(noted)


def kill_stopped(noted):
    """The last first, which are children of those before them: the kernel lets a process group go on (SIGCONT) that
    no longer has a parent in its session.  -> @noted, dead"""
    for n in reversed(noted):
        n.kill()
    return wait_for_end(noted)


def kill_tree(pid):
    """It and all below it, at once: a stopped process makes no more children.  -> all of them, Noted, dead"""
    def stop(pid):
        n = Noted(pid)
        n.kill(signal.SIGSTOP)
        while not n.is_dead() and not is_stopped(pid):
            time.sleep(0.001)
        return [n] + [s for c in children(pid) for s in stop(c)]
    return kill_stopped(stop(pid))
