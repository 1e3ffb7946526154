#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole programs with all their functions recorded: plain, under duet, under uftrace, in turns.

    programs.py DUET [ROUNDS [WORKLOAD ...]]

Each round runs every workload once plainly, once under `duet record --graph` with the governor, and once under
`uftrace record`.  The figure is the ratio within the round of the time that all their processes took from the CPUs, the
collector and planning included; elapsed time varies with the machine's other work.  Printed are median, lowest, highest.
uftrace patches programs built for it, or with symbols; of a stripped program it records library calls only.  So a ratio of
uftrace stands beside the number of calls that it recorded.

Workloads: lua5.4, sqlite3, xz, cc1plus of Debian, as they are installed.  JSON=FILE writes all figures.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local t = {}
for i = 1, 200000 do t[#t + 1] = tostring(i) .. "x" end
table.sort(t)
local s = table.concat(t, ","):gsub("1", "one"):upper()
print(fib(36), #s)
"""
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000)
insert into t select i, 'text ' || (i * 7919 % 100003), i / 3.0 from n;
create index tb on t(b);
select count(*), sum(c) from t where b like 'text 1%';
select b, count(*) from t group by b having count(*) > 2 order by 2 desc, 1 limit 5;
"""
CXX = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; std::regex r("a+b"); std::cout << m.size() << std::regex_match("ab", r); }
"""


def prepare(where):
    """The commands of all workloads by name; their files lie in @where."""
    (where / "w.lua").write_text(LUA)
    (where / "w.sql").write_text(SQL)
    (where / "w.cc").write_text(CXX)
    data = b"".join(b"%d %x\n" % (i * 7919 % 1000003, i * i) for i in range(150000))
    (where / "data").write_bytes(data)
    subprocess.run(["g++", "-E", "-o", where / "w.ii", where / "w.cc"], check=True)
    cc1plus = subprocess.run(["g++", "-print-prog-name=cc1plus"], check=True, capture_output=True, text=True).stdout.strip()
    return {
        "lua5.4": ["lua5.4", str(where / "w.lua")],
        "sqlite3": ["sqlite3", ":memory:", f".read {where / 'w.sql'}"],
        "xz": ["xz", "-k", "-c", "-3", "-T1", str(where / "data")],
        "cc1plus": [cc1plus, "-quiet", "-O1", "-o", str(where / "w.s"), str(where / "w.ii")],
    }


def seconds(command):
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = used()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    spent = used() - begin
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stderr}")
    return spent


def uftrace_calls(data):
    report = subprocess.run(["uftrace", "report", "-d", data, "-f", "call"], capture_output=True, text=True).stdout
    return sum(int(m.group(1)) for m in re.finditer(r"^\s+(\d+)\s", report, re.M))


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return f"{re.search(r'model name.*: (.*)', text).group(1)}, model {re.search(r'model.*: (.*)', text).group(1)}"


def measure(duet, name, command, rounds, where):
    plain, ours, theirs, calls = [], [], [], 0
    for _ in range(rounds):
        recording, data = where / "recording", where / "uftrace"
        shutil.rmtree(recording, ignore_errors=True)
        shutil.rmtree(data, ignore_errors=True)
        base = seconds(command)
        plain.append(base)
        ours.append(seconds([duet, "record", "-o", recording, "--graph", "*:*", "--"] + command) / base)
        if shutil.which("uftrace"):
            theirs.append(seconds(["uftrace", "record", "--no-pager", "--force", "-P", ".", "-d", data] + command) / base)
            calls = uftrace_calls(data)
    spread = lambda v: f"{statistics.median(v):.2f} ({min(v):.2f} - {max(v):.2f})" if v else "-"
    print(f"{name:10} {statistics.median(plain):8.2f} s   duet x{spread(ours):22} uftrace x{spread(theirs):22}"
          f" {calls:>11} calls", flush=True)
    return {"plain_s": plain, "duet": ours, "uftrace": theirs, "uftrace_calls": calls}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    duet, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print(f"processor: {processor()}; {rounds} rounds; ratio to the plain run: median (lowest - highest)")
    with tempfile.TemporaryDirectory(prefix="duet-bench-") as d:
        where = pathlib.Path(d)
        workloads = prepare(where)
        chosen = sys.argv[3:] or list(workloads)
        figures = {name: measure(duet, name, workloads[name], rounds, where) for name in chosen}
    if os.environ.get("JSON"):
        pathlib.Path(os.environ["JSON"]).write_text(json.dumps(figures, indent=1))


main()
