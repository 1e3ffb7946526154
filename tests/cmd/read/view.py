#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/view.py DUET - `duet view` on traces made here: the text, the JSON, the options."""
import array
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time

UUID = bytes(range(16))
HEAD = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
trace { major = 1; minor = 8; uuid = "00010203-0405-0607-0809-0a0b0c0d0e0f"; byte_order = le;
  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };
env { domain = "DOMAIN"; hostname = "h\\"ost"; };
clock { name = c; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 32; align = 8; signed = false; map = clock.c.value; } := time32;
typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := time64;
stream { id = 0;
  packet.context := struct { time64 timestamp_begin; time64 timestamp_end; uint64_t content_size;
    uint64_t packet_size; uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id; };
  event.header := struct { time32 timestamp; uint16_t id; };
  event.context := struct { CONTEXT }; };
"""


def event(number, name, fields):
    return 'event { name = "%s"; id = %d; stream_id = 0; fields := struct { %s }; };\n' % (
        name, number, fields)


def packet(events, begin=1000, sequence=0, discarded=0, cpu=3):
    body = b"".join(struct.pack("<IH", t, i) + b for t, i, b in events)
    bits = (24 + 52 + len(body)) * 8
    return (struct.pack("<I", 0xC1FC1FC1) + UUID + struct.pack("<I", 0) +
            struct.pack("<6QI", begin, begin + 10**6, bits, bits, sequence, discarded, cpu) + body)


UST = HEAD.replace("DOMAIN", "ust").replace("CONTEXT", "int32_t _vpid; int32_t _vtid;") + event(
    0, "shop:order", "int32_t _id; string _sku; floating_point { exp_dig = 11; mant_dig = 53; } _price; "
    "uint8_t __v_length; int64_t _v[ __v_length ]; enum : uint8_t { idle, \"two words\" } _e;"
    "integer { size = 64; base = 16; } _p;") + event(
    1, "lttng_ust_statedump:procname", "string _procname;")
KERNEL = HEAD.replace("DOMAIN", "kernel").replace(
    "CONTEXT", "uint8_t _flags; uint8_t _preempt; int32_t _tid;") + event(
    0, "sched_switch", "integer { size = 8; encoding = UTF8; } _prev_comm[16]; int32_t _prev_tid; "
    "uint8_t _pad0[4]; integer { size = 8; encoding = UTF8; } _next_comm[16]; int32_t _next_tid;") + event(
    1, "irq", "uint8_t _irq;")


def order(time, number, sku, price, v, e, p, pid=10, tid=11):
    return (time, 0, struct.pack("<iii", pid, tid, number) + sku + b"\0" + struct.pack("<d", price) +
            struct.pack("<B", len(v)) + struct.pack("<%dq" % len(v), *v) + struct.pack("<BQ", e, p))


def procname(time, name, pid=10, tid=10):
    return (time, 1, struct.pack("<ii", pid, tid) + name + b"\0")


def make(directory, metadata, streams):
    os.makedirs(directory)
    with open(os.path.join(directory, "metadata"), "w") as f:
        f.write(metadata)
    for i, s in enumerate(streams):
        with open(os.path.join(directory, "s%d" % i), "wb") as f:
            f.write(s)


def switch(time, prev, prev_tid, following, next_tid, tid):
    return (time, 0, struct.pack("<BBi16si4s16si", 1, 2, tid, prev, prev_tid, b"", following, next_tid))


def irq(time, tid):
    return (time, 1, struct.pack("<BBiB", 0, 0, tid, 9))


class Failed(Exception):
    pass


def check(got, want):
    if got != want:
        raise Failed("got\n%s\nnot\n%s" % (got, want))


class Duet:
    def __init__(self, duet, where):
        self.duet, self.where = duet, where

    def view(self, *args, status=0):
        r = subprocess.run([self.duet, "view", "--state", *args], cwd=self.where, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env={**os.environ, "TZ": "UTC"})
        if r.returncode != status:
            raise Failed("status %d, not %d: %s" % (r.returncode, status, r.stderr.decode()))
        return r.stdout.decode("utf-8"), r.stderr.decode("utf-8", "replace")


def a_line_has_time_cpu_thread_event_and_fields(d):
    out, err = d.view("ust")
    check(out, """\
22:13:20.000001000 (+0.000000000) [3] shop:10 lttng_ust_statedump:procname { procname = "shop" }
22:13:20.000001500 (+0.000000500) [3] shop:11 shop:order { id = -1, sku = "a\\"b\\n\\xff\u20ac", price = 0.1, v = [ 1, -2 ], e = "two words": 1, p = 0xff }
22:13:20.000001501 (+0.000000001) [3] shop:11 shop:order { id = 2, sku = "", price = nan, v = [ ], e = ?: 9, p = 0x0 }
[lost 5 events and 1 packet, stream ust/s0]
22:13:20.000003000 (+0.000001499) [3] shop:11 shop:order { id = 3, sku = "z", price = -inf, v = [ ], e = idle: 0, p = 0xffffffffffffffff }
""")
    check(err, "duet view: 5 events and 1 packet lost while recording; "
               "larger or more buffers keep more\n")


def arrays_of_all_kinds_are_printed(d):
    """Their classes have templates, too (src/cmd/view/template.h); contexts and lengths are left out."""
    fields = ("uint8_t _small[3]; integer { size = 8; align = 8; base = 16; } _hex[2]; uint8_t __reals_length; "
              "floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _reals[ __reals_length ]; "
              "enum : uint8_t { idle, busy } _states[2]; string _text; uint8_t _m; int64_t _large[ _m ]; int32_t _none[0]; "
              "int32_t _last;")
    make(os.path.join(d.where, "arrays"), HEAD.replace("DOMAIN", "ust").replace(
        "CONTEXT", "int32_t _vpid; int32_t _vtid; int32_t _user[2];") + event(0, "shop:arrays", fields), [packet([
            (1000 + i, 0, struct.pack("<4i", 10, 11, i, -i) + bytes([i, 0, 255]) + b"\x0a\xff" + struct.pack("<B%df" % i, i, *[0.1] * i) +
             b"\0\7" + b"a\nb\0" + struct.pack("<B%dq" % i, i, *[-2**63, 10**17, 10**8][:i]) + struct.pack("<i", -7)) for i in (0, 1, 3)])])
    check([line.split(" ", 4)[4] for line in d.view("arrays")[0].splitlines()],
          ["shop:arrays { user = [ %d, %d ] }, { small = [ %d, 0, 255 ], hex = [ 0xa, 0xff ], reals = [%s ], "
           "states = [ idle: 0, ?: 7 ], text = \"a\\nb\", m = %d, large = [%s ], none = [ ], last = -7 }" % (
               i, -i, i, ",".join([" 0.1"] * i), i, ",".join([" %d" % n for n in (-2**63, 10**17, 10**8)][:i])) for i in (0, 1, 3)])


def json_is_exact_and_valid(d):
    lines = [json.loads(s) for s in d.view("--json", "ust")[0].splitlines()]
    check(lines[1], {"time": 1700000000000001500, "cpu": 3, "host": 'h"ost', "domain": "ust",
                     "proc": "shop", "pid": 10, "tid": 11, "event": "shop:order", "fields": {
                         "id": -1, "sku": "a\"b\n\ufffd\u20ac", "price": 0.1, "v": [1, -2],
                         "e": {"value": 1, "label": "two words"}, "p": 255}})
    check(lines[2]["fields"]["price"], "NaN")
    check(lines[3], {"time": 1700000000000002000, "cpu": 3, "host": 'h"ost', "domain": "ust",
                     "lost_events": 5, "lost_packets": 1, "stream": "ust/s0"})
    check(lines[4]["fields"]["price"], "-Infinity")
    check(lines[4]["fields"]["p"], 2**64 - 1)


def kernel_and_application_merge_by_time(d):
    out = d.view("kernel", "ust")[0].splitlines()
    check([line.split()[4] for line in out if "[lost" not in line],
          ["irq", "lttng_ust_statedump:procname", "sched_switch", "irq"] + ["shop:order"] * 3)


def patterns_and_limits_choose(d):
    check(len(d.view("-e", "shop:*", "ust")[0].splitlines()), 4)
    check(len(d.view("-e", "shop", "--limit", "2", "ust")[0].splitlines()), 2)
    check(len(d.view("-e", "sched_*", "kernel")[0].splitlines()), 1)
    check(d.view("-e", "nothing", "kernel", status=2)[0], "")


def from_and_to_choose_by_time(d):
    check(len(d.view("--from", "22:13:20.0000015", "--to", "22:13:20.000001501", "ust")[0].splitlines()), 2)
    check(len(d.view("--from", "1700000000.000002", "ust")[0].splitlines()), 2)
    check(len(d.view("--to", "2023-11-14 22:13:20.000001", "ust")[0].splitlines()), 1)
    for bad in ("noon", "+", "+x", "+1y", "+-1s", "+1e99s", ""):
        d.view("--from", bad, "ust", status=2)


def times_may_count_from_the_beginning(d):
    """--to counts from --from, if there is one.  The recording begins at 1000 ns, its events are at 1000, 1500, 1501
    and 3000."""
    def n(*options):
        return len([line for line in d.view(*options, "ust")[0].splitlines() if "[lost" not in line])
    check(n("--from", "+500ns"), 3)
    check(n("--from", "+0.501us", "--to", "+1.499us"), 2)
    check(n("--to", "+0.000001"), 3)
    check(n("--from", "22:13:20.000001501", "--to", "+1498ns"), 1)
    check(n("--from", "+1h"), 0)


def a_name_that_does_not_exist_is_answered_with_the_nearest(d):
    def run_view(*args):
        return subprocess.run([d.duet, *args], cwd=d.where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for args, wanted in ((["vew", "ust"], "view"), (["stast", "ust"], "stats"), (["report", "lattency", "a", "b", "ust"], "latency"),
                         (["export", "perfeto", "ust"], "perfetto"), (["view", "-e", "shop:ordre", "ust"], "shop:order"),
                         (["view", "-e", "odrer", "ust"], "order"), (["view", "-e", "sohp", "ust"], "shop"),
                         (["export", "csv", "-e", "sched_swich", "kernel"], "sched_switch"),
                         (["report", "latency", "shop:order", "shop:ordr", "ust"], "shop:order"),
                         (["report", "latency", "order", "order", "--by", "pirce", "ust"], "price")):
        r = run_view(*args)
        check((args, r.returncode, r.stderr.partition(": did you mean ")[2]), (args, 2, wanted + "?\n"))
    for args in (["xyzzy"], ["report", "xyzzy", "ust"], ["view", "-e", "xyzzy", "ust"], ["export", "xyzzy", "ust"]):
        r = run_view(*args)
        check((args, r.returncode, "did you mean" in r.stderr), (args, 2, False))


def errors_are_one_line_and_status_2(d):
    for args in (["nowhere"], ["empty"], ["ust/metadata"], ["--limit", "x", "ust"]):
        out, err = d.view(*args, status=2)
        check(out, "")
        check(err.startswith("duet view: ") and err.count("\n") == 1, True)


def a_cut_trace_is_shown_up_to_the_cut(d):
    out, err = d.view("cut")
    check(len(out.splitlines()), 2)
    check("the trace was cut here" in err, True)


def a_reader_that_leaves_is_no_error(d):
    r = subprocess.run("%s view --json ust ust ust | head -c 1; exit ${PIPESTATUS[0]}" % d.duet,
                       shell=True, executable="/bin/bash", cwd=d.where, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE)
    check(r.returncode, 0)


def names_come_from_switches(d):
    out = d.view("kernel")[0].splitlines()
    check([line.split(") ", 1)[1] for line in out], [
        "[3] ?:7 irq { irq = 9 }",
        '[3] swapper:0 sched_switch { prev_comm = "swapper/3", prev_tid = 0, next_comm = "worker", '
        'next_tid = 77 }',
        "[3] worker:77 irq { irq = 9 }"])


def lines_have_the_requested_style(d):
    def line(*options, n=-1):
        return d.view(*options, "ust")[0].splitlines()[n]

    check(line("--time", "utc", "--columns", "time,event"), "2023-11-14T22:13:20.000003000Z shop:order")
    check(line("--time", "date", "--columns", "event,time"), "2023-11-14 22:13:20.000003000 shop:order")
    check(line("--time", "epoch", "--columns", "time"), "1700000000.000003000 shop:order")
    check(line("--time", "relative", "--columns", "time,cpu,thread"), "0.000002000 [3] shop:11 shop:order")
    check(line("--columns", "host,fields", n=0), 'h"ost lttng_ust_statedump:procname { procname = "shop" }')
    check(line("--color", "always", "--columns", "time,thread", n=2),
          "\033[2m22:13:20.000001501 \033[m\033[36mshop:11 \033[m\033[1mshop:order\033[m")
    check(line("--color", "always", "--columns", "fields", n=3)[:5], "\033[31m")
    # Numbers and texts alone: printed from a template.
    check(line("--color", "always", "--columns", "fields", n=0),
          '\033[2m\033[m\033[1mlttng_ust_statedump:procname\033[m { procname = "shop" }')
    for bad in (("--time", "noon"), ("--columns", "time,what"), ("--columns", ""), ("--color", "red")):
        check(d.view(*bad, "ust", status=2)[0], "")


def on_terminal(d, *options, **env):
    """Returns the output as a terminal gets it."""
    master, slave = pty.openpty()
    p = subprocess.Popen([d.duet, "view", "--state", *options, "ust"], cwd=d.where, stdin=slave, stdout=slave,
                         stderr=subprocess.DEVNULL, env={**os.environ, "TZ": "UTC", "TERM": "xterm", **env})
    os.close(slave)
    out = b""
    try:
        while True:
            out += os.read(master, 65536)
    except OSError:
        pass
    os.close(master)
    check(p.wait(120), 0)
    return out.decode()


def a_terminal_gets_colors_and_a_pager(d):
    check("\033[1mshop:order\033[m" in on_terminal(d, "--no-pager"), True)
    check("\033" in on_terminal(d, "--no-pager", NO_COLOR="1"), False)
    check("\033" in on_terminal(d, "--no-pager", "--color", "never"), False)
    check(on_terminal(d, "--color", "never", PAGER="sed s/^/page:/").count("page:"), 5)
    check("page:" in on_terminal(d, "--no-pager", PAGER="sed s/^/page:/"), False)
    check(on_terminal(d, "--color", "never", PAGER="true", DUET_PAGER="sed s/^/mine:/").count("mine:"), 5)
    check("page:" in on_terminal(d, PAGER="sed s/^/page:/", DUET_PAGER=""), False)
    check(on_terminal(d, PAGER="true", DUET_PAGER="echo $LESS;cat>/dev/null", LESS="").strip(), "")
    check(on_terminal(d, PAGER="echo $LESS;cat>/dev/null").strip(), os.environ.get("LESS", "FRX"))
    check(on_terminal(d, PAGER="true"), "")  # a pager that does not read


def a_terminal_shows_progress(d):
    """Progress is shown after a second: here because the output is not read."""
    events = [[order(1000 * (k + 1) + i, i, b"x" * 50, 0.5, [1, 2, 3], 0, 0) for i in range(200)] for k in range(200)]
    make(os.path.join(d.where, "long"), UST, [b"".join(packet(e, 1000 * (k + 1), k) for k, e in enumerate(events))])
    master, slave = pty.openpty()
    p = subprocess.Popen([d.duet, "view", "long"], cwd=d.where, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    n_pending = array.array("i", [0])
    while n_pending[0] < 65536 and p.poll() is None:  # until it blocks
        fcntl.ioctl(p.stdout, termios.FIONREAD, n_pending)
        time.sleep(0.01)
    time.sleep(1.3)
    lines = p.stdout.read().count(b"\n")
    check((p.wait(120), lines), (0, 200 * 200))
    output = b""
    try:
        while True:  # the output arrives in parts; the end of the terminal is an error
            output += os.read(master, 65536)
    except OSError:
        output = output.decode()
    os.close(master)
    check(bool(re.match(r"\r\x1b\[Kduet view: [1-9]?[0-9] % of [0-9.]+ MB, [0-9]+ s\r", output)), True)
    check(output.endswith("\r\x1b[K"), True)


def main():
    with tempfile.TemporaryDirectory(prefix="duet-view-") as where:
        first = packet([procname(1000, b"shop"),
                        order(1500, -1, b"a\"b\n\xff\xe2\x82\xac", 0.1, [1, -2], 1, 255),
                        order(1501, 2, b"", float("nan"), [], 9, 0)])
        second = packet([order(3000, 3, b"z", float("-inf"), [], 0, 2**64 - 1)], 2000, 2, 5)
        make(os.path.join(where, "ust"), UST, [first + second])
        make(os.path.join(where, "cut"), UST, [first[:-5]])
        make(os.path.join(where, "kernel"), KERNEL, [packet([
            irq(900, 7), switch(1200, b"swapper/3", 0, b"worker", 77, 0), irq(1300, 77)], 800)])
        os.makedirs(os.path.join(where, "empty"))
        d, bad = Duet(os.path.abspath(sys.argv[1]), where), 0
        for t in (a_line_has_time_cpu_thread_event_and_fields, arrays_of_all_kinds_are_printed, json_is_exact_and_valid,
                  names_come_from_switches, kernel_and_application_merge_by_time,
                  patterns_and_limits_choose, from_and_to_choose_by_time, times_may_count_from_the_beginning,
                  a_name_that_does_not_exist_is_answered_with_the_nearest,
                  errors_are_one_line_and_status_2, a_cut_trace_is_shown_up_to_the_cut,
                  a_reader_that_leaves_is_no_error, lines_have_the_requested_style,
                  a_terminal_gets_colors_and_a_pager, a_terminal_shows_progress):
            try:
                t(d)
                print("ok", t.__name__.replace("_", " "))
            except Failed as e:
                bad = 1
                print("not ok %s: %s" % (t.__name__.replace("_", " "), e))
        return bad


if __name__ == "__main__":
    sys.exit(main())
