# SPDX-License-Identifier: MIT
"""The commands that many tests run, each with its checks: they record, end well, and their recording can be read."""
import json
import signal

from trial import PATIENCE, begins, cmd, duet, is_, ok, runtime, start, work


def collect(trace, *options, session="default", directory=runtime, **more):
    """-> a `duet collect` that records into @trace, its .trace, once programs can join it.
    @directory: the runtime directory of its user; @more: for subprocess.Popen."""
    name = [] if session == "default" else ["-s", session]
    collector = begins(start(duet, "collect", *name, "-o", trace, *options, **more), session, directory)
    collector.trace = trace
    return collector


def collect_session(name, *options):
    """-> a `duet collect` of the session @name, which records into the directory of that name in @work"""
    return collect(work + "/" + name, "-q", *options, session=name)


def stop(collector, sig=signal.SIGTERM, status=0, timeout=PATIENCE):
    """Ends a collector, within @timeout seconds.  @status: its exit status; None allows any.  -> its messages"""
    collector.send_signal(sig)
    err = collector.communicate(timeout=timeout)[1]
    if status is not None:
        is_(collector.returncode, status, "the collector ends well: " + err)
    return err


def record(trace, *args, **more):
    """Records a command into @trace.  @more: for subprocess.run.  -> the output of the command, the messages of duet"""
    status, out, err = cmd("record", "-o", trace, *args, **more)
    is_(status, 0, "duet record: " + err)
    return out, err


def view(trace, *options, may_lose=True, may_be_empty=True):
    """-> the events of a recording, as `duet view --json` shows them, and its losses if @may_lose.
    If @may_be_empty, a pattern that matches no event gives none."""
    status, out, err = cmd("view", "--json", *options, trace)
    if may_be_empty and status == 2 and "nothing recorded" in err:
        return []
    is_(status, 0, "duet view: " + err)
    found = [json.loads(line) for line in out.splitlines()]
    ok(may_lose or all("event" in e for e in found), "nothing was lost in " + trace, out[-500:])
    return found
