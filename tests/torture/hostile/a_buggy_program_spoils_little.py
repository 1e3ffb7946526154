#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program with stray pointers spoils a few events of its user's, and no program; honest ones record on.

arguments: DUET BUGGY LIBDUET SECONDS [SEED [RATE]]      hours by hand: 3600; RATE: stray writes a second
"""
import os
import re
import signal
import subprocess
import sys
import time

from users import OTHER, USER, become, env_of, home, own_memory  # first: it finds tests/lib
import trial
from trial import PATIENCE, dice, duet, fail, paths, run_cases, skip, work

buggy, library = paths(2)
seconds = float(sys.argv[4])
seed = dice(*map(int, sys.argv[5:6])).randrange(1 << 30)
rate = sys.argv[6] if len(sys.argv) > 6 else "10"
MEMORY_MAX_KIB = 96 << 10
N_HONEST = 3
# Most of them, as a rule: a stray write may cost a chunk of them, or one that is not used.  So of a bad round there are more,
# and all together count.
SHARE_MIN = 0.5 if float(rate) <= 10 else 0.05
ROUNDS_MAX = 4
rounds = []  # (events written, and whole in the trace)
LINE = re.compile(rb'honest:sum \{ id = (\d+), i = (\d+), sum = (?:0x)?([0-9a-f]+), text = "honest (\d+) of (\d+)" \}')
os.chmod(work, 0o755)


def start(path, uid, *command):
    return trial.start(*command, env=env_of(path, library), preexec_fn=become(uid))


def events_of(trace, uid):
    """-> status, {id: numbers of its events that are whole}, how many of theirs are not"""
    out = os.path.join(work, "view-%d" % uid)
    with open(out, "wb") as f:
        p = subprocess.run([duet, "view", trace], stdout=f, stderr=subprocess.DEVNULL, timeout=PATIENCE + seconds,
                           preexec_fn=become(uid))
    numbers, spoilt = {}, 0
    with open(out, "rb") as f:
        for line in f:
            m = LINE.search(line)
            if m:
                n, i, _, text_i, text_n = map(int, m.groups())
                total = ((n << 32 | i) * 0x9e3779b97f4a7c15) & (1 << 64) - 1
                if (text_i, text_n, int(m.group(3))) == (i, n, total):
                    numbers.setdefault(n, []).append(i)
                    continue
            spoilt += b"honest:" in line
    return p.returncode, numbers, spoilt


def check_babeltrace(trace):
    p = subprocess.run(["babeltrace2", trace, "--output", "/dev/null"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=PATIENCE + seconds, preexec_fn=become(USER))
    if p.returncode < 0:
        fail("babeltrace2: signal %d" % -p.returncode)
    return str(p.returncode)


def end_of_collector(collector):
    err = collector.end(signal.SIGTERM)[2]
    if collector.returncode < 0:
        fail("the collector: signal %d: %s" % (-collector.returncode, err))


def check_honest(programs, trace):
    """-> a sentence"""
    status, numbers, spoilt = events_of(trace, USER)
    written, whole, longest = 0, 0, 0
    if status < 0:
        fail("duet view: signal %d" % -status)
    for n, p in enumerate(programs):
        out = p.communicate()[0]
        if p.returncode:
            fail("honest program %d ended with %d" % (n, p.returncode))
            continue
        count, most = map(int, out.split())
        own = numbers.get(n, [])
        written, whole, longest = written + count, whole + len(set(own)), max(longest, most)
        if own and max(own) >= count:
            fail("honest program %d recorded event %d of %d" % (n, max(own), count))
    rounds.append((written, whole))
    if spoilt > 0.05 * written:
        fail("of %d honest events %d are spoilt" % (written, spoilt))
    return ("%d honest events, %d of them whole in the trace (%.1f %%) and %d spoilt, the longest call %d us (view: "
            "%d)" % (written, whole, 100 * whole / max(written, 1), spoilt, longest, status))


def one_round():
    mine, others = home(work, "mine-%d" % len(rounds), USER), home(work, "others-%d" % len(rounds), OTHER)
    collector = start(mine, USER, duet, "collect", "-o", mine + "/trace", "-e", "honest:*")
    while not os.path.exists(mine + "/run/sock-default"):
        if collector.poll() is not None:
            skip("the collector cannot run here as another user: " + collector.stderr.read())
        time.sleep(0.01)
    neighbour = start(others, OTHER, duet, "record", "--no-kernel", "-o", others + "/trace", "-e", "honest:*", "--", buggy,
                      "honest", seconds, 0)
    honest = [start(mine, USER, buggy, "honest", seconds, n) for n in range(N_HONEST)]
    bug = start(mine, USER, buggy, "scribble", mine + "/run", seconds, seed + len(rounds), rate)
    most, end = 0, time.monotonic() + seconds + PATIENCE
    while any(p.poll() is None for p in honest + [bug]) and time.monotonic() < end:
        if collector.poll() is not None:
            return fail("the collector ended: status %d: %s" % (collector.returncode, collector.stderr.read()))
        most = max(most, own_memory(collector.pid))
        time.sleep(0.1)
    stray = bug.communicate()[0]
    if bug.returncode:
        fail("nothing was tried: the buggy program ended with %d" % bug.returncode)
    end_of_collector(collector)
    if most > MEMORY_MAX_KIB:
        fail("the collector took %d KiB" % most)
    sentence = check_honest(honest, mine + "/trace")
    babeltrace = check_babeltrace(mine + "/trace")
    out, said = neighbour.communicate()
    if neighbour.returncode or "none lost" not in said:
        fail("the other user's recording: status %d: %s" % (neighbour.returncode, said))
    else:
        count = int(out.split()[0])
        if events_of(others + "/trace", OTHER) != (0, {0: list(range(count))}, 0):
            fail("the other user's events are not %d" % count)
        sentence += "; the other user has all %d" % count
    print("%.0f s, %s stray writes: %s; the collector took %d KiB and ended with %s; babeltrace2: %s"
          % (seconds, stray.strip(), sentence, most, collector.returncode, babeltrace))


def honest_ones_record_on():
    for n in range(1, ROUNDS_MAX + 1):
        one_round()
        written, whole = map(sum, zip(*rounds)) if rounds else (0, 0)
        if len(rounds) < n or whole >= SHARE_MIN * written:
            return
    fail("in %d rounds, of %d honest events %d are in the trace" % (ROUNDS_MAX, written, whole))


run_cases(honest_ones_record_on)
