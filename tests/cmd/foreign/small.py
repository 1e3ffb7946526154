#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`duet view` reads traces of other tools: one small trace for each thing that tracers of our own never write.

small.py DUET [CASE]...     TEST_CASES=... chooses as well

The traces are made here.  The text is compared with the one expected; where Babeltrace 2 reads the trace, its events are
compared too (../read/agree.py).  Exit: 0, 1 failure.  The traces of other tools themselves: suite.py, by hand.
"""
import json
import os
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE + "/../../lib"]
from trial import duet, fail, is_ as equal, ok, run_cases, work  # noqa: E402

os.chdir(work)
MAGIC = 0xC1FC1FC1
UUID, OTHER = bytes(range(16)), bytes(range(16, 32))
BIG = 2**64 - 1
LIMIT = 2**44

U8 = "typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
U64 = "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
TIMED = ("/* CTF 1.8 */\n" + U8 + U64 +
         "typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time;\n"
         "trace { major = 1; minor = 8; byte_order = le; uuid = \"00010203-0405-0607-0809-0a0b0c0d0e0f\";\n"
         "packet.header := struct { integer { size = 32; align = 8; } magic; u8 uuid[16]; }; };\n"
         "clock { name = c; freq = 1000000000; };\n"
         "stream { packet.context := struct { u64 content_size; u64 packet_size; time timestamp_begin; time timestamp_end;\n"
         "u64 packet_seq_num; u64 events_discarded; }; event.header := struct { time timestamp; }; };\n"
         "event { name = \"e\"; fields := struct { u8 x; }; };\n")


def is_(got, want, what=""):
    equal(got, want, what or sys._getframe(1).f_code.co_name)


def trace(name, metadata, *streams):
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    with open(name + "/metadata", "w") as f:
        f.write(metadata)
    for i, s in enumerate(streams):
        with open("%s/s%d" % (name, i), "wb") as f:
            f.write(s)
    return name


def ctf2(name, payload, stream, **scopes):
    """@scopes: field classes of the data stream class."""
    parts = ({"type": "preamble", "version": 2}, {"type": "trace-class"},
             {"type": "data-stream-class", **{k.replace("_", "-") + "-field-class": c for k, c in scopes.items()}},
             {"type": "event-record-class", "name": "e",
              "payload-field-class": {"type": "structure", "member-classes": [
                  {"name": n, "field-class": c} for n, c in payload.items()]}})
    return trace(name, "".join("\x1e" + json.dumps(p) + "\n" for p in parts), stream)


def packet(times, number, discarded=0, uuid=UUID, begin=None, end=None):
    body = b"".join(struct.pack("<QB", t, t % 251) for t in times)
    size = 4 + 16 + 6 * 8 + len(body)
    return struct.pack("<I16s6Q", MAGIC, uuid, size * 8, size * 8, times[0] if begin is None else begin,
                       times[-1] if end is None else end, number, discarded) + body


def view(name, *options, status=0):
    r = subprocess.run([duet, "view", "--no-pager", "--columns", "event,fields", *options, name], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True)
    is_(r.returncode, status, r.stderr)
    return r.stdout, r.stderr


def agrees(name):
    """Babeltrace reads the same events; without it nothing is compared."""
    r = subprocess.run([sys.executable, HERE + "/../read/agree.py", duet, "-", name], stdout=subprocess.PIPE, text=True)
    ok(r.returncode == 0 or (r.returncode == 77 and not os.environ.get("DUET_NO_SKIP")), "Babeltrace agrees", r.stdout)


def without_a_stream_block():
    t = trace("bare", "/* CTF 1.8 */\n" + U8 + "trace { major = 1; minor = 8; byte_order = le; };\n"
              "event { name = \"e\"; id = 9; fields := struct { u8 x; u8 none[0]; struct {} many[40]; }; };\n", b"\1\2")
    out, err = view(t)
    is_(out, "".join("e { x = %d, none = [ ], many = [ %s ] }\n" % (x, ", ".join(["{ }"] * 40)) for x in (1, 2)))
    is_(err, "")
    agrees(t)


def character_literals():
    t = trace("characters", "/* CTF 1.8 */\n" + U8 + "trace { major = 1; minor = 8; byte_order = le; };\n"
              "env { hostname = 'h'; newline = '\\n'; };\n"
              "event { name = \"e\"; fields := struct { enum : u8 { A = 'a', UP = '\\101' ... 'Z', Q = '\\'' } x; }; };\n",
              b"aBb'")
    is_(view(t)[0], "e { x = A: 97 }\ne { x = UP: 66 }\ne { x = ?: 98 }\ne { x = Q: 39 }\n")


def packets_of_another_uuid():
    t = trace("uuid", TIMED, packet([1, 2], 0, uuid=OTHER) + packet([3], 1, uuid=OTHER), packet([4], 0))
    out, err = view(t)
    is_(out.count("\n"), 4)
    is_(err.count("uuid is not that of the metadata"), 1, err)
    ok("uuid/s0: packet 0 at byte 0" in err, "it names file and packet", err)
    agrees(t)
    numbered = [packet([10 * i + 1, 10 * i + 2], i, uuid=OTHER) for i in range(3)]
    t = trace("indexed", TIMED, b"".join(numbered))
    os.mkdir(t + "/index")
    with open(t + "/index/s0.idx", "wb") as f:
        f.write(struct.pack(">4I", 0xC1F1DCC1, 1, 1, 72))
        for i, p in enumerate(numbered):
            f.write(struct.pack(">9Q", i * len(p), len(p) * 8, len(p) * 8, 10 * i + 1, 10 * i + 2, 0, 0, 0, i))
    ok("its uuid is not that of the metadata" in view(t)[1], "an index does not hide it", view(t)[1])


def all_labels_of_a_value():
    t = trace("labels", "/* CTF 1.8 */\n" + U8 + "trace { major = 1; minor = 8; byte_order = le; };\n"
              "event { name = \"e\"; fields := struct { enum : u8 { LOW = 0 ... 9, \"a b\" = 5 ... 20, FIVE = 5 } x; }; };\n",
              b"\1\5\x0c\x32")
    is_(view(t)[0], "e { x = LOW: 1 }\ne { x = LOW|\"a b\"|FIVE: 5 }\ne { x = \"a b\": 12 }\ne { x = ?: 50 }\n")
    second = json.loads(view(t, "--json")[0].splitlines()[1])["fields"]["x"]
    is_(second, {"value": 5, "label": "LOW", "labels": ["LOW", "a b", "FIVE"]})
    ok("LOW|a b|FIVE" in view(t, "--csv")[0], "CSV has all labels")
    agrees(t)
    names = ["label_%04d" % i for i in range(300)]
    t = trace("long", "/* CTF 1.8 */\n" + U8 + "trace { major = 1; minor = 8; byte_order = le; };\n"
              "event { name = \"e\"; fields := struct { enum : u8 { %s } x; }; };\n" % ", ".join(n + " = 0 ... 9" for n in names), b"\1")
    shown = view(t, "--csv")[0].splitlines()[-1].split(",")[-1]
    n = shown.count("|") + 1
    is_(shown, "|".join(names[:n]) + "...", "values without room are dots")
    ok(n > 50, "much has room", shown)


def bits_of_a_map_have_names():
    t = ctf2("bits", {"m": {"type": "fixed-length-bit-map", "length": 8, "byte-order": "little-endian", "flags":
                            {"READ": [[0, 0]], "WRITE": [[1, 2]], "ALL": [[0, 7]]}}}, b"\0\1\6\x80")
    is_(view(t)[0], "e { m = ?: 0 }\ne { m = READ|ALL: 1 }\ne { m = WRITE|ALL: 6 }\ne { m = ALL: 128 }\n")


def structure(**members):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in members.items()]}


def lengths_and_tags_have_paths_from_the_own_scope():
    """As LTTng's header in CTF 2: the variant names the scope that it is in."""
    u8 = {"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}

    def at(origin, name):
        return {"origin": origin, "path": [name]}

    def option(first, last, **members):
        return {"selector-field-ranges": [[first, last]], "field-class": structure(**members)}

    number = dict(u8, roles=["event-record-class-id"])
    t = ctf2("paths", {"x": u8}, b"\2\1\2" + b"\0\5" + b"\xff\0\6",
             packet_context=structure(n=u8, list={"type": "dynamic-length-array", "element-field-class": u8,
                                                  "length-field-location": at("packet-context", "n")}),
             event_record_header=structure(id=number, v={
                 "type": "variant", "selector-field-location": at("event-record-header", "id"),
                 "options": [option(0, 254), option(255, 255, id=number)]}))
    is_(view(t), ("e { x = 5 }\ne { x = 6 }\n", ""))


def enumerations_of_the_draft():
    for kind in "unsigned", "signed":
        t = ctf2("draft", {"x": {"type": "fixed-length-%s-enumeration" % kind, "length": 8, "byte-order": "little-endian",
                                 "mappings": {"A": [[0, 1]], "B": [[5, 5], [1, 1]]}}}, b"\0\1\5")
        is_(view(t)[0], "e { x = A: 0 }\ne { x = A|B: 1 }\ne { x = B: 5 }\n")


def texts_of_all_encodings():
    text = "a\u00e9\u20ac\U0001f600"
    for name in "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be":
        raw = text.encode(name)
        nul = b"\0" * (1 if name == "utf-8" else int(name[4:6]) // 8)
        u8 = {"type": "fixed-length-unsigned-integer", "length": 8, "byte-order": "little-endian"}
        t = ctf2("texts", {"z": {"type": "null-terminated-string", "encoding": name},
                           "fixed": {"type": "static-length-string", "length": 40, "encoding": name}, "n": u8,
                           "some": {"type": "dynamic-length-string", "encoding": name, "length-field-location":
                                    {"path": ["n"]}}},
                 raw + nul + raw.ljust(40, b"\0") + bytes([len(raw)]) + raw)
        out, err = view(t)
        is_((out, err), ('e { z = "%s", fixed = "%s", n = %d, some = "%s" }\n' % (text, text, len(raw), text), ""), name)
        fields = json.loads(view(t, "--json")[0])["fields"]
        is_([fields[k] for k in ("z", "fixed", "some")], [text] * 3)
        ok(text in view(t, "--csv")[0], "CSV has the text")
    halves = ctf2("halves", {"z": {"type": "null-terminated-string", "encoding": "utf-16le"}}, b"\x00\xd8x\0\0\0")
    is_(view(halves)[0], 'e { z = "\ufffdx" }\n')
    bad = ctf2("bad", {"z": {"type": "null-terminated-string", "encoding": "utf-7"}}, b"")
    ok("an encoding that is none of" in view(bad)[1], "an unknown encoding is refused")


def repeated_packets_are_left_out():
    whole = [packet([10 * i + 1, 10 * i + 2], i) for i in range(1, 6)]
    t = trace("again", TIMED, b"".join(whole[:3] + whole[1:]))
    out, err = view(t)
    is_(out.count("\n"), 10)
    size = len(whole[0])
    for i in 1, 2:
        ok("again/s0: the packet at byte %d repeats packet %d at byte %d\n  it is left out" % (
            (i + 2) * size, i, i * size) in err, "file and packets are named", err)
    is_(err.count("repeats"), 2)


def disorder_is_reported():
    t = trace("disorder", TIMED, packet([100, 110], 1) + packet([50, 60], 2) + packet([200, 190, 195], 3, end=200))
    out, err = view(t)
    is_(out.count("\n"), 7)
    ok("disorder/s0: packet 1 at byte " in err and "begins before the last event of packet 0" in err, "a packet", err)
    ok("packet 2 at byte " in err and "an event is earlier than the one before it" in err, "an event", err)


def damage_and_disorder_of_a_packet_are_both_reported():
    cut = bytearray(packet([200, 190, 195], 3, end=200))
    struct.pack_into("<Q", cut, 20, len(cut) * 8 - 8)  # the last field is behind the content
    out, err = view(trace("both", TIMED, bytes(cut) + packet([210], 4)))
    is_(out.count("\n"), 3)
    ok("an event is earlier than the one before it" in err, "disorder", err)
    ok("claims 1 bytes, 0 remain" in err, "damage", err)
    is_(err.count("both/s0"), 2)


def impossible_counters_are_damage():
    t = trace("counters", TIMED, packet([1], 1, 0) + packet([2], BIG, BIG) + packet([3], 3, 4) + packet([4], 4, 6))
    out, err = view(t)
    ok(str(BIG - 2) not in out and str(BIG) not in out, "no such number is shown", out)
    is_(out.count("[lost"), 2, out)
    ok("packet 1 at byte " in err and "its counter of lost events, %d after 0, is impossible" % BIG in err, "events", err)
    ok("its number, %d after 1, is impossible" % BIG in err, "packets", err)
    ok("6 events lost" in err, "the total is what is sound", err)
    many = trace("many", TIMED, b"".join(packet([i + 1], i, (i + 1) * (LIMIT // 2)) for i in range(6)))
    ok("%d events lost" % LIMIT in view(many)[1], "a total does not go beyond the limit of a stream")
    stats = json.loads(subprocess.run([duet, "stats", "--json", many], stdout=subprocess.PIPE, check=True).stdout)
    is_(stats["lost_events"], LIMIT)


def packets_without_numbers_are_not_repaired():
    t = trace("zeros", TIMED, packet([1, 2], 0) + packet([3], 0) + packet([4], 0))
    shutil.rmtree("whole", ignore_errors=True)
    r = subprocess.run([duet, "repair", t, "whole"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ok("impossible" not in r.stderr, "their number is no damage", r.stderr)
    is_(view("whole")[0].count("\n"), 4)


def times_at_the_ends_overflow_nothing():
    """Each format has all five events, at their times modulo 2^64, or refuses them for its own reason; the sanitizers see
    overflows on the way."""
    t = trace("ends", TIMED, packet([0, BIG // 2 - 1, BIG - 1], 0, end=BIG - 1), packet([1, BIG], 0, end=BIG))
    times = [0, 1, -1, BIG // 2 - 1, -2]
    for form in ("ctf", "chrome", "perfetto", "csv"):
        if os.path.isdir("new"):
            shutil.rmtree("new")
        r = subprocess.run([duet, "export", form, "-o", "new", t], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        is_(r.returncode, 0, form + r.stderr[-500:])
        ok("runtime error" not in r.stderr, form, r.stderr[-500:])
        if form == "ctf":
            is_(view("new")[0], view(t)[0])
            continue
        with open("new", "rb") as f:
            made = f.read()
        os.unlink("new")
        if form == "csv":
            is_([int(line.split(b",")[0]) for line in made.splitlines()[1:]], times)
        elif form == "chrome":
            is_([e["args"]["x"] for e in json.loads(made)["traceEvents"] if e["ph"] == "i"], [0, 1, BIG % 251, (BIG // 2 - 1) % 251, (BIG - 1) % 251])
            is_([round(e["ts"] * 1000) for e in json.loads(made)["traceEvents"] if e["ph"] == "i" and abs(e["ts"]) < 1], [0, 1, -1, -2])
        else:
            ok(len(made) > 300, "packets", str(len(made)))
    for form in ("firefox", "speedscope", "folded", "svg"):
        r = subprocess.run([duet, "export", form, "-o", "new", t], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        is_(r.returncode, 2, form)
        ok("no event of this recording has a call stack" in r.stderr and not os.path.exists("new"), form, r.stderr[-500:])


def what_repair_writes_aborts_nobody():
    if not shutil.which("babeltrace2"):
        return ok(not os.environ.get("DUET_NO_SKIP"), "Babeltrace is there")
    for t in "again", "disorder", "counters", "many", "ends", "uuid":
        shutil.rmtree("fixed", ignore_errors=True)
        if not os.path.isdir(t):
            fail("the cases before this one make its traces")
        r = subprocess.run([duet, "repair", t, "fixed"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if t == "ends":
            is_(r.returncode, 2, r.stderr)  # nothing in it is sound
            continue
        ok(r.returncode in (0, 1), t, r.stderr)
        r = subprocess.run(["babeltrace2", "fixed"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ok(r.returncode in (0, 1), "%s: Babeltrace does not abort: %d" % (t, r.returncode), r.stderr[-500:])
        is_(r.returncode, 0, t + "\n" + r.stderr[-1500:])


run_cases(without_a_stream_block, character_literals, packets_of_another_uuid, all_labels_of_a_value, bits_of_a_map_have_names,
          lengths_and_tags_have_paths_from_the_own_scope, enumerations_of_the_draft, texts_of_all_encodings, repeated_packets_are_left_out, disorder_is_reported,
          damage_and_disorder_of_a_packet_are_both_reported, impossible_counters_are_damage, packets_without_numbers_are_not_repaired, times_at_the_ends_overflow_nothing,
          what_repair_writes_aborts_nobody)
