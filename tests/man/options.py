#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The options in duet-record.1, duet-start.1 and duet-collect.1 are those of the table in src/cmd/record.

    options.py OPTION-MANUAL            compare the pages with the program's output
    options.py --write OPTION-MANUAL    write it into the pages
"""
import pathlib
import subprocess
import sys

MAN = pathlib.Path(__file__).resolve().parent.parent.parent / "man"
BEGIN = '.\\" Options: tests/man/options.py --write makes them from src/cmd/record/*.def.\n'
END = '.\\" End of options.\n'


def page_with(text, options):
    """The page, with these options between the two lines."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + options + END + rest.split(END)[1]


def main():
    is_writing = sys.argv[1] == "--write"
    n_differ = 0
    for verb in ("record", "start", "collect"):
        page = MAN / ("duet-%s.1" % verb)
        text = page.read_text()
        wanted = page_with(text, subprocess.run([sys.argv[-1], verb], stdout=subprocess.PIPE, text=True, check=True).stdout)
        if is_writing:
            page.write_text(wanted)
            continue
        n_differ += text != wanted
        print("%sok %s has the options of the table" % ("not " * (text != wanted), page.name))
    if n_differ:
        print("# run: tests/man/options.py --write %s" % sys.argv[-1])
    return n_differ > 0


if __name__ == "__main__":
    sys.exit(main())
