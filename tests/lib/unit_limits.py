# SPDX-License-Identifier: MIT
"""Runs a command within the limits of a unit, as far as they can be had without a running systemd.

    python3 unit_limits.py UNIT WRITABLE[,WRITABLE]... COMMAND [ARGUMENT]...

Applied are CapabilityBoundingSet=, NoNewPrivileges=, ProtectSystem=strict with the directories WRITABLE,
ProtectHome=read-only, PrivateNetwork=, RestrictAddressFamilies=, SystemCallFilter=, UMask= and User= as far as
DynamicUser= means a user with no name.  The rest of a unit is checked by `systemd-analyze security` alone.  x86-64.
"""
import ctypes
import os
import re
import struct
import subprocess
import sys

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
SYS_MOUNT_SETATTR, AT_RECURSIVE, AT_FDCWD, RDONLY = 442, 0x8000, -100, 1
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 24, 38, 22
ALLOW, ERRNO = 0x7FFF0000, 0x50000
EPERM, EAFNOSUPPORT, SOCKET = 1, 97, 41
CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
 NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE
 SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL
 SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE""".split()
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
libc = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result:
        sys.exit("unit_limits: %s: %s" % (what, os.strerror(ctypes.get_errno())))


def settings(unit):
    """Name to the list of its values; lines that systemd joins are joined."""
    found = {}
    with open(unit) as f:
        for name, value in re.findall(r"^(\w+)=(.*)$", f.read(), re.M):
            found.setdefault(name, []).append(value)
    return found


def names_of(words):
    """System calls; @groups are resolved by systemd itself."""
    names = set()
    for word in words:
        if word.startswith("@"):
            out = subprocess.run(["systemd-analyze", "syscall-filter", word], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
            names |= names_of(re.findall(r"^ {4}([@\w-]+)$", out, re.M))
        else:
            names.add(word)
    return names


def allowed_calls(values):
    names = set()
    for value in values:
        if value.startswith("~"):
            names -= names_of(value[1:].split())
        else:
            names |= names_of(value.split())
    with open("/usr/include/x86_64-linux-gnu/asm/unistd_64.h") as f:
        numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", f.read()))
    names |= {"execve", "exit_group"}
    return sorted(int(numbers[n]) for n in names if n in numbers)


def instruction(code, k, yes=0, no=0):
    return struct.pack("HBBI", code, yes, no, k)


def restrict_calls(calls, families):
    load, equal, give = 0x20, 0x15, 0x06
    program = [instruction(load, 0), instruction(equal, SOCKET, 0, 2 + len(families)), instruction(load, 16)]
    program += [instruction(equal, f, len(families) - i, 0) for i, f in enumerate(families)]
    program += [instruction(give, ERRNO | EAFNOSUPPORT), instruction(load, 0)]
    for nr in calls:
        program += [instruction(equal, nr, 0, 1), instruction(give, ALLOW)]
    program.append(instruction(give, ERRNO | EPERM))
    code = ctypes.create_string_buffer(b"".join(program))
    whole = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    must(libc.prctl(PR_SET_SECCOMP, 2, ctypes.create_string_buffer(whole), 0, 0), "seccomp")


def set_attributes(path, set_flags, clear):
    attributes = struct.pack("QQQQ", set_flags, clear, 0, 0)
    must(libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, path.encode(), AT_RECURSIVE,
                      ctypes.create_string_buffer(attributes), len(attributes)), "mount_setattr " + path)


def protect_files(writable):
    must(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "private mounts")
    if not os.path.exists("/sys/kernel/tracing/instances"):
        must(libc.mount(b"none", b"/sys/kernel/tracing", b"tracefs", 0, None), "tracefs")
    for path in writable:
        must(libc.mount(path.encode(), path.encode(), None, MS_BIND | MS_REC, None), "bind " + path)
    set_attributes("/", RDONLY, 0)
    for path in ["/dev", "/proc", "/sys"] + writable:
        set_attributes(path, 0, RDONLY)


def main(unit, writable, *command):
    of = settings(unit)
    calls = allowed_calls(of.get("SystemCallFilter", []))
    families = [FAMILIES[f] for f in of["RestrictAddressFamilies"][0].split()]
    kept = {w[4:] for value in of["CapabilityBoundingSet"] for w in value.split()}
    must(libc.unshare(CLONE_NEWNS | (CLONE_NEWNET if of.get("PrivateNetwork") == ["yes"] else 0)), "unshare")
    protect_files([w for w in writable.split(",") if w])
    os.umask(int(of["UMask"][0], 8))
    for number, name in enumerate(CAPABILITIES):
        if name not in kept:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    if of.get("DynamicUser") == ["yes"]:
        os.setgroups([])
        os.setresgid(61234, 61234, 61234)
        os.setresuid(61234, 61234, 61234)
    must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    restrict_calls(calls, families)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
