#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/filter.py DUET - `duet view -f` and `duet stats -f` on traces made here."""
import json
import os
import struct
import subprocess
import sys
import tempfile

from view import HEAD, event, packet

CONTEXT = "int32_t _vpid; int32_t _vtid; uint64_t _weight;"
FIELDS = ("int32_t _id; string _sku; floating_point { exp_dig = 11; mant_dig = 53; } _price;"
          "uint8_t __v_length; int64_t _v[ __v_length ]; enum : uint8_t { idle, few = 1 ... 9, many = 10 ... 255 } _e;"
          "struct { uint8_t a; struct { int32_t _b; string c; } in; } _st;"
          "struct { uint16_t k; uint8_t n; } _pairs[2]; integer { size = 8; encoding = UTF8; } _comm[8];"
          "enum : uint8_t { NUM, TXT } _tag; variant <_tag> { int32_t NUM; string TXT; } _var;"
          "uint64_t _big; integer { size = 5; align = 1; signed = true; } _five;"
          "uint8_t _last;")
UST = HEAD.replace("DOMAIN", "ust").replace("CONTEXT", CONTEXT) + event(0, "shop:order", FIELDS) + event(
    1, "shop:pay", "int32_t _id; uint8_t _last; string _how;") + event(
    2, "shop:odd", "string _id; uint64_t _only_here;")
KERNEL = HEAD.replace("DOMAIN", "kernel").replace(
    "CONTEXT", "uint8_t _flags; uint8_t _preempt; int32_t _tid;") + event(
    0, "sched_switch", "integer { size = 8; encoding = UTF8; } _prev_comm[16]; int32_t _prev_tid;")
failures = 0


def check(what, got, want):
    global failures
    if got != want:
        failures += 1
        print("not ok %s: %r, not %r" % (what, got, want))


def order(time, i, tag, var, last):
    comm = (b"worker-%d" % i)[:8]
    v = [k * i - 1 for k in range(i)]
    return (time, 0, struct.pack("<iiQ", 10 + i % 2, 20 + i, 2**63 + i) + struct.pack("<i", i) + b"sku%d\0" % i +
            struct.pack("<d", i / 4) + struct.pack("<B%dq" % len(v), len(v), *v) + struct.pack("<B", i * 3) +
            struct.pack("<Bi", i, -i) + b"in%d\0" % i + struct.pack("<HBHB", i, i, 100 + i, 50 + i) +
            comm.ljust(8, b"\0") + struct.pack("<B", tag) + var + struct.pack("<Q", 2**64 - 1 - i) +
            bytes([-i & 31, last]))


def make(root):
    for name in ("ust", "kernel"):
        os.makedirs(os.path.join(root, "t", name))
    events = []
    for i in range(6):
        var = struct.pack("<i", -i) if i % 2 else b"text%d\0" % i
        events.append(order(1000 + 10 * i, i, 1 - i % 2, var, 200 + i))
        events.append((1005 + 10 * i, 1, struct.pack("<iiQ", 10 + i % 2, 20 + i, i) + struct.pack("<iB", i, i) + b"cash\0"))
    events.append((1100, 2, struct.pack("<iiQ", 10, 20, 7) + b"seven\0" + struct.pack("<Q", 5)))
    with open(os.path.join(root, "t", "ust", "metadata"), "w") as f:
        f.write(UST)
    with open(os.path.join(root, "t", "ust", "s_3"), "wb") as f:
        f.write(packet(events))
    with open(os.path.join(root, "t", "kernel", "metadata"), "w") as f:
        f.write(KERNEL)
    with open(os.path.join(root, "t", "kernel", "s_0"), "wb") as f:
        f.write(packet([(1002, 0, struct.pack("<BBi", 0, 0, 99) + b"bash".ljust(16, b"\0") + struct.pack("<i", 99))],
                       cpu=0))
    return os.path.join(root, "t")


def run(duet, *args):
    p = subprocess.run([duet] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                       env=dict(os.environ, LC_ALL="C"))
    return p.returncode, p.stdout, p.stderr.strip()


def times(duet, trace, expression, *more):
    """Returns the last digits of the times of the events that match."""
    status, out, err = run(duet, "view", "--json", "-f", expression, *more, trace)
    none = "" if out else "duet view: -f '%s': no event passes it" % expression
    check(expression + ", status", (status, err), (0, none))
    return [json.loads(l)["time"] % 1000 for l in out.splitlines()]


ORDERS, PAYS, ODD, SWITCH = [0, 10, 20, 30, 40, 50], [5, 15, 25, 35, 45, 55], [100], [2]
ALL = sorted(ORDERS + PAYS + ODD + SWITCH)
MATCHES = [
    ("1", ALL),
    ("0", []),
    # only some classes have the field, and one has it with another type
    ("id == 3", [30, 35]),
    ("id == \"seven\"", ODD),
    ("id != \"x\"", ODD),
    ("id >= 4 && last > 100", [40, 50]),
    ("last < 100", PAYS),
    ("how == \"cash\" && id < 2", [5, 15]),
    ("only_here", ODD),
    # kinds of fields
    ("sku ~ \"sku[0-9]\"", []),
    ("sku ~ \"*5\" || sku == \"sku0\"", [0, 50]),
    ("price > 0.9 && price <= 1", [40]),
    ("price == 1.25", [50]),
    ("v[1] == 2", [30]),
    ("v[4] >= 0", [50]),
    ("!(v[4] >= 0)", []),
    ("v[0] == -1", [10, 20, 30, 40, 50]),
    ("e == \"few\"", [10, 20, 30]),
    ("e ~ \"*y\"", [40, 50]),
    ("e != \"few\" && e == 0", [0]),
    ("st.a == 2", [20]),
    ("st.in.b == -4", [40]),
    ("st.in.c == \"in3\"", [30]),
    ("pairs[0].k == 1", [10]),
    ("pairs[1].k == 102", [20]),
    ("pairs[1].n > 53", [40, 50]),
    ("comm == \"worker-3\"", [30]),
    ("comm ~ \"work*\" && five == -2", [20]),
    ("five < -3", [40, 50]),
    ("big == 18446744073709551613", [20]),
    ("big > -1 && id == 0", [0]),
    # the other cases of a variant have no value
    ("var == -3", [30]),
    ("var < 100", [10, 30, 50]),
    ("tag == \"TXT\" && id", [20, 40]),
    # properties of events besides fields
    ("$name == \"shop:pay\"", PAYS),
    ("$name ~ \"sched*\"", SWITCH),
    ("$cpu_id == 0", SWITCH),
    ("$cpu_id == 3 && $ctx.vtid == 22", [20, 25]),
    ("$vpid == 11 && last > 100", [10, 30, 50]),
    ("$tid == 99", SWITCH),
    ("$domain == \"kernel\"", SWITCH),
    ("$domain == \"ust\"", sorted(ORDERS + PAYS + ODD)),
    ("$hostname == \"h\\\"ost\"", ALL),
    ("$weight > 9223372036854775807", ORDERS),
    ("$weight < 2 && last >= 0", [5, 15]),
    ("prev_comm == \"bash\" && prev_tid == $tid", SWITCH),
]
REFUSED = [
    ("id ==", "filter, column 6: a field, a number or a text is missing here"),
    ("prise > 1", "filter: no event has a field `prise'; there is `price'"),
    ("st.in.x == 1", "filter: no event has a field `st.in.x'; duet view shows what there is"),
    ("qqqqqqqq", "filter: no event has a field `qqqqqqqq'; duet view shows what there is"),
    ("vtid == 1", "filter: no event has a field `vtid'; as a context it is $vtid"),
    ("$wieght == 1", "filter: no event has a context `$wieght'; there is `$weight'"),
    ("$qqqqqqq == 1", "filter: no event has a context `$qqqqqqq'; duet view shows what there is"),
    ("how == \"x\" && price > 1", "filter: no event has all of these fields; only fields of one event can be combined"),
    ("price == \"x\"", "filter: `price' is a number, where a text is needed; write numbers without quotes"),
    ("sku > 1", "filter: `sku' is a text, where a number is needed; compare it with one in \"\""),
    ("e == \"none\"", "filter: `e' never has such a label"),
    ("v == 1", "filter: `v' is more than one value; name one of them, as in a[0] or a.b"),
    ("st == 1", "filter: `st' is more than one value; name one of them, as in a[0] or a.b"),
    ("pairs[2].k == 1", "filter: `pairs[2].k' is beyond the end of the array"),
    ("price[0] == 1", "filter: `price[0]': this is no array"),
    ("price & 1", "filter: `price' is a floating-point number, where an integer is needed"),
]


def works_beside_other_options(duet, trace):
    check("-e and -f", times(duet, trace, "id < 2", "-e", "shop:pay"), [5, 15])
    check("--limit counts the events shown", times(duet, trace, "last > 100", "--limit", "2"), [0, 10])
    status, _, err = run(duet, "view", "-e", "shop:pay", "-f", "price > 1", trace)
    check("a field of events that -e leaves out", (status, err),
          (2, "duet view: filter: no event has a field `price'; duet view shows what there is"))
    status, _, err = run(duet, "view", "-f", "id", "-f", "id", trace)
    check("twice", (status, err), (2, "duet view: more than one -f; join them with && or ||"))
    status, out, _ = run(duet, "view", "-f", "id == 3 && last == 3", trace)
    check("text", (status, out.count("\n"), "{ id = 3, last = 3, how = \"cash\" }" in out), (0, 1, True))


def stats_count_matching_events(duet, trace):
    status, out, err = run(duet, "stats", "--json", "-f", "id < 2", trace)
    check("stats", (status, err), (0, ""))
    stats = json.loads(out)
    check("stats: of all", (stats["n_events"], stats["n_matching"]), (14, 4))
    check("stats: by event", sorted((r["event"], r["n"]) for r in stats["events"]), [("shop:order", 2), ("shop:pay", 2)])
    status, _, err = run(duet, "stats", "-f", "prise", trace)
    check("stats, wrong", (status, err), (2, "duet stats: filter: no event has a field `prise'; there is `price'"))
    check("stats of nothing", run(duet, "stats", "-f", "id == 77", trace)[0], 0)


def main():
    duet = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="duet-filter-") as root:
        trace = make(root)
        for expression, want in MATCHES:
            check(expression, times(duet, trace, expression), want)
        for expression, want in REFUSED:
            check(expression, run(duet, "view", "-f", expression, trace), (2, "", "duet view: " + want))
        works_beside_other_options(duet, trace)
        stats_count_matching_events(duet, trace)
    print("not ok: %d" % failures if failures else "ok: %d expressions" % len(MATCHES + REFUSED))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
