#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/unit/symbol/files.py ASK - functions, lines, inlined calls and signatures of real files.

Programs are compiled, then stripped, split and compressed with the tools that distributions use; ASK's answers are compared with
those of nm and addr2line, and between the forms of one program.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ASK = sys.argv[1]
SOURCE = r"""
#include <stdio.h>
#include <string.h>
#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noipa))
#endif
enum color { RED = 1, GREEN = 5 };
struct pair { long a, b; };
struct big { long a[9]; };
static int hidden(const char *text, unsigned short n) ALONE;
static inline __attribute__((always_inline)) int deepest(int x)
{
	return x * (int)strlen("%d") + __builtin_popcount(x);
}
static inline __attribute__((always_inline)) int middle(int x)
{
	return deepest(x + 1) ^ 3;
}
ALONE int outer(int x)
{
	__asm__ volatile("");
	return middle(x) + 7;
}
static int hidden(const char *text, unsigned short n)
{
	__asm__ volatile("" ::: "memory");
	return puts(text) + n;
}
ALONE double place(enum color c, const char *name, float weight, _Bool is_new, unsigned long *total,
	signed char s, int g6, short g7, double d)
{
	__asm__ volatile("" ::: "memory");
	return *total + weight + c + is_new + s + g6 + g7 + d + !name;
}
ALONE int by_value(struct pair p)
{
	__asm__ volatile("" ::: "memory");
	return (int)p.a;
}
ALONE struct big large(int n)
{
	__asm__ volatile("" ::: "memory");
	return (struct big){ { n } };
}
ALONE int variable(const char *format, ...)
{
	__asm__ volatile("" ::: "memory");
	return !format;
}
extern int same(int) __attribute__((alias("outer")));
int main(int argc, char **argv)
{
	unsigned long total = 1;

	return hidden(argv[0], 3) + outer(argc) + (int)place(RED, "a", 2, 1, &total, 4, 5, 6, 7) + by_value((struct pair){ 1, 2 }) +
		(int)large(1).a[0] + variable("%d", 1);
}
"""
CXX = r"""
#include <string>
namespace shop {
struct order {
	int place(const std::string &what, int n) const __attribute__((noinline));
};
int order::place(const std::string &what, int n) const
{
	__asm__ volatile("" ::: "memory");
	return (int)what.size() + n;
}
template <typename T> __attribute__((noinline)) T twice(T x)
{
	__asm__ volatile("" ::: "memory");
	return x + x;
}
__attribute__((noinline)) int by_reference(std::string s)
{
	__asm__ volatile("" ::: "memory");
	return (int)s.size();
}
struct own {
	own(const own &o);
	own(unsigned n) : n(n) {}
	unsigned n;
};
own::own(const own &o) : n(o.n) {}
__attribute__((noinline)) own make(unsigned n)
{
	__asm__ volatile("" ::: "memory");
	return own(n);
}
}
int main(int argc, char **argv)
{
	shop::order o;
	return (int)shop::make(3).n + o.place(argv[0], argc) + shop::twice(argc) + shop::by_reference("x");
}
"""
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("not ok", what)


def run(*args, **more):
    return subprocess.run([str(a) for a in args], check=True, stdout=subprocess.PIPE, text=True, **more).stdout


def ask(path, *questions, build_id="", environment=None):
    return run(ASK, path, build_id, *questions, env={**os.environ, **(environment or {})}).splitlines()


def build_id(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path)).group(1)


def functions_of_nm(path, *options):
    return {(int(line.split()[0], 16), line.split()[-1].split("@")[0]) for line in run("nm", *options, path).splitlines()
            if len(line.split()) == 3 and line.split()[1] in "tTiWw"}


def compile_to(path, source, *options, compiler="gcc"):
    text = path.with_name(path.name + (".cc" if "++" in compiler else ".c"))
    text.write_text(source)
    run(compiler, "-O2", *options, "-o", path, text)
    return path


def inlined(of, program):
    """The address in function `outer` with the deepest chain."""
    begin, size = next((int(l.split()[0], 16), int(l.split()[1])) for l in ask(program, "names") if l.split()[2] in ("outer", "same"))
    answers = ask(of, *(hex(a) for a in range(begin, begin + size)))
    return begin, max(answers, key=lambda a: a.count(" < "))


def names_are_those_of_nm(program):
    known = functions_of_nm(program)
    for line in ask(program, "names"):
        address, _, name = line.split()
        check((int(address, 16), name.split("@")[0]) in known, "%s: nm has no %s at %s" % (program, name, address))
    check(len(ask(program, "names")) > 10, "functions are listed")


def lines_are_those_of_addr2line(program):
    at = [[int(l.split()[0], 16), int(l.split()[1])] for l in ask(program, "names") if l.split()[2] in ("main", "place", "hidden", "by_value")]
    check(len(at) == 4, "the functions of the source are there")
    for address, size in at:
        for offset in range(0, size, 3):
            want = run("addr2line", "-fie", program, hex(address + offset)).split("\n")
            want = " < ".join("%s %s" % (want[i], os.path.basename(want[i + 1]).split(" (")[0]) for i in range(0, len(want) - 1, 2))
            got = ask(program, hex(address + offset))[0]
            check(got == want, "%s: %r, addr2line has %r" % (hex(address + offset), got, want))


def signatures_are_those_of_the_source(program):
    got = ask(program, "place", "by_value", "large", "variable", "hidden", "same", "nothing")
    want = [("place 0x", "  place: enum(u32:RED = 1,GREEN = 5) c@2:7:0 str name@2:6:0 f32 weight@4:0:0 u8 is_new@2:2:0 "
             "p64 total@2:1:0 i8 s@2:8:0 i32 g6@2:9:0 i16 g7@3:4:8 f64 d@4:1:0 -> f64 result@4:0:0"),
            ("by_value 0x", "  by_value: parameter 1 (p) is passed by value as a struct or in another way that has no single place"),
            ("large 0x", "  large: i32 n@2:6:0 -> p64 result@2:0:0"),
            ("variable 0x", "  variable: str format@2:7:0 -> i32 result@2:0:0 ..."),
            ("hidden 0x", "  hidden: str text@2:7:0 u16 n@2:6:0 -> i32 result@2:0:0"),
            ("same 0x", "  same: i32 x@2:7:0 -> i32 result@2:0:0")]
    for i, (first, second) in enumerate(want):
        check(got[2 * i].startswith(first) and got[2 * i + 1] == second, "%r and %r" % (got[2 * i], got[2 * i + 1]))
        check(" %s.c " % program.name in got[2 * i], "the source of %r" % got[2 * i])
    check(got[-1] == "nothing: none", got[-1])


def each_form_of_a_program_has_the_same_inlined_calls(directory, program):
    begin, want = inlined(program, program)
    line = SOURCE.split("\n").index("\treturn middle(x) + 7;") + 1
    check(re.fullmatch(r"deepest p\.c:\d+ < middle p\.c:\d+ < (outer|same) p\.c:%d" % line, want), want)
    debug = directory / "p.debug"
    run("objcopy", "--only-keep-debug", program, debug)
    stripped = directory / "stripped"
    run("strip", "-o", stripped, program)
    check(ask(stripped, "hidden", "main") == ["hidden: none", "main: none"], "a stripped file does not have its own functions")
    check(ask(stripped, hex(begin)) in (["none"], []), "a stripped file has no frames")

    linked = directory / "linked"
    run("objcopy", "--add-gnu-debuglink=" + str(debug), stripped, linked)
    check(inlined(linked, program)[1] == want, "by .gnu_debuglink: %s" % inlined(linked, program)[1])
    below = directory / ".debug"
    below.mkdir()
    debug.rename(below / debug.name)
    check(inlined(linked, program)[1] == want, "by .gnu_debuglink in .debug")
    # Another program's debug file has the wanted name, but another build ID.
    other = compile_to(directory / "other", SOURCE.replace("+ 7", "+ 8"), "-g")
    shutil.copy(other, below / debug.name)
    check(ask(linked, "hidden") == ["hidden: none"], "a debug file of another program is not taken")
    run("objcopy", "--only-keep-debug", program, below / debug.name)

    cache = directory / "cache" / build_id(program)
    cache.mkdir(parents=True)
    shutil.copy(below / debug.name, cache / "debuginfo")
    at = {"DEBUGINFOD_CACHE_PATH": str(directory / "cache")}
    check(ask(stripped, "hidden", environment=at)[0].startswith("hidden 0x"), "in debuginfod's cache")
    gone = ask(directory / "gone", hex(begin), "hidden", build_id=build_id(program), environment=at)
    check(gone[0].startswith("outer p.c:") or gone[0].startswith("same p.c:") or "middle" in gone[0], "without the program: %s" % gone)
    check(ask(stripped, "hidden", build_id="00" * 20, environment=at) == ["hidden: none"], "another build ID is refused")


def minidebuginfo_names_static_functions(directory, program):
    """As Fedora makes it: the functions that .dynsym does not have, in a file compressed with xz."""
    stripped, mini = directory / "mini", directory / "mini_debuginfo"
    run("strip", "-o", stripped, program)
    run("objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment", "--keep-symbol=hidden",
        "--keep-symbol=place", program, mini)
    run("xz", "-f", mini)
    run("objcopy", "--add-section", ".gnu_debugdata=" + str(mini) + ".xz", stripped)
    check(ask(stripped, "hidden")[0].split()[:2] == ask(program, "hidden")[0].split()[:2], "MiniDebugInfo: %s" % ask(stripped, "hidden"))
    check(ask(stripped, "main") == ["main: none"], "only what it has")


def dwz_moves_names_to_another_file(directory, program):
    copies = [directory / name for name in ("d1", "d2")]
    for c in copies:
        shutil.copy(program, c)
    alternate = directory / "alternate"
    run("dwz", "-m", alternate, "-M", "alternate", *copies)
    check(alternate.exists(), "dwz made a common file")
    check(inlined(copies[0], program) == inlined(program, program), "dwz: %r" % (inlined(copies[0], program),))
    check(ask(copies[0], "place", "large") == ask(program, "place", "large"), "dwz: %s" % ask(copies[0], "place"))


def clang_without_aranges_has_the_same_functions(directory):
    program = compile_to(directory / "c", SOURCE, "-g", compiler="clang")
    check("c.c:" in inlined(program, program)[1] and "deepest" in inlined(program, program)[1], "clang: %s" % inlined(program, program)[1])
    signatures_are_those_of_the_source(program)


def names_of_c_plus_plus_are_written_as_in_the_source(directory):
    for compiler, by_reference in (("g++", "is passed by value as a struct or in another way that has no single place"),
                                   ("clang++", "p64 s@2:7:0 -> i32 result@2:0:0")):
        names_by_compiler(directory / compiler, compiler, by_reference)


def names_by_compiler(path, compiler, by_reference):
    program = compile_to(path, CXX, "-g", compiler=compiler)
    got = ask(program, "_ZNK4shop5order5placeERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEi", "_ZN4shop5twiceIiEET_S1_",
              "_ZN4shop12by_referenceENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
              "_ZN4shop4makeEj")
    check(got[0].startswith("shop::order::place(std::__cxx11::basic_string<"), got[0])
    check(got[1].endswith("p64 this@2:7:0 p64 what@2:6:0 i32 n@2:2:0 -> i32 result@2:0:0"), got[1])
    check(got[2].startswith("int shop::twice<int>(int) 0x"), got[2])
    check(got[3].endswith("i32 x@2:7:0 -> i32 result@2:0:0"), got[3])
    check(got[5].endswith(by_reference), got[5])
    check(got[7].endswith("perhaps in memory, so the places of its parameters are not known" if compiler == "g++" else
                          "u32 n@2:6:0 -> p64 result@2:0:0"), got[7])


def installed_programs_have_their_exported_functions():
    libc = next(p for p in run("ldd", "/bin/sh").split() if p.startswith("/") and "libc.so" in p)
    for path, few in ((shutil.which("bash"), 1000), (libc, 2000)):
        got = ask(path, "names")
        check(len(got) > few, "%s: %d functions" % (path, len(got)))
        known = functions_of_nm(path, "-D")
        exact = {(int(l.split()[0], 16), l.split()[2].split("@")[0]) for l in got}
        stripped = "no symbols" in subprocess.run(["nm", path], capture_output=True, text=True).stderr
        check(not stripped or os.path.exists("/usr/lib/debug/.build-id/%s/%s.debug" % (build_id(path)[:2], build_id(path)[2:])) or
              exact <= known, "%s: %s" % (path, sorted(exact - known)[:3]))
    check(ask(libc, "malloc")[0].startswith("malloc 0x"), "libc has malloc")


def files_that_are_none_have_no_functions(directory):
    text = directory / "text"
    text.write_text("no ELF file\n")
    for path in (text, directory, directory / "absent", "/dev/zero"):
        check(ask(path, "names", "main", "0x1000") == ["main: none", "none"], str(path))


with tempfile.TemporaryDirectory() as d:
    d = pathlib.Path(d)
    p = compile_to(d / "p", SOURCE, "-g")
    fixed = compile_to(d / "f", SOURCE, "-g", "-no-pie", "-gdwarf-4")
    for each in (p, fixed):
        names_are_those_of_nm(each)
        lines_are_those_of_addr2line(each)
        signatures_are_those_of_the_source(each)
    each_form_of_a_program_has_the_same_inlined_calls(d, p)
    minidebuginfo_names_static_functions(d, p)
    dwz_moves_names_to_another_file(d, p)
    clang_without_aranges_has_the_same_functions(d)
    names_of_c_plus_plus_are_written_as_in_the_source(d)
    files_that_are_none_have_no_functions(d)
installed_programs_have_their_exported_functions()
sys.exit(failures > 0)
