#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/completion/completion.py DUET COMPLETION PROGRAM LIBDUET - the proposals of bash, zsh and fish for duet.

The test calls the function of bash's file as bash does, with the line split as readline splits it; it asks fish by
`complete -C`, and zsh in a terminal (zsh.py).
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, duet, is_, ok, paths, run_cases, start, until, work
from zsh import Zsh

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


def environment():
    return dict(os.environ, PATH=os.path.dirname(duet) + ":" + os.environ["PATH"], HOME=work)


def is_here(shell):
    if not shutil.which(shell):
        ok("DUET_NO_SKIP" not in os.environ, shell + " is installed")
        print("# %s is not installed: its completion is not tested" % shell)
    return shutil.which(shell)


def by_fish(line):
    r = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", os.path.dirname(completion) + "/duet.fish",
                        line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
    is_(r.stderr, "", "fish's output for " + line)
    return sorted(line.split("\t")[0] for line in r.stdout.splitlines())


def judge_shell(ask):
    """The same lines for zsh and for fish."""
    is_(ask("duet vi"), ["view"], "a verb")
    is_(ask("duet report la"), ["latency"], "a question")
    is_(ask("duet export per"), ["perfetto"], "a format")
    is_(ask("duet view --fo"), ["--follow"], "an option")
    is_(ask("duet record -c ip,callst"), ["ip,callstack"], "the second context")
    is_(ask("duet record --channel a:mode=o"), ["a:mode=overwrite"], "a channel")
    is_(ask("duet record -e shop:o"), ["shop:order"], "an event, past its colon")
    is_(ask("duet live -s w"), ["web"], "a session")
    is_([p.rstrip("/").split("/")[-1] for p in ask("duet view %s/recorde" % work)], ["recorded"], "a file")
    ok("bash" in [w.strip() for w in ask("duet record -- bas")], "a command")


def zsh_and_fish_propose_the_same():
    p = start(program)
    until(lambda: "shop:order" in cmd("list")[1], "the program is listed")
    is_(cmd("start", "-s", "web", "-o", work + "/by-s")[0], 0, "it records")
    os.makedirs(work + "/recorded")
    if is_here("fish"):
        judge_shell(by_fish)
    if is_here("zsh"):
        zsh = Zsh(os.path.dirname(completion) + "/_duet", environment())
        judge_shell(zsh.proposed)
        zsh.end()
    is_(cmd("stop", "-s", "web")[0], 0, "it stops")
    p.kill()


def names_in_recordings_are_proposed():
    p = start(program)
    until(lambda: "shop:order" in cmd("list")[1], "the program is listed")
    is_(cmd("start", "-o", work + "/held")[0], 0, "it records")
    until(lambda: "shop:paid" in cmd("stats", work + "/held")[1], "it recorded an event")
    is_(cmd("stop")[0], 0, "it stops")
    p.kill()
    p.wait()
    is_(proposed("duet view %s/held -e shop:p" % work), ["paid"], "a name in the recording")
    is_(proposed("duet view %s/held -e sched_swi" % work), [], "no name that it does not hold")


def verbs_questions_and_formats():
    is_(proposed("duet vi"), ["view"], "vi")
    is_(sorted(proposed("duet s")), ["script", "send", "snapshot", "start", "stats", "status", "stop", "strace"], "s")
    listed = [line.split()[0] for line in cmd("--help")[1].splitlines() if line.startswith("  ")]
    is_(sorted(proposed("duet ")), sorted(listed + ["help", "--help", "--version"]), "all verbs")
    tasks = [line for line in cmd("--help")[1].splitlines() if line.endswith(":") and not line.startswith(" ")]
    is_(tasks[:2], ["Record:", "See it:"], "the verbs stand below their tasks")
    is_(proposed("duet report la"), ["latency"], "la")
    is_(sorted(proposed("duet export ")),
        ["chrome", "csv", "ctf", "firefox", "folded", "perfetto", "speedscope", "svg"], "formats")
    is_(proposed("duet report cpu "), [], "a recording: a file")
    is_(proposed("duet trigger w"), ["watch"], "w")


def options_are_those_of_the_help():
    is_(sorted(proposed("duet script -D MAXE")), ["MAXERRORS="], "a limit")
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
        f.write("#!/bin/sh\n[ \"$2\" = --complete ] && cat <<'END'\nshop:*\nshop:order\nshop:$(touch${IFS}x)\nshop:`x`\nshop:a;x\n"
                "shop:a'b\nshop:a|b\nshop:a&b\nshop:a>b\nshop:a\\b\nEND\n")
    os.chmod(work + "/duet", 0o755)
    is_(proposed("duet enable shop", work + "/duet"), ["shop:*", "shop:order"], "names of events")


def events_of_the_kernel_are_listed_between_commas():
    status, listed, _ = cmd("list", "-k")
    if status:
        return  # without access to tracefs there are none
    is_([w for w in proposed("duet record -k sched_swi")], ["sched_switch"], "one")
    is_([w for w in proposed("duet record -k irq,sched_swi")], ["irq,sched_switch"], "the second")
    is_(proposed("duet view -e sched_swi"), ["sched_switch"], "in recordings")


def sessions_are_those_that_record():
    is_(proposed("duet ui -s "), [], "none records")
    is_(cmd("start", "web", "-o", work + "/web")[0], 0, "it records")
    is_(proposed("duet ui -s w"), ["web"], "its name")
    is_(proposed("duet snapshot --session "), ["web"], "of other verbs")
    is_(cmd("stop", "web")[0], 0, "it stops")


def the_argument_to_run_is_a_command():
    ok("bash" in proposed("duet record -- bas"), "bash")
    is_(proposed("duet record -- ls -"), [], "its options are not ours")


run_cases(verbs_questions_and_formats, options_are_those_of_the_help, events_and_processes_are_those_that_run,
          names_that_the_shell_would_act_on_are_not_proposed, events_of_the_kernel_are_listed_between_commas,
          sessions_are_those_that_record, zsh_and_fish_propose_the_same,
          names_in_recordings_are_proposed, the_argument_to_run_is_a_command)
