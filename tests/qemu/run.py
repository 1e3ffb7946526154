#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other kernels than this machine's, in qemu without acceleration: guest.sh is their whole system, and prints
its results on a second serial port.

usage: run.py BUILD [--kernel VMLINUZ [--modules DIRECTORY]] [--package NAME]... [--timeout SECONDS] [--append WORDS]
              [--scripts | --nodes]

BUILD      a build directory of duet
--kernel   the kernel to boot; its modules: /lib/modules/VERSION of it
--package  Debian's packages of kernels, fetched with apt-get and unpacked beside (not installed); without either:
           linux-image-cloud-amd64 and linux-image-6.12-cloud-amd64, whichever apt knows
--append   to the kernel's command line; behind "-- ", which functions of guest.sh are to be run
--nodes    memory nodes alone: two of them, with a CPU each
--scripts  scripts alone, all about them: also the project's own tests of scripts, for which the guest gets Python
"""
import argparse
import glob
import gzip
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../live/strace")
from strace_lines import compared, lines_by_thread  # noqa: E402

PACKAGES = ["linux-image-cloud-amd64", "linux-image-6.12-cloud-amd64"]
MODULE = "drivers/net/dummy.ko"
DISK = ["virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk"]  # in this order
SCRIPTS = "scripts script_functions script_modules script_aliases script_kills live_scripts"
ONE_CPU, SCRIPTS_MACHINE = ["-smp", "1", "-m", "1024"], ["-smp", "2", "-m", "2048"]
NODES = ["-smp", "2", "-m", "2048",
         "-object", "memory-backend-ram,id=m0,size=1G", "-numa", "node,nodeid=0,memdev=m0,cpus=0",
         "-object", "memory-backend-ram,id=m1,size=1G", "-numa", "node,nodeid=1,memdev=m1,cpus=1"]
PYTHON = "/usr/bin/python3"
UNUSED = ("test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "config-*", "pydoc_data", "unittest", "asyncio")


def kernel_package(name):
    """The package with a kernel in it that a meta-package depends on, or itself."""
    out = subprocess.run(["apt-cache", "depends", name], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Depends: (linux-image-\S+)", out)
    return found.group(1) if found else name


def parts(name):
    """The packages that one with a kernel is: newer ones have its modules, and itself, in others."""
    out = subprocess.run(["apt-cache", "depends", name], capture_output=True, text=True, check=False).stdout
    return re.findall(r"Depends: (linux-(?:binary|modules)-\S+)", out) or [name]


def fetch(package, work):
    """-> the directory where it lies unpacked, or None"""
    name = kernel_package(package)
    where = os.path.join(work, name)
    os.mkdir(where)
    # apt-get's own user may not write here; as this user started it, apt-get only warns.
    got = subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download"] + parts(name), cwd=where, capture_output=True,
                         text=True, check=False)
    found = glob.glob(where + "/*.deb")
    if got.returncode or not found:
        print(f"{package}: cannot be fetched: {got.stderr.strip()}", file=sys.stderr)
        return None
    for path in found:
        subprocess.run(["dpkg", "-x", path, where], check=True)
        os.remove(path)
    return where


def look(where, *patterns):
    """-> the first file of @where that one of the patterns fits, or an empty text"""
    return next((path for pattern in patterns for path in sorted(glob.glob(where + pattern))), "")


def libraries(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", out)


def add(root, path, source):
    to = root + path
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy(source, to)


def add_program(root, path, to):
    subprocess.run(["strip", "-o", f"{root}/bin/{to}", path], check=True)
    for library in libraries(path):
        add(root, library, library)


def make_base(root, build, init):
    """A system of busybox, duet and our calls, whose first program is @init."""
    busybox = shutil.which("busybox")
    if not busybox or libraries(busybox):
        sys.exit("busybox-static is needed")
    for directory in ["bin", "dev", "proc", "sys", "tmp", "modules"]:
        os.makedirs(os.path.join(root, directory))
    add(root, "/bin/busybox", busybox)
    add_program(root, os.path.join(build, "src/cmd/duet"), "duet")
    add_program(root, os.path.join(build, "tests/qemu/qemu_calls"), "calls")
    shutil.copy(os.path.join(HERE, init), root + "/init")
    os.chmod(root + "/init", 0o755)


def make_system(root, args, modules):
    build = args.build
    make_base(root, build, "guest.sh")
    add_program(root, os.path.join(build, "tests/live/kernel/kernel_timestamps_lie_between_readings"), "bracket")
    add_program(root, os.path.join(build, "tests/live/strace/known_calls"), "known")
    if shutil.which("strace"):
        add_program(root, shutil.which("strace"), "strace")
    add(root, "/bin/die.so", os.path.join(build, "tests/qemu/libdie.so"))
    if args.nodes:
        add_program(root, os.path.join(build, "tests/qemu/qemu_node"), "node")
        add(root, "/inproc/libduet.so.0", os.path.join(build, "src/inproc/libduet.so.0"))  # where /bin/duet looks for it
    shutil.copy(os.path.join(HERE, "guest_scripts.sh"), root + "/scripts.sh")
    add_module(root, modules, MODULE, "/module.ko")
    for i, name in enumerate(DISK):  # a kernel that has it built in has no such file
        add_module(root, modules, f"drivers/*/{name}.ko", f"/modules/{i}-{name}.ko")


def add_module(root, modules, pattern, to):
    for found in glob.glob(f"{modules}/kernel/{pattern}*"):
        with (lzma.open if found.endswith(".xz") else open)(found, "rb") as f, open(root + to, "wb") as copy:
            copy.write(f.read())


def add_python(root):
    """Debian's, without modules that no test needs."""
    library = subprocess.run([PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"], capture_output=True,
                             text=True, check=True).stdout.strip()
    add(root, "/bin/python3", PYTHON)
    shutil.copytree(library, root + library, ignore=shutil.ignore_patterns(*UNUSED))
    for name in [PYTHON] + glob.glob(library + "/lib-dynload/*.so"):
        for needed in libraries(name):
            add(root, needed, needed)


def add_tests_of_scripts(root, build):
    """With their programs, where guest_scripts.sh looks for them."""
    source = HERE + "/../.."
    add_python(root)
    for directory in "tests/lib", "tests/live/script", "examples/scripts", "src/script/library/texts":
        shutil.copytree(os.path.join(source, directory), root + "/duet/" + directory)
    for name in ["script/questions", "script/kernel_probes_count_exactly", "script/programs_are_probed", "control/counting"]:
        path = os.path.join(build, "tests/live", name)
        add(root, "/duet/" + os.path.basename(name), path)  # with its debugging information, of which a test reads types
        for needed in libraries(path):
            add(root, needed, needed)
    add(root, "/inproc/libduet.so.0", os.path.join(build, "src/inproc/libduet.so.0"))  # where /bin/duet looks for it


def pack(root, path):
    names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    packed = subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=root, input=names, capture_output=True, check=True)
    with gzip.open(path, "wb", compresslevel=1) as f:
        f.write(packed.stdout)


def boot(kernel, initrd, told, args, *more):
    """-> the output of the guest's console"""
    machine = NODES if getattr(args, "nodes", False) else SCRIPTS_MACHINE if getattr(args, "scripts", False) else ONE_CPU
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max,-cx16",
               *machine,
               "-kernel", kernel, "-initrd", initrd, "-nographic", "-no-reboot", "-serial", "mon:stdio", "-serial",
               "file:" + told, *more, "-append",
               "console=ttyS0 quiet panic=-1 mitigations=off nowatchdog no_timer_check tsc=reliable "
               "rcupdate.rcu_cpu_stall_suppress=1 " + args.append]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=args.timeout,
                              check=False).stdout
    except subprocess.TimeoutExpired as e:
        return (e.stdout or b"") + b"\n(ended after %d s)" % args.timeout


def compare_lines(lines, work):
    """The guest's output of `duet strace` and of strace, judged as by the tests.  -> the lines without these, and the judgement"""
    paths = {}
    for who in "@ours", "@theirs":
        paths[who] = os.path.join(work, who[1:])
        with open(paths[who], "w", encoding="utf-8") as f:
            f.writelines(line[len(who) + 1:] + "\n" for line in lines if line.startswith(who + " "))
    rest = [line for line in lines if not line.startswith("@")]
    if len(rest) < len(lines):
        n, wrong = compared(lines_by_thread(paths["@ours"]), lines_by_thread(paths["@theirs"]))
        rest += ["not ok strace: " + what for what in wrong]
        rest.append("%s strace: %d calls are as strace shows them" % ("ok" if n > 150 else "not ok", n - len(wrong)))
    return rest


def try_kernel(kernel, modules, work, args):
    root, initrd, told, disk = (os.path.join(work, name) for name in ("root", "initrd", "told", "disk"))
    shutil.rmtree(root, ignore_errors=True)
    make_system(root, args, modules)
    if args.scripts:
        add_tests_of_scripts(root, args.build)
    pack(root, initrd)
    with open(told, "w", encoding="utf-8"), open(disk, "wb") as f:
        f.truncate(16 << 20)
    console = boot(kernel, initrd, told, args, "-drive", f"file={disk},if=virtio,format=raw")
    with open(told, errors="replace", encoding="utf-8") as f:
        lines = f.read().replace("\r", "").splitlines()
    lines = compare_lines(lines, work)
    good = sum(line.startswith("ok ") for line in lines)
    bad = sum(line.startswith("not ok ") for line in lines)
    print("\n".join(lines))
    if "done" not in lines:
        bad += 1
        print("the guest did not come to its end; its console:\n" + console.decode(errors="replace")[-2000:])
    print(f"{os.path.basename(kernel)}: {good} right, {bad} wrong", flush=True)
    return bad


def kernels(args, work):
    """Each kernel and its modules."""
    if args.kernel:
        yield args.kernel, args.modules or ""
        return
    for package in args.package or PACKAGES:
        where = fetch(package, work)
        if where:
            yield (look(where, "/boot/vmlinuz*", "/usr/lib/modules/*/vmlinuz"),
                   look(where, "/lib/modules/*", "/usr/lib/modules/*"))


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("build")
    p.add_argument("--kernel")
    p.add_argument("--modules")
    p.add_argument("--package", action="append")
    p.add_argument("--timeout", type=int)
    p.add_argument("--append", default="")
    p.add_argument("--scripts", action="store_true")
    p.add_argument("--nodes", action="store_true")
    args = p.parse_args()
    if args.scripts and "--" not in args.append:
        args.append += " -- " + SCRIPTS
    if args.nodes and "--" not in args.append:
        args.append += " -- nodes"
    args.timeout = args.timeout or (7200 if args.scripts else 600)
    subprocess.run(["ninja", "-C", args.build, "tests/qemu/qemu_calls", "tests/qemu/libdie.so", "tests/qemu/qemu_node"],
                   stdout=subprocess.DEVNULL, check=True)
    work = tempfile.mkdtemp(prefix="duet-qemu-")
    bad = n = 0
    try:
        for kernel, modules in kernels(args, work):
            bad += try_kernel(kernel, modules, work, args)
            n += 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if not n:
        sys.exit("no kernel to boot: --kernel VMLINUZ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
