#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program with stray pointers spoils a few events of its user's, and no program; honest ones record on.

usage: mild.py DUET BUGGY LIBDUET SECONDS [SEED [RATE]]      hours by hand: 3600; RATE: stray writes a second
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from users import OTHER, USER, become, env_of, home, own_memory  # noqa: E402

duet, buggy, library, seconds = sys.argv[1:4] + [float(sys.argv[4])]
seed = sys.argv[5] if len(sys.argv) > 5 else str(os.getpid())
rate = sys.argv[6] if len(sys.argv) > 6 else "10"
MEMORY_MAX_KIB = 96 << 10
N_HONEST = 3
SHARE_MIN = 0.5 if float(rate) <= 10 else 0.05  # most of them, as a rule: a stray write may cost a chunk of them
work = tempfile.mkdtemp(prefix="duet-mild-")
os.chmod(work, 0o755)
failures, started = 0, []
LINE = re.compile(rb'honest:sum \{ id = (\d+), i = (\d+), sum = (?:0x)?([0-9a-f]+), text = "honest (\d+) of (\d+)" \}')


def fail(text):
    global failures
    failures += 1
    print("not ok (seed %s): %s" % (seed, text))


def start(command, path, uid, **more):
    p = subprocess.Popen(command, env=env_of(path, library), preexec_fn=become(uid), text=True, **more)
    started.append(p)
    return p


def events_of(trace, uid):
    """-> status, {id: numbers of its events that are whole}, how many of theirs are not"""
    out = os.path.join(work, "view-%d" % uid)
    with open(out, "wb") as f:
        p = subprocess.run([duet, "view", trace], stdout=f, stderr=subprocess.DEVNULL, timeout=120 + seconds,
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
    if not shutil.which("babeltrace2"):
        return "not there"
    p = subprocess.run(["babeltrace2", trace, "--output", "/dev/null"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=120 + seconds, preexec_fn=become(USER))
    if p.returncode < 0:
        fail("babeltrace2: signal %d" % -p.returncode)
    return str(p.returncode)


def end_of_collector(collector):
    collector.send_signal(signal.SIGTERM)
    try:
        err = collector.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        return fail("the collector does not end")
    if collector.returncode < 0:
        fail("the collector: signal %d: %s" % (-collector.returncode, err))


def check_honest(programs, trace):
    """-> a sentence"""
    status, numbers, spoilt = events_of(trace, USER)
    written, whole, longest = 0, 0, 0
    if status < 0:
        fail("duet view: signal %d" % -status)
    for n, p in enumerate(programs):
        out = p.communicate(timeout=60)[0]
        if p.returncode:
            fail("honest program %d ended with %d" % (n, p.returncode))
            continue
        count, most = map(int, out.split())
        own = numbers.get(n, [])
        written, whole, longest = written + count, whole + len(set(own)), max(longest, most)
        if own and max(own) >= count:
            fail("honest program %d recorded event %d of %d" % (n, max(own), count))
    if whole < SHARE_MIN * written:
        fail("of %d honest events %d are in the trace" % (written, whole))
    if spoilt > 0.05 * written:
        fail("of %d honest events %d are spoilt" % (written, spoilt))
    return ("%d honest events, of which %d are whole in the trace (%.1f %%) and %d spoilt, the longest call %d us (view: "
            "%d)" % (written, whole, 100 * whole / max(written, 1), spoilt, longest, status))


def main():
    mine, others = home(work, "mine", USER), home(work, "others", OTHER)
    collector = start([duet, "collect", "-o", mine + "/trace", "-e", "honest:*"], mine, USER, stderr=subprocess.PIPE)
    while not os.path.exists(mine + "/run/sock-default"):
        if collector.poll() is not None:
            print("skipped: the collector cannot run here as another user: " + collector.stderr.read())
            sys.exit(77)
        time.sleep(0.01)
    neighbour = start([duet, "record", "--no-kernel", "-o", others + "/trace", "-e", "honest:*", "--", buggy, "honest",
                       str(seconds), "0"], others, OTHER, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    honest = [start([buggy, "honest", str(seconds), str(n)], mine, USER, stdout=subprocess.PIPE)
              for n in range(N_HONEST)]
    bug = start([buggy, "scribble", mine + "/run", str(seconds), seed, rate], mine, USER, stdout=subprocess.PIPE)
    most, end = 0, time.monotonic() + seconds + 60
    while any(p.poll() is None for p in honest + [bug]) and time.monotonic() < end:
        if collector.poll() is not None:
            return fail("the collector ended: status %d: %s" % (collector.returncode, collector.stderr.read()))
        most = max(most, own_memory(collector.pid))
        time.sleep(0.1)
    stray = bug.communicate(timeout=30)[0]
    if bug.returncode:
        fail("nothing was tried: the buggy program ended with %d" % bug.returncode)
    end_of_collector(collector)
    if most > MEMORY_MAX_KIB:
        fail("the collector took %d KiB" % most)
    sentence = check_honest(honest, mine + "/trace")
    babeltrace = check_babeltrace(mine + "/trace")
    out, said = neighbour.communicate(timeout=60)
    if neighbour.returncode or "none lost" not in said:
        fail("the other user's recording: status %d: %s" % (neighbour.returncode, said))
    else:
        count = int(out.split()[0])
        if events_of(others + "/trace", OTHER) != (0, {0: list(range(count))}, 0):
            fail("the other user's events are not %d" % count)
        sentence += "; the other user has all %d" % count
    print("%.0f s, %s stray writes: %s; the collector took %d KiB and ended with %s; babeltrace2: %s (seed %s)"
          % (seconds, stray.strip(), sentence, most, collector.returncode, babeltrace, seed))


try:
    main()
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
