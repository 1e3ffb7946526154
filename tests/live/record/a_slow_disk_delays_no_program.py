#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A collector with a slow disk still accepts programs and answers, long before it has written its backlog.

arguments: DUET PROGRAM LIBDUET PACE

With PACE in the collector each write takes its time: the 64 MiB it holds would take minutes.
"""
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import PATIENCE, begins, duet, is_, ok, paths, run, run_cases, runtime, start, work  # noqa: E402

program, library, pace = paths(3, library=False)
os.environ["DUET_LIBRARY"] = library
BYTES_PER_S, HOLDS = 400000, 64 << 20


def ask(**request):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(PATIENCE)
    s.connect(runtime + "/sock-default")
    s.send(json.dumps(request).encode())
    answer = json.loads(s.recv(65536))
    s.close()
    return answer


def run_program(n):
    is_(run(program, n, 0)[0], 0, "a program ends as ever")


def a_collector_with_a_slow_disk_answers():
    # Without a keeper: it is killed at the end, which would take longer than the test.
    collector = begins(start(duet, "record", "--no-kernel", "-o", work + "/trace", "-b", "64M", "-e", "relay:*",
                             env=dict(os.environ, LD_PRELOAD=pace, PACE_DIRECTORY=work + "/trace",
                                      PACE_BYTES_PER_S=str(BYTES_PER_S))))
    while ask(verb="status", channel=0)["lost"] == 0:  # until it has more than it can hold
        run_program(200000)
    written = ask(verb="status")["app_bytes"]
    ok(written < HOLDS / 2, "it answers while it has most of it yet to write", "(it has written %d)" % written)
    joined = ask(verb="status")["programs"]
    run_program(10)
    now = ask(verb="status")
    ok(now["programs"] == joined + 1, "a program joins meanwhile", str(now))
    ok(now["lost_outside"] == 0, "and none was turned away", str(now))
    ok(now["app_bytes"] < HOLDS / 2, "long before the end", "(it has written %d)" % now["app_bytes"])
    collector.end(signal.SIGKILL)


run_cases(a_collector_with_a_slow_disk_answers)
