#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""terminal.py DUET - no control character, no change of direction and no forged line of a name or value reaches a terminal.

Recordings whose every name and value is harmful (lib/terminal.py) are read by every verb that reads one, through a pipe
and on a terminal; every verb gets harmful words as its arguments.  Data for programs through a pipe (CSV, folded
stacks, XML) keeps its bytes there and is checked on the terminal; JSON has to be valid and is checked everywhere.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../lib", HERE + "/../analysis", HERE + "/../../browser"]
import make_call_trees
from hostile import application
from make import LOST, kernel, switch, ust, wakeup
from terminal import ALL, PIECES, TEXT, forged_in, harm_in, on_terminal

duet = os.path.abspath(sys.argv[1])
TEXTS = ["order" + TEXT] + [p.decode() for p in PIECES if not p.decode("utf-8", "replace").count("\ufffd")]
VERBS = ["record", "start", "stop", "status", "enable", "disable", "snapshot", "rotate", "trigger", "collect", "view", "ui",
         "top", "live", "strace", "report", "stats", "graph", "script", "diff", "list", "doctor", "export", "repair", "relay",
         "send", "lend"]
QUESTIONS = ["sched", "cpu", "syscalls", "io", "irq", "latency", "locks", "heap", "why", "functions", "scripts"]
NO = "/no/such"


# ---------------------------------------------------------------- recordings

def of_application(where):
    """CTF 2: names of events and fields, values, threads, the host."""
    classes, events = [], []
    for text in TEXTS:
        classes += [(text + "_begin", [text or "f", "plain"]), (text + "_end", [text or "f"])]
    for round in range(3):
        for i, (_, fields) in enumerate(classes):
            who = (100 + i // 2, 100 + i // 2, ALL[:100])
            events.append((1000 + round * 10**6 + i * 1000, i, who, [ALL, PIECES[i % len(PIECES)]][:len(fields)]))
    application(where + "/ust", "host" + TEXT, classes, events)


def of_kernel(where):
    """Threads, files and pages of reports: switches, calls with names, wakeups, a lost packet."""
    class Bytes(str):  # a string with any bytes
        def encode(self, *_):
            return str.encode(self, "utf-8", "surrogateescape")

    texts = [Bytes(p.decode("utf-8", "surrogateescape")) for p in PIECES] + [Bytes(ALL.decode("utf-8", "surrogateescape"))]
    events, time = [], 500
    for i, text in enumerate(texts):
        who, other = (text, 200 + i), (texts[i - 1], 200 + (i - 1) % len(texts))
        time += 10000
        events += [
            (time, 0, 1, "lttng_statedump_process_state", dict(tid=who[1], pid=who[1], ppid=1, name=text, type=0)),
            (time + 1, 0, 1, "lttng_statedump_file_descriptor", dict(pid=who[1], fd=3, flags=0, fmode=1, filename=text)),
            switch(time + 1000, 0, ("swapper/0", 0), who),
            (time + 2000, 0, who[1], "syscall_entry_openat", dict(dfd=-100, filename=text, flags=0)),
            (time + 3000, 0, who[1], "syscall_exit_openat", dict(ret=3)),
            (time + 4000, 0, who[1], "syscall_entry_fsync", dict(fd=3)),
            switch(time + 4500, 0, who, ("swapper/0", 0), 1),
            wakeup(time + 5000, 0, other, who),
            switch(time + 5500, 0, ("swapper/0", 0), who),
            (time + 6000, 0, who[1], "syscall_exit_fsync", dict(ret=0)),
            (time + 6100, 0, who[1], "syscall_entry_futex", dict(uaddr=64, op=0, val=1, utime=0, uaddr2=0, val3=0)),
            (time + 6200, 0, who[1], "irq_handler_entry", dict(irq=5, name=text)),
            (time + 6300, 0, who[1], "irq_handler_exit", dict(irq=5, ret=1)),
            (time + 6900, 0, who[1], "syscall_exit_futex", dict(ret=0)),
            switch(time + 7000, 0, who, ("swapper/0", 0), 1)]
    events.append(LOST(time + 9000, 0, 5))
    events.append(switch(time + 10000, 0, ("a", 7), ("b", 8)))
    kernel(where + "/kernel", events)


def of_calls(where):
    make_call_trees.OBJECT = "/opt/shop" + TEXT.replace("/", "")
    name = "work" + TEXT
    make_call_trees.calls(where, {11: [("main" + TEXT, 1000, 21000, [(name, 2000, 3000, []), (name, 17000, 17200, [])])]},
                          elided={name: (100, 9)}, lost=3, program="shop" + PIECES[0].decode())


def of_heap(where):
    ust(where + "/ust", [(1000, 0, (7, 7), "lttng_ust_libc:malloc", dict(size=10, ptr=0xa0)),
                         (2000, 0, (7, 7), "shop:begin" , dict(id=1, text=TEXT)), (3000, 0, (7, 7), "shop:end", dict(id=1))])


def damaged(where, of):
    """Metadata of text with every byte; a stream that is cut."""
    shutil.copytree(of, where)
    kernel_metadata = where + "/kernel/metadata"
    with open(kernel_metadata, "ab") as f:
        f.write(b'env { evil = "' + ALL.replace(b"\n", b"").replace(b"\x00", b"") + b'"; };\nevent { name = "' +
                PIECES[0] + b'"; id = 9999; stream_id = 0; fields := struct { ' + PIECES[3] + b" x; }; };\n")


def recordings(work):
    """Their directories have harmful names, too.  -> name -> path"""
    made = {}
    for name, make in (("app", of_application), ("kernel", of_kernel), ("calls", of_calls), ("heap", of_heap)):
        made[name] = work + "/" + name + TEXT.replace("/", "")[:60]
        os.mkdir(made[name])
        make(made[name])
    made["damaged"] = work + "/damaged" + TEXT.replace("/", "")[:60]
    damaged(made["damaged"], made["kernel"])
    return made


# ---------------------------------------------------------------- command lines

def readers(r, work):
    """(arguments, the kind of the output through a pipe: text, json, data, lines)"""
    event = TEXTS[0] + "_begin"
    for name, path in r.items():
        yield ["view", path], "text"
        yield ["view", "--state", "--columns", "time,delta,host,cpu,thread,event,fields", path], "text"
        yield ["view", "--json", path], "json"
        yield ["view", "--csv", path], "data"
        yield ["view", "-e", event, "--limit", "3", path], "text"
        yield ["view", "-f", "x == \"" + TEXT + "\"", path], "text"
        for by in ("event", "process", "thread", "cpu", "stream", "function"):
            yield ["stats", "--by", by, path], "text"
        yield ["stats", "--json", path], "json"
        for question in QUESTIONS:
            yield ["report", question, path], "text"
            yield ["report", question, "--json", path], "json"
        yield ["report", "latency", event, TEXTS[0] + "_end", path], "text"
        yield ["report", "latency", "--by", TEXT, event, TEXTS[0] + "_end", path], "text"
        yield ["report", "locks", "--pair", event, TEXTS[0] + "_end", path], "text"
        yield ["report", "why", "--between", event, TEXTS[0] + "_end", path], "text"
        yield ["strace", "-i", path], "text"
        yield ["strace", "-c", "-i", path], "text"
        yield ["graph", path], "text"
        yield ["graph", "--tree", "--all", path], "text"
        yield ["graph", "--tree", "--json", path], "json"
        yield ["graph", "--callers", "work" + TEXT, path], "text"
        yield ["diff", path, r["kernel"]], "text"
        yield ["diff", path, r["app"]], "text"
        for form in ("folded", "csv", "chrome", "speedscope", "firefox", "svg", "perfetto"):
            yield ["export", form, path], "data"
        yield ["export", "ctf", "-o", work + "/copy-" + name, path], "text"
        yield ["repair", path, work + "/repaired-" + name + TEXT.replace("/", "")[:60]], "text"
        yield ["ui", "--html", work + "/page-" + name + TEXT.replace("/", "") + ".html", path], "text"
        yield ["send", "--plain", "--flush-timeout", "100ms", path, "127.0.0.1:1"], "text"
        yield ["script", "-e", "probe event(\"*\") { println(execname(), \" \", $$parms) }", path], "lines"
        yield ["script", "-e", "probe kernel.trace(\"*\") { printf(\"%s %-20s|%.9s|%c\\n\", execname(), pn(), $$parms, 27) }",
               path], "lines"
        yield ["script", "-e", "global n probe syscall.* { n[execname(), argstr]++ }", path], "lines"
        yield ["live", path], "text"
        yield ["list", "--complete", "duet", "view", "-e", "", path, ""], "lines"
    yield ["list", "--complete", "duet", "view", "-e", ""], "lines"


def arguments(r):
    """Harmful words where each verb expects one."""
    for word in (TEXT, ALL.replace(b"\x00", b""), PIECES[0], b"-" + PIECES[0], b"--" + PIECES[2]):
        yield [word], "text"
        for verb in VERBS:
            yield [verb, word], "text"
            yield [verb, "--no", word], "text"
        for verb, *options in (("record", "-e", word, "--", NO), ("record", "-k", word, "--", "true"), ("record", "-o", word, NO),
                               ("record", "-u", word, "true"), ("record", "--usdt", word, "true"), ("record", "-p", word),
                               ("record", "--filter", word, "true"), ("record", "-c", word, "true"),
                               ("record", "--graph", word, "true"), ("record", "--channel", word, "true"),
                               ("record", "-b", word, "true"), ("record", "--to", word, "true"), ("start", "-s", word),
                               ("start", word, "-o", word), ("status", "-s", word), ("status", "-w", word), ("stop", word),
                               ("enable", "-s", word, "x"), ("snapshot", "-s", word), ("rotate", word),
                               ("trigger", "add", word), ("trigger", "remove", word), ("trigger", "list", "-s", word),
                               ("view", "-e", word, r["app"]), ("view", "-f", word, r["app"]), ("view", "--from", word, r["app"]),
                               ("view", "--time", word), ("view", "--columns", word), ("top", "--by", word), ("top", "-i", word),
                               ("live", "--at", word, word), ("strace", "-e", word, "true"), ("strace", "-o", word, NO),
                               ("report", "why", "-t", word, r["kernel"]), ("report", "functions", "--function", word, r["calls"]),
                               ("stats", "--by", word, r["app"]), ("graph", "-e", word, r["calls"]),
                               ("script", "-e", word), ("script", "-G", word, "-e", "probe begin { exit() }"),
                               ("script", "-e", b"probe begin { x = \"" + PIECES[0] + b"\"; error(x) }"),
                               ("script", "-e", b"probe " + PIECES[0] + b" { }", r["app"]), ("script", "-l", word),
                               ("list", "-k", word), ("list", "-u", word), ("list", "--usdt", word), ("list", "--functions", word),
                               ("doctor", word), ("export", "csv", "-o", word, NO), ("relay", "-o", word, "--port", word),
                               ("send", NO, word), ("lend", "--group", word), ("list", "--complete", "duet", word)):
            yield [verb, *options], "text"
        yield ["script", "-e", b"probe begin { warn(argv_1) log(argv_1) println(argv_1) exit() }", word], "lines"


# ---------------------------------------------------------------- judging

def is_json(out):
    try:
        json.loads(out)
        return True
    except ValueError:
        pass
    try:
        for line in out.splitlines():
            json.loads(line)
        return True
    except ValueError:
        return False


def in_pipe(argv, kind, more):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **more)
    wrong = [harm_in(p.stderr)]
    if kind != "data":
        wrong.append(harm_in(p.stdout))
    if kind != "lines":  # scripts print strings of several lines
        wrong.append(forged_in(p.stderr))
    if kind in ("text", "json"):
        wrong.append(forged_in(p.stdout))
    if kind == "json" and p.returncode == 0 and not is_json(p.stdout):
        wrong.append("no JSON: %r" % p.stdout[:300])
    if p.returncode < 0 or p.returncode > 2:
        wrong.append("ends with %d" % p.returncode)
    return wrong


def shown(argv, kind, more):
    status, out = on_terminal(argv, timeout=120, **more)
    wrong = [harm_in(out)]
    if kind in ("text", "json"):
        wrong.append(forged_in(out))
    return wrong


def try_one(argument):
    number, (words, kind), work = argument
    here = "%s/%d" % (work, number)
    os.makedirs(here + "/run", mode=0o700)
    argv = [os.fsencode(w) for w in [duet] + words]
    env = {k: v for k, v in os.environ.items() if not k.startswith("DUET_")}
    more = dict(cwd=here, env=dict(env, DUET_RUNTIME_DIR=here + "/run", TERM="xterm-256color", PAGER="", LC_ALL="C.UTF-8",
                                   HOME=here))
    found = [("in a pipe", w) for w in in_pipe(argv, kind, more) if w]
    found += [("on a terminal", w) for w in shown(argv, kind, more) if w]
    shutil.rmtree(here, ignore_errors=True)
    return ["%s: %r: %s" % (where, b" ".join(argv[1:])[:150], what) for where, what in found]


def scripts_keep_their_own_colours(r):
    """Formats, ansi_...() and literals are the script's; the same bytes in a string of an event are not, and -o FILE
    gets all bytes."""
    colour = PIECES[0] + b"\x1b[31m"
    text = (b'global c = "\\033[31m" probe begin { printf("\\033[1m|%s|%s|%s\\n", c, c . "x", "\\033[31m") '
            b'println(argv_1) exit() }')
    out = subprocess.run([duet, "script", "-e", text, colour], stdin=subprocess.DEVNULL, capture_output=True).stdout
    kept = b"\x1b[1m|\x1b[31m|\x1b[31mx|\x1b[31m\n" + rb"\x1b]0;pwned\x07" + b"\x1b[31m\n"
    if out != kept:
        yield "a script's own colours: %r, not %r" % (out, kept)
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run([duet, "script", "-o", f.name, "-e", text, colour], stdin=subprocess.DEVNULL)
        if f.read() != kept.replace(rb"\x1b]0;pwned\x07", PIECES[0]):
            yield "a file has not all bytes"


def main():
    failed = []
    with tempfile.TemporaryDirectory(prefix="duet-terminal-") as work:
        r = recordings(work)
        rows = list(readers(r, work)) + list(arguments(r))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for found in pool.map(try_one, [(i, row, work) for i, row in enumerate(rows)]):
                failed += found
        failed += scripts_keep_their_own_colours(r)
    for f in failed:
        print("not ok: " + f)
    print("%d command lines, %d findings" % (len(rows), len(failed)))
    return bool(failed)


sys.exit(main())
