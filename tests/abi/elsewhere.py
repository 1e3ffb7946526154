#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that cannot use restartable sequences, or not even the TSC, are recorded all the same:
on another architecture (aarch64 under qemu), and under valgrind.  A program that
cannot read a session's clock records nothing in it; the session reports that.

    elsewhere.py aarch64 DUET SOURCE...     the sources of libduet
    elsewhere.py valgrind DUET
"""
import pathlib
import shutil
import sys
import tempfile

from sample import ROOT, SOURCES, WARNINGS, Failed, Way, check_recording, dormant, record, run

CROSS = "aarch64-linux-gnu-"
SYSROOT = "/usr/aarch64-linux-gnu"


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            print("skipped: %s is not installed" % p)
            sys.exit(77)


def build_library(sources, into):
    library = into / "libduet.so.0"
    run([CROSS + "gcc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", "-fvisibility=hidden",
         "-ftls-model=initial-exec", "-Wno-missing-field-initializers"] + WARNINGS[:2] + ["-Werror",
         "-I", ROOT / "src", "-I", ROOT / "include", "-o", library, "-Wl,-soname,libduet.so.0",
         "-Wl,-z,nodelete", "-Wl,-z,now", "-Wl,-z,defs",
         "-Wl,--version-script=%s" % (ROOT / "src/inproc/duet.map")] + sources)
    run([sys.executable, ROOT / "tests/abi/exports.py", library])
    return library


def aarch64(duet, sources, into):
    need(CROSS + "gcc", "qemu-aarch64")
    library = build_library(sources, into)
    emulated = ["env", "DUET_LIBRARY=%s" % library, "qemu-aarch64", "-L", SYSROOT]
    for i, way in enumerate([Way("gcc", "c99", ["-O0"], prefix=CROSS),
                             Way("gcc", "c17", ["-O2"], code="-fPIC", prefix=CROSS),
                             Way("gcc", "c11", ["-O3"], code="-fno-pic", prefix=CROSS)]):
        program, plugin = way.build(into / str(i))
        dormant(["qemu-aarch64", "-L", SYSROOT, program, plugin])
        check_recording(duet, emulated + [program, plugin], into, False, ["--clock", "mono"])
        print("ok recorded under qemu: %s" % way)
    other_compilers(into)
    if "constant_tsc" in pathlib.Path("/proc/cpuinfo").read_text():
        unreadable_clock(duet, emulated + [program], into)


def other_compilers(into):
    """No C++ library for aarch64 is needed to compile."""
    if shutil.which("clang++"):
        for compiler, std in ("clang", "c99"), ("clang++", "c++11"):
            for level in "-O0", "-O2":
                way = Way(compiler, std, ["--target=aarch64-linux-gnu", level])
                for source in ["main.c"] + (["extra.cc"] if way.is_cxx else []):
                    way.compile(source, into, "-fPIC")
                print("ok compiles: %s" % way)


def unreadable_clock(duet, command, into):
    recording = record(duet, command, into, ["--clock", "tsc", "-e", "abi:*"])
    said = run([duet, "view", "--json", recording])
    if '"event":"abi:' in said:
        raise Failed("events stamped by another clock than the session's:\n%s" % said)
    if '"lost_events":' not in said:
        raise Failed("events were dropped in silence:\n%s" % said)
    print("ok a clock that cannot be read gets no events, and they are counted lost")


def valgrind(duet, into):
    need("valgrind")
    program, plugin = Way("gcc", "c11", ["-O1", "-g"]).build(into / "native")
    command = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program, plugin]
    dormant(command)
    print("ok nothing to find while dormant")
    check_recording(duet, command, into, False)
    print("ok recorded, without a finding")


def main():
    what, duet = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory(prefix="duet-abi-") as scratch:
        try:
            if what == "aarch64":
                aarch64(duet, sys.argv[3:], pathlib.Path(scratch))
            else:
                valgrind(duet, pathlib.Path(scratch))
        except Failed as e:
            print("not ok %s" % e)
            return 1


if __name__ == "__main__":
    sys.exit(main())
