#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first error of a mistake in DUET_EVENT names it, the field and the line, with each compiler.

Each mistake has a pattern for the text of the first error, and the number of errors that may be printed: where
the preprocessor finds the mistake, it is one, although the event is traced afterwards.
"""
import re
import shutil
import subprocess
import sys

from mistakes_do_not_compile import INCLUDE

LANGUAGES = {"gcc": ["c99", "c11"], "clang": ["c99", "c11"], "g++": ["c++11", "c++17"], "clang++": ["c++11", "c++17"]}
FLAGS = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-I", str(INCLUDE), "-c", "-", "-o", "/dev/null"]
ORDER = r"DUET_EVENT\(shop, order\): "
IDENTIFIERS = "channel, event and fields are identifiers"
TYPES = {"u33": "u33", "string": "string", "char *": r"char \*", "const char *": r"const char \*",
         "unsigned long": "unsigned long", "seq(str)": r"seq\(str\)", "seq(u33)": r"seq\(u33\)",
         "seq(seq(u8))": r"seq\(seq\(u8\)\)", "array(str, 2)": r"array\(str, 2\)", "text": "text",
         "array(char *, 2)": r"array\(char \*, 2\)", "enumeration(u33, A, B)": r"enumeration\(u33, A, B\)"}
# The event, arguments of its call, the text of the first error, at most so many errors.
MISTAKES = [
    ("DUET_EVENT(shop, order, (%s, x))" % t, "1, 2", ORDER + "field x has the unknown type %s; known: i8" % p, 1)
    for t, p in TYPES.items()
] + [
    ("DUET_EVENT(shop, order, (i32, id), (u33, x), (u34, y))", "1", ORDER + "field x has the unknown type u33", 1),
    ("DUET_EVENT(shop, order, (i32))", "1", ORDER + r"a field is \(type, name\), not \(i32\)", 1),
    ("DUET_EVENT(shop, order, (i32, id, 4))", "1", ORDER + r"a field is \(type, name\), not \(i32, id, 4\)", 1),
    ("DUET_EVENT(shop, order, (i32, ))", "1", ORDER + r"a field needs a name that is no keyword: \(i32, \)", 1),
    ("DUET_EVENT(shop, order, (i32, int))", "1", ORDER + r"a field needs a name that is no keyword: \(i32, int\)", 1),
    ("DUET_EVENT(shop, order, i32, id)", "1", r"DUET_EVENT\(shop, order, i32, id\): each field stands in paren", 1),
    ("DUET_EVENT(shop, order, (i32, a), i32 id)", "1", r"\(i32, a\), i32 id\): each field stands in paren", 1),
    ("DUET_EVENT(shop, (i32, id))", "", r"DUET_EVENT\(shop, \(i32, id\)\): a name of the event is missing", 2),
] + [("DUET_EVENT(shop, order, %s)" % ", ".join("(i32, f%d)" % i for i in range(n)), "1",
      ORDER + "an event has at most 40 fields", 1) for n in (41, 64, 65, 90)] + [
    ("DUET_EVENT(my-shop, order, (i32, id))", None, r"DUET_EVENT\(my-shop, order\): " + IDENTIFIERS, 10),
    ("DUET_EVENT(shop, my-order, (i32, id))", None, r"DUET_EVENT\(shop, my-order\): " + IDENTIFIERS, 10),
    ("DUET_EVENT(shop, order, (i32, id)); DUET_EVENT(shop, order, (i32, id))", "1",
     "event_shop_order_is_declared_twice", 5),
    ("DUET_EVENT(shop, order, (i32, id), (str, id))", "1, 0", "redefinition of .*id|conflicting .*id", 12),
    ("DUET_EVENT(shop, order, (i32, id))", "1, 2",
     "too many arguments to function|no matching .*trace_shop_order", 1),
    ("DUET_EVENT(shop, order, (i32, id))", "", "too few arguments to function|no matching .*trace_shop_order", 1),
    ("struct s { int a; } v; DUET_EVENT(shop, order, (i32, id))", "v",
     "incompatible type|cannot convert .s. to|no matching .*trace_shop_order", 1),
]
CXX = [("DUET_EVENT(shop, order, (i32, class))", "1",
        ORDER + r"a field needs a name that is no keyword: \(i32, class", 1),
       ("DUET_EVENT(shop, order, (std::string, s))", "1", ORDER + "field s has the unknown type std::string;", 1),
       ("DUET_EVENT(shop, order, (i32, 3x))", None, ORDER + IDENTIFIERS, 10)]
# Not one of these is a mistake.
RIGHT = ["DUET_EVENT(shop, order, %s)" % ", ".join("(i32, %s%d)" % (4 * "long_name_", i) for i in range(40)),
         "DUET_EVENT(shop, bools, (bool, id), (_Bool, b), (unsigned, c))",
         "DUET_EVENT(shop, kinds, (i32, klass), (enumeration(u8, A, B = 5), kind), (seq(ptr), p))",
         "DUET_EVENT(shop, arrays, (array(int, 2), q))",
         "DUET_EVENT(shop, none)", "DUET_EVENT(shop2, order_3, (text(4), _t), (x64, X9))"]


def compile_text(compiler, standard, event, arguments):
    call = "" if arguments is None else "void f(void);\nvoid f(void)\n{\n\ttrace_shop_order(%s);\n}\n" % arguments
    p = subprocess.run([compiler, "-std=" + standard, "-x", "c++" if "++" in compiler else "c"] + FLAGS,
                       input="#include <stdbool.h>\n#include <duet/duet.h>\n%s;\n%s" % (event, call),
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return p.stdout


def fault(said, pattern, most):
    """The reason why the compiler's text is not as wanted, else None."""
    errors = re.findall(r"^.*\berror: .*$", said, re.M)
    if not errors:
        return "no error"
    if not re.search(pattern, errors[0]):
        return "the first error does not match %s" % pattern
    if len(errors) > most:
        return "%d errors, not %d" % (len(errors), most)
    # gcc prints the place of an assertion behind its error.
    return None if re.search(r"<stdin>:[36]:", said) else "the line is not named"


def main():
    failed = 0
    for compiler, standards in LANGUAGES.items():
        if not shutil.which(compiler):
            print("no %s" % compiler)
            continue
        # The newer standard takes turns with the older one.
        for i, (event, arguments, pattern, most) in enumerate(MISTAKES + (CXX if "++" in compiler else [])):
            said = compile_text(compiler, standards[i % 2], event, arguments)
            why = fault(said, pattern, most)
            failed += why is not None
            print("%s %s: %s" % ("not ok" if why else "ok", compiler, event[:80]))
            if why:
                print("%s:\n%s" % (why, said))
        for standard in standards:
            said = compile_text(compiler, standard, ";\n".join(RIGHT), None)
            failed += said != ""
            print("%s %s -std=%s: no mistake\n%s" % ("not ok" if said else "ok", compiler, standard, said))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
