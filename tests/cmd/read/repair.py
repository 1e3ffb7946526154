#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/repair.py - Babeltrace 2 reads the result of `duet repair` for every damaged recording.

repair.py DUET LIBDUET [N]: N (80) damaged copies of random traces (random_ctf.py), some of them compressed by
zstd(1), and of recordings by duet, one of them in compressed trace chunks.  Each is cut, flipped, zeroed or
extended, in metadata or streams.  For each repaired copy
  - Babeltrace reads it without an error, and as many events as duet does
  - duet finds no damage
  - it has no event that duet did not read from the damaged copy
An undamaged trace is not changed.  Exit: 0, 1 failure, 77 no Babeltrace.
"""
import glob
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import random_ctf
from record_heap import record_heap

duet, library = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
n_damaged = int(sys.argv[3]) if len(sys.argv) > 3 else 80


def run(*args, **more):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def streams(trace):
    return sorted(f for f in glob.glob(trace + "/**", recursive=True)
                  if os.path.isfile(f) and not os.path.basename(f).startswith("metadata") and "/index/" not in f and "/.duet/" not in f
                  and os.path.getsize(f))


def damage(r, trace):
    """Damages one place; returns a description."""
    kind = r.choice(("cut", "flip", "flip", "flip", "header", "zeros", "insert", "text", "text cut"))
    path = r.choice(glob.glob(trace + "/**/metadata*", recursive=True) if kind.startswith("text") else streams(trace))
    with open(path, "rb") as f:
        b = bytearray(f.read())
    at = r.randrange(len(b))
    if kind in ("cut", "text cut"):
        del b[max(at, len(b) // 2):]
    elif kind == "zeros":
        n = min(r.randrange(1, 200), len(b) - at)
        b[at:at + n] = bytes(n)
    elif kind == "insert":
        b[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 50)))
    else:
        if kind == "header":
            at = r.randrange(min(len(b), 84))
        b[at] ^= 1 << r.randrange(8)
    with open(path, "wb") as f:
        f.write(b)
    return "%s at %d of %s" % (kind, at, path)


def without_derived(line):
    """Returns the event without the fields that other data of the recording decides, which may be the damage: host and
    domain come from the metadata's env, the process from the state dump or an earlier switch of the thread."""
    head, event, rest = line.partition(b'"event":')
    head = re.sub(rb'"(host|domain|proc)":"(?:[^"\\]|\\.)*",|"pid":\d+,', b"", head)
    return head + event + rest


def view_without_losses(trace):
    """Returns the events without losses: they come from a counter, which may be the damage."""
    r = run(duet, "view", "--json", trace)
    lines = [without_derived(l) for l in r.stdout.splitlines() if b'"lost_events"' not in l]
    return lines, r.stderr.decode(errors="replace")


def check(trace, label):
    """Returns the number of errors."""
    before, _ = view_without_losses(trace)
    out = trace + "-whole"
    r = run(duet, "repair", trace, out)
    if r.returncode:
        # A single packet may be damaged as a whole.
        if not os.path.exists(out) and (not before or "it has no undamaged packet" in r.stderr.decode()):
            return 0
        print("%s: repair failed: %s" % (label, r.stderr.decode(errors="replace")))
        return 1
    bad = 0
    after, messages = view_without_losses(out)
    n = 0
    # One by one: sources with clocks without their UUID cannot be opened together.
    for part in glob.glob(out + "/**/metadata", recursive=True):
        babeltrace = run("babeltrace2", os.path.dirname(part))
        n += len(babeltrace.stdout.splitlines())
        if b"`tgt_fc` failed" in babeltrace.stderr:
            return bad  # Babeltrace 2.0.4 fails an assertion, on some undamaged metadata as well
        if babeltrace.returncode == -8:
            return bad  # Babeltrace 2.0.4 divides by zero if a clock has no frequency and begins late
        if babeltrace.returncode or b"ERROR" in babeltrace.stderr:
            print("%s: babeltrace2: %d, %s" % (label, babeltrace.returncode, babeltrace.stderr.decode(errors="replace")[:600]))
            bad += 1
    if n != len(after) and not bad:
        print("%s: babeltrace2 reads %d events, duet %d" % (label, n, len(after)))
        bad += 1
    if "byte" in messages or "metadata" in messages:
        print("%s: still damaged: %s" % (label, messages))
        bad += 1
    if set(after) - set(before):
        print("%s: has events that were not there: %s" % (label, sorted(set(after) - set(before))[:2]))
        bad += 1
    shutil.rmtree(out)
    return bad


def check_renamed(recording, copy, pattern, by, label):
    """The first event of each metadata file in which @pattern matches.  -> errors"""
    shutil.copytree(recording, copy)
    n_renamed = 0
    for path in glob.glob(copy + "/**/metadata", recursive=True):
        with open(path) as f:
            text, n = re.subn(pattern, by, f.read(), count=1)
        with open(path, "w") as f:
            f.write(text)
        n_renamed += n
    if not n_renamed:
        raise SystemExit("no %s in the metadata of %s" % (pattern, recording))
    bad = check(copy, label)
    shutil.rmtree(copy)
    return bad


def main():
    if not shutil.which("babeltrace2"):
        print("no babeltrace2")
        return 77
    bad = kept = 0
    with tempfile.TemporaryDirectory(prefix="duet-repair-") as directory:
        recorded = [record_heap(duet, library, directory, "recorded"),
                    record_heap(duet, library, directory, "pieces", "--rotate", "32K", "--compress", "zstd")]
        if not any(f.endswith(".zst") for f in streams(recorded[1])):
            raise SystemExit("the pieces are not packed: %s" % streams(recorded[1]))
        originals = recorded[:]
        for seed in range(1, 17):
            originals.append(os.path.join(directory, "random-%d" % seed))
            os.mkdir(originals[-1])
            random_ctf.make(originals[-1], seed)
            if seed > 12 and shutil.which("zstd"):
                subprocess.run(["zstd", "-q", "--rm", *streams(originals[-1])], check=True)
        whole = {o: view_without_losses(o)[0] for o in originals}
        for o in originals:
            bad += check(o, "sound " + o)
            r = run(duet, "repair", o, o + "-same")
            for f in streams(o):
                same = f.replace(o, o + "-same")
                if f.endswith(".zst"):
                    old = run("zstd", "-dc", f).stdout if shutil.which("zstd") else None
                    same = same[:-4]
                else:
                    with open(f, "rb") as a:
                        old = a.read()
                with open(same, "rb") as b:
                    if old is not None and old != b.read():
                        print("%s: changed though undamaged" % f)
                        bad += 1
            if b"repaired:" in r.stdout + r.stderr:
                print("%s: changed though undamaged: %s" % (o, r.stdout))
                bad += 1
        copy = os.path.join(directory, "copy")
        for lost in (("major = 1", "mbjor = 1"), ("minor = 8", "minop = 8")):
            shutil.copytree(recorded[0], copy)
            for path in glob.glob(copy + "/**/metadata", recursive=True):
                with open(path) as f:
                    text = f.read()
                if lost[0] not in text:
                    raise SystemExit("no %s in %s" % (lost[0], path))
                with open(path, "w") as f:
                    f.write(text.replace(*lost))
            bad += check(copy, "without %s" % lost[0])
            shutil.rmtree(copy)
        bad += check_renamed(recorded[0], copy, r"_length( ?\];)", r"_lengti\1", "a length without a field")
        bad += check_renamed(recorded[0], copy, r" _tid(;\s+int32_t _pid;)", r" _pid\1", "two fields of one name")
        for i in range(n_damaged):
            r = random.Random(i)
            o = recorded[i // 2 % 2] if i % 2 else originals[i // 2 % len(originals)]
            shutil.copytree(o, copy)
            what = damage(r, copy)
            if r.random() < 0.3:
                what += ", " + damage(r, copy)
            bad += check(copy, "seed %d, %s" % (i, what))
            kept += len(view_without_losses(copy)[0]) * 1.0 / max(1, len(whole[o]))
            shutil.rmtree(copy)
    print("%d damaged traces; of their events %.0f %% are read" % (n_damaged, 100 * kept / n_damaged))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
