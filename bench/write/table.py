# SPDX-License-Identifier: MIT
"""Rows of figures, one value per round, and their output."""
import json
import os
import re
import statistics

COLUMNS = ("reference", "duet", "LTTng", "LTTng+ids")


class Table:
    """values[row][column] is a list, one value per round; units and notes are by row."""

    def __init__(self):
        self.rows, self.units, self.notes, self.groups, self.refuted = {}, {}, {}, [], []

    def group(self, title):
        """Rows that are new from here on appear below @title."""
        if title not in (t for t, _ in self.groups):
            self.groups.append((title, []))
        self.current = dict(self.groups)[title]

    def row(self, row, unit="ns"):
        if row not in self.rows:
            self.rows[row], self.units[row] = {}, unit
            self.current.append(row)
        return self.rows[row]

    def add(self, row, column, value, unit="ns"):
        self.row(row, unit).setdefault(column, []).append(value)

    def note(self, row, text, unit="ns"):
        self.row(row, unit)
        if text not in self.notes.setdefault(row, []):
            self.notes[row].append(text)

    def median(self, row, column):
        values = self.rows.get(row, {}).get(column)
        return statistics.median(values) if values else None

    def refute(self, row, column, why):
        """The row has not measured what it says: it has no figure from here back, and the run fails."""
        self.note(row, "%s NOT PROVED: %s" % (column, why))
        self.rows[row].pop(column, None)
        self.refuted.append("%s, %s: %s" % (row, column, why))

    def as_json(self, **more):
        """The form that ../compare.py reads: a line for each row, with the values of all rounds."""
        rows = [dict(group=title, row=row, unit=self.units[row], notes=self.notes.get(row, []),
                     **{c: [float("%.4g" % x) for x in v] for c, v in self.rows[row].items()})
                for title, rows in self.groups for row in rows]
        head = json.dumps(more, indent=1)[:-2]
        return head + ',\n "rows": [\n' + ",\n".join("  " + json.dumps(r) for r in rows) + "\n ]\n}"

    def cell(self, row, column):
        values = self.rows[row].get(column)
        if not values:
            return "-"
        text = "%s" % number(statistics.median(values))
        if len(values) > 1 and min(values) != max(values):
            text += " (%s-%s)" % (number(min(values)), number(max(values)))
        return text

    def ratio(self, row, column, to):
        a, b = self.median(row, column), self.median(row, to)
        return "%.2f" % (a / b) if a is not None and b and b > 0 else ""

    def to_reference(self, row):
        """Costs are compared with the reference; additions to it are not."""
        return self.ratio(row, "duet", "reference") if self.units[row] == "ns" else ""

    def has_losses(self):
        return any("lost" in n for notes in self.notes.values() for n in notes)

    def print(self):
        for title, rows in self.groups:
            print("\n%s" % title)
            print("%-26s %-6s %-18s %-22s %5s  %-22s %-22s %s" % (
                "", "", COLUMNS[0], COLUMNS[1], "/ref", COLUMNS[2], COLUMNS[3], "LTTng/duet"))
            for row in rows:
                ratios = [r for r in (self.ratio(row, c, "duet") for c in COLUMNS[2:]) if r]
                print(("%-26s %-6s %-18s %-22s %5s  %-22s %-22s %-12s %s" % (
                    row, self.units[row], self.cell(row, COLUMNS[0]), self.cell(row, COLUMNS[1]),
                    self.to_reference(row), self.cell(row, COLUMNS[2]),
                    self.cell(row, COLUMNS[3]), " / ".join(ratios),
                    "; ".join(self.notes.get(row, [])))).rstrip())


def number(v):
    if v is None:
        return "-"
    return "%.0f" % v if abs(v) >= 100 or v == int(v) else "%.1f" % v if abs(v) >= 20 else "%.2f" % v


def processor():
    """Return the name of this processor's directory in bench/figures: its name alone does not tell models apart."""
    with open("/proc/cpuinfo") as f:
        text = f.read()
    parts = [re.search(r"^%s\s*: (\S+)" % key, text, re.M) for key in ("vendor_id", "cpu family", "model")]
    if not all(parts):
        return os.uname().machine
    vendor = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(parts[0].group(1), parts[0].group(1).lower())
    return "-".join([vendor] + [p.group(1) for p in parts[1:]])


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return "%s (%s), %d CPUs, Linux %s" % (model.group(1) if model else os.uname().machine, processor(),
                                           os.cpu_count(), os.uname().release)
