#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scripts and exports of `duet ui` are those of the commands, within limits; flame graphs add up.

    parts.py DUET
"""
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "browser")]
import made
import served

duet = os.path.abspath(sys.argv[1])
failures = []


def expect(what, holds):
    if not holds:
        failures.append(what)


def run(*args):
    return subprocess.run([duet, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def seconds(ns):
    return "%d.%09d" % divmod(ns, 10 ** 9)


def export(server, **params):
    return server.get("/api/export?" + urllib.parse.urlencode(params))


# ---------------------------------------------------------------- scripts

COUNTS = "global n\nprobe syscall.* { n[name]++ }\nprobe end { table(n, \"call, calls\", 3); println(\"h\u00e9 <b>\") }"


SLOW = """global k
probe syscall.* { for (i = 0; i < 900000; i++) k = strlen(sprintf("%d %d", i, i)) }
probe end { println(k) }"""


def script(server, text, **more):
    status, _, body = server.post("/api/script", {"text": text, **more})
    return status, json.loads(body)


def scripts_run_over_the_recording(server, recording, work):
    path = work + "/counts.stp"
    pathlib.Path(path).write_text(COUNTS)
    status, got = script(server, COUNTS)
    table = json.loads(run("script", "--json", path, recording).stdout.splitlines()[0])
    expect("tables are those of the command: %s" % got, status == 200 and got["tables"] == [table])
    expect("and not in the output: %s" % got, got["output"] == "h\u00e9 <b>\n" and not got["error"])
    whole = server.json("/api/recording")
    _, part = script(server, COUNTS, **{"from": 0, "to": whole["end"] // 2})
    half = run("script", "--json", "--to", seconds(int(whole["begin"]) + whole["end"] // 2), path, recording)
    expect("of a part too: %s" % part, part["tables"] == [json.loads(half.stdout.splitlines()[0])])


def errors_have_a_place(server):
    _, got = script(server, "probe begin {\n  foo( }")
    expect("line and column: %s" % got, (got["line"], got["column"], got["status"]) == (2, 8, 2) and "text:2:8" in got["error"])
    _, got = script(server, "probe syscall.fsnyc { }")
    expect("the nearest name: %s" % got, "fsync" in got["error"] and not got["output"])
    _, got = script(server, "probe begin { n = 5 }")
    expect("warnings are no errors: %s" % got, "never read" in got["messages"] and not got["error"])


def scripts_are_confined(server, work):
    sign = work + "/pwned"
    for text in "probe begin { system(\"touch %s\") }" % sign, "probe begin { println(1) } probe kernel.function(\"x\") { }":
        _, got = script(server, text)
        expect("refused: %s: %s" % (text, got), got["status"] and got["error"])
    expect("no command ran", not os.path.exists(sign))
    _, got = script(server, "probe begin { while (1) println(\"%s\") } probe end { println(1) }" % ("x" * 500))
    expect("at most 1 MiB of output", len(got["output"]) <= 1 << 20 and got["cut"] == "output")
    for seconds in 1, 10, 50:  # a busy machine may not begin it within the first limit
        _, got = script(server, "probe begin { println(\"begun\") }\n" + SLOW, timeout=seconds)
        expect("time is limited: %s" % str(got)[:200], got["cut"] == "time")
        if got["output"]:
            break
    begun, _, end = got["output"].partition("\n")
    expect("the end is shown: %s" % str(got)[:200], begun == "begun" and end.strip().isdigit())
    for body in ({}, {"text": 5}, {"text": "x" * (257 << 10)}, {"text": "x", "from": -1}, {"text": "x", "timeout": 0},
                 {"text": "x", "to": 1.5}):
        status, _, answer = server.post("/api/script", body)
        expect("refused: %s" % str(body)[:40], status == 400 and json.loads(answer)["error"])
    _, got = script(server, "probe begin { printf(\"%c%c\", 255, 200) }")
    expect("bytes that are no text: %s" % got, got["output"] == "\\xff\\xc8")


def a_script_ends_with_its_request(server):
    """The client leaves; the script must not go on for its 60 s."""
    s = server.connect()
    body = json.dumps({"text": SLOW, "timeout": 60}).encode()
    fields = ["Origin: http://127.0.0.1:%d" % server.port, "Content-Type: application/json"]
    s.sendall(server.request("/api/script", "POST", fields=fields, body=body))

    def below(pids, field):
        out = subprocess.run(["ps", "--no-headers", "-o", field, "--ppid", pids], stdout=subprocess.PIPE, text=True)
        return out.stdout.splitlines()

    def children():
        launcher = ",".join(pid.strip() for pid in below(str(server.process.pid), "pid"))
        return [line for line in below(launcher, "args") if " script " in line]
    limit = time.monotonic() + 30
    while not children() and time.monotonic() < limit:
        time.sleep(0.02)
    expect("it runs, and its text is no argument: %s" % children(), children() and "900000" not in children()[0])
    s.close()
    limit = time.monotonic() + 30
    while children() and time.monotonic() < limit:
        time.sleep(0.05)
    expect("it has ended", not children())


# ---------------------------------------------------------------- exports

def exports_are_those_of_the_command(server, recording, work):
    whole = server.json("/api/recording")
    begin, middle = int(whole["begin"]), whole["end"] // 2
    for form, suffix in ("csv", "csv"), ("perfetto", "pftrace"):
        status, headers, body = export(server, **{"as": form, "from": middle, "to": whole["end"], "filter": "$name ~ \"*fsync\""})
        wanted = run("export", form, "--from", seconds(begin + middle), "--to", seconds(begin + whole["end"]), "-f",
                     "($name ~ \"*fsync\")", recording).stdout
        expect("%s: %d bytes, %d wanted" % (form, len(body), len(wanted)), status == 200 and body == wanted and len(body) > 100)
        expect("%s: a file to keep: %s" % (form, headers), headers["content-disposition"] == "attachment; filename=\"web.%s\"" % suffix)
    row = next(r for r in whole["rows"] if r["kind"] == "thread" and r["name"] == "worker-2")
    _, _, body = export(server, **{"as": "csv", "rows": row["id"]})
    lines = body.decode().splitlines()
    tid = lines[0].split(",").index("tid")
    expect("events of one row: %s" % lines[:3], len(lines) > 10 and all(l.split(",")[tid] == str(row["tid"]) for l in lines[1:]))


def a_tar_has_a_recording(server, recording, work):
    whole = server.json("/api/recording")
    status, headers, body = export(server, **{"as": "ctf", "from": whole["end"] // 2, "to": whole["end"]})
    expect("a tar", status == 200 and headers["content-type"] == "application/x-tar")
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        expect("only its directory: %s" % tar.getnames()[:3], all(n.split("/")[0] == "web" and ".." not in n for n in tar.getnames()))
        tar.extractall(work + "/tar")
    begin = int(whole["begin"])
    got = run("view", "--json", work + "/tar/web").stdout.splitlines()
    wanted = run("view", "--json", "--from", seconds(begin + whole["end"] // 2), recording).stdout.splitlines()
    times = [json.loads(line)["time"] for line in got]
    expect("%d events, %d wanted" % (len(got), len(wanted)), len([t for t in times if t >= begin + whole["end"] // 2]) == len(wanted))


def a_page_is_complete(server, work):
    status, headers, body = export(server, **{"as": "html"})
    text = body.decode()
    expect("a page: %s" % headers, status == 200 and headers["content-type"].startswith("text/html"))
    expect("with a policy and its data", "default-src 'none'" in text and "id=\"duet-data\"" in text)
    expect("without addresses of files", "src=\"/" not in text and "href=\"/" not in text)


def wrong_exports_are_refused(server):
    for params, word in (({"as": "doc"}, "perfetto"), ({}, "perfetto"), ({"as": "csv", "filter": "$nam =="}, ""),
                         ({"as": "csv", "from": 5, "to": 1}, "after"), ({"as": "ctf", "filter": "$tid == 1"}, "filter"),
                         ({"as": "ctf", "rows": "1"}, "rows"), ({"as": "html", "size": 5}, "size"),
                         ({"as": "csv", "rows": "99999"}, "99999"), ({"as": "html", "filter": "x"}, "filter")):
        status, _, body = export(server, **params)
        expect("refused with a reason: %s: %d %s" % (params, status, body[:200]),
               status == 400 and word in json.loads(body)["error"])


def flame_graphs_add_up(server):
    whole = server.json("/api/recording")
    for begin, end in (0, whole["end"]), (whole["end"] // 3, whole["end"] // 2):
        span = "from=%d&to=%d" % (begin, end)
        threads = server.json("/api/area?limit=1000&" + span)["threads"]["list"]
        for kind, states in ("on", ("user", "kernel", "irq")), ("off", ("blocked", "runnable", "preempted")):
            for limit in 16, 4000:
                graph = server.json("/api/flame?kind=%s&limit=%d&%s" % (kind, limit, span))
                nodes = graph["nodes"]
                expect("%s: the sum of all threads" % kind, graph["total"] == sum(t[s] for t in threads for s in states))
                inner = [n[3] for n in nodes]
                for n in nodes[1:]:
                    inner[n[0]] += n[2]
                expect("%s: nodes add up" % kind, inner == [n[2] for n in nodes])
                expect("%s: parents come first" % kind, all(n[0] < i for i, n in enumerate(nodes)))
            names = {graph["names"][n[1]]: n for n in nodes}
            for t in threads:
                row = whole["rows"][t["row"]]
                node = names.get("%s:%d" % (row["name"], row["tid"]))
                total = sum(t[s] for s in states)
                own = [n for n in nodes if len(n) > 6 and n[5] == 2 and n[6] == t["row"]]
                expect("%s of %s" % (kind, row["name"]), (own[0][2] if own else 0) == total or (not own and node))
    cpus = [r["id"] for r in whole["rows"] if r["kind"] == "cpu"]
    both = server.json("/api/flame?rows=%s" % ",".join(map(str, cpus)))["total"]
    each = sum(server.json("/api/flame?rows=%d" % cpu)["total"] for cpu in cpus)
    expect("CPUs: %d and %d" % (both, each), both == each and both > 0)
    off = server.json("/api/flame?kind=off")
    expect("the object of a wait", any(name.startswith("uaddr ") or "end of " in name or " in " in name for name in off["names"]))


def nothing_is_left(temporary):
    left = [f for f in os.listdir(temporary) if f.startswith("duet-export-")]
    expect("no file stays: %s" % left, not left)


def main():
    with tempfile.TemporaryDirectory() as work:
        # Of its own: other servers export into /tmp meanwhile.
        os.environ["TMPDIR"] = work + "/tmp"
        os.mkdir(work + "/tmp")
        recording = made.web(work + "/web")
        with served.Server(duet, [recording], "--no-cache") as server:
            limit = time.monotonic() + 60
            while not server.json("/api/recording")["done"] and time.monotonic() < limit:
                time.sleep(0.05)
            scripts_run_over_the_recording(server, recording, work)
            errors_have_a_place(server)
            scripts_are_confined(server, work)
            a_script_ends_with_its_request(server)
            exports_are_those_of_the_command(server, recording, work)
            a_tar_has_a_recording(server, recording, work)
            a_page_is_complete(server, work)
            wrong_exports_are_refused(server)
            flame_graphs_add_up(server)
            nothing_is_left(work + "/tmp")
    for what in failures:
        print("FAIL", what)
    sys.exit(bool(failures))


main()
