#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each recipe of man 7 duet-recipes, run as it stands there, prints what the comment before it says; and each command
that the summary of a recording leads to works on it.

arguments: DUET PROGRAM LIBDUET PAGE
"""
import concurrent.futures
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import PATIENCE, cmd, duet, is_, ok, paths, run_cases, start, work  # noqa: E402

program, library = paths(2)
with open(sys.argv[4]) as file:
    PAGE = file.read()
RECIPE = re.compile(r'^\.Ss (.*)\n(?:(?!\.Ss).*\n)*?\.\\" shows: (.*)\n\.Bd -literal(?: -offset indent)?\n((?:.*\n)*?)\.Ed$', re.M)
AT_ONCE = 4  # they wait most of the time
# A recipe's program runs for a second or two, and so does what ends by `timeout`.  On a machine that gave
# them too little CPU for an answer, or computed too fast for a sample, the recipe is run again with as many
# times its seconds.
LONGER = 1, 10, 30
SECONDS = re.compile(r"(\./web |timeout -s INT )(\d+)")
bin_directory = work + "/bin"
os.mkdir(bin_directory)
os.symlink(duet, bin_directory + "/duet")
os.environ["PATH"] = bin_directory + ":" + os.environ["PATH"]


def text_of(block):
    return "".join(re.sub(r"^\\&", "", line).replace("\\e", "\\") for line in block.splitlines(True))


def directory(name):
    at = work + "/" + name
    os.mkdir(at)
    os.symlink(program, at + "/web")
    return at


def run_recipe(number, promise, commands, pid):
    """-> its status, and all that it printed"""
    for times in LONGER:
        text = SECONDS.sub(lambda m: "%s%d" % (m[1], int(m[2]) * times), text_of(commands).replace("PID", str(pid)))
        p = subprocess.run(["bash", "-c", text], cwd=directory("recipe%d-%d" % (number, times)),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=100 + PATIENCE, text=True, errors="replace")
        if p.returncode not in (0, 124) or re.search(promise, p.stdout):
            break
        print("# recipe %d, %d times as long: %.300r" % (number, times, p.stdout[-300:]))
    return p.returncode, p.stdout


def each_recipe_keeps_its_promise():
    recipes = RECIPE.findall(PAGE)
    is_(len(recipes), PAGE.count("\n.Ss "), "each section of the page has commands and a promise")
    ok(len(recipes) >= 20, "twenty recipes", len(recipes))
    server = start(program, "100000", cwd=directory("server"))
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [pool.submit(run_recipe, i, r[1], r[2], server.pid) for i, r in enumerate(recipes)]
    server.end(15)
    for (title, promise, commands), running in zip(recipes, runs):
        status, printed = running.result()
        ok(re.search(promise, printed), "%s shows %r" % (title, promise), commands + printed[-3000:])
        # 124: timeout ended it.  1: duet diff found a change.
        ok(status in (0, 124) or "duet diff" in commands and status == 1, title + " works",
           (status, commands, printed[-3000:]))


def next_commands(printed):
    lines = printed[printed.index("\nNext: "):].replace("\nNext: ", "\n      ").split("\n")
    return [re.split(r"  +", line.strip())[0] for line in lines if line.startswith("      duet ")]


def the_summary_leads_to_commands_that_work():
    at = directory("it's next")
    more = ["--graph", "web:*", "-k", "syscalls,sched,block,profile", "-e", "web:*,lttng_ust_libc:*"]
    p = subprocess.run([duet, "record", "-o", "it's recorded", *more, "--", "./web", "1"], cwd=at, capture_output=True,
                       text=True, timeout=PATIENCE)
    is_(p.returncode, 0, "duet record: " + p.stderr)
    commands = next_commands(p.stderr)
    ok(commands[0].startswith("duet report why --between web:request_begin web:request_end "), "the time of a request first",
       commands)
    for start_of in ("duet graph --tree", "duet report heap", "duet view", "duet ui"):
        ok(any(c.startswith(start_of) for c in commands), "leads to " + start_of, commands)
    for command in commands:
        if command.startswith("duet ui"):
            continue  # it stays; the browser's tests have it
        q = subprocess.run(["sh", "-c", command], cwd=at, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           errors="replace", timeout=PATIENCE)
        is_((q.returncode, bool(q.stdout) or "-o " in command), (0, True), command + ": " + q.stderr)


def an_empty_recording_leads_to_the_reason():
    status, _, err = cmd("record", "--no-kernel", "-o", work + "/bare", "--", "true")
    is_(status, 0, "duet record: " + err)
    is_([c.split()[1] for c in next_commands(err)], ["doctor"], "no report of nothing")


run_cases(each_recipe_keeps_its_promise, the_summary_leads_to_commands_that_work, an_empty_recording_leads_to_the_reason)
