#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The packages of tools/package, tried in a fresh Debian 12 made by debootstrap.

    try.py PACKAGES [--static ARCHIVE] [--base DIRECTORY]

PACKAGES is the directory with the .deb files, ARCHIVE that of tools/package --static.  It takes some minutes, root,
debootstrap, and Debian's archive; --base names a root that debootstrap has made, which is copied.  All happens in a
mount namespace of its own, whose mounts end with it.

Tried: installation; an instrumented server, built inside and started before the session, recorded by `record -p`,
`start` and `collect`, by root and by a user; the Python module; debian/tests; an upgrade under a running server;
removal and purge, which leave nothing but the group; the static duet in an empty root.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 120
LOWER = "0.0.9"
USER = "1000:1000"
SERVER = r"""
#include <duet/duet.h>
#include <stdio.h>
#include <unistd.h>
DUET_EVENT(shop, order, (i32, id), (str, item));
int main(void)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++) {
		trace_shop_order(i, "tea");
		usleep(1000);
	}
}
"""
started = []


def fail(text):
    sys.exit("try.py: " + text)


def run(*argv, **options):
    p = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       stdin=subprocess.DEVNULL, timeout=900, **options)
    if p.returncode:
        fail("%s\nexited with %d:\n%s" % (" ".join(map(str, argv)), p.returncode, p.stdout))
    return p.stdout


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            fail("waited %d s for %s" % (PATIENCE, what))
        time.sleep(0.05)


def ok(text):
    print("ok " + text, flush=True)


class Root:
    """A system in a directory."""

    def __init__(self, path):
        self.path = path
        for kind, where, options in (("proc", "proc", ""), ("sysfs", "sys", ""), ("tracefs", "sys/kernel/tracing", ""),
                                     ("tmpfs", "dev/shm", "mode=1777"), ("tmpfs", "run", "mode=755")):
            (path / where).mkdir(parents=True, exist_ok=True)
            if kind == "tmpfs" and where == "dev/shm":
                for device in "null", "zero", "urandom", "tty":
                    (path / "dev" / device).touch()
                    run("mount", "--bind", "/dev/" + device, path / "dev" / device)
            run("mount", "-t", kind, *(["-o", options] if options else []), kind, path / where)

    def argv(self, argv, user):
        return ["chroot", *(["--userspec=" + user, "--groups="] if user else []), str(self.path), "/usr/bin/env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8",
                "DEBIAN_FRONTEND=noninteractive", *map(str, argv)]

    def run(self, *argv, user=None):
        return run(*self.argv(argv, user))

    def start(self, *argv, user=None, **options):
        started.append(subprocess.Popen(self.argv(argv, user), stdin=subprocess.DEVNULL, text=True, **options))
        return started[-1]

    def apt(self, *argv):
        return self.run("apt-get", "-qq", "-y", "--no-install-recommends", *argv)


def debian(work, base, name):
    path = work / name
    run("cp", "-a", base, path)
    shutil.copy("/etc/resolv.conf", path / "etc/resolv.conf")
    (path / "etc/apt/apt.conf.d/00host").write_text(run("apt-config", "dump", "Acquire", "--format", '%f "%v";%n'))
    (path / "tmp").chmod(0o1777)
    (path / "packages").mkdir()
    return Root(path)


def copy_packages(packages, root):
    for old in (root.path / "packages").iterdir():
        old.unlink()
    for deb in packages:
        shutil.copy(deb, root.path / "packages")
    return ["/packages/" + deb.name for deb in packages]


def lower(packages, work):
    """the same packages with a lower version"""
    into = work / "lower"
    into.mkdir()
    for deb in packages:
        name, version = deb.name.split("_")[:2]
        tree = work / "repacked"
        run("dpkg-deb", "-R", deb, tree)
        control = tree / "DEBIAN/control"
        control.write_text(control.read_text().replace("Version: " + version, "Version: " + LOWER)
                           .replace("= %s)" % version, "= %s)" % LOWER))
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, into / deb.name.replace(version, LOWER))
        shutil.rmtree(tree)
    return sorted(into.iterdir())


# ---------------------------------------------------------------- recording

def server(root, user):
    program = root.start("/server", user=user, stdout=subprocess.PIPE)
    if program.stdout.readline() != "ready\n":
        fail("the server does not start")
    return program


def end(program, signal=15):
    program.send_signal(signal)
    return program.wait(PATIENCE)


def has_events(recording):
    return lambda: any(f.stat().st_size for f in recording.glob("ust/uid/*/64-bit/cpu_*"))


def check(root, user, recording, is_root):
    events = root.run("duet", "view", "-e", "shop:order", recording, user=user)
    if events.count("shop:order") < 2:
        fail("%s: recorded %d events" % (recording, events.count("shop:order")))
    if is_root and not (root.path / recording.lstrip("/") / "kernel").is_dir():
        fail("%s: root's recording has no kernel half" % recording)


def recorded(root, user, duet="duet"):
    """the server is there first"""
    who = "a user" if user else "root"
    program = server(root, user)
    home = "/tmp/" + (user or "root").replace(":", "-")
    events = ["-e", "shop:*"] + ([] if user else ["-k", "sched"])

    recording = home + "-p"
    command = root.start(duet, "record", "-q", *events, "-p", program.pid, "-o", recording, user=user)
    until("events of record -p", has_events(root.path / recording.lstrip("/")))
    end(program)
    if command.wait(PATIENCE):
        fail("record -p exited with %d" % command.returncode)
    check(root, user, recording, not user)
    ok("%s records it with record -p, which ends with it" % who)

    program = server(root, user)
    recording = home + "-start"
    root.run(duet, "start", "trial", *events, "-o", recording, user=user)
    until("events of start", has_events(root.path / recording.lstrip("/")))
    root.run(duet, "stop", "trial", user=user)
    check(root, user, recording, not user)
    ok("%s records it with start" % who)

    recording = home + "-collect"
    command = root.start(duet, "collect", "--quiet", "--session", "trial", *events, "-o", recording,
                         user=user)
    until("events of collect", has_events(root.path / recording.lstrip("/")))
    if end(command):
        fail("collect exited with %d" % command.returncode)
    check(root, user, recording, not user)
    end(program)
    ok("%s records it with collect" % who)
    return recording


# ---------------------------------------------------------------- packages

def snapshot(root):
    """paths that a package could leave behind"""
    skip = ("proc", "sys", "dev", "run", "tmp", "packages", "var/cache", "var/log", "var/lib/dpkg", "var/lib/apt",
            "var/lib/systemd", "etc/group", "etc/gshadow", "etc/group-", "etc/gshadow-",
            "etc/ld.so.cache")
    found = set()
    for directory, names, files in os.walk(root.path):
        inside = os.path.relpath(directory, root.path)
        names[:] = [n for n in names if os.path.normpath(os.path.join(inside, n)) not in skip]
        found |= {os.path.normpath(os.path.join(inside, n)) for n in names + files if "__pycache__" not in inside + n}
    return found - set(skip)


def names_of(packages):
    return [p.name.split("_")[0] for p in packages]


def try_installation(root, packages):
    root.apt("update")
    root.apt("install", "gcc", "libc6-dev", "pkg-config", "python3", "systemd-standalone-sysusers",
             "init-system-helpers")
    before = snapshot(root)
    paths = copy_packages(packages, root)
    root.apt("install", *paths)
    if "libduet.so.0" not in root.run("ldconfig", "-p"):
        fail("the linker does not find libduet.so.0")
    root.run("getent", "group", "tracing")
    ok("installed: " + root.run("duet", "--version").strip())
    (root.path / "server.c").write_text(SERVER)
    root.run("sh", "-c", "gcc -O2 -Wall -Werror server.c -o server $(pkg-config --cflags --libs duet)")
    return before


def try_recording(root):
    for user in None, USER:
        recording = recorded(root, user)
    root.run("python3", "-c", "import duetread; assert any(e.name == 'shop:order' for e in duetread.Reader('%s'))"
             % recording)
    ok("the Python module reads it")
    refused = root.run("sh", "-c", "! duet ui --no-browser " + recording)
    if "apt install libmicrohttpd12" not in refused:
        fail("duet ui without libmicrohttpd says: " + refused)
    root.run("duet", "ui", "--html", "/tmp/page.html", recording)
    completions = ["/usr/share/" + c for c in ("bash-completion/completions/duet", "zsh/vendor-completions/_duet",
                                               "fish/vendor_completions.d/duet.fish")]
    root.run("ls", *completions, *["/usr/share/doc/duet/examples/" + e for e in ("shop.c", "scripts")])
    ok("duet ui says how to get a server, and writes a page without")
    for name in "recorded", "libraries":
        shutil.copy(HERE.parent.parent / "debian/tests" / name, root.path / "tmp" / name)
        root.run("sh", "-eu", "/tmp/" + name)
        ok("debian/tests/" + name)


def try_upgrade(root, packages, work):
    root.apt("purge", *names_of(packages))
    root.apt("install", *copy_packages(lower(packages, work), root))
    program = server(root, None)
    root.apt("install", *copy_packages(packages, root))
    versions = set(root.run("dpkg-query", "-W", "-f", "${Version}\n", *names_of(packages)).split())
    if versions != {packages[0].name.split("_")[1]}:
        fail("versions after the upgrade: %s" % versions)
    recording = "/tmp/upgraded"
    command = root.start("duet", "record", "-q", "-p", program.pid, "-o", recording)
    until("events after the upgrade", has_events(root.path / recording.lstrip("/")))
    end(program)
    command.wait(PATIENCE)
    check(root, None, recording, True)
    ok("upgraded from %s under a running server, which is recorded" % LOWER)


def try_removal(root, packages, before):
    program = server(root, None)
    root.apt("remove", *names_of(packages))
    if program.poll() is not None:
        fail("the server ended when the packages were removed")
    end(program)
    end(server(root, None))
    root.run("dpkg", "--purge", *names_of(packages))  # apt does not know those without configuration
    root.apt("autoremove", "--purge")
    left = sorted(snapshot(root) - before - {"server", "server.c"})
    if left:
        fail("purge leaves %s" % left)
    ok("removed and purged: nothing is left, and the program runs without")


# ---------------------------------------------------------------- static

def try_static(root, archive, work):
    path = work / "empty"
    path.mkdir()
    run("tar", "-x", "--strip-components=1", "-f", archive, "-C", path)
    empty = Root(path)

    def duet(*argv):
        return run("chroot", path, "/bin/duet", *argv)

    duet("--version")
    duet("record", "-q", "-o", "/recording", "--", "/bin/duet", "--version")
    if "sched_switch" not in duet("view", "/recording") or "execve" not in duet("report", "syscalls", "/recording"):
        fail("the static duet records nothing in an empty root")
    duet("ui", "--html", "/page.html", "/recording")
    del empty
    ok("the static duet records the kernel, reports, and writes a page in an empty root")
    run("tar", "-x", "-f", archive, "-C", root.path / "opt")
    command = next((root.path / "opt").glob("duet-*/bin/duet"))
    inside = "/" + str(command.relative_to(root.path))
    root.run("timeout", "60", inside, "record", "-q", "-o", "/tmp/static", "--", "sh", "-c", "timeout 1 /server; true")
    if root.run(inside, "view", "-e", "shop:order", "/tmp/static").count("shop:order") < 2:
        fail("the static duet records no application events")
    ok("the static duet records a program by the libduet beside it")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("packages", type=pathlib.Path)
    p.add_argument("--static", type=pathlib.Path)
    p.add_argument("--base", type=pathlib.Path)
    a = p.parse_args()
    if os.geteuid():
        fail("needs root")
    if os.environ.get("DUET_TRY") != "inside":
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__,
                               *sys.argv[1:]],
                   dict(os.environ, DUET_TRY="inside"))
    packages = sorted(p for p in a.packages.glob("*.deb") if "-dbgsym" not in p.name)
    if not packages:
        fail("%s has no packages: tools/package --output %s" % (a.packages, a.packages))
    work = pathlib.Path(tempfile.mkdtemp(prefix="duet-package-"))
    try:
        # A file system of its own, so that nothing outlives the namespace.
        run("mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", work)
        base = a.base
        if not base:
            base = work / "base"
            run("debootstrap", "--variant=minbase", "bookworm", base,
                os.environ.get("MIRROR", "http://deb.debian.org/debian"))
        root = debian(work, base, "debian")
        before = try_installation(root, packages)
        try_recording(root)
        try_upgrade(root, packages, work)
        try_removal(root, packages, before)
        if a.static:
            try_static(root, a.static, work)
    finally:
        for program in started:
            if program.poll() is None:
                end(program)
        subprocess.run(["umount", "-R", "-l", work])
        os.rmdir(work)


if __name__ == "__main__":
    main()
