#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/agree_many.py - more than a hundred traces that Babeltrace 2 and duet read alike.

agree_many.py DUET SAMPLE TO_CTF2 LIBDUET [N] compares every event's time, cpu, name, contexts and fields, of
  - N random traces (random_ctf.py; 70; the long form is thousands)
  - traces that LTTng-UST records of SAMPLE in many sessions at once, some rotated, some as snapshots
  - recordings by duet of find(1), with several options
  - a copy of each recorded trace by Babeltrace's own writer (sink.ctf.fs)
Each is read a second time with its metadata converted to CTF 2 (to_ctf2.c), with the same result, and some without
their index.  Exit: 0 all agree, 1 not, 77 nothing to compare with.
"""
import glob
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agree
import random_ctf
import record_lttng

CONTEXTS = ((), ("vpid",), ("vtid", "procname"), ("vpid", "vtid", "procname", "ip", "pthread_id"),
            ("cgroup_ns", "ipc_ns", "mnt_ns", "net_ns", "pid_ns", "user_ns", "uts_ns"), ("vuid", "veuid", "vgid"))
CHANNELS = (("--subbuf-size=4096", "--num-subbuf=64"), ("--subbuf-size=16384", "--num-subbuf=16"),
            ("--subbuf-size=65536", "--num-subbuf=4", "--overwrite"), ("--subbuf-size=131072", "--num-subbuf=2"))
EVENTS = (("sample:*",), ("-a",), ("sample:integers", "sample:enums"), ("sample:texts", "sample:arrays", "sample:floats"))


def session(d, name, out, way, *how):
    buffers, channel, contexts, events = way
    d.run("create", name, "--output=" + out, *how)
    d.run("enable-channel", "-u", "-s", name, buffers, *channel, "c")
    d.run("enable-event", "-u", "-s", name, "-c", "c", ",".join(e for e in events if e != "-a") or "-a")
    for c in contexts:
        d.run("add-context", "-u", "-s", name, "-c", "c", "-t", c)
    d.run("start", name)


def lttng(directory, sample):
    """Records sessions side by side: the program runs once for all, as three processes."""
    traces = []
    d = record_lttng.Daemon()
    try:
        ways = list(itertools.product(("--buffers-uid", "--buffers-pid"), CHANNELS, CONTEXTS, EVENTS))[::11]
        names = []
        for i, way in enumerate(ways):
            snapshot = i % 5 == 4
            names.append(("s%d" % i, os.path.join(directory, "lttng-%d" % i), snapshot, i % 5 == 3))
            session(d, *names[-1][:2], way, *(("--snapshot",) if snapshot else ()))
        for turn in range(2):
            running = [subprocess.Popen([sample, n], env=d.env, stdout=subprocess.DEVNULL) for n in ("2", "3", "1")]
            for p in running:
                p.wait()
            for name, _, snapshot, rotate in names:
                if snapshot:
                    d.run("snapshot", "record", "-s", name, check=False)
                elif rotate and not turn:
                    d.run("rotate", name, check=False)
        for name, _, _, _ in names:
            d.run("stop", name)
            d.run("destroy", name)
    finally:
        d.close()
    for _, out, _, _ in names:
        # A rotated or snapshot session holds several traces; each is compared alone.
        parts = glob.glob(out + "/archives/*") + glob.glob(out + "/snapshot-*") or [out]
        for p in parts:
            leave_out_empty(p)
        traces += [p for p in parts if glob.glob(p + "/**/metadata", recursive=True)]
    return traces


def leave_out_empty(session_directory):
    """If a program ends while it registers, LTTng leaves metadata without a stream, which Babeltrace refuses."""
    for metadata in glob.glob(session_directory + "/**/metadata", recursive=True):
        with open(metadata, "rb") as f:
            if b"stream {" not in f.read():
                shutil.rmtree(os.path.dirname(metadata))


def duet_ways(directory, duet, library):
    env = dict(os.environ, DUET_RUNTIME_DIR=directory + "/run", DUET_LIBRARY=library)
    ways = {"plain": (), "contexts": ("-c", "ip,procname,ppid"), "overwrite": ("--overwrite",),
            "channel": ("--channel", "heap:events=lttng_ust_libc:malloc,size=16K,context=procname"),
            "mono": ("--clock", "mono", "--no-kernel"), "applications": ("--no-kernel",),
            "kernel": ("-k", "sched")}
    for name, options in ways.items():
        out = os.path.join(directory, "duet-" + name)
        r = subprocess.run([duet, "record", "-q", "-e", "lttng_ust_libc:*", *options, "-o", out, "--", "find", "/etc",
                            "-maxdepth", "1"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if r.returncode or not os.path.isdir(out):
            raise SystemExit("duet record %s: %s" % (name, r.stderr))
        yield out


def rewritten(trace):
    """Returns the trace as Babeltrace writes it; None if it refuses."""
    out = trace + "-bt2"
    r = subprocess.run(["babeltrace2", trace, "--component=sink.ctf.fs", "--params=path=\"%s\"" % out],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return out if r.returncode == 0 and glob.glob(out + "/**/metadata", recursive=True) else None


def text_of(duet, path):
    return subprocess.run([duet, "view", "--json", path], stdout=subprocess.PIPE, check=True).stdout


def same_in_ctf2(duet, to_ctf2, trace, scratch):
    """Returns True if the text is the same; None if CTF 2 cannot express the trace."""
    copy = os.path.join(scratch, "ctf2")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trace, copy)
    for metadata in glob.glob(copy + "/**/metadata", recursive=True):
        r = subprocess.run([to_ctf2, metadata], stdout=subprocess.PIPE)
        if r.returncode == 3:
            return None
        if r.returncode:
            raise SystemExit("to_ctf2 failed for " + trace)
        with open(metadata, "wb") as f:
            f.write(r.stdout)
    for index in glob.glob(copy + "/**/index", recursive=True):
        shutil.rmtree(index)
    return text_of(duet, copy) == text_of(duet, trace)


def main():
    duet, sample, to_ctf2, library = map(os.path.abspath, sys.argv[1:5])
    n_random = int(sys.argv[5]) if len(sys.argv) > 5 else 70
    record_lttng.enter_private_mounts()
    with tempfile.TemporaryDirectory(prefix="duet-agree-") as directory:
        traces, good, in_ctf2 = [], 0, 0
        for seed in range(1, n_random + 1):
            traces.append(os.path.join(directory, "random-%d" % seed))
            os.mkdir(traces[-1])
            random_ctf.make(traces[-1], seed)
        try:
            recorded = lttng(directory, sample)
        except record_lttng.LttngMissing as e:
            print(e)
            return 77
        recorded += list(duet_ways(directory, duet, library))
        again = [t for t in map(rewritten, recorded[::4]) if t]
        traces += recorded + again
        for t in traces:
            good += agree.compare([duet, "view"], t)
            is_same = same_in_ctf2(duet, to_ctf2, t, directory)
            in_ctf2 += bool(is_same)
            if is_same is False:
                print("%s: reads differently with CTF 2 metadata" % t)
                return 1
        print("%d of %d traces agree (%d recorded, %d written by Babeltrace), %d also in CTF 2" % (
            good, len(traces), len(recorded), len(again), in_ctf2))
        return 0 if good == len(traces) >= n_random + 30 and in_ctf2 > n_random / 2 else 1


if __name__ == "__main__":
    sys.exit(main())
