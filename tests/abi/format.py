#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every C source is as clang-format makes it: format.py [FILE...]

Without FILE, all .c and .h below src, include, tests, bench and examples.  tests/neg is left out: its
mistakes are laid out by hand.  Prints each file that differs and how to format it.  Exit: 0, 1 if one differs, 77
without clang-format.
"""
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACES = ["src", "include", "tests", "bench", "examples"]
AT_ONCE = 40  # files for one process


def sources():
    """All that git tracks; all there are, where the tree is no checkout."""
    patterns = ["%s/*.[ch]" % p for p in PLACES]
    try:
        out = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True).stdout
    except FileNotFoundError:
        out = ""
    files = out.split() or [str(f.relative_to(ROOT)) for p in PLACES for f in (ROOT / p).rglob("*.[ch]")]
    return sorted(f for f in files if not f.startswith("tests/neg/") and (ROOT / f).exists())


def is_formatted(files):
    return not subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=ROOT, capture_output=True).returncode


def main(files):
    if not shutil.which("clang-format"):
        print("skipped: clang-format is not installed")
        return 77
    files = files or sources()
    some = [files[i:i + AT_ONCE] for i in range(0, len(files), AT_ONCE)]
    wrong = [f for part in some if not is_formatted(part) for f in part if not is_formatted([f])]
    for f in wrong:
        print("not formatted: %s" % f)
    if wrong:
        print("format them: clang-format -i FILE...")
    print("%d of %d files are formatted" % (len(files) - len(wrong), len(files)))
    return bool(wrong) or not files


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
