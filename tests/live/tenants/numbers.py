#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program in a pid namespace and the kernel speak of the same threads by the same numbers."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from world import PATIENCE, Program, wait_for

duet, program, library = [os.path.abspath(a) for a in sys.argv[1:4]]
if os.geteuid() or subprocess.run(["unshare", "-p", "-f", "true"], stderr=subprocess.DEVNULL).returncode:
    print("no right to make namespaces: nothing is tried")
    sys.exit(77)
if os.stat("/proc/self/ns/pid").st_ino != 0xeffffffc:
    print("not in the first pid namespace: the kernel's numbers are not ours")
    sys.exit(77)
work = tempfile.mkdtemp(prefix="numbers-")
env = dict(os.environ, DUET_RUNTIME_DIR=work + "/run", LD_LIBRARY_PATH=os.path.dirname(library))
trace = work + "/trace"
failed = []


def ok(condition, what):
    print("%s - %s" % ("ok" if condition else "not ok", what))
    if not condition:
        failed.append(what)


def view(*args):
    p = subprocess.run([duet, "view", "--json"] + list(args) + [trace], stdout=subprocess.PIPE, text=True, env=env,
                       timeout=PATIENCE, check=True)
    return [json.loads(line) for line in p.stdout.splitlines()]


collector = subprocess.Popen([duet, "collect", "-e", "tenants:*", "-k", "sched_switch", "-o", trace],
                             stderr=subprocess.PIPE, text=True, env=env)
inside = None
try:
    wait_for(lambda: collector.poll() is not None or os.path.exists(work + "/run/session-default"), "it records")
    if collector.poll() is not None:
        print("the kernel cannot be recorded here: " + collector.communicate()[1])
        sys.exit(77)
    inside = Program(subprocess.Popen(["unshare", "-p", "-f", "--kill-child", program, "6t"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, env=env))
    with open("/proc/%d/task/%d/children" % (inside.p.pid, inside.p.pid)) as f:
        pid = int(f.read())
    inside.record("20t")
    inside.record("4")
    inside.end()
    collector.send_signal(signal.SIGTERM)
    collector.communicate(timeout=PATIENCE)
    events = [e for e in view("-e", "tenants:*") if "fields" in e]
    ok(len(events) == 30, "all is recorded: %d" % len(events))
    ok({(e["vpid"], e["vtid"]) for e in events} == {(1, e["fields"]["tid"]) for e in events}, "its own numbers are told")
    ok({e["pid"] for e in events} == {pid}, "its pid is the host's")
    ok({e["tid"] for e in events if e["vtid"] == 1} == {pid}, "its first thread is that process")
    others = {e["vtid"]: e["tid"] for e in events if e["vtid"] != 1}
    ok(len(others) == 2 and len(set(others.values())) == 2, "two more threads: %r" % others)
    # What the kernel let run on that CPU last before the event.
    running, wrong = {}, []
    for e in view("-e", "sched_switch", "-e", "tenants:*"):
        if e.get("event") == "sched_switch":
            running[e["cpu"]] = e["fields"]["next_tid"]
        elif "fields" in e and running.get(e["cpu"], e["tid"]) != e["tid"]:
            wrong.append(e)
    ok(not wrong, "each event is of the thread that ran there: %r" % wrong[:1])
    text = subprocess.run([duet, "stats", trace], stdout=subprocess.PIPE, text=True, env=env).stdout
    ok(re.search(r"\b%d\b" % pid, text) is not None, "reports count it as that process")
finally:
    for p in (collector, inside.p if inside else None):
        if p and p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(work, ignore_errors=True)
sys.exit(1 if failed else 0)
