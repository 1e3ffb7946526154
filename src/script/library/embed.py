#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The texts of the script library as C, with the words that call for each.

    embed.py FILE.stp...

A word is the first component of an alias (with a dot behind it) or the name of a function (with a parenthesis).
"""
import pathlib
import re
import sys

texts, words, names = [], [], []
for number, name in enumerate(sorted(sys.argv[1:])):
    text = pathlib.Path(name).read_bytes()
    texts.append((pathlib.Path(name).name, text))
    source = text.decode()
    words += [(w, ".", number) for w in set(re.findall(r"^probe (\w+)\.", source, re.M))]
    words += [(w, "(", number) for w in set(re.findall(r"^function (\w+)", source, re.M))]

    names += re.findall(r"^(?:probe|function) ([\w.]+)", source, re.M)

print("/* Made by library/embed.py. */")
for number, (name, text) in enumerate(texts):
    print("static const char text_%d[] =" % number)
    for line in text.decode().splitlines():
        print('\t"%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"'))
    print("\t;")
print("static const struct { const char *name, *bytes; size_t size; } texts[] = {")
for number, (name, text) in enumerate(texts):
    print('\t{ "library/%s", text_%d, sizeof text_%d - 1 },' % (name, number, number))
print("};")
print("static const char *const names[] = {")
for name in sorted(names):
    if not name.startswith("__"):
        print('\t"%s",' % name)
print("};")
print("static const struct word words[] = {")
for word, behind, number in sorted(words):
    print("\t{ \"%s\", '%s', %d }," % (word, behind, number))
print("};")
