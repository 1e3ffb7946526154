#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/uprobe/cost.sh - the cost of a probe hit: duet, perf and bpftrace, one argument each.
#
#	cost.sh DUET PROGRAM [HITS]      as root; ns per call of a function, and of a marker; best of 7 rounds
set -eu
duet=$(realpath "$1") program=$(realpath "$2") n=${3-10000}
work=$(mktemp -d /dev/shm/duet-uprobe-XXXXXX)
trap 'perf probe -q -d probe_duetbench:\* 2>/dev/null || :; rm -rf "$work"' EXIT
export DUET_RUNTIME_DIR="$work/run"

echo "# load $(cut -d' ' -f1 /proc/loadavg); ns per call: function, marker"
echo "not traced        $("$program" "$n")"
echo "duet              $("$duet" record -q -o "$work/r" -u "$program:probed_function i=arg1" --usdt "$program:bench:marker i" -- "$program" "$n")"
if command -v perf >/dev/null; then
	perf probe -q -x "$program" 'probe_duetbench:function=probed_function i=%di:u64' 2>/dev/null &&
		echo "perf record       $(perf record -q -o "$work/perf" -e probe_duetbench:function "$program" "$n" 2>/dev/null) (its marker is not traced)"
fi
if command -v bpftrace >/dev/null; then
	echo "bpftrace, counts  $(bpftrace -q -c "$program $n" -e "uprobe:$program:probed_function { @f = sum(arg0) } usdt:$program:bench:marker { @m = sum(arg0) }" 2>/dev/null | head -1)"
	echo "bpftrace, prints  $(bpftrace -q -o "$work/b" -c "$program $n" -e "uprobe:$program:probed_function { printf(\"%d\\n\", arg0) } usdt:$program:bench:marker { printf(\"%d\\n\", arg0) }" 2>/dev/null | head -1)"
fi
