#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/fuzz/run.py [SECONDS [DIRECTORY]] - the readers under libFuzzer with address and undefined sanitizers.

Half of SECONDS (10) for metadata, half for whole traces.  The corpus is made: random_ctf.py's traces, and what an
earlier run left in DIRECTORY.  Exit: 0 nothing found, 1 found (its input is in DIRECTORY), 77 no clang.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/cmd/read"))
import random_ctf

SOURCES = ["src/base/diag.c", "src/base/io.c", "src/base/progress.c", "src/base/text.c"]
CTF2 = b"""\x1e{"type":"preamble","version":2,"uuid":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]}
\x1e{"type":"trace-class","environment":{"a":"b","c":-1}}
\x1e{"type":"clock-class","id":"k","frequency":1000,"offset-from-origin":{"seconds":1,"cycles":2}}
\x1e{"type":"field-class-alias","name":"u8","field-class":{"type":"fixed-length-unsigned-integer","length":8,"byte-order":"little-endian","mappings":{"x":[[0,3],[5,9]]}}}
\x1e{"type":"data-stream-class","default-clock-class-id":"k"}
\x1e{"type":"event-record-class","name":"e","payload-field-class":{"type":"structure","member-classes":[{"name":"n","field-class":"u8"},{"name":"l","field-class":{"type":"variable-length-signed-integer"}},{"name":"s","field-class":{"type":"dynamic-length-string","length-field-location":{"path":["n"]}}},{"name":"o","field-class":{"type":"optional","selector-field-location":{"origin":"event-record-payload","path":["n"]},"selector-field-ranges":[[1,2]],"field-class":{"type":"null-terminated-string"}}},{"name":"v","field-class":{"type":"variant","selector-field-location":{"path":["n"]},"options":[{"selector-field-ranges":[[0,9]],"field-class":{"type":"static-length-blob","length":2}}]}}]}}
"""


def build(into):
    sources = SOURCES + [str(p.relative_to(ROOT)) for d in ("src/ctf", "src/trace") for p in sorted((ROOT / d).glob("*.c"))
                         if p.name not in ("sink.c", "schema.c", "context.c", "summary.c", "names.c", "match.c", "match_field.c")]
    program = into / "fuzz"
    subprocess.run(["clang", "-std=gnu11", "-D_GNU_SOURCE", "-DDUET_VERSION=\"fuzz\"", "-O1", "-g", "-w",
                    "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined",
                    "-fno-sanitize=alignment", "-I", "src", "-I", "include", *sources, "tests/fuzz/fuzz.c", "-o", program],
                   cwd=ROOT, check=True)
    return program


def corpus(where):
    for kind in ("metadata", "trace"):
        (where / kind).mkdir(parents=True, exist_ok=True)
    (where / "metadata/ctf2").write_bytes(CTF2)
    (where / "trace/ctf2").write_bytes(CTF2 + b"\0" + b"\2\x7fxy" * 8 + b"\1\1aZ\0zz")
    for seed in range(20):
        with tempfile.TemporaryDirectory() as d:
            random_ctf.make(d, seed)
            metadata, stream = (pathlib.Path(d, n).read_bytes() for n in ("metadata", "s0"))
        (where / ("metadata/%d" % seed)).write_bytes(metadata)
        if metadata[:2] == b"/*":
            (where / ("trace/%d" % seed)).write_bytes(metadata + b"\0" + stream)


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    if not shutil.which("clang"):
        print("no clang")
        return 77
    with tempfile.TemporaryDirectory(prefix="duet-fuzz-") as scratch:
        program = build(pathlib.Path(scratch))
        where = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch + "/corpus").resolve()
        corpus(where)
        for kind in ("metadata", "trace"):
            r = subprocess.run([program, "-max_total_time=%d" % max(1, seconds // 2), "-timeout=10", "-rss_limit_mb=1024",
                                "-max_len=16384", "-print_final_stats=1", "-artifact_prefix=%s/" % where, where / kind],
                               env=dict(os.environ, FUZZ=kind), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace")
            lines = r.stdout.splitlines()
            print(kind + ": " + ", ".join(l for l in lines if "number_of_executed" in l or "peak_rss" in l))
            if r.returncode:
                print("\n".join(lines[-40:]))
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
