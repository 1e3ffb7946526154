#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Errors are one line (and perhaps an indented one with the remedy), with status 2, without standard output, and
without files left behind.

    errors.py DUET
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

RECORDED = "good"  # a recording that the test makes first
CASES = [
    # arguments, pattern of the line
    (["frob"], r'duet: no verb "frob"'),
    (["record", "--frob"], r"duet record: no such option: --frob"),
    (["record", "--kernl"], r"duet record: no such option: --kernl: did you mean --kernel\?"),
    (["record", "--no-kernel=2"], r"duet record: --no-kernel takes no value"),
    (["record", "-Z"], r"duet record: no such option: -Z"),
    (["record", "-o"], r"duet record: -\S+: an option lacks its value"),
    (["record", "-p", "{nobody}"], r"-p \d+: no such process"),
    (["record", "-p", "x"], r"-p x: not a process number"),
    (["record", "-p", "-5"], r"-p -5: not a process number"),
    (["record", "-p", "{sleeper}", "--", "true"], r"either a command or -p"),
    (["record", "-p", "{sleeper}", "--no-kernel"], r"process \d+ \(sleep\) has no trace sites \(it is not instrumented\): .*-u sleep:FUNCTION"),
    (["record", "-p", "{sleeper}", "--no-kernel", "-e", "a:b"], r"process \d+ \(sleep\) has no trace sites"),
    (["record", "-b", "0", "--", "true"], r"0: not a size"),
    (["record", "-b", "12Q", "--", "true"], r"12Q: not a size"),
    (["record", "-b", "-1", "--", "true"], r"-1: not a size"),
    (["record", "--clock", "x", "--", "true"], r'--clock x: clocks are "tsc" and "mono"'),
    (["record", "--kernel-backend", "x", "--", "true"], r'--kernel-backend x: backends are "auto", "bpf" and "ftrace"'),
    (["record", "--kernel-context", "uid,gud", "--", "true"], r"--kernel-context: no context of kernel events is called 'gud'"),
    (["start", "--kernel-context", "uid"], r"--kernel-context is about kernel events: -k chooses some"),
    (["record", "--no-kernel", "--kernel-context", "uid", "--", "true"], r"--kernel-context is about kernel events"),
    (["record", "--kernel-context", "", "--", "true"], r"no context of kernel events is called ''"),
    (["record", "-e", "", "--", "true"], r"-e: empty pattern"),
    (["record", "-e", "!", "--", "true"], r"-e: empty pattern"),
    (["record", "-k", "", "--", "true"], r"-k: empty pattern"),
    (["record", "-u", "f", "--", "true"], r"-u f: FILE:FUNCTION expected"),
    (["record", "--usdt", "f", "--", "true"], r"--usdt f: FILE:PROVIDER:NAME expected"),
    (["record", "-u", "a:f", "-f", "x > 1", "-f", "x > 2", "--", "true"], r'-f x > 2: "a:f" has a filter'),
    (["list", "-u", "no_such_file"], r"no_such_file: there is no such file, command or library"),
    (["list", "--usdt", "a_file"], r"a_file"),
    (["list", "-u", "true", "-k"], r"-u, --usdt and --functions go with no other option"),
    (["list", "--functions", "no_such_file"], r"no_such_file: there is no such file, command or library"),
    (["list", "--functions", "./a_file"], r"a_file: cannot be read, or is no ELF file"),
    (["list", "--functions", "bash:"], r"--functions: FILE or FILE:GLOB expected"),
    (["list", "--functions", "bash:xmaloc"], r"bash has no function xmaloc: did you mean xmalloc\?"),
    (["list", "--functions", "bash:@no/such*.c"], r"bash has no function of source file no/such\*\.c, or no debugging information"),
    (["list", "--functions", "bash", "-k"], r"-u, --usdt and --functions go with no other option"),
    (["record", "-o", "full", "--", "true"], r"full is not empty"),
    (["record", "-o", "a_file", "--", "true"], r"a_file"),
    (["record", "-o", "/proc/no/such", "--", "true"], r"/proc/no/such"),
    (["record", "--", "no_such_command"], r"no_such_command: no such command"),
    (["record", "--", "./a_file"], r"a_file: not a program"),
    (["record", "--", "."], r"\.: not a program"),
    (["record", "--no-such", "--", "true"], r"no such option"),
    (["record", "--rotate", "soon", "--", "true"], r"--rotate soon: a size \(1G\), a time \(10min\) or"),
    (["record", "--rotate", "1X", "--", "true"], r"1X: not a size"),
    (["record", "--rotate", "1G", "--overwrite", "--", "true"], r"--rotate: a flight recorder writes only when asked"),
    (["record", "--keep-last", "3", "--", "true"], r"give --rotate as well"),
    (["record", "--keep-last", "0", "--rotate", "1G", "--", "true"], r"--keep-last 0: 1 to"),
    (["record", "--keep-last", "-3", "--rotate", "1G", "--", "true"], r"--keep-last -3: a size"),
    (["record", "--compress", "gzip", "--", "true"], r'--compress gzip: "zstd" or'),
    (["record", "--compress", "zstd:20", "--rotate", "1G", "--", "true"], r"level from 1 to 19"),
    (["record", "--compress", "zstd:", "--rotate", "1G", "--", "true"], r"level from 1 to 19"),
    (["record", "--compress", "gzip", "--to", "127.0.0.1", "--plain", "--", "true"], r'--compress gzip: "zstd" or'),
    (["send", "--compress", "zstd:20", "--plain", ".", "127.0.0.1"], r"level from 1 to 19"),
    (["record", "--sync", "rotate", "--", "true"], r"give --rotate as well"),
    (["record", "--sync", "often", "--", "true"], r"--sync often:"),
    (["rotate"], r"duet rotate: nothing records"),
    (["rotate", "-s", "none"], r"duet rotate: "),
    (["rotate", "a", "b"], r"duet rotate: one session expected"),
    (["export", "ctf", RECORDED], r"ctf: name a new directory with -o"),
    (["export", "ctf", "-o", "full", RECORDED], r"full: a new or empty directory is wanted"),
    (["export", "ctf", "-o", RECORDED + "/x", RECORDED], r"good/x lies in the recording itself"),
    (["export", "ctf", "-o", "x", RECORDED, RECORDED], r"ctf takes one recording"),
    (["export", "ctf", "-e", "a", "-o", "x", RECORDED], r"all events of the time are copied"),
    (["collect", "a", "b"], r"duet collect: one name for the session, and no command"),
    (["collect", "a", "-s", "b"], r"duet collect: a: the session is b by -s: give one name"),
    (["start", "a", "-s", "b"], r"duet start: a: the session is b by -s: give one name"),
    (["record", "-s", "a/b", "--", "true"], r"duet record: -s a/b: a name of letters"),
    (["live", "-s"], r"duet live: -s: an option lacks its value"),
    (["live", "-s", "nosuch"], r"duet live: nosuch: no such session is recording"),
    (["live", "--session=nosuch"], r"duet live: nosuch: no such session is recording"),
    (["collect", "--all-users", "--to", ":1"], r"--to :1: which host"),
    (["record", "--containers", "true"], r"--containers: it is for all programs, not for a command"),
    (["start", "--all-users", "-p", "1"], r"--all-users: it is for all programs, not for a command or -p"),
    (["list", "--containers", "-k"], r"--containers"),
    (["collect", "-s", "a/b"], r"-s a/b: a name of letters"),
    (["collect", "-s", ""], r"-s : a name of letters"),
    (["view"], r"duet view: no recording given"),
    (["view", "--frob", RECORDED], r"duet view: no such option"),
    (["record", "--kernl"], r"duet record: no such option: --kernl: did you mean --kernel\?"),
    (["view", "--limit"], r"duet view: -\S+: an option lacks its value"),
    (["view", "--limit", "x", RECORDED], r"--limit takes a number"),
    (["view", "--limit", "-1", RECORDED], r"--limit takes a number"),
    (["view", "--from", "x", RECORDED], r"--from takes a time"),
    (["view", "--to", "12:00", RECORDED], r"--to takes a time"),
    (["view", "--syscalls", "-e", "read", RECORDED], r"--syscalls goes without -e, -f and --follow"),
    (["live", "--syscalls", RECORDED], r"--syscalls is for recordings"),
    (["view", "-e", "nothing:*", RECORDED], r"-e nothing:\*: nothing recorded"),
    (["view", "/nonexistent"], r"/nonexistent: no such directory"),
    (["view", "empty"], r"empty: no trace here"),
    (["view", "a_file"], r"a_file: not a directory"),
    (["view", "damaged"], r"damaged"),
    (["view", "--follow", "/nonexistent"], r"/nonexistent: no such directory"),
    (["view", "--follow", "empty"], r"empty: no trace here"),
    (["live"], r"duet live: nothing records"),
    (["live", "nobody"], r"nobody: no such session is recording, and no such directory"),
    (["live", "--frob", RECORDED], r"duet live: no such option"),
    (["live", "-f", "x ==", RECORDED], r"duet live: filter"),
    (["live", "--anywhere", RECORDED], r"--anywhere needs --serve"),
    (["live", "--serve", "--json", RECORDED], r"--serve shows nothing"),
    (["live", "--serve=0.0.0.0:0", RECORDED], r"need --anywhere"),
    (["live", "--serve=[::1", RECORDED], r"--serve: .*expected"),
    (["live", "--at"], r"duet live: "),
    (["live", "--at", "127.0.0.1:1"], r"a key is needed"),
    (["live", "--at", "127.0.0.1:1", "--plain"], r"127\.0\.0\.1:1: Connection refused"),
    (["live", "--at", "127.0.0.1:1", "--plain", "--spool", "x"], r"x: not a size"),
    (["live", "--at", ":1", "--plain"], r"--at which host"),
    (["live", "--at", "127.0.0.1", "--plain", "--serve"], r"--serve serves recordings of this machine"),
    (["live", "--psk", "key", RECORDED], r"keys are for --at"),
    (["list", "-z"], r"duet list: no such option"),
    (["list", "-p"], r"duet list: -\S+: an option lacks its value"),
    (["list", "-p", "{sleeper}"], r"process \d+ \(sleep\) has no trace sites"),
    (["list", "-p", "{nobody}"], r"-p \d+: no such process"),
    (["list", "{nobody}"], r"-p \d+: no such process"),
    (["doctor", "{nobody}"], r"duet doctor: process \d+ does not exist"),
    (["doctor", "-5"], r"duet doctor: no such option"),
    (["doctor", "a_file"], r"duet doctor: a_file is no program or library \(ELF\)"),
    (["doctor", "."], r"duet doctor: \. is not a regular file"),
    (["doctor", "no_such_command"], r"duet doctor: cannot open no_such_command: No such file"),
    (["doctor", "--jsno"], r"no such option: --jsno: did you mean --json\?"),
    (["enable"], r"duet enable: no pattern"),
    (["disable"], r"duet disable: no pattern"),
    (["enable", "a:b"], r"duet enable: (nothing records|no traced program)"),
    (["disable", "a:b"], r"duet disable: (a:b: no running program|no traced program)"),
    (["enable", "-s", "none", "a:b"], r"(no such session|no traced program)"),
    (["enable", "-p", "{nobody}", "a:b"], r"-p \d+: no such process"),
    (["enable", "-s"], r"duet enable: -\S+: an option lacks its value"),
    (["enable", "-f", "", "a:b"], r"duet enable: -f: empty filter"),
    (["disable", "-f", "x > 1", "a:b"], r"duet disable: no such option"),
    (["trigger"], r"duet trigger: add, list, remove or watch expected"),
    (["trigger", "frob"], r"duet trigger: frob: add, list, remove or watch expected"),
    (["trigger", "add"], r"duet trigger: no trigger given"),
    (["trigger", "remove"], r"duet trigger: no number given"),
    (["trigger", "list", "x"], r"no such session|nothing records"),
    (["trigger", "list", "x", "y"], r"duet trigger: no argument expected"),
    (["view", "--colour", RECORDED], r"duet view: no such option: --colour: did you mean --color\?"),
    (["stop", "--sesion", "x"], r"no such option: --sesion: did you mean --session\?"),
    (["report", "why", "-Z", RECORDED], r"duet report: no such option: -Z"),
    (["list", "--kernel=x"], r"duet list: --kernel takes no value"),
    (["snapshot", "nosuch"], r"nosuch: no such session|nothing records"),
    (["status", "-s", "none"], r"duet status: .*no such session"),
    (["trigger", "watch", "-n", "0"], r"-n 0: not a number of firings"),
    (["trigger", "list", "-s"], r"duet trigger: -\S+: an option lacks its value"),
    (["trigger", "list", "-z"], r"duet trigger: no such option"),
    (["trigger", "list"], r"duet trigger: nothing records"),
    (["record", "--no-kernel", "--trigger", "event a", "--", "true"], r'trigger: event a: "CONDITION -> ACTION" expected'),
    (["record", "--no-kernel", "--trigger", "event a -> snapshot", "--", "true"], r"trigger: a snapshot is of a flight"),
    (["status", "none"], r"duet status: .*no such session"),
    (["status", "a", "b"], r"duet status: more than one session"),
    (["status", "-w", "0"], r"duet status: -w 0: the time between two looks"),
    (["status", "-w", "2x"], r"duet status: 2x: not a time"),
    (["status", "-w", "2s", "nosuch"], r"duet status: nosuch: no such session"),
    (["status", "-w"], r"duet status: -\S+: an option lacks its value"),
    (["start", "a", "b"], r"duet start: one name for the session, and no command"),
    (["start", "a/b"], r"duet start: a/b: a name of letters"),
    (["start", "-o", "full"], r"duet start: .*full is not empty"),
    (["start", "--level", "loud"], r"duet start: level loud: levels are"),
    (["start", "--uid", "no.one"], r"duet start: uid no.one: no such user"),
    (["start", "--program", "a,,b"], r"duet start: program: an item is empty"),
    (["start", "-e", "a:b", "--level", "err", "--level", "info"], r'duet start: --level info: "a:b" has a level'),
    (["stop", "none"], r"duet stop: none: no such session is recording"),
    (["strace"], r"duet strace: give a command, -p, or -i"),
    (["strace", "--frob", "true"], r"duet strace: no such option"),
    (["strace", "-e"], r"an option lacks its value"),
    (["strace", "-e", "frobnicate", "--", "true"], r"-e frobnicate: no such system call"),
    (["strace", "-e", "%frob", "--", "true"], r"-e %frob: no such kind"),
    (["strace", "-e", "status=good", "--", "true"], r"-e status=good: it may be"),
    (["strace", "-e", "fault=all", "--", "true"], r"-e fault=all: duet strace changes and stops nothing"),
    (["strace", "-e", "loud=all", "--", "true"], r"-e loud=all: it may be"),
    (["strace", "-e", "open", "-e", "close", "--", "true"], r"-e close: a second list"),
    (["strace", "-S", "size", "-c", "--", "true"], r"-S size: it may be"),
    (["strace", "--limit", "0", "--", "true"], r"--limit 0: not a number"),
    (["strace", "-p", "{nobody}"], r"-p \d+: no such process"),
    (["strace", "-p", "{sleeper}", "--", "true"], r"either a command, or -p, or -i"),
    (["strace", "--keep", "x", "-i", RECORDED], r"--keep is for"),
    (["strace", "--keep", "full", "--", "true"], r"full is not empty"),
    (["strace", "--kernel-buffer", "1K", "--", "true"], r"--kernel-buffer 1K"),
    (["strace", "--", "no_such_command"], r"no_such_command: no such command"),
    (["strace", "-o", "/no/such", "--", "true"], r"-o /no/such: No such file"),
    (["strace", "-i", "/nonexistent"], r"/nonexistent: no such directory"),
    (["strace", "-i", "damaged"], r"damaged"),
    (["stop", "--all", "x"], r"duet stop: either names or --all"),
    (["stop", "-z"], r"duet stop: no such option"),
    (["lend", "x"], r"duet lend: no argument expected"),
    (["lend", "--idle", "0"], r"duet lend: --idle 0: seconds"),
    (["lend", "--group", "no.such", "--socket", "sock"], r"duet lend: (--group no.such: no such group|only root)"),
    (["status", "-z"], r"duet status: no such option"),
    (["record", "-f", "n > 1", "-e", "a:b", "--", "true"], r"-f: stands before -e a:b: put it behind the -e"),
    (["record", "--level", "err", "-e", "a:b", "--", "true"], r"--level: stands before -e a:b"),
    (["record", "-e", "a:b,,c:d", "--", "true"], r"-e: empty pattern"),
    (["record", "-b", "64MBB", "--", "true"], r"64MBB: not a size"),
    (["export", "flamegraph", RECORDED], r'no format "flamegraph": a flame graph is "svg"'),
    (["help", "frob"], r'duet: no verb "frob"'),
]

# Done, with a line on a possible mistake.
REMARKS = [
    (["record", "-v", "--no-kernel", "-e", "a,b", "-o", "{new}", "true"],
     r"(?m)^duet record: recording a, b of true and its children into new-\d+; ends with the command$"),
    (["record", "--no-kernel", "-o", "{new}", "true"], r"\A(?!.*recording )"),
    (["record", "--no-kernel", "-o", "{new}", "-e", "nosuch:*", "--", "true"],
     r"-e nosuch:\*: no such event was recorded: no program with trace sites ran"),
    (["record", "--no-kernel", "-o", "{new}", "-e", "a:b,sched_switch", "--", "true"],
     r"-e sched_switch: no such event was recorded: it is an event of the kernel: -k sched_switch"),
    (["record", "--no-kernel", "-o", "{new}", "-e", "lttng_ust_libc:malloc,lttng_ust_libc:mallok", "--", "ls"],
     r"-e lttng_ust_libc:mallok: no such event was recorded: did you mean lttng_ust_libc:malloc\?"),
]
# Accepted in several spellings.
SPELLINGS = [["record", "-q", "--no-kernel", "-o", "{new}", "-b", size, "--", "true"] for size in ("8M", "8MB", "8MiB", "8m")] + \
    [["record", "-q", "--no-kernel", "-s", "mine", "-o", "{new}", "--", "sh", "-c", "/proc/$PPID/exe status -s mine"]] + \
    [["help", "record"], ["record", "--help"]]


def judge(p, pattern):
    lines = p.stderr.splitlines()
    if p.returncode != 2:
        return "exited with %d, not 2" % p.returncode
    if p.stdout:
        return "wrote to standard output"
    if not lines or not re.search(pattern, lines[0]) or not lines[0].startswith("duet"):
        return "does not say /%s/" % pattern
    if len(lines) > 2 or len(lines) == 2 and not lines[1].startswith("  "):
        return "prints more than one line and a remedy"
    return None


def run(duet, arguments, number):
    arguments = [a.format(new="new-%d" % number) for a in arguments]
    return subprocess.run([duet] + arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def judge_what_works(duet):
    """Returns the number of failures."""
    failed = 0
    for number, (arguments, pattern) in enumerate(REMARKS + [(s, "") for s in SPELLINGS]):
        p = run(duet, arguments, number)
        wrong = p.returncode or not re.search(pattern, p.stderr)
        print("%s duet %s" % ("not ok" if wrong else "ok", " ".join(arguments)))
        if wrong:
            failed += 1
            print("# exited with %d, does not say /%s/:\n%s" % (p.returncode, pattern, p.stderr))
    return failed


# What they print cannot be written: exit status 2 and one line.
PRINTING = [["--help"], ["--version"], ["help", "view"], ["list"], ["doctor"], ["record", "--help"], ["export", "-h"]]


def judge_full_output(duet):
    """Returns the number of failures."""
    failed = 0
    for arguments in PRINTING:
        with open("/dev/full", "w") as full:
            p = subprocess.run([duet] + arguments, stdin=subprocess.DEVNULL, stdout=full,
                               stderr=subprocess.PIPE, text=True, timeout=120)
        wrong = p.returncode != 2 or not re.search(r"cannot write: No space", p.stderr)
        print("%s duet %s >/dev/full" % ("not ok" if wrong else "ok", " ".join(arguments)))
        if wrong:
            failed += 1
            print("# exited with %d:\n%s" % (p.returncode, p.stderr))
    return failed


def judge_closed_descriptors(duet):
    """Buffers and sockets never have the numbers of standard output and error, which are printed to."""
    command = "for i in 0 1 2; do readlink /proc/$PPID/fd/$i; done >links"
    subprocess.run(["sh", "-c", '"$0" record -q --no-kernel -o closed -- sh -c "$1" <&- >&- 2>&-', duet, command],
                   timeout=120)
    links = pathlib.Path("links").read_text().split("\n")[:-1]
    wrong = links != ["/dev/null"] * 3
    print("%s closed descriptors stay unused\n# %s" % ("not ok" if wrong else "ok", links))
    return wrong


def main():
    duet, failed = str(pathlib.Path(sys.argv[1]).resolve()), 0
    with tempfile.TemporaryDirectory(prefix="duet-errors-") as scratch:
        os.chdir(scratch)
        os.environ["DUET_RUNTIME_DIR"] = scratch + "/runtime"
        os.mkdir("runtime", 0o700)
        os.mkdir("empty")
        os.mkdir("full")
        pathlib.Path("full/something").touch()
        pathlib.Path("a_file").write_text("no program")
        os.mkdir("damaged")
        pathlib.Path("damaged/metadata").write_text("/* CTF 1.8 */\ntrace { major = 1;")
        subprocess.run([duet, "record", "-q", "--no-kernel", "-o", RECORDED, "true"], check=True)
        before = sorted(map(str, pathlib.Path().rglob("*")))
        sleeper = subprocess.Popen(["sleep", "1000"])
        nobody = subprocess.Popen(["true"])
        nobody.wait()
        try:
            for arguments, pattern in CASES:
                arguments = [a.format(sleeper=sleeper.pid, nobody=nobody.pid) for a in arguments]
                p = subprocess.run([duet] + arguments, stdin=subprocess.DEVNULL, capture_output=True,
                                   text=True, timeout=120)
                wrong = judge(p, pattern)
                left = sorted(set(map(str, pathlib.Path().rglob("*"))) - set(before))
                if not wrong and left:
                    wrong = "left %s behind" % left
                print("%s duet %s" % ("not ok" if wrong else "ok", " ".join(arguments)))
                if wrong:
                    failed += 1
                    print("# %s:\n%s%s" % (wrong, p.stdout, p.stderr))
            failed += judge_what_works(duet) + judge_full_output(duet) + judge_closed_descriptors(duet)
        finally:
            sleeper.kill()
            sleeper.wait()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
