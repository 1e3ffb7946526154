#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The libraries that live in other programs export and need only the documented symbols.

    exports.py LIBRARY...

libduet.so.0 exports duet_* and needs libc.  libduet-libc.so also exports the functions it
interposes.  libduet-read exports duet_read_* and decompresses with libzstd; libduet-control exports
duet_*.  libduet is never unloaded; no stack is executable, no code is relocated.  What a start costs with libduet:
two mappings of its file and no other, and its tables of functions are read-only after relocation.
"""
import re
import subprocess
import sys

LIBC = re.compile(r"libc\.so\.6|ld-linux[-\w]*\.so\.\d")
# libduet-libc stands in front of these; libduet-cyg has the two that compilers call.
INTERPOSED = set("""malloc calloc realloc free memalign posix_memalign aligned_alloc valloc pvalloc
    reallocarray malloc_usable_size cfree pthread_mutex_lock pthread_mutex_trylock
    pthread_mutex_timedlock pthread_mutex_unlock __cyg_profile_func_enter __cyg_profile_func_exit""".split())
# Functions of libc that a guest must not call: they print, end the program, start threads or take signals.
NEVER = set("""printf puts putchar fprintf vprintf vfprintf fputs fputc fwrite perror exit _exit abort
    __assert_fail pthread_create fork vfork system popen signal sigaction setenv putenv
    __fprintf_chk __printf_chk""".split())


def read(*argv):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def start_problems(path):
    """-> what makes a start with libduet slower, or less safe, than its link command intends"""
    segments = read("readelf", "-lW", path)
    loads = re.findall(r"^\s+LOAD\s+\S+ (\S+) \S+ (\S+) (\S+) .* (\S+)$", segments, re.M)
    problems = [] if len(loads) == 2 else ["%d mappings, not 2" % len(loads)]
    for begin, in_file, in_memory, align in ([int(x, 16) for x in load] for load in loads):
        if (begin + in_memory - 1) // align > (begin + in_file - 1) // align:
            problems.append(".bss needs a mapping of its own: %d bytes" % (in_memory - in_file))
    if "GNU_RELRO" not in segments or "BIND_NOW" not in read("readelf", "-dW", path):
        problems.append("its tables of functions stay writable")
    return problems


def check(path):
    problems = []
    is_libc = "duet-libc" in path or "duet-cyg" in path
    is_reader = "duet-read" in path  # no guest, but it neither prints nor exits
    is_guest = not is_reader and "duet-control" not in path
    flags = read("readelf", "-dW", path)
    for line in flags.splitlines():
        m = re.search(r"\(NEEDED\).*\[(.*)\]", line)
        if m and not LIBC.fullmatch(m.group(1)) and not (is_libc and m.group(1) == "libduet.so.0") and \
                not (is_reader and m.group(1) == "libzstd.so.1"):
            problems.append("needs " + m.group(1))
    if not is_libc and is_guest and "NODELETE" not in flags:
        problems.append("may be unloaded: not linked with -z nodelete")
    for line in read("readelf", "-lW", path).splitlines():
        if "GNU_STACK" in line and re.search(r"\bRWE\b", line):
            problems.append("has an executable stack")
    # Sanitizers and coverage add data of their own.
    if "libduet.so" in path and not re.search("__(a|t|m|ub)san_|gcov", read("readelf", "-sW", path)):
        problems += start_problems(path)
    if "TEXTREL" in flags:
        problems.append("has text relocations")
    for line in read("readelf", "--dyn-syms", "-W", path).splitlines():
        words = line.split()
        if len(words) < 8 or words[4] not in ("GLOBAL", "WEAK", "UNIQUE"):
            continue
        bind, visibility, section, name = words[4], words[5], words[6], words[7].split("@")[0]
        if section == "UND":
            # Assertions are for our own mistakes, and never in a traced program.
            if bind != "WEAK" and name in NEVER and (is_guest or name != "__assert_fail"):
                problems.append("uses " + name)
            if is_guest and name == "__tls_get_addr":
                problems.append("uses __tls_get_addr, which may allocate: -ftls-model=initial-exec")
        elif section == "ABS" and name.startswith("DUET_"):
            continue  # a version's name
        elif visibility == "HIDDEN":
            continue  # ld leaves section bounds in the table; the loader passes over them
        elif not name.startswith("duet_read_" if is_reader else "duet_") and not (is_libc and name in INTERPOSED):
            problems.append("exports " + name)
    return ["%s: %s" % (path, p) for p in problems]


def main():
    problems = [p for path in sys.argv[1:] for p in check(path)]
    print("\n".join(problems) or "ok: %d libraries export and need only what is documented" % len(sys.argv[1:]))
    return bool(problems) or len(sys.argv) < 2


if __name__ == "__main__":
    sys.exit(main())
