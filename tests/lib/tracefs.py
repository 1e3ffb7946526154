# SPDX-License-Identifier: MIT
"""What is in the kernel is read where tracefs belongs: mounted for one test alone, whoever has mounted it or not."""
import os
import sys

TRACEFS = "/sys/kernel/tracing"


def mount_tracefs():
    """For root: the script begins again, with mounts of its own.  To be called before anything is made."""
    if os.environ.get("OWN_MOUNTS") or os.geteuid():
        return
    os.environ["OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", "mount -t tracefs tracefs %s; exec \"$@\"" % TRACEFS, "sh",
                          sys.executable, *sys.argv])
