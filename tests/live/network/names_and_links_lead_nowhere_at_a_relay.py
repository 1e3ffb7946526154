#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names from a sender, and links that others left, lead a relay to no file outside of the recording it receives.

And nothing outside of a recording reaches a relay: `duet send` follows no link in it.

arguments: DUET
"""
import os
import stat
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from relay_messages import REFUSED, SIZE, WELCOME, connect, data, file, hello  # noqa: E402
from relaying import Relay  # noqa: E402
from trial import duet, is_, ok, run, run_cases, until, work  # noqa: E402

os.chdir(work)
SECRET = b"a file outside"


def outside(name="outside"):
    os.makedirs(name, exist_ok=True)
    with open(name + "/file", "wb") as f:
        f.write(SECRET)
    return os.path.abspath(name)


def content(path):
    return {os.path.join(at, f): open(os.path.join(at, f), "rb").read() for at, _, files in os.walk(path) for f in files}


def converse(port, *messages):
    """-> the types of all answers"""
    peer, types = connect(port), []
    try:
        peer.send(*messages)
        peer.s.shutdown(1)
    except OSError:
        pass
    while m := peer.read():
        types.append(m[0])
    peer.close()
    return types


def names_are_refused_that_lead_elsewhere():
    out = outside()
    before = content(out)
    relay = Relay("out", keys=["--plain"])
    bad = ["", ".", "..", "../x", "a/../x", "/etc/x", out + "/file", "a//b", "a/", "/", ".hidden", "a/.b", "-x", "a\nb", "a\x1bb",
           "a\x7fb", b"a\x9bb", "a b", "a\\b", "\u202e", "x" * 81, "/".join("abcdefghijk"), ".duet/relay", ".duet/relay-removed",
           ".duet/stream", ".duet/clock-relay", ".duet", "a/.duet/relay", "~", "$HOME", "a:b", "con|x"]
    for i, name in enumerate(bad):
        types = converse(relay.port, hello(ident=bytes([i]) * 16), file(0, name), data(0, 0, b"x"))
        ok(WELCOME not in types or types[-1] == REFUSED, "%r is refused" % (name,), types)
        ok(SIZE not in types, "%r has no size" % (name,), types)
    for part in ("host", "session", "date"):
        for name in ("", "..", "../x", "/etc", "a/b", ".x", "a\x1b[m", "\u202e"):
            types = converse(relay.port, hello(**{part: name}), file(0, "x"), data(0, 0, b"x"))
            is_(types, [REFUSED], "%s %r is refused" % (part, name))
    is_(content(out), before, "nothing outside has changed")
    is_(sorted(os.listdir(work)), ["out", "outside"], "and nothing is beside")
    ok(all(f.endswith("/.duet/relay") for f in content("out")), "no file was made", content("out").keys())
    relay.stop()


def names_that_collide_do_not_mix():
    relay = Relay("collide", keys=["--plain"])
    for i in range(3):  # three recordings of one name
        converse(relay.port, hello(ident=bytes([i]) * 16), file(0, "f"), data(0, 0, b"%d" % i))
    is_(sorted(open(f).read() for f in content("collide") if f.endswith("/f")), ["0", "1", "2"], "each has its file")
    types = converse(relay.port, hello(session="twice"), file(0, "f"), file(1, "f"), data(0, 0, b"aa"), data(1, 0, b"b"))
    is_(types[-1], REFUSED, "one file under two numbers is refused")
    ok(all(v in (b"aa", b"") for f, v in content("collide").items() if "twice" in f and f.endswith("/f")), "and whole")
    types = converse(relay.port, hello(session="both"), file(0, "f"), data(0, 0, b"a"), file(1, "f/g"), data(1, 0, b"b"))
    is_(types[-1], REFUSED, "a file is no directory")
    types = converse(relay.port, hello(session="same"), file(0, "d/g"), data(0, 0, b"a"), file(1, "d"), data(1, 0, b"b"))
    is_(types[-1], REFUSED, "a directory is no file")
    relay.stop()


def links_that_others_left_are_not_followed():
    out = outside()
    before = content(out)
    os.makedirs("left/host")
    relay = Relay("left", keys=["--plain"])
    os.symlink(out, "left/linked")
    is_(converse(relay.port, hello(host="linked"), file(0, "file"), data(0, 0, b"x")), [REFUSED], "a host that is a link")
    os.symlink(out, "left/host/s-20260101-000000")
    is_(converse(relay.port, hello(), file(0, "file"), data(0, 0, b"x")), [REFUSED], "a recording that is a link")
    # Inside a recording that is received.
    here = "left/host/t-20260101-000000"
    converse(relay.port, hello(session="t"), file(0, "a/b"), data(0, 0, b"1"))
    os.symlink(out, here + "/link")
    os.symlink(out + "/file", here + "/a/file")
    os.link(out + "/file", here + "/a/hard")
    os.mkfifo(here + "/a/fifo")
    os.symlink("/dev/full", here + "/a/device")
    os.symlink(out + "/new", here + "/a/dangling")
    for name in ("link/file", "a/file", "a/hard", "a/fifo", "a/device", "a/dangling"):
        types = converse(relay.port, hello(session="t"), file(0, name), data(0, len(SECRET), b"x"), data(0, 0, b"x"))
        is_(types, [WELCOME, REFUSED], "%s is refused" % name)
    os.rename(here + "/.duet", here + "/.was")
    os.symlink(out, here + "/.duet")
    converse(relay.port, hello(session="t"), file(0, "a/b"), data(0, 1, b"2"))
    os.rename(here, "left/host/aside")
    os.symlink(out, here)
    is_(converse(relay.port, hello(session="t"), file(0, "file"), data(0, 0, b"2")), [REFUSED], "a recording that became one")
    is_(content(out), before, "nothing outside has changed")
    relay.stop()


def a_sender_sends_no_file_that_a_link_leads_to():
    out = outside()
    os.makedirs("foreign/ust/uid/0/64-bit")
    os.makedirs("foreign/.duet")
    with open("foreign/ust/uid/0/64-bit/metadata", "w") as f:
        f.write("/* CTF 1.8 */\n")
    with open("foreign/.duet/clock", "w") as f:
        f.write("# x\n")
    os.symlink(out + "/file", "foreign/ust/uid/0/64-bit/cpu_0")
    os.symlink(out, "foreign/ust/uid/0/64-bit/index")
    os.symlink(out, "foreign/kernel")
    os.symlink("/dev/zero", "foreign/ust/uid/0/64-bit/cpu_1")
    os.mkfifo("foreign/ust/uid/0/64-bit/cpu_2")
    os.mknod("foreign/ust/uid/0/64-bit/cpu_3", 0o600 | stat.S_IFSOCK)
    relay = Relay("received", keys=["--plain"])
    status, _, err = run(duet, "send", "--plain", "foreign", "127.0.0.1:%d" % relay.port, timeout=60)
    is_(status, 0, "it is sent (%s)" % err)
    got = content("received")
    is_(sorted(os.path.basename(f) for f in got), ["clock", "clock-relay", "metadata", "relay"], "files alone are sent")
    ok(SECRET not in b"".join(got.values()), "and nothing of other files")
    # A directory for the sender's own file, which leads elsewhere.
    os.rename("foreign/.duet", "foreign/was")
    os.symlink(out, "foreign/.duet")
    status, _, err = run(duet, "send", "--plain", "foreign", "127.0.0.1:%d" % relay.port, timeout=60)
    is_(status, 2, "it is refused")
    ok(".duet/stream" in err, "with the reason", err)
    is_(os.listdir(out), ["file"], "nothing was made outside")
    relay.stop()


def a_sender_removes_nothing_that_a_link_leads_to():
    out = outside()
    os.makedirs("gone/ust")
    os.makedirs("gone/.duet")
    for name in ("gone/ust/metadata", "gone/.duet/clock"):
        with open(name, "w") as f:
            f.write("x\n")
    os.symlink(out, "gone/ust/link")
    os.symlink(out, "gone/kernel")
    relay = Relay("kept", keys=["--plain"])
    is_(run(duet, "send", "-q", "--remove", "--plain", "gone", "127.0.0.1:%d" % relay.port)[0], 0, "it is sent")
    until(lambda: not os.path.exists("gone"), "it is removed")
    is_(content(out), {out + "/file": SECRET}, "the files behind the links are there")
    relay.stop()


run_cases(names_are_refused_that_lead_elsewhere, names_that_collide_do_not_mix, links_that_others_left_are_not_followed,
          a_sender_sends_no_file_that_a_link_leads_to, a_sender_removes_nothing_that_a_link_leads_to)
