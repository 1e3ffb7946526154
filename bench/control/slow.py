#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure the cost and the losses of a traced program when the collector's disk or its link is slow.

usage: slow.py DUET PROGRAM LIBDUET PACE      SECONDS=5 RATE=200000 (events a second) DISK=1000000 LINK=64000 (bytes a second)

The slow disk is a library in the collector that delays each write (pace.c), the slow link a proxy on loopback.
Every event is recorded or counted as lost, or this fails.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

duet, program, library, pace = map(os.path.abspath, sys.argv[1:5])
SECONDS, RATE = os.environ.get("SECONDS", "5"), os.environ.get("RATE", "200000")
DISK, LINK = os.environ.get("DISK", "1000000"), int(os.environ.get("LINK", "64000"))
BUFFER, SPOOL, WARM = "4M", "4M", str((4 << 20) // 14 * 5 // 4)
work = tempfile.mkdtemp(prefix="duet-slow-", dir="/dev/shm")
os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)


def slow_link(port):
    """Return the port of a proxy that forwards LINK bytes a second."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pass_on(a, b, rate):
        try:
            while True:
                data = a.recv(4096)
                if not data:
                    break
                b.sendall(data)
                if rate:
                    time.sleep(len(data) / rate)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve():
        while True:
            a, _ = listener.accept()
            a.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
            b = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=pass_on, args=(a, b, LINK), daemon=True).start()
            threading.Thread(target=pass_on, args=(b, a, 0), daemon=True).start()
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def start_relay():
    with open(work + "/key", "w") as f:
        f.write(os.urandom(32).hex())
    os.chmod(work + "/key", 0o600)
    relay = subprocess.Popen([duet, "relay", "-o", work + "/relay", "-l", "127.0.0.1:0", "--psk", work + "/key"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return relay, int(re.search(r"port (\d+)", relay.stdout.readline()).group(1))


def one(name, options, env):
    trace = work + "/" + name.replace(" ", "-")
    command = [duet, "collect", "-o", trace, "-b", BUFFER, "-e", "control:*"] + options
    c = subprocess.Popen(command, env=dict(os.environ, PACE_DIRECTORY=trace, PACE_BYTES_PER_S=DISK, **env),
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not os.path.exists(work + "/run/session-default"):
        if c.poll() is not None:
            sys.exit(c.stderr.read())
        time.sleep(0.01)
    p = subprocess.Popen([program, "cost", SECONDS, RATE, WARM], stdout=subprocess.PIPE, text=True)
    status = []
    while p.poll() is None:
        begin = time.monotonic()
        subprocess.run([duet, "status"], stdout=subprocess.DEVNULL, check=True)
        status.append((time.monotonic() - begin) * 1e3)
        time.sleep(0.02)
    made, p50, p99, p999, worst = map(int, p.communicate()[0].split())
    begin = time.monotonic()
    c.terminate()
    said = c.communicate()[1]
    took = time.monotonic() - begin
    recorded = int((re.search(r"control:step (\d+)", said) or [0, 0])[1])
    lost = int((re.search(r"(\d+) LOST", said) or [0, 0])[1])
    if not options and recorded + lost != made:
        print(said)
        sys.exit("%s: %d events, %d recorded, %d lost" % (name, made, recorded, lost))
    print("%-22s %8d %9d %9d %6d %6d %6d %8d %8.1f %7.1f" % (name, made, recorded, lost, p50, p99, p999, worst,
                                                          max(status), took), flush=True)


try:
    relay, port = start_relay()
    load = os.getloadavg()[0]
    print("# load %.1f before; %s s at %s events a second; %s of buffers; disk %s B/s, link %d B/s, spool %s"
          % (load, SECONDS, RATE, BUFFER, DISK, LINK, SPOOL))
    print("%-22s %8s %9s %9s %6s %6s %6s %8s %8s %7s" % ("", "made", "recorded", "lost", "p50 ns", "p99", "p99.9", "max",
                                                       "ask ms", "end s"))
    to = ["--psk", work + "/key", "--spool", SPOOL, "--flush-timeout", "2s", "--to"]
    for _ in range(2):
        one("fast disk", [], {})
        one("slow disk", [], {"LD_PRELOAD": pace})
        one("fast link", to + ["127.0.0.1:%d" % port], {})
        one("slow link", to + ["127.0.0.1:%d" % slow_link(port)], {})
        one("slow link zstd", to + ["127.0.0.1:%d" % slow_link(port), "--compress", "zstd"], {})
        for name in os.listdir(work):
            if "-" in name:
                shutil.rmtree(work + "/" + name)
finally:
    relay.terminate()
    relay.wait()
    shutil.rmtree(work)
