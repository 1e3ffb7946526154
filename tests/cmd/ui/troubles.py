#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet ui` begins and ends as it says, and goes on in trouble: without descriptors, with its recording removed, beside
other servers, while clients leave.

    troubles.py DUET
"""
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "browser"), str(HERE.parent.parent / "lib")]
import made
from ports import free_port
import served

duet = sys.argv[1]
failures = []
IDLE_S = 3


def expect(what, holds):
    if not holds:
        failures.append(what)


def descriptors_run_out(recording):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60 if hard == resource.RLIM_INFINITY else hard))
    server = served.Server(duet, [recording], "--no-cache")
    server.__enter__()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    # A limit that duet raises itself is taken back.
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (60, hard))
    kept = server.connect()
    kept.sendall(server.request("/api/ping"))
    expect("before", served.receive(kept)[0] == 200)
    crowd = [server.connect() for _ in range(200)]
    for i in range(3):
        kept.sendall(server.request("/api/ping"))
        expect("without descriptors", served.receive(kept)[0] == 200)
    before = cpu(server)
    time.sleep(0.5)
    expect("it spins without descriptors", cpu(server) - before < 0.3)
    # Not even the spare one: it was lost to another thread while it was given up.
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (3, hard))
    crowd += [server.connect() for _ in range(5)]
    before = cpu(server)
    time.sleep(0.5)
    expect("it spins without a spare descriptor", cpu(server) - before < 0.3)
    kept.sendall(server.request("/api/ping"))
    expect("without a spare descriptor", served.receive(kept)[0] == 200)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (60, hard))
    for s in crowd:
        s.close()
    expect("afterwards", server.get("/api/ping")[0] == 200)
    kept.close()
    server.__exit__()
    expect("its end: %s %s" % (server.status, server.messages()), not server.status and not server.messages())


def cpu(server):
    fields = pathlib.Path("/proc/%d/stat" % server.process.pid).read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def the_recording_is_removed(recording):
    copy = recording + "-copy"
    shutil.copytree(recording, copy)
    with served.Server(duet, [copy]) as s:
        while not s.json("/api/recording")["done"]:
            time.sleep(0.01)
        shutil.rmtree(copy)
        rows = s.json("/api/recording")["rows"]
        picture = "/api/picture?rows=%s&from=0&to=10000000&width=500" % ",".join(str(r["id"]) for r in rows[:10])
        expect("the picture", s.get(picture)[0] == 200)
        for path in "/api/events?from=0&to=10000000&limit=10", "/api/overview?width=100":
            status, headers, body = s.get(path)
            expect("%s: %d %r" % (path, status, body), status in (200, 404, 409, 500))
    expect("its end: %s %s" % (s.status, s.messages()), not s.status)
    r = subprocess.run([duet, "ui", "--no-browser", copy], capture_output=True, text=True, timeout=60)
    expect("%s" % r, r.returncode == 2 and copy in r.stderr and len(r.stderr.splitlines()) <= 2)


def the_recording_is_cut(recording):
    """Its files are mapped: what they lack is damage, not the end of the server."""
    copy = recording + "-cut"
    shutil.copytree(recording, copy)
    with served.Server(duet, [copy], "--no-cache") as s:
        while not s.json("/api/recording")["done"]:
            time.sleep(0.01)
        expect("before", s.json("/api/events?limit=5")["events"])
        for path in pathlib.Path(copy).rglob("*"):
            if path.is_file():
                os.truncate(path, 0)
        for path in "/api/events?limit=1000", "/api/events?from=5000000", "/api/item?id=3.1", "/api/overview?width=100":
            status = s.get(path)[0]
            expect("%s: %d" % (path, status), status in (200, 404, 500))
    expect("its end: %s %s" % (s.status, s.messages()), not s.status and not s.messages())
    shutil.rmtree(copy)


def another_recording_is_opened_while_queries_run(recording):
    other = recording + "-other"
    made.web(other, lossy=True)
    with served.Server(duet, [recording]) as s:
        paths = ("/api/recording", "/api/picture?rows=0,1,2&from=0&to=10000000&width=500", "/api/overview?width=100",
                 "/api/events?from=0&to=10000000&limit=5", "/api/area?from=0&to=10000000", "/api/search?text=w&limit=5")
        found, ends = set(), threading.Event()

        def ask(path):
            while not ends.is_set():
                status = s.get(path)[0]
                if status not in (200, 400):  # a row of the recording before
                    found.add((path, status))

        threads = [threading.Thread(target=ask, args=(path,)) for path in paths]
        for t in threads:
            t.start()
        for i in range(60):
            status, _, body = s.post("/api/open", {"path": (other, recording)[i % 2]})
            expect("opened: %d %r" % (status, body), status == 200)
        ends.set()
        for t in threads:
            t.join()
        expect("%s" % found, not found)
        expect("the last one", s.json("/api/recording")["paths"] == [recording])
    expect("its end: %s %s" % (s.status, s.messages()), not s.status and not s.messages())


def clients_leave(recording):
    with served.Server(duet, [recording]) as s:
        for i in range(300):
            c = s.connect()
            c.sendall(s.request("/api/recording") * (i % 5) + s.request("/uplot.js"))
            if i % 3:  # a reset, not an end
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            c.close()
        expect("after all", s.get("/api/ping")[0] == 200)
    expect("its end: %s %s" % (s.status, s.messages()), not s.status and not s.messages())


def servers_stand_side_by_side(recording):
    with served.Server(duet, [recording], "--port", str(free_port())) as a, served.Server(duet) as b:
        both = a.cookie + "; " + b.cookie
        expect("both cookies", a.get("/api/ping", cookie=both)[0] == 200 == b.get("/api/ping", cookie=both)[0])
        expect("the other's", a.get("/api/ping", cookie=b.cookie)[0] == 403)
        r = subprocess.run([duet, "ui", "--no-browser", "--port", str(a.port)], capture_output=True, text=True, timeout=60)
        expect("a port that is taken: %s" % r, r.returncode == 2 and "127.0.0.1:%d" % a.port in r.stderr)
        port = a.port
    with served.Server(duet, [], "--port", str(port)) as s:
        expect("the same port again", s.port == port)


def is_kept_by_pings(s):
    """As by a page that is open, for longer than it waits.  None: the machine let no ping through in time."""
    with s.connect() as c:
        begin = last = time.monotonic()
        while last - begin < IDLE_S + 1:
            try:
                c.sendall(s.request("/api/ping"))
                answer = served.receive(c)
            except OSError:
                answer = None
            now = time.monotonic()
            if now - last >= IDLE_S - 0.5:
                return None
            if not answer or answer[0] != 200:
                return False
            last = now
            time.sleep(0.4)
        return s.process.poll() is None


def it_ends_when_nobody_asks(recording):
    for _ in range(10):
        with served.Server(duet, [recording], "--idle", "%ds" % IDLE_S) as s:
            is_kept = is_kept_by_pings(s)
            if is_kept:
                try:
                    for _ in range(3):  # others do not keep it
                        s.get("/", cookie=None)
                except OSError:
                    pass  # it has ended
            s.process.wait(60)
        expect("its status %d %s" % (s.status, s.messages()), s.status == 0)
        if is_kept is not None:
            break
    expect("it goes on while it is asked", is_kept)
    for number in signal.SIGTERM, signal.SIGHUP:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may ignore it
        with served.Server(duet) as s:
            s.process.send_signal(number)
            expect("%s ends it" % number, s.process.wait(60) == 0)


def status_of(address, user=None):
    """-> the status of the answer to a process of that user"""
    host, path = address[len("http://"):].split("/", 1)
    end, other_end = os.pipe()
    child = os.fork()
    if not child:
        try:
            if user:
                os.setuid(user)
            c = socket.socket()
            c.connect(("127.0.0.1", int(host.split(":")[1])))
            c.sendall(("GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host)).encode())
            os.write(other_end, b"%d" % served.receive(c)[0])
        finally:
            os._exit(0)
    os.close(other_end)
    os.waitpid(child, 0)
    with os.fdopen(end) as answer:
        return int(answer.read() or 0)


def the_browsers_address_counts_once(printed, arguments):
    """Other users see the arguments of a browser: the token there is another one, for its own user alone."""
    expect("the browser's arguments: %s" % arguments, len(arguments) == 2 and arguments[0] == "1")
    address = arguments[1]
    expect("the printed token is among the arguments", address.split("=")[0] == printed.split("=")[0] and address != printed)
    if not os.geteuid():
        expect("another user comes in by it", status_of(address, user=65534) == 403)
    expect("the browser does not come in", status_of(address) == 303)
    expect("it counts twice", status_of(address) == 403)
    expect("the printed one counts", status_of(printed) == 303 == status_of(printed))


def the_browser_is_opened_with_a_display(recording):
    """By $BROWSER, if there is a terminal and a display; the address is one argument."""
    with tempfile.TemporaryDirectory() as directory:
        note, browser = directory + "/note", directory + "/browser"
        pathlib.Path(browser).write_text('#!/bin/sh\nprintf "%%s\\n" "$#" "$@" >%s.new; mv %s.new %s\n' % (note, note, note))
        os.chmod(browser, 0o755)
        for display, options, opens in (":0", [], True), ("", [], False), (":0", ["--no-browser"], False):
            main, terminal = os.openpty()
            environment = dict(os.environ, BROWSER=browser, DISPLAY=display)
            environment.pop("WAYLAND_DISPLAY", None)
            environment.pop("SSH_CONNECTION", None)
            p = subprocess.Popen([duet, "ui", *options, recording], stdout=terminal, stderr=terminal, env=environment)
            os.close(terminal)
            with os.fdopen(main, "rb", 0) as output:
                address = output.read(1000).decode().split()[0]
                while opens and not os.path.exists(note) and p.poll() is None:
                    time.sleep(0.01)
                if opens:
                    the_browsers_address_counts_once(address, pathlib.Path(note).read_text().split())
                p.send_signal(signal.SIGINT)
                p.wait(60)
            if os.path.exists(note) != opens:
                failures.append("DISPLAY=%s %s: opened: %s" % (display, options, not opens))
            if opens:
                os.unlink(note)


def what_it_prints(recording):
    for variables, wanted in (({}, 1), ({"SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, 2)):
        environment = {k: v for k, v in os.environ.items() if k not in ("SSH_CONNECTION", "DISPLAY")}
        p = subprocess.Popen([duet, "ui", recording], stdout=subprocess.PIPE, text=True, env=dict(environment, **variables))
        lines = [p.stdout.readline() for _ in range(wanted)]
        p.send_signal(signal.SIGINT)
        rest = p.communicate(timeout=60)[0]
        expect("%s %s" % (lines, rest), not rest and p.returncode == 0)
        if wanted == 2:
            port = lines[0].split("/?")[0].rsplit(":", 1)[1]
            expect("the ssh line: " + lines[1], "ssh -L %s:localhost:%s" % (port, port) in lines[1])
    for options, words in ((["--port", "70000"], "not a port"), (["--port", "x"], "not a port"), (["--idle", "0"], "0"),
                           (["--prt", "7"], "did you mean --port"), ([recording + "/none"], "none")):
        r = subprocess.run([duet, "ui", *options], capture_output=True, text=True, timeout=60)
        expect("%s: %s" % (options, r), r.returncode == 2 and words in r.stderr and not r.stdout)


def fails(environment, *argv):
    r = subprocess.run([duet, "ui", *argv], capture_output=True, text=True, timeout=60,
                       env=dict(os.environ, **environment))
    expect("%s" % r, r.returncode == 2 and not r.stdout)
    return r.stderr


def libmicrohttpd_is_missing(recording):
    directory = pathlib.Path(recording + "-libraries")
    directory.mkdir()
    (directory / "libmicrohttpd.so.12").write_text("no library")
    found = fails({"LD_LIBRARY_PATH": str(directory)}, "--no-browser", recording)
    expect(found, "apt install libmicrohttpd12" in found and "duet ui --html" in found)


def the_recording_is_empty(recording):
    empty = recording + "-empty"
    subprocess.run([duet, "record", "-q", "--no-kernel", "-o", empty, "--", "true"], stderr=subprocess.DEVNULL, check=True,
                   timeout=60, env=dict(os.environ, DUET_RUNTIME_DIR=recording + "-runtime"))
    found = fails({}, "--html", recording + ".html", empty)
    expect(found, empty + ": the recording has no events" in found)


def main():
    with tempfile.TemporaryDirectory() as temporary:
        recording = os.path.join(temporary, "web")
        made.web(recording)
        for part in (descriptors_run_out, the_recording_is_removed, the_recording_is_cut,
                     another_recording_is_opened_while_queries_run, clients_leave, servers_stand_side_by_side,
                     it_ends_when_nobody_asks, the_browser_is_opened_with_a_display, what_it_prints,
                     libmicrohttpd_is_missing, the_recording_is_empty):
            part(recording)
    print("\n".join(failures))
    sys.exit(bool(failures))


main()
