#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""answers.py BUILD [EVENTS|RECORDING [TIMES]] - the time of each answer that is no picture, of so many events (10000000).

Prints, for each request: processor time of the server, the first answer, median and greatest of TIMES (20), size.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../tests/cmd/ui")
import served


def processor_s(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Asked:
    def __init__(self, server, times):
        self.server, self.times = server, times

    def get(self, path, **params):
        query = urllib.parse.urlencode({k.rstrip("_"): v for k, v in params.items()})
        begin = time.monotonic()
        status, _, body = self.server.get("/api/%s?%s" % (path, query))
        assert status == 200, body
        return (time.monotonic() - begin) * 1e3, body

    def measure(self, what, path, **params):
        first, body = self.get(path, **params)
        begin = processor_s(self.server.process.pid)
        took = [self.get(path, **params)[0] for _ in range(self.times)]
        cpu = (processor_s(self.server.process.pid) - begin) / self.times * 1e3
        print("%-34s %6.0f ms CPU  first %6.0f  median %6.1f  greatest %6.1f ms  %4d KB" % (
            what, cpu, first, statistics.median(took), max(took), len(body) // 1024), flush=True)
        return json.loads(body)


def run(ask):
    known = {"done": False}
    while not known["done"]:
        known = json.loads(ask.get("recording")[1])
        time.sleep(0.2)
    end, threads = known["end"], [r["id"] for r in known["rows"] if r["kind"] == "thread"]
    print("%d events, %.1f s, %d threads" % (known["events"], end / 1e9, len(threads)))
    some = threads[len(threads) // 2]
    parts = [("all", 0, end), ("10 to 90 %", end // 10, end * 9 // 10), ("1 %", end // 2, end // 2 + end // 100),
             ("0.01 %", end // 2, end // 2 + end // 10000)]
    for name, a, b in parts:
        ask.measure("area, " + name, "area", from_=a, to=b)
    ask.measure("area, one thread", "area", rows=some)
    for name, a, b in parts:
        ask.measure("latency of read, " + name, "latency", name="read", from_=a, to=b)
    for name, a, b in parts:
        ask.measure("why, " + name, "why", row=some, from_=a, to=b)
    for at in 0, end // 3, end // 2, end * 99 // 100:
        ask.measure("events at %d %%" % (100 * at // end), "events", at=at)
        ask.measure("events before %d %%" % (100 * at // end), "events", at=at + 1, direction=-1)
    ask.measure("events of one thread", "events", at=end // 2, rows=some)
    ask.measure("events, frequent filter", "events", filter="ret >= 0")
    page = ask.measure("events, filter that never matches", "events", filter="ret == 123456789")
    print("  it searched %.2f %% of the recording" % (100 * page["searched"][1] / end))


def main():
    build = os.path.abspath(sys.argv[1])
    what = sys.argv[2] if len(sys.argv) > 2 else "10000000"
    with tempfile.TemporaryDirectory(prefix="duet-bench-") as work:
        recording = what
        if what.isdigit():
            recording = work + "/made"
            subprocess.run(["cc", "-O2", "-o", work + "/make", HERE + "/make.c"], check=True)
            subprocess.run([work + "/make", recording, what], check=True, stdout=subprocess.DEVNULL)
        with served.Server(build + "/src/cmd/duet", [recording], "--no-cache") as server:
            run(Asked(server, int(sys.argv[3]) if len(sys.argv) > 3 else 20))


if __name__ == "__main__":
    main()
