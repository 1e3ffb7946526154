# SPDX-License-Identifier: MIT
"""tests/lib/source_package.py - Debian's source packages, for tests that run the tests of other programs.

Nothing that is fetched is committed.  The package lists of the machine stay as they are.
"""
import os
import re
import subprocess
import sys


def run(command, cwd, purpose):
    """The output of a command, without which the program cannot go on."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s failed:\n%s" % (purpose, " ".join(command), done.stderr[-2000:]))
    return done.stdout


def source_lists():
    """The sources of packages of this machine, as sources of source packages."""
    lines, at = [], "/etc/apt"
    names = [os.path.join(at, "sources.list.d", n) for n in
             sorted(os.listdir(at + "/sources.list.d"))] + [at + "/sources.list"]
    for name in (n for n in names if os.path.exists(n)):
        text = open(name).read()
        if name.endswith(".sources"):
            yield ".sources", re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
        else:
            lines += re.findall(r"(?m)^deb\s+(.*debian.*)$", text)
    yield ".list", "".join("deb-src %s\n" % line for line in lines)


def find(package, work):
    """The directory of the source package that an earlier run left in @work, or None."""
    found = [d for d in os.listdir(work) if re.match(re.escape(package) + r"-[0-9.]+$", d)]
    return os.path.join(work, found[0]) if found else None


def fetch(package, work):
    """Fetches the source package of Debian into @work; its directory."""
    lists = os.path.join(work, "apt")
    os.makedirs(lists + "/sources.d")
    os.makedirs(lists + "/lists/partial")
    for i, (kind, text) in enumerate(source_lists()):
        if "debian" in text:
            open("%s/sources.d/%d%s" % (lists, i, kind), "w").write(text)
    options = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o",
               "Dir::Etc::sourceparts=%s/sources.d" % lists,
               "-o", "Dir::State::lists=%s/lists" % lists]
    run(["apt-get", *options, "update"], work, "package lists")
    run(["apt-get", *options, "source", package], work, "source package")
    return find(package, work)
