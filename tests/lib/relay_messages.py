# SPDX-License-Identifier: MIT
"""The messages between a sender and a relay (docs/formats/relay.md), and a connection that speaks them."""
import socket
import struct

HELLO, WELCOME, FILE, SIZE, DATA, TIME, TIMED, END, ENDED, TROUBLE, REFUSED, WATCH, LISTED = range(1, 14)
UNWANTED = (1 << 64) - 1


def message(kind, content=b"", size=None):
    return struct.pack("<IB3x", 8 + len(content) if size is None else size, kind) + content


def text(s):
    s = s if isinstance(s, bytes) else s.encode()
    return bytes([len(s)]) + s


def hello(host="host", session="s", date="20260101-000000", ident=b"\x11" * 16):
    return message(HELLO, b"duet\r\n\x1a\n" + struct.pack("<I", 2) + ident + text(host) + text(session) + text(date))


def welcome(path="host/s-1", version=2):
    return message(WELCOME, struct.pack("<I", version) + text(path))


def file(number, name):
    return message(FILE, struct.pack("<I", number) + text(name))


def data(number, offset, content):
    return message(DATA, struct.pack("<IIQ", number, 0, offset) + content)


def size(number, n):
    return message(SIZE, struct.pack("<IIQ", number, 0, n))


class Peer:
    """One connection, read message by message."""

    def __init__(self, s):
        self.s, self.waiting = s, b""

    def send(self, *messages):
        self.s.sendall(b"".join(messages))

    def read(self):
        """-> (kind, content); None at the end"""
        while True:
            if len(self.waiting) >= 8:
                n = struct.unpack("<I", self.waiting[:4])[0]
                if len(self.waiting) >= n >= 8:
                    one, self.waiting = self.waiting[:n], self.waiting[n:]
                    return one[4], one[8:]
            try:
                piece = self.s.recv(65536)
            except OSError:
                return None
            if not piece:
                return None
            self.waiting += piece

    def close(self):
        self.s.close()


def connect(port, timeout=120):
    return Peer(socket.create_connection(("127.0.0.1", port), timeout=timeout))
