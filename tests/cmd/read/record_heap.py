# SPDX-License-Identifier: MIT
"""A small recording of a real program: the heap calls of find(1), those of malloc in a channel of their own."""
import os
import subprocess


def record_heap(duet, library, directory, name, *options):
    """-> the recording, @name in @directory"""
    env = dict(os.environ, DUET_RUNTIME_DIR=directory + "/run", DUET_LIBRARY=library)
    out = os.path.join(directory, name)
    r = subprocess.run([duet, "record", "-q", "-e", "lttng_ust_libc:*", "--channel",
                        "heap:events=lttng_ust_libc:malloc,size=8K", "-o", out, *options, "--", "find", "/etc",
                        "-maxdepth", "1"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if r.returncode:
        raise SystemExit("duet record: " + r.stderr)
    return out
