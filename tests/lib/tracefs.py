# SPDX-License-Identifier: MIT
"""tracefs for a process that may not mount it.

Where tracefs is mounted nowhere duet mounts it detached, which needs CAP_SYS_ADMIN.  A test of a process without that
right would then see the lack of tracefs and nothing of the right it is about.
"""

MOUNT = '[ -e /sys/kernel/tracing/instances ] || mount -t tracefs nodev /sys/kernel/tracing; exec "$@"'


def where_mounted(*command):
    """The words that run @command in a mount namespace of its own with tracefs at its usual place."""
    return ("unshare", "--mount", "sh", "-c", MOUNT, "sh") + command
