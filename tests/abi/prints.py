# SPDX-License-Identifier: MIT
"""Everything that a person sees goes through src/cmd/print or struct out, which escape names and values.

Mistakes of a new verb are refused here:

  (1) printf(), fputs(), fwrite(), stdout, stderr and their relatives are in the files of STREAMS alone
  (2) descriptors 1 and 2 are asked (isatty) or passed on, not written
  (3) out_byte(), out_bytes(), out_padded() and out_data() copy as it is: a call without a literal is in COPIES, or the file
      writes data for programs
  (4) print_own() prints literals and the texts of OWN; a format is a literal; print_lines() is called in LINES alone

Each row of a table has the reason why nothing of another program reaches a terminal there.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

STREAMS = {
    "src/cmd/print/print.c": "it escapes",
    "src/cmd/top/screen.c": "curses; names come from top_name_text() and top_now_text(), which escape",
    "src/cmd/record/manual.c": "a program of the build",
    "src/collect/chunks/chunks.c": "writes a file of the recording",
    "src/collect/drain/files.c": "writes a file of the recording",
    "src/collect/drain/maps.c": "writes a file of the recording",
    "src/kernel/statedump/kallsyms.c": "writes a file of the recording",
}
DATA = {
    "src/cmd/view/csv.c": "CSV; escaped as a whole on a terminal (is_shown)",
    "src/cmd/view/json.c": "names and values by out_json()",
    "src/cmd/report/table.c": "names and values by out_json() and out_text()",
    "src/cmd/export/*.c": "data for programs; escaped as a whole on a terminal (is_shown)",
    "src/trace/text/output.c": "it escapes",
    "src/trace/text/real.c": "digits of numbers",
}
COPIES = {
    "src/cmd/graph/lines.c": {"out_data(l->out, at, n)"},  # lines of text_add_printable() and our colours
    "src/cmd/strace/print.c": {"out_bytes(o, text, strlen(text) - (size_t)(9 - digits))"},  # a number
    "src/cmd/view/text.c": {
        "out_bytes(o, c->text, c->size)",  # a time
        'out_bytes(o, is_back ? "(-" : "(+", 2)',
        "out_padded(o, p->before, p->size)",  # of the template, which escapes
        "out_bytes(o, s, strlen(s))",  # a colour
        "out_bytes(o, text, strlen(text))",  # counts
    },
    "src/trace/text/fields.c": {
        'out_bytes(o, v->real < 0 ? "-inf" : "+inf", 4)',
        "out_bytes(o, before, strlen(before))",
        'out_bytes(o, is_first ? " " : ", ", is_first ? 1 : 2)',
        'out_data(o, scope < 0 ? "{" : " }, {", scope < 0 ? 1 : 5)',
    },
}
OWN = {"help", "usage", "o->usage", "o->examples", "o->notes"}
LINES = {
    "src/cmd/record/start.c": "messages of the session's process",
    "src/cmd/script/front.c": "messages with the place in the script",
    "src/cmd/script/run.c": "messages, warn() and the passes of a script",
    "src/cmd/session/trigger_watch.c": "a notification: JSON",
    "src/cmd/print/print.c": "it escapes",
}
# Descriptors 0 to 2 in these calls write nothing.
HARMLESS = r"isatty|ioctl|dup2|close|fstat|tcgetpgrp|out_init|fcntl|terminal"
DESCRIPTORS = {
    "src/cmd/print/print.c": "it escapes",
    "src/cmd/confine/output_file.c": "of a struct out",
    "src/cmd/export/export.c": "of a struct out",
    "src/cmd/remote/relay.c": "waits until it can be written",
    "src/cmd/script/output.c": "of the script's output",
    "src/cmd/strace/strace.c": "of a struct out",
    "src/collect/calls/objects.c": "of a child's output",
    "src/sandbox/seccomp.c": "a number, and a verb's name",
}
WRITES = {  # io_write() and write() of the command itself
    "src/cmd/confine/errand.c": "a byte to its process",
    "src/cmd/export/ctf.c": "a copy of a file",
    "src/cmd/script/module.c": "a file",
    "src/cmd/script/output.c": "the script's output: library_add_shown() escapes",
    "src/cmd/script/run.c": "an eventfd; tables for programs",
    "src/cmd/ui/browser.c": "an address of ours to the process that opens it",
}
STREAM = re.compile(r"\b(v?[fd]?printf|f?puts|f?putc|putchar|fwrite|perror|psignal|psiginfo|(?:puts|fputs|putc|fputc|putchar|"
                    r"fwrite)_unlocked|v?syslog|(?:mv|w|mvw)?(?:printw|add(?:n?str|n?wstr|ch)))\s*\(|\b(stdout|stderr)\b")


def bare(text):
    """Without comments; text in quotes stays."""
    return re.sub(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*',
                  lambda m: m.group() if m.group()[0] in "\"'" else re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def unquoted(text):
    return re.sub(r'"(?:\\.|[^"\\\n])*"', lambda m: '"' + " " * (len(m.group()) - 2) + '"', text)


def call_at(text, begin):
    """The call that begins there, with its arguments, in one line."""
    depth, i, quote = 0, text.index("(", begin), None
    start = i
    while True:
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = None
        elif c in "\"'":
            quote = c
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if not depth:
                return text[begin:i + 1], text[start + 1:i]
        i += 1


def is_in(table, path):
    return any(pathlib.PurePath(path).match(pattern) for pattern in table)


def is_literal(argument):
    """Literals, also several of them behind conditions, and numbers by macros (PRIu64)."""
    left = re.sub(r'"(?:\\.|[^"\\])*"', " ", argument)
    left = re.sub(r"\bPRI[a-z]\w*\b", " ", left)
    if "?" in left:
        left = re.sub(r"[^?]*\?", "", left).replace(":", " ")
    return not left.strip()


def first_argument(arguments):
    depth, quote = 0, None
    for i, c in enumerate(arguments):
        if quote:
            quote = None if c == quote and arguments[i - 1] != "\\" else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and not depth:
            return arguments[:i]
    return arguments


def judge_streams(path, text):
    if not is_in(STREAMS, path):
        for m in STREAM.finditer(unquoted(text)):
            yield m.start(), "%s is not for a terminal: use src/cmd/print/print.h" % m.group(0).rstrip("( ")
    for m in re.finditer(r"\b(STDOUT|STDERR)_FILENO\b", text):
        line = text[text.rfind(";", 0, m.start()) + 1:m.end()]
        if not is_in(DESCRIPTORS, path) and not re.search(HARMLESS, line):
            yield m.start(), "%s is used in an unknown way" % m.group(0)
    for m in re.finditer(r"\b(?:p?writev?|io_write|send)\s*\(\s*[12]\s*,", text):
        yield m.start(), "it writes to descriptor 1 or 2"
    if path.startswith("src/cmd/") and not is_in(WRITES, path):
        for m in re.finditer(r"\b(?:write|writev|io_write)\s*\(", unquoted(text)):
            yield m.start(), "it writes to a descriptor: use src/cmd/print/print.h, or add the file to WRITES"


def judge_copies(path, text):
    if is_in(DATA, path) or path == "src/trace/text/output.h":
        return
    for m in re.finditer(r"\bout_(byte|bytes|padded|data)\s*\(", text):
        call, arguments = call_at(text, m.start())
        call = re.sub(r"\s+", " ", call)
        if call in COPIES.get(path, ()):
            continue
        if m.group(1) == "byte" and re.search(r",\s*('(\\.|[^'])'|\(char\)\('0'.*\))$", arguments):
            continue
        yield m.start(), "%s copies as it is: use out_text(), or add it to COPIES" % call


def judge_formats(path, text):
    if is_in({"src/cmd/print/*"}, path):
        return
    for m in re.finditer(r"\b(print_(?:out|err|own|own_err|lines|lines_err))\s*[(,;)]", unquoted(text)):
        name = m.group(1)
        if "lines" in name:
            if path not in LINES:
                yield m.start(), "%s() keeps newlines: add the file to LINES" % name
            continue
        call, arguments = call_at(text, m.start())
        first = re.sub(r"\s+", " ", first_argument(arguments)).strip()
        if re.search(r'"[^"]*\\[a-z0-7]', arguments[len(first_argument(arguments)):]):
            yield m.start(), "%s(): an escape in an argument is printed as \\x0a: write it in the format" % name
        if not is_literal(first) and not (name.startswith("print_own") and first in OWN):
            yield m.start(), "%s(%s): not a literal" % (name, first)


def judge(path, text):
    text = bare(text)
    for rule in (judge_streams, judge_copies, judge_formats):
        for at, why in rule(path, text):
            yield "%s:%d: %s" % (path, text.count("\n", 0, at) + 1, why)


# Lines of a new verb that each rule has to refuse, and lines that it has to let pass.
WRONG = ['printf("%s", name);', "puts(name);", "fwrite(name, 1, n, f);", "fprintf(f, name);", "FILE *f = stderr;", "perror(name);",
         "write(STDOUT_FILENO, name, n);", "write(1, name, n);", "dprintf(fd, name);", "io_write(fd, name, n);",
         "out_bytes(o, name, n);", "out_data(o, name, n);", "out_byte(o, c);", "print_out(name);", "print_own(name);",
         'print_out(n ? "a" : name);', "print_lines(name, n);", "addstr(name);", 'print_out("%s%s", i ? "\\n" : "", name);', 'out_bytes(o, n ? name : "", n);']
RIGHT = ['print_out("%s %" PRIu64 "\\n", name, n);', "print_own(help);", 'print_out(n ? "a\\n" : "b");', "out_byte(o, '\\n');",
         "out_text(o, name, n);", "isatty(STDOUT_FILENO);", "out_init(&o, STDOUT_FILENO);", '/* printf() */ f("stdout, printf(");']


def main():
    failed = []
    for sample in WRONG:
        if not list(judge("src/cmd/new/verb.c", sample)):
            failed.append("the test does not refuse: " + sample)
    for sample in RIGHT:
        failed += ["the test refuses %s: %s" % (sample, f) for f in judge("src/cmd/new/verb.c", sample)]
    for f in sorted((ROOT / "src").rglob("*.[ch]")):
        failed += judge(str(f.relative_to(ROOT)), f.read_text())
    for table in (STREAMS, COPIES, LINES, WRITES, DESCRIPTORS):
        failed += ["%s: in a table of this test, but not there" % p for p in table if not (ROOT / p).is_file()]
    for line in failed:
        print(line)
    return bool(failed)


sys.exit(main())
