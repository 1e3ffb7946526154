#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The files that `meson install` installs are enough: a program is compiled with pkg-config against it, runs with
and without libduet, and is recorded by the duet beside it.  After an installation without DESTDIR programs find libduet,
or one line gives the command.

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

# /usr/local and /etc of this namespace alone.
NAMESPACE = """set -e
mkdir "$SCRATCH/upper" "$SCRATCH/work"
mount -t overlay overlay -o "lowerdir=/usr/local,upperdir=$SCRATCH/upper,workdir=$SCRATCH/work" /usr/local 2>/dev/null ||
    mount -t tmpfs tmpfs /usr/local
cp -a /etc "$SCRATCH/etc"
mount --bind "$SCRATCH/etc" /etc
exec "$@"
"""


def without_destdir(meson, build, scratch):
    """run in NAMESPACE, by root: `meson install` and no more"""
    said = run(meson, "install", "--no-rebuild", "-C", build)
    if "\nduet: " in said:
        sys.exit("installed as root to a directory of the linker:\n" + said)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "DUET_RUNTIME_DIR": str(scratch / "runtime")}
    (scratch / "program.c").write_text(PROGRAM)
    run("sh", "-c", "gcc $1/program.c -o $1/program $(pkg-config --cflags --libs duet)", "-", scratch, env=env)
    # no library is named: the program finds it, as one does that was started before duet
    maps = run("sh", "-c", "LD_DEBUG=libs $1/program 2>&1", "-", scratch, env=env)
    if "libduet.so.0" not in maps or "cannot open" in maps:
        sys.exit("the program does not find libduet:\n" + maps)
    recording = scratch / "recording"
    run("duet", "record", "-q", "--no-kernel", "-o", recording, "--", scratch / "program", env=env)
    if "shop:paid" not in run("duet", "view", recording, env=env):
        sys.exit("duet of /usr/local records nothing")
    if list(pathlib.Path("/usr/local").rglob("duetread*.so")):
        run("/usr/bin/python3", "-c", "import duetread", env=env)
    print("ok installed to /usr/local by root: programs and python3 find it")


def hint(script, directory, env=None, user=None):
    prefix = ["setpriv", "--reuid", "65534", "--clear-groups", "--"] if user else []
    said = run(*prefix, script, directory, env=dict(os.environ, **(env or {})))
    if said.count("\n") > 1:
        sys.exit("more than a line:\n" + said)
    return said


def hints(script, scratch):
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(script, scratch / "after-install")
    scratch.chmod(0o755)
    script = scratch / "after-install"
    if hint(script, elsewhere, {"DESTDIR": "/x"}):
        sys.exit("DESTDIR: nothing is to be done, and it prints a line")
    said = hint(script, elsewhere, user=os.geteuid() == 0)
    # If another libduet is installed here, that is the reason.
    if "LD_LIBRARY_PATH=%s" % elsewhere not in said:
        sys.exit("an installation that the linker does not find: %s" % (said or "no line"))
    print("ok an installation that the linker does not find: one line with the command")


def in_namespace(meson, build, scratch):
    if os.geteuid():
        return print("- installation by root: not tried, needs root")
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", NAMESPACE, "-", sys.executable, __file__, meson,
            build, "--inside", str(scratch)]
    print(run(*argv, env={**os.environ, "SCRATCH": str(scratch)}), end="")


def is_usr_local(meson, build):
    options = json.loads(run(meson, "introspect", "--buildoptions", build))
    return [o["value"] for o in options if o["name"] == "prefix"] == ["/usr/local"]


def main():
    if "--inside" in sys.argv:
        return without_destdir(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[4]))
    meson, build = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix="duet-install-") as scratch:
        scratch = pathlib.Path(scratch)
        root = scratch / "root"
        run(meson, "install", "--no-rebuild", "-C", build, "--destdir", root)
        duet, pc = one(root, "bin/duet"), one(root, "duet.pc")
        if not one(root, "libduet.so").is_symlink() or one(root, "libduet.so.0").is_symlink():
            sys.exit("libduet.so is not a link to libduet.so.0")
        for name in "libduet-libc.so", "libduet-cyg.so", "duet/duet.h", "man1/duet.1", "man3/duet.3", "system/duet@.service", \
                "user/duet@.service", "system/duet-lend.socket", "system/duet-lend.service", "system/duet-relay.service", \
                "sysusers.d/duet.conf", "tmpfiles.d/duet.conf", "bash-completion/completions/duet", "zsh/site-functions/_duet", \
                "fish/vendor_completions.d/duet.fish":
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
        hints(pathlib.Path(__file__).parent.parent.parent / "tools/after-install", scratch)
        inside = scratch / "inside"
        inside.mkdir()
        if is_usr_local(meson, build):
            in_namespace(meson, build, inside)


if __name__ == "__main__":
    main()
