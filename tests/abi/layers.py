#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A directory of src/ includes only from lines above its own, and only src/cmd speaks and exits.

    layers.py [SRC]
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Each line may include from all lines above it, and from itself.
LINES = [
    ["abi"],
    ["base"],
    ["clock", "ring", "elf", "filter", "bpf"],
    ["inproc", "kernel", "ctf", "net"],
    ["trace"],
    ["read"],
    ["collect", "analysis", "script"],
    ["control"],
    ["view", "cmd"],
]
# Same line, yet needed: a ring stamps events; the kernel's side writes CTF; what is sent is CTF; a verb shows pages.
BESIDE = {("ring", "clock"), ("kernel", "ctf"), ("net", "ctf"), ("cmd", "view"), ("script", "analysis")}
# The collector moves bytes, it does not interpret events.
NEVER = {("collect", d) for d in ("trace", "analysis", "script")}
# Guests in other people's processes: nothing but these, and of base only what is header alone.
INPROC = {"abi", "ring", "clock", "filter", "base", "inproc"}
FOR_GUESTS = {"abi", "base", "clock", "ring", "filter"}
# Beside them, but for duet alone: what makes that which guests run.
NOT_FOR_GUESTS = re.compile(r"filter/compile")

SPEAKS = re.compile(r"(?<![.>\w])(?:v?printf|puts|putchar|perror|vwarnx?|warnx?|verrx?|errx?|exit|_exit|_Exit"
                    r"|abort|quick_exit)\s*\(|\b(?:stderr|stdout)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def without_comments_and_strings(text):
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def line_of(directory):
    return next((i for i, names in enumerate(LINES) if directory in names), None)


def judge_include(src, path, name):
    """What is wrong with `#include "name"` in @path; None if nothing."""
    own, target = path.relative_to(src).parts[0], name.split("/")[0]
    if target == "duet":
        return None
    if "/" not in name:
        if name.endswith(".inc") or (path.parent / name).exists() and name.endswith(".inc"):
            return None  # generated, or a table
        return "is not written from src/"
    if line_of(target) is None:
        return "is in no layer"
    if not name.endswith(".inc") and not (src / name).exists():
        return "does not exist"
    if own == target:
        return None
    if own == "inproc":
        if target not in INPROC:
            return "is not for libduet"
        if NOT_FOR_GUESTS.match(name):
            return "is for duet alone"
        if target == "base" and (src / name).with_suffix(".c").exists():
            return "is more than a header: libduet has only libc"
        return None
    if (own, target) in NEVER:
        return "is nothing %s may know" % own
    if (own, target) in BESIDE or line_of(target) < line_of(own):
        return None
    return "is not from a line above"


def check(src):
    problems = []
    for path in sorted(src.rglob("*.[ch]")):
        own = path.relative_to(src).parts[0]
        text = path.read_text()
        where = lambda at: "%s:%d" % (path.relative_to(src.parent), text.count("\n", 0, at) + 1)
        if line_of(own) is None:
            problems.append("%s: directory %s is in no layer" % (path, own))
            continue
        for m in INCLUDE.finditer(text):
            wrong = judge_include(src, path, m.group(2)) if m.group(1) == '"' else None
            if wrong:
                problems.append('%s: "%s" %s' % (where(m.start()), m.group(2), wrong))
        if own != "cmd":
            for m in SPEAKS.finditer(without_comments_and_strings(text)):
                # A forked child has to end: one that cannot become the command, or has sent everything.
                if m.group(0).startswith("_exit") and (own in ("collect", "net") or path.name == "lives.c"):
                    continue
                problems.append("%s: only src/cmd prints and exits: %s" % (where(m.start()), m.group(0)))
    # What links into libduet besides its own: no include of theirs may lead out either.
    for own in sorted(FOR_GUESTS - {"base", "clock"}):
        for path in sorted((src / own).glob("*.[ch]")):
            if NOT_FOR_GUESTS.match(str(path.relative_to(src))):
                continue
            for _, name in INCLUDE.findall(path.read_text()):
                if name.startswith("base/") and (src / name).with_suffix(".c").exists():
                    problems.append('%s: "%s" is more than a header, and libduet contains this file'
                                    % (path.relative_to(src.parent), name))
    return problems


def test_the_test(tmp):
    """Each kind of crossing is seen."""
    cases = [
        ("ring/a.c", '#include "trace/trace.h"', True),
        ("ring/b.c", '#include "base/io.h"', True),
        ("ring/c.c", '#include "clock/clock.h"', False),
        ("inproc/d.c", '#include "ctf/meta/meta.h"', True),
        ("inproc/e.c", '#include "base/text.h"', True),
        ("inproc/f.c", '#include "base/atomic.h"', False),
        ("collect/g.c", '#include "trace/trace.h"', True),
        ("elf/h.c", '#include "ring/ring.h"', True),
        ("base/i.c", 'void f(void) { fprintf(stderr, "x"); }', True),
        ("base/j.c", '/* printf( and exit( */ int x = sizeof "exit("; int y = snprintf(a, 1, "");', False),
        ("cmd/k.c", 'int main(void) { printf("x"); exit(1); }', False),
        ("inproc/n.c", '#include "filter/filter.h"', False),
        ("inproc/o.c", '#include "filter/compile.h"', True),
        ("filter/p.c", '#include "base/text.h"', True),
        ("filter/compile_q.c", '#include "base/text.h"', False),
        ("odd/l.c", "int x;", True),
        ("ctf/m.c", '#include "meta.h"', True),
        ("inproc/r.c", '#include "net/tls.h"', True),
        ("net/s.c", '#include "collect/recorder.h"', True),
    ]
    for name in ("trace/trace.h", "clock/clock.h", "ctf/meta/meta.h", "base/text.h", "base/text.c",
                 "base/io.h", "base/io.c", "base/atomic.h", "ring/ring.h", "filter/filter.h", "filter/compile.h", "net/tls.h",
                 "collect/recorder.h"):
        (tmp / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp / name).write_text("")
    for name, text, is_wrong in cases:
        path = tmp / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if bool(check(tmp)) != is_wrong:
            return ["the test itself: %s in %s is %s" % (text, name, "accepted" if is_wrong else "refused")]
        path.unlink()
        if name.startswith("odd"):
            path.parent.rmdir()
    return []


def main():
    import tempfile
    with tempfile.TemporaryDirectory() as tmp:
        (pathlib.Path(tmp) / "src").mkdir()
        problems = test_the_test(pathlib.Path(tmp) / "src")
    problems += check(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "src")
    print("\n".join(problems) or "ok: no layer is crossed")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
