#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Contexts, from the program to the output: duet view shows them, and Babeltrace 2 reads the same.

    contexts.py DUET CONTEXTS
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import agree

IDS = {"vuid": os.getuid(), "veuid": os.geteuid(), "vgid": os.getgid(), "vegid": os.getegid()}
NAMESPACES = {n + "_ns": os.stat("/proc/self/ns/" + n).st_ino
              for n in ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")}
SLOT = [0x4bf92f3577b34da6, 0xa3ce929d0e0e4736]
HAS_PMU = any(os.path.exists("/sys/bus/event_source/devices/" + d) for d in ("cpu", "cpu_core"))
WAYS = {  # requested contexts: contexts in the trace
    "vpid,vtid,cpu_id": [],
    "procname": [],
    "uid,euid,gid,egid,ppid": ["ppid", *IDS],
    "namespaces": [*NAMESPACES],
    "slot,ip": ["ip", "slot"],
    "callstack_user": ["callstack_user"],
    "perf:thread:branch-misses,perf_thread_instructions": ["perf_thread_instructions",
                                                           "perf_thread_branch_misses"],
    "procname,slot,perf_thread_cycles,callstack,ip,vegid,namespaces,ppid,vuid,veuid,vgid":
        ["ppid", *IDS, *NAMESPACES, "ip", "callstack_user", "slot", "perf_thread_cycles"],
}


def complaints(context, names):
    want = {**IDS, **NAMESPACES, "ppid": os.getpid(), "slot": SLOT}
    if list(context) != names:
        yield "contexts are %s, not %s" % (list(context), names)
    for k in set(names) & set(want):
        if context[k] != want[k]:
            yield "%s is %r, not %r" % (k, context[k], want[k])
    stack = context.get("callstack_user", [1, 2])
    if not 2 <= len(stack) <= 32:
        yield "callstack_user is %r" % stack
    if "ip" in context and stack[0] != context.get("ip") and "callstack_user" in context:
        yield "ip %r is not the first of %r" % (context["ip"], stack)


def counter_complaints(contexts):
    """Where there is no PMU the program records 0; values can be tested only on a machine with one."""
    for k in [k for k in contexts[0] if k.startswith("perf_")]:
        values = [c[k] for c in contexts]
        if values != sorted(values):
            yield "%s goes back: %s" % (k, values)
        if not HAS_PMU and any(values):
            yield "%s is counted without a PMU: %s" % (k, values)


def check(duet, trace, asked, names):
    events = [json.loads(l) for l in subprocess.run(
        [duet, "view", "--json", trace], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]
    for i, e in enumerate(events, 1):
        yield from complaints(e.get("context", {}), names)
        if "procname" in asked and e.get("proc") != "of many context":  # the kernel cuts it to 15 characters
            yield "proc is %r" % e.get("proc")
        if e["fields"] != {"i": i} or e["event"] != "test:one":
            yield "event %d is %r" % (i, e)
    if len(events) != 2:
        yield "%d events, not 2" % len(events)
    else:
        yield from counter_complaints([e.get("context", {}) for e in events])
    text = subprocess.run([duet, "view", trace], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "slot" in names and "slot = [ 0x4bf92f3577b34da6, 0xa3ce929d0e0e4736 ]" not in text:
        yield "slot is not in hexadecimal: " + text
    if "callstack_user" in names and not re.search(r"callstack_user = \[ 0x[0-9a-f]+, 0x", text):
        yield "callstack is not in hexadecimal: " + text
    if not agree.compare([duet, "view"], trace):
        yield "Babeltrace reads something else"


def main():
    duet, contexts = map(os.path.abspath, sys.argv[1:3])
    n_failed = 0
    with tempfile.TemporaryDirectory(prefix="duet-contexts-") as directory:
        subprocess.run([contexts, directory, *WAYS], check=True)
        for asked, names in WAYS.items():
            found = list(check(duet, os.path.join(directory, asked), asked, names))
            n_failed += bool(found)
            print("%s %s" % ("not ok" if found else "ok", asked), *found, sep="\n# ")
    return n_failed > 0


if __name__ == "__main__":
    sys.exit(main())
