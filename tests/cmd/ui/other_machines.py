#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Beyond loopback `duet ui` needs TLS and a password: nothing else is answered, and guesses are limited.

    other_machines.py DUET
"""
import hashlib
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import served

duet = sys.argv[1]
failures = []


def expect(what, holds):
    if not holds:
        failures.append(what)


def refused(words, *options):
    r = subprocess.run([duet, "ui", "--no-browser", *options], capture_output=True, text=True, timeout=60)
    expect("%s: %d %r" % (options, r.returncode, r.stderr), r.returncode == 2 and words in r.stderr and not r.stdout)


class Open:
    def __init__(self, *options):
        self.process = subprocess.Popen([duet, "ui", "--no-browser", "--listen", "0.0.0.0", *options],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.fullmatch(r"https://[^/]*:(\d+)/\n", line)[1])
        self.origin = "https://127.0.0.1:%d" % self.port

    def connect(self):
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        return trusting.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 30))

    def ask(self, path, method="GET", body=b"", cookie=None, host=None, origin=None):
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: " + (host or "127.0.0.1:%d" % self.port)]
        lines += ["Cookie: " + cookie] if cookie else []
        lines += ["Origin: " + origin] if origin else []
        lines += ["Content-Length: %d" % len(body)] if body else []
        with self.connect() as s:
            s.sendall("\r\n".join(lines + ["", ""]).encode() + body)
            status, headers, body = served.receive(s)
        lacking = [n for n in served.lacking(headers) if n != "referrer-policy"]
        expect("%s %s lacks %s" % (method, path, lacking), not lacking)
        return status, headers, body

    def login(self, body, **how):
        return self.ask("/login", "POST", body, **{"origin": self.origin, **how})

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        expect("SIGTERM", self.process.wait(60) == 0)
        self.process.stdout.close()


def main():
    with tempfile.TemporaryDirectory() as d:
        password, weak, shared = d + "/password", d + "/weak", d + "/shared"
        for path, text, mode in ((password, "correct horse & 100% b\u00e4r\n", 0o600), (weak, "short\n", 0o600),
                                 (shared, "long enough\n", 0o640)):
            pathlib.Path(path).write_text(text)
            os.chmod(path, mode)
        refused("--password-file is needed", "--listen", "0.0.0.0")
        refused("--password-file is needed", "--listen", "::")
        refused("must have 8", "--listen", "0.0.0.0", "--password-file", weak)
        refused("others may read", "--listen", "0.0.0.0", "--password-file", shared)
        refused("cannot read", "--listen", "0.0.0.0", "--password-file", d + "/none")
        refused("go together", "--listen", "0.0.0.0", "--password-file", password, "--tls-cert", password)
        refused("no certificate", "--listen", "0.0.0.0", "--password-file", password, "--tls-cert", password,
                "--tls-key", password)
        refused("are for --listen", "--password-file", password)
        refused("--listen no such name", "--listen", "no such name", "--password-file", password)

        s = Open("--password-file", password)
        fingerprint = s.process.stdout.readline().split()[-1].replace(":", "").lower()
        with s.connect() as c:
            expect("the fingerprint is the certificate's",
                   hashlib.sha256(c.getpeercert(True)).hexdigest() == fingerprint)
        with socket.create_connection(("127.0.0.1", s.port), 30) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            expect("plain HTTP is answered", not plain.recv(100).startswith(b"HTTP"))
        status, headers, body = s.ask("/")
        expect("the form: %d %s" % (status, headers), status == 403 and b'action="/login"' in body and
               b"<script" not in body and "set-cookie" not in headers)
        expect("a token", s.ask("/?token=" + "0" * 32)[0] == 403)
        for path in "/main.js", "/api/recording", "/api/sessions":
            expect(path, s.ask(path)[0] == 403)
        right = b"password=correct+horse+%26+100%25+b%C3%A4r"
        expect("other origin", s.login(right, origin="https://evil.example")[0] == 403)
        expect("no origin", s.login(right, origin=None)[0] == 403)
        expect("plain origin", s.login(right, origin="http://127.0.0.1:%d" % s.port)[0] == 403)
        expect("other host", s.login(right, host="evil.example", origin="https://evil.example")[0] == 403)
        expect("long", s.login(right + b"&" + b"x" * 5000)[0] == 403)
        status, headers, _ = s.login(right)
        expect("the right one: %d" % status, status == 303 and "Secure" in headers["set-cookie"])
        cookie = headers["set-cookie"].split(";")[0]
        expect("with the cookie", s.ask("/api/ping", cookie=cookie)[0] == 200 and s.ask("/", cookie=cookie)[0] == 200)
        name = "%s:%d" % (socket.gethostname(), s.port)
        expect("the machine's name", s.ask("/api/ping", cookie=cookie, host=name)[0] == 200)
        for host in "evil.example", "127.0.0.2", "0.0.0.0":
            expect("Host " + host, s.ask("/api/ping", cookie=cookie, host=host)[0] == 403)
        guesses = [s.login(g)[0] for g in (b"password=", b"password=correct", b"password=" + b"x" * 300, right[:-1],
                                           right + b"x", b"x=y", b"password=%00" + right[9:], b"p")]
        expect("guesses %s" % guesses, set(guesses) == {403})
        while 429 not in guesses and len(guesses) < 1000:
            guesses.append(s.login(b"password=x")[0])
        expect("guesses %s" % guesses, guesses[-1] == 429)
        expect("the page goes on", s.ask("/api/ping", cookie=cookie)[0] == 200)
        crowd = [socket.create_connection(("127.0.0.1", s.port), 30) for _ in range(300)]  # they say nothing
        for c in crowd[::2]:
            try:
                c.send(b"\x16\x03\x01\x02")  # or half a word of TLS
            except OSError:
                pass
        with s.connect():
            expect("beside silent ones", s.ask("/api/ping", cookie=cookie)[0] == 200)
        for c in crowd:
            c.close()
        s.end()
    print("\n".join(failures))
    sys.exit(bool(failures))


main()
