#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pager.py DUET - reports on a terminal: page by page, as wide as it is; in pipes whole and without a pager."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, check, run_all
from make import kernel, switch, ust

A, IDLE = ("a", 7), ("swapper/0", 0)
NAME = "shop:" + "a" * 60 + "middle" + "b" * 60


def recording(where):
    ust(where + "/r/ust", [(1000 + i, 0, (7, 7), NAME, dict(id=i)) for i in range(3)])
    kernel(where + "/r/kernel", [switch(1500, 1, IDLE, A), switch(2600, 1, A, IDLE)])
    return where + "/r"


def shown(duet, *args, width=0, status=0, **env):
    """-> what a terminal of this width shows, and the messages"""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24 if width else 0, width, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ("PAGER", "DUET_PAGER", "LESS", "COLUMNS")}
    p = subprocess.Popen([duet.path, *args], stdin=terminal, stdout=terminal, stderr=subprocess.PIPE,
                         env={**clean, "TERM": "dumb", **env})
    os.close(terminal)
    out = b""
    try:
        while part := os.read(main, 65536):
            out += part
    except OSError:
        pass
    os.close(main)
    err = p.stderr.read().decode()
    check(p.wait(60), status, "%s: exit status; %s" % (args, err))
    return out.decode().replace("\r\n", "\n"), err


def each_verb(r):
    return ("stats", r), ("report", "cpu", r), ("diff", r, r), ("view", r), ("list", "-k", "sched_sw*")


def long_output_is_given_to_the_pager(duet, where):
    for args in each_verb(recording(where)):
        if args[0] == "list" and not os.path.isdir("/sys/kernel/tracing/events"):
            continue
        plain = shown(duet, *args, "--no-pager", PAGER="sed s/^/page:/")[0]
        paged = shown(duet, *args, PAGER="sed s/^/page:/")[0]
        check(plain.strip() != "" and "page:" not in plain, True, args)
        check([l.startswith("page:") for l in paged.splitlines()], [True] * len(paged.splitlines()), args)
        check(paged.replace("page:", ""), plain, args)
        check(shown(duet, *args, PAGER="false", DUET_PAGER="cat")[0], plain, "the variable of duet comes first")


def a_pager_that_leaves_or_is_not_there_is_no_error(duet, where):
    r = recording(where)
    plain = shown(duet, "stats", r, DUET_PAGER="")[0]
    check(shown(duet, "stats", r, PAGER="true"), ("", ""), "it reads nothing")
    out, err = shown(duet, "stats", r, PAGER="/no/such/pager")
    check(out, plain, "all is shown")
    check(err, "duet: PAGER=/no/such/pager: no such command: without a pager (--no-pager)\n")
    out, err = shown(duet, "stats", r, PATH="/nowhere")
    check((out, err), (plain, ""), "without less")


def the_exit_status_is_kept(duet, where):
    check("no such" in shown(duet, "report", "cpu", where + "/nothing", status=2)[1].lower(), True)


def nothing_is_paged_in_a_pipe(duet, where):
    p = subprocess.run([duet.path, "stats", recording(where)], env={**os.environ, "PAGER": "sed s/^/page:/"},
                       stdout=subprocess.PIPE, text=True, check=True)
    check(("page:" in p.stdout, NAME in p.stdout), (False, True), "and names are whole")


def tables_are_as_wide_as_the_terminal(duet, where):
    r = recording(where)
    for how in (dict(width=100), dict(COLUMNS="100")):
        for pager in ("cat", "sed p"):  # also behind a pager
            out = shown(duet, "stats", r, DUET_PAGER=pager, **how)[0]
            check(max(len(l) for l in out.splitlines()) <= 100, True, (how, pager))
            check(("shop:aaa" in out, "middle" in out, "bbb  " in out), (True, False, True), "cut in the middle")
    check(NAME in shown(duet, "stats", r, DUET_PAGER="cat", width=300)[0], True, "where it fits it is whole")


if __name__ == "__main__":
    sys.exit(run_all([long_output_is_given_to_the_pager, a_pager_that_leaves_or_is_not_there_is_no_error,
                      the_exit_status_is_kept, nothing_is_paged_in_a_pipe, tables_are_as_wide_as_the_terminal],
                     Duet(sys.argv[1])))
