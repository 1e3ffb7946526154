#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SIGKILL at a random moment loses no event after its call returned; a short-lived program is complete.

arguments: DUET VICTIM LIBDUET RUNS [SEED]      10 000 runs by hand take about a minute
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

duet, victim, library, runs = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
seed = sys.argv[5] if len(sys.argv) > 5 else str(os.getpid())
SHORT_LIFE = 100


def fail(text):
    print("FAILED (seed %s): %s" % (seed, text))
    sys.exit(1)


def read_steps(trace):
    """run -> its steps, in the order of the trace"""
    steps = [[] for _ in range(runs)]
    line = re.compile(rb'victim:step \{ run = (\d+), step = (\d+), text = "step (\d+) of (\d+)" \}')
    view = subprocess.Popen([duet, "view", trace], stdout=subprocess.PIPE)
    for text in view.stdout:
        m = line.search(text)
        if m:
            run, step, step_again, run_again = map(int, m.groups())
            if step != step_again or run != run_again:
                fail("torn event: %r" % text)
            steps[run].append(step)
        elif b"victim" in text and b"step" in text:
            fail("strange line: %r" % text)
    if view.wait():
        fail("duet view: status %d" % view.returncode)
    return steps


work = tempfile.mkdtemp(prefix="duet-kill-")
os.environ["DUET_RUNTIME_DIR"] = os.path.join(work, "run")
os.environ["DUET_LIBRARY"] = library
try:
    trace, notes = os.path.join(work, "trace"), os.path.join(work, "notes")
    p = subprocess.run([duet, "record", "--no-kernel", "-o", trace, "--", victim, "drive", str(runs),
                        seed, notes], stderr=subprocess.PIPE, text=True)
    if p.returncode or "LOST" in p.stderr:
        fail("record: status %d: %s" % (p.returncode, p.stderr))
    with open(notes, "rb") as f:
        noted = struct.unpack("%di" % runs, f.read(4 * runs))
    total, killed_alive = 0, 0
    for run, steps in enumerate(read_steps(trace)):
        total += len(steps)
        killed_alive += 0 < noted[run] and run % 10 != 9
        if steps != list(range(len(steps))):
            fail("run %d: steps missing, twice or out of order" % run)
        # One more may be committed than noted: killed between the two.
        if not noted[run] <= len(steps) <= noted[run] + 1:
            fail("run %d: %d events had returned, %d are in the trace" % (run, noted[run], len(steps)))
        if run % 10 == 9 and len(steps) != SHORT_LIFE:
            fail("run %d lived to its end and has %d events" % (run, len(steps)))
    left = [n for n in os.listdir(os.environ["DUET_RUNTIME_DIR"]) if n.startswith(("session", "sock"))]
    if left:
        fail("left behind: %s" % left)
    if killed_alive < runs // 3:
        fail("only %d of %d victims had begun when they were killed" % (killed_alive, runs))
    print("%d runs, %d killed after their first event, %d events, none missing (seed %s)"
          % (runs, killed_alive, total, seed))
finally:
    shutil.rmtree(work)
