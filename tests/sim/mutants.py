#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Mutants of the collector that the simulator must catch: mutants.py BUILD SOURCE [WORD]

Each takes one thing away that a rule of docs/design/collector.md rests on.  The file is changed, compiled as the
build compiles it, and linked before the library that holds the right one; then seeds are run until one fails.
With a WORD, only those whose description has it.  Who changes a line named here changes it here as well.
"""
import os
import shlex
import subprocess
import sys
import tempfile

BUILD, SOURCE = (os.path.abspath(a) for a in sys.argv[1:3])
WORD = sys.argv[3] if len(sys.argv) > 3 else ""
SEEDS = "3000"  # to the first that fails

MUTANTS = [
    ("the index names a packet before it is there", "src/ctf/write/writer.c",
     "\terr = io_writev(st->fd, v, p->n_body + 1);\n\tif (!err)\n\t\terr = append_index(st, &h);\n",
     "\terr = append_index(st, &h);\n\tif (!err)\n\t\terr = io_writev(st->fd, v, p->n_body + 1);\n"),
    ("a chunk is free before it is written", "src/collect/drain/drain.c",
     "\t\tif (s->position > s->read && (s->is_final || d->partial)) {\n\t\t\terr = write_chunk(",
     "\t\tif (s->is_final)\n\t\t\tfree_chunk(d, s);\n"
     "\t\tif (s->position > s->read && (s->is_final || d->partial)) {\n\t\t\terr = write_chunk("),
    ("what is lost is told again by each life", "src/collect/drain/drain.c",
     "return load(&s->lost) - ABI_REPORTED_LOST(load(&s->told));", "return load(&s->lost);"),
    ("how far a partly read chunk is in the file is not noted", "src/collect/drain/drain.c",
     "\t\tstore_release(&c->read, s->position);\n", ""),
    ("a packet that was being written is not known to the successor", "src/collect/drain/drain.c",
     "\tstore(&c->pending, s->position);\n", ""),
    ("classes are described once, and not when they come later", "src/collect/drain/drain.c",
     "\terr = drain_describe(d, diag); /* after looking: (2) */", "\terr = d->n_described ? 0 : drain_describe(d, diag);"),
    ("a short write stays in the file", "src/ctf/write/writer.c",
     "\t\t(void)!ftruncate(st->fd, (off_t)st->offset);\n\t\tlseek(st->fd, (off_t)st->offset, SEEK_SET);\n", ""),
    ("what the living hold is taken from them", "src/collect/drain/reclaim.c",
     "return pid && pid != ABI_HOLDER_UNKNOWN && kill((pid_t)pid, 0) && errno == ESRCH;",
     "return pid && pid != ABI_HOLDER_UNKNOWN;"),
    ("a half-written end is not cut off for the successor", "src/ctf/write/recover.c",
     "if (ftruncate(data, (off_t)(s->offset + s->bytes)))", "if (0)"),
    ("a successor does not know that the session was ending", "src/collect/start.c",
     "\tc->stop = c->kept->lives.is_stopping;\n", "\tc->stop = false;\n"),
    ("how it ended badly is not known to a successor", "src/collect/finish.c",
     "\t\tstore_release(&k->is_over, true); /* the result first */\n", "\t\tk->is_over = !k->error;\n"),
    ("what was copied of a flight recorder stays beside the successor's copy", "src/collect/resume.c",
     "\tif (p && p->flight_recorder) {", "\tif (p && p->flight_recorder && 0) {"),
    ("a rotated piece's losses are told again by the next", "src/collect/chunks/rotate.c",
     "\tstreams_told(c->streams, next, old, &c->kept->told);\n", ""),
    ("losses that could not be written are taken for told", "src/collect/drain/drain.c",
     "\tif (!err)\n\t\to->lost = lost; /* else it is told the next time */\n", "\to->lost = lost;\n"),
    ("what a rotation that failed told of a flight recorder is told again at its end", "src/collect/drain/streams.c",
     "\tint more = write_names(s, s->joined.lost, d);", "\tint more = write_names(s, 0, d);"),
    ("a request is not answered", "src/collect/request/dispatch.c",
     "\tcontrol_send(a->fd, t, -1); /* who does not wait gets nothing */\n", ""),
    ("who has many connections is heard more often", "src/collect/session/accept.c",
     "\treturn a->round != b->round ? a->round < b->round : a->order < b->order;", "\treturn a->order < b->order;"),
    ("a flush in the middle of a pass writes what that pass has seen, and no more", "src/collect/drain/streams.c",
     "\t\terr = streams_pass(s, true, d);\n",
     "\t\tif (s->drains[0]->at < s->drains[0]->end)\n\t\t\treturn streams_write(s, UINT64_MAX, d);\n"
     "\t\terr = streams_pass(s, true, d);\n"),
    ("a flush leaves what open chunks hold", "src/collect/drain/streams.c",
     "\t\terr = streams_pass(s, true, d);\n", "\t\terr = streams_pass(s, false, d);\n"),
    ("a snapshot is begun and not gone on with", "src/collect/collector.c",
     "\treturn c->pass.is_open || snapshot_is_open(&c->snapshot);", "\treturn c->pass.is_open;"),
]


def commands():
    out = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "tests/sim/sim"], check=True,
                         capture_output=True, text=True).stdout
    return [shlex.split(line) for line in out.splitlines() if not line.startswith("ninja:")]


def run(command):
    done = subprocess.run(command, cwd=BUILD, capture_output=True, text=True)
    if done.returncode:
        sys.exit("cannot build a mutant: %s" % done.stderr)


def build(work, path, text, all_commands):
    source, to = os.path.join(work, os.path.basename(path)), os.path.join(work, "mutant.o")
    with open(source, "w") as f:
        f.write(text)
    compile_it = next(c for c in all_commands if c[-1].endswith(path) and "-c" in c)
    out = compile_it[compile_it.index("-o") + 1]
    compile_it = [to if a == out else a for a in compile_it[:-1]] + [source]
    # What it includes is found as from where it was.
    run(compile_it + ["-I", os.path.dirname(os.path.join(SOURCE, path))])
    link = next(c for c in all_commands if "-o" in c and c[c.index("-o") + 1] == "tests/sim/sim" and "-c" not in c)
    at = link.index("tests/sim/sim")
    # Archives are thin: the right object's other symbols must not be pulled in beside the mutant's.
    run(link[:at] + [os.path.join(work, "sim"), to, "-Wl,--allow-multiple-definition"] + link[at + 1:])


def try_one(what, path, old, new, all_commands):
    with open(os.path.join(SOURCE, path)) as f:
        text = f.read()
    if text.count(old) != 1:
        print("not ok %s: %s no longer has what it changes" % (what, path))
        return False
    with tempfile.TemporaryDirectory() as work:
        build(work, path, text.replace(old, new), all_commands)
        done = subprocess.run([os.path.join(work, "sim"), "--first", "--runs", SEEDS], capture_output=True, text=True)
    caught = done.returncode != 0
    why = done.stdout.splitlines()[0][:150] if done.stdout.startswith("#") else "status %d" % done.returncode
    print("%s %s\n    %s" % ("ok" if caught else "not ok", what, why), flush=True)
    return caught


def main():
    all_commands = commands()
    results = [try_one(*m, all_commands) for m in MUTANTS if WORD in m[0]]
    sys.exit(not all(results))


main()
