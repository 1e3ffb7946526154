# SPDX-License-Identifier: MIT
"""A `duet ui` that serves, and clients of it that may send anything.

    with served.Server(duet, [recording]) as s:
        status, headers, body = s.get("/api/recording")
        status, headers, body = s.raw(b"GET / HTTP/1.1\\r\\n...")
"""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile

# Headers of every answer, also of a refusal.
ALWAYS = {"x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "no-referrer",
          "cross-origin-resource-policy": "same-origin", "cross-origin-opener-policy": "same-origin",
          "cache-control": "no-store"}
POLICY = "default-src 'self'"
WAIT_S = 30


class Server:
    def __init__(self, duet, recordings=(), *options, env=None):
        self.duet, self.arguments = duet, [*options, *recordings]
        self.env = dict(os.environ, **(env or {}))
        for name in "SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY":
            self.env.pop(name, None)

    def __enter__(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([self.duet, "ui", "--no-browser", *self.arguments], stdout=subprocess.PIPE,
                                        stderr=self.errors, env=self.env, text=True)
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.address)
        if not found:
            self.process.kill()
            raise AssertionError("it does not start: %r %s" % (self.address, self.messages()))
        self.port, self.token = int(found[1]), found[2]
        status, headers, _ = self.get("/?token=" + self.token, cookie=None)
        assert status == 303 and headers["location"] == "/", (status, headers)
        self.cookie = headers["set-cookie"].split(";")[0]
        self.set_cookie = headers["set-cookie"]
        return self

    def messages(self):
        self.errors.seek(0)
        return self.errors.read()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.status = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("Ctrl-C does not end it")
        finally:
            self.process.stdout.close()
            self.errors.seek(0)

    def connect(self, family=socket.AF_INET):
        s = socket.socket(family, socket.SOCK_STREAM)
        s.settimeout(WAIT_S)
        s.connect(("127.0.0.1" if family == socket.AF_INET else "::1", self.port))
        return s

    def request(self, path, method="GET", cookie="", host=None, fields=(), body=b""):
        """The bytes of a request; cookie "": the right one, None: none."""
        lines = ["%s %s HTTP/1.1" % (method, path)]
        if host != "":
            lines.append("Host: %s" % (host or "127.0.0.1:%d" % self.port))
        if cookie is not None:
            lines.append("Cookie: %s" % (cookie or self.cookie))
        if body:
            lines.append("Content-Length: %d" % len(body))
        return ("\r\n".join(lines + list(fields)) + "\r\n\r\n").encode("latin-1") + body

    def get(self, path, **how):
        s = self.connect()
        with s:
            s.sendall(self.request(path, **how))
            return receive(s, how.get("method") == "HEAD")

    def post(self, path, value, **how):
        fields = ["Origin: http://127.0.0.1:%d" % self.port, "Content-Type: application/json"]
        return self.get(path, method="POST", body=json.dumps(value).encode(), fields=fields, **how)

    def json(self, path):
        status, _, body = self.get(path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def raw(self, data, family=socket.AF_INET):
        """-> the answer to these bytes; None if the connection ends without one"""
        with self.connect(family) as s:
            try:
                s.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return receive(s)


def receive(s, is_head=False, rest=b""):
    """-> status, headers with names in lower case, body; None at the end.  @rest: bytes read before."""
    data = rest
    while b"\r\n\r\n" not in data:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            assert not data, data
            return None
        data += more
    head, data = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    headers = dict((name.lower(), value) for name, value in (line.split(": ", 1) for line in lines[1:]))
    size = 0 if is_head or lines[0].split()[1] == "304" else int(headers.get("content-length", 0))
    while len(data) < size:
        more = s.recv(65536)
        assert more, "the body ends early"
        data += more
    receive.rest = data[size:]
    return int(lines[0].split()[1]), headers, data[:size]


def lacking(headers):
    """-> the headers of ALWAYS that an answer lacks"""
    return [n for n, v in ALWAYS.items() if headers.get(n) != v] + \
        ([] if headers.get("content-security-policy", "").startswith(POLICY) else ["content-security-policy"])
