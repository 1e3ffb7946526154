#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""documents.py DUET ROOT - what the documents of the script language show: every script in them is one, those of the
manual page print what it says, and it has each function that scripts can call, and no other.

In the manual page a comment stands before each script: `example runs` or `example parses`.
"""
import os
import re
import shlex
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
from check import Duet, Failed, check, run_all

ROOT = os.path.abspath(sys.argv[2])
PAGE = open(ROOT + "/man/duet-script-language.7").read()
BLOCK = re.compile(r'\.\\" (runs|parses|output)\n\.Bd -literal(?: -offset indent)?\n(.*?)\.Ed\n', re.S)
# Printed by the parser and compiler themselves.
PRINTING = {"print", "println", "printd", "printdln", "printf", "table", "plot", "sprint", "sprintln", "sprintd",
            "sprintdln", "sprintf"}


def text_of(block):
    return "\n".join(re.sub(r"^\\&", "", line).replace("\\e", "\\") for line in block.split("\n"))


def scripts_of_the_manual_print_what_it_says(duet, where):
    blocks = [(kind, text_of(text)) for kind, text in BLOCK.findall(PAGE)]
    check(len(blocks) >= 8, True, "there are scripts in the page")
    for i, (kind, text) in enumerate(blocks):
        if kind == "runs":
            p = duet.run("script", "-e", text)
            check(blocks[i + 1], ("output", p.stdout), "after\n" + text)
            check(p.stderr, "", "of\n" + text)
        elif kind == "parses":
            check(duet.run("script", "-p1", "-e", text).stderr, "", "of\n" + text)


def commands_of(name):
    """The duet commands in the fenced blocks of a document; a command ends with its block."""
    text = open(ROOT + "/docs/" + name).read()
    for block in re.findall(r"^```\n(.*?)^```", text, re.S | re.M):
        at = re.search(r"^duet script ", block, re.M)
        if at:
            yield shlex.split(block[at.start():])


def one_liners_beside_others_are_scripts(duet, where):
    for name in ("coming-from-bpftrace.md", "coming-from-systemtap.md"):
        commands = list(commands_of(name))
        check(len(commands) >= 5, True, "%s has commands" % name)
        for words in commands:
            p = duet.run("script", "-p1", "-e", words[words.index("-e") + 1])
            check(p.stderr, "", "of %r" % words)


def functions():
    """name: numbers of arguments, of builtins.def and of the library in the script language."""
    found = {}
    for name, signature in re.findall(r'^(?:CELL|SITE|CALL)\((\w+), "\w:(\w*)"',
                                      open(ROOT + "/src/script/library/builtins.def").read(), re.M):
        found.setdefault(name, set()).add(len(signature))
    texts = ROOT + "/src/script/library/texts/"
    for file in os.listdir(texts):
        for name, parameters in re.findall(r"^function (\w+)(?::\w+)?\((.*?)\)", open(texts + file).read(), re.M):
            if not name.startswith("__"):
                found.setdefault(name, set()).add(len([p for p in parameters.split(",") if p.strip()]))
    return found


def manual_has_each_function_and_no_other(duet, where):
    shown = {}
    section = PAGE[PAGE.index(".Sh FUNCTIONS\n"):PAGE.index(".Sh LIMITS")]
    for line in re.findall(r"^\.It Fn (.*)$", section, re.M):
        words = shlex.split(line)
        shown.setdefault(words[0], set()).add(len(words) - 1)
    wanted = functions()
    wanted["ctime"].discard(0)      # in the words of the other form
    wanted["tokenize"].discard(1)
    for name in sorted(set(shown) | set(wanted)):
        if shown.get(name) != wanted.get(name):
            raise Failed("%s: the manual page shows %s arguments, duet takes %s" % (name, shown.get(name), wanted.get(name)))
    for name in PRINTING:
        check(bool(re.search(r"Fn %s\b" % name, PAGE)), True, "the page has %s()" % name)


def aliases():
    """name: the values that its statements assign, of the library."""
    found = {}
    texts = ROOT + "/src/script/library/texts/"
    for file in os.listdir(texts):
        for name, body in re.findall(r"^probe ([\w.]+) =[^=]*?\{\s([^}]*)\}", open(texts + file).read(), re.M):
            values = re.findall(r"(?:^|[;\s])(\w+) = ", body)
            found[name] = {v for v in values if v != "name" and not v.startswith("__")}
    return found


def manual_has_each_alias_with_its_values(duet, where):
    page = open(ROOT + "/man/duet-script-library.7").read().replace("\\\n", "")
    items = re.findall(r"^\.It Li (\S+)(?: : (.*))?$", page, re.M)
    shown, wanted = {name: set(values.split()) for name, values in items}, aliases()
    check(len(wanted) > 80, True, "there are aliases")
    for name in sorted(set(shown) | set(wanted)):
        check(shown.get(name), wanted.get(name), name)


TESTS = [
    manual_has_each_alias_with_its_values,
    scripts_of_the_manual_print_what_it_says,
    one_liners_beside_others_are_scripts,
    manual_has_each_function_and_no_other,
]

if __name__ == "__main__":
    sys.exit(run_all(TESTS, Duet(sys.argv[1])))
