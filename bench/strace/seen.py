# SPDX-License-Identifier: MIT
"""How many calls a tracer's output shows: the proof that it saw them."""
import re


def calls_seen(lines, name, is_summary):
    """@lines: of strace, duet strace or perf trace.  @is_summary: the table of -c."""
    if is_summary:
        rows = [line.split() for line in lines]
        return sum(int(row[3]) for row in rows if row and row[-1] == name)
    # A call that another thread interrupts is shown in two lines; its begin counts.
    begin = re.compile(r"(?:^|[^\w])%s\(" % name)
    return sum(1 for line in lines if begin.search(line) and "resumed>" not in line)
