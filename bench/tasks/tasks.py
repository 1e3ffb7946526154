#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Twenty questions about a running program: the commands that answer each, with duet and with another tracer.

    bench/tasks/tasks.py BUILD [-o docs/twenty-tasks.md] [TASK...]

Both sides run examples/web.c for one second (or what the question needs), in turns, ROUNDS times.  A side has
answered if its output has what the question asks for; otherwise the run fails.  Of each side: the number of commands,
the median of the seconds of all of them together, and how many requests the program handled meanwhile, which shows what
the tracer costs it.  Needs root, perf, bpftrace, strace, uftrace, valgrind, lttng-tools, liblttng-ust-dev and
systemtap-sdt-dev.
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
BEGIN, END = "<!-- bench/tasks/tasks.py -->", "<!-- end of the table -->"
LTTNG = ["lttng create s --snapshot -o $PWD/out", "lttng enable-event -u lttng_ust_tracef:*", "lttng start", "./web-peer 1",
         "lttng snapshot record", "lttng destroy s", "babeltrace2 out"]
FUTEX = ("bpftrace -c './web-peer 1' -e 'tracepoint:syscalls:sys_enter_futex { @s[tid] = nsecs; @a[tid] = args->uaddr; } "
         "tracepoint:syscalls:sys_exit_futex /@s[tid]/ { @ns[comm, @a[tid]] = stats(nsecs - @s[tid]); "
         "delete(@s[tid]); delete(@a[tid]); }'")
REQUESTS = ("bpftrace -c './web-peer 1' -e 'usdt:./web-peer:web:request_begin { @b[arg0] = nsecs; } "
            "usdt:./web-peer:web:request_end /@b[arg0]/ { @ns = hist(nsecs - @b[arg0]); delete(@b[arg0]); }'")
OFF_CPU = ("bpftrace -c './web-peer 1' -e 'tracepoint:sched:sched_switch { @t[args->prev_pid] = nsecs; "
           "@k[args->prev_pid] = kstack; if (@t[args->next_pid]) { @ns[args->next_comm, @k[args->next_pid]] = "
           "sum(nsecs - @t[args->next_pid]); } } END { clear(@t); clear(@k); }'")

# question: (commands of duet, what its answer has), (peer, its commands, what its answer has).  PID: such a process.
TASKS = {
    "Which thread waits, and for what?": (
        ["duet report why -- ./web 1"], r"blocked +\d+",
        "perf", ["perf sched record -o s -- ./web-peer 1", "perf sched -i s timehist --summary"], r"web-peer"),
    "How long do requests take?": (
        ["duet report latency web:request_begin web:request_end -- ./web 1"], r"p50",
        "bpftrace", [REQUESTS], r"@ns:\s+\["),
    "Where does the time of a request go?": (
        ["duet report why --between web:request_begin web:request_end -- ./web 1"], r"blocked longest", None, [], ""),
    "System calls of a running process": (
        ["timeout -s INT 1 duet strace -c -p PID"], r"clock_nanosleep",
        "strace", ["timeout -s INT 1 strace -f -c -p PID"], r"clock_nanosleep"),
    "Calls that concern one file": (
        ["duet strace -P web.log -- ./web 1"], r"web\.log", "strace", ["strace -f -P web.log ./web-peer 1"], r"web\.log"),
    "System calls that fail": (
        ["duet strace -Z -- cat nowhere"], r"ENOENT", "strace", ["strace -f -Z cat nowhere"], r"ENOENT"),
    "System calls with times": (
        ["duet report syscalls -- ./web 1"], r"fsync", "perf", ["perf trace -s ./web-peer 1"], r"fsync"),
    "Bytes by file": (
        ["duet report io -- ./web 1"], r"web\.log +\S+ +write",
        "strace", ["strace -f -y -e trace=read,write -o f ./web-peer 1",
                   "sed -n 's/.*write([0-9]*<\\([^>]*\\)>.* = \\([0-9]*\\)$/\\1 \\2/p' f | "
                   "awk '{ n[$1] += $2 } END { for (i in n) print i, n[i] }'"], r"web\.log \d+"),
    "Waits for locks": (
        ["duet report locks -- ./web 1"], r"waits for futexes", "bpftrace", [FUTEX], r"web-peer, 0x"),
    "Where it is busy, as a flame graph": (
        ["duet export svg -- ./web 1"], r"<svg",
        "perf", ["perf record -g -o p ./web-peer 1", "perf report -i p --stdio"], r"parse|web-peer"),
    "Where it waits, by call stack": (
        ["duet export folded --weight off-cpu -- ./web 1"], r"web;.*schedule",
        "bpftrace", [OFF_CPU], r"web-peer"),
    "Which function takes the time?": (
        ["duet graph --tree -- ./web 1"], r"write_log",
        "uftrace", ["uftrace record -P . -d u ./web-peer 1", "uftrace report -d u"], r"write_log"),
    "Slow calls of functions": (
        ["duet graph --over 100us -- ./web 1"], r"sync_log",
        "uftrace", ["uftrace record -P . -t 100us -d u ./web-peer 1", "uftrace replay -d u"], r"sync_log"),
    "Memory that is never freed": (
        ["duet report heap -- ./web 1"], r"live at the end",
        "valgrind", ["valgrind --leak-check=full ./web-peer 1"], r"definitely lost"),
    "The last events before a moment": (
        ["duet start s --overwrite -e 'web:*' -o s", "./web 1", "duet snapshot s -o out", "duet stop -q s", "duet view out"],
        r"request_end", "lttng", LTTNG, r"request_end"),
    "Calls of a function, with an argument": (
        ["duet script -c './web 1' -e 'probe process(\"./web\").function(\"handle\") { printf(\"id %d\\n\", $id) }'"], r"id \d",
        "bpftrace", ["bpftrace -c './web-peer 1' -e 'uprobe:./web-peer:handle { printf(\"id %d\\n\", arg0); }'"], r"id \d"),
    "A count by a key of one's own": (
        ["duet script -c './web 1' -e 'global n; probe app.web.request_begin { n[url]++ } probe end { table(n, \"url, n\") }'"],
        r"/basket +\d", "bpftrace",
        ["bpftrace -c './web-peer 1' -e 'usdt:./web-peer:web:request_begin { @[str(arg1)] = count(); }'"], r"/basket\]: \d"),
    "What runs on the machine now?": (
        ["duet top -b -n 1 -k sched,syscalls"], r"web",
        "perf", ["perf sched record -a -o s -- sleep 1", "perf sched -i s latency"], r"web"),
    "Interrupts and their time": (
        ["duet report irq -- ./web 1"], r"(?i)softirq|timer",
        "bpftrace", ["bpftrace -c './web-peer 1' -e 'tracepoint:irq:softirq_entry { @s[cpu] = nsecs; } "
                     "tracepoint:irq:softirq_exit /@s[cpu]/ { @ns[args->vec] = stats(nsecs - @s[cpu]); }'"], r"@ns\["),
    "What has changed between two runs?": (
        ["duet record -q -o a -- ./web 1", "duet record -q -o b -- ./web 1", "duet diff a b"], r"\w",
        "perf", ["perf record -o a ./web-peer 1", "perf record -o b ./web-peer 1", "perf diff a b"], r"web-peer|\w"),
}


def build(where, build_dir):
    source = ROOT + "/examples/web.c"
    flags = ["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread"]
    subprocess.run([*flags, "-I" + ROOT + "/include", "-o", where + "/web", source], check=True)
    subprocess.run([*flags, "-I" + ROOT + "/bench/tasks/peer", "-o", where + "/web-peer", source, "-llttng-ust"],
                   check=True)
    os.mkdir(where + "/bin")
    os.symlink(os.path.abspath(build_dir) + "/src/cmd/duet", where + "/bin/duet")
    os.environ.update(PATH=where + "/bin:" + os.environ["PATH"], DUET_RUNTIME_DIR=where + "/run", LTTNG_HOME=where,
                      DUET_LIBRARY=os.path.abspath(build_dir) + "/src/inproc/libduet.so.0", PAGER="cat")


def side(where, program, commands, shows, question):
    """-> seconds, requests handled"""
    at = tempfile.mkdtemp(dir=where)
    for name in ("web", "web-peer"):
        os.symlink(where + "/" + name, at + "/" + name)
    needs_process = any(re.search(r"\bPID\b|top|-a ", c) for c in commands)
    process = subprocess.Popen([at + "/" + program, "60"], cwd=at) if needs_process else None
    printed, t = "", time.monotonic()
    for command in commands:
        p = subprocess.run(["bash", "-c", command.replace("PID", str(process.pid if process else 0))], cwd=at,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        printed += p.stdout.decode(errors="replace")
    seconds = time.monotonic() - t
    if process:
        process.send_signal(signal.SIGTERM)
        process.wait()
    if not re.search(shows, printed):
        sys.exit("%s: no answer from\n  %s\n%s" % (question, "\n  ".join(commands), printed[-2000:]))
    n = None
    if not needs_process and os.path.exists(at + "/web.log"):
        with open(at + "/web.log") as log:
            n = sum(1 for _ in log)
    shutil.rmtree(at)
    return seconds, n


def middle(runs, k, form):
    values = [r[k] for r in runs if r[k] is not None]
    return form % statistics.median(values) if values else "-"


def measure(where, question):
    ours, shows, peer, theirs, they_show = TASKS[question]
    if peer and len(ours) > len(theirs):
        sys.exit("%s: duet needs more commands than %s" % (question, peer))
    duet, other = [], []
    for _ in range(ROUNDS):
        duet.append(side(where, "web", ours, shows, question))
        if peer:
            other.append(side(where, "web-peer", theirs, they_show, question))
    columns = [question, len(ours), middle(duet, 0, "%.2f"), middle(duet, 1, "%d"), peer or "none"]
    return columns + ([len(theirs), middle(other, 0, "%.2f"), middle(other, 1, "%d")] if peer else ["", "", ""])


def plain(where):
    runs = [side(where, "web", ["./web 1"], "", "") for _ in range(ROUNDS)]
    return statistics.median(r[1] for r in runs)


def processor():
    with open("/proc/cpuinfo") as f:
        return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("-o", "--output")
    p.add_argument("tasks", nargs="*")
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="duet-tasks-") as where:
        build(where, a.build)
        daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            lines = ["| question | commands | s | requests | beside | commands | s | requests |",
                     "|---|---|---|---|---|---|---|---|"]
            for question in TASKS:
                if not a.tasks or any(t in question for t in a.tasks):
                    lines.append("| %s |" % " | ".join(map(str, measure(where, question))))
                    print(lines[-1], flush=True)
            n = plain(where)
        finally:
            daemon.terminate()
            daemon.wait()
    lines += ["", "%s, Linux %s, load %.1f, median of %d; without a tracer the program handles %d requests." % (
        processor(), os.uname().release, os.getloadavg()[0], ROUNDS, n)]
    print(lines[-1])
    if a.output:
        with open(a.output) as f:
            text = f.read()
        at, to = text.index(BEGIN) + len(BEGIN), text.index(END)
        with open(a.output, "w") as f:
            f.write(text[:at] + "\n\n" + "\n".join(lines) + "\n\n" + text[to:])


main()
