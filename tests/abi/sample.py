# SPDX-License-Identifier: MIT
"""Builds the sample program in any of its ways, runs it, records it, and lists the expected events."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = HERE / "sample"
# Beyond the promise (-Wall -Wextra -Wpedantic): warnings that users often add, and headers inherit.
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wundef", "-Werror"]


class Failed(Exception):
    pass


def run(argv, env=None, **more):
    """Runs a command; returns its output; raises Failed with all it said."""
    p = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace", env=env, timeout=120, **more)
    if p.returncode:
        raise Failed("%s\nexited with %d:\n%s" % (" ".join(map(str, argv)), p.returncode, p.stdout))
    return p.stdout


class Way:
    """One way to compile: the compiler, the standard, and flags for all files and for linking."""

    def __init__(self, compiler, std, flags=(), link=(), code="-fPIE", lto=False, prefix=""):
        self.compiler, self.std, self.prefix = compiler, std, prefix
        self.is_cxx = compiler.endswith("++")
        self.flags, self.link, self.code = list(flags), list(link), code
        if lto:
            self.flags.append("-flto")
            if compiler.startswith("clang"):
                self.link.append("-fuse-ld=lld")
        self.link += {"-fPIE": ["-pie"], "-fPIC": ["-pie"], "-fno-pic": ["-no-pie"]}[code]

    def __str__(self):
        return " ".join([self.prefix + self.compiler, "-std=" + self.std, self.code] + self.flags
                        + [l for l in self.link if l not in ("-pie", "-no-pie")])

    def cc(self):
        return [self.prefix + self.compiler] + self.flags

    def compile(self, source, into, code):
        language = "c++" if self.is_cxx else "c"
        obj = into / (pathlib.Path(source).stem + ".o")
        more = ["-DSAMPLE_EXTRA"] if self.is_cxx else []
        run(self.cc() + ["-std=" + self.std, code] + WARNINGS + more
            + ["-I", ROOT / "include", "-x", language, "-c", SOURCES / source, "-o", obj])
        return obj

    def build(self, into):
        """The program, with a static library in it, and the shared library it loads."""
        into.mkdir(parents=True, exist_ok=True)
        objects = [self.compile(s, into, self.code)
                   for s in ["main.c", "second.c"] + (["extra.cc"] if self.is_cxx else [])]
        archive = into / "libarchived.a"
        ar = {"gcc": "gcc-ar", "g++": "gcc-ar"}.get(self.compiler, "llvm-ar") \
            if "-flto" in self.flags else "ar"
        if not shutil.which(self.prefix + ar):
            ar = next(iter(sorted(p.name for d in os.get_exec_path() if os.path.isdir(d)
                                  for p in pathlib.Path(d).glob("llvm-ar-*"))), "ar")
        archive.unlink(missing_ok=True)
        run([self.prefix + ar, "rcs", archive, self.compile("archived.c", into, self.code)])
        program, plugin = into / "sample", into / "plugin.so"
        run(self.cc() + ["-o", program] + objects + [archive] + self.link + ["-ldl"])
        run(self.cc() + ["-shared", "-o", plugin, self.compile("plugin.c", into, "-fPIC")]
            + [l for l in self.link if l not in ("-pie", "-no-pie")])
        return program, plugin


def dormant(command):
    """Without libduet the program runs as if nothing were there."""
    env = dict(os.environ, DUET_LIBRARY="/nonexistent/libduet.so.0")
    said = run(command, env=env)
    if said:
        raise Failed("%s said, without libduet:\n%s" % (command[0], said))


def record(duet, command, into, options=(), env=None):
    """Records @command; returns the directory of the recording."""
    out = into / "recording"
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="duet-rt-") as runtime:
        env = dict(os.environ, DUET_RUNTIME_DIR=runtime, **(env or {}))
        run([duet, "record", "--no-kernel", "-q", "-o", out] + list(options) + ["--"] + list(command),
            env=env)
        left = set(os.listdir(runtime)) - {"seats"}
    if left:
        raise Failed("left in the runtime directory: %s" % left)
    return out


def plain(value):
    """A field's value as numbers, strings and lists, from any reader."""
    if isinstance(value, dict) and set(value) == {"value", "label"}:
        return (value["value"], value["label"])
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def events_of_duet(duet, recording):
    lines = run([duet, "view", "--json", recording]).splitlines()
    events = [json.loads(line) for line in lines]
    lost = [e for e in events if "lost_events" in e]
    if lost:
        raise Failed("events were lost: %s" % lost)
    return [(e["event"], {k: plain(v) for k, v in e["fields"].items()}) for e in events]


def events_of_babeltrace(recording):
    import bt2

    def value(f):
        if isinstance(f, bt2._EnumerationFieldConst):
            return (int(f), next(iter(f.labels), None))
        if isinstance(f, bt2._StringFieldConst):
            return str(f)
        if isinstance(f, bt2._ArrayFieldConst):
            return [value(v) for v in f]
        if isinstance(f, bt2._RealFieldConst):
            return float(f)
        return int(f)

    found = []
    for m in bt2.TraceCollectionMessageIterator(str(recording)):
        if type(m) is bt2._EventMessageConst:
            fields = m.event.payload_field or {}
            # A sequence's length is a field of its own in CTF 1.8.
            found.append((m.event.name, {k: value(fields[k]) for k in fields
                                         if not (k.startswith("_") and k.endswith("_length") and k[1:-7] in fields)}))
    return found


def expected(is_cxx):
    """All events of one run, in order."""
    big = "b" * 3000
    one = lambda n: ("abi:one", {"number": n})
    numbers = dict(zip("abcdefghijklmn", [
        -2**7, -2**15, -2**31, -2**63, 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**64 - 1,
        0xab, 0xabcd, 0xabcdef01, 0xabcdef0123456789, 0.5, -1e300]))
    c_names = dict(zip("abcdefghijklmnopq", [
        -1, -2, -3, -4, 1, 2, 3, 4, -5, -6, -7, 8, 9, 1, 1.5, 2.5, ord("x")]))
    events = [
        ("abi:nothing", {}),
        ("abi:numbers", numbers),
        ("abi:c_names", c_names),
        ("abi:wide", {"f%02d" % i: i for i in range(1, 41)}),
        ("abi:texts", {"s": "tea", "none": "(null)", "full": "four", "early": "early",
                       "address": 0x1234}),
        ("abi:arrays", {"numbers": [1, -2, 3], "reals": [0.25, -0.5, 4.0],
                        "some": [1, 2, 3, 65535], "empty": []}),
        ("abi:names", {"colour": (5, "GREEN"), "sign": (-1, "MINUS")}),
        ("abi:pointers", {"some": [0x10, 0x20], "two": [0x10, 0x20], "bytes": [1, 2, 255]}),
        ("abi:bounds", {"u": (2**64 - 1, "TOP"), "i": (-128, "LOW")}),
        ("abi:clash", {"x": [1, 2, 255], "_x_length_2": 4, "x_1": 5}),
        ("abi:warned", {"why": "level 4"}),
        ("abi:warned", {"why": big}),
        ("abi:large_mark", {"big": big, "after": 7}),
        ("abi:empty", {}),
        ("abi:plain", {}),
        ("abi:mark", {"id": 42, "by": "who", "at": 0x10, "share": 12.5, "hex": 255, "c": "q"}),
        ("abi:lengths", {"hh": 1, "h": 2, "l": -3, "ll": -4, "z": 5, "j": 6, "width6": 7, "w": 8}),
        ("abi:level", {"bare": 1}),
        one(1),
        ("abi:in_header", {"file": 1}),
        one(2), one(3),
        ("abi:in_header", {"file": 2}),
        one(4),
        ("abi:archived", {"from": "archive"}),
    ]
    if is_cxx:
        events += [
            ("abi:in_template", {"size": 1}), one(1),
            ("abi:in_template", {"size": 8}), one(8),
            ("abi:in_class_template", {"n": 21}), ("abi:in_class_template", {"n": 22}),
            ("abi:constructed", {"n": 50}), one(50), ("abi:destructed", {"n": 50}),
            ("abi:in_lambda", {"k": 60}), one(60),
            ("abi:in_namespace", {"where": "inner"}), ("abi:asked", {"yes": 1}),
        ]
    return events + 3 * [one(101), ("abi:plugged", {"n": 1})] + [one(99)]


def compare(found, is_cxx, who):
    found = [f for f in found if f[0].startswith("abi:")]  # without the events that describe the process
    want = expected(is_cxx)
    if is_cxx and found[:2] == [want[0], want[0]]:
        found = found[1:]  # a static initialiser's, before main
    for i, (f, w) in enumerate(zip(found, want)):
        if f != w:
            raise Failed("%s: event %d is\n  %s, not\n  %s" % (who, i, f, w))
    if len(found) != len(want):
        raise Failed("%s: %d events, not %d; after the last common one: %s" % (
            who, len(found), len(want), (found[len(want):] or want[len(found):])[:1]))


def check_recording(duet, command, into, is_cxx, options=(), env=None):
    recording = record(duet, command, into, options, env)
    compare(events_of_duet(duet, recording), is_cxx, "duet view")
    compare(events_of_babeltrace(recording), is_cxx, "babeltrace2")
