#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unmodified programs of the system print the same with every patchable function of theirs and of all their libraries patched:
shells that fork, interpreters, threads, libraries opened later, compression, a database.

arguments: DUET SANDBOXED LIBDUET [N]

SANDBOXED: a program that forbids itself, on pain of death, what patching takes.

Each program does N times as much; short: 1, long: 50.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from recorder import record  # noqa: E402
from trial import is_, ok, paths, run, run_cases, work  # noqa: E402

sandboxed, libduet = paths(2)
N = int(sys.argv[4]) if len(sys.argv) > 4 else 1
MODES = ("governed", "exact", "profile")

SHELL = r"""
f() { local i; for ((i = 0; i < 100; i++)); do echo $((i * i)); done; }
for ((n = 0; n < ROUNDS; n++)); do
	f | sort -rn | head -3
	for i in 1 2 3; do (echo sub $i; exit $i); echo $?; done
	x=$(for i in a b c; do echo $i | tr a-z A-Z; done); echo $x
	declare -A m; for w in one two two; do m[$w]=$((${m[$w]:-0} + 1)); done; echo ${m[one]} ${m[two]}
	trap 'echo got it' USR1; kill -USR1 $$
	[[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[1]} ${BASH_REMATCH[2]}
	cat <(echo process) <(echo substitution)
	(echo late) & wait
done
"""
PYTHON = r"""
import ctypes, decimal, hashlib, json, math, random, re, sqlite3, subprocess, threading, zlib
random.seed(1)
for n in range(ROUNDS):
    numbers = [random.random() for _ in range(1000)]
    print(hashlib.sha256(repr(sorted(numbers)).encode()).hexdigest(), len(zlib.compress(json.dumps(numbers).encode())))
    print(re.findall(r"(\d+)-(\w)", "12-a 34-b"), decimal.Decimal(2).sqrt(), ctypes.CDLL(None).abs(-4))
    found = []
    threads = [threading.Thread(target=lambda i=i: found.append(sum(math.sin(k) for k in range(500)) * i)) for i in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    print(sorted(found))
    c = sqlite3.connect(":memory:")
    c.execute("create table t(a, b)")
    c.executemany("insert into t values(?, ?)", ((i, str(i * 7)) for i in range(300)))
    print(c.execute("select sum(a), max(b) from t where a % 3 = 1").fetchall())
    try:
        1 / 0
    except ZeroDivisionError as e:
        print(e)
    print(subprocess.run(["echo", "hi"], capture_output=True).stdout)
"""
LUA = r"""
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
for round = 1, ROUNDS do
	local t, s = {}, 0
	for i = 1, 5000 do t[i] = (i * 7919) % 10007 end
	table.sort(t)
	for i = 1, #t do s = s + t[i] * i end
	print(fib(18), s, string.format("%5.2f %s %q", 3.14159, "x", "a\nb"), pcall(error, "oops"), select("#", table.unpack(t, 1, 200)))
	local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
	print(co(), co(), co(), ("hello world"):gsub("o", "0"))
end
"""
SQL = r"""
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000 * ROUNDS) insert into t select i, printf('%05d', i * 7919 % 10007), i / 3.0 from n;
create index by_b on t(b);
select count(*), sum(a), max(b), round(avg(c), 3) from t where b between '01000' and '05000';
select x.a, y.b from t x join t y on x.a = y.a * 2 where x.a < 20 order by y.b;
select group_concat(b, '-') from (select b from t order by random() * 0, b limit 5);
"""


def write(name, text):
    path = work + "/" + name
    with open(path, "w") as f:
        f.write(text.replace("ROUNDS", str(N)))
    return path


def alike(*argv, options=()):
    """The program prints the same, and ends alike, alone and with all of it patched, in each mode."""
    _, wanted, _ = run(*argv)
    for mode in MODES:
        trace = work + "/trace"
        out, err = record(trace, "--graph", "*:*", "--graph-mode", mode, *options, "--", *argv)
        ok(out.startswith(wanted), "%s prints the same, mode %s" % (argv[0], mode), (out, wanted))
        ok("duet_calls:batch" in out + err, "its calls are recorded, mode " + mode, out + err)
        shutil.rmtree(trace)


def a_shell_and_its_children_run_alike():
    alike("bash", write("shell", SHELL))


def python_with_threads_and_modules_runs_alike():
    alike("/usr/bin/python3", write("python", PYTHON))


def lua_with_longjmp_and_coroutines_runs_alike():
    alike("lua5.4", write("lua", LUA))


def a_database_runs_alike():
    alike("sqlite3", ":memory:", ".read " + write("sql", SQL))


def compression_runs_alike():
    data = work + "/data"
    with open(data, "wb") as f:
        for i in range(20000 * N):
            f.write(b"%d %d\n" % (i, i * 7919 % 10007))
    alike("sh", "-c", "xz -k -T2 -c %s | tee %s.xz | xz -dc | cmp - %s && cksum %s.xz" % ((data,) * 4))
    is_(run("xz", "-t", data + ".xz")[0], 0, "what it wrote is sound")


def a_sandbox_is_not_tested():
    alike(sandboxed)


run_cases(a_sandbox_is_not_tested, a_shell_and_its_children_run_alike, python_with_threads_and_modules_runs_alike,
          lua_with_longjmp_and_coroutines_runs_alike, a_database_runs_alike, compression_runs_alike)
