#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The one table of rooms and layers: a room of src/ includes only from rooms above its own line.

    layers.py [SRC]         check; the table in ARCHITECTURE.md must be the one here
    layers.py --print       the table as ARCHITECTURE.md has it
    layers.py --write       put it there

A room is a directory of src/.  Rules:

  (1) a room includes from rooms of lines above its own, and from itself; rooms of one line do not see each other
  (2) from another family (the first directory of a path) only a room's one public header is included: public.h, or
      the header called like the room, or the one in PUBLIC
  (3) internal.h is included inside its room only
  (4) collect, kernel and net write and compress CTF; they never decode it
  (5) the sources of libduet (inproc and its includes) need libc alone: of base only files that are header alone
  (6) only cmd prints for a person and exits
  (7) a room has at most 25 files
"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN, END = "<!-- layers: tests/abi/layers.py --write -->", "<!-- end of layers -->"
MOST_FILES = 25

# Lowest first.  A line holds rooms of one height: (room, its content).
LAYERS = [
    [("abi", "layouts that two parties share: structs and asserts, no code")],
    [("base", "what C lacks: errors for people, text, files, JSON lines, supervised processes")],
    [("disk", "how much of a file system a recording may have: a limit, a share, a floor"),
     ("sandbox", "a process gives up the rights that it does not need: Landlock and seccomp")],
    [("rules", "which events a session wants, of which programs: patterns, selectors, membership")],
    [("script/syntax", "scripts and filters: text to tree, messages that show the place")],
    [("clock", "ticks to nanoseconds, and the session's clock followed where there are no ticks")],
    [("ring", "the pool of chunks and the two write paths"),
     ("elf", "trace sites, functions and USDT markers of a file on disk"),
     ("filter", "filter expressions: compiled by duet, linked and run in programs and readers"),
     ("bpf", "BPF programs put together and loaded; the kernel's types (BTF)"),
     ("capture", "which arguments of system calls are captured, and as which fields")],
    [("symbol", "functions, source lines, inlined calls and signatures of ELF files, by build ID")],
    [("patch", "which functions and marks of a file can be patched, and with which code: plans")],
    [("patch/attach", "libduet put into a running process by ptrace")],
    [("inproc", "libduet: registration, the control page, attaching to sessions, emitting"),
     ("inproc/system", "libduet's own wrappers of system calls: a start touches fewer pages of libc"),
     ("inproc/wrap", "libduet-libc and libduet-cyg: calls of malloc and of compiled hooks as events")],
    [("inproc/channels", "the channels of a session that is attached: checked copies of their headers"),
     ("inproc/registers", "events whose payload lies in registers: filters, contexts, both clocks"),
     ("inproc/usdt", "USDT marks in the program: stubs, operands packed, ordinary events")],
    [("inproc/calls/hook", "what stubs run at entry and exit of a function: records, batches, modes")],
    [("inproc/calls", "calls of functions in the program: plans applied, stubs")],
    [("ctf/compressed", "Zstandard-compressed files of a trace, written and read")],
    [("ctf/write", "a CTF trace while it is written, and recovered after a kill")],
    [("ctf/meta", "TSDL and CTF 2 metadata as a tree")],
    [("ctf/decode", "classes compiled to operations; bytes to events and fields")],
    [("kernel/tracefs", "a private tracefs instance, its formats; the broker for users without root")],
    [("kernel/threads", "contexts of kernel events: the state of each thread, kept up to date")],
    [("kernel/convert", "ring-buffer pages of the kernel as CTF events")],
    [("kernel/perf", "samples, call stacks and counters by perf"),
     ("kernel/statedump", "what existed when recording began: threads, files, kernel symbols")],
    [("kernel/select", "patterns resolved to events and system calls of the kernel")],
    [("kernel/probe", "uprobes, USDT, kprobes, fprobes, function graphs"),
     ("kernel/watch", "kernel events that triggers wait for")],
    [("kernel/bpf", "events recorded by BPF programs of ours")],
    [("kernel", "the kernel's half of a recording: selected, set up, drained, put back")],
    [("net", "messages, TLS, endpoints and compression on a link")],
    [("net/send", "a recording on its way to a relay: spool, scheduler, connection"),
     ("net/lttng_live", "viewers that speak lttng-live")],
    [("net/relay", "the relay: receives recordings of many hosts, sends them on to followers")],
    [("net/follow", "a recording on another host, followed")],
    [("trace/stream", "one stream file: its packets, and a cursor over its events"),
     ("trace/symbols", "which function or file an address lies in, as the recording says")],
    [("trace", "recordings read as one stream of events, ordered by time")],
    [("trace/filter", "a filter over the events of recordings"),
     ("trace/marks", "checkpoints in a recording, to read from there"),
     ("trace/repair", "a sound recording out of a damaged one"),
     ("trace/text", "events and values as text; addresses with their functions")],
    [("read", "libduet-read: the same for other programs")],
    [("collect/options", "options and result of a recording: data of every room of collect")],
    [("collect/child", "a recorder in a child process, for a command that follows its recording"),
     ("collect/memory", "how much of a pool has memory, and on which memory nodes")],
    [("collect/session", "a session: its memory, files, slots, rules, filters, connections and programs")],
    [("collect/drain", "pools into stream files; snapshots; the layout of a recording")],
    [("collect/chunks", "finished trace chunks on disk: marked, synced, compressed, removed"),
     ("collect/calls", "calls of functions: plans offered to programs, their calls kept in the recording"),
     ("collect/findings", "patterns and filters of a recording that matched nothing"),
     ("collect/request", "the requests enable, disable and stop")],
    [("collect/trigger", "triggers: armed, evaluated, and their actions")],
    [("collect/handover", "what a killed collector leaves to its successor")],
    [("collect/tenant", "other users and containers: found, confined, one collector for each")],
    [("collect", "the collector: started, driven by events, rotated, resumed, finished; the recorder")],
    [("control", "libduet-control: programs that steer recordings")],
    [("find", "whether the events of a program can be recorded, and why not")],
    [("find/system", "whether this machine and user can record: kernel, rights, paths, limits, libraries")],
    [("analysis", "a pass over a recording: event tables, threads, samples")],
    [("analysis/syscalls/names", "names of the constants of system calls, from the kernel's headers")],
    [("analysis/stacks", "call stacks as trees"),
     ("analysis/syscalls", "system calls: their arguments, results and descriptors in words")],
    [("analysis/syscalls/sockets", "addresses, options and messages of sockets in words")],
    [("analysis/requests", "multiplexed system calls: bpf, ptrace, keyctl, ..")],
    [("analysis/pairing", "system calls: entry and exit paired, signals, exits of threads")],
    [("analysis/names", "names of what calls work on: variables, allocations, stacks, files")],
    [("analysis/wait", "where a thread's time went, and whom it waited for")],
    [("analysis/calls", "calls of programs: batches decoded, one tree with the kernel")],
    [("analysis/diff", "recordings of two sides compared"),
     ("analysis/report", "one file per report"),
     ("analysis/timeline", "slices, instants and states for viewers"),
     ("analysis/activity", "what each thread did in the last interval, while a recording grows")],
    [("script/unit", "the byte code of a script: its layout, verified and printed")],
    [("script/values", "the values of a running script: strings, arrays, statistics, iterations")],
    [("script/vm", "the machine that runs byte code: interpreter and x86-64 translation")],
    [("script/library", "functions that scripts call, formats, and the script library"),
     ("script/check", "names and types of a script resolved; the world that offers probes and values")],
    [("script/code", "a checked script to byte code")],
    [("script/engine", "a script runs: sources of events merged, timers, begin and end")],
    [("script/kernel/points", "probe points and values of the running kernel and of programs")],
    [("script/kernel", "kernel and user probes by BPF programs made from a script"),
     ("script/replay", "the probes and values of recordings and of sessions that are followed")],
    [("script/live", "the probes and values of the running system")],
    [("ui/child", "a command run for an answer, within limits of time and size")],
    [("ui/index", "recordings as rows of intervals with sums")],
    [("ui/flame", "where the time of threads went, as the tree of a flame graph")],
    [("ui/digest", "intervals summed by name over any span, and how long they took")],
    [("ui/reader", "recordings kept open, to read a few events at any time")],
    [("ui/query", "requests of the timeline's page, answered as JSON"),
     ("ui/assets", "the files of the timeline's page in this program")],
    [("ui/item", "details of one interval or point; items found by time and by name"),
     ("ui/picture", "rows as pixels, in answers of a limited size"),
     ("ui/export", "a part of a recording as a file: for other viewers, or as a page of its own")],
    [("ui/sessions", "sessions of this user, listed and changed by commands of duet")],
    [("ui/why", "why a thread was not running: waits followed back over the index, in words")],
    [("ui/server", "the timeline's server: access, connections, threads, answers over HTTP")],
    [("cmd", "the command: one file per verb; only cmd prints and exits")],
]
# Rooms of a family that still include each other: they count as one room of the family's name.
TOGETHER = {"cmd"}
# (4): these rooms, and the headers they never include.
NEVER = {"collect": ("ctf/meta", "ctf/decode", "trace", "analysis"), "kernel": ("ctf/meta", "ctf/decode"),
         "net": ("ctf/meta", "ctf/decode")}
# (5): rooms that libduet may include; of filter not the compiler.
GUEST = {"abi", "base", "rules", "clock", "ring", "filter", "inproc"}
NOT_FOR_GUESTS = re.compile(r"filter/compile")
# (2): rooms that are boxes of small modules; every header of theirs is public.
BOXES = {"abi", "base", "rules", "clock", "ring", "elf", "filter", "bpf", "capture", "symbol", "script/syntax",
         "script/check", "script/code", "script/unit", "script/vm", "script/engine"}
PUBLIC = {"control": "exchange.h", "inproc": "mark.h", "kernel/convert": "layout.h",
          "kernel/select": "candidates.h", "kernel/statedump": "kallsyms.h", "kernel/threads": "event_contexts.h", "net/follow": "replica.h", "net/lttng_live": "server.h", "trace/filter": "match.h", "trace/marks": "marks.h"}

SPEAKS = re.compile(r"(?<![.>\w])(?:v?printf|puts|putchar|perror|vwarnx?|warnx?|verrx?|errx?|exit|_exit|_Exit"
                    r"|abort|quick_exit)\s*\(|\b(?:stderr|stdout)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def family(room):
    return room.split("/")[0]


def line_of(room):
    if family(room) in TOGETHER:
        room = family(room)
    return next((i for i, rooms in enumerate(LAYERS) if room in (name for name, _ in rooms)), None)


def public_header(src, room):
    if (src / room / "public.h").exists():
        return room + "/public.h"
    return room + "/" + PUBLIC.get(room, pathlib.PurePath(room).name + ".h")


def without_comments_and_strings(text):
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def is_more_than_a_header(src, name):
    return name.startswith("base/") and (src / name).with_suffix(".c").exists()


def judge_include(src, path, name):
    """Why `#include "name"` in @path breaks a rule; None if it does not."""
    own, target = str(path.relative_to(src).parent), str(pathlib.PurePath(name).parent)
    if name.startswith("duet/"):
        return None
    if "/" not in name:
        return None if name.endswith(".inc") else "is not written from src/"
    if line_of(target) is None:
        return "is in no layer"
    if not name.endswith(".inc") and not (src / name).exists():
        return "does not exist"
    if own == target:
        return None
    if name.endswith("/internal.h"):
        return "is internal to its room"
    if any(target == never or target.startswith(never + "/") for never in NEVER.get(family(own), ())):
        return "is nothing %s may include" % family(own)
    if own == "inproc":
        if target not in GUEST or NOT_FOR_GUESTS.match(name):
            return "is not for libduet"
        if is_more_than_a_header(src, name):
            return "is more than a header: libduet has only libc"
        return None
    if family(own) == family(target) and family(own) in TOGETHER:
        return None
    if family(own) != family(target) and target not in BOXES and name != public_header(src, target):
        return "is not the public header of %s: %s" % (target, public_header(src, target))
    return None if line_of(target) < line_of(own) else "is not from a line above"


def check_files(src):
    rooms = {path.parent for path in src.rglob("*") if path.is_file()}
    for room in sorted(rooms):
        n = sum(p.is_file() for p in room.iterdir())
        if n > MOST_FILES:
            yield "%s: %d files, at most %d" % (room.relative_to(src.parent), n, MOST_FILES)


def check(src):
    problems = list(check_files(src))
    for path in sorted(src.rglob("*.[ch]")):
        own, text = str(path.relative_to(src).parent), path.read_text()
        where = lambda at: "%s:%d" % (path.relative_to(src.parent), text.count("\n", 0, at) + 1)
        if line_of(own) is None:
            problems.append("%s: directory %s is in no layer" % (path, own))
            continue
        for m in INCLUDE.finditer(text):
            wrong = judge_include(src, path, m.group(2)) if m.group(1) == '"' else None
            if wrong:
                problems.append('%s: "%s" %s' % (where(m.start()), m.group(2), wrong))
        if family(own) != "cmd":
            for m in SPEAKS.finditer(without_comments_and_strings(text)):
                # A forked child has to end: one that cannot become the command, or has sent everything.
                if m.group(0).startswith("_exit") and (
                        family(own) in ("collect", "net") or own in ("patch/attach", "script/engine", "ui/child") or path.name == "supervise.c"
                        or (own, path.name) in (("kernel/tracefs", "remove.c"), ("kernel/tracefs", "broker_server.c"))):
                    continue
                problems.append("%s: only src/cmd prints and exits: %s" % (where(m.start()), m.group(0)))
    # The other sources that libduet links: no include of theirs may lead out either.
    for own in sorted(GUEST - {"base", "clock", "inproc"}):
        for path in sorted((src / own).glob("*.[ch]")):
            if NOT_FOR_GUESTS.match(str(path.relative_to(src))):
                continue
            for _, name in INCLUDE.findall(path.read_text()):
                if is_more_than_a_header(src, name):
                    problems.append('%s: "%s" is more than a header, and libduet contains this file'
                                    % (path.relative_to(src.parent), name))
    return problems


def table():
    lines = [BEGIN, "", "| line | room | what it is |", "|---|---|---|"]
    for i, rooms in enumerate(LAYERS, 1):
        lines += ["| %d | `%s` | %s |" % (i, name, what) for name, what in rooms]
    return "\n".join(lines + ["", END])


def between(document):
    at, end = document.find(BEGIN), document.find(END)
    return (at, end + len(END)) if 0 <= at < end else None


def check_document():
    document = (ROOT / "ARCHITECTURE.md").read_text()
    found = between(document)
    if not found or document[slice(*found)] != table():
        return ["ARCHITECTURE.md: its table of layers is another one: tests/abi/layers.py --write"]
    return []


def write_document():
    path = ROOT / "ARCHITECTURE.md"
    document = path.read_text()
    at, end = between(document)
    path.write_text(document[:at] + table() + document[end:])


def test_the_test(tmp):
    """Each kind of crossing is seen."""
    cases = [
        ("ring/a.c", '#include "trace/trace.h"', True),
        ("ring/b.c", '#include "base/io.h"', True),
        ("ring/c.c", '#include "clock/clock.h"', False),
        ("inproc/d.c", '#include "ctf/meta/meta.h"', True),
        ("inproc/e.c", '#include "base/text.h"', True),
        ("inproc/f.c", '#include "base/atomic.h"', False),
        ("collect/drain/g.c", '#include "trace/trace.h"', True),
        ("elf/h.c", '#include "ring/ring.h"', True),
        ("base/i.c", 'void f(void) { fprintf(stderr, "x"); }', True),
        ("base/j.c", '/* printf( and exit( */ int x = sizeof "exit("; int y = snprintf(a, 1, "");', False),
        ("cmd/k.c", 'int main(void) { printf("x"); exit(1); }', False),
        ("inproc/n.c", '#include "filter/filter.h"', False),
        ("inproc/o.c", '#include "filter/compile.h"', True),
        ("filter/p.c", '#include "base/text.h"', True),
        ("filter/compile_q.c", '#include "base/text.h"', False),
        ("odd/l.c", "int x;", True),
        ("ctf/write/m.c", '#include "meta.h"', True),
        ("inproc/r.c", '#include "net/message.h"', True),
        ("net/s.c", '#include "collect/recorder.h"', True),
        ("net/send/t.c", '#include "ctf/decode/decode.h"', True),
        ("trace/u.c", '#include "trace/stream/internal.h"', True),
        ("trace/stream/v.c", '#include "trace/stream/internal.h"', False),
        ("trace/stream/w.c", '#include "trace/trace.h"', True),
        ("analysis/x.c", '#include "trace/other.h"', True),
        ("analysis/y.c", '#include "trace/trace.h"', False),
    ]
    for name in ("trace/trace.h", "clock/clock.h", "ctf/meta/meta.h", "base/text.h", "base/text.c", "base/io.h",
                 "base/io.c", "base/atomic.h", "ring/ring.h", "filter/filter.h", "filter/compile.h", "net/message.h",
                 "collect/recorder.h", "ctf/decode/decode.h", "trace/stream/internal.h", "trace/other.h"):
        (tmp / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp / name).write_text("")
    for name, text, is_wrong in cases:
        path = tmp / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if bool(check(tmp)) != is_wrong:
            return ["the test itself: %s in %s is %s" % (text, name, "accepted" if is_wrong else "refused")]
        path.unlink()
        if name.startswith("odd"):
            path.parent.rmdir()
    for i in range(MOST_FILES + 1):
        (tmp / "ring" / ("%d.c" % i)).write_text("")
    return [] if check(tmp) else ["the test itself: a crowded room is accepted"]


def main(arguments):
    if arguments == ["--print"]:
        print(table())
        return 0
    if arguments == ["--write"]:
        write_document()
        return 0
    with tempfile.TemporaryDirectory() as tmp:
        (pathlib.Path(tmp) / "src").mkdir()
        problems = test_the_test(pathlib.Path(tmp) / "src")
    problems += check(pathlib.Path(arguments[0]).resolve() if arguments else ROOT / "src")
    problems += check_document()
    print("\n".join(problems) or "ok: no layer is crossed")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
