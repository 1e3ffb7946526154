# SPDX-License-Identifier: MIT
"""tracefs at its usual place, for one test alone, whether the machine has it mounted or not.

Where tracefs is mounted nowhere duet mounts it detached, which needs CAP_SYS_ADMIN.  A test of a process without that
right would see the lack of tracefs, and a test that reads tracefs itself would find nothing.
"""
import os
import sys

TRACEFS = "/sys/kernel/tracing"
MOUNT = '[ -e %s/instances ] || mount -t tracefs nodev %s; exec "$@"' % (TRACEFS, TRACEFS)


def where_mounted(*command):
    """The words that run @command in a mount namespace of its own with tracefs at its usual place."""
    return ("unshare", "--mount", "sh", "-c", MOUNT, "sh") + command


def mount_tracefs():
    """For root: starts the script again where tracefs is mounted.  Call it before anything is made."""
    if os.environ.get("OWN_MOUNTS") or os.geteuid():
        return
    os.environ["OWN_MOUNTS"] = "1"
    command = where_mounted(sys.executable, *sys.argv)
    os.execvp(command[0], command)
