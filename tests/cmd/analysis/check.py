# SPDX-License-Identifier: MIT
"""Shared by the tests of this directory: runs `duet` on a recording, and checks the tests' claims."""
import json
import subprocess
import sys
import tempfile
import traceback


class Failed(Exception):
    pass


def check(got, want, what=""):
    if got != want:
        raise Failed("%s: got %r, not %r" % (what, got, want))


def near(got, want, least, most, what):
    """Checks want * least <= got <= want * most."""
    if not want * least <= got <= want * most:
        raise Failed("%s: %s is not within %s to %s of %s" % (what, got, least, most, want))


class Duet:
    def __init__(self, path):
        self.path = path

    def run(self, *argv, status=0, env=None):
        p = subprocess.run([self.path] + [str(a) for a in argv], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, timeout=300, env=env)
        if p.returncode != status:
            raise Failed("duet %s: status %d, not %d: %s" % (
                " ".join(map(str, argv)), p.returncode, status, p.stderr))
        return p

    def json(self, *argv):
        verb = 2 if argv[0] == "report" else 1
        return json.loads(self.run(*argv[:verb], "--json", *argv[verb:]).stdout)

    def text(self, *argv):
        return self.run(*argv).stdout


def row(table, **want):
    rows = [r for r in table if all(r.get(k) == v for k, v in want.items())]
    if len(rows) != 1:
        raise Failed("%d rows with %r, not one, in %r" % (len(rows), want, table[:20]))
    return rows[0]


MEASURED_TIMES = 5


def measured(test):
    """Decorates a test that compares times.  Other load on the machine, or the host below it, may disturb one
    measurement; a real error occurs each time."""
    def several(duet, where):
        for i in range(MEASURED_TIMES):
            try:
                with tempfile.TemporaryDirectory(dir=where) as here:
                    return test(duet, here)
            except Failed as e:
                if i == MEASURED_TIMES - 1:
                    raise
                print("# measured again: %s" % e)
    several.__name__ = test.__name__
    return several


def run_all(tests, duet):
    """Gives each test duet and a directory of its own."""
    n_failed = 0
    for t in tests:
        name = t.__name__.replace("_", " ")
        with tempfile.TemporaryDirectory(prefix="duet-analysis-") as where:
            try:
                t(duet, where)
                print("ok", name)
            except Failed as e:
                n_failed += 1
                print("not ok %s\n# %s" % (name, e))
            except Exception:
                n_failed += 1
                print("not ok %s\n# %s" % (name, traceback.format_exc().replace("\n", "\n# ")))
        sys.stdout.flush()
    return n_failed > 0
