#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documents can be read and believed: no long line, no long essay, no name of a file that is not there.

    documents.py        checks README, ARCHITECTURE, CONTRIBUTING, CHANGES, docs/, bench/README.md, tests/README.md, man/

  (1) no line is longer than 110 columns; output of programs within README's first 20 lines is excepted
  (2) an essay of docs/design has at most 150 lines; measurements stand in docs/design/figures
  (3) a path of the project that a document names exists, and so does the target of a link
  (4) each essay and each format is in its directory's index
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS, ESSAY_LINES, README_OUTPUT = 110, 150, 20
PATH = re.compile(r"(?<![\w./<-])((?:src|include|docs|tests|bench|tools|man|examples|bindings|systemd|completion)/"
                  r"[\w./-]*\w)(?![\w*{<])")
LINK = re.compile(r"\]\(([^)#:]+)\)")


def documents():
    yield from sorted(ROOT.glob("*.md"))
    yield ROOT / "CHANGES"
    for pattern in ("docs/**/*.md", "bench/**/*.md", "tests/**/*.md", "bindings/**/*.md", "man/*.[1-8]"):
        yield from sorted(ROOT.glob(pattern))


def long_lines(path, lines):
    for i, line in enumerate(lines, 1):
        if len(line) > COLUMNS and not (path == ROOT / "README.md" and i <= README_OUTPUT):
            yield "%d: %d columns, at most %d" % (i, len(line), COLUMNS)


def missing_names(path, lines):
    for i, line in enumerate(lines, 1):
        for name in PATH.findall(line):
            name = name.rstrip(".")
            if not (ROOT / name).exists() and not list(ROOT.glob(name + ".*")) and not name.startswith("tests/sim/sim"):
                yield "%d: there is no %s" % (i, name)
        for target in LINK.findall(line):
            if not (path.parent / target).exists():
                yield "%d: the link leads nowhere: %s" % (i, target)


def problems_of(path):
    lines = path.read_text().split("\n")
    yield from long_lines(path, lines)
    if path.suffix == ".md" or path.suffix == "":
        yield from missing_names(path, lines)
    if path.parent == ROOT / "docs/design" and path.name != "README.md" and len(lines) > ESSAY_LINES + 1:
        yield "%d lines, at most %d" % (len(lines) - 1, ESSAY_LINES)


def missing_in_index():
    for directory in (ROOT / "docs/design", ROOT / "docs/formats"):
        index = (directory / "README.md").read_text() if (directory / "README.md").exists() else ""
        for path in sorted(directory.glob("*.md")):
            if path.name != "README.md" and "(%s)" % path.name not in index:
                yield "%s/README.md: %s is not in it" % (directory.relative_to(ROOT), path.name)


def main():
    problems = ["%s:%s" % (path.relative_to(ROOT), p) for path in documents() if path.exists() for p in problems_of(path)]
    problems += missing_in_index()
    problems += ["%s is missing" % n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGES")
                 if not (ROOT / n).exists()]
    print("\n".join(problems) or "ok: documents are within their bounds")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
