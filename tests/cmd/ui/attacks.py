#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet ui` answers its user's browser alone, whatever is sent to it, and every answer has the same headers.

    attacks.py DUET
"""
import json
import os
import pathlib
import socket
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "browser")]
import made
import served

failures = []


def check(what, answer, *statuses):
    if answer is None:
        failures.append("%s: no answer" % what)
        return None
    status, headers, body = answer
    if status not in statuses:
        failures.append("%s: %d %r instead of %s" % (what, status, body[:80], statuses))
    if served.lacking(headers):
        failures.append("%s: the answer %d lacks %s" % (what, status, served.lacking(headers)))
    if status >= 400 and headers.get("content-type", "").startswith("application/json"):
        if not json.loads(body or b"{}").get("error"):
            failures.append("%s: no error in %r" % (what, body))
    return answer


def the_token_is_the_way_in(s):
    if "SameSite=Strict" not in s.set_cookie or "HttpOnly" not in s.set_cookie or "Path=/" not in s.set_cookie:
        failures.append("cookie: %s" % s.set_cookie)
    if str(s.port) not in s.cookie or s.token in s.cookie:
        failures.append("cookie without port, or with the token: %s" % s.cookie)
    name, value = s.cookie.split("=")
    for path in "/", "/main.js", "/api/recording", "/api/picture", "/nothing", "/uplot.js":
        check("no cookie %s" % path, s.get(path, cookie=None), 403)
    for cookie in (name + "=", name + "=" + "0" * 32, name + "=" + value[:-1], name + "=" + value + "0", "x=" + value,
                   name + "=" + s.token, name + "=" + value.upper() if value.upper() != value else "y=1",
                   name + '="' + value[:31] + '"'):
        check("cookie %s" % cookie, s.get("/api/recording", cookie=cookie), 403)
    for token in "", "0" * 32, s.token[:-1], s.token + "0", s.token.upper() + "x", "%00" + s.token:
        check("token %s" % token, s.get("/?token=" + token, cookie=None), 403)
    for site in "cross-site", "same-site":  # a link on another page: no redirect, which would lack the cookie
        answer = check("token from a %s" % site, s.get("/?token=" + s.token, cookie=None, fields=["Sec-Fetch-Site: " + site]),
                       200)
        if "location" in answer[1] or s.cookie not in answer[1]["set-cookie"] or b'content="0;url=/"' not in answer[2]:
            failures.append("token from a %s: %s" % (site, answer))
    check("token elsewhere", s.get("/api/recording?token=" + s.token, cookie=None), 403)
    check("token posted", s.get("/?token=" + s.token, cookie=None, method="POST",
                                fields=["Origin: http://127.0.0.1:%d" % s.port], body=b"{}"), 403, 405)


def names_of_others_are_refused(s):
    here = "127.0.0.1:%d" % s.port
    for host in ("evil.example", "evil.example:%d" % s.port, "localhost.evil.example", "127.0.0.1.evil.example",
                 "127.0.0.1@evil.example", "localhost:80x", "localhost:", "127.0.0.2", "[::2]", "::1", "0.0.0.0", "x" * 4000):
        check("Host %s" % host[:40], s.get("/api/recording", host=host), 403)
        check("token, Host %s" % host[:40], s.get("/?token=" + s.token, host=host, cookie=None), 403)
    for host in "localhost", "LOCALHOST:1", "127.0.0.1", "[::1]", "[::1]:%d" % s.port, "localhost:7080":
        check("Host %s" % host, s.get("/api/recording", host=host), 200)
    check("two Hosts", s.get("/api/recording", fields=["Host: evil.example"]), 400, 403)
    check("no Host", s.get("/api/recording", host=""), 400, 403)
    for origin in ("http://evil.example", "null", "http://localhost:%d" % s.port, "https://" + here, "http://127.0.0.1",
                   "http://127.0.0.1:%d" % (s.port ^ 1), here, "", "http://%s/" % here, "file://"):
        check("Origin %s" % origin, s.get("/api/recording", fields=["Origin: " + origin]), 403)
        check("POST, Origin %s" % origin, s.get("/api/script", method="POST", body=b"{}", fields=["Origin: " + origin]), 403)
    check("POST without Origin", s.get("/api/script", method="POST", body=b"{}"), 403)
    check("own Origin", s.get("/api/recording", fields=["Origin: http://" + here]), 200)
    for site in "cross-site", "same-site", "x":
        check("Sec-Fetch-Site %s" % site, s.get("/api/recording", fields=["Sec-Fetch-Site: " + site]), 403)
    for site in "same-origin", "none":
        check("Sec-Fetch-Site %s" % site, s.get("/api/recording", fields=["Sec-Fetch-Site: " + site]), 200)


def methods_are_few(s):
    own = ["Origin: http://127.0.0.1:%d" % s.port]
    for method in "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get", "PROPFIND", "X" * 16:
        check(method, s.get("/api/recording", method=method), 405)
    for path in "/", "/main.js", "/api/recording", "/api/ping":
        check("POST " + path, s.get(path, method="POST", body=b"{}", fields=own), 405)
    check("unknown", s.get("/api/nothing"), 404)
    check("unknown POST", s.get("/api/nothing", method="POST", body=b"{}", fields=own), 404)
    for path in "/", "/main.js", "/api/recording":
        whole, head = s.get(path), check("HEAD " + path, s.get(path, method="HEAD"), 200)
        if head and (head[1]["content-length"] != whole[1]["content-length"] or
                     head[1]["content-type"] != whole[1]["content-type"]):
            failures.append("HEAD %s: %s" % (path, head[1]))


def paths_are_names(s):
    for path in ("/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/./main.js",
                 "/timeline/../main.js", "/main.js/", "/main.js%00.css", "/MAIN.JS", "/api", "/api/", "/index.html",
                 "/timeline", "/timeline/", "/%", "/%zz", "/\\..\\main.js", "/main.js;x"):
        check(path, s.get(path), 400, 404)
    for query in "rows=%ff", "from=%c0%80", "&".join("a%d=1" % i for i in range(100)):
        check(query[:30], s.get("/api/recording?" + query), 400)
    for path, kind in (("/", "text/html"), ("/main.js", "text/javascript"), ("/page.css", "text/css"),
                       ("/uplot.js", "text/javascript"), ("/api/recording", "application/json")):
        answer = check(path, s.get(path), 200)
        if answer and not answer[1]["content-type"].startswith(kind):
            failures.append("%s is %s" % (path, answer[1]["content-type"]))


def sizes_are_bounded(s):
    check("long field", s.get("/", fields=["X: " + "a" * 100000]), 431)
    check("many fields", s.get("/", fields=["X%d: y" % i for i in range(20000)]), 431)
    check("endless head", s.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (4 << 20)), 431)
    check("long address", s.get("/api/recording?x=" + "a" * 100000), 431)
    check("12 KB of parameters", s.get("/api/recording?x=" + "a" * 12000), 200)
    own = ["Origin: http://127.0.0.1:%d" % s.port]
    for n in "1048577", "99999999999999999999", "18446744073709551615":
        check("length " + n, s.get("/api/script", method="POST", fields=own + ["Content-Length: " + n]), 400, 413)
    for n in "-1", "x", "1x", "0x10":
        check("length " + n, s.raw(s.request("/api/script", method="POST", fields=own + ["Content-Length: " + n])), 400, 413)
    check("no length", s.get("/api/script", method="POST", fields=own), 411)
    check("GET with a body", s.get("/api/recording", body=b"x"), 400)


def garbage_is_refused(s):
    own = "Origin: http://127.0.0.1:%d" % s.port
    good = s.request("/api/recording")
    chunked = s.request("/api/script", method="POST", fields=[own, "Transfer-Encoding: chunked"])
    for data in b"5\r\nhello\r\n0\r\n\r\n", b"zz\r\nx\r\n", b"ffffffffffffffff\r\nx", b"-1\r\n\r\n", b"5;x=y\r\nhello":
        check("chunks %r" % data, s.raw(chunked + data), 411)
    check("both lengths", s.raw(s.request("/api/script", method="POST",
                                          fields=[own, "Transfer-Encoding: chunked", "Content-Length: 3"]) + b"abc"), 400, 411)
    check("two lengths", s.raw(s.request("/api/script", method="POST",
                                         fields=[own, "Content-Length: 3", "Content-Length: 4"]) + b"abc"), 400)
    for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET /\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1 \r\n\r\n",
                 b"GET /a b HTTP/1.1\r\n\r\n", b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 100,
                 b"GET / HTTP/1.1\nHost: localhost\n\n", b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\n",
                 b"GET /\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"G\x7fT / HTTP/1.1\r\n\r\n", b": x\r\n\r\n"):
        check("%r" % data[:50], s.raw(data), 400)
    for version in b"2.0", b"0.9", b"9.9":
        check("%r" % version, s.raw(b"GET / HTTP/" + version + b"\r\nHost: localhost\r\n\r\n"), 505)
    check("HTTP/2", s.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400, 505)
    for n in range(1, len(good), 7):  # ended before its end: no answer, or a refusal
        with s.connect() as c:
            c.sendall(good[:n])
            c.shutdown(socket.SHUT_WR)
            answer = served.receive(c)
            if answer:
                check("%d bytes" % n, answer, 400)


def requests_follow_each_other(s):
    with s.connect() as c:
        for part in s.request("/api/recording"):  # byte by byte
            c.sendall(bytes([part]))
        check("bytes", served.receive(c), 200)
        c.sendall(s.request("/api/ping") * 20 + s.request("/api/recording") + s.request("/nothing"))
        rest = served.receive.rest
        for i in range(22):
            check("pipelined %d" % i, served.receive(c, rest=rest), 404 if i == 21 else 200)
            rest = served.receive.rest
        c.sendall(s.request("/api/ping") + s.request("/api/ping", cookie=None) + s.request("/api/ping"))
        check("before", served.receive(c, rest=rest), 200)
        check("without cookie", served.receive(c, rest=served.receive.rest), 403)
        if served.receive(c, rest=served.receive.rest):
            failures.append("a connection that was refused goes on")


def main():
    with tempfile.TemporaryDirectory() as temporary:
        recording = os.path.join(temporary, "web")
        made.web(recording)
        with served.Server(sys.argv[1], [recording]) as s:
            for part in (the_token_is_the_way_in, names_of_others_are_refused, methods_are_few, paths_are_names,
                         sizes_are_bounded, garbage_is_refused, requests_follow_each_other):
                part(s)
            if socket.has_ipv6 and os.path.exists("/proc/sys/net/ipv6"):
                check("IPv6", s.raw(s.request("/api/recording"), socket.AF_INET6), 200)
            check("at the end", s.get("/api/recording"), 200)
        if s.status or s.messages():
            failures.append("it ends with %d: %s" % (s.status, s.messages()))
    for failure in failures:
        print(failure)
    sys.exit(bool(failures))


main()
