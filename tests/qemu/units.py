#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet's units under systemd, on Debian 12 with Debian's kernel in qemu, without acceleration.

    units.py BUILD PACKAGES [--base DIRECTORY] [--timeout SECONDS] [--keep FILE]

BUILD is a build directory of duet, PACKAGES the directory with the .deb files of tools/package.  --base names a root that
debootstrap has made, with systemd-sysv in it; it is copied.  --keep writes the guest's output there as well.  The guest's
checks: units_guest.py, which tests/live/control/units_run_under_systemd.py runs in a container.

It takes some ten minutes, root, debootstrap, e2fsprogs and Debian's archive.  All mounts are in a namespace of their own
and end with it.
"""
import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run as guests

HERE = pathlib.Path(__file__).resolve().parent
KERNEL = "linux-image-cloud-amd64"
NEEDED = "systemd,systemd-sysv,dbus,udev,kmod,procps,python3-minimal"
IMAGE_BYTES = 3 << 30  # sparse
SERVICE = """[Unit]
Description=duet's units are tried
After=basic.target duet-lend.socket
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /duet-trial/units_guest.py /duet-trial 300
StandardOutput=file:/dev/ttyS1
StandardError=file:/dev/ttyS1
"""
# Units that only cost time: minutes without acceleration.
MASKED = ["systemd-udevd.service", "systemd-udev-trigger.service", "systemd-udevd-control.socket",
          "systemd-udevd-kernel.socket", "e2scrub_reap.service", "apt-daily.timer", "apt-daily-upgrade.timer",
          "getty@tty1.service", "serial-getty@ttyS0.service", "systemd-logind.service", "systemd-update-utmp.service"]
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*; do insmod $module; done
mkdir -p /new
mount -t ext4 /dev/vda /new || echo "no disk"
mount --move /dev /new/dev
umount /proc /sys
exec switch_root /new /sbin/init --unit=duet-trial.service
"""


def packages_test():
    """tests/package/try.py, whose name is no module's."""
    spec = importlib.util.spec_from_file_location("package_try", HERE.parent / "package/try.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_root(work, args):
    """A fresh Debian with duet's packages.  -> its directory"""
    trial = packages_test()
    base = args.base
    if not base:
        base = work / "base"
        trial.run("debootstrap", "--variant=minbase", "--include=" + NEEDED, "bookworm", base,
                  os.environ.get("MIRROR", "http://deb.debian.org/debian"))
    root = trial.debian(work, base, "debian")
    root.apt("update")
    some = [p for p in args.packages.glob("*.deb") if p.name.split("_")[0] in ("duet", "libduet0")]
    root.apt("install", "libssl3", *trial.copy_packages(some, root))
    root.apt("clean")
    place = root.path / "duet-trial"
    place.mkdir()
    shutil.copy(args.build / "tests/live/control/counting", place)
    shutil.copy(HERE / "units_guest.py", place)
    units = root.path / "etc/systemd/system"
    (units / "duet-trial.service").write_text(SERVICE)
    for name in MASKED:
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    (root.path / "etc/machine-id").write_text("")
    for mounted in (*("dev/" + n for n in ("null", "zero", "urandom", "tty", "shm")), "run", "sys/kernel/tracing", "sys",
                    "proc"):
        subprocess.run(["umount", "-R", "-l", root.path / mounted], check=False)
    return root.path


def make_image(root, path):
    with open(path, "wb") as f:
        f.truncate(IMAGE_BYTES)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(root), str(path)], check=True)


def make_initrd(work, modules):
    root = str(work / "initrd-root")
    for directory in "bin", "dev", "proc", "sys", "modules":
        os.makedirs(os.path.join(root, directory))
    guests.add(root, "/bin/busybox", shutil.which("busybox"))
    for i, name in enumerate(guests.DISK):
        guests.add_module(root, modules, f"drivers/*/{name}.ko", f"/modules/{i}-{name}.ko")
    (pathlib.Path(root) / "init").write_text(INIT)
    os.chmod(root + "/init", 0o755)
    guests.pack(root, str(work / "initrd"))
    return str(work / "initrd")


def inside(args, work):
    where = guests.fetch(KERNEL, str(work))
    if not where:
        sys.exit("no kernel to boot")
    kernel = guests.look(where, "/boot/vmlinuz*", "/usr/lib/modules/*/vmlinuz")
    initrd = make_initrd(work, guests.look(where, "/lib/modules/*", "/usr/lib/modules/*"))
    make_image(make_root(work, args), work / "disk")
    told = work / "told"
    told.write_text("")
    print("# the root is made; it boots", flush=True)
    args.append, args.scripts = "systemd.show_status=0", True
    console = guests.boot(kernel, initrd, str(told), args, "-drive", f"file={work}/disk,if=virtio,format=raw")
    lines = told.read_text(errors="replace").replace("\r", "").splitlines()
    print("\n".join(lines))
    if args.keep:
        args.keep.write_text("\n".join(lines))
    if "done" not in lines:
        print("the guest did not come to its end; its console:\n" + console.decode(errors="replace")[-3000:])
    good = sum(line.startswith("ok ") for line in lines)
    bad = sum(line.startswith("not ok ") for line in lines) + ("done" not in lines)
    print(f"{os.path.basename(kernel)}: {good} right, {bad} wrong")
    return bad


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("packages", type=pathlib.Path)
    p.add_argument("--base", type=pathlib.Path)
    p.add_argument("--timeout", type=int, default=3600)
    p.add_argument("--keep", type=pathlib.Path)
    args = p.parse_args()
    if os.geteuid():
        sys.exit("units.py needs root")
    if os.environ.get("DUET_UNITS") != "inside":
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, *sys.argv[1:]],
                   dict(os.environ, DUET_UNITS="inside"))
    work = pathlib.Path(tempfile.mkdtemp(prefix="duet-qemu-units-"))
    bad = 1
    try:
        bad = inside(args, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
