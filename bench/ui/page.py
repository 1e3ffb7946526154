#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py BUILD [EVENTS [STEPS]] - the page on a recording of so many events (1000000), moved and zoomed in Chromium.

page.py BUILD RECORDING [STEPS] takes a recording that is there.  Needs chromium and node: tools/setup.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def main():
    build = os.path.abspath(sys.argv[1])
    what = sys.argv[2] if len(sys.argv) > 2 else "1000000"
    with tempfile.TemporaryDirectory(prefix="duet-bench-") as work:
        recording = what
        if what.isdigit():
            recording = work + "/made"
            make = work + "/make"
            subprocess.run(["cc", "-O2", "-o", make, HERE + "/make.c"], check=True)
            subprocess.run([make, recording, what], check=True, stdout=subprocess.DEVNULL)
        environment = dict(os.environ, DUET=build + "/src/cmd/duet", RECORDING=os.path.abspath(recording), WORK=work, HOME=work,
                           STEPS=sys.argv[3] if len(sys.argv) > 3 else "200", TEST_PATIENCE="600",
                           NODE_PACKAGES=ROOT + "/tools/npm/node_modules")
        return subprocess.run(["node", HERE + "/page.mjs"], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
