#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules choose programs by name, user, container, and events by level; those that run and those that come.

arguments: DUET PROGRAM LIBDUET
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import trial  # noqa: E402
from trial import go_on, is_, paths, run_cases, work  # noqa: E402

program, library = paths(2)
os.chdir(work)
recordings = 0


def cmd(*args, status=0):
    got, out, err = trial.cmd(*args)
    is_(got, status, "duet %s: %s%s" % (" ".join(args), out, err))
    return out, err


def run(name, *before):
    """The program under another name; after `before` has changed its surroundings."""
    if not os.path.exists(name):
        os.symlink(program, name)
    p = trial.start(*before, work + "/" + name)
    is_(p.stdout.readline(), "ready\n", name + " runs")
    return p


def end_after_more_events(*programs):
    go_on(*programs)
    for p in programs:
        is_(p.end(signal.SIGTERM)[0], 0, "it ends well")


def start(*options):
    global recordings
    recordings += 1
    cmd("start", "-q", "-o", "r%d" % recordings, *options)


def stop_and_read():
    """(program, event) of all that was recorded; and of those that were from their first event."""
    cmd("stop", "-q")
    out = cmd("view", "--json", "r%d" % recordings)[0]
    events = [json.loads(line) for line in out.splitlines()]
    events = [e for e in events if e.get("event", "").startswith("rules:")]
    pairs = {(e["proc"], e["event"][6:]) for e in events}
    return pairs, {(e["proc"], e["event"][6:]) for e in events if e["fields"]["n"] == 0}


ALL = ("failed", "done", "step")


def product(names, events=ALL):
    return {(n, e) for n in names for e in events}


def programs_are_chosen_by_name():
    old = [run("web-old"), run("cron-old")]
    start("-e", "rules:*", "--program", "web*,api*", "--program", "!web-bad")
    new = [run(n) for n in ("web-new", "web-bad", "api", "cron-new")]
    end_after_more_events(*old, *new)
    all_, first = stop_and_read()
    is_(all_, product(("web-old", "web-new", "api")), "by name")
    is_(first, product(("web-new", "api")), "those that start, from their first event")


def a_name_can_be_excluded_alone():
    old = [run("web-old"), run("cron-old")]
    start("-e", "rules:done", "--program", "!cron*")
    new = [run("web-new"), run("cron-new")]
    end_after_more_events(*old, *new)
    is_(stop_and_read()[0], product(("web-old", "web-new"), ("done",)), "all but")


def events_are_chosen_by_level():
    old = run("old")
    start("-e", "rules:*", "--level", "warning", "-e", "rules:done")
    new = run("new")
    end_after_more_events(old, new)
    is_(stop_and_read()[0], product(("old", "new"), ("failed", "done")), "each -e has its level")
    start("--level", "info")
    new = run("new")
    end_after_more_events(new)
    all_, first = stop_and_read()
    is_(all_, product(("new",), ("failed", "done")), "without -e it is for all")
    is_(first, all_, "from the first")


def enable_and_disable_choose_as_well():
    start("-e", "!*")
    old = [run("web-old"), run("cron-old")]
    cmd("enable", "--program", "web*", "rules:*")
    cmd("disable", "--program", "web-b*", "--level", "info", "rules:*", status=2)  # none runs: kept for those that come
    new = [run("web-a"), run("web-b"), run("cron-new")]
    end_after_more_events(*old, *new)
    is_(stop_and_read()[0], product(("web-old", "web-a")) | {("web-b", "step")}, "enable, then disable")
    start("-e", "rules:*")
    a = run("a")
    cmd("disable", "--program", "a", "rules:*")
    cmd("enable", "rules:*")
    b = run("a")
    end_after_more_events(a, b)
    is_(stop_and_read()[1], product(("a",)), "a rule for all programs replaces earlier ones for some")


def users_are_chosen():
    me = str(os.getuid())
    for option, want in ((me, product(("one",))), ("!" + me, set()), ("4242", set())):
        old = run("one")
        start("-e", "rules:*", "--uid", option)
        new = run("one")
        end_after_more_events(old, new)
        is_(stop_and_read()[0], want, "--uid " + option)
    cmd("start", "--uid", "no.such.user", status=2)


def containers_are_chosen():
    """Not a whole one: rules examine namespaces and a host name of its own."""
    inside = ["unshare", "--uts", "--mount", "sh", "-c", 'hostname duet-box-7 && exec "$0" "$@"']
    if subprocess.run(inside + ["true"], stderr=subprocess.DEVNULL).returncode:
        print("# no namespaces here: containers are not tried")
        return
    for option, want in (("duet-box-?", ("in-new",)), ("!duet-box-7", ("out-old", "out-new"))):
        old = run("out-old")
        start("-e", "rules:*", "--container", option)
        new = [run("in-new", *inside), run("out-new")]
        end_after_more_events(old, *new)
        is_(stop_and_read()[0], product(want), "--container " + option)
    inner = run("in-old", *inside)
    start("-e", "rules:*", "--container", str(os.stat("/proc/%d/ns/mnt" % inner.pid).st_ino))
    new = run("out-new")
    end_after_more_events(inner, new)
    is_(stop_and_read()[0], product(("in-old",)), "by the number of a namespace")


def a_process_is_chosen_by_its_number():
    one, two = run("one"), run("two")
    start("-e", "rules:*", "-p", str(one.pid))
    three = run("three")
    go_on(one, two, three)
    one.send_signal(signal.SIGUSR1)
    is_(one.stdout.readline(), "ready\n", "it begins anew")
    end_after_more_events(one, two, three)
    all_, first = stop_and_read()
    is_(all_, product(("one",)), "-p")
    is_(first, all_, "also events that the process registers later")


def mistakes_are_reported():
    for args in (("--level", "loud"), ("--level", "15"), ("--program", ""), ("--program", "a,,b"),
                 ("--program", "a\tb"), ("--uid", ""), ("-e", "a:b", "--level", "info", "--level", "err")):
        err = cmd("start", *args, status=2)[1]
        is_(err.count("\n"), 1, "one line: " + err)


run_cases(programs_are_chosen_by_name, a_name_can_be_excluded_alone, events_are_chosen_by_level,
          enable_and_disable_choose_as_well, users_are_chosen, containers_are_chosen,
          a_process_is_chosen_by_its_number, mistakes_are_reported)
