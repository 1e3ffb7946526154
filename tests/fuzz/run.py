#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/fuzz/run.py [SECONDS [DIRECTORY [DOOR...]]] - the parsers under libFuzzer with address and undefined sanitizers.

SECONDS (25) are shared by the doors: metadata and whole traces, data from the kernel and from programs, and all other
data from recordings, programs and peers.  The corpus is made: random_ctf.py's traces, the formats, pages, types and
programs below, seeds.py, and the files of an earlier run in DIRECTORY.  Exit: 0 nothing found, 1 found (its input is in DIRECTORY), 77 no clang.
"""
import base64
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/cmd/read"))
sys.path.insert(0, str(ROOT / "tests/fuzz"))
sys.path.insert(0, str(ROOT / "tests/cmd/analysis"))
import make_calls
import random_ctf
import seeds

SOURCES = ["src/base/diag.c", "src/base/io.c", "src/base/progress.c", "src/base/text.c"]
# Writing and filtering: the doors of fuzz.c only read.
NOT_READING = ("src/ctf/write/", "src/trace/text/", "src/trace/filter/", "src/trace/summary.c")
CTF2 = b"""\x1e{"type":"preamble","version":2,"uuid":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}
\x1e{"type":"trace-class","environment":{"a":"b","c":-1}}
\x1e{"type":"clock-class","id":"k","frequency":1000,"offset-from-origin":{"seconds":1,"cycles":2}}
\x1e{"type":"field-class-alias","name":"u8","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","mappings":{"x":[[0,3],[5,9]]}}}
\x1e{"type":"data-stream-class","default-clock-class-id":"k"}
\x1e{"type":"event-record-class","name":"e","payload-field-class":{"type":"structure","member-classes":[{"name":"n","field-class":"u8"},{"name":"l","field-class":{"type":"variable-length-signed-integer"}},{"name":"s","field-class":{"type":"dynamic-length-string","length-field-location":{"path":["n"]}}},{"name":"o","field-class":{"type":"optional","selector-field-location":{"origin":"event-record-payload","path":["n"]},"selector-field-ranges":[[1,2]],"field-class":{"type":"null-terminated-string"}}},{"name":"v","field-class":{"type":"variant","selector-field-location":{"path":["n"]},"options":[{"selector-field-ranges":[[0,9]],"field-class":{"type":"static-length-blob","length":2}}]}}]}}
"""
# As LTTng's header: a tag in the scope that its variant names.
CTF2_HEADER = CTF2[:CTF2.index(b'\x1e{"type":"data-stream-class"')] + b"""\x1e{"type":"data-stream-class","default-clock-class-id":"k","packet-context-field-class":{"type":"structure","member-classes":[{"name":"n","field-class":"u8"},{"name":"l","field-class":{"type":"dynamic-length-blob","length-field-location":{"origin":"packet-context","path":["n"]}}}]},"event-record-header-field-class":{"type":"structure","member-classes":[{"name":"id","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","roles":["event-record-class-id"]}},{"name":"v","field-class":{"type":"variant","selector-field-location":{"origin":"event-record-header","path":["id"]},"options":[{"selector-field-ranges":[[0,254]],"field-class":{"type":"structure"}},{"selector-field-ranges":[[255,255]],"field-class":{"type":"structure","member-classes":[{"name":"id","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","roles":["event-record-class-id"]}}]}}]}}]}}
\x1e{"type":"event-record-class","name":"e","payload-field-class":{"type":"structure","member-classes":[{"name":"x","field-class":"u8"}]}}
"""

KERNEL = ["src/bpf/btf.c", "src/capture/table.c", "src/elf/build_id.c", "src/elf/file.c", "src/elf/probe_points.c"] + \
    ["src/kernel/%s.c" % n for n in (
        "convert/class", "convert/gather", "tracefs/events", "probe/fetch", "tracefs/format",
        "probe/functions", "probe/kprobe", "convert/layout", "convert/page", "convert/processes", "convert/request", "probe/probe",
        "tracefs/rights", "perf/sampled", "select/candidates", "select/select", "select/sets", "tracefs/graph_limits", "tracefs/remove",
        "tracefs/lent", "tracefs/broker", "tracefs/broker_rules", "tracefs/syscalls", "tracefs/tracefs",
        "probe/patched", "probe/uprobe")]
PARTS = ("base/*.c", "clock/*.c", "disk/*.c", "ctf/*/*.c", "elf/*.c", "filter/*.c", "script/syntax/*.c", "net/message.c", "patch/*.c", "symbol/*.c", "trace/hosts.c",
         "trace/symbols/kallsyms.c", "trace/symbols/modules.c")
CALLS = ["src/analysis/%s.c" % n for n in (
    "pass", "threads", "calls/batch", "calls/edges", "calls/files", "calls/functions", "calls/resolve")]
DOORS = {"fuzz_calls": ("calls_batch", "calls_file", "calls_plan"), "fuzz": ("metadata", "trace"), "fuzz_kernel": ("format", "page", "btf", "usdt"), "parts": tuple(seeds.DOORS),
         "fuzz_script": tuple(seeds.SCRIPT), "fuzz_unit": ("unit",), "fuzz_texts": ("texts",),
         "fuzz_request": ("request",), "fuzz_marks": ("marks",)}
FORMAT = b"""name: e
ID: 99
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;
\tfield:__rel_loc u32[] list;\toffset:28;\tsize:4;\tsigned:0;
\tfield:int prev_prio;\toffset:32;\tsize:4;\tsigned:1;
\tfield:const char * path;\toffset:40;\tsize:8;\tsigned:0;

print fmt: "%d", REC->prev_prio
"""
MARKED = """
.globl main
main: nop
.pushsection .note.stapsdt,"","note"
.balign 4
.4byte 8, 2f-1f, 3
.asciz "stapsdt"
1: .8byte main, 0, main
.asciz "shop"
.asciz "order"
.asciz "-4@%edi 8@-16(%rbp) 4@$7"
2: .balign 4
.popsection
"""


def build(into, name):
    if name in ("fuzz", "fuzz_calls", "fuzz_marks"):
        found = [str(p.relative_to(ROOT)) for d in ("src/ctf", "src/trace") for p in sorted((ROOT / d).rglob("*.c"))]
        sources = SOURCES + [p for p in found if not p.startswith(NOT_READING) or p == "src/ctf/write/recover.c"]
        sources += (CALLS if name == "fuzz_calls" else []) + ["src/symbol/demangle.c", "-liberty"]
        sources += ["-I", "tests"] if name == "fuzz_marks" else []
    elif name == "fuzz_script":
        sources = SOURCES + [str(p.relative_to(ROOT)) for p in sorted((ROOT / "src/script/syntax").glob("*.c"))] + ["-lm"]
    elif name == "fuzz_texts":
        sources = SOURCES + ["src/script/%s.c" % n for n in (
            "syntax/source", "unit/columns", "unit/format", "values/regex", "values/regex_dfa", "values/regex_match")]
    elif name == "fuzz_request":
        sources = SOURCES + ["src/ui/server/head.c", "src/ui/server/login.c", "src/ui/sessions/body.c"]
    elif name == "fuzz_unit":
        rooms = ("syntax", "unit", "values", "vm", "library")
        found = [p.relative_to(ROOT) for room in rooms for p in sorted((ROOT / "src/script" / room).glob("*.c"))]
        sources = SOURCES + [str(p) for p in found if p.name not in ("translate_none.c", "library.c")] + \
            ["-lm", "-I", "tests", "-I", "tests/unit/script/machine"]
    elif name == "parts":
        sources = [str(p.relative_to(ROOT)) for pattern in PARTS for p in sorted((ROOT / "src").glob(pattern))]
        sources += ["-DDUET_ZSTD", "-lelf", "-ldw", "-liberty", "-lzstd", "-lZydis", "-lZycore"]
    else:
        sources = SOURCES + KERNEL + [str(p.relative_to(ROOT)) for p in sorted((ROOT / "src/symbol").glob("*.c"))]
        sources += ["-lelf", "-ldw", "-liberty"]
        with open(into / "syscall_names.inc", "w") as f:
            subprocess.run(["sh", "src/kernel/tracefs/syscalls.sh", "clang"], cwd=ROOT, stdout=f, check=True)
    program = into / name
    subprocess.run(["clang", "-std=gnu11", "-D_GNU_SOURCE", "-DDUET_VERSION=\"fuzz\"", "-O1", "-g", "-w",
                    "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined",
                    "-fno-sanitize=alignment", "-I", "src", "-I", "include", "-I", into, *sources,
                    "tests/fuzz/%s.c" % name, "-o", program],
                   cwd=ROOT, check=True)
    return program


def record(body, delta=1):
    return struct.pack("<I", len(body) // 4 | delta << 5) + body


def page():
    """One with a record of each kind."""
    records = record(struct.pack("<HBBiII", 10, 0, 0, 7, 1, 2)) + record(struct.pack("<HBBiI8s", 11, 0, 0, 7, 12 | 8 << 16, b"text")) + \
        record(struct.pack("<HBBiq6Q", 12, 0, 0, 7, 1, *range(6))) + record(struct.pack("<HBBiqq", 13, 0, 0, 7, 1, -2)) + \
        record(struct.pack("<HBBi16sIIiiQ8sI", 99, 0, 0, 7, b"comm", 48 | 8 << 16, 24 | 4 << 16, 120, 0, 1, b"name", 5)) + \
        struct.pack("<II", 30 | 5 << 5, 1) + struct.pack("<II", 31 | 9 << 5, 4) + struct.pack("<II", 29 | 1 << 5, 4) + b"pads" + \
        struct.pack("<II", 0 | 1 << 5, 16) + struct.pack("<HBBiI", 10, 0, 0, 7, 3)
    return FORMAT + b"\0" + struct.pack("<QQ", 1000, len(records)) + records


def btf():
    """typedef btf_trace_sched_switch, struct task_struct { int pid; }"""
    strings = b"\0btf_trace_sched_switch\0task_struct\0pid\0int\0"

    def at(name):
        return strings.index(b"\0" + name + b"\0") + 1
    types = struct.pack("<IIII", at(b"int"), 1 << 24, 4, 32) + struct.pack("<III", at(b"btf_trace_sched_switch"), 8 << 24, 1) + \
        struct.pack("<III", at(b"task_struct"), 4 << 24 | 1, 64) + struct.pack("<III", at(b"pid"), 1, 64)
    return struct.pack("<HBBIIIII", 0xeb9f, 1, 0, 24, 0, len(types), len(types), len(strings)) + types + strings


def kernel_corpus(where, scratch):
    for kind in DOORS["fuzz_kernel"]:
        (where / kind).mkdir(parents=True, exist_ok=True)
    (where / "format/made").write_bytes(FORMAT)
    (where / "page/made").write_bytes(page())
    (where / "btf/made").write_bytes(btf())
    subprocess.run(["clang", "-x", "assembler", "-nostdlib", "-Wl,-e,main,--build-id=none", "-", "-o", scratch / "marked"],
                   input=MARKED, text=True, check=True)
    (where / "usdt/made").write_bytes((scratch / "marked").read_bytes())


def parts_corpus(where, scratch):
    for kind, inputs in seeds.DOORS.items():
        (where / kind).mkdir(parents=True, exist_ok=True)
        for i, made in enumerate(inputs):
            (where / kind / ("made-%d" % i)).write_bytes(made)
    (where / "elf/made").write_bytes(seeds.library(scratch))
    for name in ("functions", "marks"):
        (where / "patch" / name).write_bytes(seeds.assembled(scratch, name))


def script_corpus(where):
    """The examples too."""
    for kind, inputs in seeds.SCRIPT.items():
        (where / kind).mkdir(parents=True, exist_ok=True)
        for i, made in enumerate(inputs):
            (where / kind / ("made-%d" % i)).write_bytes(made)
    for example in sorted((ROOT / "examples/scripts").rglob("*.stp")):
        (where / "script" / example.name).write_bytes(example.read_bytes())


def unit_corpus(where):
    """Choices of tests/unit/script/machine/random_unit.h: any bytes make a unit."""
    (where / "unit").mkdir(parents=True, exist_ok=True)
    for seed in range(20):
        (where / ("unit/%d" % seed)).write_bytes(random.Random(seed).randbytes(200 << seed % 4))


def texts_corpus(where):
    """A first byte, then a regular expression and a text, a format, columns."""
    (where / "texts").mkdir(parents=True, exist_ok=True)
    for i, made in enumerate((b"\x00^a(b|c*)+[^x-z]{2,5}$\x00abccde", b"\x01%-5d %*s %.3x%%%4b\n", b"\x85who, count, x=p99:ns")):
        (where / ("texts/%d" % i)).write_bytes(made)


def request_corpus(where):
    """A first byte, then a head, a body, a login."""
    (where / "request").mkdir(parents=True, exist_ok=True)
    for i, made in enumerate((b"\x00GET /api/picture?rows=1%2c2 HTTP/1.1\r\nHost: [::1]:7\r\nContent-Length: 12\r\n\r\n{}",
                              b"\x01" rb'{"verb":"start","events":["a\u00e4\ud83d\ude00","b\n"],"overwrite":true,"x":null}',
                              b"\x02password=correct+horse%20%ff&x=y")):
        (where / ("request/%d" % i)).write_bytes(made)


def marks_corpus(where):
    """Changes of a right file: with right checksums, of a place, of a number of threads; cut."""
    (where / "marks").mkdir(parents=True, exist_ok=True)
    for i, made in enumerate((b"\x01\x40", b"\x01\x40\x48\x00\x80", b"\x01\x7f\x60\x00\x01\x80\x01\x02", b"\x02\x30", b"\x00\x55\x0c\x00\x01")):
        (where / ("marks/%d" % i)).write_bytes(made)


def calls_corpus(where):
    """Batches with calls, notes of each kind and announcements; a calls file; a plan."""
    for kind in DOORS["fuzz_calls"]:
        (where / kind).mkdir(parents=True, exist_ok=True)
    one = make_calls.Batch(1000).call(3100, 100, 3, 2).note(3, 2).call(3500, 300, 3, 2).note(2, 0).call(5000, 3000, 2, 1).open(1, 900, 0)
    two = make_calls.Batch(6000).call(7000, 200, 3, 1).note(1, 4).call(9000, 8100, 1, 0)
    (where / "calls_batch/made").write_bytes(struct.pack("<Q", 1 << 32) + b"".join(
        struct.pack("<HB", len(b.bytes), gap) + b.bytes for b, gap in ((one, 0), (two, 0), (one, 1))))
    (where / "calls_batch/lanes-without-edges").write_bytes(base64.b64decode(
        "AAAAAAEAAAAiAAIDAAEAAAAiAAIDArgXCwEAAQ8BAQIAAAQAANAAIgACAwKQA6wAAAABAAAAIgIPAgAAAgL+AQEAiABAEQAA6Ae/ATsBAPACAQQX0ACIQA=="))
    with tempfile.TemporaryDirectory() as d:
        make_calls.calls_file(d + "/file", 3, [one.area()])
        (where / "calls_file/made").write_bytes(pathlib.Path(d, "file").read_bytes()[:4096 + 512])
    (where / "calls_plan/made").write_bytes(make_calls.plan(["main", "work"]))


def corpus(where):
    for kind in ("metadata", "trace"):
        (where / kind).mkdir(parents=True, exist_ok=True)
    (where / "metadata/ctf2").write_bytes(CTF2)
    (where / "metadata/ctf2-header").write_bytes(CTF2_HEADER)
    (where / "trace/ctf2-header").write_bytes(CTF2_HEADER + b"\0" + b"\2ab\0\5\xff\0\6")
    (where / "trace/ctf2").write_bytes(CTF2 + b"\0" + b"\2\x7fxy" * 8 + b"\1\1aZ\0zz")
    for name, (metadata, stream) in seeds.TRACES.items():
        (where / "metadata" / name).write_bytes(metadata)
        (where / "trace" / name).write_bytes(metadata + b"\0" + stream)
    for seed in range(20):
        with tempfile.TemporaryDirectory() as d:
            random_ctf.make(d, seed)
            metadata, stream = (pathlib.Path(d, n).read_bytes() for n in ("metadata", "s0"))
        (where / ("metadata/%d" % seed)).write_bytes(metadata)
        if metadata[:2] == b"/*":
            (where / ("trace/%d" % seed)).write_bytes(metadata + b"\0" + stream)


def run(program, kind, seconds, where):
    r = subprocess.run([program, "-max_total_time=%d" % seconds, "-timeout=10", "-rss_limit_mb=1024",
                        "-max_len=16384", "-print_final_stats=1", "-artifact_prefix=%s/" % where, where / kind],
                       env=dict(os.environ, FUZZ=kind), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, errors="replace")
    lines = r.stdout.splitlines()
    print(kind + ": " + ", ".join(l for l in lines if "number_of_executed" in l or "peak_rss" in l), flush=True)
    if r.returncode:
        print("\n".join(lines[-40:]))
    return r.returncode


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    wanted = sys.argv[3:] or [kind for kinds in DOORS.values() for kind in kinds]
    if not shutil.which("clang"):
        print("no clang")
        return 77
    with tempfile.TemporaryDirectory(prefix="duet-fuzz-") as scratch:
        where = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch + "/corpus").resolve()
        corpus(where)
        kernel_corpus(where, pathlib.Path(scratch))
        parts_corpus(where, pathlib.Path(scratch))
        calls_corpus(where)
        script_corpus(where)
        unit_corpus(where)
        texts_corpus(where)
        request_corpus(where)
        marks_corpus(where)
        for name, kinds in DOORS.items():
            kinds = [kind for kind in kinds if kind in wanted]
            program = build(pathlib.Path(scratch), name) if kinds else None
            for kind in kinds:
                if run(program, kind, max(1, seconds // len(wanted)), where):
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
