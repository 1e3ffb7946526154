#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""duet script as a command: options, passes, errors, input, output, timers, signals and the exit status.

    script.py DUET PROGRAM LIBDUET

PROGRAM emits shop:order and shop:paid for 40 orders.  No kernel events are needed.
"""
import glob
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import proc  # noqa: E402
from trial import cmd, duet, is_, ok, paths, run, run_cases, runtime, start, until, work  # noqa: E402

program, library = paths(2)
os.chdir(work)
TICKS = "global n; probe timer.us(50) { println(\"tick \", n++) }"


def script(*args, **more):
    return cmd("script", *args, **more)


def prints(text, *args, **more):
    """The output of a script that runs without a word on standard error."""
    status, out, err = script("-e", text, *args, **more)
    is_((status, err), (0, ""), "runs: " + text)
    return out


def refuses(pattern, *args):
    status, out, err = script(*args)
    is_((status, out), (2, ""), "refused: %s" % (args,))
    ok(re.search(pattern, err), "says /%s/: %s" % (pattern, err))


def record():
    if not os.path.exists("r"):
        os.mkdir("files")
        is_(cmd("record", "-q", "--no-kernel", "-e", "shop:*", "-o", "r", "--", program, "files")[0], 0, "recorded")


# ---------------------------------------------------------------- texts, passes, errors

def a_script_comes_from_a_file_an_option_or_standard_input():
    is_(prints('probe begin { println("hello") exit() }'), "hello\n", "-e")
    with open("s.stp", "w") as f:
        f.write('#!/usr/bin/env -S %s script\nprobe begin { println("file ", $1, " ", @2) }\n' % duet)
    os.chmod("s.stp", 0o755)
    is_(script("s.stp", "7", "x y"), (0, "file 7 x y\n", ""), "a file, with arguments")
    is_(run("./s.stp", "8", "z"), (0, "file 8 z\n", ""), "a program")
    is_(script("-", input='probe begin { println("in") }'), (0, "in\n", ""), "standard input")
    is_(prints('probe begin { println(f()) }', "-E", 'function f() { return 5 }'), "5\n", "-E")
    os.makedirs("lib", exist_ok=True)
    with open("lib/a.stp", "w") as f:
        f.write("function twice(x) { return 2 * x }\nprobe soon = begin { }\n")
    with open("lib/m.stpm", "w") as f:
        f.write("@define three %( 3 %)\n")
    is_(prints('probe soon { println(twice(@three)) }', "-I", "lib"), "6\n", "-I")


def options_of_the_kernel_are_conditions():
    text = "%%( %s %%? probe begin { println(1) exit() } %%: probe begin { println(2) exit() } %%)"
    is_(prints(text % 'CONFIG_DUET_NO_SUCH == "n"'), "1\n", "an option that is not set")
    known = os.path.exists("/proc/config.gz") or os.path.exists("/boot/config-" + os.uname().release)
    is_(prints(text % 'CONFIG_SYSFS == "y"'), "1\n" if known else "2\n", "one that is")


def each_pass_prints_its_result():
    text = "probe begin { println(1 + 2 * x) }"
    is_(script("-p1", "-e", text)[1], "probe begin\n{\n\tprintln(1 + (2 * x));\n}\n", "-p1")
    ok("begin" in script("-w", "-p2", "-e", text)[1], "-p2")
    ok("PRINT" in script("-w", "-p3", "-e", text)[1], "-p3 has calls of the machine")
    is_(script("-p4", "-e", 'probe begin { println("no") }'), (0, "", ""), "-p4 runs nothing")
    status, out, err = script("-v", "-e", 'probe begin { println("x") }')
    ok(status == 0 and out == "x\n" and "parsed" in err and "runs of handlers" in err, "-v: " + err)


def a_module_is_one_file_with_all_that_is_in_a_script():
    os.makedirs("inc", exist_ok=True)
    with open("inc/a.stp", "w") as f:
        f.write("function thrice(x) { return 3 * x }\n")
    text = ('global n = 1, s = "", k @define twice(x) %( (2 * @x) %) '
            'probe begin { printf("%d %s %d %s %s\\n", n, s, @twice($1), @2, argv[2]); k["a\\"\\n"] = thrice(5) '
            'while (1) if (i++ > n) break; foreach (x in k) println(k[x]) } '
            '%( kernel_v >= "1.0" %? probe end { println("new") } %: probe end { println("old") } %)')
    is_(script("-p4", "-m", "module", "-G", "n=7", "-G", 's=a "b"', "-D", "MAXACTION=5", "-I", "inc", "-e", text, "21", "x y"),
        (0, "", ""), "-p4 -m writes it")
    with open("module") as f:
        is_(f.readline(), "#!/usr/bin/env -S duet script -D MAXACTION=5\n", "its first line")
    is_(script("module"), (0, '7 a "b" 42 x y x y\n15\nnew\n', ""), "it runs without any option")
    ok(os.access("module", os.X_OK), "it is a program")
    is_(prints('probe begin { println("now") }', "-m", "other"), "now\n", "without -p4 it runs at once")
    is_(script("other")[1], "now\n", "and later")
    refuses("-m: it is for -p4", "-p3", "-m", "x", "-e", "probe begin {}")
    refuses("-m no/x.*No such file", "-p4", "-m", "no/x", "-e", "probe begin {}")
    with open("private.stp", "w") as f:
        f.write("private global n\nprobe begin { println(n++) }\n")
    refuses("`n` is private", "-p4", "-m", "x", "-E", "global n probe begin { println(n++) }", "private.stp")
    ok(not os.path.exists("x"), "nothing is left")


def every_mistake_is_one_clear_error():
    refuses(r"no script given", )
    refuses(r"no such option: --jsn: did you mean --json\?", "--jsn", "-e", "probe begin {}")
    refuses(r"no such option: -Z", "-Z")
    refuses(r"-g: a script neither runs C nor changes.*\n  ", "-g", "-e", "probe begin {}")
    refuses(r"-p 6: a number from 1 to 5", "-p", "6", "-e", "x")
    refuses(r"-D MAXACTON: no such limit: did you mean MAXACTION\?", "-D", "MAXACTON=1", "-e", "x")
    refuses(r"-D MAXACTION=x: a number", "-D", "MAXACTION=x", "-e", "x")
    refuses(r"-D MAXACTION: NAME=VALUE", "-D", "MAXACTION", "-e", "x")
    refuses(r"-T soon|soon: not a time", "-T", "soon", "-e", "x")
    refuses(r"-S: it is for -o and -F", "-S", "1", "-e", "probe begin {}")
    refuses(r"-S 1,0: a number of files", "-S", "1,0", "-o", "x", "-e", "probe begin {}")
    refuses(r"-x 0: a number from 1", "-x", "0", "-e", "probe begin {}")
    refuses(r"either -c or -x", "-c", "true", "-x", str(os.getpid()), "-e", "probe begin {}")
    refuses(r"/nonexistent\.stp: No such file", "/nonexistent.stp")
    refuses(r"-I /nonexistent: No such file", "-I", "/nonexistent", "-e", "probe begin {}")
    refuses(r"nosuch: no recording is there, and the script uses no arguments", "-e", "probe begin {}", "nosuch")
    refuses(r"nosuch: no such directory", "-r", "nosuch", "-e", "probe begin {}")
    refuses(r"-G x: NAME=VALUE", "-G", "x", "-e", "global x = 1; probe begin { println(x) }")
    refuses(r"-G y=1: ", "-G", "y=1", "-e", "global x = 1; probe begin { println(x) }")
    refuses(r"parse error: .*\n at <command line>:1:19\n.*\n +\^", "-e", "probe begin { x = ; }")
    refuses(r"semantic error: .*\n at <command line>:1:7\n.*\n +\^", "-e", "probe bgin { }")
    refuses(r"warning: .*`x`", "-W", "-e", "probe begin { x = 1 }")
    refuses(r"semantic error: .*no_such", "-e", 'probe process("/bin/true").function("no_such") { }')
    record()
    refuses(r"-c: it is for the running system", "-c", "true", "-e", "probe begin {}", "r")
    refuses(r"the recording has no event shop:ordr \(did you mean `shop:order`\?\)\n  duet record", "-e",
            "probe app.shop.ordr { }", "r")


def points_are_listed_with_their_values():
    record()
    is_(script("-l", "app.shop.*", "r")[:2], (0, "app.shop.order\napp.shop.paid\n"), "-l")
    out = script("-L", "app.shop.order", "r")[1]
    ok(re.match(r"app\.shop\.order .*\$id:long", out), "-L: " + out)
    is_(script("-l", "timer.s(1)")[:2], (0, "timer.s(1)\n"), "-l of a timer")


# ---------------------------------------------------------------- running

def globals_and_limits_are_set_from_outside():
    is_(prints('global a = 1, s = "x"; probe begin { println(a, s) }', "-G", "a=5", "-G", "s=y"), "5y\n", "-G")
    status, out, err = script("-D", "MAXACTION=100", "-e", "probe begin { while (1) { n++ } } global n")
    is_(status, 1, "MAXACTION ends it")
    ok("MAXACTION" in err, "and is named: " + err)
    loop = 'global n; probe timer.ms(1) { if (n++ < 2) error("no") println("on") exit() }'
    status, out, err = script("-D", "MAXERRORS=2", "-e", loop)
    is_((status, out), (0, "on\n"), "as many errors as allowed")
    is_(err.count("error: no"), 2, "each is reported")


def errors_are_told_with_place_and_calls_and_the_error_probes_run():
    status, out, err = script("-e", 'function f(x) { return 1 / x } probe begin { println(f(0)) } '
                              'probe end { println("end") } probe error { println("sorry") }')
    is_((status, out), (1, "sorry\n"), "error probes instead of end probes")
    ok(re.search(r"error: division by 0 near operator `/` at <command line>:1:\d+\n in function f.*\n in probe begin",
                 err), err)


def what_is_never_read_is_printed_at_the_end():
    out = prints("global n, a, t; probe begin { n = 3; a[1, \"x\"] = 2; t <<< 4 }")
    ok("n=3\n" in out and 'a[1,"x"]=2\n' in out and "t" in out, out)


def timers_count_in_the_time_of_the_recording():
    record()
    text = ('global began, n; probe begin { began = gettimeofday_us() } '
            'probe timer.ms(1) { n++; if (n <= 2) println(gettimeofday_us() - began) } '
            'probe end { println(n > 2, " ", gettimeofday_us() - began >= n * 1000) }')
    first = prints(text, "r")
    is_(first, "1000\n2000\n1 1\n", "timers of a recording")
    begin = time.monotonic()
    is_(prints("global n; probe timer.s(3600) { n++ } probe end { println(n) }", "r"), "0\n", "no hour is in it")
    ok(time.monotonic() - begin < 30, "and nobody waits for one")
    randomized = "probe timer.ms(5).randomize(3) { println(gettimeofday_ns()) }"
    is_(prints(randomized, "r"), prints(randomized, "r"), "chance is the same each time")


def events_of_a_recording_reach_their_handlers():
    record()
    text = "global n, items; probe app.shop.order { n++; items[$item]++ } " \
           "probe end { println(n); foreach (i in items+) println(i, \" \", items[i]) }"
    out = prints(text, "r")
    ok(out.startswith("40\n") and "tea" in out, out)
    is_(prints(text, "-r", "r"), out, "-r")
    is_(prints(text, "--interpret", "r"), out, "--interpret")
    is_(prints("probe app.shop.order { println($id) exit() } probe end { println(\"end\") }", "r").splitlines()[1:],
        ["end"], "exit() after the first event")


def a_session_ends_after_T():
    begin = time.monotonic()
    is_(prints('probe timer.ms(40) { println("t") } probe end { println("end") }', "-T", "100ms"), "t\nt\nend\n",
        "-T 100ms")
    ok(0.09 < time.monotonic() - begin < 30, "in time")


def input_makes_events():
    out = prints('probe input.line { println("<", line, ">") } probe input.char { n++ } global n '
                 'probe end { println(n) }', input="one\ntwo")
    is_(out, "<one>\n<two>\n7\n", "lines and characters")
    record()
    out = prints('global n; probe input.line { println("<", line, "> ", n) } probe app.shop.order { n++ } '
                 'probe end { println(n) }', "r", input="x\n")
    is_(out, "<x> 0\n40\n", "in a recording, input comes after the begin")


def procfs_files_are_read_and_written():
    p = start(duet, "script", "-e", 'global n; probe begin { println("ready") } '
              'probe procfs("count").read { $value = sprintf("%d\\n", n) } '
              'probe procfs("count").write { n = strtol($value, 10) println("n is ", n) }')
    is_(p.stdout.readline(), "ready\n", "it runs")
    directory = until(lambda: glob.glob(runtime + "/script-*"), "its directory")[0]

    def read():
        with open(directory + "/count") as f:
            return f.read()
    is_(read(), "0\n", "read")
    with open(directory + "/count.write", "w") as f:
        f.write("42")
    is_(p.stdout.readline(), "n is 42\n", "written")
    is_((read(), read()), ("42\n", "42\n"), "each reader gets one answer")
    is_(p.end(signal.SIGINT)[0], 0, "Ctrl-C ends it")
    ok(not os.path.exists(directory), "and its files are gone")


def a_signal_ends_it_with_success():
    for sig in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        p = start(duet, "script", "-e", 'probe begin { println("ready") } probe timer.s(1000) {} '
                  'probe end { println("end") }')
        is_(p.stdout.readline(), "ready\n", "it runs")
        is_(p.end(sig), (0, "end\n", ""), "the end probes run after signal %d" % sig)


def a_command_runs_between_begin_and_end():
    text = 'probe begin { println("begin") } probe end { println("end ", target() > 0) } probe timer.s(1000) {}'
    is_(prints(text, "-c", "echo command"), "begin\ncommand\nend 1\n", "-c")
    is_(prints(text, "-c", "echo one; echo two | cat"), "begin\none\ntwo\nend 1\n", "with the shell's operators")
    is_(prints('probe begin { exit() }', "-c", "touch ran"), "", "exit() at the begin")
    ok(not os.path.exists("ran"), "the command did not run")
    refuses(r"no-such-command", "-c", "no-such-command", "-e", "probe timer.s(9) {}")
    p = start(duet, "script", "-e", 'probe begin { println("ready") } probe timer.s(1000) {}', "-c", "sleep 1000")
    is_(p.stdout.readline(), "ready\n", "it runs")
    child = until(lambda: [c for c in proc.children(p.pid) if proc.exe(c).endswith("sleep") or
                           "coreutils" in proc.exe(c)], "the command runs")[0]
    is_(p.end(signal.SIGINT)[0], 0, "Ctrl-C")
    until(lambda: proc.is_dead(child), "the command has ended too")


def it_ends_with_the_process_of_x():
    victim = start("sleep", "1000")
    p = start(duet, "script", "-x", victim.pid, "-e", 'probe begin { println("ready ", target()) } '
              'probe timer.s(1000) {} probe end { println("end") }')
    is_(p.stdout.readline(), "ready %d\n" % victim.pid, "target()")
    victim.end(signal.SIGKILL)
    is_(p.end(), (0, "end\n", ""), "it ends")


# ---------------------------------------------------------------- output

def output_goes_to_a_file_or_to_files_of_a_size():
    is_(prints('probe begin { println("x") }', "-o", "out"), "", "nothing on standard output")
    is_(open("out").read(), "x\n", "-o")
    prints(TICKS, "-T", "100ms", "-o", "part", "-S", "1K,3")
    parts = sorted(glob.glob("part.*"), key=lambda p: int(p.split(".")[1]))
    is_(len(parts), 3, "the newest three files")
    text = "".join(open(p).read() for p in parts)
    numbers = [int(line.split()[1]) for line in text.splitlines()]
    is_(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "no line is missing or divided")
    ok(all(os.path.getsize(p) <= 1024 for p in parts), "none is larger")
    refuses(r"-o /no/such: No such file", "-o", "/no/such", "-e", "probe begin {}")


def a_flight_recorder_prints_what_came_last():
    out = prints(TICKS, "-T", "200ms", "-F", "-S", "1K")
    numbers = [int(line.split()[1]) for line in out.splitlines()]
    ok(len(out) <= 1024 and numbers[0] > 100 and numbers == list(range(numbers[0], numbers[-1] + 1)), out[:200])
    p = start(duet, "script", "-F", "-e", 'probe begin { println("kept") } probe timer.s(1000) {}')
    usr1 = 1 << signal.SIGUSR1 - 1
    until(lambda: int(proc.read(p.pid, "status").split("SigCgt:")[1].split()[0], 16) & usr1, "it waits for the signal")
    p.send_signal(signal.SIGUSR1)
    is_(p.stdout.readline(), "kept\n", "SIGUSR1 prints it")
    is_(p.end(signal.SIGINT), (0, "", ""), "and it is not printed twice")


def tables_are_json_if_asked_for():
    text = 'global a; probe begin { a["x"] = 1; a["y"] = 2; table(a, "name, n") }'
    lines = prints(text, "--json").splitlines()
    is_([json.loads(line) is not None for line in lines], [True], "one line of JSON")
    ok("name" in prints(text), "a table for people")


def a_reader_that_leaves_ends_it():
    p = run("sh", "-c", "%s script -e '%s' | head -1" % (duet, TICKS))
    is_(p[:2], (0, "tick 0\n"), "head has enough")


def killed_it_leaves_no_process():
    record()
    p = start(duet, "script", "-e", "probe app.shop.order { } probe begin { println(\"ready\") "
              "system(\"sleep 3\") }", "-c", "%s files" % program)
    is_(p.stdout.readline(), "ready\n", "it records")
    recorders = [c for c in proc.descendants(p.pid) if "sleep" not in proc.exe(c)]
    ok(recorders, "a recorder runs")
    p.end(signal.SIGKILL)
    for pid in recorders:
        until(lambda pid=pid: proc.is_dead(pid), "recorder %d ends" % pid)


run_cases(a_script_comes_from_a_file_an_option_or_standard_input,
          options_of_the_kernel_are_conditions, each_pass_prints_its_result,
          every_mistake_is_one_clear_error,
          points_are_listed_with_their_values,
          globals_and_limits_are_set_from_outside,
          errors_are_told_with_place_and_calls_and_the_error_probes_run,
          what_is_never_read_is_printed_at_the_end,
          timers_count_in_the_time_of_the_recording,
          events_of_a_recording_reach_their_handlers,
          a_session_ends_after_T,
          input_makes_events,
          procfs_files_are_read_and_written,
          a_signal_ends_it_with_success,
          a_command_runs_between_begin_and_end,
          it_ends_with_the_process_of_x,
          output_goes_to_a_file_or_to_files_of_a_size,
          a_flight_recorder_prints_what_came_last,
          tables_are_json_if_asked_for,
          a_reader_that_leaves_ends_it,
          killed_it_leaves_no_process)
