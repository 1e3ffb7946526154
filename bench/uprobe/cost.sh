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

# prove HITS COMMAND...: all hits of 7 rounds are in its output, or there is no figure
prove() {
	wanted=$(($1 * 7)) && shift
	found=$("$@") || found=0
	[ "${found:-0}" -ge "$wanted" ] || { echo "not proved: ${found:-0} of $wanted hits" && exit 1; }
}

echo "# load $(cut -d' ' -f1 /proc/loadavg); ns per call: function, marker"
echo "not traced        $("$program" "$n")"
echo "duet              $("$duet" record -q -o "$work/r" -u "$program:probed_function i=arg1" --usdt "$program:bench:marker i" -- "$program" "$n")"
prove $((2 * n)) sh -c "'$duet' stats --json '$work/r' | sed -n 's/^ \"n_events\":\([0-9]*\),/\1/p'"
if command -v perf >/dev/null; then
	perf probe -q -x "$program" 'probe_duetbench:function=probed_function i=%di:u64' 2>/dev/null &&
		echo "perf record       $(perf record -q -o "$work/perf" -e probe_duetbench:function "$program" "$n" 2>/dev/null) (its marker is not traced)" &&
		prove "$n" sh -c "perf report --stats -i '$work/perf' 2>/dev/null | awk '/(SAMPLE|LOST|LOST_SAMPLES) events:/ { n += \$3 } END { print n + 0 }'"
fi
if command -v bpftrace >/dev/null; then
	echo "bpftrace, counts  $(bpftrace -q -c "$program $n" -e "uprobe:$program:probed_function { @f = sum(arg0) } usdt:$program:bench:marker { @m = sum(arg0) }" 2>/dev/null | head -1)"
	echo "bpftrace, prints  $(bpftrace -q -o "$work/b" -c "$program $n" -e "uprobe:$program:probed_function { printf(\"%d\\n\", arg0) } usdt:$program:bench:marker { printf(\"%d\\n\", arg0) }" 2>/dev/null | head -1)"
	prove $((2 * n)) sh -c "awk '/Lost/ { n += \$2 - 1 } END { print NR + n }' '$work/b'"
fi
