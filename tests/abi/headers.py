#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The public headers compile without a warning in every way a program may be compiled, and the
program then runs: dormant without libduet, and recorded with it.

    headers.py DUET [--all]

Every standard of every compiler is tried at every optimisation; code models, LTO, sanitizers and
linker options take turns (--all: the whole product, several minutes).
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import shutil
import sys
import tempfile

from sample import ROOT, WARNINGS, Failed, Way, check_recording, dormant, run

C = ["c99", "c11", "c17"]
CXX = ["c++11", "c++14", "c++17", "c++20"]
STANDARDS = [(c, s) for c in ("gcc", "clang") for s in C] + [(c, s) for c in ("g++", "clang++") for s in CXX]
LEVELS = ["-O0", "-O2", "-O3", "-Os"]
CODE = ["-fPIE", "-fPIC", "-fno-pic"]


def alone(compiler, std):
    """Each header, first and only, and twice."""
    language = "c++" if compiler.endswith("++") else "c"
    for h in sorted((ROOT / "include" / "duet").glob("*.h")):
        text = "#include <duet/%s>\n#include <duet/%s>\nint used_by_nobody;\n" % (h.name, h.name)
        run([compiler, "-std=" + std] + WARNINGS + ["-I", ROOT / "include", "-x", language,
                                                   "-fsyntax-only", "-"], input=text)


def ways(everything):
    """(way, whether to record it)"""
    n = 0
    if everything:
        for (compiler, std), level, code, lto in itertools.product(STANDARDS, LEVELS, CODE, (False, True)):
            yield Way(compiler, std, [level], code=code, lto=lto), True
    else:
        for i, (compiler, std) in enumerate(STANDARDS):
            for level in LEVELS:
                # Steps of 1 through 3 code models and of 1 through 8, over 56 ways: all pairs occur.
                is_last = std in ("c17", "c++20")
                yield (Way(compiler, std, [level], code=CODE[n % 3], lto=n % 8 == (i % 4)),
                       is_last and level in ("-O0", "-O2") or n % 8 == (i % 4))
                n += 1
    for compiler, std in ("gcc", "c11"), ("clang", "c11"), ("g++", "c++17"), ("clang++", "c++17"):
        yield Way(compiler, std, ["-O2", "-ffunction-sections", "-fdata-sections"],
                  ["-Wl,--gc-sections"]), True
        yield Way(compiler, std, ["-O2"], ["-Wl,-z,now", "-Wl,-z,relro"]), True
        if shutil.which("ld.lld"):
            yield Way(compiler, std, ["-O2", "-ffunction-sections"],
                      ["-fuse-ld=lld", "-Wl,--gc-sections"]), True
        yield Way(compiler, std, ["-g", "-O1", "-fsanitize=address,undefined",
                                  "-fno-sanitize-recover=all"]), True


def try_way(way, is_recorded, duet, into):
    program, plugin = way.build(into)
    dormant([program, plugin])
    sites = run([duet, "list", program])
    if "abi:mark " not in sites:
        raise Failed("duet list: site missing:\n%s" % sites)
    if is_recorded:
        check_recording(duet, [program, plugin], into, way.is_cxx)
    shutil.rmtree(into)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("duet", type=pathlib.Path)
    p.add_argument("--all", action="store_true")
    a = p.parse_args()
    failed = n = 0
    with tempfile.TemporaryDirectory(prefix="duet-abi-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(alone, *s): "headers alone, %s -std=%s" % s for s in STANDARDS}
        for i, (way, is_recorded) in enumerate(ways(a.all)):
            job = pool.submit(try_way, way, is_recorded, a.duet.resolve(), pathlib.Path(scratch) / str(i))
            jobs[job] = "%s%s" % (way, ", recorded" if is_recorded else "")
        for job in concurrent.futures.as_completed(jobs):
            n += 1
            try:
                job.result()
            except Failed as e:
                failed += 1
                print("not ok %s\n%s" % (jobs[job], e), flush=True)
            else:
                print("ok %s" % jobs[job], flush=True)
    print("%d ways, %d failed" % (n, failed))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
