# SPDX-License-Identifier: MIT
"""tracefs at its usual place, for a benchmark alone, whether the machine has it mounted or not."""
import os
import sys

TRACEFS = "/sys/kernel/tracing"
MOUNT = '[ -e %s/instances ] || mount -t tracefs nodev %s; exec "$@"' % (TRACEFS, TRACEFS)


def mount_tracefs():
    """For root: start the script again in a mount namespace of its own.  Call it before anything is made."""
    if os.environ.get("OWN_MOUNTS") or os.geteuid():
        return
    os.environ["OWN_MOUNTS"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", MOUNT, "sh", sys.executable] + sys.argv)
