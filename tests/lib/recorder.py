# SPDX-License-Identifier: MIT
"""Commands of duet that many tests give, each with its checks: they record, end well, and can be read."""
import json
import signal

from trial import begins, cmd, duet, is_, ok, start


def collect(trace, *options, session="default", **more):
    """-> a `duet collect` that records into @trace and that programs can join"""
    name = [] if session == "default" else ["-s", session]
    return begins(start(duet, "collect", *name, "-o", trace, *options, **more), session)


def stop(collector, sig=signal.SIGTERM):
    """Ends a collector.  -> its messages"""
    status, _, err = collector.end(sig)
    is_(status, 0, "the collector ends well: " + err)
    return err


def record(trace, *args):
    """Records a command into @trace.  -> the output of the command, the messages of duet"""
    status, out, err = cmd("record", "-o", trace, *args)
    is_(status, 0, "duet record: " + err)
    return out, err


def view(trace, *options, may_lose=True):
    """-> the events and, if they are allowed, the losses of a recording, as `duet view --json` shows them.  A pattern
    that matches none gives none."""
    status, out, err = cmd("view", "--json", *options, trace)
    if status == 2 and "nothing recorded" in err:
        return []
    is_(status, 0, "duet view: " + err)
    found = [json.loads(line) for line in out.splitlines()]
    ok(may_lose or all("event" in e for e in found), "nothing was lost in " + trace, out[-500:])
    return found
