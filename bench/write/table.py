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
        self.rows, self.units, self.notes, self.groups = {}, {}, {}, []

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

    def as_json(self, **more):
        return json.dumps(dict(more, rows=[
            dict(group=title, row=row, unit=self.units[row], notes=self.notes.get(row, []),
                 **{c: dict(median=self.median(row, c), values=v) for c, v in self.rows[row].items()})
            for title, rows in self.groups for row in rows]), indent=1)

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


def machine():
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return "%s, %d CPUs, Linux %s" % (model.group(1) if model else os.uname().machine,
                                      os.cpu_count(), os.uname().release)
