# SPDX-License-Identifier: MIT
"""What the tests of following share: a work directory, recorders and programs, and their end."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

duet, program, library = map(os.path.abspath, sys.argv[1:4])
work = tempfile.mkdtemp(prefix="duet-follow-")
os.environ["DUET_RUNTIME_DIR"] = work + "/run"
os.environ["DUET_LIBRARY"] = library
started, failures = [], []


def ok(condition, what):
    if not condition:
        failures.append(what)
        print("not ok:", what)
    return condition


def wait_for(what, seconds=60):
    """Its value once it is true; None when time runs out, which is far beyond what it takes."""
    end = time.time() + seconds
    while time.time() < end:
        value = what()
        if value:
            return value
        time.sleep(0.01)
    return None


def start(*command, **options):
    p = subprocess.Popen(command, text=True, **options)
    started.append(p)
    return p


def to_file(name, *command):
    """The command, its output in a file of the work directory."""
    with open(name, "w") as out, open(name + ".err", "w") as err:
        return start(*command, stdout=out, stderr=err)


def lines(name):
    with open(name) as f:
        return f.read().splitlines()


def collect(trace, *options):
    c = to_file(trace + ".told", duet, "collect", "-o", trace, "-e", "follow:*", *options)
    if not wait_for(lambda: os.path.exists(work + "/run/session-default")):
        raise SystemExit("the session does not begin: %r" % lines(trace + ".told.err"))
    return c


def run_program(first=0):
    """Its threads are numbered from there."""
    p = start(program, str(first), stdout=subprocess.PIPE)
    ok(p.stdout.readline() == "ready\n", "the program runs")
    return p


def stop(p, how=signal.SIGTERM):
    """Its output."""
    p.send_signal(how)
    return p.communicate()[0]


def is_written_on(trace):
    """How many times the recorder has said how far the files are."""
    return sum(len(line.split()) == 6 for line in lines(trace + "/.duet/clock"))


def finish():
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()
    if failures:
        print("kept:", work)
    else:
        shutil.rmtree(work)
    sys.exit(bool(failures))
