#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector whose disk is slow still lets programs in and answers, long before it has written what it holds.

usage: check.py DUET PROGRAM LIBDUET PACE

With PACE in the collector each write takes its time: the 16 MiB it holds would take 40 s.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

duet, program, library, pace = map(os.path.abspath, sys.argv[1:5])
BYTES_PER_S, HOLDS = 400000, 16 << 20
work = tempfile.mkdtemp(prefix="duet-slow-")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
failures = 0


def ok(condition, what, more=""):
    global failures
    if not condition:
        failures += 1
        print("not ok: %s %s" % (what, more))


def ask(**request):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(work + "/run/sock-default")
    s.send(json.dumps(request).encode())
    answer = json.loads(s.recv(65536))
    s.close()
    return answer


# Without a keeper: it is killed at the end, which would take longer than the test.
collector = subprocess.Popen([duet, "record", "--no-kernel", "-o", work + "/trace", "-b", "16M", "-e", "relay:*"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, LD_PRELOAD=pace, PACE_DIRECTORY=work + "/trace",
                                      PACE_BYTES_PER_S=str(BYTES_PER_S)))
try:
    while not os.path.exists(work + "/run/session-default"):
        if collector.poll() is not None:
            sys.exit(collector.stderr.read())
        time.sleep(0.01)
    while ask(verb="status", channel=0)["lost"] == 0:  # until it has more than it can hold
        subprocess.run([program, "200000", "0"], stdout=subprocess.DEVNULL, check=True)
    written = ask(verb="status")["app_bytes"]
    ok(written < HOLDS / 2, "it answers while it has most of it yet to write", "(it has written %d)" % written)
    joined = ask(verb="status")["programs"]
    subprocess.run([program, "10", "0"], stdout=subprocess.DEVNULL, check=True)
    now = ask(verb="status")
    ok(now["programs"] == joined + 1, "a program joins meanwhile", str(now))
    ok(now["lost_outside"] == 0, "and none was turned away", str(now))
    ok(now["app_bytes"] < HOLDS / 2, "long before the end", "(it has written %d)" % now["app_bytes"])
finally:
    collector.kill()
    collector.wait()
    shutil.rmtree(work, ignore_errors=True)
print("%s - a collector with a slow disk answers" % ("not ok" if failures else "ok"))
sys.exit(1 if failures else 0)
