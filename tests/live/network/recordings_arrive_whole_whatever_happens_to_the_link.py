#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A recording arrives at the relay: each event once, in order, over faults of link, relay, sender
and disk; without the key a client neither gets in nor disturbs others.

arguments: DUET PROGRAM LIBDUET CLOCK

Everything is on loopback; a proxy of ours is the bad link.
"""
import fcntl
import json
import os
import random
import re
import select
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from proc import descendants, exe, is_dead, kill_all, kill_tree  # noqa: E402
from relaying import KEY, Link, Relay, make_key, start_sending  # noqa: E402
from trial import cmd, command_of, duet, is_, ok, paths, run_cases, start, until, work  # noqa: E402

program, library, clock = paths(3, library=False)
os.environ["DUET_LIBRARY"] = library
os.chdir(work)


def numbers(path):
    """The numbers in it, in order; how many are lost; nothing else is wrong."""
    status, out, err = cmd("view", "--json", path)
    is_((status, [l for l in err.splitlines() if "lost" not in l.lower()]), (0, []), path + " is sound")
    got, lost = [], 0
    for line in out.splitlines():
        e = json.loads(line)
        if e.get("name") == "relay:number" or e.get("event") == "relay:number":
            got.append(int((e.get("fields") or e)["n"]))
        lost += e.get("lost_events", 0)
    return got, lost


def all_numbers(path, n):
    got, lost = numbers(path)
    is_((len(got), lost, got == list(range(n))), (n, 0, True), "each number once, in order, in " + path)
    return got


def same_files(a, b):
    own = {".duet/relay", ".duet/clock-relay", ".duet/stream"}

    def files(top):
        return {os.path.relpath(os.path.join(d, f), top) for d, _, fs in os.walk(top) for f in fs} - own
    is_(files(a), files(b), "the same files")
    for f in files(a):
        ok(open(os.path.join(a, f), "rb").read() == open(os.path.join(b, f), "rb").read(), f + " is the same")


def has_events(path):
    """Whether an index of applications names a packet."""
    return any(os.path.getsize(os.path.join(d, f)) > 16 for d, _, fs in os.walk(path) for f in fs
               if re.match(r"cpu_\d+\.idx", f))


def refused(text, *args, **more):
    status, out, err = cmd(*args, **more)
    ok(status == 2 and not out and re.search(text, err) and len(re.findall("^duet", err, re.M)) == 1
       and err.count("\n") <= 2, "refused in one message: " + " ".join(args), err)


# ---------------------------------------------------------------- cases

def a_recording_streams_and_is_the_same():
    relay = Relay("plain_out")
    args = [] if os.geteuid() else ["-k", "syscalls"]
    p = start(duet, "record", "--to", "127.0.0.1:%d" % relay.port, "--keep", "-o", "kept", *KEY, *args,
              "--", program, 20000, 0)
    status, out, err = p.end()
    is_((status, out.strip()), (0, "20000"), "the command's status and output: " + err)
    there = relay.only()
    same_files("kept", there)
    all_numbers(there, 20000)
    ok("complete" in open(there + "/.duet/relay").read(), "it is complete")
    ok(len(open(there + "/.duet/clock-relay").read().split("\n")) > 1, "times were exchanged")
    if shutil.which("babeltrace2"):
        for part in sorted(set(os.listdir(there)) - {".duet"}):
            a, b = (subprocess.run(["babeltrace2", "%s/%s" % (r, part)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    for r in ("kept", there))
            is_((b.returncode, b.stderr, a.stdout == b.stdout), (0, b"", True), "babeltrace2 reads the same in " + part)
    # It is readable while it grows; without --keep nothing stays here.
    p = start_sending(relay.port, "-o", "gone", "--", program, 6000, 1500)
    until(lambda: [r for r in relay.recordings() if r != there and has_events(r)], "events arrive while it records")
    growing = [r for r in relay.recordings() if r != there]
    got, lost = numbers(growing[0])
    ok(0 < len(got) and sorted(set(got)) == got, "readable while it grows", str(len(got)))
    status, out, err = p.end()
    is_((status, os.path.exists("gone")), (0, False), "it is sent and removed: " + err)
    ok("none lost" in err and " sent to 127.0.0.1" in err, "it reports that", err)
    all_numbers(growing[0], 6000)
    relay.stop()


def the_shortest_recording_brings_times_too():
    relay = Relay("short_out")
    is_(cmd("record", "-q", "--no-kernel", "-o", "short", "--", program, 1, 0)[0], 0, "it is recorded")
    status, out, err = cmd("send", *KEY, "short", "127.0.0.1:%d" % relay.port)
    is_(status, 0, "it is sent within the first exchange of times: " + err)
    ok(os.path.exists(relay.only() + "/.duet/clock-relay"), "and its times arrived")
    relay.stop()


def a_cut_link_costs_nothing():
    relay = Relay("cut_out")
    link = Link(relay.port, cut=lambda: random.randint(3000, 120000))
    p = start_sending(link.port, "-o", "cut_kept", "--keep", "--flush-timeout", "50s", "--", program, 12000, 12000)
    status, out, err = p.end()
    is_(status, 0, "sent in the end: " + err)
    ok(link.n_cuts >= 5, "the link was cut often", str(link.n_cuts))
    same_files("cut_kept", relay.only())
    all_numbers(relay.only(), 12000)
    p = start_sending(link.port, "-o", "cut_gone", "--flush-timeout", "50s", "--", program, 8000, 12000)
    status, out, err = p.end()
    is_((status, os.path.exists("cut_gone")), (0, False), "and files with holes, too: " + err)
    all_numbers(relay.recordings()[-1], 8000)
    link.close()
    relay.stop()


def data_on_the_link_may_be_compressed():
    if "built without libzstd" in cmd("send", "--compress", "zstd", ".", "127.0.0.1")[2]:
        print("# skipped: this duet was built without libzstd")
        return
    relay = Relay("pressed_out")
    link = Link(relay.port, cut=lambda: random.randint(8000, 30000))
    p = start_sending(link.port, "-o", "pressed", "--keep", "--compress", "zstd:3", "--flush-timeout", "50s",
                      "--", program, 60000, 30000)
    status, out, err = p.end()
    is_(status, 0, "sent in the end: " + err)
    ok(link.n_cuts >= 3, "the link was cut often", str(link.n_cuts))
    same_files("pressed", relay.only())
    all_numbers(relay.only(), 60000)
    link.close()
    # Later, too; and in pieces, which lie there as they were.
    status, out, err = cmd("send", "--compress", "zstd", *KEY, "pressed", "127.0.0.1:%d" % relay.port)
    is_((status, len(relay.recordings())), (0, 1), "files already there are not sent again: " + err)
    p = start_sending(relay.port, "-o", "pressed_pieces", "--rotate", "100K", "--compress", "zstd", "--", program, 20000, 20000)
    status, out, err = p.end()
    is_((status, os.path.exists("pressed_pieces")), (0, False), "in pieces: " + err)
    m, unit = re.search(r"([\d.]+) (\wB) sent to .*, as ([\d.]+) (\wB)\b", err), {"kB": 1e3, "MB": 1e6}
    ok(m and float(m[3]) * unit[m[4]] < float(m[1]) * unit[m[2]] / 3, "the link carried less than a third", err)
    there = relay.recordings()[-1]
    ok("piece-000001" in os.listdir(there), "it is in pieces")
    all_numbers(there, 20000)
    relay.stop()


def a_killed_relay_goes_on_where_it_was():
    relay = Relay("killed_out")
    relay.kill()
    p = start_sending(relay.port, "-o", "killed", "--", program, 24000, 12000)
    until(lambda: "it is sent when the relay answers" in p.stderr.so_far(), "a missing relay is reported")
    relay.begin()
    for _ in range(3):
        time.sleep(0.5)
        relay.kill()
        time.sleep(0.1)
        relay.begin()
    status, out, err = p.end()
    is_((status, os.path.exists("killed")), (0, False), "sent: " + err)
    ok("it is sent when the relay answers" in err, "a missing relay is reported", err)
    all_numbers(relay.only(), 24000)
    relay.stop()


def a_recording_ends_before_the_relay_answers():
    relay = Relay("late_out")
    relay.kill()
    p = start_sending(relay.port, "-o", "late", "--", program, 100, 100)
    until(lambda: "for the relay at 127.0.0.1" in p.stderr.so_far(), "the wait is reported")
    relay.begin()
    status, out, err = p.end()
    is_((status, os.path.exists("late")), (0, False), "sent: " + err)
    all_numbers(relay.only(), 100)
    relay.stop()


def recordings_of_killed_senders_are_sent_later():
    """One of both is replaced (kills.py); if both are killed at once the recording goes on alone."""
    relay = Relay("sender_out")
    p = start_sending(relay.port, "-o", "left", "--", program, 8000, 4000, work + "/go_on", 4000)
    until(lambda: [r for r in relay.recordings() if has_events(r)], "it arrives")
    command_of(p, program)
    is_(len(kill_all(c for c in descendants(p.pid) if exe(c) == os.path.realpath(duet))), 2, "a sender and its keeper")
    open("go_on", "w").close()
    status, out, err = p.end()
    is_((status, out.strip()), (2, "8000"), "the program is not disturbed")
    m = re.search(r"to go on: duet (.*)", err)
    if ok(m, "it names the command to go on", err):
        status, out, err = cmd(*m.group(1).split())
        is_((status, os.path.exists("left")), (0, False), "the rest is sent: " + err)
    all_numbers(relay.only(), 8000)
    # The recorder is killed with all its processes: the data that it wrote arrives.
    p = start_sending(relay.port, "--keep", "-o", "left2", "--", program, 100000, 2000)
    until(lambda: has_events("left2"), "it is written")
    relay.kill()
    kill_tree(p.pid)
    p.end()
    relay.begin()
    status, out, err = cmd("send", *KEY, "left2", "127.0.0.1:%d" % relay.port)
    is_(status, 0, "sent: " + err)
    same_files("left2", relay.recordings()[-1])
    ok(numbers(relay.recordings()[-1])[0], "some of it was written")
    status, out, err = cmd("send", "--remove", *KEY, "left2", "127.0.0.1:%d" % relay.port)
    is_((status, os.path.exists("left2"), len(relay.recordings())), (0, False, 2), "sent again, it is the same: " + err)
    relay.stop()


def a_slow_link_loses_nothing_until_spool_and_buffers_are_full():
    relay = Relay("slow_out")
    link = Link(relay.port, rate=64000)
    n = 10000  # 0.8 MB: the spool takes it
    p = start_sending(link.port, "-o", "slow", "--spool", "1M", "--flush-timeout", "50s", "--", program, n, 0)
    time.sleep(1.5)
    link.rate = None
    status, out, err = p.end()
    is_(status, 0, err)
    ok("none lost" in err, "nothing is lost", err)
    all_numbers(relay.only(), n)
    link.rate = 64000
    n = 400000  # 26 MB: neither spool nor buffers do
    p = start_sending(link.port, "-o", "full", "--spool", "1M", "-b", "2M", "--flush-timeout", "50s", "--", program, n, 200000)
    command = command_of(p, program)
    until(lambda: is_dead(command), "the program ends")
    link.rate = None
    status, out, err = p.end()
    m = re.search(r"(\d+) LOST", err)
    if ok(status == 0 and m, "the loss is reported", err):
        there = relay.recordings()[-1]
        got, lost = numbers(there)
        is_((len(got) + lost, lost, sorted(set(got)) == got), (n, int(m.group(1)), True), "counted exactly")
        ok("the spool is full" in err, "the reason is reported", err)
        ok(len(got) > 10000, "the rest is there", str(len(got)))
    link.close()
    relay.stop()


def a_full_disk_makes_it_wait():
    if os.geteuid():
        return
    os.mkdir("disk")
    relay = Relay("disk/out", before=["unshare", "-m", "sh", "-c",
                                      'mount -t tmpfs -o size=600k none disk && exec "$@"', "sh"],
                  more=["--disk", "64M", "--disk-free", "0"])
    p = start_sending(relay.port, "-o", "waits", "--", program, 40000, 20000)
    time.sleep(3.5)
    ok(p.poll() is None, "it waits for room")
    subprocess.run(["nsenter", "-t", str(relay.p.pid), "-m", "mount", "-o", "remount,size=64m", work + "/disk"], check=True,
                   cwd=work)
    status, out, err = p.end()
    is_((status, os.path.exists("waits")), (0, False), "then goes on: " + err)
    subprocess.run(["nsenter", "-t", str(relay.p.pid), "-m", "cp", "-r", work + "/disk/out", work + "/disk_copy"], check=True, cwd=work)
    relay.output = "disk_copy"
    all_numbers(relay.only(), 40000)
    relay.stop()


def pieces_of(there):
    return sorted(d for d in os.listdir(there) if d.startswith("piece-"))


def the_newest_finished_recordings_are_kept():
    relay = Relay("newest_out", more=["--keep-last", "3"])
    # The oldest of all, but it is being received.
    old = start_sending(relay.port, "-o", "old", "--", program, 2000, 0, work + "/old_go", 1000)
    until(lambda: [r for r in relay.recordings() if has_events(r)], "the oldest arrives")
    oldest = relay.only()
    # Cuts: no chunk may be removed before all of it and of those before it arrived.
    link = Link(relay.port, cut=lambda: random.randint(30000, 300000))
    p = start_sending(link.port, "-o", "pieces", "--rotate", "request", "--flush-timeout", "50s", "--", program, 40000,
                      20000, work + "/pieces_go", 39000)
    until(lambda: len(relay.recordings()) == 2, "another is begun")
    there = [r for r in relay.recordings() if r != oldest][0]
    for n in range(1, 7):
        until(lambda: "piece-%06d" % n in pieces_of(there) and (n > 1 or has_events(there)), "piece %d arrives" % n)
        is_(cmd("rotate", "-s", "record-%d" % p.pid)[0], 0, "a new piece")
    open("pieces_go", "w").close()
    status, out, err = p.end()
    is_((status, os.path.exists("pieces"), "not sent" in err), (0, False, False), "all was sent: " + err)
    ok("none lost" in err and link.n_cuts >= 3, "nothing is lost over %d cuts" % link.n_cuts, err)
    link.close()
    until(lambda: len(pieces_of(there)) <= 3, "old pieces go")
    got, lost = numbers(there)
    # Around a seam an event may be in the later piece: the first ones have gaps.
    ok(got[-1000:] == list(range(39000, 40000)) and sorted(set(got)) == got and got[0] > 0 and not lost,
       "the newest events are there", str((got[:3], got[-1:], len(got), lost)))
    # It takes their place.
    first = cmd("view", "-e", "relay:number", oldest)[1].splitlines()
    ok(len(first) >= 500, "the recording being received is there")
    open("old_go", "w").close()
    status, out, err = old.end()
    is_(status, 0, "it goes on: " + err)
    all_numbers(oldest, 2000)
    for n in range(3):
        is_(start_sending(relay.port, "--", program, 100 + n, 0).end()[0], 0, "another recording")
    until(lambda: not os.path.exists(oldest), "it goes when it is complete, and the oldest")
    until(lambda: not os.path.exists(there), "the rest of the one in chunks is removed as well")
    is_(sorted(len(numbers(r)[0]) for r in relay.recordings()), [100, 101, 102], "the newest stay")
    relay.stop()


def the_newest_piece_has_the_highest_number():
    """A sender that finds them at once reports them as finished in any order.  Chunks that were not received stay."""
    for name, received in ("sent", True), ("local", False):
        os.makedirs("numbers_out/host/%s/.duet" % name)
        for n in range(1, 5):
            piece = "numbers_out/host/%s/piece-%06d/.duet" % (name, n)
            os.makedirs(piece)
            with open(piece + "/finished", "w") as f:
                f.write("1 2\n")
            at = 1000 + (4 - n) + (0 if received else -500)
            os.utime(piece + "/finished", (at, at))
        if received:
            with open("numbers_out/host/%s/.duet/relay" % name, "w") as f:
                f.write("id 00112233445566778899aabbccddeeff\n")
    relay = Relay("numbers_out", more=["--keep-last", "2"])
    until(lambda: len(pieces_of("numbers_out/host/sent")) == 2, "two are kept")
    is_(pieces_of("numbers_out/host/sent"), ["piece-000003", "piece-000004"], "the newest")
    is_(open("numbers_out/host/sent/.duet/relay-removed").read(), "2\n", "removals are noted")
    is_(len(pieces_of("numbers_out/host/local")), 4, "other directories are left alone")
    relay.stop()


def a_piece_that_was_removed_is_not_sent_again():
    relay = Relay("again_out")
    p = start_sending(relay.port, "-o", "again", "--keep", "--rotate", "request", "--", program, 4000, 2000,
                      work + "/again_go", 3500)
    for n in 1, 2:
        until(lambda: [r for r in relay.recordings() if "piece-%06d" % n in pieces_of(r) and (n > 1 or has_events(r))],
              "piece %d arrives" % n)
        is_(cmd("rotate", "-s", "record-%d" % p.pid)[0], 0, "a new piece")
    open("again_go", "w").close()
    is_(p.end()[0], 0, "it is sent")
    there = relay.only()
    last = pieces_of(there)[-1]
    relay.stop()
    relay.args[3] = ["--keep-last", "1"]
    relay.begin()
    until(lambda: pieces_of(there) == [last], "all but the last go")
    status, out, err = cmd("send", *KEY, "again", "127.0.0.1:%d" % relay.port)
    is_((status, pieces_of(there)), (0, [last]), "they do not come again: " + err)
    all_numbers("again", 4000)
    relay.stop()


def openssl(*args):
    subprocess.run(["openssl"] + list(args), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_authority(name, *hosts):
    new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl(*new, "-x509", "-keyout", name + ".key", "-out", name + ".pem", "-subj", "/CN=" + name)
    for host in hosts:
        openssl(*new, "-keyout", name + host + ".key", "-out", name + host + ".csr", "-subj", "/CN=" + host)
        open("ext", "w").write("subjectAltName=%s:%s\n" % ("IP" if host[0].isdigit() else "DNS", host))
        openssl("x509", "-req", "-in", name + host + ".csr", "-CA", name + ".pem", "-CAkey", name + ".key",
                "-CAcreateserial", "-out", name + host + ".pem", "-extfile", "ext")


def certificates(ca, host, other=None):
    return ["--cert", ca + host + ".pem", "--key", ca + host + ".key", "--ca", (other or ca) + ".pem"]


def only_senders_with_the_key_get_in():
    def to(relay, *keys, host="127.0.0.1"):
        return ["record", "--no-kernel", "-o", "refused", "--to", "%s:%d" % (host, relay.port), *keys, "--", program, "1"]

    make_key("wrong")
    relay = Relay("psk_out")
    refused(r"does not accept the key wrong", *to(relay, "--psk", "wrong"))
    refused(r"one of --psk, --cert and --plain", *to(relay, "--psk", "key", "--plain"))
    refused(r"a key is needed", *to(relay))
    refused(r"cannot open the key nokey", *to(relay, "--psk", "nokey"))
    refused(r"keys and --keep are for --to", "record", "--psk", "key", "--", "true")
    refused(r"--plain is only for this machine", "record", "-o", "refused", "--to", "192.0.2.1", "--plain", "--", "true")
    refused(r"--plain is only for this machine", "relay", "-o", "refused", "-l", "0.0.0.0:0", "--plain")
    shutil.copy("key", "open_key")
    os.chmod("open_key", 0o644)
    refused(r"others cannot read: chmod 600", *to(relay, "--psk", "open_key"))
    refused(r"others cannot read: chmod 600", "relay", "--psk", "open_key")
    make_authority("ca", "127.0.0.1", "host", "other.example")
    make_authority("foreign", "127.0.0.1", "host")
    refused(r"", *to(relay, *certificates("ca", "host")))
    relay.stop()
    is_(os.listdir("psk_out"), [], "nothing came of it")
    relay = Relay("cert_out", certificates("ca", "127.0.0.1"))
    refused(r"127.0.0.1:\d+: (TLS|its|the )", *to(relay, *KEY))
    refused(r"127.0.0.1:\d+: (TLS|its|the )", *to(relay, *certificates("foreign", "host", "ca")))
    refused(r"its certificate is not accepted: .*(issuer|self)", *to(relay, *certificates("ca", "host", "foreign")))
    refused(r"--cert, --key and --ca go together", *to(relay, "--cert", "cahost.pem"))
    is_(os.listdir("cert_out"), [], "nothing came of it")
    status, out, err = start_sending(relay.port, "--", program, 1000, 0, keys=certificates("ca", "host")).end()
    is_(status, 0, err)
    all_numbers(relay.only(), 1000)
    relay.stop()
    relay = Relay("name_out", certificates("ca", "other.example"))
    refused(r"its certificate is not accepted: IP address mismatch", *to(relay, *certificates("ca", "host")))
    relay.stop()
    relay = Relay("loop_out", ["--plain"])
    status, out, err = start_sending(relay.port, "--", program, 1000, 0, keys=["--plain"]).end()
    is_(status, 0, err)
    all_numbers(relay.only(), 1000)
    relay.stop()
    ok(not os.path.exists("refused"), "a refusal leaves nothing behind")


def hostile_bytes_and_crowds_disturb_no_sender():
    for keys in (KEY, ["--plain"]):
        relay = Relay("hostile_out" + keys[0], keys, more=["--max-size", "1G"])
        crowd = []
        for i in range(1500):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", relay.port))
            crowd.append(s)
        for s in random.sample(crowd, 500):
            try:
                s.send(random.choice([os.urandom(random.randint(1, 2000)), b"GET / HTTP/1.0\r\n\r\n",
                                      b"\xff\xff\xff\xff\x01\0\0\0", b"\x16\x03\x01\xff\xff" + os.urandom(99)]))
            except OSError:
                pass
        begin = time.monotonic()
        status, out, err = start_sending(relay.port, "--", program, 5000, 0, keys=keys).end()
        is_(status, 0, "served in a crowd: " + err)
        print("# served beside 1500 others within %.2f s" % (time.monotonic() - begin))
        all_numbers(relay.only(), 5000)
        for s in crowd:
            s.close()
        ok(relay.p.poll() is None, "the relay lives")
        relay.stop()


def recordings_of_two_hosts_are_in_order():
    if os.geteuid():
        return
    relay = Relay("hosts_out")
    ps = []
    for host, ms in (("alpha", 0), ("beta", 5250)):
        env = dict(os.environ, RELAY_CLOCK_MS=str(ms), DUET_RUNTIME_DIR=work + "/run-" + host)
        ps.append(start("unshare", "-u", "sh", "-c", 'hostname %s; LD_PRELOAD=%s exec "$@"' % (host, clock), "sh", duet,
                        "record", "--no-kernel", "-o", "of_" + host, "--to", "127.0.0.1:%d" % relay.port, *KEY,
                        "--", "env", "LD_PRELOAD=", program, "2000", "1000", work + "/go", env=env))
    for p in ps:
        command_of(p, program)  # each looks for it every millisecond
    open("go", "w").close()
    for p in ps:
        status, out, err = p.end()
        is_(status, 0, err)
    ok("5.2" in err, "the offset is reported", err)
    status, out, err = cmd("view", *relay.recordings())
    m = re.search(r"alpha moved by ([-+.\d]+) s, to within ([.\d]+) s; beta moved by ([-+.\d]+) s, to within ([.\d]+) s", err)
    is_((status, err.count("several hosts")), (0, 1), "clocks are reported once: " + err)
    if ok(m, "how they were moved", err):
        a, ea, b, eb = map(float, m.groups())
        ok(abs(a) <= ea + 1e-3 and abs(b + 5.25) <= eb + 1e-3, "the offset is found", err)
        ok(ea < 0.05 and eb < 0.05, "the error is small", err)
    # Both began together: they are recorded side by side.
    lines = cmd("view", "-e", "relay:number", *relay.recordings())[1].splitlines()
    is_(len(lines), 4000, "all events of both")
    firsts = [i for i, l in enumerate(lines) if "n = 0," in l or "n = 0 " in l]
    ok(len(firsts) == 2 and firsts[1] < 200, "both begin together", str(firsts))
    # A part of alpha's with slower exchanges is moved as alpha is: its events are at the same times.
    both = relay.recordings()
    part = both[0] + "@7-20260101-000000"
    shutil.copytree(both[0], part)
    with open(part + "/.duet/clock-relay") as f:
        took_longer = ["%d %d %d %d\n" % (a, b, c, d + 3000000) for a, b, c, d in (map(int, l.split()) for l in f)]
    with open(part + "/.duet/clock-relay", "w") as f:
        f.writelines(took_longer)
    of_all = cmd("view", "-e", "relay:number", *both, part)[1].splitlines()
    is_(len(of_all), 6000, "all events of all")
    is_(len({re.sub(r" \(.*?\)", "", l, count=1) for l in of_all}), 4000, "those of alpha twice each")
    shutil.rmtree(part)
    # Impossible times move nothing.
    for name in ("clock", "clock-relay"):
        with open(relay.recordings()[1] + "/.duet/" + name, "ab") as f:
            f.write(b"x\n%s\n9 9 9 9 9\n%s\n1 2\n" % (b"18446744073709551615 " * 5, b"4611686018427387904 1 " * 2)
                    + os.urandom(1000))
    again = cmd("view", *relay.recordings())[2]
    ok(re.search(r"beta moved by %s s" % re.escape(m.group(3)), again) if m else False, "damage is passed over", again)
    for r in relay.recordings():
        ok("moved" not in cmd("view", r)[2], "alone it is shown as it was recorded")
    relay.stop()


def a_relay_goes_on_if_its_output_is_not_read():
    """Its output is a pipe that is full: it continues to receive, and reports later that lines are missing."""
    from_it, to_it = os.pipe()
    size = fcntl.fcntl(to_it, fcntl.F_SETPIPE_SZ, 4096)
    relay = start(duet, "relay", "-o", "unread_out", "-l", "127.0.0.1:0", *KEY, stdout=to_it)
    os.close(to_it)
    said = b""
    while not said.endswith(b"\n"):
        said += os.read(from_it, 1)
    port = int(re.search(rb"port (\d+)", said)[1])
    for i in range(size // 30):  # each is reported as refused
        s = socket.create_connection(("127.0.0.1", port))
        s.sendall(b"nonsense" * 8)
        try:
            while s.recv(4096):
                pass
        except ConnectionResetError:
            pass
        s.close()
    is_(start_sending(port, "-o", "unread", "--", program, "2000", "0").end()[0], 0, "it is sent")
    said = os.read(from_it, 1 << 20)

    def another_is_sent_and_reported():
        """Its end is not reported: the pipe of one page then contains its beginning."""
        nonlocal said
        is_(start_sending(port, "--", program, "10", "0").end()[0], 0, "another is sent")
        while select.select([from_it], [], [], 0)[0]:
            said += os.read(from_it, 1 << 16)
        return re.search(rb"\d+ lines are missing here: nobody read them\n\S+ begins", said)
    until(another_is_sent_and_reported, lambda: "later lines are there: %r" % said[-300:])
    relay.terminate()
    is_(relay.wait(), 0, "the relay ends")
    os.close(from_it)


make_key("key")
run_cases(a_recording_streams_and_is_the_same, the_shortest_recording_brings_times_too, a_cut_link_costs_nothing,
          data_on_the_link_may_be_compressed,
          a_killed_relay_goes_on_where_it_was, a_recording_ends_before_the_relay_answers,
          recordings_of_killed_senders_are_sent_later, a_slow_link_loses_nothing_until_spool_and_buffers_are_full,
          a_full_disk_makes_it_wait, only_senders_with_the_key_get_in, hostile_bytes_and_crowds_disturb_no_sender,
          the_newest_finished_recordings_are_kept, the_newest_piece_has_the_highest_number,
          a_piece_that_was_removed_is_not_sent_again, recordings_of_two_hosts_are_in_order, a_relay_goes_on_if_its_output_is_not_read)
