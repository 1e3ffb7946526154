#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/completion/completion.py DUET COMPLETION PROGRAM LIBDUET - the proposals of bash completion for duet.

The test calls the function of the completion file as bash does, with the line split as readline splits it.
"""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run_cases, start, until, work

completion, program, library = paths(3)
# Splits at spaces and at colons; colons are words.
SCRIPT = r"""
source "$1"
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
COMP_LINE=$2 COMP_POINT=${#2}
_duet "$3"
((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
complete -p duet >&2
"""


def proposed(line, command=duet):
    """Returns the proposals at the end of the line."""
    r = subprocess.run(["bash", "--norc", "-c", SCRIPT, "bash", completion, line, command], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    is_(r.stderr, "complete -o bashdefault -o default -F _duet duet\n", "the output for " + line)
    return r.stdout.split("\n")[:-1]


def verbs_questions_and_formats():
    is_(proposed("duet vi"), ["view"], "vi")
    is_(sorted(proposed("duet s")), ["send", "snapshot", "start", "stats", "status", "stop", "strace"], "s")
    listed = [line.split()[0] for line in cmd("--help")[1].splitlines() if line.startswith("  ")]
    is_(sorted(proposed("duet ")), sorted(listed + ["--help", "--version"]), "all verbs")
    is_(proposed("duet report la"), ["latency"], "la")
    is_(sorted(proposed("duet export ")),
        ["chrome", "csv", "ctf", "firefox", "folded", "perfetto", "speedscope", "svg"], "formats")
    is_(proposed("duet report cpu "), [], "a recording: a file")
    is_(proposed("duet trigger w"), ["watch"], "w")


def options_are_those_of_the_help():
    is_(proposed("duet view --fo"), ["--follow"], "--fo")
    is_(sorted(proposed("duet view --co")), ["--color", "--columns"], "--co")
    for verb in cmd("--help")[1].splitlines():
        if not verb.startswith("  "):
            continue
        verb = verb.split()[0]
        help_, found = cmd(verb, "--help")[1], proposed("duet %s -" % verb)
        ok(all(option in help_ for option in found), "options of %s are in its help" % verb, found)
        ok("--help" in found or "--help" not in help_, "--help of " + verb)
    ok("--kernel-backend" in proposed("duet record --k"), "--kernel-backend")
    is_(sorted(proposed("duet view --color ")), ["always", "auto", "never"], "when")
    is_(proposed("duet stats --by s"), ["stream"], "--by")


def events_and_processes_are_those_that_run():
    p = start(program)
    until(lambda: "shop:order" in cmd("list")[1], "the program is listed")
    is_(proposed("duet record -e sh"), ["shop:*", "shop:order", "shop:paid"], "with their channel")
    is_(proposed("duet record -e shop:o"), ["order"], "readline replaces the part behind the colon")
    is_(proposed("duet record -e 'shop:o"), ["shop:order"], "but not within quotes")
    is_(proposed("duet enable shop:p"), ["paid"], "enable")
    is_(proposed("duet record -p "), [str(p.pid)], "the process")
    p.kill()


def names_that_the_shell_would_act_on_are_not_proposed():
    """Other programs may name their events freely."""
    with open(work + "/duet", "w") as f:
        f.write("#!/bin/sh\n[ $# -eq 1 ] && cat <<'END'\n123 program\n"
                "  [.] shop:order i32\n  [.] shop:$(touch${IFS}x) i32\n  [.] shop:`x` i32\n  [.] shop:a;x i32\n"
                "  [.] shop:a'b i32\n  [.] shop:a|b i32\n  [.] shop:a&b i32\n  [.] shop:a>b i32\n  [.] shop:a\\b i32\nEND\n")
    os.chmod(work + "/duet", 0o755)
    is_(proposed("duet enable shop", work + "/duet"), ["shop:*", "shop:order"], "names of events")


def events_of_the_kernel_are_listed_between_commas():
    status, listed, _ = cmd("list", "-k")
    if status:
        return  # without access to tracefs there are none
    is_([w for w in proposed("duet record -k sched_swi")], ["sched_switch"], "one")
    is_([w for w in proposed("duet record -k irq,sched_swi")], ["irq,sched_switch"], "the second")
    is_(proposed("duet view -e sched_swi"), ["sched_switch"], "in recordings")


def the_argument_to_run_is_a_command():
    ok("bash" in proposed("duet record -- bas"), "bash")
    is_(proposed("duet record -- ls -"), [], "its options are not ours")


run_cases(verbs_questions_and_formats, options_are_those_of_the_help, events_and_processes_are_those_that_run,
          names_that_the_shell_would_act_on_are_not_proposed, events_of_the_kernel_are_listed_between_commas, the_argument_to_run_is_a_command)
