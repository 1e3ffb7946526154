# SPDX-License-Identifier: MIT
"""The types in the metadata of a CTF trace, as Babeltrace reads them, and how those of two tracers differ.

recording(directory) -> {event: {field: type}}; contexts are those of the event "context", the entries of the environment
those of "env", which are a number or a string.  A type is a text with all that a reader's values depend on:

    uint32, int64 base 16, float64, string, enum uint8 {0=WAIT 1=TIMER}, array of int32, struct {a: int32, b: string}

Lengths of arrays and sequences are no fields of their own: __name_length, _name_length.

check(ours, theirs, document, half) prints the differences that the document does not have, and the rows that differ no more;
returns 1 if there are any, else 0.

known(document, half) -> the differences in the table of that half of the document, each (event, field, why); both are
globs.  differences(ours, theirs) -> [(event, field, ours, theirs)]; "" is a missing field.
"""
import fnmatch
import os
import re
import subprocess

INTEGER = re.compile(r"(Signed|Unsigned) (integer|enumeration) \((\d+)-bit, Base (\d+)(?:, [\d,]+ mappings?)?\)")


def details(directory):
    p = subprocess.run(["babeltrace2", "--component=sink.text.details", "--params=with-data=no", directory],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode:
        raise RuntimeError("babeltrace2 %s: %s" % (directory, p.stderr))
    return p.stdout


def tree(text):
    """-> [(line, children)], by indentation"""
    root = []
    stack = [(-1, root)]
    for line in text.splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        while stack[-1][0] >= depth:
            stack.pop()
        node = (line.strip(), [])
        stack[-1][1].append(node)
        stack.append((depth, node[1]))
    return root


def labels(children):
    """Of an enumeration: the first number of each label."""
    found = []
    for line, _ in children:
        name, first = re.fullmatch(r"(.*): [\[{]*(-?[\d,]*\d).*", line).groups()
        found.append((int(first.replace(",", "")), name))
    return " {%s}" % " ".join("%d=%s" % f for f in sorted(found))


def type_of(text, children):
    m = INTEGER.match(text)
    if m:
        sign, what, bits, base = m.groups()
        name = ("" if sign == "Signed" else "u") + "int" + bits
        if what == "enumeration":
            return "enum %s%s" % (name, labels(children))
        return name + ("" if base == "10" else " base " + base)
    if text.startswith("String"):
        return "string"
    if "recision real" in text:
        return "float32" if text.startswith("Single") else "float64"
    if "array" in text:
        line, below = next(c for c in children if c[0].startswith("Element: "))
        return "array of " + type_of(line[len("Element: "):], below)
    if text.startswith("Structure"):
        return "struct {%s}" % ", ".join("%s: %s" % f for f in fields(children).items())
    if text.startswith("Variant"):
        return "variant {%s}" % ", ".join("%s: %s" % f for f in fields(children).items())
    if text.startswith("Option"):
        return "option"
    raise ValueError("no type: " + text)


def fields(children):
    found = {}
    names = {line.partition(": ")[0] for line, _ in children}
    for line, below in children:
        name, _, text = line.partition(": ")
        if any(name in ("_%s_length" % n, "__%s_length" % n) for n in names):
            continue
        found[name] = type_of(re.sub(r"^\[[-\d, \[\]]*\]: ", "", text), below)  # options of a variant have ranges
    return found


def types(directory):
    found = {"context": {}}
    for line, children in tree(details(directory)):
        for stream, parts in children if line == "Trace class:" else []:
            for part, below in parts if stream.startswith("Stream class") else []:
                event = re.match(r"Event class `(.*)` \(ID", part)
                if part.startswith("Event common context field class"):
                    found["context"].update(fields(below))
                for inner, members in below if event else []:
                    if re.match(r"(Payload|Specific context) field class", inner):
                        found.setdefault(event.group(1), {}).update(fields(members))
                if event:
                    found.setdefault(event.group(1), {})
    return found


def environment(directory):
    """The entries of the environment.  A packetized metadata file has headers between its texts."""
    with open(directory + "/metadata", "rb") as f:
        text = f.read().decode(errors="replace")
    text = re.search(r"\benv \{(.*?)\n\};", text, re.S).group(1)
    return {name: "string" if value.startswith('"') else "number" for name, value in re.findall(r"(\w+) = (.*);", text)}


def recording(directory):
    return {**types(directory), "env": environment(directory)}


def differences(ours, theirs):
    found = []
    for event in sorted(theirs):
        if event not in ours:
            found.append((event, "", "", "event"))
            continue
        for field in sorted(set(ours[event]) | set(theirs[event])):
            a, b = ours[event].get(field, ""), theirs[event].get(field, "")
            if a != b:
                found.append((event, field, a, b))
    return found


def known(document, half):
    """The rows of the table below the heading @half of the document: event, field, LTTng's, ours, why."""
    with open(document, encoding="utf-8") as f:
        text = f.read().split("\n## " + half + "\n", 1)[1].split("\n## ", 1)[0]
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    return [(e, f, row[4]) for row in rows for e in re.findall(r"`([^`]*)`", row[0])
            for f in re.findall(r"`([^`]*)`", row[1]) or [""]]


def explain(found, reasons):
    """-> (differences without a reason, reasons without a difference)"""
    used = set()
    bad = []
    for d in found:
        why = [k for k in reasons if fnmatch.fnmatchcase(d[0], k[0]) and fnmatch.fnmatchcase(d[1], k[1])]
        used.update(why)
        if not why:
            bad.append(d)
    return bad, [k for k in reasons if k not in used]


def check(ours, theirs, document, half, kinds=None):
    """@kinds: only events with this in common; a row may be about others then."""
    found = [d for d in differences(ours, theirs) if not kinds or d[0] in kinds]
    bad, unused = explain(found, known(document, half))
    for event, field, mine, its in bad:
        print("%s %s: ours is %s, LTTng's %s" % (event, field, mine or "missing", its or "missing"))
    for event, field, why in unused if not kinds else []:
        print("%s: no difference any more: %s %s (%s)" % (os.path.basename(document), event, field, why))
    print("%d differences, %d of them without a reason" % (len(found), len(bad)))
    return 1 if bad or (unused and not kinds) else 0
