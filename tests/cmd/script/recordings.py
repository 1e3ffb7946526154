#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recordings.py DUET - `duet script` on recordings made by hand: the output of each kind of probe point."""
import os
import sys

sys.dont_write_bytecode = True  # no __pycache__ beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "analysis"))
from check import Duet, Failed, check, run_all
from make import LOST, Hex, kernel, switch, ust, wakeup
from make_call_trees import calls

WEB, DB = ("web", 7), ("db", 9)
IDLE = ("swapper/0", 0)


def call(time, tid, name, ret, took=100, **fields):
    return [(time, 0, tid, "syscall_entry_" + name, fields), (time + took, 0, tid, "syscall_exit_" + name, dict(ret=ret))]


def dump(tid, pid, ppid, name):
    return (10, 0, 1, "lttng_statedump_process_state", dict(tid=tid, pid=pid, ppid=ppid, name=name))


def system(where):
    """Two processes; web has a second thread, 8."""
    return kernel(where + "/r/kernel", [dump(1, 1, 0, "init"), dump(7, 7, 1, "web"), dump(8, 7, 1, "web"), dump(9, 9, 7, "db")] +
                  [switch(1000, 0, IDLE, WEB)] +
                  call(1100, 7, "openat", 3, dfd=-100, filename="/etc/a b", flags=0, mode=0) +
                  call(1300, 7, "read", 5, fd=3, buf=Hex(4096), count=100) +
                  [wakeup(1500, 0, WEB, DB), switch(1600, 0, WEB, DB)] +
                  call(1700, 9, "read", -11, fd=4, buf=Hex(4096), count=8) +
                  [switch(2000, 0, DB, ("web", 8))] + call(2100, 8, "close", 0, fd=3))


def script(duet, text, *recordings, **options):
    return duet.run("script", *options.get("options", ()), "-e", text, *recordings).stdout


def script_file(duet, *argv):
    return duet.run("script", *argv).stdout


def refused(duet, text, recording, *parts):
    p = duet.run("script", "-e", text, recording, status=2)
    for part in parts:
        if part not in p.stderr:
            raise Failed("%r is not in %r" % (part, p.stderr))
    check(p.stdout, "", "before it is refused")


def a_known_kind_of_point_is_not_said_to_be_mistyped(duet, where):
    p = duet.run("script", "-e", 'probe process("/no/such").function("main") { }', status=2)
    if "no such program" not in p.stderr or "did you mean" in p.stderr:
        raise Failed(p.stderr)


def system_calls_are_shown_as_duet_strace_shows_them(duet, where):
    r = system(where)
    shown = script(duet, 'probe syscall.*.return { printf("%s(%s) = %s\\n", name, argstr, retstr) }', r)
    strace = [" ".join(line.split("] ", 1)[-1].split()) for line in duet.text("strace", "-i", r, "-a1").splitlines()]
    check(shown.splitlines(), strace)
    check(shown, 'openat(AT_FDCWD, "/etc/a b", O_RDONLY) = 3\nread(3, 0x1000, 100) = 5\n'
                 "read(4, 0x1000, 8) = -1 EAGAIN (Resource temporarily unavailable)\nclose(3) = 0\n")
    check(script(duet, 'probe syscall.read { println(execname(), " ", pid(), " ", tid(), " ", ppid(), " ", count, " ", $fd, " ", argstr) }', r),
          "web 7 7 1 100 3 3, 0x1000, 100\ndb 9 9 7 8 4 4, 0x1000, 8\n")
    check(script(duet, 'probe syscall.openat { println(filename, " ", user_string($filename), " ", syscall_nr) }', r),
          "/etc/a b /etc/a b 257\n")


def the_same_on_any_system_call(duet, where):
    check(script(duet, 'global n\nprobe syscall_any { n[name, execname()]++ }\n'
                       'probe end { foreach ([c+, p] in n) printf("%s %s %d\\n", c, p, n[c, p]) }', system(where)),
          "close web 1\nopenat web 1\nread web 1\nread db 1\n")


def latencies_are_measured_by_entry_and_return(duet, where):
    check(script(duet, "probe syscall.read.return { println(tid(), \" \", gettimeofday_ns() - @entry(gettimeofday_ns()), \" \", $return) }",
                 system(where)), "7 100 5\n9 100 -11\n")


def a_call_that_began_before_the_recording_has_no_latency(duet, where):
    r = kernel(where + "/r/kernel", [dump(7, 7, 1, "web"), (900, 0, 7, "syscall_exit_read", dict(ret=4))] +
               call(1300, 7, "read", 5, fd=3, buf=Hex(4096), count=100))
    check(script(duet, 'probe syscall.read.return { println(gettimeofday_ns() - @entry(gettimeofday_ns()), " ", $return) }', r),
          "100 5\n")
    check(script(duet, 'probe syscall.read.return { println($return) }', r), "4\n5\n")


def kernel_events_have_members_of_their_arguments(duet, where):
    r = system(where)
    check(script(duet, 'probe kernel.trace("sched:sched_switch") { printf("%d>%d %s>%s %d cpu %d\\n", $prev->pid, $next->pid, '
                       'kernel_string($prev->comm), kernel_string($next->comm), $next_prio, cpu()) }', r),
          "0>7 swapper/0>web 20 cpu 0\n7>9 web>db 20 cpu 0\n9>8 db>web 20 cpu 0\n")
    check(script(duet, 'probe kernel.tracepoint("sched_waking") { println(pp(), " ", task_pid($p), " ", task_execname($p), " ", execname()) }', r),
          'kernel.trace("sched:sched_waking") 9 db web\n')
    check(script(duet, 'probe kernel.trace("sched_*") { println(ppfunc()) }', r),
          "sched_switch\nsched_waking\nsched_switch\nsched_switch\n")


def events_of_applications_have_fields_and_threads(duet, where):
    r = ust(where + "/u", [(1000, 0, (7, 8), "shop:order", dict(id=1, item="tea", sizes=[4, 5])),
                           (1500, 1, (9, 9), "shop:paid", dict(id=1, cents=250))])
    check(script(duet, 'probe app.shop.order { println(pid(), " ", tid(), " ", id, " ", $item, " ", $sizes[1], " ", cpu(), " ", $$vars) }', r),
          '7 8 1 tea 5 0 id=0x1 item="tea" sizes=[0x4, 0x5]\n')
    check(script(duet, 'probe process.mark("*") { println(ppfunc(), " ", $arg1) }', r), "order 1\npaid 1\n")
    check(script(duet, 'global t\nprobe app.shop.order { t[id] = gettimeofday_ns() }\n'
                       'probe app.shop.paid { println(cents, " ", gettimeofday_ns() - t[id]) }', r), "250 500\n")


def applications_and_the_kernel_are_one_order(duet, where):
    r = system(where)
    ust(where + "/r/ust", [(1150, 0, (7, 7), "shop:order", dict(id=1)), (1650, 0, (9, 9), "shop:order", dict(id=2))])
    check(script(duet, 'probe app.shop.order { println(execname(), " ", id) }\n'
                       'probe syscall.* { println(execname(), " ", name) }', where + "/r"),
          "web openat\nweb 1\nweb read\ndb 2\ndb read\nweb close\n")


def functions_of_programs_come_from_recorded_calls(duet, where):
    r = calls(where + "/c", {11: [("main", 1000, 9000, [("work", 2000, 3000, []), ("work", 4000, 4500, [])])],
                             12: [("other", 2500, None, [])]})
    check(script(duet, 'probe process("shop").function("*").call { println(thread_indent(1), ppfunc()) }\n'
                       'probe process("shop").function("*").return { thread_indent(-1) println(tid(), " ", ppfunc()) }', r)
          .replace(" ", ""), "".join("%s\n" % line for line in [
              "0(11):main", "1(11):work", "0(12):other", "11work", "3(11):work", "11work", "11main"]))
    check(script(duet, 'probe process("shop").function("work").return { println(gettimeofday_ns() - @entry(gettimeofday_ns())) }', r),
          "1000\n500\n")


def arguments_of_recorded_calls_are_values(duet, where):
    r = ust(where + "/a", [(1000, 0, (7, 7), "calls:price", dict(id=5, item="tea")), (1100, 0, (7, 7), "calls:price_return", dict(result=250)),
                           (1200, 0, (7, 7), "calls:text_return", dict(result="x"))])
    check(script(duet, 'probe process.function("price") { println(ppfunc(), " ", $id, " ", user_string($item), " ", $$parms) }\n'
                       'probe process.function("price").return { println($return, " ", gettimeofday_ns() - @entry(gettimeofday_ns())) }\n'
                       'probe process.function("text").return { println($return) }', r),
          'price 5 tea id=0x5 item="tea"\n250 100\nx\n')


def probes_in_programs_have_arguments(duet, where):
    r = kernel(where + "/p", [dump(7, 7, 1, "web"), dump(9, 9, 1, "db")] + [
        (1000, 0, 7, "uprobe_malloc", dict(ip=Hex(0x1000), size=64)), (1100, 0, 7, "uretprobe_malloc", dict(func=Hex(1), ret_ip=Hex(2), p=Hex(0x99))),
        (1200, 0, 9, "uprobe_malloc", dict(ip=Hex(0x1000), size=8)), (1300, 0, 7, "usdt_shop_order", dict(arg1=5, item="tea")),
        (1400, 0, 7, "kprobe_vfs_read", dict(ip=Hex(3), count=10)), (1500, 0, 7, "kretprobe_vfs_read", dict(func=Hex(3), ret_ip=Hex(4), ret=-1))])
    check(script(duet, 'probe process("libc.so.6").function("malloc") { println(execname(), " ", $size, " ", ppfunc()) }', r),
          "web 64 malloc\ndb 8 malloc\n")
    check(script(duet, 'probe process("/usr/bin/web").function("malloc").return { printf("%x %x\\n", $return, returnval()) }', r), "99 99\n")
    check(script(duet, 'probe process("web").provider("shop").mark("order") { println($arg1, " ", user_string($arg2)) }', r), "5 tea\n")
    check(script(duet, 'probe kernel.function("vfs_read").call { println($count) }\n'
                       'probe kernel.function("vfs_read").return { println($return) }', r), "10\n-1\n")


def processes_begin_and_end(duet, where):
    r = kernel(where + "/l", [
        dump(7, 7, 1, "web"),
        (900, 0, 7, "task_newtask", dict(pid=8, comm="web", clone_flags=0x10000, oom_score_adj=0)),
        (901, 0, 7, "sched_process_fork", dict(parent_comm="web", parent_tid=7, child_comm="web", child_tid=8)),
        (1000, 0, 7, "task_newtask", dict(pid=9, comm="web", clone_flags=0, oom_score_adj=0)),
        (1001, 0, 7, "sched_process_fork", dict(parent_comm="web", parent_tid=7, child_comm="web", child_tid=9)),
        (1100, 0, 9, "sched_process_exec", dict(filename="/bin/db", tid=9, old_tid=9)),
        (1200, 0, 8, "sched_process_exit", dict(comm="web", tid=8, prio=20)),
        (1300, 0, 9, "sched_process_exit", dict(comm="db", tid=9, prio=20))])
    check(script(duet, 'probe process.begin { println("begin ", execname(), " ", pid(), " ", ppid(), " ", pexecname()) }\n'
                       'probe process.end { println("end ", execname()) }\n'
                       'probe process.thread.begin { println("thread ", tid(), " of ", pid()) }\n'
                       'probe process("web").thread.end { println("thread end ", tid()) }', r),
          "thread 8 of 7\nbegin db 9 7 web\nthread end 8\nend db\n")


def stacks_are_named_from_the_recording(duet, where):
    r = kernel(where + "/s/kernel", [(1000, 0, 7, "profile", dict(pid=7, callstack_kernel=[2**64 - 2**31 + 20, 2**64 - 2**31 + 260],
                                                                   callstack_user=[0x1000])),
                                     (2000, 0, 7, "profile", dict(pid=7, callstack_kernel=[], callstack_user=[0x2000]))])
    os.mkdir(where + "/s/.duet")
    with open(where + "/s/.duet/kallsyms", "w") as f:
        f.write("ffffffff80000000 do_idle\nffffffff80000100 start_kernel [boot]\n")
    check(script(duet, 'probe timer.profile { println(user_mode(), " ", ubacktrace()) print_backtrace() }', where + "/s"),
          "0 0x1000\n 0xffffffff80000014 : do_idle+0x14/0x100 [kernel]\n 0xffffffff80000104 : start_kernel+0x4 [boot]\n1 0x2000\n")


def what_a_recording_lacks_is_said_before_anything_runs(duet, where):
    r = ust(where + "/u", [(1000, 0, (7, 7), "shop:order", dict(id=1))])
    begin = 'probe begin { println("ran") }\n'
    refused(duet, begin + "probe syscall.open { }", r, "no system calls", "duet record -k syscalls")
    refused(duet, begin + "probe timer.profile { }", r, "no samples", "duet record -k profile")
    refused(duet, begin + "probe process.end { }", r, "duet record -k sched")
    refused(duet, begin + "probe app.shop.oder { }", r, "shop:oder", "did you mean", "shop:order", "duet record -e 'shop:oder'")
    refused(duet, begin + "probe app.shop.order { println($ids) }", r, "$ids", "did you mean", "it has $id")
    refused(duet, begin + 'probe process("a").function("f") { }', r, "duet record -u 'a:f'")
    refused(duet, begin + 'probe kernel.trace("block:block_rq_issue") { }', r, "duet record -k 'block:block_rq_issue'")
    check(script(duet, begin + "probe syscall.open ? { }", r), "ran\n")


def losses_are_reported(duet, where):
    r = kernel(where + "/k", call(1000, 7, "read", 1, fd=1) + [LOST(2000, 0, 5)] + call(3000, 7, "read", 1, fd=1))
    p = duet.run("script", "-e", "global n probe syscall.read { n++ }", r)
    check(p.stdout, "n=2\n")
    check("5" in p.stderr and "lost" in p.stderr, True, p.stderr)


def a_period_can_be_chosen(duet, where):
    r = ust(where + "/u", [(i * 10**6, 0, (7, 7), "shop:order", dict(id=i)) for i in range(10)])
    text = 'probe app.shop.order { print(id, " ") } probe begin, end { print(gettimeofday_us() % 1000000, " ") }'
    check(script(duet, text, r), "0 0 1 2 3 4 5 6 7 8 9 9000 ")
    check(script(duet, text, r, options=("--from", "+2ms", "--to", "+2.5ms")), "2000 2 3 4 4500 ")
    check("recordings" in duet.run("script", "--from", "+1s", "-e", text, status=2).stderr, True)


def tables_are_kept_in_the_recording(duet, where):
    r = system(where)
    with open(where + "/by call.stp", "w") as f:
        f.write('global n\nprobe syscall.* { n[name, execname()]++ }\nprobe end { table(n, "CALL,PROGRAM,TIMES", 2) }\n')
    p = duet.run("report", "scripts", r, status=2)
    check("duet script --store" in p.stderr, True, p.stderr)
    shown = script_file(duet, where + "/by call.stp", "--store", r)
    check(shown, "CALL    PROGRAM  TIMES\nopenat  web          1\nread    web          1\n")
    check(duet.text("report", "scripts", r),
          "\nby-call: n\n  CALL    PROGRAM  TIMES\n  openat  web          1\n  read    web          1\n")
    check(duet.json("report", "scripts", r), {"by-call: n": [
        {"CALL": "openat", "PROGRAM": "web", "TIMES": 1}, {"CALL": "read", "PROGRAM": "web", "TIMES": 1}]})
    with open(r + "/.duet/scripts/by-call.json", "w") as f:
        f.write('{"table":"a","columns":["x"\n{"table":"b","columns":["x"],"rows":[["\\u0041\\n"],[5]]}\n'
                '{"table":"c","columns":["x"],"rows":[["1","2"]]}\n')
    p = duet.run("report", "scripts", r)
    check(p.stdout, "\nby-call: b\n  x\n  A\\x0a\n  5\n")
    check(p.stderr.count("is damaged"), 2, p.stderr)
    check("--save" in duet.run("script", "--store", "-e", "probe begin { }", status=2).stderr, True)


def timers_count_in_the_time_of_the_events(duet, where):
    r = ust(where + "/u", [(i * 10**9, 0, (7, 7), "shop:order", dict(id=i)) for i in range(4)])
    check(script(duet, "global n probe app.shop.order { n++ } probe timer.ms(1500) { println(n) }", r), "2\n4\n")
    check(script(duet, 'probe app.shop.order { println(gettimeofday_s(), " ", id) exit() }', r), "1700000000 0\n")


TESTS = [
    system_calls_are_shown_as_duet_strace_shows_them,
    the_same_on_any_system_call,
    latencies_are_measured_by_entry_and_return,
    a_call_that_began_before_the_recording_has_no_latency,
    a_known_kind_of_point_is_not_said_to_be_mistyped,
    kernel_events_have_members_of_their_arguments,
    events_of_applications_have_fields_and_threads,
    applications_and_the_kernel_are_one_order,
    functions_of_programs_come_from_recorded_calls,
    arguments_of_recorded_calls_are_values,
    probes_in_programs_have_arguments,
    processes_begin_and_end,
    stacks_are_named_from_the_recording,
    what_a_recording_lacks_is_said_before_anything_runs,
    losses_are_reported,
    a_period_can_be_chosen,
    tables_are_kept_in_the_recording,
    timers_count_in_the_time_of_the_events,
]

if __name__ == "__main__":
    sys.exit(run_all(TESTS, Duet(sys.argv[1])))
