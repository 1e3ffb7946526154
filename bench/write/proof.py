# SPDX-License-Identifier: MIT
"""Whether a row measured what it says: the events in the files, by name, beside those that the program made.

Each function returns "" if so, otherwise the reason.  A row that is not proved has no figure, and the run fails.
"""
import re

EVENTS = {"empty": "bench:empty", "int": "bench:int1", "int+str16": "bench:intstr", "8ints": "bench:int8", "mark": "bench:mark1"}
LTTNG_MARK = "lttng_ust_tracef:event"


def made(results):
    """Return {event: number} from the lines `made:CASE N` of a program of ../event."""
    return {EVENTS[k[len("made:"):]]: int(v[0]) for k, v in results.items() if k.startswith("made:")}


def found(session):
    """Return the same of the files of a session."""
    return {e: session.found.get(e, 0) + (session.found.get(LTTNG_MARK, 0) if e == EVENTS["mark"] else 0)
            for e in EVENTS.values()}


def of_contexts(session, contexts):
    missing = [c for c in contexts if not re.search(r"\b_?%s(\[[^\]]*\])?;" % c, session.metadata)]
    return "the files have no context %s" % ", ".join(missing) if missing else ""


def all_recorded(results, session):
    """Each event is in the files or counted as lost, and most are in the files."""
    wanted, n = made(results), found(session)
    if not wanted:
        return "the program made no event"
    for event, m in wanted.items():
        if n[event] > m or (n[event] < m and not session.lost):
            return "%d of %d %s found" % (n[event], m, event)
    total, lost = sum(wanted.values()), session.lost
    if sum(n.values()) + lost != total:
        return "%d found and %d lost of %d" % (sum(n.values()), lost, total)
    return "%d of %d lost: mostly the refusal of events was measured" % (lost, total) if lost > total / 10 else ""


def refused(results, session, passing):
    """The filter ran: it passed @passing events of each kind, and refused the others."""
    n = found(session)
    for event, m in made(results).items():
        if not passing < m / 1000 or n[event] != passing:
            return "the filter passed %d of %d %s, it should have passed %d" % (n[event], m, event, passing)
    return "%d lost" % session.lost if session.lost else ""


def passed(results, session, refusing):
    """The filter ran: it refused @refusing events of each kind; the others are in the files or counted as lost."""
    n, wanted = found(session), {e: m - refusing for e, m in made(results).items()}
    for event, m in wanted.items():
        if n[event] > m or (n[event] < m and not session.lost):
            return "the filter passed %d %s, it should have passed %d" % (n[event], event, m)
    total, lost = sum(wanted.values()), session.lost
    if not total or sum(n.values()) + lost != total:
        return "%d found and %d lost of %d that pass" % (sum(n.values()), lost, total)
    return "%d of %d lost: mostly the refusal of events was measured" % (lost, total) if lost > total / 10 else ""


def overwritten(results, session):
    """The files hold the newest events, and fewer than were made."""
    wanted, n = made(results), found(session)
    if not 0 < sum(n.values()) < sum(wanted.values()) or not n[list(wanted)[-1]]:
        return "%d of %d events in the files of a flight recorder" % (sum(n.values()), sum(wanted.values()))
    return ""
