#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Mutants of the collector that the simulator must catch:

    mutants.py BUILD SOURCE [WORD]    builds and runs all of them, or those with WORD in their description
    mutants.py --check SOURCE         only checks that each still applies: a test of suite sim

Each mutant removes one thing that a rule of docs/design/collector.md needs.  The file is changed, compiled as the
build compiles it, and linked before the library that holds the right one; then seeds are run until one fails.

A mutant quotes the code that it changes.  Comments and spaces do not count, so formatting leaves a mutant valid.  A
renamed identifier does not: change the quotation with it.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

SEEDS = "3000"  # to the first that fails

MUTANTS = [
    ("a search for a chunk begins where the pool says, whatever that is", "src/ring/pool.c",
     "uint32_t i = (first + k) & (p->n_chunks - 1);", "uint32_t i = first + k;"),
    ("a writer on such a CPU takes the last place", "src/ring/exclusive.c",
     "return cpu < p->n_cpus ? cpu : p->n_cpus + (uint32_t)(hash >> 60) % ABI_UNKNOWN_CPU_SLOTS;",
     "(void)hash;\n\treturn cpu < p->n_cpus ? cpu : p->n_cpus + ABI_UNKNOWN_CPU_SLOTS;"),
    ("the index names a packet before it is there", "src/ctf/write/writer.c",
     "\tif (!err)\n\t\terr = io_writev(st->fd, w->v, w->n_v);\n\tif (!err)\n"
     "\t\terr = append_index(st, w->entries, (size_t)w->n * sizeof *w->entries);\n",
     "\tif (!err)\n\t\terr = append_index(st, w->entries, (size_t)w->n * sizeof *w->entries);\n\tif (!err)\n"
     "\t\terr = io_writev(st->fd, w->v, w->n_v);\n"),
    ("the successor compares the last packet of several alone", "src/ctf/write/recover.c",
     "s->n < CTF_PACKETS_MOST && s->n < n;", "s->n < 1 && s->n < n;"),
    ("a disk without room for several packets takes none of them", "src/collect/drain/drain.c",
     "\tis_written = n && !drain_put_packets(d, o, k, n, NULL);\n", "\tis_written = n;\n\tdrain_put_packets(d, o, k, n, NULL);\n"),
    ("a chunk is free before it is written", "src/collect/drain/drain.c",
     "\t\tif (s->position > s->read && (s->is_final || d->partial)) {\n\t\t\terr = write_of_cpu(",
     "\t\tif (s->is_final)\n\t\t\tfree_chunk(d, s);\n"
     "\t\tif (s->position > s->read && (s->is_final || d->partial)) {\n\t\t\terr = write_of_cpu("),
    ("losses are reported again by each collector", "src/collect/drain/losses.c",
     "return lost > reported ? lost - reported : 0;", "return lost + 0 * reported;"),
    ("the position of a partly read chunk in the file is not kept", "src/collect/drain/drain.c",
     "\t\tstore_release(&c->read, s->position);\n", ""),
    ("the successor does not know of a packet that was being written", "src/collect/drain/drain.c",
     "\tstore(&c->pending, s->read + (uint32_t)k->body.iov_len);\n", "(void)k;\n(void)c;\n"),
    ("classes are described once, and not when they come later", "src/collect/drain/drain.c",
     "\terr = drain_describe(d, diag);", "\terr = d->n_described ? 0 : drain_describe(d, diag);"),
    ("a short write stays in the file", "src/ctf/write/writer.c",
     "\t\t(void)!ftruncate(st->fd, (off_t)st->offset);\n\t\tlseek(st->fd, (off_t)st->offset, SEEK_SET);\n", ""),
    ("chunks of living processes are reclaimed", "src/collect/drain/reclaim.c",
     "return pid && pid != ABI_HOLDER_UNKNOWN && kill((pid_t)pid, 0) && errno == ESRCH;",
     "return pid && pid != ABI_HOLDER_UNKNOWN;"),
    ("a half-written end is not cut off for the successor", "src/ctf/write/recover.c",
     "if (ftruncate(data, (off_t)s->bytes))", "if (0)"),
    ("a successor does not know that the session was ending", "src/collect/start.c",
     "\tc->stop = c->handover->supervision.is_stopping;\n", "\tc->stop = false;\n"),
    ("the successor does not know the error", "src/collect/finish.c",
     "\t\tstore_release(&k->is_over, true);\n", "\t\tk->is_over = !k->error;\n"),
    ("the copy of a flight recorder stays beside the successor's copy", "src/collect/resume.c",
     "\tif (p && p->flight_recorder) {", "\tif (p && p->flight_recorder && 0) {"),
    ("losses of a rotated trace chunk are reported again by the next", "src/collect/rotate.c",
     "\tstreams_reported(c->streams, next, old, &c->handover->reported);\n", ""),
    ("losses that could not be written count as reported", "src/collect/drain/losses.c",
     "\tif (!err)\n\t\to->lost = lost; ", "\to->lost = lost; "),
    ("losses that a failed rotation of a flight recorder reported are reported again at its end", "src/collect/drain/streams.c",
     "\tint more = write_names(s, s->procnames.lost, false, d);", "\tint more = write_names(s, 0, false, d);"),
    ("a request is not answered", "src/collect/dispatch.c",
     "\tjson_line_send(a->fd, t, -1);\n", ""),
    ("a client with many connections is served more often", "src/collect/session/accept.c",
     "\treturn a->round != b->round ? a->round < b->round : a->order < b->order;", "\treturn a->order < b->order;"),
    ("a flush within a pass writes only the chunks of that pass", "src/collect/drain/streams.c",
     "\t\terr = streams_pass(s, true, d);\n",
     "\t\tif (s->drains[0]->at < s->drains[0]->end)\n\t\t\treturn streams_write(s, UINT64_MAX, d);\n"
     "\t\terr = streams_pass(s, true, d);\n"),
    ("a flush omits the events in open chunks", "src/collect/drain/streams.c",
     "\t\terr = streams_pass(s, true, d);\n", "\t\terr = streams_pass(s, false, d);\n"),
    ("a snapshot is begun and not continued", "src/collect/events.c",
     "\treturn c->pass.is_open || snapshot_is_open(&c->snapshot) ||", "\treturn c->pass.is_open ||"),
]


# A comment, a string, a word, or one character.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\w+|\S', re.S)
BETWEEN = r"(?:\s|/\*.*?\*/|//[^\n]*\n)*"


def pattern(code):
    """Matches @code, however it is spaced, and with any comments between its words."""
    tokens = [t for t in TOKEN.findall(code) if not t.startswith(("/*", "//"))]
    return re.compile(BETWEEN.join(re.escape(t) for t in tokens), re.S)


def mutated(source, path, old, new):
    """The text of the file with the change; None unless the quoted code is there exactly once."""
    try:
        with open(os.path.join(source, path)) as f:
            text = f.read()
    except FileNotFoundError:
        return None
    text, n = pattern(old).subn(lambda _: new, text)
    return text if n == 1 else None


def check(source):
    stale = [(what, path) for what, path, old, new in MUTANTS if mutated(source, path, old, new) is None]
    for what, path in stale:
        print("not ok %s: %s does not have the code that this mutant changes exactly once" % (what, path))
    print("%d of %d mutants apply" % (len(MUTANTS) - len(stale), len(MUTANTS)))
    return bool(stale)


def commands(build):
    out = subprocess.run(["ninja", "-C", build, "-t", "commands", "tests/sim/sim"], check=True,
                         capture_output=True, text=True).stdout
    return [shlex.split(line) for line in out.splitlines() if not line.startswith("ninja:")]


def run(build, command):
    done = subprocess.run(command, cwd=build, capture_output=True, text=True)
    if done.returncode:
        sys.exit("cannot build a mutant: %s" % done.stderr)


def link_mutant(build, source, work, path, text, all_commands):
    changed, to = os.path.join(work, os.path.basename(path)), os.path.join(work, "mutant.o")
    with open(changed, "w") as f:
        f.write(text)
    compile_it = next(c for c in all_commands if c[-1].endswith(path) and "-c" in c)
    out = compile_it[compile_it.index("-o") + 1]
    compile_it = [to if a == out else a for a in compile_it[:-1]] + [changed]
    # Its includes are found as from its own directory.
    run(build, compile_it + ["-I", os.path.dirname(os.path.join(source, path))])
    link = next(c for c in all_commands if "-o" in c and c[c.index("-o") + 1] == "tests/sim/sim" and "-c" not in c)
    at = link.index("tests/sim/sim")
    # Archives are thin: the right object's other symbols must not be pulled in beside the mutant's.
    run(build, link[:at] + [os.path.join(work, "sim"), to, "-Wl,--allow-multiple-definition"] + link[at + 1:])


def try_one(build, source, mutant, all_commands):
    what, path, old, new = mutant
    text = mutated(source, path, old, new)
    if text is None:
        print("not ok %s: does not apply to %s" % (what, path))
        return False
    with tempfile.TemporaryDirectory() as work:
        link_mutant(build, source, work, path, text, all_commands)
        done = subprocess.run([os.path.join(work, "sim"), "--first", "--runs", SEEDS], capture_output=True, text=True)
    caught = done.returncode != 0
    why = done.stdout.splitlines()[0][:150] if done.stdout.startswith("#") else "status %d" % done.returncode
    print("%s %s\n    %s" % ("ok" if caught else "not ok", what, why), flush=True)
    return caught


def main():
    if sys.argv[1] == "--check":
        sys.exit(check(sys.argv[2]))
    build, source = (os.path.abspath(a) for a in sys.argv[1:3])
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    all_commands = commands(build)
    results = [try_one(build, source, m, all_commands) for m in MUTANTS if word in m[0]]
    sys.exit(not all(results))


main()
