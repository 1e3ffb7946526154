#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hostile program of the same user may spoil its user's events, never the collector, never others'.

arguments: DUET HOSTILE LIBDUET SECONDS [SEED]      hours by hand: 3600
"""
import os
import re
import signal
import subprocess
import sys
import time

from users import OTHER, USER, become, env_of, home, own_memory  # first: it finds tests/lib
from trial import PATIENCE, dice, duet, fail, paths, run_cases, skip, start, work

hostile, library = paths(2)
seconds = float(sys.argv[4])
seed = str(dice(*map(int, sys.argv[5:6])).randrange(1 << 30))
MEMORY_MAX_KIB = 96 << 10
os.chmod(work, 0o755)


def view_as(trace, uid, limit=PATIENCE):
    """-> status, the honest program's numbers"""
    p = subprocess.run([duet, "view", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit,
                       preexec_fn=become(uid))
    return p.returncode, [int(n) for n in re.findall(rb'honest:step .*?\{ i = (\d+), text = "an honest event" \}', p.stdout)]


def the_others_record_on():
    mine, others = home(work, "mine", USER), home(work, "others", OTHER)
    # All that programs read from the board: channels, their modes and contexts, filters.
    collector = start(duet, "collect", "-o", mine + "/trace", "-e", "honest:step", "-e", "honest:waits", "-f",
                      'i >= 0 || $procname == "x"', "-e", "honest:large", "-f", 'body ~ "x*" && i >= 0', "-c",
                      "callstack,procname,uid,ip", "--channel",
                      "other:events=honest:waits,mode=block,wait=5ms,size=4K,context=slot",
                      env=env_of(mine, library), preexec_fn=become(USER))
    while not os.path.exists(mine + "/run/sock-default"):
        if collector.poll() is not None:
            skip("the collector cannot run here as another user: " + collector.stderr.read())
        time.sleep(0.01)
    neighbour = start(duet, "record", "--no-kernel", "-o", others + "/trace", "-e", "honest:*", "--", hostile, "honest",
                      seconds, env=env_of(others, library), preexec_fn=become(OTHER))
    honest = start(hostile, "honest", seconds, env=env_of(mine, library), preexec_fn=become(USER))
    attack = start(hostile, "attack", mine + "/run", seconds, seed, env=env_of(mine, library), preexec_fn=become(USER))
    late = []  # programs that attach to memory that is damaged already
    most, end = 0, time.monotonic() + seconds + PATIENCE
    while attack.poll() is None and time.monotonic() < end:
        if collector.poll() is not None:
            fail("the collector ended: status %d: %s" % (collector.returncode, collector.stderr.read()))
            return
        most = max(most, own_memory(collector.pid))
        late.append(subprocess.run([hostile, "honest", "0.02"], stdout=subprocess.DEVNULL, env=env_of(mine, library),
                                   preexec_fn=become(USER)).returncode)
        time.sleep(0.05)
    if any(late):
        fail("of %d programs that came later some ended with %s" % (len(late), set(late)))
    if attack.poll():
        print("  (an attacker ended with %d)" % attack.returncode)
    if honest.wait():
        # Its user may damage its pool and page, and it writes where they point.
        fail("the honest program ended with %d" % honest.returncode)
    begin = time.monotonic()
    err = collector.end(signal.SIGTERM)[2]
    took = time.monotonic() - begin
    if collector.returncode < 0:
        fail("the collector: signal %d: %s" % (-collector.returncode, err))
    if most > MEMORY_MAX_KIB:
        fail("the collector took %d KiB" % most)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(mine + "/trace") for f in files)
    status, numbers = view_as(mine + "/trace", USER)
    if status < 0:
        fail("duet view: signal %d" % -status)
    out, said = neighbour.communicate()
    if neighbour.returncode or "none lost" not in said:
        fail("the other user's recording: status %d: %s" % (neighbour.returncode, said))
    other_status, other_numbers = view_as(others + "/trace", OTHER)
    if (other_status, other_numbers) != (0, list(range(int(out)))):
        fail("the other user's events: status %d, %d of %s" % (other_status, len(other_numbers), out))
    print("%.0f s: the collector took %d KiB of its own, ended in %.1f s with %d; %d MiB of trace, %d of them honest "
          "events can be read (view: %d); the other user has all %d"
          % (seconds, most, took, collector.returncode, size >> 20, len(numbers), status, len(other_numbers)))


run_cases(the_others_record_on)
