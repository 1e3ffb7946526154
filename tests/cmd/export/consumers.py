#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/export/consumers.py DUET LIBDUET PROGRAM [OPTION...] - the viewers themselves open the files of `duet
export`.

For manual runs: it installs the viewers from npm into a directory that is removed at the end.

    tests/cmd/export/consumers.py build/src/cmd/duet build/src/inproc/libduet.so.0 build/tests/cmd/export/export_prog

  - Firefox Profiler: its own code (@firefox-devtools/profiler-cli) must find each thread, and each function with as many
    samples as `duet export folded` has.
  - Speedscope, in a headless Chromium (or --browser PATH): must show each profile by its name, from the speedscope file and
    from Chrome's JSON.

The recording is made of PROGRAM and has call stacks.  Options: --npm DIR, which has node_modules already; --keep
DIR for the exported files.  Exit: 0 all files are read, 1 not, 77 no npm, no node or no browser.
"""
import argparse
import collections
import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

PACKAGES = ("speedscope@1.25.0", "@firefox-devtools/profiler-cli@0.10.0")
failures = []


def check(condition, what):
    print("%s %s" % ("ok" if condition else "not ok", what), flush=True)
    if not condition:
        failures.append(what)


def run(*argv, **more):
    return subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          **{"timeout": 300, **more})


def record_and_export(a, d):
    env = dict(os.environ, DUET_RUNTIME_DIR=d + "/run", DUET_LIBRARY=os.path.abspath(a.library))
    r = run(a.duet, "record", "-q", "--no-kernel", "-c", "callstack", "-o", d + "/r", "--", os.path.abspath(a.program), env=env)
    if not os.path.isdir(d + "/r"):
        sys.exit("cannot record: " + r.stderr)
    for form, name in (("firefox", "firefox.json"), ("speedscope", "speedscope.json"), ("chrome", "chrome.json"), ("folded", "folded")):
        r = run(a.duet, "export", form, "-o", "%s/%s" % (d, name), d + "/r")
        check(r.returncode == 0, "exported for %s %s" % (form, r.stderr))


def functions_of(d):
    """Returns by function the number of samples it is on top of, from folded stacks such as "thread;main;work 17"."""
    n = collections.Counter()
    with open(d + "/folded") as f:
        for line in f:
            path, _, count = line.rpartition(" ")
            n[path.split(";")[-1]] += int(count)
    return n


# ---------------------------------------------------------------- Firefox Profiler

def firefox(d, modules):
    cli = modules + "/.bin/profiler-cli"
    env = dict(os.environ, PROFILER_CLI_SESSION_DIR=d + "/session", HOME=d)
    for _ in range(20):  # it waits only half a second for its own daemon
        loaded = run(cli, "load", d + "/firefox.json", env=env)
        if "daemon did not become ready" not in loaded.stderr or not run(cli, "thread", "list", env=env).returncode:
            break
    with open(d + "/firefox.json") as f:
        threads = json.load(f)["threads"]
    listed = run(cli, "thread", "list", "--json", env=env)
    check(listed.returncode == 0, "Firefox Profiler loads it " + listed.stderr)
    for t in threads:
        check(re.search(r'"tid": ?"?%s\b' % t["tid"], listed.stdout), "Firefox Profiler has thread %s:%s" % (t["name"], t["tid"]))
    check(all(t["processName"] in listed.stdout for t in threads), "and calls processes as we do")
    got = collections.Counter()
    for i in range(len(threads)):
        output = run(cli, "thread", "functions", "--thread", "t-%d" % i, "--limit", "0", "--include-idle", env=env).stdout
        for name, n in re.findall(r"f-\d+\. (.*) - self: (\d+) ", output):
            got[name] += int(n)
    check(got == functions_of(d), "and each function with as many samples: %s" % dict(got))
    run(cli, "stop", "--all", env=env)


# ---------------------------------------------------------------- Speedscope

class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def page(browser, d, url):
    """Returns the text of the page after its scripts ran; "" if it waits for input that does not come."""
    try:
        return run(browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--use-gl=swiftshader",
                   "--enable-unsafe-swiftshader", "--user-data-dir=" + tempfile.mkdtemp(dir=d), "--virtual-time-budget=20000",
                   "--dump-dom", url, timeout=60).stdout
    except subprocess.TimeoutExpired:
        return ""


def speedscope(d, modules, browser):
    site = d + "/site"
    shutil.copytree(modules + "/speedscope/dist/release", site)
    for name in ("speedscope.json", "chrome.json"):
        shutil.copy("%s/%s" % (d, name), site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with open(d + "/speedscope.json") as f:
        profiles = [p["name"] for p in json.load(f)["profiles"]]
    # It names the threads of Chrome's JSON by process and name.
    for name, wanted in (("speedscope.json", profiles), ("chrome.json", [p.split(":")[0] for p in profiles])):
        at = "http://127.0.0.1:%d/" % server.server_port
        text = re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<(script|style).*?</\1>", "", page(browser, d, "%sindex.html#profileURL=%s%s" % (at, at, name))))
        bad = re.search(r"(Something went wrong|Unrecognized format|Failed to load|error)[^<]{0,80}", text, re.I)
        check("Time Order" in text and "Left Heavy" in text and "Sandwich" in text and not bad,
              "Speedscope opens %s %s" % (name, bad.group(0) if bad else ""))
        check(any(w in text for w in wanted), "and shows one of %s" % wanted)
    server.shutdown()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("duet"), p.add_argument("library"), p.add_argument("program")
    p.add_argument("--npm"), p.add_argument("--keep"), p.add_argument("--browser", default=shutil.which("chromium") or shutil.which("google-chrome"))
    a = p.parse_args()
    if not shutil.which("npm") or not shutil.which("node") or not a.browser:
        print("no npm, node or browser")
        return 77
    with tempfile.TemporaryDirectory(prefix="duet-consumers-") as d:
        modules = (os.path.abspath(a.npm) if a.npm else d) + "/node_modules"
        if not a.npm:
            r = run("npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES, cwd=d)
            if r.returncode:
                print("npm: " + r.stderr)
                return 77
        record_and_export(a, d)
        firefox(d, modules)
        speedscope(d, modules, a.browser)
        if a.keep:
            shutil.copytree(d, a.keep, ignore=shutil.ignore_patterns("node_modules", "session", "site"), dirs_exist_ok=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
