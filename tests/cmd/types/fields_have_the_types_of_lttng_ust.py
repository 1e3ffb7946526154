#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every event, field, context and entry of the environment that LTTng-UST records of a program has the same name and type in
a recording of duet, or stands in docs/formats/lttng.md with the reason.

arguments: DUET PROGRAM LIBDUET DOCUMENT
"""
import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../read"))
import ctf_types  # noqa: E402
import record_lttng  # noqa: E402

LIBRARY = "/usr/lib/x86_64-linux-gnu/liblttng-ust-%s.so"
CONTEXTS = ("vpid", "vtid", "procname", "ip", "pthread_id", "vuid", "veuid", "vsuid", "vgid", "vegid", "vsgid", "cgroup_ns",
            "ipc_ns", "mnt_ns", "net_ns", "pid_ns", "time_ns", "user_ns", "uts_ns")
OURS = "procname,ppid,ip,vuid,veuid,vgid,vegid,namespaces"


def preloading(program, *names):
    found = [LIBRARY % name for name in names]
    missing = [f for f in found if not os.path.exists(f)]
    if missing:
        raise record_lttng.LttngMissing("no " + missing[0])
    return ["env", "LD_PRELOAD=" + ":".join(found), program]


def of_lttng(where, program):
    daemon = record_lttng.Daemon()
    try:
        daemon.record(where, [preloading(program, "libc-wrapper", "pthread-wrapper", "dl", "cyg-profile"),
                              preloading(program, "cyg-profile-fast")], ["*"], contexts=CONTEXTS)
    finally:
        daemon.close()
    return os.path.dirname(glob.glob(where + "/ust/uid/*/64-bit/metadata")[0])


def of_duet(where, duet, program):
    patterns = [w for p in ("*", "lttng_ust_libc:*", "lttng_ust_cyg_profile:*", "lttng_ust_cyg_profile_fast:*") for w in ("-e", p)]
    subprocess.run([duet, "record", "-q", "--no-kernel", "-o", where, *patterns, "-c", OURS, "--", program], check=True)
    return os.path.dirname(glob.glob(where + "/ust/uid/*/64-bit/metadata")[0])


def main():
    duet, program, library, document = map(os.path.abspath, sys.argv[1:5])
    os.environ["DUET_LIBRARY"] = library
    record_lttng.enter_private_mounts()
    with tempfile.TemporaryDirectory(prefix="duet-types-") as where:
        try:
            theirs = of_lttng(where + "/lttng", program)
        except record_lttng.LttngMissing as e:
            print(e)
            return 77
        ours = of_duet(where + "/duet", duet, program)
        theirs, ours = ctf_types.recording(theirs), ctf_types.recording(ours)
    print("%d events of LTTng, %d of them ours" % (len(theirs) - 2, len(set(theirs) & set(ours)) - 2))
    return ctf_types.check(ours, theirs, document, "Applications")


if __name__ == "__main__":
    sys.exit(main())
