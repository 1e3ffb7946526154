#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports name the object of a wait: the variable, the allocation or the stack that holds a lock, wherever its file
is mapped; the file, pipe or socket behind a descriptor.

arguments: DUET LOCKS_PIE LOCKS_FIXED LOCKS_STRIPPED PLUGIN LIBDUET LIBDUET_LIBC
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record  # noqa: E402
from trial import cmd, is_, ok, paths, run_cases, skip, work  # noqa: E402

pie, fixed, stripped, plugin, library, libc = paths(6)
os.environ["DUET_LIBRARY"] = library
KERNEL = ["-k", "sched", "-k", "syscalls", "-b", "64M"]
LINE = 1 + [i for i, line in enumerate(open(os.path.dirname(os.path.abspath(__file__)) + "/programs/locks.c"))
            if "line of the allocation" in line][0]


def run(name, program, *options, arguments=()):
    """Records; returns the trace, and the words that the program printed."""
    trace = work + "/" + name
    out, err = record(trace, *KERNEL, *options, "--", program, *arguments,
                      env=dict(os.environ, MAPS=trace + "/.duet/maps"))
    if "not recorded" in err:
        skip("the kernel cannot be recorded here: " + err)
    said = [line.split() for line in out.splitlines() if re.match(r"(plugin|child|pipe|port|main) ", line)]
    return trace, {w[0]: w[1] for w in said}, [w[1] for w in said if w[0] == "plugin"]


def report(*arguments):
    p = cmd("report", *arguments, "--json")
    is_(p[0], 0, "the report: " + p[2])
    return json.loads(p[1])


def futexes(trace, **like):
    return [f for f in report("locks", trace)["futexes"] if f["n"] and all(f[k] == v for k, v in like.items())]


def variables_are_named(program):
    name = os.path.basename(program)
    trace, said, _ = run("of_" + name, program)
    main, child = int(said["main"]), int(said["child"])
    names = [f["futex"] for f in futexes(trace, pid=main)]
    for wanted in "audit_lock in " + name, "table+0x8 in " + name:
        is_(names.count(wanted), 1, "%s among %s" % (wanted, names))
    ok(any(n.startswith("on the stack of %s:%d" % (name[:15], main)) for n in names), "the stack", str(names))
    is_([f["futex"] for f in futexes(trace, pid=child) if "audit" in f["futex"]], ["audit_lock in " + name],
        "the lock of the child")
    return trace, said


def variables_have_names_wherever_the_program_is_mapped():
    for program in pie, fixed:
        variables_are_named(program)


def descriptors_have_names():
    trace, said, _ = run("descriptors", pie)
    why = report("why", "-t", said["main"], trace)
    waits = [p["where"] for p in why["parts"] if p["state"] == "blocked"]
    ok(any(re.fullmatch(r"read\(fd \d+ = socket 127\.0\.0\.1:%s\)" % said["port"], w) for w in waits),
       "the socket", str(waits))
    ok("read(fd %s)" % said["pipe"] in waits or "read(fd %s = pipe" % said["pipe"] in str(waits), "the pipe", str(waits))
    ok("futex(audit_lock in locks_pie)" not in waits, "the holder does not wait", str(waits))
    slow = report("io", trace)
    ok(any(r["file"] == "socket 127.0.0.1:" + said["port"] for r in slow["files"]), "report io", str(slow["files"]))


def captured_pipes_have_names():
    trace, said, _ = run("captured", pie, "--capture", "64")
    why = report("why", "-t", said["main"], trace)
    waits = [p["where"] for p in why["parts"] if p["state"] == "blocked"]
    ok(any(w.startswith("read(fd %s = pipe of %s (fd " % (said["pipe"], said["main"])) for w in waits), "the pipe",
       str(waits))


def a_stripped_program_gives_file_and_address():
    trace, said, _ = run("stripped", stripped)
    names = [f["futex"] for f in futexes(trace, pid=int(said["main"]))]
    is_(len([n for n in names if re.fullmatch(r"locks_stripped\+0x[0-9a-f]+", n)]), 2, str(names))


def another_file_of_the_name_gives_no_names():
    """A program that was built again since is not the recorded one."""
    copy = work + "/copied"
    with open(pie, "rb") as f:
        data = f.read()
    with open(copy, "wb") as f:
        f.write(data)
    os.chmod(copy, 0o755)
    trace, said, _ = run("rebuilt", copy)
    ok("audit_lock in copied" in [f["futex"] for f in futexes(trace, pid=int(said["main"]))], "the same file")
    with open(fixed, "rb") as f:
        data = f.read()
    with open(copy, "wb") as f:
        f.write(data)
    names = [f["futex"] for f in futexes(trace, pid=int(said["main"]))]
    is_([n for n in names if re.search(r" in copied|copied\+", n)], [], "names of another file")
    ok(any(n.startswith("0x") for n in names), "addresses", str(names))


def blocks_have_the_call_that_allocated_them():
    trace, said, _ = run("heap", pie, "-c", "callstack", "-e", "lttng_ust_libc:*")
    names = [f["futex"] for f in futexes(trace, pid=int(said["main"]))]
    wanted = "+0x28 of a 120-byte block allocated in make_queue at locks.c:%d" % LINE
    is_(names.count(wanted), 1, "%s among %s" % (wanted, names))


def so_do_events():
    shown = cmd("view", "-e", "syscall_entry_futex", work + "/of_locks_pie")[1]
    ok(re.search(r"uaddr = 0x[0-9a-f]+ \(audit_lock in locks_pie\)", shown), "duet view", shown[:2000])


def functions_have_lines():
    """The call that allocated, in report heap; the begin of the function, in report functions."""
    sites = {s["site"].split("+")[0]: s for s in report("heap", work + "/heap")["sites"]}
    is_(sites["make_queue"]["line"], "locks.c:%d" % LINE, "the line of the call")
    trace, _, _ = run("graph", pie, "--graph", "locks_pie:make_queue", "--graph-mode", "exact")
    rows = report("functions", trace)["functions"]
    is_([r["function"] for r in rows], ["make_queue"], "one function")
    ok(rows[0]["line"] in ("locks.c:%d" % (LINE - 2), "locks.c:%d" % (LINE - 1)), "its begin", rows[0]["line"])
    out = cmd("report", "functions", trace)[1]
    ok(rows[0]["line"] in out, "for people", out)


def a_library_that_is_loaded_again_elsewhere_keeps_its_names():
    trace, said, addresses = run("loaded", pie, arguments=[plugin])
    ok(len(set(addresses)) == 2, "two addresses", str(addresses))
    found = {f["address"]: f["futex"] for f in futexes(trace, pid=int(said["main"]))}
    for a in addresses:
        is_(found.get(a), "plugin_lock in " + os.path.basename(plugin), "the lock at " + a)


run_cases(variables_have_names_wherever_the_program_is_mapped, so_do_events, descriptors_have_names,
          captured_pipes_have_names,
          a_stripped_program_gives_file_and_address, another_file_of_the_name_gives_no_names,
          blocks_have_the_call_that_allocated_them, functions_have_lines,
          a_library_that_is_loaded_again_elsewhere_keeps_its_names)
