#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each conversion of printf in a mark is recorded with its value, and a typed event beside it, whatever the compiler,
the language, the code model, the linker and the sanitizer; also in static programs.

arguments: DUET SOURCE LIBDUET
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import collect, stop, view  # noqa: E402
from trial import Failed, is_, ok, paths, run_cases, work  # noqa: E402

source, library = paths(2)
ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../../.."
INCLUDE = ["-I" + ROOT + "/src", "-I" + ROOT + "/include", "-w"]
LANGUAGES = {"gcc": ["-std=c99"], "clang": ["-std=c99"], "g++": ["-x", "c++", "-std=c++11"],
             "clang++": ["-x", "c++", "-std=c++11"]}
EVERYWHERE = ["-O0", "-O2", "-O2 -mcmodel=large -fPIE -pie"]
WAYS = [(c, f) for c in LANGUAGES for f in EVERYWHERE] + [
    ("gcc", "-std=c11 -Os -ffunction-sections -fdata-sections -Wl,--gc-sections"),
    ("gcc", "-mcmodel=large -fno-pie -no-pie"),
    ("g++", "-mcmodel=large -O0 -fno-pie -no-pie"),
    ("gcc", "-mcmodel=medium -O2"),
    ("gcc", "-O2 -fno-plt -fcf-protection=full"),
    ("gcc", "-O2 -flto"),
    ("g++", "-std=c++20 -O2 -flto -Wl,--gc-sections"),
    ("gcc", "-O2 -flto -mcmodel=large"),
    ("clang", "-O2 -flto=thin -fuse-ld=lld -ffunction-sections -Wl,--gc-sections"),
    ("clang++", "-O2 -fuse-ld=lld -Wl,--icf=all"),
    ("gcc", "-O1 -fsanitize=address,undefined"),
    ("clang", "-O1 -fsanitize=address,undefined"),
    ("gcc", "-O1 -fsanitize=thread"),
    ("gcc", "-O2 -static"),
    ("gcc", "-O2 -static-pie"),
]


def compiled(way):
    """-> the program; None where the compiler or what it links with is not installed"""
    compiler, flags = way
    program = "%s/%s%s" % (work, compiler.replace("+", "p"), re.sub(r"[^a-z0-9]", "_", flags))
    if not shutil.which(compiler):
        return None
    p = subprocess.run([compiler, *LANGUAGES[compiler], *INCLUDE, *flags.split(), source, "-x", "none", "-o", program, "-ldl"],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode and re.search("cannot find -l|libclang_rt|unrecognized.*lld|invalid linker name", p.stdout):
        return None
    ok(p.returncode == 0, "%s %s compiles" % way, p.stdout)
    return None if p.returncode else program


def is_value(value, text):
    """Whether printf prints the recorded @value as @text."""
    if isinstance(value, str):
        return value == text.strip()
    if isinstance(value, float):
        printed = float.fromhex(text) if "x" in text.lower() else float(text)
        return abs(value - printed) <= 0.01 * abs(value)
    for base in (10, 16, 8):
        try:
            if int(text.strip(), base) == value:
                return True
        except ValueError:
            pass
    return False


def check(way, printed, events):
    fields = {e["event"].removeprefix("conv:"): e["fields"] for e in events}
    # A static program has an errno of its own, which the libc that libduet is loaded with does not see.
    error = 0 if "-static" in way[1] else 2
    is_(fields.pop("error", None), {"error": error, "after": 3}, "%s %s: %%m" % way)
    is_(fields.pop("nothing", None), {}, "%s %s: no field" % way)
    is_(fields.pop("typed", None), {"id": -1, "price": 2.5, "item": "tea", "list": [1, 2, 65535],
                                    "kind": {"value": 5, "label": "B"}}, "%s %s: the typed event" % way)
    if not is_(sorted(fields), sorted(printed), "%s %s: the marks" % way):
        return
    for name, text in printed.items():
        text = text.replace("|%", "")
        values = [v for f, v in fields[name].items() if not f.startswith("width")]
        ok(len(values) == len(text.split("|")) and all(map(is_value, values, text.split("|"))),
           "%s %s: %s" % (*way, name), "recorded %r, printed %r" % (fields[name], text))


def each_build_records_what_printf_prints():
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        programs = list(pool.map(compiled, WAYS))
    collector = collect(work + "/trace", "-q", "-e", "conv:*")
    printed = {}
    for way, program in zip(WAYS, programs):
        if not program:
            print("  (not built: %s %s)" % way)
            continue
        p = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ok(p.returncode == 0, "%s %s runs" % way, "%s %s" % (p.returncode, p.stderr))
        if p.returncode == 0:
            lines = dict(line.split("\t") for line in p.stdout.splitlines())
            printed[int(lines.pop("pid"))] = way, lines
    stop(collector)
    events = [e for e in view(work + "/trace", may_lose=False) if e["event"].startswith("conv:")]
    if len(printed) < 8:
        raise Failed("too few builds: %s" % json.dumps([w for w, _ in printed.values()]))
    for pid, (way, lines) in printed.items():
        check(way, lines, [e for e in events if e["pid"] == pid])


run_cases(each_build_records_what_printf_prints)
