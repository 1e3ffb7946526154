# SPDX-License-Identifier: MIT
"""tests/fuzz/seeds.py - the first inputs: DOORS, inputs for each entry of parts.c."""
import pathlib
import struct
import subprocess

def frame(data):
    """A Zstandard frame (RFC 8878) of one raw block that states its size."""
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data)) + struct.pack("<I", 1 | len(data) << 3)[:3] + data


def runs(byte, n):
    """The same, of one byte again and again."""
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, n) + struct.pack("<I", 3 | n << 3)[:3] + bytes([byte])


def message(kind, body):
    return struct.pack("<IBBBB", 8 + len(body), kind, 0, 0, 0) + body


def index():
    entry = struct.pack(">9Q", 0, 84 * 8, 84 * 8, 1, 2, 0, 0, 1, 0)
    head = struct.pack(">IIII", 0xC1F1DCC1, 1, 1, 72)
    return struct.pack("<H", len(head + entry)) + head + entry + struct.pack("<I", 0xC1FC1FC1) + bytes(80)


def sized(code, rest):
    return struct.pack("<H", len(code)) + code + rest


CODE = struct.pack("<IHH", 0x31746C66, 8 + 8 + 1, 8) + bytes([6, 0, 0, 1, 1, 5, 17, 0]) + b"a"
SCHEMA = b"13 t:m u32 a str s i64 b i16[] v chr[5] c enum(i8:IDLE, BUSY, DONE = -7) e f32 r str t u8[3] p u16 last"
HELLO = b"duet\r\n\x1a\n" + struct.pack("<I", 1) + bytes(16) + b"\4host\1s\4date"

DOORS = {
    "packed": [frame(b"plain"), frame(b"head") + runs(7, 100000) + frame(b"tail"), frame(b"x" * 300)[:150]],
    "filter": [b"s == \"text\" && v[1] < 5 || t ~ \"a*b?c\"\0" + b"\1\0\0\0text\0" + bytes(40),
               b"e == \"DONE\" || (a + b * 3 - 1) / 2 % 7 == 5 && $vpid == 4711 && !(r * 2.5 > -1)\0" + bytes(60)],
    "code": [sized(CODE, SCHEMA + b"\0" + bytes(60))],
    "schema": [SCHEMA],
    "kallsyms": [b"ffffffff81000000 _text\nffffffff81000100 do_it [module]\nffffffffc0000000 f\n"],
    "maps": [b"process 1 10\n1000-2000 0 - /bin/a\n3000-4000 1000 0a1b2c /lib/b c\nprocess 1 20\n5000-6000 0 - /x\n"],
    "clock": [b"1 2 3 4 5 6\n7 8 9 10 11 12\n13 14 15 16 17 end\n\0001 2 3 4\n5 6 7 8\n"],
    "index": [index()],
    "message": [message(1, HELLO), message(3, struct.pack("<I", 5) + b"\x0ckernel/cpu_0"),
                message(5, struct.pack("<IIQ", 5, 0, 10) + b"0123456789"), message(2, struct.pack("<I", 1) + b"\3a/b")],
    "control": [b'{"verb":"snapshot","last_ns":5000000000,"ok":true,"x":null,"t":"a\\n\\u0041"}'],
    "elf": [],
    "patch": [],
    "signature": [b"int32 f(const char *name, size_t n, unsigned long long *x, int (*g)(int), ...);", b"_ZN4shop5placeERKNS_5orderEi",
                  b"_ZN4core3fmt5write17h0123456789abcdefE", b"_RINvMs_C7mycrateNtB4_5Order5placejE"],
}

SCRIPT = {
    "script": [b"""#!/usr/bin/duet script
global a[100], w%[50], c = -3, s = "x" "y"
@define twice(x) %( (@x * 2) %)
private function f:string(a:long, b) { return a . "x" }
probe begin, syscall.{read,write}.return ? if (c > 1) { x = @twice($1) + @1 . $# }
probe x.y = kernel.function("vfs_*").call, process("x").mark("y")! {
  foreach ([k-, l] in a[*, "x"] limit 5) println(k, l)
  foreach (v = k in a @sum-) { break; continue }
  if (x in a && [k, *] in a) delete a[*, 1]; else while (1) next
  try { y = $x->y[1]->z$$ . &$q->r } catch (e) { @cast(p, "t", "m")->a[2] = @var("v@f.c") }
  for (i = 0; i < 3; i++) s <<< @hist_log(x)[3] >>> 0x1f ? !(b =~ "^x") : @defined($$vars)
}, { $y = @entry(@choose_defined($z, 017)) }
%( kernel_v >= "2.6" && (arch == "x86*" || CONFIG_X != "y") %? probe never {} %: garbage %)
"""],
    "expression": [b"0a = b ? c[1, \"x\"]++ : -d . @sum(e) in f", b"1a.b[3] == 1e9 || !($ctx.vpid & 4 == 'c') && t ~ \"x*\""],
}


# Metadata that other tracers write, each with a stream.
TRACES = {
    "bare": (b"""/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
trace { byte_order = le; };
env { c = '\\n'; };
event { name = e; id = 7; fields := struct {
	enum : u8 { A = 'a', B = '\\x41' ... 'Z', C = 60 ... 70, D = '\\'' } e; struct {} none[40]; }; };
""", b"aBC'"),
    "ctf2-texts": (b"""\x1e{"type":"preamble","version":2}
\x1e{"type":"trace-class"}
\x1e{"type":"data-stream-class"}
\x1e{"type":"event-record-class","name":"e","payload-field-class":{"type":"structure","member-classes":[
{"name":"m","field-class":{"type":"fixed-length-bit-map","length":8,"byte-order":"little-endian","flags":{"R":[[0,0]],"W":[[1,7]]}}},
{"name":"d","field-class":{"type":"fixed-length-signed-enumeration","length":8,"byte-order":"little-endian","mappings":{"A":[[0,9]],"B":[[5,5]]}}},
{"name":"s","field-class":{"type":"null-terminated-string","encoding":"utf-16be"}},
{"name":"f","field-class":{"type":"static-length-string","length":8,"encoding":"utf-32le"}},
{"name":"v","field-class":{"type":"dynamic-length-string","encoding":"utf-16le","length-field-location":{"path":["d"]}}}]}}
""", b"\3\5\0a\xd8\x3d\xde\0\0\0\xac\x20\0\0x\0\0\0a\0b\0c"),
}


def library(scratch):
    """A small one, with functions, a build ID and a section that looks like a site's."""
    source, out = scratch / "library.c", scratch / "library.so"
    source.write_text("""static inline __attribute__((always_inline)) int in(int a) { return a * 3; }
enum e { A, B = 4 };
int duet_fuzz_one(enum e a, const char *b, float c) { return in(a + 1) + *b + (int)c; }
static const char name[] = "shop:order", words[] = "i32 id str item";
__attribute__((section("duet_sites"), used)) static const void *const site[8] = { name, words, name, words };
""")
    subprocess.run(["clang", "-g", "-O1", "-shared", "-nostdlib", "-fPIC", "-Wl,--build-id", "-Wl,-z,noseparate-code", source, "-o", out], check=True)
    data = out.read_bytes()
    source.unlink()
    out.unlink()
    return data


def assembled(scratch, name):
    """The library of tests/unit/patch/NAME.S."""
    out = scratch / (name + ".so")
    source = pathlib.Path(__file__).resolve().parent.parent / "unit/patch" / (name + ".S")
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Wl,-Bsymbolic", "-Wl,--build-id", "-o", out, source], check=True)
    data = out.read_bytes()
    out.unlink()
    return data
