# SPDX-License-Identifier: MIT
"""One test of running programs: a directory of its own, the programs it starts, its checks, and their end.

A test is a process, so its state belongs to this module.  Importing it makes `work`, a directory that is removed
at the end, and DUET_RUNTIME_DIR in it; duet is the first argument of the command line.  A test begins

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
    from trial import duet, is_, ok, paths, run_cases, start, until, work
    program, library = paths(2)

and ends `run_cases(one, another)`: functions named by the sentence that they prove.  TEST_CASES=one runs that alone,
TEST_SEED=n repeats the dice of another run, TEST_KEEP=1 leaves the directory.

What always holds:
- every wait has a limit of PATIENCE seconds, far beyond the time needed on a busy machine; if it runs out,
  the failure names the missing event;
- a program that start() returns has executed its file, and may be sent a signal;
- its output goes to files without names, not to pipes: it never waits for us, and its output is shown when its
  case fails;
- at the end nothing that came from this test runs on.
"""
import atexit
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import proc

PATIENCE = 120
duet = os.path.abspath(sys.argv[1])
name = os.path.basename(sys.argv[0])[:24]  # a path of a socket has at most 107 bytes
started, failures, remarks = [], [], []
owner = os.getpid()

for variable in [v for v in os.environ if v.startswith("DUET_") and v != "DUET_NO_SKIP"] + ["NOTIFY_SOCKET"]:
    os.environ.pop(variable, None)
work = tempfile.mkdtemp(prefix="duet-%s-" % name)
runtime = work + "/run"
os.environ["DUET_RUNTIME_DIR"] = runtime
os.environ["XDG_CACHE_HOME"] = work + "/cache"  # plans of programs
sys.stdout.reconfigure(line_buffering=True, errors="replace")


def paths(n, library=True):
    """The next n arguments, files; the last one is libduet unless @library says otherwise."""
    found = [os.path.abspath(a) for a in sys.argv[2:2 + n]]
    if library:
        os.environ["DUET_LIBRARY"] = found[-1]
    return found


class Failed(Exception):
    """The case cannot go on."""


# ---------------------------------------------------------------- checks

def fail(what):
    if what not in failures:
        print("not ok: %s" % what)
    failures.append(what)


def ok(condition, what, more=""):
    if not condition:
        fail("%s %.1500s" % (what, more))
    return bool(condition)


def is_(got, want, what):
    return ok(got == want, what, ": got %.700r, wanted %.700r" % (got, want))


def until(condition, what, seconds=PATIENCE):
    """Its value once it is true.  A file or process that is not there means: not yet."""
    begin = time.monotonic()
    while True:
        try:
            value = condition()
        except (FileNotFoundError, ProcessLookupError):
            value = None
        if value:
            return value
        waited = time.monotonic() - begin
        if waited > seconds:
            raise Failed("%s: not within %d s" % (what() if callable(what) else what, seconds))
        time.sleep(min(max(0.002, waited / 10), 0.1))  # a long wait polls less often: other processes need the CPU


def dice(seed=None):
    """Random numbers; failures print the seed."""
    if seed is None:
        seed = int(os.environ.get("TEST_SEED") or random.randrange(1 << 30))
    remarks.append("seed %s" % seed)
    return random.Random(seed)


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


# ---------------------------------------------------------------- programs

class Output:
    """The output of a program, read as from a pipe: lines are waited for, and its end is the end."""

    def __init__(self, program, file):
        self.program, self.file, self.at = program, file, 0

    def _read(self, at):
        # Not "as much as there may be": room for that is filled first if MALLOC_PERTURB_ is set.
        size = os.fstat(self.file.fileno()).st_size
        return os.pread(self.file.fileno(), max(size - at, 0), at)

    def _rest(self):
        return self._read(self.at)

    def _take(self, n):
        taken = self._rest()[:n]
        self.at += len(taken)
        return taken.decode(errors="replace")

    def _line(self):
        has_ended = self.program.poll() is not None  # checked first: then all its earlier output is there
        n = self._rest().find(b"\n")
        return (n + 1) or has_ended

    def readline(self):
        until(self._line, lambda: "%s says a line" % self.program)
        n = self._rest().find(b"\n")
        return self._take(n + 1 if n >= 0 else 1 << 30)

    def __iter__(self):
        return iter(self.readline, "")

    def read(self):
        self.program.wait()
        return self._take(1 << 30)

    def so_far(self):
        return self._read(0).decode(errors="replace")

    def end_so_far(self, n=1 << 16):
        """The last n bytes of it."""
        return self._read(max(os.fstat(self.file.fileno()).st_size - n, 0)).decode(errors="replace")


class Program(subprocess.Popen):
    """subprocess.Popen; unless the caller redirects its output, it is read from .stdout and .stderr."""

    def __init__(self, argv, **more):
        own = {n: tempfile.TemporaryFile() for n in ("stdout", "stderr") if n not in more}
        super().__init__([str(a) for a in argv], **{"text": True, **more, **own})
        self.outputs = {n: Output(self, f) for n, f in own.items()}
        for n, output in self.outputs.items():
            setattr(self, n, output)
        started.append(self)

    def __str__(self):
        return " ".join(os.path.basename(self.args[0]).split() + self.args[1:])[:120]

    def wait(self, timeout=PATIENCE):
        try:
            return super().wait(timeout)
        except subprocess.TimeoutExpired:
            raise Failed("%s ends: not within %d s" % (self, timeout)) from None

    def communicate(self, input=None, timeout=PATIENCE):
        """-> the rest of its output, and that of its stderr, when it has ended"""
        if input is not None:
            self.stdin.write(input)
        if self.stdin:
            self.stdin.close()
        self.wait(timeout)
        return tuple(self.outputs[n].read() if n in self.outputs else None for n in ("stdout", "stderr"))

    def end(self, sig=None):
        """-> (status, the rest of its output, and that of its stderr), after a signal if one is given"""
        if sig:
            self.send_signal(sig)
        out, err = self.communicate()
        return self.returncode, out, err


def start(*argv, **more):
    return Program(argv, **more)


def run(*argv, timeout=PATIENCE, **more):
    """-> (status, stdout, stderr)"""
    try:
        p = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           errors="replace", timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        raise Failed("%s ends: not within %d s" % (" ".join(map(str, argv))[:200], timeout)) from None
    return p.returncode, p.stdout, p.stderr


def cmd(*args, **more):
    """duet -> (status, stdout, stderr)"""
    return run(duet, *args, **more)


def has_session(session="default", directory=runtime):
    """@directory: the runtime directory of the session's user."""
    return os.path.exists("%s/session-%s" % (directory, session))


def begins(p, session="default", directory=runtime):
    """A collector that was started, once programs can join it."""
    until(lambda: has_session(session, directory) or p.poll() is not None, "the session %s begins" % session)
    if p.poll() is not None:
        raise Failed("%s ended with %d: %s" % (p, p.returncode, p.stderr.read()))
    return p


def worker_of(keeper):
    """The process that collects, once there is one.  @keeper: a Program, or a number."""
    pid = getattr(keeper, "pid", keeper)
    return until(lambda: proc.children(pid), "a collector below %d" % pid)[0]


def command_of(p, program):
    """The number of a child of @p that executes @program, once one does: before, it is another @p."""
    wanted = os.path.realpath(program)
    return until(lambda: [c for c in proc.children(p.pid) if proc.exe(c) == wanted], "%s runs %s" % (p, program))[0]


def go_on(*programs, times=20):
    """Each thread of each program, which sleeps between its rounds, has done so many rounds more."""
    for p in programs:
        pid = getattr(p, "pid", p)
        before = proc.sleeps(pid)

        def has_gone_on():
            now = proc.sleeps(pid)
            return now and all(now.get(t, 0) >= before.get(t, 0) + times for t in now)
        until(has_gone_on, "%s goes on" % p)


# ---------------------------------------------------------------- the whole

def ours():
    """All processes of this test, also those in the background."""
    mark = "DUET_RUNTIME_DIR=%s/" % work
    own = set(proc.descendants(owner)) | {pid for pid in proc.everybody() if mark in proc.read(pid, "environ")}
    return [pid for pid in own - {owner} if not proc.is_dead(pid)]


def close():
    if os.getpid() != owner:
        return  # a child of ours that Python ends
    for _ in range(1000):
        left = ours()
        if not left:
            break
        proc.kill_all(left)
        for p in started:
            p.poll()
        time.sleep(0.005)
    if os.environ.get("TEST_KEEP"):
        print("kept: " + work)
    else:
        shutil.rmtree(work, ignore_errors=True)


def ended_by_signal(sig, frame):
    if os.getpid() != owner:
        os._exit(128 + sig)
    raise Failed("ended by signal %d: out of time?" % sig)


atexit.register(close)
signal.signal(signal.SIGTERM, ended_by_signal)
for ignored in signal.SIGINT, signal.SIGHUP:  # by nohup, or by a shell for what runs in the background
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)


def show(programs):
    """Their command lines, and their last output."""
    for p in programs[-8:]:
        said = [line for output in p.outputs.values() for line in output.so_far().splitlines()[-4:]]
        print("  | %s: %s" % (p, "runs" if p.poll() is None else "status %d" % p.returncode))
        for line in said:
            print("  |    %.200s" % line)


def run_cases(*cases):
    wanted = (os.environ.get("TEST_CASES") or "").split(",")
    if wanted != [""]:
        cases = [c for c in cases if c.__name__ in wanted]
    for case in cases:
        n_failures, n_started, begin, goes_on = len(failures), len(started), time.monotonic(), True
        try:
            case()
        except Exception as e:  # later cases depend on the failed one
            goes_on = False
            traceback.print_exc(file=sys.stdout)
            fail("%s: %s" % (type(e).__name__, e))
        failed = failures[n_failures:]
        sentence = case.__name__.replace("_", " ")
        print("%s %s (%.1f s)" % ("not ok" if failed else "ok", sentence, time.monotonic() - begin))
        if failed:
            show(started[n_started:])
            remarks.append(sentence)
        if not goes_on:
            break
    if failures:
        print("FAILED: %s" % "; ".join(remarks))
        for what in list(dict.fromkeys(failures))[:8]:
            print("  %.400s" % what)
    sys.exit(bool(failures))
