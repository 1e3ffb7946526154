#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Babeltrace attaches over lttng-live and shows the same events as duet view; viewers that send garbage, lengths
beyond all measure, or nothing, harm neither it nor the server.

arguments: DUET PROGRAM LIBDUET [SEED] [CONVERSATIONS]      long form: any seed, 20000
"""
import random
import re
import shutil
import signal
import socket
import struct
import sys

from following import *

seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
conversations = int(sys.argv[5]) if len(sys.argv) > 5 else 1500


def serve(*options):
    """The server and its port."""
    s = start(duet, "live", "--serve=:0", *options)
    said = s.stdout.readline()
    port = re.search(r"port (\d+)", said)
    if not port:
        raise SystemExit("it does not listen: %r %r" % (said, s.stderr.read()))
    return s, int(port[1])


def babeltrace(name, url):
    return to_file(work + "/" + name, "babeltrace2", "-i", "lttng-live", url)


def events(name):
    return [re.sub(r"^.*?(\w+:\w+: )", r"\1", t) for t in lines(work + "/" + name) if "follow:number" in t]


def babeltrace_attaches():
    trace = work + "/shown"
    c = collect(trace, "-e", "follow:*")
    first = run_program()
    s, port = serve("--begin", trace)
    listed = run("babeltrace2", "-i", "lttng-live", "net://localhost:%d" % port)[1]
    url = re.search(r"net://\S+/shown", listed)
    ok(url, "the session is listed: %r" % listed)
    url = url[0] if url else "net://localhost:%d/host/%s/shown" % (port, socket.gethostname())
    one, two = babeltrace("one", url), babeltrace("two", url)
    until(lambda: len(events("one")) > 100 and len(events("two")) > 100, "events are shown while it records")
    late = run_program(3)
    recorder_says_how_far(trace, 2)
    late_one = babeltrace("late", url)
    until(lambda: len(events("late")) > 100, "a viewer that comes late sees it too")
    counts = sum(int(n) for n in (end_program(first) + end_program(late)).split())
    stop(c, signal.SIGINT, status=None)
    whole = run("babeltrace2", trace)[1]
    ok(whole.count("follow:number") == counts, "the recording is whole")
    for p, name in (one, "one"), (two, "two"), (late_one, "late"):
        ok(p.wait() == 0, "%s ends with the session: %r" % (name, lines(work + "/" + name + ".err")[-3:]))
        ok(len(events(name)) == counts, "%s: %d events of %d" % (name, len(events(name)), counts))
        ok(lines(work + "/" + name) == whole.splitlines(), name + ": all is as in the recording")
    ok(s.wait() == 0, "the server ends after its last client")


# ---------------------------------------------------------------- hostile viewers

CONNECT, LIST, ATTACH, INDEX, PACKET, METADATA, NEW, CREATE, DETACH = range(1, 10)


def command(number, body=b"", size=None):
    return struct.pack(">QII", len(body) if size is None else size, number, 0) + body


def hello(minor=4):
    return command(CONNECT, struct.pack(">QIII", 0, 2, minor, 1))


def number(rng):
    return rng.choice([0, 1, 2, 3, 5, 7, 255, 4096, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1,
                       rng.randrange(1 << 64)])


def any_command(rng):
    n = rng.randrange(1, 10)
    size = {CONNECT: 20, ATTACH: 20, INDEX: 8, PACKET: 20, METADATA: 8, NEW: 8, DETACH: 8}.get(n, 0)
    body = b"".join(struct.pack(">Q", number(rng)) for _ in range(3))[:size]
    if n == ATTACH and rng.random() < 0.7:
        body = struct.pack(">QQI", 1, 0, rng.randrange(4))
    if n in (INDEX, METADATA) and rng.random() < 0.7:
        body = struct.pack(">Q", rng.randrange(1, 8))
    if n == PACKET and rng.random() < 0.7:
        body = struct.pack(">QQI", rng.randrange(1, 8), rng.choice([0, number(rng)]), rng.choice([84, number(rng) % (1 << 32)]))
    return command(n, body, rng.choice([None] * 9 + [number(rng)]))


def garbage(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 200))
    if kind == 1:
        return command(rng.choice([0, 10, 77, CONNECT, LIST]), rng.randbytes(rng.randrange(60)), number(rng))
    text = hello(rng.choice([4, 13, 99])) + b"".join(any_command(rng) for _ in range(rng.randrange(1, 12)))
    if kind == 2:
        text = bytearray(text)
        for _ in range(rng.randrange(1, 6)):
            text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    return bytes(text)


def converse(port, rng, stay):
    """Sends garbage; may read a little, may stay and send nothing more."""
    k = socket.create_connection(("127.0.0.1", port), PATIENCE)
    k.settimeout(PATIENCE)
    try:
        k.sendall(garbage(rng))
        if rng.random() < 0.5:
            k.settimeout(0.002)
            k.recv(rng.choice([1, 100, 100000]))
    except (socket.timeout, ConnectionError):
        pass
    if rng.random() < 0.1:
        stay.append(k)
    else:
        k.close()
    while len(stay) > 40:
        stay.pop(rng.randrange(len(stay))).close()


def hostile_viewers_do_no_harm():
    trace = work + "/hostile"
    c = collect(trace, "-e", "follow:*")
    p = run_program()
    s, port = serve("--begin", trace)
    url = "net://localhost:%d/host/%s/hostile" % (port, socket.gethostname())
    viewer = babeltrace("viewer", url)
    until(lambda: len(events("viewer")) > 100, "events are shown")
    rng, stay = random.Random(seed), []
    for _ in range(conversations):
        converse(port, rng, stay)
    ok(s.poll() is None, "the server lives (seed %d)" % seed)
    peak = field(s.pid, "VmHWM")
    ok(peak and peak < 200 << 10, "its memory is bounded: %s KiB" % peak)
    for k in stay:
        k.close()
    counts = sum(int(n) for n in end_program(p).split())
    stop(c, signal.SIGINT, status=None)
    ok(viewer.wait() == 0, "the viewer ends with the session: %r" % lines(work + "/viewer.err")[-3:])
    ok(len(events("viewer")) == counts, "%d events of %d (seed %d)" % (len(events("viewer")), counts, seed))
    ok(s.wait() == 0, "the server ends: %r" % s.stderr.read())


def the_server_stays_within_this_machine():
    s = start(duet, "live", "--serve=0.0.0.0:0", work)
    status, out, told = s.end()
    ok(status == 2 and "--anywhere" in told, "it names the option that permits it: %r" % told)


if not shutil.which("babeltrace2"):
    skip("no babeltrace2")
run_cases(babeltrace_attaches, hostile_viewers_do_no_harm, the_server_stays_within_this_machine)
