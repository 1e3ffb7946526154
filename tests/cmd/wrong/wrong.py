# SPDX-License-Identifier: MIT
"""Each wrong input gets one message with its name, the reason and the remedy; nothing is left behind.

usage: wrong.py DUET PROGRAM LIBDUET LIST...

A line of a list is a command line of duet, " :: ", and words that its message has, divided by " ; ".  "[1]" before it:
it exits with 1, not with 2.  "[0]": it is done, with a remark.  ^A stands for a control character.  These words are
replaced:

  $REC       a recording of an application, of half a second        $PROGRAM  a program with events
  $SLEEPER   a process without events                               $ENDED    the pid of a process that has ended
  $FILE      a file that is no recording and no program             $EMPTY, $FULL  directories
  $DAMAGED/  recordings that are damaged, each in its own way       $LINK     a link that leads to itself

A message is one line, perhaps with lines that begin with two blanks; scripts, whose messages show the place, may have
more.  Lists that need the kernel's events are skipped without tracefs.
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

MOST_LINES = 4


def parse(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        left, _, words = line.partition(" :: ")
        status = 2
        found = re.match(r"\[(\d+)\] ", left)
        if found:
            status, left = int(found.group(1)), left[found.end():]
        yield "%s:%d" % (path.name, number), left.replace("^A", "\x01"), status, [w.strip() for w in words.split(" ; ")]


def damage(recording, to):
    """Makes recordings that are damaged; returns their names."""
    def copy(name):
        shutil.copytree(recording, to / name)
        return to / name

    def metadata(p):
        return next(p.rglob("metadata"))

    def stream(p):
        return max((f for f in p.rglob("*_*") if f.is_file() and f.parent.name == "64-bit"), key=lambda f: f.stat().st_size)

    to.mkdir()
    p = metadata(copy("no-metadata"))
    p.unlink()
    metadata(copy("empty-metadata")).write_text("")
    metadata(copy("garbage-metadata")).write_bytes(bytes(range(256)))
    p = metadata(copy("cut-metadata"))
    p.write_bytes(p.read_bytes()[:300])
    p = metadata(copy("other-version"))
    p.write_bytes(p.read_bytes().replace(b"major = 1", b"major = 7"))
    p = stream(copy("bad-magic"))
    p.write_bytes(struct.pack("<I", 7) + p.read_bytes()[4:])
    p = stream(copy("cut-stream"))
    p.write_bytes(p.read_bytes()[:40])
    p = copy("unreadable") / "x"
    p.symlink_to(p)


def run(duet, scratch, row, values):
    name, line, status, words = row
    here = scratch / ("row-" + name.replace(":", "-"))
    runtime = scratch / ("run-" + name.replace(":", "-"))
    here.mkdir()
    runtime.mkdir(0o700)
    for key, value in values.items():
        line = line.replace("$" + key, str(value))
        words = [w.replace("$" + key, str(value)) for w in words]
    p = subprocess.Popen([duet, *shlex.split(line)], cwd=here, env=dict(os.environ, DUET_RUNTIME_DIR=str(runtime)),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace", start_new_session=True)
    try:
        out, err = p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        return "does not end: duet " + line
    return judge(p, out, err, line, status, words, here, runtime)


def judge(p, out, err, line, status, words, here, runtime):
    lines = err.splitlines()
    left = [str(f) for f in here.iterdir()] + [f for f in os.listdir(runtime) if not f.startswith("seats")]
    if p.returncode != status:
        wrong = "exits with %d, not %d" % (p.returncode, status)
    elif status == 2 and out:
        wrong = "writes to standard output"
    elif not lines:
        wrong = "is silent"
    elif re.search(r"[\x00-\x08\x0b-\x1f\x7f]", err):
        wrong = "prints a control character"
    elif status == 2 and not (line.startswith("script") or lines[0].startswith("duet")):
        wrong = "does not begin with its name"
    elif status == 2 and not line.startswith("script") and any(not l.startswith("  ") for l in lines[1:]):
        wrong = "prints more than one message"
    elif status and len(lines) > MOST_LINES and not line.startswith("script"):
        wrong = "prints %d lines" % len(lines)
    elif any(w not in err for w in words):
        wrong = "does not have: " + ", ".join(w for w in words if w not in err)
    elif left and status:
        wrong = "leaves behind: %s" % left
    else:
        return None
    return "%s\n# duet %s\n# %s%s" % (wrong, line, out[:200], err[:600].replace("\n", "\n# "))


def processes_of(scratch):
    """Those that run with our environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = pathlib.Path("/proc/%s/environ" % pid).read_bytes()
        except OSError:
            continue
        if b"DUET_RUNTIME_DIR=" + str(scratch).encode() in environment:
            found.append(int(pid))
    return found


def main():
    duet, program, library = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:4])
    lists = [pathlib.Path(a).resolve() for a in sys.argv[4:]]
    has_kernel = not subprocess.run([duet, "list", "-k", "sched_switch"], capture_output=True).returncode
    failed = n = 0
    with tempfile.TemporaryDirectory(prefix="duet-wrong-") as directory:
        scratch = pathlib.Path(directory).resolve()
        for name in ("empty", "full", "runtime"):
            (scratch / name).mkdir(0o700)
        (scratch / "full/something").touch()
        (scratch / "file").write_text("no program\n")
        (scratch / "link").symlink_to("link")
        os.environ.pop("DUET_RUNTIME_DIR", None)
        os.environ.update(DUET_LIBRARY=library, LC_ALL="C")
        subprocess.run([duet, "record", "-q", "--no-kernel", "-o", str(scratch / "rec"), "--", program], check=True,
                       env=dict(os.environ, DUET_RUNTIME_DIR=str(scratch / "runtime")))
        damage(scratch / "rec", scratch / "damaged")
        sleeper = subprocess.Popen(["sleep", "1000"])
        ended = subprocess.Popen(["true"])
        ended.wait()
        values = {"REC": scratch / "rec", "PROGRAM": program, "SLEEPER": sleeper.pid, "ENDED": ended.pid,
                  "FILE": scratch / "file", "EMPTY": scratch / "empty", "FULL": scratch / "full",
                  "DAMAGED": scratch / "damaged", "LINK": scratch / "link"}
        rows = [r for f in lists if has_kernel or "kernel" not in f.name for r in parse(f)]
        try:
            with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
                for row, wrong in zip(rows, pool.map(lambda r: run(duet, scratch, r, values), rows)):
                    n += 1
                    if wrong:
                        failed += 1
                        print("not ok %s: %s" % (row[0], wrong))
        finally:
            sleeper.kill()
            sleeper.wait()
        end = time.monotonic() + 30
        while processes_of(scratch) and time.monotonic() < end:
            time.sleep(0.05)
        left = processes_of(scratch)
        if left:
            failed += 1
            print("not ok: processes run on: %s" % left)
    print("%d wrong inputs, %d answered badly%s" % (n, failed, "" if has_kernel else "; the kernel's are skipped"))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
