#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Comments are plain English: the worst patterns of our old dialect stay rare.

    words.py [--files] [--tests] [PATH...]      PATH: files or directories below the root; default: src include

Prints, for each room, the words in comments and how often each pattern occurs per 1 000 of them; --files prints
each file.  --tests counts tests/ instead, and there Python's comments and docstrings too.  Exit status 1 if the sum
is above a limit.  Beside it uftrace 0.13 has 0.15 for "what", 0.1 for "who" and 0 for "told", measured by this script.
"""
import ast
import collections
import io
import pathlib
import re
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PATTERNS = {  # name: (expression, most per 1 000 words)
    "what": (r"\bwhat\b", 2.0),
    "who": (r"\b(?:who|whom|whose|whoever)\b", 1.0),
    "tell": (r"\b(?:told|tells?|telling)\b", 0.5),
    "body": (r"\b(?:no|some|any)body\b", 0.5),
    "of which": (r"\b(?:of|in|to|from|by) (?:which|whom)\b", 0.5),
    "he": (r"\b(?:he|him|his)\b", 0.3),
}
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*(.*?)\*/|//([^\n]*)', re.S)
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


def comments(path):
    text = path.read_text()
    if path.suffix != ".py":
        return "\n".join(m.group(1) or m.group(2) or "" for m in COMMENT.finditer(text))
    found = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    documented = ast.Module, ast.ClassDef, ast.FunctionDef
    found += [ast.get_docstring(n) or "" for n in ast.walk(ast.parse(text)) if isinstance(n, documented)]
    return "\n".join(found)


def sources(place):
    """The files to count below @place: those of C, and in tests/ those of Python."""
    if place.is_file():
        return [place]
    suffixes = {".c", ".h", ".cc", ".py"} if ROOT / "tests" in (place, *place.parents) else {".c", ".h"}
    return sorted(p for p in place.rglob("*.*") if p.suffix in suffixes)


def count(text):
    c = collections.Counter({"words": len(WORD.findall(text))})
    for name, (expression, _) in PATTERNS.items():
        c[name] = len(re.findall(expression, text, re.I))
    return c


def row(name, c):
    return "%-28s %7d  %s" % (name, c["words"], "  ".join(
        "%s %5.2f" % (p, 1000 * c[p] / max(c["words"], 1)) for p in PATTERNS))


def main(arguments):
    by_file = "--files" in arguments
    given = [a for a in arguments if not a.startswith("--")]
    rows = collections.defaultdict(collections.Counter)
    default = [ROOT / "tests"] if "--tests" in arguments else [ROOT / "src", ROOT / "include"]
    for place in [pathlib.Path(a).resolve() for a in given] or default:
        for path in sources(place):
            name = path.relative_to(ROOT)
            rows[str(name if by_file else name.parent)].update(count(comments(path)))
    total = sum(rows.values(), collections.Counter())
    for name in sorted(rows):
        print(row(name, rows[name]))
    print(row("all", total))
    above = [p for p, (_, most) in PATTERNS.items() if 1000 * total[p] > most * total["words"]]
    for p in above:
        print("too often: \"%s\": %.2f per 1 000 words, limit %.2f" % (p, 1000 * total[p] / total["words"], PATTERNS[p][1]))
    return bool(above)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
