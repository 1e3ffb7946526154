#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A group that may record the kernel, and a service manager: we are systemd, and another user.

usage: check.py DUET UNITS

The other user and the group are made, and removed at the end.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

duet, units = map(os.path.abspath, sys.argv[1:3])
GROUP, USER = "duet-g%d" % os.getpid(), "duet-u%d" % os.getpid()
work = tempfile.mkdtemp(prefix="duet-lend-")
os.environ["DUET_LENDER"] = work + "/lend.sock"
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ.pop("NOTIFY_SOCKET", None)
failures = 0
started = []


def is_(got, want, what):
    global failures
    if got != want:
        failures += 1
        print("not ok: %s: got %r, wanted %r" % (what, got, want))


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %s" % (what, more))


def wait_for(what, seconds=30):
    end = time.time() + seconds
    while time.time() < end:
        value = what()
        if value:
            return value
        time.sleep(0.01)
    return None


def run(*args, status=0, **more):
    p = subprocess.run(list(args), capture_output=True, text=True, timeout=60, **more)
    is_(p.returncode, status, "%s: %s" % (" ".join(args), p.stderr))
    return p.stdout, p.stderr


def popen(*args, **more):
    p = subprocess.Popen(list(args), stderr=subprocess.PIPE, text=True, **more)
    started.append(p)
    return p


def end(p):
    p.send_signal(signal.SIGTERM)
    err = p.communicate(timeout=60)[1]
    is_(p.returncode, 0, "it ends well: " + err)


# ---------------------------------------------------------------- a service manager

def notified():
    """A socket such as systemd's, and what is heard on it."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(work + "/notify")
    s.settimeout(30)
    return s


def a_collector_says_when_it_is_ready():
    for name, address in (("a path", work + "/notify"), ("an abstract name", "\0duet-%d" % os.getpid())):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(address)
            s.settimeout(30)
            env = dict(os.environ, NOTIFY_SOCKET=address.replace("\0", "@"))
            c = popen(duet, "collect", "-q", "-o", work + "/" + name, env=env)
            is_(s.recv(100), b"READY=1", name)
            ok(os.path.exists(work + "/run/session-default"), "and it is")
            end(c)
    os.unlink(work + "/notify")
    env = dict(os.environ, NOTIFY_SOCKET=work + "/nobody")
    c = popen(duet, "collect", "-q", "-o", work + "/alone", env=env)
    ok(wait_for(lambda: os.path.exists(work + "/run/session-default")), "nobody listens: it collects")
    end(c)


def units_are_sound():
    if not shutil.which("systemd-analyze"):
        print("# no systemd-analyze: units are not looked at")
        return
    os.mkdir(work + "/units")
    for name in "duet-lend.socket", "duet-lend.service", "duet@.service":
        with open(units + "/" + name) as f:
            text = re.sub(r"ExecStart=\S+", "ExecStart=" + duet, f.read())
        with open(work + "/units/" + name.replace("@", "@web"), "w") as f:
            f.write(text)
    out, err = run("systemd-analyze", "verify", "--man=no", *["./" + n for n in os.listdir(work + "/units")],
                   cwd=work + "/units")
    is_(out + err, "", "systemd has nothing to say of them")
    # What they start is understood.
    with open(units + "/duet@.service") as f:
        line = re.search(r"ExecStart=\S+ (.*)", f.read())[1]
    args = line.replace("%i", "web").replace("$DUET_OPTIONS", "-e shop:*").split()
    c = popen(duet, *args, cwd=work)
    ok(wait_for(lambda: os.path.exists(work + "/run/session-web")), "the unit's command records")
    end(c)


# ---------------------------------------------------------------- the group

def as_user(*args, member=True):
    groups = ["--groups", str(gid)] if member else ["--clear-groups"]
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), *groups, *args]


def is_group_socket():
    try:
        return os.stat(work + "/lend.sock").st_mode & 0o777 == 0o660
    except FileNotFoundError:
        return False


def lend(*args):
    p = popen(duet, "lend", "--socket", work + "/lend.sock", "--group", GROUP, *args)
    ok(wait_for(lambda: is_group_socket() or p.poll() is not None), "it lends")
    return p


def instances(lender):
    """Those that a lender made."""
    out = run("unshare", "--mount", "sh", "-c",
              "mount -t tracefs none /sys/kernel/tracing && ls /sys/kernel/tracing/instances")[0]
    return [n for n in out.split() if n.startswith("duet-%d-" % lender)]


def kernel_events(directory):
    out = run(duet, "stats", "--by", "event", directory)[0]
    return "sched_switch" in out


def members_record_the_kernel_and_others_do_not():
    lender = lend()
    is_(os.stat(work + "/lend.sock").st_mode & 0o777, 0o660, "the socket is the group's alone")
    ok("sched_switch" in run(*as_user(duet, "list", "-k"))[0], "members see what there is")
    run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/member", "--", "sleep", "0.1"))
    ok(kernel_events(work + "/u/member"), "they record it")
    err = run(*as_user(duet, "record", "-k", "sched", "-o", work + "/u/other", "--", "true", member=False), status=2)[1]
    ok("not in the group" in err, "others are told why not", err)
    ok(wait_for(lambda: not instances(lender.pid)), "nothing is left of it")
    end(lender)
    ok(not os.path.exists(work + "/lend.sock"), "nor of the lender")
    err = run(*as_user(duet, "record", "-k", "sched", "-o", work + "/u/other", "--", "true"), status=2)[1]
    ok("duet-lend" in err, "where nobody lends, that is told", err)


def what_was_lent_comes_back_however_its_recorder_ends():
    lender = lend()
    run(*as_user(duet, "start", "-q", "-k", "sched", "-o", work + "/u/killed"))
    ok(len(instances(lender.pid)) == 1, "one is lent")
    status = run(*as_user(duet, "status"))[0]
    keeper = int(re.search(r"process (\d+)", status)[1])
    with open("/proc/%d/task/%d/children" % (keeper, keeper)) as f:
        worker = int(f.read())
    os.kill(worker, signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    os.kill(worker, signal.SIGKILL)
    ok(wait_for(lambda: not instances(lender.pid)), "both were killed: it is taken back")
    many = [popen(*as_user(duet, "record", "-q", "-k", "sched", "-o", "%s/u/many%d" % (work, i), "--", "sleep", "3"))
            for i in range(4)]
    ok(wait_for(lambda: len(instances(lender.pid)) == 4), "four are lent")
    run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/fifth", "--", "true"), status=2)
    for p in many:
        os.kill(p.pid, signal.SIGTERM)
        p.wait(60)
    ok(wait_for(lambda: not instances(lender.pid)), "and none any more")
    end(lender)


def a_recording_outlives_its_lender():
    lender = lend()
    run(*as_user(duet, "start", "-q", "-k", "sched", "-o", work + "/u/outlives"))
    lender.kill()
    lender.communicate()
    time.sleep(0.1)
    err = run(*as_user(duet, "stop"))[1]
    ok("sched_switch" in err and "none lost" in err, "it goes on, and is whole", err)
    next_one = lend()
    ok(wait_for(lambda: not instances(lender.pid)), "the next lender takes back what is left")
    end(next_one)


def systemd_may_hold_the_socket():
    """LISTEN_FDS: a lender comes with the first who asks, and goes when nobody has anything."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s, notified() as heard:
        s.bind(work + "/lend.sock")
        os.chown(work + "/lend.sock", 0, gid)
        os.chmod(work + "/lend.sock", 0o660)
        s.listen(8)

        def be_systemd():
            os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)

        lender = popen("sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"', duet, "lend", "--idle", "1",
                       env=dict(os.environ, NOTIFY_SOCKET=work + "/notify"), close_fds=False, preexec_fn=be_systemd)
        is_(heard.recv(100), b"READY=1", "it is ready")
        run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/socket", "--", "sleep", "0.1"))
        ok(kernel_events(work + "/u/socket"), "members record")
        is_(lender.wait(60), 0, "then it ends by itself")
        is_(heard.recv(100), b"STOPPING=1", "and says so")
        ok(os.path.exists(work + "/lend.sock"), "the socket is systemd's")
    os.unlink(work + "/lend.sock")
    os.unlink(work + "/notify")


def systemd_itself_activates_it():
    tool = shutil.which("systemd-socket-activate")
    if not tool:
        print("# no systemd-socket-activate")
        return
    a = popen(tool, "-l", work + "/lend.sock", "-E", "DUET_LENDER", duet, "lend", "--idle", "1")
    ok(wait_for(lambda: os.path.exists(work + "/lend.sock")), "it listens")
    os.chown(work + "/lend.sock", 0, gid)
    os.chmod(work + "/lend.sock", 0o660)
    run(*as_user(duet, "record", "-q", "-k", "sched", "-o", work + "/u/activated", "--", "sleep", "0.1"))
    ok(kernel_events(work + "/u/activated"), "members record")
    is_(a.wait(60), 0, "it has ended")


a_collector_says_when_it_is_ready()
units_are_sound()
if failures or os.geteuid() or not shutil.which("setpriv") or subprocess.run(
        [duet, "list", "-k"], capture_output=True).returncode:
    print("# no root, or no tracefs: the group is not tried")
    shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if failures else 0)
try:
    run("groupadd", "-r", GROUP)
    run("useradd", "-r", "-M", "-N", "-g", GROUP, USER)
    uid = int(run("id", "-u", USER)[0])
    gid = int(run("getent", "group", GROUP)[0].split(":")[2])
    os.chmod(work, 0o755)
    os.mkdir(work + "/u")
    os.chown(work + "/u", uid, -1)
    os.environ["DUET_RUNTIME_DIR"] = work + "/u/run"
    for test in (members_record_the_kernel_and_others_do_not, what_was_lent_comes_back_however_its_recorder_ends,
                 a_recording_outlives_its_lender, systemd_may_hold_the_socket, systemd_itself_activates_it):
        before = failures
        test()
        print("%s - %s" % ("ok" if failures == before else "not ok", test.__name__))
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    if "gid" in globals():
        subprocess.run(as_user(duet, "stop", "--all", "-q"), stderr=subprocess.DEVNULL)
    subprocess.run(["userdel", USER], stderr=subprocess.DEVNULL)
    subprocess.run(["groupdel", GROUP], stderr=subprocess.DEVNULL)
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
