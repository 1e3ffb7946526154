#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""debian/ agrees with the build, as far as that is known without building packages.

    check.py MESON BUILD_DIRECTORY SOURCE_DIRECTORY

Each file that `meson install` installs is in exactly one package, and each line of debian/*.install and *.manpages
names a file; symbols files agree with the libraries' exports; versions agree; each library that duet loads by dlopen
is recommended; each header that a header of a package includes is in that package.  The packages themselves:
try.py, beside this.
"""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

problems = []


def read(*argv):
    return subprocess.run([str(a) for a in argv], check=True, stdout=subprocess.PIPE, text=True).stdout


def installed(meson, build, scratch):
    """paths of the installation, as if its prefix were /usr"""
    root = pathlib.Path(scratch, "root")
    read(meson, "install", "--no-rebuild", "--quiet", "-C", build, "--destdir", root)
    options = {o["name"]: o["value"] for o in json.loads(read(meson, "introspect", "--buildoptions", build))}
    prefix = options["prefix"].lstrip("/")
    found = set()
    for path in root.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            continue
        inside = os.path.relpath(path, root)
        if not inside.startswith(prefix + "/"):
            problems.append("installed outside of the prefix: " + inside)
        inside = "usr" + inside[len(prefix):]
        # debian/rules moves them
        found.add(re.sub("^usr/lib/systemd/system/", "lib/systemd/system/", inside))
    return found, root / prefix / options["libdir"]


def lists(debian, kind):
    """(package, pattern) of debian/PACKAGE.KIND"""
    for path in sorted(debian.glob("*." + kind)):
        for line in path.read_text().splitlines():
            if line and not line.startswith("#"):
                yield path.name[:-len(kind) - 1], line.split()[0].removeprefix("debian/tmp/")  # its place may follow


def check_files(debian, files):
    owners = {f: [] for f in files}
    patterns = list(lists(debian, "install")) + list(lists(debian, "manpages"))
    patterns += [("", line) for line in (debian / "not-installed").read_text().split()]
    for package, pattern in patterns:
        matched = [f for f in files if fnmatch.fnmatch(f, pattern) or fnmatch.fnmatch(f, pattern + "/*")]
        for f in matched:
            owners[f].append(package)
        # uPlot and Python's headers may be missing where the tests run
        if not matched and "python3" not in pattern and package:
            problems.append("debian/%s.install: %s matches no installed file" % (package, pattern))
    for f, packages in sorted(owners.items()):
        if len(packages) != 1:
            problems.append("%s is in %s" % (f, " and ".join(packages) or "no package: add it to debian/*.install"))


def check_headers(debian, source):
    shipped = [(p, f[len("usr/include/"):]) for p, f in lists(debian, "install") if f.startswith("usr/include/")]
    for package, header in shipped:
        for other in re.findall(r"^\s*#\s*include <(duet/.*?)>", (source / "include" / header).read_text(), re.M):
            if (package, other) not in shipped:
                problems.append("%s: %s includes %s, which is in another package" % (package, header, other))


def exports(library):
    found = set()
    for line in read("readelf", "--dyn-syms", "-W", library).splitlines():
        words = line.split()
        if len(words) >= 8 and words[4] in ("GLOBAL", "WEAK") and words[6] != "UND":
            name, _, version = words[7].partition("@@")
            found.add("%s@%s" % (name, version or (name if words[6] == "ABS" else "Base")))
    return found


def check_symbols(debian, libraries):
    named = {}
    for path in debian.glob("*.symbols"):
        for line in path.read_text().splitlines():
            if line.startswith("lib"):
                soname = line.split()[0]
                named[soname] = (path.name, set(), set())
            elif line.startswith(" "):
                is_optional = "(optional)" in line
                named[soname][2 if is_optional else 1].add(line.replace("(optional)", "").split()[0])
    for library in sorted(libraries.glob("libduet*.so.*")):
        path, required, optional = named.pop(library.name, ("", set(), set()))
        real = exports(library)
        if not path:
            problems.append("%s has no symbols file" % library.name)
        for symbol in sorted((real - optional) ^ required):
            problems.append("debian/%s: %s %s of %s" % (path, symbol, "is missing: an export" if symbol in real else
                                                       "is no export", library.name))
    for soname, (path, _, _) in named.items():
        problems.append("debian/%s: there is no %s" % (path, soname))


def check_versions(source):
    meson = re.search(r"version: '(.*?)'", (source / "meson.build").read_text()).group(1)
    debian = re.match(r"duet \((.*?)\)", (source / "debian/changelog").read_text()).group(1)
    if meson != debian:
        problems.append("meson.build has version %s, debian/changelog %s" % (meson, debian))


def check_loaded(source):
    """Libraries loaded by name: duet's package names those that hold them here."""
    control = (source / "debian/control").read_text()
    recommended = re.search(r"^Recommends:\n((?: .*\n)+)", control, re.M).group(1)
    # find/ is duet doctor, which only looks whether these can be loaded
    text = "\n".join(p.read_text() for p in (source / "src").rglob("*.c") if not {"inproc", "find"} & set(p.parts))
    names = re.findall(r'dlopen\(\s*"(.*?)"', text) + re.findall(r'define LIBRARY "(.*?)"', text)
    if len(names) < 3 or len(names) != len(re.findall(r"= dlopen\(", text)):
        problems.append("dlopen is called in another way than this test understands: %s" % names)
    for name in names:
        stem, version = re.fullmatch(r"(lib\w+)\.so\.(\d*)", name).groups()
        if not re.search(r"^ %s%s\b" % (stem, version or r"\d+"), recommended, re.M):
            problems.append("debian/control: duet loads %s, which it does not recommend" % name)


def main():
    meson, build, source = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    with tempfile.TemporaryDirectory(prefix="duet-package-") as scratch:
        files, libraries = installed(meson, build, scratch)
        check_files(source / "debian", files)
        check_symbols(source / "debian", libraries)
    check_headers(source / "debian", source)
    check_versions(source)
    check_loaded(source)
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
