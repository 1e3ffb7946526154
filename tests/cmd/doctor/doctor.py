#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet doctor, and every command that is given a program: the reason why it is not recorded, and the remedy.

arguments: DUET, programs with SITES, a MARK, LTTNG's tracepoint, PLAIN, STATIC with sites, ALONE (static without
libc), LIBDUET and perhaps one built with lttng-ust
"""
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import collect, stop, view  # noqa: E402
from trial import cmd, duet, go_on, is_, ok, paths, run, run_cases, runtime, start, until, work  # noqa: E402

sites, mark, lttng, plain, static, alone, library = paths(7)
os.environ.pop("LD_LIBRARY_PATH", None)  # of the build: there programs find libduet
is_root = os.geteuid() == 0
USER = 40123


def environment(**changes):
    """Ours, with changes; a value of None removes a variable."""
    env = dict(os.environ, **{n: v for n, v in changes.items() if v is not None})
    for n, v in changes.items():
        if v is None:
            env.pop(n, None)
    return env


def begin(*argv, **more):
    p = start(*argv, **more)
    until(lambda: "ready" in p.stdout.so_far(), lambda: "%s is ready: %s" % (p, p.stderr.so_far()))
    return p


def look(*arguments, status=1, env=None):
    """-> the first program that duet doctor --json reports"""
    got, out, err = cmd("doctor", "--json", *arguments, env=env)
    is_(got, status, "duet doctor %s: its status (%s)" % (arguments, err))
    return json.loads(out)["programs"][0]


def judge(p, state, why="", remedy="", status=1, env=None):
    """The state of process @p, with its reason and remedy; -> its line about events"""
    program = look(p.pid, status=status, env=env)
    is_(program["state"], state, "the state of %s" % p)
    events = next(c for c in program["checks"] if c["name"] == "events")
    ok(why in events["value"], "it says why: %s" % why, events)
    ok(remedy in events.get("remedy", ""), "it names the remedy: %s" % remedy, events)
    return events


def line_of(args, pattern, status):
    """The command prints one line about the program."""
    got, _, err = cmd(*args)
    is_(got, status, "%s: %s" % (args, err))
    ok(any(pattern in line for line in err.splitlines()), "%s says: %s" % (args, pattern), err)


def a_recordable_program_has_no_finding():
    p = begin(sites)
    judge(p, "recordable", "2 events", status=0)
    status, out, _ = cmd("doctor", p.pid)
    is_(status, 0, "it exits with 0")
    ok("no findings" in out and "\n  ok    events " in out, "as lines", out)
    ok("till:sale" in cmd("list", p.pid)[1], "list PID")
    p.end(signal.SIGKILL)


def programs_without_sites_are_told_apart():
    for program, state, why, remedy in (
            (plain, "no-sites", "has no trace sites", "-u "),
            (mark, "only-usdt", "1 USDT mark", ":till:sale records it"),
            (lttng, "only-lttng-ust", "LTTng-UST (1 tracepoint)", "<duet/duet.h>")):
        p = begin(program)
        judge(p, state, why, remedy)
        file = look(program)
        is_(file["state"], state, "the file")
        for command in (["list", "-p", p.pid], ["list", program],
                        ["record", "--no-kernel", "-o", work + "/no", "-p", p.pid],
                        ["start", "no", "-o", work + "/no", "-e", "a:b", "-p", p.pid]):
            line_of(command, why, 2)
        ok(not os.path.exists(work + "/no"), "nothing is recorded")
        got, _, err = cmd("record", "--no-kernel", "-o", work + "/command", "timeout", "-s", "KILL", "0.1", program)
        ok("timeout has no trace sites" in err, "a command of which no program joined is explained", err)
        shutil.rmtree(work + "/command")
        p.end(signal.SIGKILL)
    for program in sys.argv[9:]:
        is_(look(os.path.abspath(program))["state"], "only-lttng-ust", "a program built with lttng-ust")


def a_program_that_loads_lttng_ust_is_one_of_its_programs():
    p = start(sys.executable, "-c", "import ctypes, time\n"
              "try: ctypes.CDLL('liblttng-ust.so.1')\n"
              "except OSError: print('none', flush=True)\n"
              "print('ready', flush=True); time.sleep(1000)")
    until(lambda: "ready" in p.stdout.so_far(), "python is ready")
    if "none" not in p.stdout.so_far():
        judge(p, "only-lttng-ust", "is made for LTTng-UST")
    p.end(signal.SIGKILL)


def a_stripped_program_offers_its_exported_functions():
    stripped = work + "/stripped"
    subprocess.run(["strip", "-o", stripped, plain], check=True)
    p = begin(stripped)
    judge(p, "no-sites", "has no trace sites", "it is stripped")
    p.end(signal.SIGKILL)


def a_program_without_libduet_says_where_it_looked():
    place = work + "/lib"
    os.mkdir(place)
    env = environment(DUET_LIBRARY=None, LD_LIBRARY_PATH=place)
    name = "till%d" % os.getpid()  # of no other test that runs beside this one
    shutil.copy(sites, work + "/" + name)
    p = begin(work + "/" + name, env=env)
    judge(p, "no-library", "LD_LIBRARY_PATH=" + place, "then restart it")
    line_of(["list", "-p", p.pid], "2 trace sites, but loaded no libduet.so.0 (looked in LD_LIBRARY_PATH=", 2)
    line = "process %d (%s) has 2 trace sites" % (p.pid, name)
    ok(line in cmd("list")[2], "list names it")
    started = cmd("start", "-o", work + "/started", "--program", "x*,till*%d" % os.getpid())
    ok(line in started[2], "so does start", started)
    cmd("stop", "-q")
    is_(look(sites, env=env)["state"], "no-library", "its file, where no libduet is found")
    shutil.copy(library, place)
    judge(p, "library-is-new", place + "/libduet.so.0", "restart it")
    is_(look(sites, env=env, status=0)["state"], "recordable", "its file, where libduet is found")
    q = begin(sites, env=env)
    judge(q, "recordable", status=0)
    wrong = begin(sites, env=environment(DUET_LIBRARY=work + "/none.so"))
    judge(wrong, "no-library", "DUET_LIBRARY=" + work + "/none.so", "correct DUET_LIBRARY")
    for one in p, q, wrong:
        one.end(signal.SIGKILL)


def static_programs_are_judged_by_their_libc():
    is_(look(alone)["state"], "static", "a file without libc")
    p = begin(alone)
    judge(p, "static", "linked statically", "link it dynamically")
    line_of(["list", "-p", p.pid], "linked statically", 2)
    p.end(signal.SIGKILL)
    p = begin(static)
    judge(p, "recordable", status=0)
    p.end(signal.SIGKILL)
    is_(look(static, status=0)["state"], "recordable", "the file of a static program with glibc, which has dlopen")


def a_program_with_rights_of_its_file_is_left_alone():
    secure = work + "/secure"
    shutil.copy(sites, secure)
    os.chmod(secure, 0o4755)
    is_(look(secure)["state"], "secure", "a set-user-ID file")
    line_of(["list", secure], "set-user-ID", 0)
    if not is_root:
        return
    os.chmod(work, 0o755)
    os.chown(secure, USER, USER)
    os.chmod(secure, 0o4755)
    p = begin(secure)
    judge(p, "secure", "rights of its file (set-user-ID", "-k and -u")
    p.end(signal.SIGKILL)


def other_runtime_directories_and_pages_are_named():
    other = work + "/other"
    p = begin(sites, env=environment(DUET_RUNTIME_DIR=other))
    judge(p, "other-directory", other, "DUET_RUNTIME_DIR=" + other)
    judge(p, "recordable", env=environment(DUET_RUNTIME_DIR=other), status=0)
    line_of(["record", "--no-kernel", "-o", work + "/no", "-p", p.pid], "DUET_RUNTIME_DIR=" + other, 2)
    page = [n for n in os.listdir(other) if n.startswith("app-%d-" % p.pid)][0]
    with open(other + "/" + page, "r+b") as f:
        f.seek(8)
        f.write(b"\x63\0\0\0")
    judge(p, "other-layout", "layout 99", "restart it")
    os.remove(other + "/" + page)
    judge(p, "page-removed", "lost its control page", "restart it")
    p.end(signal.SIGKILL)


def a_page_that_could_not_be_made_has_its_reason():
    bad = work + "/bad"
    os.mkdir(bad)
    os.chmod(bad, 0o777)
    p = begin(sites, env=environment(DUET_RUNTIME_DIR=bad))
    judge(p, "bad-directory", "others may write to it (mode 0777)", "0700")
    p.end(signal.SIGKILL)
    limited = subprocess.Popen(["sh", "-c", "ulimit -f 8; exec %s" % sites], stdout=subprocess.PIPE, text=True)
    is_(limited.stdout.readline(), "ready\n", "it runs")
    judge(limited, "file-limit", "ulimit -f of 4096 bytes", "ulimit -f unlimited")
    limited.kill()
    limited.wait()
    limited.stdout.close()


def another_users_program_is_recorded_as_that_user():
    if not is_root:
        return
    os.chmod(work, 0o755)
    readable = work + "/theirs"
    os.mkdir(readable)
    for f, name in ((sites, "sites"), (library, "libduet.so.0")):
        shutil.copy(f, readable + "/" + name)
    os.mkdir(readable + "/run")
    os.chown(readable + "/run", USER, USER)
    os.chmod(readable + "/run", 0o700)
    own = environment(DUET_RUNTIME_DIR=readable + "/run", DUET_LIBRARY=readable + "/libduet.so.0")
    theirs = dict(user=USER, group=USER, extra_groups=[], env=own, cwd="/")
    p = begin(readable + "/sites", **theirs)
    judge(p, "other-user", "uid %d" % USER, "--all-users --uid %d" % USER, status=0)
    q = begin(sites)
    status, out, err = run("setpriv", "--reuid", USER, "--regid", USER, "--clear-groups", duet, "doctor", "--json",
                           q.pid, p.pid, env=own, cwd="/")
    found = {e["pid"]: e for e in json.loads(out)["programs"]} if out else {}
    is_((status, {n: e["state"] for n, e in found.items()}), (1, {q.pid: "hidden", p.pid: "recordable"}),
        "as that user: " + err)
    ok("root: duet record -p %d" % q.pid in found[q.pid]["checks"][0]["remedy"], "root's is out of reach", found)
    for one in p, q:
        one.end(signal.SIGKILL)


def a_program_in_a_container_is_recorded_from_there():
    if not is_root or run("unshare", "-m", "true")[0]:
        return
    env = environment(DUET_RUNTIME_DIR=None)
    p = begin("unshare", "-m", "sh", "-c", "mount -t tmpfs none /dev/shm && exec " + sites, env=env)
    found = judge(p, "container", "in container mnt-", "--containers --container mnt-", status=0)
    ok("/dev/shm of its own" in found["value"], "it names the reason", found)
    shared = begin("unshare", "-m", sites)  # as a service of systemd with PrivateTmp: it sees our directory
    judge(shared, "recordable", status=0)
    for one in p, shared:
        one.end(signal.SIGKILL)


def is_enabled(pid, env):
    own = False
    for line in cmd("list", "--all-users", "--containers", env=env)[1].splitlines():
        if line[:1].isdigit():
            own = line.split()[0] == str(pid)
        elif own and "[x] till:sale" in line:
            return True
    return False


def root_records_them_by_their_numbers():
    """In a /dev/shm of its own: the default runtime directories of users lie there."""
    if not is_root or run("unshare", "-m", "true")[0]:
        return
    if not os.environ.get("DOCTOR_INSIDE"):
        inside = environment(DUET_RUNTIME_DIR=None, DOCTOR_INSIDE="1", TEST_CASES="root_records_them_by_their_numbers")
        status, out, err = run("unshare", "-m", sys.executable, *sys.argv, env=inside)
        ok(not status, "in a mount namespace", out + err)
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"], check=True)
    os.chmod(work, 0o755)
    for f, name in ((sites, "sites"), (library, "libduet.so.0")):
        shutil.copy(f, work + "/" + name)
    env = environment(DUET_RUNTIME_DIR=None, DUET_LIBRARY=work + "/libduet.so.0")
    theirs = dict(user=USER, group=USER, extra_groups=[], env=env, cwd="/")
    p, other = begin(work + "/sites", **theirs), begin(work + "/sites", **theirs)
    contained = begin("unshare", "-m", "sh", "-c", "mount -t tmpfs none /dev/shm && exec %s/sites" % work, env=env)
    trace = work + "/theirs"
    record = start(duet, "record", "--no-kernel", "-o", trace, "-p", p.pid, "-p", contained.pid, env=env)
    for pid in p.pid, contained.pid:
        until(lambda: is_enabled(pid, env), lambda: "%d is recorded: %s" % (pid, record.stderr.so_far()))
    go_on(p, contained, times=2)
    for one in p, contained:
        one.end(signal.SIGKILL)
    is_(record.wait(), 0, "it ends with them: " + record.stderr.so_far())
    found = {e["pid"] for e in view(trace) if e.get("event") == "till:sale"}
    is_(found, {p.pid, contained.pid}, "these two are recorded, and not %d" % other.pid)
    other.end(signal.SIGKILL)


def enable_names_the_reason():
    p, q = begin(plain), begin(sites)
    collector = collect(work + "/collected", "-q", "-e", "!*")
    line_of(["enable", "-p", p.pid, "till:sale"], "process %d (doctor_plain) has no trace sites" % p.pid, 2)
    line_of(["enable", "-p", q.pid, "till:no"], "no running program has such an event", 2)
    is_(cmd("enable", "-p", q.pid, "till:sale")[0], 0, "it enables what is there")
    stop(collector)
    for one in p, q:
        one.end(signal.SIGKILL)


def names_of_programs_do_not_reach_the_terminal():
    hostile = work + "/\x1b]0;x\x07\u202e\x9b"
    shutil.copy(sites, hostile)
    p, q = begin(hostile, env=environment(DUET_LIBRARY=None)), begin(hostile)
    for args in ["doctor", str(p.pid)], ["doctor"], ["doctor", hostile], ["list", str(p.pid)], ["list", str(q.pid)], ["list"]:
        _, out, err = cmd(*args)
        ok("\\x1b" in out + err, "%s shows the name" % args, out + err)
        ok(not any(c in out + err for c in "\x1b\x07\u202e\x9b"), "%s shows it printable" % args, out + err)
    ok(look(p.pid)["name"].startswith("\x1b]0;x\x07"), "JSON has the name itself")
    for one in p, q:
        one.end(signal.SIGKILL)


def mounts_and_instances():
    with open("/proc/self/mountinfo") as f:
        mounts = f.read()
    try:
        instances = sorted(os.listdir("/sys/kernel/tracing/instances"))
    except OSError:
        instances = []
    return mounts, [i for i in instances if "-%d-" % os.getpid() in i], os.path.exists(runtime)


def the_machine_is_reported_and_not_changed():
    shutil.rmtree(runtime, ignore_errors=True)
    before = mounts_and_instances()
    status, out, err = cmd("doctor")
    ok(status in (0, 1) and not err, "duet doctor: %s" % err, out)
    answer = json.loads(cmd("doctor", "--json")[1])
    is_(mounts_and_instances(), before, "mounts, instances and the runtime directory are as before")
    groups = {c["group"] for c in answer["checks"]}
    is_(groups, {"kernel", "rights", "paths", "versions", "limits", "libraries"}, "its groups")
    findings = [c for c in answer["checks"] if c["level"] == "finding"]
    ok(answer["findings"] >= len(findings), "its findings are counted", answer)
    ok(all(c.get("remedy") for c in findings), "each has a remedy", findings)
    ok(any(c["name"] == "loader" for c in answer["checks"]), "the loader was asked", answer)
    for name, limit in ("open files", "-n 40"), ("address space", "-v 2000000"):
        limited = run("sh", "-c", "ulimit %s; exec \"$0\" doctor" % limit, duet)
        ok("FIX   " + name in limited[1], "a small limit is a finding: " + name, limited)


def an_unreadable_argument_is_an_error():
    gone = start("true")
    gone.wait()
    status, out, err = cmd("doctor", gone.pid)
    is_((status, err.count("\n")), (2, 1), "a process that ended")
    fifo = work + "/fifo"
    os.mkfifo(fifo)
    script = work + "/script"
    with open(script, "w") as f:
        f.write("#!/bin/sh\ntrue\n")
    cut = work + "/cut"
    with open(sites, "rb") as f, open(cut, "wb") as to:
        to.write(f.read(3000))
    for file, pattern in (fifo, "is not a regular file"), (script, "is a script: its program is /bin/sh"), \
            (work, "is not a regular file"), (work + "/nosuch", "No such file"):
        status, out, err = cmd("doctor", file)
        is_(status, 2, "%s: its status" % file)
        ok(pattern in err, "%s: %s" % (file, pattern), err)
    ok(cmd("doctor", cut)[0] in (1, 2), "a file that was cut is survived")


run_cases(a_recordable_program_has_no_finding,
          programs_without_sites_are_told_apart,
          a_program_that_loads_lttng_ust_is_one_of_its_programs,
          a_stripped_program_offers_its_exported_functions,
          a_program_without_libduet_says_where_it_looked,
          static_programs_are_judged_by_their_libc,
          a_program_with_rights_of_its_file_is_left_alone,
          other_runtime_directories_and_pages_are_named,
          a_page_that_could_not_be_made_has_its_reason,
          another_users_program_is_recorded_as_that_user,
          a_program_in_a_container_is_recorded_from_there,
          root_records_them_by_their_numbers,
          enable_names_the_reason,
          names_of_programs_do_not_reach_the_terminal,
          an_unreadable_argument_is_an_error,
          the_machine_is_reported_and_not_changed)
