#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Own probes: alone, beside sessions, which record as without them, and under AddressSanitizer.

arguments: DUET PLUGIN LIBDUET PROGRAM...
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

duet, plugin, library = (os.path.abspath(p) for p in sys.argv[1:4])
failures = 0
BUSY = {"probe:busy": 80000}
# The events of program.h: those of children and of the probe itself included.
WANT = {**BUSY, "probe:plain": 11, "probe:kinds": 1, "probe:order": 3, "probe:marked": 2, "plugin:loaded": 3,
        "probe:inner": 6}


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %.1000s" % (what, more))


def run(*args, **env):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(os.environ, **env))


for program in map(os.path.abspath, sys.argv[4:]):
    with tempfile.TemporaryDirectory(prefix="duet-probes-") as work:
        env = dict(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
        p = run(program, plugin, **env)
        ok(p.returncode == 0, "alone: %s" % program, p.stdout + p.stderr)
        p = run(duet, "record", "-q", "--no-kernel", "-o", work + "/trace", "--", program, plugin, **env)
        ok(p.returncode == 0, "recorded: %s" % program, p.stdout + p.stderr)
        shown = run(duet, "view", "--json", work + "/trace", **env)
        got = collections.Counter(json.loads(line).get("event", "lost") for line in shown.stdout.splitlines())
        got = {name: n for name, n in got.items() if not name.startswith("lttng_ust_statedump")}
        ok(got == WANT, "each event is recorded once, with any probes", str(got))
        if not program.endswith("asan"):  # which has libduet inside
            p = run(program, plugin, DUET_LIBRARY="/nonexistent", DUET_RUNTIME_DIR=work + "/run")
            ok("line" in p.stdout and p.returncode == 1, "without libduet it is reported, and nothing breaks", p.stdout)
        left = [n for n in os.listdir(work + "/run") if n != "seats"]
        ok(not left, "nothing is left", str(left))
    print("%s - %s" % ("not ok" if failures else "ok", os.path.basename(program)))
sys.exit(1 if failures else 0)
