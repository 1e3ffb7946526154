# SPDX-License-Identifier: MIT
"""Something of everything: processes, threads that wait for each other, files, TCP on loopback, timers, signals, faults.

usage: load.py DIRECTORY ROUNDS
"""
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time

directory, rounds = sys.argv[1], int(sys.argv[2])
beats = []
signal.signal(signal.SIGALRM, lambda *_: beats.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)

here, there = socket.create_server(("127.0.0.1", 0)), socket.socket()
there.connect(here.getsockname())
peer = here.accept()[0]


def answer():
    for _ in range(rounds):
        peer.sendall(peer.recv(64) or b"!")


answering = threading.Thread(target=answer)
answering.start()
for _ in range(rounds):
    there.sendall(b"ping")
    there.recv(64)
answering.join()

for i in range(rounds // 10):
    with open("%s/%d" % (directory, i), "wb") as f:
        f.write(b"x" * 65536)
        f.flush()
        os.fsync(f.fileno())
for _, _, files in os.walk("/usr/include"):
    rounds -= bool(files)
    if rounds < 0:
        break
with mmap.mmap(-1, 1 << 20) as m:
    for at in range(0, len(m), 4096):
        m[at] = 1
for _ in range(3):
    subprocess.run(["/bin/true"], check=True)
while not beats:
    time.sleep(0.01)
signal.setitimer(signal.ITIMER_REAL, 0)
