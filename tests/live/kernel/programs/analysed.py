# SPDX-License-Identifier: MIT
"""A little of all that analyses of others look at: processes and threads, files of a disk, sockets, pages, timers.

Its threads end when there is a file DIRECTORY/read.

arguments: DIRECTORY
"""
import os
import socket
import subprocess
import sys
import threading
import time


is_read = threading.Event()


def born():
    """A parent that is gone before its birth is read is taken for a process (kernel/convert/processes.h)."""
    subprocess.run(["/bin/true"], check=True)
    is_read.wait()


def main():
    threads = [threading.Thread(target=born) for _ in range(4)]
    for t in threads:
        t.start()
    name = sys.argv[1] + "/file"
    with open(name, "wb") as f:
        for _ in range(20):
            f.write(bytes(65536))
            f.flush()
            os.fsync(f.fileno())
    with open(name, "rb") as f:
        while f.read(65536):
            pass
    a, b = socket.socketpair()
    for _ in range(50):
        a.send(bytes(100))
        b.recv(100)
    pages = bytearray(4 << 20)
    for i in range(0, len(pages), 4096):
        pages[i] = 1
    os.remove(name)
    while not os.path.exists(sys.argv[1] + "/read"):
        time.sleep(0.05)
    is_read.set()
    for t in threads:
        t.join()


main()
