#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documents can be read and believed: no long line, no long essay, no name of a file that is not there.

    documents.py        checks README, ARCHITECTURE, CONTRIBUTING, CHANGES, docs/, bench/README.md, tests/README.md, man/

  (1) no line is longer than 110 columns; output of programs within README's first 20 lines is excepted
  (2) an essay of docs/design has at most 150 lines; measurements stand in docs/design/figures
  (3) a path of the project that a document names exists, and so does the target of a link
  (4) each essay and each format is in its directory's index
  (5) each test that docs/security.md names in the last column of a table is there
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
    if ROOT / "docs/design" in path.parents and path.parent.name != "figures" and path != ROOT / "docs/design/README.md" and len(lines) > ESSAY_LINES + 1:
        yield "%d lines, at most %d" % (len(lines) - 1, ESSAY_LINES)


def missing_in_index():
    for directory in (ROOT / "docs/design", ROOT / "docs/formats"):
        index = (directory / "README.md").read_text() if (directory / "README.md").exists() else ""
        for path in sorted(directory.glob("**/*.md")):
            name = path.relative_to(directory)
            if name.parts[0] not in ("README.md", "figures") and "(%s)" % name not in index:
                yield "%s/README.md: %s is not in it" % (directory.relative_to(ROOT), name)


def names_of_tests():
    """Names as Meson has them, and beginnings of names that end in _."""
    names = {p.stem for p in (ROOT / "tests").rglob("*") if p.suffix in (".py", ".mjs", ".c")}
    names |= {"%s_%s" % (p.parent.name, p.stem[:-5]) for p in (ROOT / "tests/unit").rglob("*_test.c")}
    for path in (ROOT / "tests").rglob("meson.build"):
        names |= {n.rsplit("/", 1)[-1] for n in re.findall(r"'([\w /]+)'", path.read_text())}
    return names


def missing_tests():
    path, has_tests, n = ROOT / "docs/security.md", False, 0
    known = names_of_tests()
    begins = tuple(name for name in known if name.endswith("_") and len(name) > 9)
    for i, line in enumerate(path.read_text().split("\n"), 1):
        cells = [c.strip() for c in line.strip("|").split("|")] if line.startswith("|") else []
        has_tests = bool(cells) and (has_tests or cells[-1] == "test")
        if not has_tests or cells[-1] == "test" or not cells[-1].strip("-"):
            continue
        tests = re.findall(r"`([^`]+)`", cells[-1])
        n += len(tests)
        if not tests:
            yield "docs/security.md:%d: no test is named" % i
        for name in tests:
            if name not in known and not name.startswith(begins):
                yield "docs/security.md:%d: there is no test %s" % (i, name)
    if not n:
        yield "docs/security.md: names no test"


def main():
    problems = ["%s:%s" % (path.relative_to(ROOT), p) for path in documents() if path.exists() for p in problems_of(path)]
    problems += missing_in_index()
    problems += missing_tests()
    problems += ["%s is missing" % n for n in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGES")
                 if not (ROOT / n).exists()]
    print("\n".join(problems) or "ok: documents are within their bounds")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
