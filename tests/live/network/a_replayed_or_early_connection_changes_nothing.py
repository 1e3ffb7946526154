#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All bytes of a connection, sent again, change nothing at a relay; it takes no early data and gives no tickets.

arguments: DUET PROGRAM LIBDUET TLS_ATTACK
"""
import hashlib
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from relay_messages import connect, data, file, hello  # noqa: E402
from relaying import Relay, make_key  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run, run_cases, until, work  # noqa: E402

program, library = paths(2)
attack = os.path.abspath(sys.argv[4])
os.chdir(work)


class Tap:
    """A proxy that keeps the bytes of each side, piece by piece."""

    def __init__(self, port):
        self.target, self.flights = port, []  # (from the client?, bytes)
        self.s = socket.create_server(("127.0.0.1", 0))
        self.port = self.s.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        a = self.s.accept()[0]
        b = socket.create_connection(("127.0.0.1", self.target))
        for source, to, is_client in ((a, b, True), (b, a, False)):
            threading.Thread(target=self.pump, args=(source, to, is_client), daemon=True).start()

    def pump(self, source, to, is_client):
        try:
            while piece := source.recv(65536):
                self.flights.append((is_client, piece))
                to.sendall(piece)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def state(path):
    found = {}
    for at, directories, files in os.walk(path):
        for name in directories + files:
            whole = os.path.join(at, name)
            found[whole] = os.path.isfile(whole) and hashlib.sha256(open(whole, "rb").read()).hexdigest()
    return found


def replay(port, flights, waits):
    """Sends the client's pieces; @waits: each when the relay answered where it had answered before."""
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    answered = b""
    try:
        for i, (is_client, piece) in enumerate(flights):
            if is_client:
                s.sendall(piece)
            elif waits and (not i or flights[i - 1][0]):
                answered += s.recv(65536)
        s.shutdown(socket.SHUT_WR)
        while more := s.recv(65536):
            answered += more
    except OSError:
        pass
    s.close()
    return answered


def a_connection_sent_again_is_refused():
    make_key("key")
    cmd("record", "--no-kernel", "-q", "-o", "recording", "--", program, 100)
    relay = Relay("out")
    tap = Tap(relay.port)
    is_(run(duet, "send", "-q", "--psk", "key", "recording", "127.0.0.1:%d" % tap.port)[0], 0, "the recording is sent")
    before, flights = state("out"), list(tap.flights)
    ok(sum(len(p) for c, p in flights if c) > 1000, "the connection was kept")
    for waits in (False, True):
        replay(relay.port, flights, waits)
    # The first flight alone, and all but it.
    replay(relay.port, [f for f in flights if f[0]][:1], True)
    replay(relay.port, [f for f in flights if f[0]][1:], False)
    until(lambda: relay.p.stdout.so_far().count("refused") >= 4, "the relay refuses all four")
    is_(state("out"), before, "the relay's files are as before")
    # And into an empty relay, to which the recording is new.
    empty = Relay("empty")
    replay(empty.port, flights, True)
    until(lambda: "refused" in empty.p.stdout.so_far(), "another relay with the same key refuses it")
    is_(state("empty"), {}, "and has nothing")
    relay.stop()
    empty.stop()


def early_data_and_tickets_do_not_exist():
    relay = Relay("early")
    message = hello().hex()
    for _ in range(2):
        status, out, err = run(attack, "early", relay.port, "key", message)
        is_(status, 0, "the client ends (%s)" % err)
        ok(("refused" in out or "no answer" in out) and "accepted" not in out, "early data is refused", out)
    # It may also be skipped: then the relay says nothing, and goes on with the connection.
    until(lambda: relay.p.stdout.so_far().count("too much early data") == 2, "the relay refuses both connections for it")
    is_(state("early"), {}, "it changes nothing")
    status, out, _ = run(attack, "other", relay.port, "key", message)
    ok("refused" in out or "no answer" in out, "another identity is refused", out)
    is_(state("early"), {}, "and changes nothing")
    is_(run(attack, "tickets", relay.port, "key", message)[1], "answer of type 2, 0 tickets\n", "no tickets")
    relay.stop()


def the_plain_port_of_a_relay_with_a_key_is_none():
    relay = Relay("plain")
    peer = connect(relay.port)
    try:
        peer.send(hello(), file(0, "x"), data(0, 0, b"x"))
    except OSError:
        pass
    while peer.read():
        pass
    is_(state("plain"), {}, "nothing without TLS")
    relay.stop()


run_cases(a_connection_sent_again_is_refused, early_data_and_tickets_do_not_exist,
          the_plain_port_of_a_relay_with_a_key_is_none)
