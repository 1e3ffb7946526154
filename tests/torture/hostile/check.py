#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hostile program of the same user may spoil its user's events, never the collector, never others'.

usage: check.py DUET HOSTILE LIBDUET SECONDS [SEED]      hours by hand: 3600
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

duet, hostile, library, seconds = sys.argv[1:4] + [float(sys.argv[4])]
seed = sys.argv[5] if len(sys.argv) > 5 else str(os.getpid())
MEMORY_MAX_KIB = 96 << 10
work = tempfile.mkdtemp(prefix="duet-hostile-")
os.chmod(work, 0o755)
failures = 0


def fail(text):
    global failures
    failures += 1
    print("not ok (seed %s): %s" % (seed, text))


def view(trace, uid, limit=120):
    """-> status, the honest program's numbers"""
    p = subprocess.run([duet, "view", trace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit,
                       preexec_fn=become(uid))
    return p.returncode, [int(n) for n in re.findall(rb'honest:step .*?\{ i = (\d+), text = "an honest event" \}', p.stdout)]


def main():
    mine, others = home(work, "mine", USER), home(work, "others", OTHER)
    # All that programs read from the board: channels, their modes and contexts, filters.
    collector = subprocess.Popen([duet, "collect", "-o", mine + "/trace", "-e", "honest:step", "-e",
                                  "honest:waits", "-f", "i >= 0 || $procname == \"x\"", "-e", "honest:large", "-f",
                                  'body ~ "x*" && i >= 0', "-c",
                                  "callstack,procname,uid,ip", "--channel",
                                  "other:events=honest:waits,mode=block,wait=5ms,size=4K,context=slot"], stderr=subprocess.PIPE,
                                 text=True, env=env_of(mine, library), preexec_fn=become(USER))
    started.append(collector)
    while not os.path.exists(mine + "/run/sock-default"):
        if collector.poll() is not None:
            print("skipped: the collector cannot run here as another user: " + collector.stderr.read())
            sys.exit(77)
        time.sleep(0.01)
    neighbour = subprocess.Popen([duet, "record", "--no-kernel", "-o", others + "/trace", "-e", "honest:*", "--",
                                  hostile, "honest", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=env_of(others, library), preexec_fn=become(OTHER))
    honest = subprocess.Popen([hostile, "honest", str(seconds)], stdout=subprocess.PIPE, text=True,
                              env=env_of(mine, library), preexec_fn=become(USER))
    attack = subprocess.Popen([hostile, "attack", mine + "/run", str(seconds), seed], env=env_of(mine, library),
                              preexec_fn=become(USER))
    started.extend([neighbour, honest, attack])
    late = []  # programs that join what is spoilt already
    most, end = 0, time.monotonic() + seconds + 20
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
    if honest.wait(timeout=30):
        # Its pool and page are its user's to spoil, and it writes where they say.
        fail("the honest program ended with %d" % honest.returncode)
    begin = time.monotonic()
    collector.send_signal(signal.SIGTERM)
    try:
        err = collector.communicate(timeout=30)[1]
    except subprocess.TimeoutExpired:
        fail("the collector does not end")
        return
    took = time.monotonic() - begin
    if collector.returncode < 0:
        fail("the collector: signal %d: %s" % (-collector.returncode, err))
    if most > MEMORY_MAX_KIB:
        fail("the collector took %d KiB" % most)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(mine + "/trace") for f in files)
    status, numbers = view(mine + "/trace", USER)
    if status < 0:
        fail("duet view: signal %d" % -status)
    out, said = neighbour.communicate(timeout=60)
    if neighbour.returncode or "none lost" not in said:
        fail("the other user's recording: status %d: %s" % (neighbour.returncode, said))
    other_status, other_numbers = view(others + "/trace", OTHER)
    if (other_status, other_numbers) != (0, list(range(int(out)))):
        fail("the other user's events: status %d, %d of %s" % (other_status, len(other_numbers), out))
    print("%.0f s: the collector took %d KiB of its own, ended in %.1f s with %d; %d MiB of trace, of which %d honest "
          "events can be read (view: %d); the other user has all %d (seed %s)"
          % (seconds, most, took, collector.returncode, size >> 20, len(numbers), status, len(other_numbers), seed))


started = []
try:
    main()
finally:
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failures else 0)
