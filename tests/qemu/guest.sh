#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# The guest's first and only program: tries duet on its kernel.  Each line on ttyS1 is "ok ...", "not ok ..." or a note; "done"
# is the last.
/bin/busybox --install -s /bin
export PATH=/bin DUET_RUNTIME_DIR=/tmp/run
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
ip link set lo up
for module in /modules/*; do insmod $module; done
exec >/dev/ttyS1 2>&1
cd /tmp
T=/sys/kernel/tracing

ok() { # WHAT TEST...
	what=$1
	shift
	if "$@" >/tmp/why 2>&1; then echo "ok $what"; else echo "not ok $what"; head -c 1000 /tmp/why; head -c 1000 /tmp/err; fi
}
is() { # WHAT GOT WANTED
	if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $2, not $3"; head -c 1500 /tmp/err; fi
}
note() { echo "# $*"; }
# A command recorded: its pid in $pid, duet's messages in /tmp/err.
rec() { # OUT OPTIONS... -- COMMAND...
	out=$1
	shift
	rm -rf "$out"
	pid=$(duet record -o "$out" "$@" 2>/tmp/err)
	status=$?
	[ $status = 0 ] || head -c 1000 /tmp/err
	pid=$(echo "$pid" | tail -1)
	cp /tmp/err /tmp/said
	grep "[1-9][0-9]* LOST" /tmp/err
	grep -A1 'runs of BPF programs' /tmp/err
}
# Another recording: duet's messages are in /tmp/err.
another() { # OPTIONS...
	rm -rf b
	duet record -o b "$@" -- true 2>/tmp/err
}
view() { duet view "$@" 2>/tmp/err; }
count() { # OUT EVENT [WORD]
	view -e "$2" "$1" | grep -c "${3:-.}"
}
clean() { # nothing of ours is left, and the kernel's global settings are as before
	is "$1: no instance" "$(ls $T/instances)" ""
	is "$1: no probes" "$(cat $T/dynamic_events)" ""
	is "$1: limits" "$(cat $T/max_graph_depth $T/tracing_thresh | tr -d '\n') $(head -c 1 $T/set_graph_function)" "00 #"
	is "$1: no function traced" "$(wc -l <$T/enabled_functions)" 0
}

note "$(uname -r)"
. /scripts.sh

functions() {
	rec a -k 'function:*do_sys_getppid,function:do_sys_openat2' -- calls getppid 500
	is "function: recorded" $status 0
	is "function: each call" "$(count a function '(__[a-z0-9_]*_sys_getppid)')" 500
	note "$(view -e function a | head -1)"
	rec a -k 'function:do_sys_open*' -- calls open 20 /init
	is "function: globs" "$(count a function 'ip = 0x[0-9a-f]* (do_sys_openat2)')" 20
	echo "do_sys_openat2 # of open(2)" >names
	rec a -k function:@names -- calls open 20 /init
	is "function: names in a file" "$(count a function '(do_sys_openat2)')" 20
	duet view --json -e function a >json 2>err
	is "function: of the command alone" "$(grep -vc "\"tid\":$pid\b" json)" 0
	another -k function:no_such_function
	ok "function: none matches" grep 'no_such_function' err
	another -k function:mod:no_such_module
	ok "function: none is of the module" grep 'no_such_module' err
	clean function
}

kprobes() {
	rec a --kprobe 'do_sys_openat2 dfd=arg1:s32 name=arg2:str' --kprobe 'do_sys_openat2%return fd=retval:s64' -- \
		calls open 20 /init
	is "kprobe: recorded" $status 0
	is "kprobe: arguments" "$(count a kprobe_do_sys_openat2 'dfd = -100, name = "/init"')" 20
	is "kprobe: returns" "$(count a kretprobe_do_sys_openat2 'fd = 3')" 20
	note "$(view -e 'k*probe_*' a | head -2)"
	rec a --kprobe 'do_sys_openat2 name=+0($arg2):ustring' -f 'name == "/init"' -- calls open 20 /init
	is "kprobe: the kernel's own words, and a filter" "$(count a kprobe_do_sys_openat2 'name = "/init"')" 20
	rec a --kprobe 'do_sys_open*' -- calls open 20 /init
	is "kprobe: a glob" "$(count a 'kprobe_do_sys_openat2')" 20
	another --kprobe no_such_function
	ok "kprobe: no such function" grep 'no_such_function' err
	refused
	missed --kprobe kretprobe
	clean kprobe
}

# A name that two functions have, and a third one with this name as its prefix: the kernel lets only the third be probed.
refused() {
	some=$(sed '/[.]/d; /__ftrace_invalid/d; s/ .*//' $T/available_filter_functions | sort | awk '
		name != "" && index($1, name) != 1 { if (others == 1) { print name; exit } name = "" }
		name != "" && $1 != name { others++ }
		$1 == last && name == "" && length($1) > 5 { name = $1; others = 0 }
		{ last = $1 }')
	another --kprobe "$some*"
	ok "kprobe: those of $some* that can be" grep 'that the kernel cannot probe by name: left out' err
	note "$(grep 'left out' err)"
	another --kprobe 'do_sys_open* x=%nonsense'
	ok "kprobe: none can be" grep 'the kernel refuses it' err
}

# More returns under way at once than are seen: the others are lost, and counted.
missed() {
	rec a $1 'hrtimer_nanosleep%return' -- calls crowd 600 4000
	lost=$(sed -n 's/^ *kernel .* \([0-9]*\) LOST.*/\1/p' err)
	grep -A1 'counted as lost' err
	seen=$(count a "$2_hrtimer_nanosleep")
	note "$1: $seen returns seen, ${lost:-none} lost" # of others too
	ok "$1: many returns at once" test $seen -ge 512
	[ $1 = --fprobe ] || ok "$1: returns seen and lost" test $((seen + ${lost:-0})) -ge 600 -a $((seen + ${lost:-0})) -lt 620
}

fprobes() {
	if ! grep -q 'f\[:\[<group' $T/README; then
		another --fprobe do_sys_openat2
		ok "fprobe: missing, it says so" grep 'CONFIG_FPROBE_EVENTS' err
		return
	fi
	rec a --fprobe 'do_sys_openat2 dfd=arg1:s32 name=arg2:str' --fprobe 'do_sys_openat2%return fd=retval:s64' -- \
		calls open 20 /init
	is "fprobe: arguments" "$(count a fprobe_do_sys_openat2 'dfd = -100, name = "/init"')" 20
	is "fprobe: returns" "$(count a fretprobe_do_sys_openat2 'fd = 3')" 20
	rec a --fprobe 'do_sys_openat2 $arg*' -- calls open 20 /init
	is "fprobe: all arguments by name" "$(count a fprobe_do_sys_openat2 'dfd = .*filename = .*how = ')" 20
	missed --fprobe fretprobe
	clean fprobe
}

graph() {
	echo 0 >n
	rec a --graph 'do_sys_openat2,__do_sys_getppid' -- calls open 20 /init
	is "graph: calls" "$(count a funcgraph_entry '(do_sys_openat2), depth = 0')" 20
	is "graph: ends" "$(count a funcgraph_exit '(do_sys_openat2).*depth = 0')" 20
	note "$(view -e 'funcgraph_*' a | head -2)"
	ok "graph: slices in exports" sh -c "duet export chrome -o t.json a && grep -q do_sys_openat2 t.json"
	another --graph do_sys_openat2 --graph-over 1us
	if [ $(uname -r | cut -d. -f1,2) = 6.1 ] || [ $(uname -r | cut -d. -f1) = 5 ]; then # by probes
		ok "graph: limits are missing, it says so" grep 'function graph in instances' err
		rec a --graph 'do_sys_open*,__do_sys_getppid' -- calls open 20 /init
		is "graph: a glob" "$(count a funcgraph_entry '(do_sys_openat2), depth = 0')" 20
		echo do_sys_openat2 >names
		another --graph @names
		ok "graph: a file cannot be, it says so" grep 'for names of functions' err
		clean graph
		return
	fi
	is "graph: durations" "$(count a funcgraph_exit '(do_sys_openat2).*duration = [0-9]')" 20
	rec a --graph '*_nanosleep' --graph-over 20ms -- sh -c 'calls sleep 5 2; calls sleep 3 50'
	is "graph: only long calls" "$(duet view --json -e funcgraph_exit a | sed 's/.*"duration":\([0-9]*\).*/\1/' |
		awk '$1 < 20000000' | wc -l)" 0
	ok "graph: long calls" test "$(count a funcgraph_exit '(hrtimer_nanosleep)')" -ge 3
	is "graph: no entries of it" "$(count a funcgraph_entry)" 0
	rec a --graph do_sys_openat2 --graph-depth 3 -- calls open 20 /init
	is "graph: as deep as wanted" "$(duet view --json -e funcgraph_entry a | sed 's/.*"depth":\([0-9]*\).*/\1/' |
		sort -u | tr '\n' ' ')" "0 1 2 "
	is "graph: begins at the functions requested" "$(count a funcgraph_entry 'depth = 0' ; count a funcgraph_entry '(do_sys_openat2), depth = 0')" "20
20"
	echo 5 >$T/max_graph_depth
	another --graph do_sys_openat2 --graph-depth 3
	ok "graph: limits of others stay" grep 'max_graph_depth' err
	is "graph: they stay" "$(cat $T/max_graph_depth)" 5
	echo 0 >$T/max_graph_depth
	clean graph
}

# Linux 6.15; results if the kernel is built so.
arguments() {
	if ! [ -e $T/options/func-args ]; then
		another -k function:do_sys_openat2 --graph-args
		ok "arguments: missing, it says so" grep 'records no arguments' err
		clean arguments
		return
	fi
	rec a -k function:do_sys_openat2 --graph-args -- calls open 20 /init
	is "arguments: of calls" "$(count a function '(do_sys_openat2).*args = \[ 0x[f]*ffffff9c')" 20
	note "$(view -e function a | head -1)"
	rec a --graph do_sys_openat2 --graph-args -- calls open 20 /init
	is "arguments: of a graph" "$(count a funcgraph_entry '(do_sys_openat2).*args = \[ 0x[f]*ffffff9c')" 20
	note "$(view -e 'funcgraph_*' a | head -2)"
	if grep -q retval $T/events/ftrace/funcgraph_exit/format; then
		is "arguments: results of a graph" "$(count a funcgraph_exit '(do_sys_openat2).*retval = 3')" 20
	fi
	clean arguments
}

# Nothing is recorded before a trigger's start, and then all is; a flight recorder writes at the end.
paused() {
	rec a -k 'function:*do_sys_getppid' --trigger 'file /tmp/go -> start' -- sh -c "calls getppid 20; touch /tmp/go
		while ! grep -q '####' $T/instances/*/set_ftrace_notrace; do sleep 0.1; done; calls getppid 30"
	rm /tmp/go
	duet view --json -e function a >json
	is "paused: recorded from its start" "$(grep -c "\"tid\":$pid\b" json)" 30
	rec a --overwrite -k function:do_sys_openat2 -- calls open 20 /init
	is "paused: kept by a flight recorder" "$(count a function '(do_sys_openat2)')" 20
	clean paused
}

# A module that comes and goes while it records.
later() {
	rec a -k function:ether_setup -- sh -c 'insmod /module.ko
		for i in $(seq 600); do grep -q "dummy_setup \[dummy\]" a/.duet/kallsyms && break; sleep 0.1; done; rmmod dummy'
	ok "module: names of one that came later" test "$(count a function '(dummy_setup \[dummy\])')" -ge 1
	note "$(view -e function a | head -1)"
	clean later
}

# Killed while it restores the kernel's global settings, at each step of it.
dying() {
	for n in 0 3 5 8; do
		rm -rf a
		DIE=$n LD_PRELOAD=/bin/die.so duet record -o a --graph do_sys_openat2 --graph-depth 3 --graph-over 1us -- true >/dev/null 2>err
		if grep -q 'function graph in' err; then return; fi
		left="$(ls $T/instances) $(cat $T/max_graph_depth)"
		another -k sched:sched_switch
		clean "dying at step $n ($left)"
	done
}

# The recorder and its keeper are killed: the next one clears up.
killed() {
	for options in "-k function:do_sys_open*" "--kprobe do_sys_openat2" "--graph do_sys_openat2 --graph-depth 3 --graph-over 1us"; do
		rm -rf a
		duet record -o a $options -- sleep 1000 >/dev/null 2>err &
		for i in $(seq 600); do
			[ "$(cat $T/instances/*/tracing_on 2>/dev/null)" = 1 ] && break
			grep -q . err && break
			sleep 0.1
		done
		if grep -q 'function graph in' err; then continue; fi
		is "killed: recorded" "$(cat $T/instances/*/tracing_on)" 1
		killall -9 duet
		while pidof duet >/dev/null; do sleep 0.1; done
		killall sleep 2>/dev/null
		another -k sched:sched_switch
		clean "killed $options"
	done
}

modules() {
	if ! insmod /module.ko; then
		note "no module to try"
		return
	fi
	rec a -k function:mod:dummy --all-kernel -- sh -c 'ip link add duet0 type dummy && ip link set duet0 up; ip link del duet0'
	ok "module: its functions have names" grep '\[dummy\]' a/.duet/kallsyms
	ok "module: are recorded" test "$(count a function '(dummy_[a-z_]* \[dummy\])')" -gt 2
	note "$(view -e function a | head -2)"
}

smoke() {
	rec a -k sched,syscalls -- calls open 100 /init
	is "events: system calls" "$(count a syscall_entry_openat)" 100
	ok "events: switches" test "$(count a sched_switch)" -gt 0
	rec a --kernel-backend bpf -k sched,syscalls -- calls open 100 /init
	if [ $status = 0 ]; then
		is "events by BPF: system calls" "$(count a syscall_entry_openat 'filename = "/init"')" 100
	else
		note "no BPF: $(cat err)"
	fi
	rec a -k profile:99 --all-kernel -- calls getppid 300000
	ok "events: samples" test "$(count a profile)" -gt 0
	ok "events: calls in order" bracket
	head -c 500 why
	clean events
}

# Where the kernel has none of our BPF programs: by tracefs, without a message; the kernel refuses a map, or a later step.
no_bpf() {
	ok "no bpf: -v says why" grep 'by ftrace: cannot make a BPF map' err
	another --kernel-backend bpf -k syscalls
	ok "no bpf: an error, if it must be" grep '^duet record: cannot' err
	for size in 16M 1M; do
		rec a --kernel-buffer $size -k syscalls -k sched --capture 64 -- calls open 20 /init
		is "no bpf, $size: system calls" "$(count a syscall_entry_openat)" 20
		is "no bpf, $size: nothing is said" "$(grep -i 'bpf\|^duet' err)" ""
	done
	duet strace -o lines -e openat -- calls open 20 /init >/dev/null 2>err
	is "no bpf: strace has addresses" "$(grep -c 'openat(AT_FDCWD, 0x' lines)" 20
	is "no bpf: and says so" "$(grep -c 'shown as addresses' err)" 1
	clean "no bpf"
}

# As many filters as there can be, of as many numbers: "-k CALL -f ..." of each, in $filters.
filters_of() { # entry|exit FILTER CALL...
	which=$1 filter=$2
	shift 2
	for call in "$@"; do filters="$filters -k syscall_${which}_$call -f $filter"; done
}

# So many are there, or reported as lost: since Linux 7 the kernel leaves out a program while another thread is preempted in it.
all() { # WHAT GOT WANTED: of the last recording
	lost=$(sed -n 's/^ *kernel .* \([0-9]*\) LOST.*/\1/p' said)
	ok "$1 ($2 of $3, ${lost:-0} lost)" test $2 -le $3 -a $(($2 + ${lost:-0})) -ge $3
}

# System calls by BPF programs, and the memory they point to: whether these kernels' verifiers accept each program.
bpf() {
	another -v -k syscalls -k sched
	case $(uname -r) in
	[1-5].* | 6.0.*)
		no_bpf
		return
		;;
	esac
	ok "bpf: the default" grep 'by BPF programs' err
	for options in "" "--all-kernel" "--capture 4096" "--all-kernel --capture 4096"; do
		rec a --kernel-backend bpf -k syscalls -k sched $options -- calls open 20 /init
		all "bpf $options: names" "$(count a syscall_entry_openat 'filename = "/init"')" 20
	done
	rec a --capture 64 -k syscalls -- sh -c 'echo "some bytes" >f; head -n 1 f'
	all "bpf: bytes written" "$(count a syscall_entry_write 'buf_bytes = .*0x73, 0x6f, 0x6d, 0x65')" 2
	all "bpf: bytes read" "$(count a syscall_exit_read 'buf_bytes = .*0x73, 0x6f, 0x6d, 0x65')" 1
	rec a --kernel-backend bpf -k syscall_entry_openat -f 'flags == 0 && !(dfd > -100)' -k syscall_exit_openat -f 'ret < 0' -- \
		sh -c 'echo >f; calls open 20 /init; calls open 30 /nothing'
	all "bpf: filters of arguments" "$(count a syscall_entry_openat 'flags = 0,')" 50
	is "bpf: and no others" "$(view -e syscall_entry_openat a | grep openat | grep -vc 'flags = 0,')" 0
	all "bpf: filters of results" "$(count a syscall_exit_openat openat)" 30
	filters=
	filters_of entry 'fd==3||fd>5&&fd!=7||fd==99&&!(fd==77||fd>88)' read write close fstat lseek ioctl pread64 pwrite64 readv writev \
		fsync ftruncate fchmod fchown flock
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		filters_of exit "ret==-$n||ret>5&&ret!=7||ret==99&&!(ret==77||ret>88)" $(echo read write close fstat lseek ioctl pread64 pwrite64 \
			readv writev fsync ftruncate fchmod fchown flock | cut -d' ' -f$n)
	done
	rec a --kernel-backend bpf --capture 4096 $filters -- calls open 20 /init
	is "bpf: as many filters as there can be" $status 0
	all "bpf: their events" "$(count a syscall_entry_close close)" 20
	clean bpf
}

# The memory that arguments point to, as strace shows it in the same run: run.py compares.
same() {
	if ! [ -e /bin/strace ]; then
		note "no strace here"
		return
	fi
	mkdir -p there
	duet strace -f -s 4096 -o ours -- strace -f -s 4096 -o theirs known calls there 2>err
	is "strace: it runs" $? 7
	sed 's/^/@ours /' ours
	sed 's/^/@theirs /' theirs
}

# On a machine with two memory nodes and a CPU in each: events lie on the node of the CPU that wrote them.
nodes() {
	note "$(cat /sys/devices/system/node/has_cpu) $(cat /sys/devices/system/node/node1/cpulist)"
	for cpu in 0 1 1 0; do
		rm -rf a
		duet record -o a -e 'qemu:*' -- node $cpu >pages 2>err
		is "nodes: all pages of CPU $cpu" "$(sed 's/:.*//' pages)" "node $cpu"
		is "nodes: all events of CPU $cpu" "$(count a qemu:node)" 4000
		note "$(cat pages)"
	done
	# As before, on one node: pages are where the collector ran.
	rm -rf a
	mount -t tmpfs none /sys/devices/system/node
	taskset 1 duet record -o a -e 'qemu:*' -- taskset 2 node 1 >pages 2>err
	is "nodes: without the list of nodes they lie on the collector's" "$(sed 's/:.*//' pages)" "node 0"
	umount /sys/devices/system/node
}

for what in ${*:-functions arguments paused kprobes fprobes graph killed dying later modules smoke bpf scripts script_functions same}; do
	$what
done
echo done
sync
poweroff -f
