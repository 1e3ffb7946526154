# SPDX-License-Identifier: MIT
# Scripts in the guest, for guest.sh: probes that the machine of development lacks (functions of the kernel), what
# differs between kernels, and the project's own tests of scripts.

script() { # WHAT WANTED TEXT COMMAND: the last line of the output is as wanted, and duet prints no message
	got=$(duet script -e "$3" -c "$4" 2>/tmp/err | tail -1) # the program prints its pid
	is "script: $1" "$got$(grep '^duet script: ' /tmp/err)" "$2"
}
both() { # WHAT WANTED TEXT COMMAND: folded into the kernel, and in the stream, which a target that wraps needs
	script "$1" "$2" "$3" "$4"
	duet script -v -p4 -e "$3" 2>&1 | grep -v 'folded into' >/tmp/err
	ok "script: $1, folded" sh -c "! grep -q ': stream' /tmp/err"
	script "$1, in the stream" "$2" "global seen%[1]; probe never { println(seen[0]) } $(echo "$3" | sed 's/\(probe [^e][^{]*{\)/\1 seen[0]++;/g')" "$4"
}
refuses() { # WHAT WORDS TEXT
	duet script -e "$3" -c true >/dev/null 2>/tmp/err
	ok "script: $1" grep -F "$2" /tmp/err
}

scripts() {
	both "counts in the kernel" 500 'global n; probe syscall.getppid { if (pid() == target()) n++ }
		probe end { println(n) }' 'calls getppid 500'
	both "counts by key" "calls 500" 'global n; probe syscall.getppid { n[execname()]++ }
		probe end { foreach (name in n- limit 1) println(name, " ", n[name]) }' 'calls getppid 500'
	both "statistics" "20 3 3" 'global s; probe syscall.openat.return { if (pid() == target()) s <<< $return }
		probe end { println(@count(s), " ", @min(s), " ", @max(s)) }' 'calls open 20 /init'
	script "a histogram" 20 'global s; probe syscall.openat.return { if (pid() == target()) s <<< $return }
		probe end { println(@hist_log(s)[66]) }' 'calls open 20 /init'
	script "strings in the stream" 20 'global n; probe syscall.openat { if (user_string($filename) == "/init") n++ }
		probe end { println(n) }' 'calls open 20 /init'
	script "words of calls" 'AT_FDCWD, "/init", O_RDONLY = 3' 'global words
		probe syscall.openat.return { if (pid() == target()) words = argstr . " = " . retstr }
		probe end { println(words) }' 'calls open 1 /init'
	script "members of structures" 1 'global n
		probe kernel.trace("sched:sched_switch") { if ($next->comm == "calls" && $next->pid == target()) n = 1 }
		probe end { println(n) }' 'calls sleep 3 5'
	script "structures as text" 1 'global n
		probe kernel.trace("sched_switch") { if ($next->se$$ =~ "^.[.]load=.[.]weight=[0-9]+, [.]inv_weight=") n = 1 }
		probe end { println(n) }' 'calls sleep 1 10'
	both "names without what is behind them" 1 'global n[1]; probe syscall.getppid { if (pid() == target()) n[execname()]++ }
		probe end { foreach (name in n) names++; println(names) }' 'calls getppid 100'
	duet script -e 'global n[2]; probe syscall.getppid { if (execname() == "calls") n[tid()]++ }
		probe end { foreach (t in n) println(n[t]) }' -c 'sh -c "calls getppid 1; calls getppid 1; calls getppid 1"' \
		>/dev/null 2>/tmp/err
	ok "script: a full array is an error" grep 'array .n. is full' /tmp/err
	both "user mode" "1 0" 'global n, other; probe timer.profile { n[user_mode()]++ }
		probe end { foreach (m in n) if (m != 0 && m != 1) other++; println(n[1] > 0, " ", other) }' 'calls getppid 300000'
	script "a variable that is written" 6 'global n; probe kernel.data("jiffies").write { if (++n > 5) exit() }
		probe end { println(n) }' 'sleep 1'
	refuses "no such name" 'did you mean `jiffies' 'probe kernel.data("jiffie").write { println(1) }'
	clean script
}

script_functions() {
	both "functions" 20 'global n; probe kernel.function("do_sys_openat2") { if (pid() == target()) n++ }
		probe end { println(n) }' 'calls open 20 /init'
	both "their results" "20 60" 'global n, s
		probe kernel.function("do_sys_openat2").return { if (pid() == target()) { n++; s += $return } }
		probe end { println(n, " ", s) }' 'calls open 20 /init'
	script "their parameters" 20 'global n
		probe kernel.function("do_sys_openat2").call { if (pid() == target() && user_string($filename) == "/init" &&
			$how->flags == 0x8000 && $how$ == "{.flags=32768, .mode=0, .resolve=0}") n++ }
		probe end { println(n) }' 'calls open 20 /init'
	script "values of the entry at the return" "20 20" 'global n, m
		probe kernel.function("do_sys_openat2").return { if (pid() == target()) { n += @entry($dfd) == -100
			m += gettimeofday_ns() > @entry(gettimeofday_ns()) } }
		probe end { println(n, " ", m) }' 'calls open 20 /init'
	both "each of many returns at once" 100 'global n
		probe kernel.function("hrtimer_nanosleep").return { if (execname() == "calls") n++ }
		probe end { println(n) }' 'calls crowd 100 3000'
	script "stacks" 1 'global n; probe kernel.function("do_sys_openat2") { if (pid() == target()) n = backtrace() != "" }
		probe end { println(n) }' 'calls open 20 /init'
	script "stacks of returns" 1 'global n
		probe kernel.function("do_sys_openat2").return { if (pid() == target()) n = isinstr(sprint_backtrace(), "openat") }
		probe end { println(n) }' 'calls open 20 /init'
	duet script -e 'global n; probe kernel.function("vfs_[a-r]*") { n[probefunc()]++ } probe end { println(n["vfs_open"] > 19) }' \
		-c 'calls open 20 /init' 2>/tmp/err | tail -1 >/tmp/out
	is "script: a pattern of functions" "$(cat /tmp/out)" 1
	ok "script: those that cannot be probed are left out" grep 'does not let .* vfs_caches_init .* left out' /tmp/err
	is "script: both ends are listed" "$(duet script -l 'kernel.function("vfs_read").*' | tr '\n' ' ')" \
		'kernel.function("vfs_read").call kernel.function("vfs_read").return '
	ok "script: values are listed" sh -c "duet script -L 'kernel.function(\"vfs_read\")' | grep '[$]count:long'"
	refuses "no such function" 'did you mean `vfs_open`' 'probe kernel.function("vfs_opem") { println(1) }'
	refuses "a function that cannot be probed" 'does not let this function be probed' \
		'probe kernel.function("vfs_caches_init") { println(1) }'
	refuses "a function without a result" 'returns nothing' 'probe kernel.function("fput").return { println($return) }'
	refuses "a source file" 'leave @fs/open.c out' 'probe kernel.function("vfs_open@fs/open.c") { println(1) }'
	refuses "an inlined function" 'cannot be probed' 'probe kernel.function("vfs_open").inline { println(1) }'
	duet script -v -e 'probe kernel.function("fput").return { n++ } global n' -c true >/tmp/err 2>&1
	is "script: no words of the kernel's verifier" "$(grep -c 'processed .* insns' /tmp/err)" 0
	clean "script functions"
}

script_modules() {
	refuses "a module that is not loaded" 'if it is loaded' 'probe module("dummy").function("dummy_setup") { println(1) }'
	insmod /module.ko || return
	is "script: functions of modules are listed" "$(duet script -l 'module("du*").function("dummy_set*")' | grep -c 'dummy.*dummy_setup.*call')" 1
	script "functions of modules" "1 1" 'global n, r; probe module("dummy").function("dummy_setup") { n++ }
		probe kernel.function("dummy_dev_init").return { r += returnval() == 0 }
		probe end { println(n, " ", r) }' 'ip link add duet0 type dummy'
	refuses "parameters of modules" 'int_arg(1)' 'probe module("dummy").function("dummy_setup") { println($dev) }'
	refuses "results of modules" 'returnval()' 'probe module("dummy").function("dummy_setup").return { println($return) }'
	ip link del duet0
	rmmod dummy
	clean "script modules"
}

# Of each alias: this command makes it happen, and its values can be read.
script_aliases() {
	happens "vm.mmap length" 'duet --version'
	happens "vm.brk address" 'calls open 1 /init'
	happens "vm.pagefault address" 'calls open 1 /init'
	happens "vm.kmalloc bytes_alloc" 'calls open 1 /init'
	happens "vm.kfree ptr" 'calls open 1 /init'
	happens "kprocess.create new_pid" 'sh -c "sleep 0.01; true"'
	happens "kprocess.exec filename" 'sleep 0.01'
	happens "kprocess.exec_complete success" 'sleep 0.01'
	happens "kprocess.exit exit_pid" 'sleep 0.01'
	happens "kprocess.release released_pid" 'sh -c "(true); sleep 1"'
	happens "signal.send sig_name" 'sh -c "kill -CONT \$\$"'
	happens "signal.syskill sig_name" 'sh -c "kill -CONT \$\$"'
	happens "scheduler.ctxswitch next_task_name" 'sleep 0.01'
	happens "scheduler.wakeup task_name" 'sleep 0.01'
	happens "scheduler.cpu_on idle" 'sleep 0.01'
	happens "scheduler.process_fork child_name" 'sh -c "sleep 0.01; true"'
	happens "softirq.entry vec_name" 'sleep 0.1'
	happens "irq_handler.entry dev_name" 'dd if=/dev/vda of=/dev/null bs=4k count=1 skip=300'
	happens "ioblock.request devname" 'dd if=/dev/vda of=/dev/null bs=4k count=1 skip=400'
	happens "ioblock.end bytes_done" 'dd if=/dev/vda of=/dev/null bs=4k count=1 skip=500'
	happens "ioscheduler.elv_next_request size" 'dd if=/dev/vda of=/dev/null bs=4k count=1 skip=600'
	happens "workqueue.execute work_func" 'sleep 1'
	happens "vfs.read bytes_to_read" 'cat /init'
	happens "vfs.read.return bytes_read" 'cat /init'
	happens "vfs.write bytes_to_write" 'cat /init'
	happens "vfs.open path" 'cat /init'
	happens "vfs.unlink.return ret" 'sh -c "echo >/tmp/gone; rm /tmp/gone"'
	happens "socket.create family" 'nc -w 1 127.0.0.1 9'
	happens "socket.connect fd" 'nc -w 1 127.0.0.1 9'
	happens "tcp.state new_state_str" 'nc -w 1 127.0.0.1 9'
	happens "tcp.receive_reset dport" 'nc -w 1 127.0.0.1 9'
	happens "netdev.transmit length" 'nc -w 1 127.0.0.1 9'
	happens "netdev.receive length" 'nc -w 1 127.0.0.1 9'
	clean "script aliases"
}
happens() { # "ALIAS VALUE" COMMAND
	set -- $1 "$2" # the alias, the value, the command
	got=$(duet script -e "global got; probe $1 { got = sprint($2); exit() } probe end { println(\"got \", got, \"|\") }" -c "$3" \
		2>/tmp/err | grep -c '^got ..*|$')
	is "script: $1 happens, and has $2" "$got$(grep '^duet script: ' /tmp/err)" 1
}

# Killed at some moment of its life, also while it attaches: the kernel is as before.
script_kills() {
	before=$(ids)
	for ms in 50 150 250 350 450 600 800 1000 1300 1600; do
		duet script -e 'global n; probe kernel.function("vfs_r*"), kernel.function("vfs_r*").return { n[probefunc()]++ }
			probe syscall.* { n[name]++ } probe kernel.trace("sched_switch") { println($next->pid) }' >/dev/null 2>&1 &
		usleep $((ms * 1000))
		kill -9 $! 2>/dev/null
		wait $! 2>/dev/null
	done
	for i in $(seq 100); do # programs are freed after a grace period
		[ "$(ids)" = "$before" ] && break
		sleep 0.1
	done
	is "script: killed, no program or map is left" "$(ids)" "$before"
	mount -t debugfs debugfs /sys/kernel/debug
	is "script: killed, no probe is left" "$(cat /sys/kernel/debug/kprobes/list)" ""
	umount /sys/kernel/debug
	clean "script kills"
}
ids() { # how many programs and maps of BPF the kernel has
	calls loaded 1
}

# The project's own tests, as they are: run.py has put them and Python there.
live_scripts() {
	[ -e /duet/tests ] || return
	cd /tmp
	for name in programs_are_probed kernel_probes_count_exactly; do
		run_test "$name" timeout 900 /duet/$name
	done
	for name in scripts_leave_nothing_in_the_kernel aliases_mean_the_same_live_and_recorded \
		every_example_answers_its_question programs_are_followed_while_a_script_runs; do
		program=/duet/questions more=
		case $name in
		every_example*) more=/duet/examples/scripts ;;
		aliases*) more=/duet/src/script/library/texts ;;
		programs*) program=/duet/counting ;;
		esac
		run_test "$name" timeout 1800 python3 /duet/tests/live/script/$name.py /bin/duet $program /inproc/libduet.so.0 $more
	done
	clean "live scripts"
}
run_test() { # NAME COMMAND...: its lines of TAP, with the name.  Times mean nothing here
	name=$1
	shift
	"$@" >/tmp/out 2>&1
	status=$?
	sed -n "s/^ok /ok $name: /p; s/^not ok\(.* within [0-9]* ms\)/# $name:\1: not here/p; t; s/^not ok[: ]*/not ok $name: /p
		s/^skip/# $name: skip/p" /tmp/out
	if [ $status -gt 1 ] && [ $status != 77 ]; then
		echo "not ok $name: status $status"
		tail -c 1000 /tmp/out | sed 's/^/# /'
	fi
}
