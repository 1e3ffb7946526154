#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A relay that lies, floods, stalls or closes gets no data removed here, and no sender stuck, grown or killed by it.

Each attack has a relay and a sender of its own; all run at once.  `duet send --remove` must end with status 2 within
its time limit, and leave the recording as it was.

arguments: DUET PROGRAM LIBDUET
"""
import hashlib
import os
import resource
import shutil
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from relay_messages import DATA, END, ENDED, FILE, HELLO, LISTED, REFUSED, TIME, TIMED, TROUBLE, UNWANTED, WATCH  # noqa: E402
from relay_messages import Peer, data, file, hello, message, size, text, welcome  # noqa: E402
from relaying import make_key  # noqa: E402
from trial import PATIENCE, cmd, duet, is_, ok, paths, run, run_cases, start, until, work  # noqa: E402

program, library = paths(2)
os.chdir(work)
N, LIMIT_S = 2000, 2
GROWS_MAX_KIB, CPU_MAX_S = 64 << 10, 20
attacks = []


class Relay:
    """Accepts connections, and has each served by the attack."""

    def __init__(self, attack, recording):
        self.attack, self.recording, self.n, self.over = attack, recording, 0, False
        self.s = socket.create_server(("127.0.0.1", 0))
        self.port = self.s.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                s = self.s.accept()[0]
            except OSError:
                return
            self.n += 1
            threading.Thread(target=self.serve, args=(Peer(s),), daemon=True).start()

    def serve(self, peer):
        try:
            self.attack(self, peer)
        except OSError:
            pass
        peer.close()

    def size_of(self, name):
        return os.path.getsize(os.path.join(self.recording, name))

    def close(self):
        self.over = True
        self.s.close()


def attack(f):
    attacks.append(f)
    return f


def proper(relay, peer, on_file=None, on_data=None, on_end=None, on_time=None):
    """A relay that stores nothing, and answers as an honest one unless the attack does."""
    names, kept = {}, {}
    while True:
        m = peer.read()
        if not m:
            return
        kind, content = m
        if kind == HELLO:
            peer.send(welcome())
        elif kind == FILE:
            n = struct.unpack("<I", content[:4])[0]
            names[n], kept[n] = content[5:].decode(), 0
            peer.send(on_file(n, names[n]) if on_file else size(n, 0))
        elif kind == DATA:
            n, plain, at = struct.unpack("<IIQ", content[:16])
            kept[n] = at + (plain or len(content) - 16)
            peer.send(on_data(n, kept[n]) if on_data else size(n, kept[n]))
        elif kind == TIME:
            now = struct.unpack("<Q", content[32:])[0]
            peer.send(on_time(now) if on_time else message(TIMED, struct.pack("<QQQ", now, now, now)))
        elif kind == END:
            peer.send(on_end() if on_end else message(ENDED))


# ---------------------------------------------------------------- lies

@attack
def acknowledges_files_that_were_not_sent(relay, peer):
    proper(relay, peer, on_file=lambda n, name: size(n, relay.size_of(name)))


@attack
def does_not_want_any_file(relay, peer):
    proper(relay, peer, on_file=lambda n, name: size(n, UNWANTED))


@attack
def acknowledges_more_than_was_sent(relay, peer):
    proper(relay, peer, on_data=lambda n, at: size(n, at + 1))


@attack
def acknowledges_more_than_there_can_be(relay, peer):
    proper(relay, peer, on_data=lambda n, at: size(n, (1 << 63) - 1))


@attack
def acknowledges_less_and_less(relay, peer):
    proper(relay, peer, on_data=lambda n, at: size(n, at) + size(n, max(0, at - 1)))


@attack
def acknowledges_files_that_do_not_exist(relay, peer):
    proper(relay, peer, on_file=lambda n, name: size(n + 1, 0) + size((1 << 32) - 1, 0))


@attack
def ends_before_anything_is_sent(relay, peer):
    def on_file(n, name):
        return message(ENDED) * 3
    proper(relay, peer, on_file=on_file)


@attack
def has_impossible_clocks(relay, peer):
    # The data arrives, but the end never.
    proper(relay, peer, on_end=lambda: b"",
           on_time=lambda now: message(TIMED, struct.pack("<QQQ", now, 1 << 63, (1 << 63) - 1)))


@attack
def leads_the_name_elsewhere(relay, peer):
    peer.read()
    peer.send(welcome(b"../../\x9b31m\xe2\x80\xae"))
    proper(relay, peer)


# ---------------------------------------------------------------- floods and stalls

def flood(relay, peer, bytes):
    while not relay.over:
        peer.send(bytes * 1000)


@attack
def repeats_itself_without_an_end(relay, peer):
    m = peer.read()
    peer.send(welcome())
    while m and m[0] != FILE:
        m = peer.read()
    flood(relay, peer, size(0, 0))


@attack
def is_in_trouble_without_an_end(relay, peer):
    peer.read()
    peer.send(welcome())
    flood(relay, peer, message(TROUBLE, text("\x20" * 200)))


@attack
def answers_byte_by_byte(relay, peer):
    peer.read()
    for byte in welcome() * 1000:
        if relay.over:
            return
        peer.send(bytes([byte]))
        time.sleep(0.05)


@attack
def welcomes_and_reads_no_more(relay, peer):
    peer.read()
    peer.send(welcome())
    while not relay.over:
        time.sleep(0.1)


@attack
def never_reads(relay, peer):
    while not relay.over:
        time.sleep(0.1)


# ---------------------------------------------------------------- closed and damaged

@attack
def closes_at_once(relay, peer):
    pass


@attack
def closes_after_the_hello(relay, peer):
    peer.read()


@attack
def closes_after_the_welcome(relay, peer):
    peer.read()
    peer.send(welcome())


def closing(state):
    def attack(relay, peer):
        m = peer.read()
        peer.send(welcome())
        while m and m[0] != state:
            m = peer.read()
            if m and m[0] == FILE and state != FILE:
                peer.send(size(struct.unpack("<I", m[1][:4])[0], 0))
    return attack


for name, state in (("a_file", FILE), ("data", DATA), ("a_time", TIME)):
    f = closing(state)
    f.__name__ = "closes_after_" + name
    attacks.append(f)


@attack
def closes_after_the_end(relay, peer):
    def on_end():
        peer.s.shutdown(socket.SHUT_RDWR)
        return b""
    proper(relay, peer, on_end=on_end)


@attack
def sends_garbage_first(relay, peer):
    peer.send(os.urandom(4096))
    peer.read()


@attack
def sends_garbage_after_the_welcome(relay, peer):
    peer.read()
    peer.send(welcome() + b"\x09\0\0\0" + os.urandom(4096))
    proper(relay, peer)


@attack
def sends_a_message_without_an_end(relay, peer):
    peer.read()
    peer.send(message(TROUBLE, b"", (1 << 32) - 1))
    flood(relay, peer, b"x" * 64)


@attack
def refuses_with_terminal_sequences(relay, peer):
    peer.read()
    peer.send(message(REFUSED, text(b"\x1b]0;owned\x07\xc2\x9b31m")))


@attack
def uses_a_version_that_does_not_exist(relay, peer):
    peer.read()
    peer.send(welcome(version=77))
    proper(relay, peer)


# ---------------------------------------------------------------- the senders

def content(path):
    """-> names and hashes of all files but the sender's own"""
    found = {}
    for at, _, files in os.walk(path):
        for name in files:
            whole = os.path.join(at, name)
            if os.path.basename(at) != ".duet" or name != "stream":
                with open(whole, "rb") as f:
                    found[os.path.relpath(whole, path)] = (hashlib.sha256(f.read()).hexdigest(),
                                                           os.stat(whole).st_blocks)
    return found


def record(path):
    cmd("record", "--no-kernel", "-q", "-o", path, "--", program, N)


class Attempt:
    """One sender at one relay."""

    def __init__(self, attack, keys=("--plain",)):
        self.name = attack.__name__
        self.recording = work + "/" + self.name
        shutil.copytree("recording", self.recording)
        self.before = content(self.recording)
        self.relay = Relay(attack, self.recording)
        self.usage = work + "/" + self.name + ".usage"
        # A shell between us and the sender reports the processor time of the sender alone.
        self.p = start("sh", "-c", '"$@"; s=$?; times >"$0"; exit $s', self.usage, duet, "send", "--remove",
                       "--flush-timeout", "%ds" % LIMIT_S, *keys, self.recording,
                       "127.0.0.1:%d" % self.relay.port)

    def cpu_s(self):
        with open(self.usage) as f:
            own, children = f.read().splitlines()
        minutes, seconds = children.split()[0].rstrip("s").split("m")
        return int(minutes) * 60 + float(seconds)

    def check(self):
        status, out, err = self.p.end()
        self.relay.close()
        is_(status, 2, "%s: the sender gives up (%s)" % (self.name, err.strip()))
        # Bytes that were acknowledged after they were sent may be given back to the disk; nothing else.
        if self.name not in ("has_impossible_clocks", "closes_after_the_end"):
            is_(content(self.recording), self.before, "%s: the recording is as it was" % self.name)
        is_(sorted(content(self.recording)), sorted(self.before), "%s: all files are there" % self.name)
        ok(not any(ord(c) < 32 and c != "\n" or 0x7e < ord(c) for c in err), "%s: nothing odd is shown" % self.name,
           repr(err))
        ok(self.cpu_s() < CPU_MAX_S, "%s: little processor time" % self.name, "%s s" % self.cpu_s())
        # with pauses of 0.1, 0.2, 0.4 .. s between them
        ok(self.relay.n <= 40, "%s: few connections" % self.name, "%d" % self.relay.n)


def no_attack_costs_anything():
    record("recording")
    attempts = [Attempt(a) for a in attacks]
    for a in attempts:
        a.check()
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    ok(used < (256 << 10), "memory of the largest sender", "%d KiB" % used)


def garbage_instead_of_tls_costs_nothing():
    make_key("key")

    def floods_before_tls(relay, peer):
        flood(relay, peer, os.urandom(64))

    def says_nothing_before_tls(relay, peer):
        while not relay.over:
            time.sleep(0.1)

    def begins_a_record_without_an_end(relay, peer):
        peer.send(b"\x16\x03\x03\x40\x00")
        for byte in os.urandom(1 << 14):
            if relay.over:
                return
            peer.send(bytes([byte]))
            time.sleep(0.05)

    for a in [Attempt(a, ("--psk", "key")) for a in (floods_before_tls, says_nothing_before_tls,
                                                     begins_a_record_without_an_end)]:
        a.check()


def a_recorder_keeps_files_that_a_relay_only_says_it_has():
    """Beside a recorder the sender gives acknowledged bytes back to the disk."""
    made = {}
    for a in (acknowledges_files_that_were_not_sent, acknowledges_more_than_was_sent, does_not_want_any_file):
        path = work + "/record-" + a.__name__
        relay = Relay(a, path)
        made[path] = relay, start(duet, "record", "--no-kernel", "--to", "127.0.0.1:%d" % relay.port, "--plain",
                                  "--flush-timeout", "%ds" % LIMIT_S, "-o", path, "--", program, N)
    for path, (relay, p) in made.items():
        status, _, err = p.end()
        relay.close()
        is_(status, 2, "it was not sent")
        is_(len(cmd("view", "-e", "relay:number", path)[1].splitlines()), N, "all events are here (%s)" % err)


def a_followers_disk_is_not_filled():
    """The relay sends a stream that can never be shown."""
    os.mkdir("tmp")

    def floods(relay, peer):
        m = peer.read()
        while m and m[0] != WATCH:
            m = peer.read()
        peer.send(message(LISTED, struct.pack("<IQ", 1, 1 << 60) + text("host/s-1")), hello(), file(0, "ust/cpu_0"))
        for at in range(0, 1 << 40, 1 << 16):
            peer.send(data(0, at, bytes(1 << 15) + os.urandom(1 << 15)))

    relay = Relay(floods, ".")
    p = start(duet, "live", "--at", "127.0.0.1:%d" % relay.port, "--plain", "--spool", "64K",
              env=dict(os.environ, TMPDIR=work + "/tmp"))
    status, _, err = p.end()
    relay.close()
    is_(status, 2, "it gives up")
    ok("nothing of it can be shown" in err, "and says why", err)
    until(lambda: not os.listdir("tmp"), "the copy is removed")


def honest_relays_are_still_served():
    """The same conversation without an attack."""
    shutil.copytree("recording", "honest")
    relay = Relay(lambda r, p: proper(r, p), "honest")
    is_(run(duet, "send", "-q", "--remove", "--plain", "honest", "127.0.0.1:%d" % relay.port)[0], 0, "sent")
    relay.close()
    ok(not os.path.exists("honest"), "and removed")


run_cases(no_attack_costs_anything, garbage_instead_of_tls_costs_nothing,
          a_recorder_keeps_files_that_a_relay_only_says_it_has, a_followers_disk_is_not_filled, honest_relays_are_still_served)
