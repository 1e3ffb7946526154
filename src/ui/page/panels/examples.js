/* SPDX-License-Identifier: MIT */
/*
 * panels/examples.js - scripts to begin with in the query box.  More are in examples/scripts.
 */

export const examples = [
	{ title: "System calls: how often, how long", script: `global times

probe syscall_any.return {
	times[name] <<< gettimeofday_ns() - @entry(gettimeofday_ns())
}
probe end {
	table(times, "call, count, mean=avg:ns, p99:ns, slowest=max:ns, sum:ns", 30)
}
` },
	{ title: "System calls by program", script: `global calls

probe syscall_any { calls[execname(), name]++ }
probe end { table(calls, "program, call, calls") }
` },
	{ title: "System calls that fail, and why", script: `global failures

probe syscall_any.return {
	if ($return < 0 && $return > -4096)
		failures[execname(), name, errno_str($return)]++
}
probe end { table(failures, "program, call, why, times") }
` },
	{ title: "The slowest system calls, with their times", script: `global slow

probe syscall_any.return {
	took = gettimeofday_ns() - @entry(gettimeofday_ns())
	if (took > 1000000)
		slow[gettimeofday_ns(), execname(), name] = took
}
probe end { table(slow, "ends, program, call, took:ns", 50) }
` },
	{ title: "Off CPU: blocked and preempted time by program", script: `global left, state, blocked, preempted

probe kernel.trace("sched:sched_switch") {
	now = gettimeofday_ns()
	if ([$next_pid] in left) {
		if (state[$next_pid])
			blocked[$next_comm] <<< now - left[$next_pid]
		else
			preempted[$next_comm] <<< now - left[$next_pid]
		delete left[$next_pid]
	}
	if ($prev_pid) {
		left[$prev_pid] = now
		state[$prev_pid] = $prev_state & 0xff
	}
}
probe end {
	table(blocked, "program, times=count, blocked=sum:ns, longest=max:ns", 20)
	table(preempted, "program, times=count, preempted=sum:ns, longest=max:ns", 20)
}
` },
	{ title: "Sizes of reads, as a histogram", script: `global sizes

probe syscall.read.return { if ($return > 0) sizes <<< $return }
probe end { print(@hist_log(sizes)) }
` },
];
