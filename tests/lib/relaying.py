# SPDX-License-Identifier: MIT
"""A relay on loopback, and a link to it that is cut or slow."""
import os
import re
import select
import socket
import threading
import time

from ports import free_port
from trial import duet, is_, ok, start

KEY = ["--psk", "key"]


def make_key(name):
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(os.urandom(32).hex() + "\n")


def start_sending(port, *args, keys=KEY, to="127.0.0.1", **more):
    """-> a `duet record` that sends its recording to a relay"""
    return start(duet, "record", "--no-kernel", "--to", "%s:%d" % (to, port), *keys, *args, **more)


class Relay:
    """A relay on a port of its own, which it keeps when it is started again."""

    def __init__(self, output, keys=KEY, before=(), port=0, more=()):
        self.args = [output, keys, before, more]
        self.output, self.port = output, port or free_port()
        self.begin()

    def begin(self):
        output, keys, before, more = self.args
        self.p = start(*before, duet, "relay", "-o", output, "-l", "127.0.0.1:%d" % self.port, *keys, *more)
        said = self.p.stdout.readline()
        m = re.match(r"listens on port (\d+)", said)
        ok(m, "the relay listens", said + (self.p.stderr.read() if not m else ""))
        self.port = int(m.group(1))

    def kill(self):
        self.p.kill()
        self.p.wait()

    def stop(self):
        self.p.terminate()
        is_(self.p.wait(), 0, "the relay ends")

    def recordings(self):
        """By time: of the names SESSION-DATE-TIME, the session perhaps record-PID."""
        return sorted((os.path.join(self.output, h, r) for h in os.listdir(self.output)
                       for r in os.listdir(os.path.join(self.output, h)) if r[0] != "."),  # hidden: being removed
                      key=lambda r: (r.split("-")[-2:], int(re.findall(r"record-(\d+)-", r + "record-0-")[0])))

    def only(self):
        r = self.recordings()
        is_(len(r), 1, "one recording on the relay")
        return r[0]


class Link:
    """A TCP proxy: cuts each connection after so many bytes, or lets so many bytes a second through."""

    def __init__(self, port, cut=None, rate=None):
        self.target, self.cut, self.rate, self.n_cuts = port, cut, rate, 0
        self.s = socket.create_server(("127.0.0.1", 0))
        self.port = self.s.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                a = self.s.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(a,), daemon=True).start()

    def pass_on(self, a):
        try:
            b = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            a.close()
            return
        left = self.cut() if self.cut else None
        to = {a: b, b: a}
        try:
            while True:
                for s in select.select([a, b], [], [])[0]:
                    piece = s.recv(4096 if self.rate else 65536)
                    if not piece:
                        return
                    if s is a and left is not None:
                        left -= len(piece)
                        if left <= 0:
                            to[s].sendall(piece[:max(0, len(piece) + left)])
                            self.n_cuts += 1
                            return
                    to[s].sendall(piece)
                    if s is a and self.rate:
                        time.sleep(len(piece) / self.rate)
        except OSError:
            pass
        finally:
            for s in (a, b):
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                s.close()

    def close(self):
        self.s.shutdown(socket.SHUT_RDWR)
        self.s.close()
