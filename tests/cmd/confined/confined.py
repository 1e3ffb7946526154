#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each verb that reads a recording, each server and a relay enters its sandbox before the first byte of others.

strace shows the order of system calls.  The recording is made by hand: no kernel is needed.

arguments: DUET
"""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import duet, is_, ok, run, run_cases, skip, start, until, work  # noqa: E402

os.chdir(work)
METADATA = """/* CTF 1.8 */
trace { major = 1; minor = 8; byte_order = le;
	packet.header := struct { integer { size = 32; } magic; integer { size = 32; } stream_id; }; };
stream { id = 0; event.header := struct { integer { size = 32; } id; integer { size = 64; } timestamp; };
	packet.context := struct { integer { size = 64; } content_size; integer { size = 64; } packet_size; }; };
event { id = 0; name = "a:b"; stream_id = 0; fields := struct { integer { size = 32; } n; }; };
"""
CALLS = "openat,open,seccomp,landlock_restrict_self,accept4,accept,recvfrom,execve"


def make_recording(path):
    os.makedirs(path + "/.duet")
    with open(path + "/metadata", "w") as f:
        f.write(METADATA)
    with open(path + "/stream", "wb") as f:
        packet = b"\xc1\x1f\xfc\xc1" + bytes(4)
        body = bytes(4) + (1000).to_bytes(8, "little") + (7).to_bytes(4, "little")
        size = (8 + 16 + len(body)) * 8
        f.write(packet + size.to_bytes(8, "little") * 2 + body)
    with open(path + "/.duet/clock", "w") as f:
        f.write("# x\n")


def traced(log, *args, **more):
    return start("strace", "-f", "-qq", "-e", "signal=none", "-e", "trace=" + CALLS, "-o", log, duet, *args, **more)


def order(log):
    """-> pid -> its calls that succeeded, in order; a thread has those of its process"""
    with open(log, errors="replace") as f:
        lines = f.read().splitlines()
    return [m.groups() for m in (re.match(r"(\d+) +(\w+)\((.*)\) = (\d+)", line) for line in lines) if m]


def check(name, log, first):
    """No call that @first is true of comes before the filter of its process."""
    confined, before = set(), []
    for pid, call, arguments, _ in order(log):
        if call == "seccomp" and "SECCOMP_SET_MODE_FILTER" in arguments:
            confined.add(pid)
        elif first(call, arguments) and not confined:
            before.append((call, arguments))
    ok(confined, "%s enters a sandbox" % name)
    is_(before, [], "%s reads nothing before" % name)
    ok(any(first(c, a) for _, c, a, _ in order(log)), "%s reads" % name)


def reads_recording(call, arguments):
    return call in ("open", "openat") and re.search(r'"[^"]*rec/[^"]*(metadata|stream|clock)"', arguments)


def accepts(call, arguments):
    return call in ("accept", "accept4")


READERS = [
    ("view", "rec"), ("view", "--json", "rec"), ("view", "--follow", "rec"), ("view", "--syscalls", "rec"), ("stats", "rec"),
    ("report", "cpu", "rec"), ("report", "io", "rec"), ("graph", "rec"), ("diff", "rec", "rec"),
    ("export", "csv", "rec"), ("export", "chrome", "-o", "out.json", "rec"), ("export", "ctf", "-o", "copy", "rec"),
    ("export", "ctf", "-o", "part", "--from", "+0s", "rec"), ("repair", "rec", "repaired"), ("strace", "-i", "rec"),
    ("script", "-e", "probe begin { println(1) exit() }", "rec"), ("live", "rec"), ("ui", "--html", "page.html", "rec"),
]


def each_reader_is_confined_before_it_reads():
    runs = [(" ".join(a[:2]), "log-%d" % i, traced("log-%d" % i, *a)) for i, a in enumerate(READERS)]
    for name, log, p in runs:
        _, _, err = p.end()
        ok("sandbox refused" not in err, "%s needs no more than it has" % name, err)
        check(name, log, reads_recording)


def the_pages_server_is_confined_before_it_reads():
    p = traced("log-ui", "ui", "--no-browser", "--idle", "1s", "rec")
    p.end()
    check("ui", "log-ui", reads_recording)


def servers_are_confined_before_they_accept():
    p = traced("log-live", "live", "--serve=127.0.0.1:0", "rec")
    line = until(lambda: p.stdout.so_far(), "it listens")
    ok("listens" in line, "it listens", line)
    check("live --serve", "log-live", reads_recording)
    p = traced("log-relay", "relay", "-o", "out", "-l", "127.0.0.1:0", "--plain", "--keep-last", "1")
    port = re.search(r"port (\d+)", until(lambda: p.stdout.so_far(), "it listens")).group(1)
    subprocess.run([duet, "send", "-q", "--plain", "rec", "127.0.0.1:" + port], check=True, timeout=60)
    check("relay", "log-relay", accepts)


def status_of(pid, field):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"^%s:\s*(\d+)" % field, f.read(), re.M).group(1))


def the_kernel_shows_it():
    relay = start(duet, "relay", "-o", "out2", "-l", "127.0.0.1:0", "--plain")
    relay.stdout.readline()
    until(lambda: status_of(relay.pid, "Seccomp") == 2, "the relay is confined")
    is_(status_of(relay.pid, "NoNewPrivs"), 1, "and gains no privileges")
    relay.end(signal.SIGTERM)
    env = dict(os.environ, DUET_SANDBOX="off")
    relay = start(duet, "relay", "-o", "out2", "-l", "127.0.0.1:0", "--plain", env=env)
    port = re.search(r"port (\d+)", relay.stdout.readline()).group(1)
    is_(run(duet, "send", "-q", "--plain", "rec", "127.0.0.1:" + port)[0], 0, "sent")
    is_(status_of(relay.pid, "Seccomp"), 0, "unless it is switched off")
    relay.end(signal.SIGTERM)


def a_script_that_runs_commands_has_no_sandbox_and_says_so():
    status, out, err = run(duet, "script", "-v", "-e", 'probe begin { system("echo done") exit() }', "rec")
    is_((status, out), (0, "done\n"), "the command runs %s" % err)
    ok("without a sandbox: the script has system()" in err, "and -v says it", err)
    status, _, err = run(duet, "script", "-v", "--no-system", "-e", 'probe begin { println(1) exit() }', "rec")
    ok("without a sandbox" not in err, "without it there is one", err)


if subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"]).returncode:
    skip("strace cannot trace here")
make_recording("rec")
run_cases(each_reader_is_confined_before_it_reads, the_pages_server_is_confined_before_it_reads,
          servers_are_confined_before_they_accept, the_kernel_shows_it,
          a_script_that_runs_commands_has_no_sandbox_and_says_so)
