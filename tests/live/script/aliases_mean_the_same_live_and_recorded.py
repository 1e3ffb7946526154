#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The aliases of the script library: each resolves here unless this kernel lacks its event, and what they print of a
workload live is what they print of its recording.

arguments: DUET PROGRAM LIBDUET TEXTS
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
from trial import cmd, is_, ok, paths, run_cases, skip, work  # noqa: E402

program, library = paths(2)
texts = os.path.abspath(sys.argv[4])
# The workload has them.
COMMON = ["scheduler.wakeup", "scheduler.cpu_on", "scheduler.cpu_off", "scheduler.ctxswitch", "scheduler.process_exit",
          "kprocess.create", "kprocess.exec", "kprocess.exec_complete", "kprocess.exit", "signal.send", "vm.mmap",
          "vm.munmap", "vm.brk", "vm.pagefault", "softirq.entry", "softirq.exit", "socket.create", "socket.close",
          "tcp.state"]
# Of these kernels may lack the event.
RARE_HERE = r"block_bio_bounce|kernel\.function|functions of the kernel|kernel function"


def aliases():
    """name: what its statements assign."""
    found = {}
    for file in sorted(os.listdir(texts)):
        text = open(os.path.join(texts, file)).read()
        for name, body in re.findall(r"^probe ([\w.]+) =[^=]*?\{\s([^}]*)\}", text, re.M):
            values = re.findall(r"(?:^|[;\s])(\w+) = ", body)
            found[name] = sorted({v for v in values if not v.startswith("__")})
    return found


def shown(name, values):
    return 'probe %s { printf("%s %%s", execname()); println(%s) }' % (
        name, name, ", ".join('" %s=", %s' % (v, v) for v in values))


def each_resolves_where_the_kernel_has_its_event():
    for name, values in aliases().items():
        status, _, err = cmd("script", "-p2", "-e", shown(name, values))
        ok(status == 0 or re.search(RARE_HERE, err), "%s resolves" % name, err)


def live_they_print_what_they_print_on_what_they_saw():
    found = aliases()
    text = "\n".join(shown(name, found[name]) for name in COMMON)
    os.mkdir("files")
    status, live, err = cmd("script", "--save", "saved", "-c", "%s files" % program, "-e", text)
    is_((status, err), (0, ""), "they run live")
    status, again, err = cmd("script", "-r", "saved", "-e", text)
    is_((status, err), (0, ""), "they run on the recording")
    is_(again, live, "the same bytes")
    for name in COMMON:
        ok("\n%s " % name in "\n" + live, "%s happens" % name, live[-1000:])


def the_kernel_itself_gives_the_values_of_a_recording():
    text = 'probe kprocess.exec { printf("%s of %s\\n", name, filename) } '
    status, live, err = cmd("script", "-c", "/bin/true", "-e", text)
    is_((status, err), (0, ""), "it runs")
    ok("exec of /bin/true\n" in live, "the name of the file, not its address", live)


def words_of_calls_are_listed():
    is_(cmd("script", "-L", "syscall.close.return")[1],
        "syscall.close.return $return:long $fd:long name:string argstr:string retstr:string\n", "with their types")


def a_point_that_systemtap_has_is_answered_with_ours():
    for point, answer in {'process("cat").syscall': "syscall_any", "tcp.recvmsg": "-l 'tcp.*'",
                          'kernel.data("no_such_thing").write': "names no such variable"}.items():
        status, _, err = cmd("script", "-e", "probe %s { println(1) }" % point)
        ok(status == 2 and answer in err, point, err)


def what_enters_the_block_layer_ends():
    if not os.major(os.stat(work).st_dev):
        return print("# not tried: no disk under " + work)
    text = 'global n; probe ioblock.request { n["request"]++ } probe ioblock.end { n["end"] += error == 0 } ' \
           'probe end { println(n["request"] > 0, n["end"] > 0) }'
    status, out, err = cmd("script", "-e", text, "-c", "dd if=/dev/zero of=block bs=64k count=4 oflag=sync status=none")
    is_((status, out, err), (0, "11\n", ""), "both happen")


if os.geteuid():
    skip("needs root: the kernel is observed")
os.chdir(work)
run_cases(each_resolves_where_the_kernel_has_its_event, live_they_print_what_they_print_on_what_they_saw,
          the_kernel_itself_gives_the_values_of_a_recording, words_of_calls_are_listed,
          a_point_that_systemtap_has_is_answered_with_ours, what_enters_the_block_layer_ends)
