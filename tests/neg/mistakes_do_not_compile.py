#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mistakes do not compile, with each compiler, and the message names the problem.

Every .c beside this file is such a mistake; its comment `says:` is a pattern (extended regular
expression) that the compiler's message must match.  The one called right.c has none of them.
"""
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include"
COMPILERS = [["gcc", "-std=c99"], ["clang", "-std=c99"],
             ["g++", "-std=c++11", "-x", "c++"], ["clang++", "-std=c++11", "-x", "c++"]]


def compile_case(compiler, path, optimisation):
    p = subprocess.run(compiler + [optimisation, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", str(INCLUDE),
                                   "-c", str(path), "-o", "/dev/null"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.returncode, p.stdout


def main():
    failed = 0
    for compiler in COMPILERS:
        if not shutil.which(compiler[0]):
            print("no %s" % compiler[0])
            continue
        for path in sorted(HERE.glob("*.c")):
            wanted = re.search(r"says: (.*?) *\*/", path.read_text())
            # Optimised a little: the constraints of a site are checked when code is made.  A mark's format is checked
            # without, too.
            status, said = compile_case(compiler, path, "-O0" if path.stem.startswith("mark_") else "-O1")
            if wanted is None:
                good = status == 0
            else:
                good = status != 0 and re.search(wanted.group(1), said)
            print("%s %s: %s" % ("ok" if good else "not ok", compiler[0], path.stem.replace("_", " ")))
            if not good:
                failed += 1
                print(said or "compiled")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
