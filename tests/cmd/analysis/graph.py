#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""graph.py DUET - `duet graph`, and calls of programs in view, exports and diff, on recordings made by hand."""
import json
import os
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
from check import Duet, Failed, check, row, run_all
from make import EPOCH, LOST, kernel, switch, wakeup
from make_call_trees import BIAS, Calls, calls, profile

BASE = 0xffffffff81000000
KERNEL = {"vfs_read": 0x1000, "filemap_read": 0x1100}
# main calls work twice, and read_page, which calls fill.
TREE = [("main", 1000, 21000, [("work", 2000, 3000, []), ("read_page", 4000, 16000, [("fill", 5000, 15500, [])]),
                               ("work", 17000, 17200, [])])]


def address(name):
    return BASE + KERNEL[name]


def write_kallsyms(r):
    os.makedirs(r + "/.duet", exist_ok=True)
    with open(r + "/.duet/kallsyms", "w") as f:
        for name in KERNEL:
            f.write("%x %s\n" % (address(name), name))


def shop(r, **more):
    return calls(r, {11: TREE}, **more)


def both(r, **more):
    """fill reads: 1 us of the system call on the CPU, 6 us blocked, 1 us runnable."""
    shop(r, **more)
    kernel(r + "/kernel", [
        switch(800, 1, ("web", 12), ("swapper/1", 0)),
        switch(900, 0, ("swapper/0", 0), ("shop", 11)),
        (6000, 0, 11, "syscall_entry_read", dict(fd=7)),
        (6100, 0, 11, "funcgraph_entry", dict(func=address("vfs_read"), depth=0)),
        switch(6500, 0, ("shop", 11), ("swapper/0", 0), state=1),
        wakeup(12500, 0, ("web", 12), ("shop", 11)),
        switch(13500, 0, ("swapper/0", 0), ("shop", 11)),
        (13900, 0, 11, "funcgraph_exit", dict(func=address("vfs_read"), depth=0, overrun=0, duration=7800)),
        (14000, 0, 11, "syscall_exit_read", dict(ret=5)),
        (21500, 0, 11, "sched_process_exit", dict(comm="shop", tid=11, prio=20)),
        switch(22000, 0, ("shop", 11), ("swapper/0", 0), state=0x10),
    ])
    write_kallsyms(r)
    return r


def lines(duet, *argv):
    """The lines of functions, without columns before them."""
    return [line.split("| ", 1) for line in duet.text("graph", "--no-events", *argv).splitlines()[1:]]


def shape(duet, *argv):
    return [line[1] for line in lines(duet, *argv)]


def calls_are_indented_with_durations(duet, where):
    check(duet.text("graph", shop(where + "/r")),
          "#   DURATION   PROCESS.THREAD | FUNCTION\n"
          "                      [10.11] | main() {\n"
          "     1.000 us         [10.11] |   work();\n"
          "                      [10.11] |   read_page() {\n"
          "+   10.500 us         [10.11] |     fill();\n"
          "+   12.000 us         [10.11] |   } /* read_page */\n"
          "     0.200 us         [10.11] |   work();\n"
          "+   20.000 us         [10.11] | } /* main */\n")


def events_lie_in_the_innermost_function(duet, where):
    r = shop(where + "/r", events=[(2500, 0, (10, 11), "shop:order", dict(id=3))])
    check([line.split("| ", 1)[1] for line in duet.text("graph", r).splitlines()[1:5]],
          ["main() {", "  work() {", "    /* shop:order { id = 3 } */", "  } /* work */"])
    check("shop:order" in duet.text("graph", "--no-events", r), False)


def the_kernel_lies_in_the_function(duet, where):
    got = shape(duet, "--tid", 11, both(where + "/r"))
    check(got, ["main() {", "  work();", "  read_page() {", "    fill() {", "      read() { /* system call */",
                "        vfs_read() {", "          /* blocked: read fd 7, woken by web:12 */",
                "          /* waited for a CPU */", "        } /* vfs_read */", "      } /* read */", "    } /* fill */",
                "  } /* read_page */", "  work();", "} /* main */"])


def a_kernel_graph_alone_is_shown(duet, where):
    r = where + "/r"
    kernel(r + "/kernel", [(1000, 0, 7, "funcgraph_entry", dict(func=address("vfs_read"), depth=0)),
                           (1100, 0, 7, "funcgraph_entry", dict(func=address("filemap_read"), depth=1)),
                           (1400, 0, 7, "funcgraph_exit", dict(func=address("filemap_read"), depth=1, overrun=0,
                                                               duration=300)),
                           (2000, 0, 7, "funcgraph_exit", dict(func=address("vfs_read"), depth=0, overrun=0,
                                                               duration=1000))])
    write_kallsyms(r)
    check(shape(duet, r), ["vfs_read() {", "  filemap_read();", "} /* vfs_read */"])


def ends_alone_become_calls(duet, where):
    """--graph-over records the ends of long calls only; the callee's end comes first."""
    r = where + "/r"
    kernel(r + "/kernel", [(1400, 0, 7, "funcgraph_exit", dict(func=address("filemap_read"), depth=1, overrun=0,
                                                               duration=300)),
                           (2000, 0, 7, "funcgraph_exit", dict(func=address("vfs_read"), depth=0, overrun=0,
                                                               duration=1000)),
                           (3000, 0, 7, "funcgraph_exit", dict(func=address("vfs_read"), depth=0, overrun=0,
                                                               duration=500))])
    write_kallsyms(r)
    check(shape(duet, r), ["vfs_read() {", "  filemap_read();", "} /* vfs_read */", "vfs_read();"])


def open_and_unwound_calls_are_marked(duet, where):
    r = calls(where + "/r", {11: [("main", 1000, None, [("parse", 2000, 3000, [], True), ("wait", 4000, None, [])])]})
    got = shape(duet, r)
    check(got[1], "  parse(); /* unwound */")
    check(["had not returned" in line for line in got], [False, False, True, True])


def short_calls_are_left_out(duet, where):
    r = shop(where + "/r")
    check(shape(duet, "--over", "5us", r), ["main() {", "  read_page() {", "    fill();", "  } /* read_page */", "} /* main */"])
    check("2 calls" in duet.run("graph", "--over", "5us", r).stderr, True)


def short_kernel_calls_are_left_out(duet, where):
    r = where + "/r"
    kernel(r + "/kernel", [(1000, 0, 7, "syscall_entry_read", dict(fd=1)), (1100, 0, 7, "syscall_exit_read", dict(ret=0)),
                           (2000, 0, 7, "syscall_entry_read", dict(fd=1)), (9000, 0, 7, "syscall_exit_read", dict(ret=0))])
    check(shape(duet, "--over", "5us", r), ["read(); /* system call */"])


def depth_and_threads_are_chosen(duet, where):
    r = calls(where + "/r", {11: TREE, 12: [("serve", 1500, 2500, [("work", 1600, 1700, [])])]})
    check(shape(duet, "--depth", 1, "--tid", 11, r), ["main();"])
    check(shape(duet, "--tid", 12, r), ["serve() {", "  work();", "} /* serve */"])
    check(shape(duet, "--pid", 99, r), [])
    check(len(shape(duet, "--program", "sho*", r)), 0 if duet.text("graph", "--program", "sho*", r).count("|") < 2 else 10)
    check({line[0].split("[")[1] for line in lines(duet, r)}, {"10.11] ", "10.12] "})


def a_window_shows_what_was_open(duet, where):
    r = shop(where + "/r")
    begin = "%d.%09d" % divmod(EPOCH + 4500, 10**9)
    end = "%d.%09d" % divmod(EPOCH + 15600, 10**9)
    got = shape(duet, "--from", begin, "--to", end, r)
    check([line.split("(")[0].strip() for line in got[:3]], ["main", "read_page", "fill"])
    check("had begun before" in got[0], True)


def the_tree_has_sums_and_the_split(duet, where):
    t = duet.json("graph", "--tree", both(where + "/r"))
    check(t["has_split"], 1)
    main, fill = row(t["paths"], function="main"), row(t["paths"], function="fill")
    check([main["calls"], main["total_ns"], main["depth"]], [1, 20000, 0])
    check([fill["depth"], fill["total_ns"]], [2, 10500])
    work = row(t["paths"], function="work")
    check([work["calls"], work["total_ns"]], [2, 1200])
    check([main[k + "_ns"] for k in ("user", "kernel", "blocked", "runnable", "interrupted")], [12000, 1000, 6000, 1000, 0])
    check(sum(main[k + "_ns"] for k in ("user", "kernel", "blocked", "runnable", "interrupted")), main["total_ns"])
    check(row(t["paths"], kind="system call")["function"], "read")


def a_tree_for_people(duet, where):
    text = duet.text("graph", "--tree", shop(where + "/r"))
    check([w in text for w in ("total", "self", "calls", "  read_page", "    fill")], [True] * 5, text)


def callers_and_callees(duet, where):
    r = shop(where + "/r")
    t = duet.json("graph", "--callers", "fill", r)
    check([(p["depth"], p["function"]) for p in t["paths"]], [(0, "fill"), (1, "read_page"), (2, "main")])
    t = duet.json("graph", "--callees", "shop:read_page", r)
    check([(p["depth"], p["function"], p["total_ns"]) for p in t["paths"]], [(0, "read_page", 12000), (1, "fill", 10500)])


def callers_of_the_kernel(duet, where):
    r = both(where + "/r")
    t = duet.json("graph", "--callers", "vfs_read", r)
    check([p["function"] for p in t["paths"]], ["vfs_read", "read", "fill", "read_page", "main"])
    check([p["function"] for p in duet.json("graph", "--callees", "read", r)["paths"]][:2], ["read", "vfs_read"])


def system_calls_alone_are_no_tree(duet, where):
    r = where + "/r"
    kernel(r + "/kernel", [(1000, 0, 7, "syscall_entry_read", dict(fd=1)), (1100, 0, 7, "syscall_exit_read", dict(ret=0))])
    check("report syscalls" in duet.run("graph", "--tree", r, status=2).stderr, True)


def a_kernel_graph_is_a_tree(duet, where):
    a_kernel_graph_alone_is_shown(duet, where)
    check([(p["depth"], p["function"]) for p in duet.json("graph", "--tree", where + "/r")["paths"]],
          [(0, "vfs_read"), (1, "filemap_read")])


def a_function_that_is_not_there(duet, where):
    p = duet.run("graph", "--callers", "read_pag", shop(where + "/r"), status=2)
    check("did you mean read_page?" in p.stderr, True, p.stderr)


def nothing_to_show(duet, where):
    from make import ust
    ust(where + "/r/ust", [(1000, 0, (10, 11), "shop:order", dict(id=3))])
    check("--graph" in duet.run("graph", where + "/r", status=2).stderr, True)


def a_profile_is_a_tree_only(duet, where):
    r = profile(where + "/r", 11, [(0, "", 0, 0, 0), (0, "main", 1, 1, 20000), (1, "work", 1000, 10, 100)])
    check("--tree" in duet.run("graph", r, status=2).stderr, True)
    t = duet.json("graph", "--tree", r)
    check([t["is_estimated"], row(t["paths"], function="work")["calls"]], [1, 1000])


def functions_of_a_profile_without_a_sample_are_there(duet, where):
    r = profile(where + "/r", 11, [(0, "", 0, 0, 0), (0, "main", 1, 0, 0), (1, "work", 1000, 10, 100)])
    t = duet.json("graph", "--tree", r)
    check([(p["function"], p["calls"], p["total_ns"]) for p in t["paths"]], [("main", 1, None), ("work", 1000, 10000)])
    check(t["all_ns"], 10000)
    check("main" in duet.text("graph", "--tree", r), True)


def the_hook_and_elided_functions_are_shown(duet, where):
    r = shop(where + "/r", hook_ns=80, elided={"tiny": (500, 2500)}, lost=4)
    t = duet.json("graph", "--tree", r)
    check(t["hook_ns_x256"], 80 * 256)
    check([row(t["elided"], function="tiny")[k] for k in ("calls", "mean_ns")], [500, 5])
    check(t["lost_calls"], 4)
    notes = duet.run("graph", r).stderr
    check(["80.0 ns" in notes, "tiny (500 calls" in notes, "4 calls" in notes], [True] * 3, notes)


def heavy_hooks_are_marked(duet, where):
    t = duet.json("graph", "--tree", shop(where + "/r", hook_ns=400))
    check([(p["function"], p["hook"]) for p in t["paths"] if p["hook"]], [("work", "~")])


def view_shows_calls_among_events(duet, where):
    r = shop(where + "/r", events=[(2500, 0, (10, 11), "shop:order", dict(id=3))])
    got = [json.loads(line) for line in duet.text("view", "--json", "--calls", "both", r).splitlines()]
    check([(e["event"], e["fields"].get("function"), e["time"] - EPOCH) for e in got[:4]],
          [("call_entry", "main", 1000), ("call_entry", "work", 2000), ("shop:order", None, 2500), ("call_exit", "work", 3000)])
    text = duet.text("view", r)
    check([text.count(" call { "), text.count("duet_calls"), text.count("shop:order")], [5, 0, 1])
    check(duet.text("view", "--calls", "none", r).count("\n"), 1)
    check(duet.text("view", "-e", "duet_calls:batch", r).count("duet_calls:batch"), 1)
    check(duet.text("view", "-e", "shop:order", r).count("\n"), 1)


def csv_has_calls(duet, where):
    text = duet.text("export", "csv", shop(where + "/r"))
    check([text.count(",call,"), text.count("duet_calls")], [5, 0], text)


def viewers_get_calls_nested(duet, where):
    e = json.loads(duet.text("export", "chrome", both(where + "/r")))["traceEvents"]
    tids = {x["tid"] for x in e if x["ph"] == "B" and x["name"] == "main"}
    row_of = [(x["ph"], x.get("name")) for x in e if x["ph"] in "BE" and {x["tid"]} == tids]
    check(row_of, [("B", "main"), ("B", "work"), ("E", None), ("B", "read_page"), ("B", "fill"), ("B", "read"),
                   ("B", "vfs_read"), ("E", None), ("E", None), ("E", None), ("E", None), ("B", "work"), ("E", None),
                   ("E", None)])


def flame_graphs_have_time(duet, where):
    r = both(where + "/r")

    def folded(*options):
        return dict(line.rsplit(" ", 1) for line in duet.text("export", "folded", *options, r).splitlines())

    off = folded("--weight", "off-cpu")
    check(sum(map(int, off.values())), 7000)
    check(all(s.startswith("shop;main;read_page;fill;read;vfs_read;") for s in off), True, off)
    check({s.split(";")[-1] for s in off}, {"blocked: read fd 7", "without a CPU"})
    on = folded("--weight", "on-cpu")
    check(sum(map(int, on.values())), 13000)
    check([sum(map(int, folded().values())), on["shop;main;work"]], [20000, "1200"])
    xml.etree.ElementTree.fromstring(duet.text("export", "svg", r))
    check("bytes" in duet.run("export", "folded", "--weight", "bytes", r, status=2).stderr, True)


def sampled_viewers_have_each_change(duet, where):
    s = json.loads(duet.text("export", "speedscope", shop(where + "/r")))
    names = [f["name"] for f in s["shared"]["frames"]]
    p = s["profiles"][0]
    check([([names[i] for i in stack], w) for stack, w in zip(p["samples"], p["weights"])],
          [(["main"], 1000), (["main", "work"], 1000), (["main"], 1000), (["main", "read_page"], 1000),
           (["main", "read_page", "fill"], 10500), (["main", "read_page"], 500), (["main"], 1000), (["main", "work"], 200),
           (["main"], 3800)])
    json.loads(duet.text("export", "firefox", shop(where + "/q")))


def diff_compares_functions(duet, where):
    def times(r, ns):
        return [calls("%s%s%d" % (where, r, k), {11: [("main", 0, 10**6, [("work", i * 20000, i * 20000 + ns + k * 50, []) for i in range(40)])]})
                for k in range(4)]

    d = duet.json("diff", *times("/a", 1000), "--", *times("/b", 4000))
    w = row(d["functions"], function="shop:work")
    check([w["n_a"], w["n_b"], w["verdict"]], [40, 40, "slower"])
    check(row(d["functions"], function="shop:main")["verdict"], "")


sys.exit(run_all([v for k, v in list(globals().items())
                  if callable(v) and getattr(v, "__code__", None) and v.__code__.co_varnames[:2] == ("duet", "where")],
                 Duet(sys.argv[1])))
