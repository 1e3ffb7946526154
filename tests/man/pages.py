#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each verb and each public header has a manual page, pages are well formed, they name every option of
their verb's help and no other, and every example in C or C++ compiles, runs and can be recorded.

    pages.py DUET
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MAN, INCLUDE = ROOT / "man", ROOT / "include"
n_failed = 0


def check(good, what, details=""):
    global n_failed
    n_failed += not good
    print("%s %s" % ("ok" if good else "not ok", what) + ("" if good else "\n# " + details))


def run(*argv, env=None, **more):
    return subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=env, timeout=120, **more)


def names_of(page):
    """The names in its NAME section."""
    section = re.search(r"^\.Sh NAME\n(.*?)^\.Nd", page.read_text(), re.M | re.S)
    return re.findall(r"^\.Nm (\S+)", section.group(1), re.M)


def verbs_have_pages(duet):
    names = {n: p for p in MAN.glob("*.1") for n in names_of(p)}
    verbs = re.findall(r"^  ([a-z]+) ", run(duet, "--help").stdout, re.M)
    check(len(verbs) >= 6, "duet --help lists verbs")
    shown_by = {}
    for verb in verbs:
        page = names.get("duet-" + verb)
        check(page, "duet %s has a page" % verb)
        if page:
            shown_by.setdefault(page, set()).update(options_in_help(duet, verb))
    for page, shown in shown_by.items():
        options_agree(page, shown)
    help_is_grouped(duet)


def options_in_help(duet, verb):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", run(duet, verb, "--help").stdout)) - {"help"}


def help_is_grouped(duet):
    """Verbs with many options: examples first, then options below headings, each heading once."""
    for verb in ("record", "start", "collect"):
        text = run(duet, verb, "--help").stdout
        headings = re.findall(r"^([A-Z].*):$", text, re.M)
        check(len(headings) >= 8 and len(set(headings)) == len(headings), "the help of %s has groups" % verb, str(headings))
        example, first = text.find("\n  duet %s " % verb), text.find("\n%s:\n" % headings[0] if headings else "")
        check(0 < example < first, "the help of %s begins with examples" % verb)
        check(text.count("\n\n\n") == 0, "the help of %s has no empty group" % verb)
    check(not re.search(r"^[A-Z].*:$", run(duet, "relay", "--help").stdout, re.M), "rows of others have no headings")


def options_agree(page, shown):
    """Verbs that share a page show all its options together."""
    told = set(re.findall(r"Fl -([a-z][a-z-]+)", page.read_text())) - {"help"}
    check(shown <= told, "%s names all options that its verbs' help shows" % page.name, str(shown - told))
    check(told <= shown, "the help of its verbs shows all options of %s" % page.name, str(told - shown))


def headers_have_pages():
    text = "".join(p.read_text() for p in MAN.glob("*.3"))
    for h in sorted((INCLUDE / "duet").glob("*.h")):
        check(".In duet/%s" % h.name in text, "duet/%s is in a page" % h.name)
    # Everything a user may call is named.
    public = set(re.findall(r"^#define ((?:trace_|DUET_(?!I_|[A-Z]+_H$))\w+)\b", "".join(
        h.read_text() for h in (INCLUDE / "duet").glob("*.h")), re.M)) - {"DUET_H"}
    public |= set(re.findall(r"^(?:static inline|extern)\b.*?\b(duet_(?!i_)\w+)\(", "".join(
        h.read_text() for h in (INCLUDE / "duet").glob("*.h")), re.M))
    missing = sorted(n for n in public if n not in text and not n.endswith("_H"))
    check(not missing, "section 3 names all public macros and functions", str(missing))


def pages_are_well_formed():
    for page in sorted(p for section in "137" for p in MAN.glob("*." + section)):
        if shutil.which("mandoc"):
            said = run("mandoc", "-T", "lint", "-W", "warning", page)
            said = "\n".join(l for l in said.stdout.splitlines() if "mandoc.db" not in l)
        elif shutil.which("groff"):
            said = run("groff", "-mdoc", "-Tutf8", "-ww", "-z", page).stdout
        else:
            print("# neither mandoc nor groff: pages are not checked")
            return
        check(not said, "%s is well formed" % page.name, said)


def pages_fit_80_columns():
    """A terminal of 80 columns shows them unbroken, tables and examples too."""
    readers = [r for r in (["mandoc", "-Tutf8", "-Owidth=78"], ["groff", "-mdoc", "-Tutf8", "-rLL=78n"]) if shutil.which(r[0])]
    for page in sorted(p for section in "137" for p in MAN.glob("*." + section)):
        wide = []
        for reader in readers:
            text = re.sub(r".\x08|\x1b\[[0-9;]*m", "", run(*reader, page).stdout)
            wide += [line for line in text.expandtabs().splitlines() if len(line) > 80]
        check(not wide, "%s fits 80 columns" % page.name, "\n".join(wide))


def examples(page):
    section = (page.read_text().split(".Sh EXAMPLES") + [""])[1].split(".Sh ")[0]
    for code in re.findall(r"^\.Bd -literal\n(.*?)^\.Ed", section, re.M | re.S):
        yield code.replace("\\e", "\\").replace("\\(dq", '"')


def examples_work(duet):
    n = 0
    for page, code in ((p, c) for p in sorted(MAN.glob("*.3")) for c in examples(p)):
        n += 1
        is_cxx = "std::" in code
        ways = [["g++", "-std=c++11"], ["clang++", "-std=c++17"]] if is_cxx else \
            [["gcc", "-std=c99"], ["clang", "-std=c11"]]
        for way in ways:
            if not shutil.which(way[0]):
                continue
            with tempfile.TemporaryDirectory(prefix="duet-man-") as d:
                d = pathlib.Path(d)
                source = d / ("example.cc" if is_cxx else "example.c")
                source.write_text(code)
                env = dict(os.environ, DUET_RUNTIME_DIR=str(d / "runtime"))
                p = run(*way, "-Wall", "-Wextra", "-Werror", "-I", INCLUDE, "-o", d / "example", source)
                if not p.returncode:
                    p = run(d / "example", env=dict(env, DUET_LIBRARY="/nonexistent"))
                if not p.returncode:
                    p = run(duet, "record", "--no-kernel", "-q", "-o", d / "r", "--", d / "example", env=env)
                if not p.returncode:
                    p = run(duet, "view", d / "r")
                check(p.returncode == 0 and " shop:" in p.stdout,
                     "example %d, in %s, works with %s" % (n, page.name, way[0]), p.stdout)
    check(n >= 4, "there are examples")


def main():
    duet = pathlib.Path(sys.argv[1]).resolve()
    verbs_have_pages(duet)
    headers_have_pages()
    pages_are_well_formed()
    pages_fit_80_columns()
    examples_work(duet)
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
