# SPDX-License-Identifier: MIT
"""A recording names all that it was asked for and did not find, one line each; --strict makes the exit status 1.

Rows hold options of `record`, the lines on standard error about findings, in order.  No row has another such line.
The same questions are asked of a session in the background, by `stop`.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ORDER = r"did you mean shop:order\?"
ROWS = [
    ("", []),
    ("-e shop:*", []),
    ("-e shop", []),
    ("-e ord?r", []),
    ("-e shop:order,!shop:refund", []),
    ("-e shop:oder", [r"-e shop:oder: no such event was recorded: " + ORDER]),
    ("-e oder", [r"-e oder: no such event was recorded: did you mean order\?"]),
    ("-e shop:order -e shpo:order", [r"-e shpo:order: no such event was recorded: " + ORDER]),
    ("-e shop:order -e zzz:zzz", [r"-e zzz:zzz: no such event was recorded: duet list shows"]),
    ("-e shop:refund", [r"-e shop:refund: .* findings_program has it, and did not come there"]),
    ("-e shop:refund --level err", [r"-e shop:refund: .* but another option \(--level"]),
    ("-e shop:* -e !shop:odrer", [r"-e '!shop:odrer': it left out nothing: " + ORDER]),
    ("-e shop:* --program findings_program,findings", [r"--program findings: no such program"]),
    ("-e shop:* --program !nosuch", []),
    ("--channel x:events=shop:order", []),
    ("--channel x:events=shop:odrer", [r"--channel x:events=shop:odrer: no such event was recorded: " + ORDER]),
    ("-e shop:order -f size>3", []),
    ("-e shop:order -f sise>3", [r"-f 'sise>3' lets no shop:order pass: .* no field `sise'"]),
    ("-e sched_switch", [r"-e sched_switch: no such event was recorded: it is an event of the kernel: -k sched_switch"]),
    ("-e a:1,b:2", [r"-e a:1: no such", "-e b:2: no such"]),
    ("-e " + ",".join("a:%d" % i for i in range(20)), [r"-e a:%d: no such" % i for i in range(12)] +
     ["8 more patterns were not found"]),
]


def command(*args, **more):
    return subprocess.run([duet, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **more)


def lines_of(p):
    return [l for l in p.stderr.splitlines() if l.startswith("duet ")]


def judge(name, p, expected, code):
    global failed
    got = lines_of(p)
    fine = p.returncode == code and len(got) == len(expected) and \
        all(re.search(e, l) for e, l in zip(expected, got))
    print("%s %s" % ("ok" if fine else "not ok", name))
    if not fine:
        failed += 1
        print("# exit status %d, not %d; expected %s:\n%s" % (p.returncode, code, expected, p.stderr))


def recordings():
    for i, (options, expected) in enumerate(ROWS):
        options = options.split()
        judge("record " + " ".join(options),
              command("record", "--no-kernel", "-o", "r%d" % i, *options, "--", program), expected, 0)
        judge("record -q --strict " + " ".join(options),
              command("record", "--no-kernel", "-q", "--strict", "-o", "s%d" % i, *options, "--", program), expected,
              1 if expected else 0)


def sessions():
    for i, (options, expected) in enumerate(ROWS[1:]):
        started = command("start", "-o", "b%d" % i, *options.split())
        judge("start " + options, started, [], 0)
        subprocess.run([program], check=True)
        if i % 2:
            command("list")
        judge("stop --strict after start " + options, command("stop", "--strict"), expected, 1 if expected else 0)


def two_sessions():
    """The page of a program that has ended is removed when the collectors of both have read it."""
    for name in "one", "other":
        command("start", name, "-o", name, "-e", "shop:order,!shop:refund", "--program", "findings_program")
    subprocess.run([program], check=True)
    deadline = time.monotonic() + 60
    while any(n.startswith("app-") for n in os.listdir("runtime")) and time.monotonic() < deadline:
        time.sleep(0.02)
    for name in "one", "other":
        judge("a program of two sessions: " + name, command("stop", name), [], 0)


def programs_that_ran_before():
    """Their page is their own to remove, and they do not know of the session."""
    with subprocess.Popen([program, "stay"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        command("start", "-o", "early", "-e", "shop:odrer,shop:order")
        p.communicate(b"x")
    judge("a program that ran before", command("stop"), [r"-e shop:odrer: .*" + ORDER], 0)


def enabled_later():
    command("start", "-o", "later", "-e", "!*")
    command("enable", "shop:odrer")
    subprocess.run([program], check=True)
    judge("a pattern of enable", command("stop"), [r"-e shop:odrer: .*" + ORDER], 0)


def one_line_each():
    """Though a filter has several."""
    command("start", "-o", "lines", "-e", "shop:order", "-f", "sise >\n\t3")
    for _ in range(2):
        subprocess.run([program], check=True)
    judge("a filter of two lines", command("stop"), [r"^duet stop: -f 'sise > +3' lets no shop:order pass: "], 0)


def too_many_events():
    p = command("record", "--no-kernel", "-o", "many", "--strict", "--", sys.executable, "-c",
                "import subprocess as s\n"
                "p = s.Popen([%r], stdout=s.PIPE)\np.stdout.readline()\np.kill()\np.wait()" % many)
    judge("more events than a program may have", p, [r"trouble_many: 904 of its events have no room .* at most 4096"], 1)


def running_on():
    p = command("record", "--no-kernel", "-o", "on", "--strict", "--", "sh", "-c",
                "sleep 1000 > /dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done; echo $!")
    os.kill(int(p.stdout), 9)
    judge("a process that runs on", p, [r"1 process of sh still runs \(sleep %d\): it is not recorded" % int(p.stdout),
                                        "sh has no trace sites"], 1)


def none_of_each():
    judge("-e and -k of nothing", command("record", "-o", "none", "-k", "!*", "-e", "!*", "--", "true"),
          ["nothing is left to record"], 2)
    judge("-k of nothing", command("record", "-o", "apps", "-k", "!*", "--", program), [], 0)


duet, program, many, library = (str(pathlib.Path(a).resolve()) for a in sys.argv[1:5])
failed = 0
with tempfile.TemporaryDirectory(prefix="duet-findings-") as scratch:
    os.chdir(scratch)
    os.mkdir("runtime", 0o700)
    os.environ.update(DUET_RUNTIME_DIR=scratch + "/runtime", DUET_LIBRARY=library)
    recordings()
    sessions()
    two_sessions()
    programs_that_ran_before()
    enabled_later()
    one_line_each()
    too_many_events()
    running_on()
    none_of_each()
    left = [n for n in os.listdir("runtime") if n.startswith(("app-", "session-"))]
    print("%s nothing is left behind: %s" % ("not ok" if left else "ok", left))
sys.exit(failed > 0 or bool(left))
