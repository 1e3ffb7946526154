#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The units work under a systemd that runs: it is process 1 of a container whose root is an overlay of this machine's,
with duet installed in it.

arguments: DUET UNITS PROGRAM MESON BUILD_DIRECTORY.  What is checked: tests/qemu/units_guest.py, which tests/qemu/units.py
runs on Debian's own kernel.

The container has its own processes, mounts, network, host name and control groups; nothing of it is left.  The kernel's
settings (/proc/sys, /sys) are read-only; tracefs and BPF are the machine's.
"""
import fcntl
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEMD = "/lib/systemd/systemd"
SECONDS, PATIENCE = 280, 60  # of all, of a single wait
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9, "tty": 0, "console": 3, "kmsg": 3}
TRIAL = "duet-trial"  # the unit that runs the checks, and the directory with their files
SERVICE = """[Unit]
Description=duet's units are tried
After=basic.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /{0}/units_guest.py /{0} {1}
StandardOutput=append:/{0}/told
StandardError=append:/{0}/told
"""
# Units that a container must not run, or that only cost time.
MASKED = ["systemd-sysctl.service", "systemd-modules-load.service", "systemd-binfmt.service", "systemd-udevd.service",
          "systemd-udevd-control.socket", "systemd-udevd-kernel.socket", "systemd-udev-trigger.service",
          "systemd-timesyncd.service", "systemd-hwdb-update.service", "systemd-firstboot.service",
          "systemd-random-seed.service", "systemd-pstore.service", "systemd-remount-fs.service",
          "proc-sys-fs-binfmt_misc.automount", "kmod-static-nodes.service", "dev-hugepages.mount", "sys-kernel-debug.mount",
          "sys-fs-fuse-connections.mount", "sys-kernel-config.mount", "ldconfig.service", "systemd-update-done.service",
          "systemd-journal-catalog-update.service", "systemd-networkd-wait-online.service"]


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def run(*argv):
    p = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       stdin=subprocess.DEVNULL)
    if p.returncode:
        sys.exit("%s: status %d: %s" % (" ".join(map(str, argv)), p.returncode, p.stdout))
    return p.stdout


def mount(kind, root, where, options=""):
    os.makedirs(root + where, exist_ok=True)
    run("mount", "-t", kind, *(["-o", options] if options else []), kind, root + where)


def bind_read_only(root, where):
    run("mount", "--bind", root + where, root + where)
    run("mount", "-o", "remount,bind,ro", root + where)


# ---------------------------------------------------------------- the root directory

def make_root(work, program, meson, build):
    """An overlay: the machine's own files, and duet as `meson install` installs it."""
    upper, root = work + "/upper", work + "/root"
    for name in upper, root, work + "/over":
        os.mkdir(name)
    run(meson, "install", "--no-rebuild", "--quiet", "-C", build, "--destdir", upper)
    os.makedirs(upper + "/" + TRIAL)
    os.chmod(upper, 0o755)
    shutil.copy(program, upper + "/%s/counting" % TRIAL)
    shutil.copy(HERE + "/../../qemu/units_guest.py", upper + "/" + TRIAL)
    p = subprocess.run(["mount", "-t", "overlay", "-o", "lowerdir=/,upperdir=%s,workdir=%s/over" % (upper, work), "overlay",
                        root], stderr=subprocess.PIPE, text=True)
    if p.returncode:
        skip("no overlay of this machine's root: " + p.stderr.strip())
    for where in "/etc/systemd/system", "/var/log", "/var/lib/systemd", "/tmp", "/run", "/srv", "/root", "/home":
        mount("tmpfs", root, where, "mode=%s" % ("1777" if where == "/tmp" else "755"))
    with open(root + "/etc/systemd/system/%s.service" % TRIAL, "w") as f:
        f.write(SERVICE.format(TRIAL, PATIENCE))
    for unit in MASKED:
        os.symlink("/dev/null", root + "/etc/systemd/system/" + unit)
    run("chroot", root, "/sbin/ldconfig")
    return root


def add_devices(root):
    mount("tmpfs", root, "/dev", "mode=755")
    for name, minor in DEVICES.items():  # nodes of its own: systemd may change their modes
        os.mknod(root + "/dev/" + name, 0o666 | stat.S_IFCHR, os.makedev(5 if name == "tty" else 1, minor))
        os.chmod(root + "/dev/" + name, 0o666)
    mount("tmpfs", root, "/dev/shm", "mode=1777")
    mount("devpts", root, "/dev/pts", "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", root + "/dev/ptmx")
    for name, target in ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1"):
        os.symlink(target, root + "/dev/" + name)


def be_init(root):
    """In the new namespaces, as process 1."""
    mount("proc", root, "/proc")
    bind_read_only(root, "/proc/sys")
    mount("sysfs", root, "/sys", "ro")
    mount("tracefs", root, "/sys/kernel/tracing")
    mount("cgroup2", root, "/sys/fs/cgroup")
    add_devices(root)
    with socket.socket() as s:  # loopback up
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
    os.chdir(root)
    run("pivot_root", ".", "mnt")  # not chroot: a process in one may make no user namespace
    os.chdir("/")
    run("umount", "-l", "/mnt")
    run("mount", "--make-rshared", "/")  # as systemd has it outside of containers: credentials of units arrive by it
    os.execve(SYSTEMD, [SYSTEMD, "--system", "--unit=%s.service" % TRIAL, "--show-status=no"],
              {"container": "duet-trial", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


# ---------------------------------------------------------------- control groups

def enter_group(work):
    """A control group of our own, which is the root of the container's tree."""
    os.mkdir(work + "/groups")
    if subprocess.run(["mount", "-t", "cgroup2", "cgroup2", work + "/groups"], stderr=subprocess.DEVNULL).returncode:
        skip("no control groups of version 2")
    group = work + "/groups/%s-%d" % (TRIAL, os.getpid())
    os.mkdir(group)
    return group


def leave_group(group):
    """Its processes end a moment after their process 1."""
    with open(group + "/cgroup.kill", "w") as f:
        f.write("1")
    end = time.monotonic() + 30
    while "populated 1" in open(group + "/cgroup.events").read() and time.monotonic() < end:
        time.sleep(0.02)
    for directory, _, _ in os.walk(group, topdown=False):
        os.rmdir(directory)


# ---------------------------------------------------------------- the whole

def inside(work, program, meson, build):
    run("mount", "-t", "tmpfs", "-o", "size=2g,mode=755", "tmpfs", work)
    root, group = make_root(work, program, meson, build), enter_group(work)

    def join():
        with open(group + "/cgroup.procs", "w") as f:
            f.write(str(os.getpid()))
    p = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net", "--cgroup",
                          sys.executable, __file__, "--init", root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, preexec_fn=join)
    try:
        out = p.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        out = p.communicate()[0] + "\nended after %d s" % SECONDS
    lines = []
    if os.path.exists(root + "/%s/told" % TRIAL):
        with open(root + "/%s/told" % TRIAL, errors="replace") as f:
            lines = f.read().splitlines()
    leave_group(group)
    print("\n".join(lines))
    if "done" not in lines:
        print("not ok: the checks did not come to their end\n" + out)
    sys.exit("done" not in lines or any(line.startswith("not ok") for line in lines))


def main(duet, units, program, meson, build):
    if os.geteuid() or not os.path.exists(SYSTEMD) or os.uname().machine != "x86_64":
        skip("no root, or no systemd")
    work = tempfile.mkdtemp(prefix="duet-systemd-")
    try:
        status = subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, __file__, "--inside", work,
                                 program, meson, build]).returncode
    finally:
        os.rmdir(work)
    sys.exit(status)


if sys.argv[1] == "--init":
    be_init(sys.argv[2])
elif sys.argv[1] == "--inside":
    inside(*sys.argv[2:])
else:
    main(*sys.argv[1:])
