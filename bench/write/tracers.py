# SPDX-License-Identifier: MIT
"""Drive duet and LTTng-UST in the same way: a session with options, a program in it, the events lost.

Both write to the same memory file system, into a directory that is removed after the run.  LTTng's daemon is our own;
if root already runs one, ours cannot start and LTTng's columns stay empty.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time


class NotInThisBuild(Exception):
    """A requested feature does not exist; the text names it."""


class Work:
    """A directory for all files, and the environment of all processes."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="duet-bench-", dir="/dev/shm")
        self.env = dict(os.environ, LTTNG_HOME=self.path + "/lttng")
        for name in ("DUET_SESSION", "DUET_TRACE", "UST_TRACE"):
            self.env.pop(name, None)
        self.processes = []

    def run(self, *command, **more):
        p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=dict(self.env, **more), timeout=120)
        if p.returncode:
            raise NotInThisBuild("%s: %s" % (" ".join(command[:2]), p.stderr.strip().split("\n")[0]))
        return p

    def start(self, *command, **more):
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env=dict(self.env, **more))
        self.processes.append(p)
        return p

    def stop(self, p):
        """End @p as a user would; return its output."""
        p.send_signal(signal.SIGTERM)
        try:
            said = p.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            said = p.communicate()[1]
        self.processes.remove(p)
        return said

    def close(self):
        for p in list(self.processes):
            self.stop(p)
        shutil.rmtree(self.path, ignore_errors=True)


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("bench: %s" % what)
        time.sleep(0.02)


def cpu_ns(pid):
    """Return the CPU time of all threads of a process and its children, from the scheduler, in nanoseconds."""
    total = 0
    for task in glob.glob("/proc/%d/task/*" % pid):
        with contextlib.suppress(OSError), open(task + "/schedstat") as f:
            total += int(f.read().split()[0])
        with contextlib.suppress(OSError), open(task + "/children") as f:
            total += sum(cpu_ns(int(child)) for child in f.read().split())
    return total


def stream_bytes(directory, pattern):
    """Return the bytes of the streams below @directory whose file name matches, without indexes."""
    return sum(os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(directory)
               for f in files if re.match(pattern, f) and not f.endswith(".idx"))


class Session:
    """The results of a recording, valid after its `with`."""
    path = None
    lost = 0
    bytes = 0
    cpu_ns = 0
    found = {}  # {name: number of events in the files}
    metadata = ""

    def read(self, work):
        """Count the events of the files, by name, with duet's reader: it reads both tracers' files."""
        try:
            stats = json.loads(work.run(work.reader, "stats", "--json", self.path).stdout)
        except NotInThisBuild:  # there is no file
            return
        self.found = {e["event"]: e["n"] for e in stats["events"]}
        for at in glob.glob(self.path + "/**/metadata", recursive=True):
            with open(at, errors="replace") as f:
                self.metadata += f.read()


class Duet:
    name = "duet"

    def __init__(self, work, binary, library):
        self.work, self.binary, self.library = work, binary, library
        work.reader = binary
        self.help = work.run(binary, "collect", "--help").stdout

    def environment(self, runtime="run"):
        return {"DUET_LIBRARY": self.library, "DUET_RUNTIME_DIR": self.work.path + "/" + runtime}

    def dormant(self):
        return self.environment("nobody")

    @contextlib.contextmanager
    def session(self, contexts=(), event_filter=None, overwrite=False, events="bench:*", runtime="run"):
        """A collector, ready; @contexts are duet's names, @event_filter an expression."""
        options, result = [], Session()
        if contexts:
            self.need("--context")
            options += ["--context", ",".join(contexts)]
        if overwrite:
            options += ["--overwrite", "-b", "8M"]
        options += ["-e", events or "!*"]  # without -e it would record all events
        if event_filter:  # of the -e before it
            self.need("-f, ")
            options += ["-f", event_filter]
        result.path = self.work.path + "/trace-" + runtime
        env = self.environment(runtime)
        p = self.work.start(self.binary, "collect", "-o", result.path, *options, **env)
        wait_until(lambda: os.path.exists(env["DUET_RUNTIME_DIR"] + "/session-default") or
                   p.poll() is not None, 10, "duet collect does not begin")
        if p.poll() is not None:
            self.work.processes.remove(p)
            raise NotInThisBuild(p.stderr.read().strip().split("\n")[0])
        before = cpu_ns(p.pid)
        try:
            yield result
            time.sleep(0.2)  # the collector polls at most 50 times a second
            result.cpu_ns = cpu_ns(p.pid) - before
        finally:
            said = self.work.stop(p)
            lost = re.search(r"(\d+) LOST", said)
            result.lost = int(lost.group(1)) if lost else 0
            result.bytes = stream_bytes(result.path, r"(cpu|lane)_\d+$")
            result.read(self.work)
            shutil.rmtree(result.path, ignore_errors=True)

    def need(self, option):
        if option not in self.help:
            raise NotInThisBuild("no %s" % option)


class Lttng:
    name = "LTTng"

    def __init__(self, work):
        self.work, self.sessiond = work, None

    def environment(self):
        return {}

    dormant = environment

    def lttng(self, *args):
        return self.work.run("lttng", "--no-sessiond", *args).stdout

    def answers(self):
        return not subprocess.run(["lttng", "--no-sessiond", "list"], env=self.work.env,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def up(self):
        """Start the daemon.  False if there cannot be one."""
        if not shutil.which("lttng-sessiond") or not shutil.which("lttng"):
            return False
        if self.answers():
            print("# an lttng-sessiond of somebody else runs: LTTng is left out")
            return False
        os.makedirs(self.work.env["LTTNG_HOME"], exist_ok=True)
        self.sessiond = self.work.start("lttng-sessiond", "--no-kernel")
        wait_until(self.answers, 10, "lttng-sessiond does not answer")
        return True

    def down(self):
        self.work.stop(self.sessiond)
        self.sessiond = None

    def consumer(self):
        """Return the pid of its consumer daemon; 0 if it has none yet."""
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError), open(path) as f:
                pid, name, _, parent = re.match(r"(\d+) \((.*)\) (\S) (\d+)", f.read()).groups()
                # The daemon forks once more before it starts the consumer.
                if name.startswith("lttng-consumer") and self.is_ours(int(parent)):
                    return int(pid)
        return 0

    def is_ours(self, pid):
        while pid > 1 and pid != self.sessiond.pid:
            with open("/proc/%d/stat" % pid) as f:
                pid = int(re.match(r"\d+ \(.*\) \S (\d+)", f.read()).group(1))
        return pid == self.sessiond.pid

    @contextlib.contextmanager
    def session(self, contexts=(), event_filter=None, overwrite=False,
                events="bench:*,lttng_ust_tracef:*", sub_buffer="4M"):
        """A session that records; @contexts are LTTng's names."""
        result = Session()
        result.path = self.work.path + "/lttng-trace"
        self.lttng("create", "bench", "--output=" + result.path, *(["--snapshot"] if overwrite else []))
        try:
            self.lttng("enable-channel", "-u", "--num-subbuf=8", "--subbuf-size=" +
                       ("512k" if overwrite else sub_buffer), "c")
            self.lttng("enable-event", "-u", "-c", "c", events,
                       *(["--filter=" + event_filter] if event_filter else []))
            for c in contexts:
                self.lttng("add-context", "-u", "-c", "c", "-t", c)
            self.lttng("start")
            consumer = self.consumer()
            before = cpu_ns(consumer)
            yield result
            self.lttng("stop")
            if overwrite:
                self.lttng("snapshot", "record")
            result.cpu_ns = cpu_ns(consumer) - before
            listing = self.lttng("list", "bench")
            result.lost = sum(map(int, re.findall(r"Discarded events?: *(\d+)", listing)))
        finally:
            self.lttng("destroy", "bench")
            result.bytes = stream_bytes(result.path, r"c_\d+$")
            result.read(self.work)
            shutil.rmtree(result.path, ignore_errors=True)
