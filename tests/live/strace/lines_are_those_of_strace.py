#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lines of `duet strace` are those of strace, letter by letter, for programs that do the same in each run.

arguments: DUET PROGRAM...
"""
import glob
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402
from proc import Noted, descendants  # noqa: E402
from trial import cmd, duet, fail, is_, ok, run, run_cases, skip, start, until, work

programs = {os.path.basename(p).removeprefix("strace_"): os.path.abspath(p) for p in sys.argv[2:]}
os.environ["TMPDIR"] = work  # the directory of temporary recordings


def lines_of(path):
    """The lines of a file.  Process numbers and addresses, which differ in each run, become one word."""
    text = open(path, errors="surrogateescape").read()
    text = re.sub(r"(\bsi_pid=|\bpid |\) += |\bkill\()\d{2,}\b", r"\1PID", text)
    return re.sub(r"0x[5-7][0-9a-f]{11}\b", "ADDRESS", text).splitlines()


def both(options, *argv, **more):
    """The lines of strace, and those of duet strace."""
    theirs, ours = work + "/theirs", work + "/ours"
    status, _, err = run("strace", *options, "-o", theirs, *argv, **more)
    is_(cmd("strace", *options, "-o", ours, "--", *argv, **more)[0], status if status >= 0 else 128 - status, "the status of the command")
    return lines_of(theirs), lines_of(ours)


def same(options, *argv, **more):
    theirs, ours = both(options, *argv, **more)
    first_difference(theirs, ours, "duet strace " + " ".join(options))
    return theirs


def first_difference(theirs, ours, what):
    for a, b in zip(theirs, ours):
        if a != b:
            fail("%s prints\n%s\nnot\n%s" % (what, b, a))
    is_(len(ours), len(theirs), "lines of %s" % what)
    ok(theirs, "there are lines of %s" % what)


def names_up_to_the_longest_path_are_shown():
    n = len(same(["-qq", "-e", "trace=chdir,rename,mount,setxattr"], programs["names"]))
    ok(n >= 60, "%d calls" % n)


def signals_have_all_that_the_kernel_says_of_them():
    for how in ("accerr", "maperr", "protection", "ill", "term", "killed"):
        lines = same(["-a1", "-e", "trace=none"], programs["signals"], how)
        ok(len(lines) > 10, "signals up to %s: %s" % (how, lines[-1:]))
    lines = same(["-e", "trace=none", "-e", "signal=!chld"], programs["signals"])
    ok(len(lines) > 5, "signals but SIGCHLD")


def one_argument_decides_how_the_others_are_read():
    calls = "trace=bpf,mount,fsconfig,ptrace,perf_event_open,clone3,sched_setattr,keyctl,seccomp"
    for options in ([], ["-v"], ["-Xverbose"], ["-Xraw"]):
        n = len(same(["-qq", *options, "-e", calls], programs["requests"]))
        ok(n >= 40, "%d calls" % n)


SHELL = ["sh", "-c", "(exit 3); /bin/true; kill -USR1 $$; exit 4"]
CALLS = "trace=execve,clone,fork,vfork,wait4,exit_group,kill,rt_sigaction,dup2"


def without_f_only_the_command_is_shown_and_with_ff_each_has_a_file():
    same(["-e", "signal=!chld", "-e", CALLS], *SHELL)
    same(["-n", "-e", "signal=!chld", "-e", CALLS], *SHELL)
    theirs, ours = work + "/each-theirs", work + "/each-ours"
    run("strace", "-ff", "-e", "signal=!chld", "-e", CALLS, "-o", theirs, *SHELL)
    cmd("strace", "-ff", "-e", "signal=!chld", "-e", CALLS, "-o", ours, "--", *SHELL)
    files = [sorted(glob.glob(name + ".*"), key=lambda f: int(f.rsplit(".", 1)[1])) for name in (theirs, ours)]
    is_((len(files[1]), len(files[0])), (3, 3), "files of -ff: the shell and its two children")
    for a, b in zip(*files):
        first_difference(lines_of(a), lines_of(b), "the %s of -ff" % os.path.basename(b))


def lines_of_children_begin_with_their_number():
    out = work + "/children"
    cmd("strace", "-f", "-e", CALLS, "-o", out, "--", *SHELL)
    lines = open(out).read().splitlines()
    ok(all(re.match(r"\d+ +[a-z+-]", line) for line in lines), "each line of a file begins with a number: %s" % lines[:3])
    ok(len({line.split()[0] for line in lines}) == 3, "of three processes")
    err = cmd("strace", "-f", "-e", CALLS, "--", *SHELL)[2].splitlines()
    ok(not err[0].startswith("["), "no number while there is one process: " + err[0])
    numbered = [line for line in err if re.match(r"\[pid +\d+\] ", line)]
    ok(len(numbered) > 2 and all("+++" in line or "(" in line for line in numbered), "numbers while there are two: %s" % numbered)
    ok(err[-1] == "+++ killed by SIGUSR1 +++", "and none at the end: " + err[-1])
    err = cmd("strace", "-f", "-Y", "-e", "trace=exit_group,execve", "--", *SHELL)[2]
    ok(re.search(r"(?m)^\[pid +\d+<true>\] exit_group", err), "-Y: with names: " + err)
    theirs, ours = both(["-f", "-Y", "-a1", "-qq", "-e", "trace=getppid", "-e", "signal=none"],
                        "sh", "-c", "(exit 3); sh -c :")
    theirs, ours = (sorted(re.sub(r"\b\d{2,}<", "N<", line).replace("<strace>", "<duet>") for line in lines) for lines in (theirs, ours))
    first_difference(theirs, ours, "duet strace -Y")


def a_thread_that_executes_a_program_takes_the_place_of_the_first():
    for call, options in (("execve", []), ("execveat", []), ("execveat", ["--quiet=superseded"])):
        theirs, ours = work + "/first-theirs", work + "/first-ours"
        argv = [programs["execs"], call]
        run("strace", "-f", *options, "-a1", "-e", "trace=execve,execveat", "-o", theirs, *argv)
        cmd("strace", "-f", *options, "-a1", "-e", "trace=execve,execveat", "-o", ours, "--", *argv)
        lines = [[re.sub(r"(pid|to) \d+", r"\1 N", re.sub(r"/\* .. vars? \*/", "VARS", line)) for line in numbered(path)] for path in (theirs, ours)]
        first_difference(*lines, "duet strace " + call)
        is_(len(lines[0]), 5 - len(options), "lines: %s" % lines[0])


def a_recording_gives_the_same_text():
    """The one that `duet strace` made, and one of duet record --capture."""
    kept, live, again = work + "/kept", work + "/live", work + "/again"
    options = ["-f", "-a1", "-e", "signal=all"]
    cmd("strace", *options, "-o", live, "--keep", kept, "--", *SHELL)
    cmd("strace", *options, "-o", again, "-i", kept)
    first_difference(open(live).read().splitlines(), open(again).read().splitlines(), "the recording kept")
    recorded = work + "/recorded"
    cmd("record", "-q", "-k", "syscalls", "-k", "signal", "-k", "sched_process_*", "--capture", "32", "-o", recorded, "--",
        programs["signals"], "term")
    cmd("strace", "-a1", "-e", "trace=none", "-o", again, "-i", recorded)
    cmd("strace", "-a1", "-f", "-e", "trace=none", "-o", live, "--", programs["signals"], "term")
    first_difference(list(numbered(live)), list(numbered(again)), "the recording of duet record --capture")


def numbered(path):
    """The lines of a file of -f, whose threads have the numbers of their order."""
    lines, found = lines_of(path), []
    for line in lines:
        tid = line.split()[0]
        found += [tid] if tid not in found else []
        yield "%d %s" % (found.index(tid), line.split(None, 1)[1])


def ctrl_c_at_once_gives_what_there_is():
    for delay in (*(k / 500 for k in range(12)), 0.2, 0.5, 1):
        s = start(duet, "strace", "-e", "clock_nanosleep,execve", "--", "sh", "-c", "while :; do sleep 0.02; done", start_new_session=True)
        time.sleep(delay)
        os.killpg(s.pid, signal.SIGINT)  # as a terminal does
        until(lambda: s.poll() is not None, "it ends by Ctrl-C after %s s" % delay)
        until(lambda: not glob.glob(work + "/duet-strace-*"), "its recording is removed")
        for line in s.stderr.read().splitlines():
            ok(re.search(r" = |<unfinished|^(---|\+\+\+) |^duet strace: a signal ended it before", line), "a whole line: " + line)


def a_signal_sent_to_the_tracer_alone_ends_it_and_goes_to_the_command():
    for name in "INT", "TERM", "HUP":
        for argv in (["strace"], [duet, "strace"]):
            got = "%s/%s-%d" % (work, name, len(argv))
            s = start(*argv, "-f", "-e", "clock_nanosleep", "--", "sh", "-c",
                      "trap 'echo >>%s' %s; while :; do sleep 0.02; done" % (got, name))
            until(lambda: s.stderr.so_far().count("clock_nanosleep") > 3, "%s shows calls" % argv)
            command = Noted(next(p for p in descendants(s.pid) if proc.read(p, "cmdline").startswith("sh\0-c\0")))
            s.send_signal(getattr(signal, "SIG" + name))
            until(lambda: s.poll() is not None, "%s ends by %s" % (argv, name))
            is_(abs(s.returncode) % 128, getattr(signal, "SIG" + name), "the exit status of %s" % argv)
            until(lambda: os.path.exists(got), "its command gets SIG%s of %s" % (name, argv))
            ok(not command.is_dead(), "and decides what it does")
            command.kill()
    until(lambda: not glob.glob(work + "/duet-strace-*"), "its recordings are removed")


def calls_that_wait_for_a_file_are_about_it():
    code = ("import select; f = open('/dev/full', 'w'); g = open('/dev/null', 'w'); select.select([], [f, g], []); select.select([], [g], []); "
            "p = select.poll(); p.register(f, 4); p.poll()")
    lines = same(["-a1", "-qq", "-P", "/dev/full", "-e", "trace=select,pselect6,poll,ppoll"], sys.executable, "-S", "-c", code)
    is_(len(lines), 2, "calls: %s" % lines)


def paths_of_descriptors_have_devices_and_processes():
    argv = ["sh", "-c", "exec 7</dev/null; exec 8>&7; exec 9</dev/full"]
    with open("/dev/full", "w") as full:
        os.dup2(full.fileno(), 9, inheritable=True)
        for options in (["-yy"], ["-y"], ["--decode-fds=path"], ["--decode-fds=none"]):
            same([*options, "-qq", "-a1", "-e", "trace=dup2"], *argv, pass_fds=(9,))
        lines = both(["-yy", "-a1", "-e", "trace=dup2,dup"], sys.executable, "-c", "import os; os.dup2(9, 11)", pass_fds=(9,))[1]
    os.close(9)
    ok(any("9</dev/full<char 1:7>>, 11" in line for line in lines), "a device: %s" % lines)
    theirs, ours = both(["-a1", "--decode-fds=pidfd", "-e", "trace=pidfd_open"], sys.executable, "-c", "import os; os.pidfd_open(os.getpid())")
    for lines in theirs, ours:
        ok(re.search(r"pidfd_open\((\d+), 0\) = \d+<pid:\1>", lines[0]), "a pidfd: %s" % lines)


def the_environment_of_a_program_is_shown_with_v():
    few = ["env", "-i", "A=b", "EMPTY=", "BROKEN=\n\t\"", "LONG=" + "x" * 50, "true"]
    many = ["env", "-i", *("V%d=%d" % (i, i) for i in range(100)), "true"]
    for options in ([], ["-v"], ["-v", "-s", "8"]):
        lines = same([*options, "-qq", "-a1", "-e", "trace=execve"], *few)
        ok(("A=b\", \"EMPTY=" in lines[-1]) == bool(options), "variables: %s" % lines)
    lines = both(["-v", "-qq", "-e", "trace=execve"], *many)
    is_([re.findall(r"V\d+=\d+", found[-1]) for found in lines], [["V%d=%d" % (i, i) for i in range(100)]] * 2, "a hundred variables")


def ordered(lines):
    """Numbers of sockets, ports and processes become those of their order."""
    found = {}
    return [re.sub(r"\b\d{4,}\b|(?<=ROUTE:)\d+", lambda m: "N%d" % found.setdefault(m[0], len(found)), line) for line in lines]


def descriptors_have_the_addresses_of_their_sockets():
    directory = work + "/descriptors"
    os.mkdir(directory)
    for options in (["-yy"], ["-y"], ["--decode-fds=socket"], ["--decode-fds=dev"]):
        theirs, ours = both([*options, "-a1", "-qq", "-e", "trace=socket,bind,listen,connect,accept,sendto,recvfrom,socketpair,pipe2,openat,"
                             "fsync,unlink,io_uring_setup,write"], programs["descriptors"], directory)
        theirs, ours = (ordered(line for line in lines if "/lib/" not in line and "/etc/" not in line) for lines in (theirs, ours))
        first_difference(theirs, ours, "duet strace " + options[0])
        ok(len(theirs) > 40, "calls: %d" % len(theirs))


SERVER = """
import os, socket, sys, time
def pair(family, host):
    s = socket.socket(family)
    s.bind((host, 0))
    s.listen(1)
    c = socket.socket(family)
    c.connect(s.getsockname())
    return s, c, s.accept()[0]
sockets = [*pair(socket.AF_INET, "127.0.0.1")]
if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6") and "lo" in open("/proc/net/if_inet6").read():
    sockets += pair(socket.AF_INET6, "::1")
for kind, at in ((socket.SOCK_STREAM, "path"), (socket.SOCK_DGRAM, "\\0duet-abstract-%d" % os.getpid())):
    sockets.append(socket.socket(socket.AF_UNIX, kind))
    sockets[-1].bind(at)
    if kind == socket.SOCK_STREAM:
        sockets[-1].listen(1)
sockets += [socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0), socket.socket()]
sockets[-3].bind(("127.0.0.1", 0))
sockets[-2].bind((0, 0))
open("ready", "w").close()
while True:
    for s in sockets:
        s.getsockname()
    time.sleep(0.02)
"""


def sockets_that_were_open_have_addresses_too():
    s = start(sys.executable, "-c", SERVER, cwd=work)
    until(lambda: os.path.exists(work + "/ready"), "the server is ready")
    names = []
    for argv in (["strace"], [duet, "strace"]):
        out = work + "/attached-" + os.path.basename(argv[0])
        tracer = start(*argv, "-yy", "-e", "trace=getsockname", "-o", out, "-p", str(s.pid))
        until(lambda: os.path.exists(out) and open(out).read().count("\n") > 100, "calls are traced by %s" % argv[0])
        tracer.send_signal(signal.SIGINT)
        until(lambda: tracer.poll() is not None, "%s ends" % argv[0])
        names.append(sorted(set(re.findall(r"(?m)^getsockname\((\d+<.*\]>), ", open(out).read()))))
    s.kill()
    is_(names[1], names[0], "sockets of strace and of duet strace")
    ok(len(names[0]) >= 7, "sockets: %s" % names[0])


def rt_sigreturn_has_its_mask_also_if_it_is_chosen_alone():
    for options in ([], ["-e", "trace=rt_sigreturn"], ["-Xraw", "-e", "trace=rt_sigreturn"]):
        theirs, ours = ([line for line in lines if line.startswith("rt_sigreturn")] for lines in both(options, programs["descriptors"], work))
        first_difference(theirs, ours, "duet strace %s" % options)
        is_(len(ours), 1, "calls: %s" % ours)


def of_one_run(line):
    """The line without the number of the child, which is in a register too, and without its processor's flags."""
    return re.sub(r"\b(rdi|r11|eflags)=\w+", r"\1", re.sub(r"^(ptrace\([^,]*, |process_vm_readv\()\d+", r"\1PID", line))


def counts_and_lengths_are_those_that_the_kernel_looks_at():
    """And no byte that the kernel did not write or read is shown, or recorded."""
    file, kept = work + "/limits", work + "/limits-kept"
    open(file, "w").close()
    calls = ("trace=recvfrom,getxattr,listxattr,getgroups,writev,sendmmsg,recvmmsg,io_submit,sched_setaffinity,poll,epoll_wait,"
             "execve,ptrace,perf_event_open,sendmsg,mq_open,mq_getsetattr,select,"
             "readv,recvmsg,process_vm_readv")
    for options in ([], ["-s", "3"]):
        theirs, ours = ([of_one_run(line) for line in lines[1:]] for lines in both([*options, "-qq", "-a1", "-e", calls, "-e", "signal=none"], programs["limits"], file))
        ok(any("/* more than 512 vars */" in line for line in ours), "999 variables: %s" % ours)
        ours = [line.replace("more than 512 vars", "999 vars") for line in ours]
        # strace shows what getxattr leaves alone if the size is 0.
        theirs = [re.sub(r'^(getxattr.*), "SEC.*, 0\)', r"\1, ADDRESS, 0)", line) for line in theirs]
        first_difference(theirs, ours, "duet strace %s" % options)
        is_(len(ours), 55, "calls")
    err = cmd("strace", "-v", "-e", "read=all", "--keep", kept, "--", programs["limits"], file)[2]
    sets = re.findall(r"pselect6\((\d+), (\[.*?\]), NULL, NULL, .*\) = 1 \((in \[.*?\])", err)
    first = re.fullmatch(r"\[(\d+)\]", sets[0][1])[1]
    is_(sets[1], ("4096", "[%s]" % first, "in [%s]" % first), "of a set: the descriptors that the process has places for")
    if sets[2:]:
        is_(sets[2:], [("17001", "[%s ...]" % first, "in [%s ...]" % first)], "a set that is cut")
    ok("0123" in err and "SECRET" not in err, "lines of bytes: " + err)
    parts = [p for p in glob.glob(kept + "/**", recursive=True) if os.path.isfile(p)]
    ok(any(b"0123456" in open(p, "rb").read() for p in parts), "data is in the recording")
    is_([p for p in parts if b"SECRET" in open(p, "rb").read()], [], "files with bytes that no call moved")


def numbers_of_another_pid_namespace_have_no_names():
    """There the shell's child has the number of the outer shell."""
    inner = "echo $(($$ - 1)) > /proc/sys/kernel/ns_last_pid; sleep 0 & kill -0 $$; wait"
    for options in ([], ["-e", "trace=kill,getpid,wait4,clone,fork,vfork"]):
        out = work + "/namespaces"
        cmd("strace", "-f", "-Y", "-qq", "-a1", *options, "-o", out, "--", "sh", "-c", 'unshare -pf sh -c "%s"; kill -0 $$' % inner)
        lines = [re.sub(r"^\d+<\w+> +", "", line) for line in open(out)]
        kills = [line for line in lines if line.startswith("kill")]
        is_(len(kills), 2, "calls: %s" % lines)
        ok(re.fullmatch(r"kill\(\d+, 0\) += 0\n", kills[0]), "a number of the namespace: " + kills[0])
        ok(re.fullmatch(r"kill\(\d+<sh>, 0\) += 0\n", kills[1]), "a number of the recording: " + kills[1])


def unnumbered(path):
    """The lines without the numbers of threads."""
    return [re.sub(r"^\d+ +", "", line) for line in open(path)]


def frames_of(path):
    """The frames behind each call, up to main: (file, function+offset, address)."""
    found = []
    for line in unnumbered(path):
        m = re.match(r" > (.*)\((.*)\) \[(0x[0-9a-f]+)\]$", line)
        if not m:
            found.append([line.split("(")[0]])
        elif not any(f[1].startswith("main+") for f in found[-1][1:]):
            found[-1].append(m.groups())
    return [f for f in found if f[0] in ("getppid", "openat")]


def call_stacks_are_those_of_strace():
    program, kept = programs["stacks"], work + "/stacks-kept"
    theirs, ours, again = (work + "/stacks-" + n for n in ("theirs", "ours", "again"))
    options = ["-qq", "-a1", "-e", "trace=getppid,openat"]
    run("strace", "-k", *options, "-o", theirs, program)
    for _ in range(3):
        shutil.rmtree(kept, ignore_errors=True)
        status, _, err = cmd("strace", "-k", *options, "-o", ours, "--keep", kept, "--", program)
        is_((status, err), (0, ""), "duet strace -k")
        a, b = frames_of(theirs), frames_of(ours)
        is_([c[0] for c in b], [c[0] for c in a], "calls")
        is_(b[-4:-1], a[-4:-1], "the stacks of calls that the program makes itself")
        is_([f[1].split("+")[0] for f in b[-4][1:]], ["inner", "outer", "main"], "functions")
        is_(b[-1][1][0], a[-1][1][0], "the file of the innermost function, in libc")
    cmd("strace", "-k", *options, "-o", again, "-i", kept)
    is_(unnumbered(again), unnumbered(ours), "stacks of the recording")
    cmd("record", "-q", "-k", "syscalls", "-k", "stack:syscall_entry_*", "-o", work + "/entries", "--", program)
    cmd("strace", "-k", *options, "-o", again, "-i", work + "/entries")
    is_(frames_of(again)[-4:-1], a[-4:-1], "stacks that were recorded at the beginning of calls")


if not shutil.which("strace"):
    skip("there is no strace")
run_cases(names_up_to_the_longest_path_are_shown, one_argument_decides_how_the_others_are_read, signals_have_all_that_the_kernel_says_of_them,
          without_f_only_the_command_is_shown_and_with_ff_each_has_a_file, lines_of_children_begin_with_their_number,
          a_thread_that_executes_a_program_takes_the_place_of_the_first, a_recording_gives_the_same_text, ctrl_c_at_once_gives_what_there_is,
          a_signal_sent_to_the_tracer_alone_ends_it_and_goes_to_the_command, calls_that_wait_for_a_file_are_about_it,
          paths_of_descriptors_have_devices_and_processes, descriptors_have_the_addresses_of_their_sockets, the_environment_of_a_program_is_shown_with_v,
          counts_and_lengths_are_those_that_the_kernel_looks_at, numbers_of_another_pid_namespace_have_no_names,
          sockets_that_were_open_have_addresses_too, rt_sigreturn_has_its_mask_also_if_it_is_chosen_alone, call_stacks_are_those_of_strace)
