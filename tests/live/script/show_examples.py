#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes examples/scripts/README.md: each script's question, and what it answers about the workload of the tests.

    show_examples.py DUET PROGRAM LIBDUET EXAMPLES
"""
import os
import re
import subprocess
import sys
import tempfile

duet, program, library, examples = map(os.path.abspath, sys.argv[1:5])
KERNEL = "syscalls,sched,irq,signal,timer,exceptions:*,sock:*,tcp:*,block"
ARGUMENTS = {"syscalls/latency": ["pread64"], "memory/large-maps": ["4"], "programs/functions": [program],
             "programs/call-tree": [program]}
RECORDINGS = {"all": ["-e", "shop:*", "-k", KERNEL], "samples": ["-k", "profile:999", "--all-kernel"],
              "calls": ["--no-kernel", "--graph", "questions:ring_up", "--graph-mode", "exact"]}
OTHER = {"scheduling/samples": "samples", "programs/functions": "calls", "programs/call-tree": "calls"}
LINES, COLUMNS = 8, 110
ORDER = ["syscalls", "files", "processes", "scheduling", "memory", "network", "interrupts", "programs"]
TITLES = {"syscalls": "System calls", "files": "Files", "processes": "Processes", "scheduling": "Scheduling",
          "memory": "Memory", "network": "Network", "interrupts": "Interrupts", "programs": "Programs"}
HEAD = """# Scripts

%d scripts for `duet script`, each for one question. Each runs on the running system and on a recording, and
prints the same on both; the header of each says how. Language: `man 7 duet-script-language`; command:
`man 1 duet-script`.

The answers below are about the workload of the tests (`tests/live/script/programs/questions.c`): a shop with 40
orders. `tests/live/script/show_examples.py` writes this file.
"""


def question(path):
    """The comment below the licence, up to the lines that say how to run it."""
    lines = []
    for line in open(path).read().splitlines()[2:]:
        if not line.startswith("# ") or line.startswith("#   "):
            break
        lines.append(line[2:])
    return " ".join(lines)


def answer(name, work):
    out = subprocess.run([duet, "script", "%s/%s.stp" % (examples, name), "-r", OTHER.get(name, "all"), "--"] +
                         ARGUMENTS.get(name, []), cwd=work, stdout=subprocess.PIPE, text=True, check=True).stdout
    out = out.replace(work + "/", "").replace(os.path.dirname(program), "/opt/shop").replace(os.path.dirname(os.path.dirname(examples)), "/opt")
    out = re.sub(r"/\S*/inproc/", "/opt/duet/", out)
    lines = [line.rstrip().expandtabs()[:COLUMNS] for line in out.splitlines()]
    return lines[:LINES] + ["..."] * (len(lines) > LINES)


def shown(name):
    arguments = ["./shop" if a == program else a for a in ARGUMENTS.get(name, [])]
    return "$ duet script %s.stp %s" % (name, " ".join([OTHER.get(name, "all")] + arguments))


def main():
    names = sorted(os.path.relpath(os.path.join(d, f), examples)[:-4] for d, _, fs in os.walk(examples) for f in fs
                   if f.endswith(".stp"))
    with tempfile.TemporaryDirectory(prefix="duet-examples-") as work:
        os.environ.update(DUET_RUNTIME_DIR=work + "/run", DUET_LIBRARY=library)
        for path, options in RECORDINGS.items():
            os.mkdir("%s/%s.files" % (work, path))
            subprocess.run([duet, "record", "-q", "-o", path] + options + ["--", program, path + ".files"], cwd=work,
                           check=True)
        text = HEAD % len(names)
        for room in ORDER:
            text += "\n## %s\n" % TITLES[room]
            for name in [n for n in names if n.startswith(room + "/")]:
                lines = answer(name, work)
                text += "\n[%s](%s.stp): %s\n\n    %s\n" % (name, name, question("%s/%s.stp" % (examples, name)),
                                                          shown(name))
                lines = lines or ["(nothing)"]
                text += "".join("    %s\n" % line if line else "\n" for line in lines)
    with open(examples + "/README.md", "w") as f:
        f.write(re.sub(r"\n{3,}", "\n\n", text))


main()
