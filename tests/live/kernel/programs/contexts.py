# SPDX-License-Identifier: MIT
"""Changes its own context values, and prints them whenever it calls getsid: a line of JSON for each.

usage: contexts.py STEP...
"""
import ctypes
import json
import os
import sys
import threading

libc = ctypes.CDLL(None, use_errno=True)
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")


def mark():
    tid = threading.get_native_id()
    me = {"tid": tid, "pid": os.getpid(), "ppid": os.getppid(), "uid": os.getuid(), "euid": os.geteuid(), "gid": os.getgid(),
          "egid": os.getegid(), "nice": os.getpriority(os.PRIO_PROCESS, 0), "prio": 20 + os.getpriority(os.PRIO_PROCESS, 0),
          "procname": open("/proc/thread-self/comm").read().rstrip("\n")}
    try:
        me.update((n + "_ns", int(os.readlink("/proc/thread-self/ns/" + n).split("[")[1][:-1])) for n in NAMESPACES)
    except PermissionError:  # of another user's
        pass
    cgroup = [line[3:] for line in open("/proc/thread-self/cgroup").read().splitlines() if line.startswith("0::")]
    me["cgroup"] = cgroup[0] if cgroup else ""
    sys.stdout.write(json.dumps(me) + "\n")
    sys.stdout.flush()
    os.getsid(0)


def in_child(do):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    do()
    mark()
    os._exit(0)


def in_thread(do):
    def run():
        do()
        mark()
    t = threading.Thread(target=run)
    t.start()
    t.join()


def renamed():
    libc.prctl(15, b"another", 0, 0, 0)


def other_user():
    os.setresgid(1001, 1002, 1002)
    mark()
    os.setresuid(1003, 1004, 1004)


def plain_user():
    os.setgid(1005)
    os.setuid(1006)


def regained():
    os.setreuid(1007, 0)
    mark()
    os.setuid(0)


STEPS = {
    "mark": mark,
    "fork": lambda: in_child(lambda: in_child(lambda: None)),
    "thread": lambda: in_thread(lambda: None),
    "name": lambda: in_thread(renamed),
    "user": lambda: in_child(other_user),
    "plain": lambda: in_child(plain_user),
    "regain": lambda: in_child(regained),
    "exec": lambda: in_child(lambda: os.execv("/proc/self/exe", [sys.executable, __file__, "mark"])),
    "uts": lambda: ok_or_die(libc.unshare(0x04000000)),
    "nice": lambda: os.nice(3),
    "ready": lambda: print("ready", flush=True),
    "wait": lambda: sys.stdin.readline(),
}


def ok_or_die(result):
    if result:
        sys.exit("unshare: " + os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    for step in sys.argv[1:]:
        STEPS[step]()
