#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet's units under a systemd that runs: this is a service of it, started by units.py or by
tests/live/control/units_run_under_systemd.py.

    units_guest.py DIRECTORY SECONDS

SECONDS is the longest time that anything may take.  DIRECTORY holds `counting` (tests/live/control/programs/counting.c).  Each line of the output is "ok ...", "not ok ..."
or a note; "done" is the last.  It changes the system that it runs in: users, units, files of /etc.
"""
import os
import re
import signal
import subprocess
import sys
import time
import traceback

PROGRAM, PATIENCE = sys.argv[1] + "/counting", int(sys.argv[2])
RECORDINGS, RELAYED = "/var/lib/duet", "/var/lib/duet-relay"
MEMBER, OTHER, THIRD = 1501, 1502, 1503  # users; the first is in group tracing
EVENTS = "sched_switch,sched_process_*,syscall_*_getppid,profile"
os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
os.environ["LC_ALL"] = "C.UTF-8"


class Failed(Exception):
    pass


def note(text):
    print("# " + text, flush=True)


def ok(condition, what, more=""):
    print("%s %s" % ("ok" if condition else "not ok", what), flush=True)
    if not condition and more:
        for line in str(more).splitlines()[-25:]:
            note(line)
    return condition


def is_(got, wanted, what):
    return ok(got == wanted, what, "got %r, wanted %r" % (got, wanted))


def run(*argv, user=None, group=None):
    """-> status, all its output"""
    argv = [str(a) for a in argv]
    if user:
        group = ["--groups", str(group)] if group else ["--clear-groups"]
        argv = ["setpriv", "--reuid", str(user), "--regid", str(user)] + group + ["env", "HOME=/tmp"] + argv
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                       errors="replace", timeout=PATIENCE)
    return p.returncode, p.stdout


def must(*argv, **more):
    status, out = run(*argv, **more)
    if status:
        raise Failed("%s: status %d: %s" % (" ".join(map(str, argv)), status, out[-1500:]))
    return out


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise Failed("%s: not within %d s" % (what, PATIENCE))
        time.sleep(0.1)


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def options(name, text):
    write("/etc/duet/%s.conf" % name, 'DUET_OPTIONS="%s"\n' % text)


def drop_in(unit, text):
    write("/etc/systemd/system/%s.d/trial.conf" % unit, "[Service]\n" + text)
    must("systemctl", "daemon-reload")


def value(unit, name):
    return must("systemctl", "show", "--value", "-p", name, unit).strip()


def journal(unit):
    return must("journalctl", "-q", "-o", "cat", "-u", unit)


def start(unit):
    status, out = run("systemctl", "start", unit)
    return ok(status == 0 and value(unit, "ActiveState") == "active", unit + " starts",
              out + run("journalctl", "-q", "-o", "cat", "-u", unit)[1])


def stop(unit):
    status, out = run("systemctl", "stop", unit)
    ok(status == 0 and value(unit, "Result") == "success" and value(unit, "ActiveState") == "inactive",
       unit + " stops well", out + value(unit, "Result") + run("journalctl", "-q", "-o", "cat", "-u", unit)[1])


def readable(unit, *words):
    """Its log: lines of plain text, and @words among them."""
    text = journal(unit)
    ok(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]|blob data", text), "the journal of %s is plain text" % unit, repr(text))
    text = " ".join(text.split())
    for word in words:
        ok(word in text, "it reports %r" % word, text)


class Counting:
    """The program of an ordinary user."""

    def __init__(self, user, first=0):
        self.program = subprocess.Popen(["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", PROGRAM,
                                         str(first)], stdout=subprocess.PIPE, text=True)
        self.first = first
        if self.program.stdout.readline() != "ready\n":
            raise Failed("the program does not run")

    def end(self):
        """-> how far each thread got, by its number"""
        self.program.send_signal(signal.SIGTERM)
        counts = self.program.communicate(timeout=PATIENCE)[0].split()
        return {self.first + i: int(n) for i, n in enumerate(counts)}


def numbers(path):
    """thread -> the numbers that the recording has, in order"""
    found = {}
    for thread, n in re.findall(r"thread = (\d+), n = (\d+)", must("duet", "view", "-e", "counting:number", path)):
        found.setdefault(int(thread), []).append(int(n))
    return found


def recordings():
    return sorted(RECORDINGS + "/" + n for n in os.listdir(RECORDINGS)) if os.path.isdir(RECORDINGS) else []


def new_recording(before):
    new = [r for r in recordings() if r not in before]
    if not is_(len(new), 1, "one recording more is in %s" % RECORDINGS):
        raise Failed("no recording: %s" % new)
    return new[0]


def events_of(path):
    return must("duet", "stats", "--by", "event", path)


def kill_all(unit):
    """All its processes at once, by kill -9."""
    must("systemctl", "kill", "--signal=KILL", unit)


# ---------------------------------------------------------------- a session

def the_system_is_ready():
    run("groupadd", "-r", "tracing")  # where no package made it
    for user in MEMBER, OTHER, THIRD:
        must("useradd", "-M", "-u", user, "u%d" % user)
    must("usermod", "-a", "-G", "tracing", "u%d" % MEMBER)
    note(must("uname", "-r").strip() + ", " + must("systemctl", "--version").splitlines()[0] + ", " +
         must("duet", "--version").strip())


def samples_are_refused_with_what_helps():
    """Debian's kernel wants CAP_SYS_ADMIN for perf by default."""
    with open("/proc/sys/kernel/perf_event_paranoid") as f:
        if int(f.read()) <= 2:
            note("perf needs no more than CAP_PERFMON here")
            return
    options("web", "-k profile")
    ok(run("systemctl", "start", "duet@web")[0], "profile is refused")
    run("systemctl", "stop", "duet@web")
    readable("duet@web", "CAP_SYS_ADMIN", "sysctl kernel.perf_event_paranoid=2")
    drop_in("duet@web.service", "CapabilityBoundingSet=CAP_SYS_ADMIN\n")


def a_session_records_the_kernel_and_users():
    before = recordings()
    options("web", "-e counting:* --all-users -k " + EVENTS)
    old = Counting(MEMBER)
    if not start("duet@web"):
        return
    is_(value("duet@web", "Type") + value("duet@web", "NRestarts"), "notify0", "it is started when it records")
    new = Counting(OTHER, 10)  # its first program: its directory is found some time later
    until(lambda: all("web@%d" % u in run("duet", "status", "web")[1] for u in (MEMBER, OTHER)), "both users are recorded")
    next_one = Counting(OTHER, 20)
    status, out = run("duet", "status", "web")
    ok(status == 0 and "bpf" in out.lower(), "BPF programs record", out)
    must("sh", "-c", "for i in 1 2 3; do sh -c 'true'; done")
    must(sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass")  # samples: idle CPUs give none
    time.sleep(1.5)
    counts = {**old.end(), **new.end(), **next_one.end()}
    stop("duet@web")
    path = new_recording(before)
    is_(os.stat(path).st_mode & 0o777, 0o700, "it is private")
    found, out = numbers(path), events_of(path)
    for event in EVENTS.replace("sched_process_*", "sched_process_exec").replace("syscall_*", "syscall_entry").split(","):
        ok(event in out, "%s is recorded" % event, out)
    for thread, n in counts.items():
        whole = list(range(n)) if thread >= 20 else list(range(n - len(found.get(thread, [])), n))
        ok(found.get(thread) and found[thread] == whole, "each event of thread %d since it was recorded" % thread,
           "%d of %d" % (len(found.get(thread, [])), n))
    out = must("duet", "report", "syscalls", path)
    ok("getppid" not in out or "calls" in out.lower(), "a report reads it", out)
    readable("duet@web")


def a_killed_collector_is_replaced_and_a_killed_unit_restarts():
    before = recordings()
    options("web", "-e counting:* -k sched_process_exec")
    if not start("duet@web"):
        return
    program = subprocess.Popen([PROGRAM], stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    time.sleep(1.5)
    keeper = int(value("duet@web", "MainPID"))
    children = must("ps", "-o", "pid=", "--ppid", keeper).split()
    os.kill(int(children[0]), signal.SIGKILL)
    until(lambda: children[0] not in must("ps", "-o", "pid=", "--ppid", keeper).split() and
          run("duet", "status", "web")[0] == 0, "another collector comes")
    is_(value("duet@web", "NRestarts"), "0", "a killed collector is no matter of systemd")
    time.sleep(1.5)
    place = new_recording(before)
    seen = numbers(place)
    kill_all("duet@web")
    until(lambda: value("duet@web", "NRestarts") == "1" and value("duet@web", "ActiveState") == "active",
          "systemd starts the killed unit again")
    until(lambda: run("duet", "status", "web")[0] == 0, "it records")
    time.sleep(1.5)
    program.send_signal(signal.SIGTERM)
    counts = [int(n) for n in program.communicate(timeout=PATIENCE)[0].split()]
    stop("duet@web")
    new = [r for r in recordings() if r not in before]
    if not is_(len(new), 2, "the restarted unit has a recording of its own"):
        return
    first, second = numbers(place), numbers([n for n in new if n != place][0])
    for thread, n in enumerate(counts):
        before_it, one, two = (of.get(thread, []) for of in (seen, first, second))
        ok(len(before_it) > 100 and not set(before_it) - set(one) and one == sorted(set(one)),
           "what was written before kill -9 is there, thread %d" % thread, "%d, then %d" % (len(before_it), len(one)))
        ok(len(two) > 100 and two == list(range(n - len(two), n)), "and what came after the restart",
           "%d of %d" % (len(two), n))
    readable("duet@web")


def a_flight_recorder_writes_snapshots_into_its_place():
    before = recordings()
    options("flight", "--overwrite -e counting:* -k sched")
    if not start("duet@flight"):
        return
    program = Counting(THIRD)
    root = subprocess.Popen([PROGRAM, "20"], stdout=subprocess.PIPE, text=True)
    root.stdout.readline()
    time.sleep(1)
    status, out = run("duet", "snapshot", "-s", "flight")
    ok(status == 0 and RECORDINGS in out, "a snapshot is in %s" % RECORDINGS, out)
    program.end()
    root.send_signal(signal.SIGTERM)
    root.communicate()
    stop("duet@flight")
    ok(len(recordings()) > len(before), "its recording is there", out)


def a_wrong_option_is_reported_and_not_tried_again():
    options("wrong", "--no-such-option")
    status = run("systemctl", "start", "duet@wrong")[0]
    ok(status, "it does not start")
    is_(value("duet@wrong", "ActiveState") + value("duet@wrong", "NRestarts"), "failed0", "systemd gives it up at once")
    readable("duet@wrong", "--no-such-option")


def it_writes_nowhere_else():
    options("other", "-e * -o /srv/other")
    ok(run("systemctl", "start", "duet@other")[0], "it does not start")
    until(lambda: value("duet@other", "ActiveState") == "failed", "systemd gives it up")
    readable("duet@other", "Read-only file system")


# ---------------------------------------------------------------- the lender

def loans():
    """Instances of tracefs that are lent to the member; in a container others' are there too."""
    return [n for n in os.listdir("/sys/kernel/tracing/instances") if n.endswith("-u%d" % MEMBER)]


def members_record_the_kernel_and_others_do_not():
    """Whole sessions: in a container, ftrace would choose processes by other numbers than we see."""
    must("systemctl", "start", "duet-lend.socket")
    member = {"user": MEMBER, "group": int(must("getent", "group", "tracing").split(":")[2])}
    status, out = run("duet", "start", "-q", "-k", "sched", "-o", "/tmp/lent", **member)
    ok(status == 0, "a member records", out)
    is_(value("duet-lend.service", "ActiveState"), "active", "the lender was started by that")
    status, out = run("duet", "record", "-k", "sched", "-o", "/tmp/refused", "--", "true", user=OTHER)
    ok(status == 2 and "tracing" in out, "another user is refused, with the reason", out)
    run("duet", "stop", **member)
    ok("sched_switch" in events_of("/tmp/lent"), "and the kernel is in it")
    must("duet", "start", "-q", "-k", "sched", "-o", "/tmp/outlives", **member)
    until(lambda: "sched_switch" in events_of("/tmp/outlives"), "it is recorded")
    kill_all("duet-lend.service")
    until(lambda: value("duet-lend.service", "ActiveState") != "active", "the lender is gone")
    run("duet", "stop", **member)
    ok("sched_switch" in events_of("/tmp/outlives"), "kill -9 of the lender leaves what was recorded")
    status, out = run("duet", "start", "-q", "-k", "sched", "-o", "/tmp/again", **member)
    is_(status, 0, "the next lender, which systemd starts, lends again")
    run("duet", "stop", **member)
    until(lambda: not loans(), "nothing is left of the loans")
    run("systemctl", "stop", "duet-lend.socket", "duet-lend.service")
    is_(value("duet-lend.service", "Result"), "success", "the lender stops well")
    readable("duet-lend.service")


# ---------------------------------------------------------------- the relay

def relayed():
    found = []
    for directory, names, files in os.walk(os.path.realpath(RELAYED)):
        if "metadata" in files and os.path.basename(directory) == "64-bit":
            found.append(directory)
    return found


def a_session_of_systemd_is_sent_to_a_relay_of_systemd():
    is_(run("systemctl", "start", "duet-relay")[0], 0, "without a key the relay's start does nothing")
    is_(value("duet-relay", "ConditionResult"), "no", "by its condition")
    write("/etc/duet/relay.key", "k" * 64, 0o600)
    write("/etc/duet/relay.conf", "DUET_RELAY_OPTIONS=-l 127.0.0.1:4711\n")
    if not start("duet-relay"):
        return
    drop_in("duet@sent.service", "PrivateNetwork=no\nIPAddressDeny=\nRestrictAddressFamilies=AF_INET AF_INET6\n")
    options("sent", "-e counting:* --to 127.0.0.1:4711 --psk /etc/duet/relay.key")
    if not start("duet@sent"):
        return
    program = subprocess.Popen([PROGRAM, "30"], stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    until(relayed, "the recording arrives")
    os.kill(int(value("duet-relay", "MainPID")), signal.SIGKILL)
    until(lambda: value("duet-relay", "NRestarts") == "1" and value("duet-relay", "ActiveState") == "active",
          "systemd starts a killed relay again")
    time.sleep(1)
    program.send_signal(signal.SIGTERM)
    counts = [int(n) for n in program.communicate(timeout=PATIENCE)[0].split()]
    stop("duet@sent")
    where = relayed()
    if is_(len(where), 1, "one recording is at the relay"):
        path = where[0].split("/ust/")[0]
        def whole():
            found = numbers(path)
            return all(found.get(30 + i) == list(range(n)) for i, n in enumerate(counts))
        until(whole, "each event arrives, with the relay killed meanwhile")
        ok(True, "each event is at the relay, which was killed meanwhile")
    owner = os.stat(os.path.realpath(RELAYED)).st_uid
    stop("duet-relay")
    ok(owner >= 61184, "the relay is no user of the host", owner)
    readable("duet-relay", "4711")
    readable("duet@sent")


def show_failure():
    for line in run("sh", "-c", "duet status; journalctl -q -n 40 -o cat; find %s* -maxdepth 3 | head -40" % RELAYED)[1].splitlines():
        note("  " + line)


CASES = [the_system_is_ready, samples_are_refused_with_what_helps, a_session_records_the_kernel_and_users,
         a_killed_collector_is_replaced_and_a_killed_unit_restarts, a_flight_recorder_writes_snapshots_into_its_place,
         a_wrong_option_is_reported_and_not_tried_again, it_writes_nowhere_else,
         members_record_the_kernel_and_others_do_not, a_session_of_systemd_is_sent_to_a_relay_of_systemd]

for case in CASES:
    begin = time.monotonic()
    try:
        case()
    except Exception as e:
        ok(False, "%s: %s" % (case.__name__, type(e).__name__), traceback.format_exc())
        show_failure()
    note("%s: %.1f s" % (case.__name__, time.monotonic() - begin))
print("done", flush=True)
