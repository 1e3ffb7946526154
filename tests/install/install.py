#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files that `meson install` installs are enough: a program is compiled with pkg-config against it, runs with
and without libduet, and is recorded by the duet beside it.

    install.py MESON BUILD_DIRECTORY
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """
#include <duet/duet.h>
DUET_EVENT(shop, order, (i32, id), (str, item));
int main(void)
{
	trace_shop_order(42, "tea");
	trace_mark(shop, paid, "id %d", 42);
	return 0;
}
"""
COMPILERS = [["gcc", "-std=c99"], ["clang", "-std=c11"], ["g++", "-std=c++11", "-x", "c++"]]


def run(*argv, env=None):
    p = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env=env)
    if p.returncode:
        sys.exit("%s\nexited with %d:\n%s" % (" ".join(map(str, argv)), p.returncode, p.stdout))
    return p.stdout


def one(root, pattern):
    found = list(root.rglob(pattern))
    if len(found) != 1:
        sys.exit("installed %s: %s" % (pattern, found or "none"))
    return found[0]


def main():
    meson, build = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="duet-install-") as scratch:
        scratch = pathlib.Path(scratch)
        root = scratch / "root"
        run(meson, "install", "--no-rebuild", "-C", build, "--destdir", root)
        duet, pc = one(root, "bin/duet"), one(root, "duet.pc")
        if not one(root, "libduet.so").is_symlink() or one(root, "libduet.so.0").is_symlink():
            sys.exit("libduet.so is not a link to libduet.so.0")
        for name in "libduet-libc.so", "libduet-cyg.so", "duet/duet.h", "man1/duet.1", "man3/duet.3", "system/duet@.service", \
                "user/duet@.service", "system/duet-lend.socket", "system/duet-lend.service", "sysusers.d/duet.conf", \
                "tmpfiles.d/duet.conf", "bash-completion/completions/duet":
            one(root, name)
        env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(root),
                   DUET_RUNTIME_DIR=str(scratch / "runtime"))
        env.pop("LD_LIBRARY_PATH", None)
        env.pop("DUET_LIBRARY", None)
        flags = run("pkg-config", "--cflags", "--libs", "duet", env=env).split()
        (scratch / "program.c").write_text(PROGRAM)
        for compiler in COMPILERS:
            if not shutil.which(compiler[0]):
                continue
            program, recording = scratch / "program", scratch / "recording"
            run(*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", scratch / "program.c",
                *(["-x", "none"] if "-x" in compiler else []), "-o", program, *flags)
            if "libduet" in run("readelf", "-d", program):
                sys.exit("the program needs libduet: without it, it would not start")
            if run(program, env=env):
                sys.exit("the program says something")
            run(duet, "record", "-q", "--no-kernel", "-o", recording, "--", program, env=env)
            events = [json.loads(line) for line in run(duet, "view", "--json", recording).splitlines()]
            found = [(e["event"], e["fields"]) for e in events if e["event"].startswith("shop:")]
            if found != [("shop:order", {"id": 42, "item": "tea"}), ("shop:paid", {"id": 42})]:
                sys.exit("recorded: %s" % found)
            shutil.rmtree(recording)
            print("ok compiled, run and recorded: %s" % " ".join(compiler))


if __name__ == "__main__":
    main()
