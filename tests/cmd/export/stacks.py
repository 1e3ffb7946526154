#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stacks.py DUET LIBDUET PROGRAM - exports call stacks of program.c, recorded now; its calls are known."""
import json
import os
import re
import shutil
import sys
import xml.dom.minidom

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
for room in "../analysis", "../../live/analysis":
    sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), room))
import real
from check import Duet, Failed, check, run_all
import perfetto
import timeline

PROGRAM = None
LEFT, RIGHT = ["main", "outer", "left", "leaf"], ["main", "outer", "right", "leaf"]


def record_stacks(duet, where, program=None):
    return real.record_all(duet, where, ["-c", "callstack", "-k", "sched", "-k", "syscalls"], [program or PROGRAM])[0]


def inner(names):
    """From main on: the callers of main in libc differ."""
    return names[names.index("main"):]


def folded(duet, *argv):
    result = {}
    for line in duet.text("export", "folded", *argv).splitlines():
        names, n = line.rsplit(" ", 1)
        check(names.split(";")[0], "export_prog")
        result[";".join(inner(names.split(";")))] = int(n)
    return result


def folded_stacks_are_the_calls_made(duet, where):
    trace = record_stacks(duet, where)
    check(folded(duet, "-e", "job:step", trace), {";".join(LEFT): 30, ";".join(RIGHT): 10})
    check(folded(duet, trace), {";".join(LEFT): 30, ";".join(RIGHT): 10, "main;outer": 80})
    check(folded(duet, "-e", "job:step", "--weight", "size", trace), {";".join(LEFT): 3000, ";".join(RIGHT): 1000})
    check("no event" in duet.run("export", "folded", "--weight", "nope", trace, status=2).stderr, True)
    times = folded(duet, "--weight", "time", trace)
    view = [json.loads(line) for line in duet.text("view", "--json", "-e", "job", trace).splitlines()]
    check(sum(times.values()), view[-1]["time"] - view[0]["time"])


def lines_name_the_functions_of_addresses(duet, where):
    lines = duet.text("view", "--no-pager", "-e", "job:step", record_stacks(duet, where)).splitlines()
    check(len(lines), 40)
    stacks = [[name for _, name in re.findall(r"(0x[0-9a-f]+) \(([^)]*)\)", l)] for l in lines]
    check(sum(s[:4] == LEFT[::-1] for s in stacks), 30)
    check(sum(s[:4] == RIGHT[::-1] for s in stacks), 10)


def speedscope_has_the_shape_of_its_schema(duet, where):
    """Requirements of file-format-spec.ts of Speedscope."""
    trace = record_stacks(duet, where)
    s = json.loads(duet.text("export", "speedscope", trace))
    check(s["$schema"], "https://www.speedscope.app/file-format-schema.json")
    names = [f["name"] for f in s["shared"]["frames"]]
    check(len(names), len(set(names)))
    check(len(s["profiles"]), 1)
    p = s["profiles"][0]
    check((p["type"], p["unit"], p["startValue"], p["endValue"]), ("sampled", "none", 0, 120))
    check(len(p["samples"]), len(p["weights"]))
    check(sum(p["weights"]), p["endValue"] - p["startValue"])
    stacks = [inner([names[i] for i in sample]) for sample in p["samples"]]
    check((stacks.count(LEFT), stacks.count(RIGHT), stacks.count(LEFT[:2])), (30, 10, 80))


def firefox_has_tables_that_fit(duet, where):
    """Requirements of the Gecko format: rows as wide as the schema, valid indices, prefixes first."""
    f = json.loads(duet.text("export", "firefox", record_stacks(duet, where)))
    check((f["meta"]["version"], f["libs"], f["processes"]), (27, [], []))
    check(any(c["color"] == "grey" for c in f["meta"]["categories"]), True)
    check(len(f["threads"]), 1)
    t = f["threads"][0]
    for table in ("samples", "stackTable", "frameTable", "markers"):
        check(sorted(t[table]["schema"].values()), list(range(len(t[table]["schema"]))))
        for row in t[table]["data"]:
            check(len(row), len(t[table]["schema"]))
    stacks = []
    for i, (prefix, frame) in enumerate(t["stackTable"]["data"]):
        name = t["stringTable"][t["frameTable"]["data"][frame][0]]
        check(prefix is None or prefix < i, True)
        stacks.append(([] if prefix is None else stacks[prefix]) + [name])
    got = [inner(stacks[s[0]]) for s in t["samples"]["data"]]
    check((got.count(LEFT), got.count(RIGHT), got.count(LEFT[:2])), (30, 10, 80))
    times = [s[1] for s in t["samples"]["data"]]
    check((times == sorted(times), times[0]), (True, 0))


def a_flame_graph_has_a_box_per_call_path_over_its_caller(duet, where):
    svg = duet.text("export", "svg", "--title", "a < b & \"c\"", record_stacks(duet, where))
    doc = xml.dom.minidom.parseString(svg)
    boxes = {}
    for g in doc.getElementsByTagName("g"):
        title = g.getElementsByTagName("title")[0].firstChild.data
        name, n, percent = re.fullmatch(r"(.*) \((\d+), ([\d.]+)%\)", title).groups()
        r = g.getElementsByTagName("rect")[0]
        boxes.setdefault(name, []).append((int(n), float(r.getAttribute("x")), float(r.getAttribute("y")),
                                           float(r.getAttribute("width"))))
    check(boxes["all"][0][0], 120)
    outer, left, right = boxes["outer"][0], boxes["left"][0], boxes["right"][0]
    check((outer[0], left[0], right[0], sorted(b[0] for b in boxes["leaf"])), (120, 30, 10, [10, 30]))
    for b in (left, right):
        check(b[2] < outer[2] and outer[1] <= b[1] and b[1] + b[3] <= outer[1] + outer[3] + 0.02, True, "in its place")
        if abs(b[3] / outer[3] - b[0] / outer[0]) > 0.001:
            raise Failed("%r is not as wide as its share of %r" % (b, outer))
    for g in doc.getElementsByTagName("g"):  # a letter of common fonts is at most 0.62 of their size wide
        for t in g.getElementsByTagName("text"):
            box, size = g.getElementsByTagName("rect")[0], float(doc.documentElement.getAttribute("font-size"))
            end = float(t.getAttribute("x")) + 0.62 * size * len(t.firstChild.data)
            check(end <= float(box.getAttribute("x")) + float(box.getAttribute("width")), True, t.firstChild.data + " is in its box")
    check("<script" in svg, False)
    check('a < b & "c"' in [t.firstChild.data for t in doc.getElementsByTagName("text")], True)


def a_replaced_program_file_is_not_used(duet, where):
    """After a rebuild the functions have other addresses; the build ID shows it."""
    program = where + "/export_prog"
    shutil.copy(PROGRAM, program)
    trace = record_stacks(duet, where, program)
    check(folded(duet, "-e", "job:step", trace)[";".join(LEFT)], 30)
    shutil.copy("/bin/true", program + ".new")
    os.rename(program + ".new", program)
    text = duet.text("export", "folded", "-e", "job:step", trace)
    check(bool(re.search(r"export_prog\+0x[0-9a-f]+", text)) and "leaf" not in text, True)
    # Without maps, frames are numbers.
    os.unlink(trace + "/.duet/maps")
    check(bool(re.fullmatch(r"export_prog(;0x[0-9a-f]+)+ \d+", duet.text(
        "export", "folded", "-e", "job:step", trace).splitlines()[0])), True)
    # Malformed maps are skipped.
    with open(trace + "/.duet/maps", "wb") as f:
        f.write(b"process x\nprocess 1 1\n5-3 0 - /x\nzz\n\0\xff\nprocess -1 99999999999999999999999\n1-ffffffffffffffff 0 - "
                + b"a" * 10000 + b"\n" + os.urandom(1000))
    duet.text("export", "folded", trace)


def a_real_recording_is_the_same_in_all_formats(duet, where):
    trace = record_stacks(duet, where)
    view = [json.loads(line) for line in duet.text("view", "--json", trace).splitlines()]
    view = [v for v in view if "statedump" not in v["event"]]
    t = timeline.to_perfetto(duet, trace)
    n_switches = sum(v["event"] == "sched_switch" for v in view)
    check(len(t.switches), n_switches)
    check(len([e for e in t.events if e.type in ("BEGIN", "END", "INSTANT") and e.name != "woken"
               and (e.fields or e.type != "END")]), len(view) - n_switches)
    tid = next(v["tid"] for v in view if v["event"] == "job:step")
    jobs = [s for s in perfetto.slices(t.of_thread(tid)) if s[0] == "job"]
    check([s[3]["id"] for s in jobs], list(range(40)))
    check([s[1] for s in jobs], [v["time"] for v in view if v["event"] == "job:begin"])
    steps = [e for e in t.of_thread(tid) if e.name == "job:step"]
    check([(e.time, e.fields["id"], len(e.fields["callstack_user"]) > 3) for e in steps],
          [(v["time"], v["fields"]["id"], True) for v in view if v["event"] == "job:step"])
    flows = [f for e in t.events for f in e.flows]
    ends = [f for e in t.events for f in e.ends]
    check(len(set(flows)), len(flows))
    check(set(ends) <= set(flows), True)
    check(len(ends) >= 10, True, "wake-ups that let a thread run: %d" % len(ends))
    chrome = timeline.to_chrome(duet, trace)["traceEvents"]
    timeline.walk_chrome([e for e in chrome if e["ph"] != "X"])
    timeline.walk_chrome([e for e in chrome if e["ph"] == "X"])
    begin = int(json.loads(duet.text("export", "chrome", trace))["otherData"]["begin_ns"])
    check(sorted(e["ts"] for e in chrome if e["ph"] == "B" and e["name"] == "job"),
          [(v["time"] - begin) / 1e3 for v in view if v["event"] == "job:begin"])


if __name__ == "__main__":
    real.need_root()
    real.LIBRARY, PROGRAM = sys.argv[2], sys.argv[3]
    sys.exit(run_all([folded_stacks_are_the_calls_made, lines_name_the_functions_of_addresses, speedscope_has_the_shape_of_its_schema,
                      firefox_has_tables_that_fit, a_flame_graph_has_a_box_per_call_path_over_its_caller,
                      a_replaced_program_file_is_not_used,
                      a_real_recording_is_the_same_in_all_formats], Duet(sys.argv[1])))
