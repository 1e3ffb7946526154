#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A thousand connections that are slow, or never ask, delay no picture; nor do a thousand of a page that are not read.

    slow_clients.py DUET
"""
import json
import os
import pathlib
import resource
import socket
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "browser")]
import made
import served

N = 1000
OPEN_MOST = 128 + 256 + 40  # as ui/server/links.h, and the server's other files
failures = []


def expect(what, holds):
    if not holds:
        failures.append(what)


class Crowd:
    """N connections that send the first part of a request at once and the rest never, or slowly."""

    def __init__(self, server, begin):
        self.sockets = []
        for i in range(N):
            s = server.connect()
            self.sockets.append(s)
            self.send(s, begin(i))

    @staticmethod
    def send(s, data):
        try:
            s.send(data)
        except OSError:
            pass  # it was closed

    def trickle(self):
        for s in self.sockets:
            self.send(s, b"x")

    def close(self):
        for s in self.sockets:
            s.close()


def descriptors(server):
    return len(os.listdir("/proc/%d/fd" % server.process.pid))


def pictures_are_answered(s, what, query):
    """New connections, and one that is kept."""
    with s.connect() as kept:
        for _ in range(20):
            status, _, body = s.get(query)
            expect("%s: %d" % (what, status), status == 200 and "rows" in json.loads(body))
            kept.sendall(s.request(query))
            expect("%s: kept" % what, served.receive(kept)[0] == 200)


def against(s, query, what, begin):
    with_page = s.connect()  # the page was open before
    with_page.sendall(s.request(query))
    expect(what + ": before", served.receive(with_page)[0] == 200)
    crowd = Crowd(s, begin)
    pictures_are_answered(s, what, query)
    crowd.trickle()
    pictures_are_answered(s, what, query)
    expect("%s: %d descriptors" % (what, descriptors(s)), descriptors(s) < OPEN_MOST)
    if what not in ("not read", "half a body"):  # those come from pages too: the idlest of all is closed
        with_page.sendall(s.request(query))
        expect(what + ": the page's connection", served.receive(with_page)[0] == 200)
    crowd.close()
    with_page.close()


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    with tempfile.TemporaryDirectory() as temporary:
        recording = os.path.join(temporary, "web")
        made.web(recording)
        with served.Server(sys.argv[1], [recording]) as s:
            while not s.json("/api/recording")["done"]:
                pass
            rows = [r["id"] for r in s.json("/api/recording")["rows"]][:10]
            query = "/api/picture?rows=%s&from=0&to=10000000&width=1000" % ",".join(map(str, rows))
            against(s, query, "silent", lambda i: b"")
            against(s, query, "half a head", lambda i: b"GET /api/picture HTTP/1.1\r\nHost: localhost\r\nX: y")
            against(s, query, "half a line", lambda i: b"GET /" + b"a" * (i % 2000))
            against(s, query, "without a cookie", lambda i: s.request("/", cookie=None))
            against(s, query, "half a body", lambda i: s.request(
                "/api/session", method="POST", fields=["Origin: http://127.0.0.1:%d" % s.port, "Content-Length: 1000"]))
            against(s, query, "not read", lambda i: s.request("/uplot.js") * 3)
        expect("it ends with %s: %s" % (s.status, s.messages()), not s.status and not s.messages())
    print("\n".join(failures[:20]))
    sys.exit(bool(failures))


main()
