#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet/read.h stands alone and is clean C99 and C++11; the examples of libduet-read compile and run.

    read_header.py LIBRARY DUET LIBDUET
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
USES = """#include <duet/read.h>
#include <duet/read.h>
#ifdef __cplusplus
#define none nullptr
#else
#define none NULL
#endif
int main(void)
{
	struct duet_read_item item;
	struct duet_read *r;
	(void)sizeof item;
	return duet_read_open(&r, none, 0, none, none) ? 0 : 1;
}
"""


def main():
    library, duet, libduet = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
    with tempfile.TemporaryDirectory(prefix="duet-read-header-") as d:
        source = pathlib.Path(d, "uses.c")
        source.write_text(USES)
        ways = [(c, s) for c, ss in (("gcc", ("c99", "c17")), ("clang", ("c99", "gnu17")),
                                      ("g++", ("c++11", "c++20")), ("clang++", ("c++11",)))
                for s in ss if shutil.which(c)]
        for compiler, std in ways:
            language = "c++" if "++" in compiler else "c"
            subprocess.run([compiler, "-std=" + std, *WARNINGS, "-I", ROOT / "include", "-x", language, "-c", source,
                            "-o", pathlib.Path(d, "uses.o")], check=True)
            print("ok clean: %s -std=%s" % (compiler, std))
        program = pathlib.Path(d, "count")
        subprocess.run(["cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", *WARNINGS[:3], "-Werror", "-I", ROOT / "include",
                        ROOT / "examples/count.c", library, "-Wl,-rpath," + str(library.parent), "-lpthread", "-o", program], check=True)
        env = dict(os.environ, DUET_RUNTIME_DIR=d + "/run", DUET_LIBRARY=str(libduet))
        subprocess.run([duet, "record", "-q", "--no-kernel", "-e", "lttng_ust_libc:*", "-o", d + "/t", "--", "ls", "/"],
                       env=env, stdout=subprocess.DEVNULL, check=True)
        said = subprocess.run([program, d + "/t"], stdout=subprocess.PIPE, text=True, check=True).stdout
        seen = subprocess.run([duet, "view", "--json", d + "/t"], stdout=subprocess.PIPE, text=True, check=True).stdout
        counted = {line.split()[1]: int(line.split()[0]) for line in said.splitlines()}
        for name in ("lttng_ust_libc:malloc", "lttng_ust_libc:free"):
            if not counted.get(name) or counted[name] != seen.count('"event":"%s"' % name):
                print("not ok count says %r of %s, view %d" % (counted.get(name), name, seen.count('"event":"%s"' % name)))
                return 1
        print("ok examples/count.c counts the events that view shows")
    return 0 if ways else 77


if __name__ == "__main__":
    sys.exit(main())
