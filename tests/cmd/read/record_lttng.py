#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/cmd/read/record_lttng.py - records programs with LTTng-UST, apart from other sessions.

record(out, program, ...) starts a session daemon of its own, records, and stops it.  As root it needs a mount
namespace (the daemon's directories are fixed for root): call enter_private_mounts() first thing in main.  Without
LTTng it raises LttngMissing; the caller skips (exit 77).
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time


class LttngMissing(Exception):
    pass


def enter_private_mounts():
    if os.geteuid() or os.environ.get("DUET_TEST_NAMESPACE"):
        return
    os.environ["DUET_TEST_NAMESPACE"] = "1"
    setup = ("mkdir -p /var/run/lttng && mount -t tmpfs none /var/run/lttng && "
             "mount -t tmpfs none /dev/shm && exec \"$@\"")
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", setup, "x"]
    if subprocess.run(command + ["true"], stderr=subprocess.DEVNULL).returncode:
        sys.exit(77)
    os.execvp("unshare", command + [sys.executable] + sys.argv)


class Daemon:
    def __init__(self):
        if not shutil.which("lttng-sessiond") or not shutil.which("lttng"):
            raise LttngMissing("no lttng-tools")
        self.home = tempfile.mkdtemp(prefix="duet-lttng-")
        self.env = {**os.environ, "LTTNG_HOME": self.home, "HOME": self.home,
                    "LTTNG_UST_REGISTER_TIMEOUT": "60000"}
        self.process = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.env,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            if self.run("list", check=False) == 0:
                return
            time.sleep(0.1)
        self.close()
        raise LttngMissing("lttng-sessiond does not answer")

    def run(self, *args, check=True):
        r = subprocess.run(["lttng", "--no-sessiond", *args], env=self.env,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if check and r.returncode:
            raise RuntimeError("lttng %s: %s" % (" ".join(args), r.stdout.decode()))
        return r.returncode

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def record(self, out, commands, events, contexts=(), channel=(), buffers="--buffers-uid"):
        """Records @commands, which run at the same time, into @out."""
        name = "s%d" % time.monotonic_ns()
        self.run("create", name, "--output=" + out)
        self.run("enable-channel", "-u", buffers, *channel, "c")
        for e in events:
            self.run("enable-event", "-u", "-c", "c", e)
        for c in contexts:
            self.run("add-context", "-u", "-c", "c", "-t", c)
        self.run("start")
        env = {**self.env, "LTTNG_UST_ALLOW_BLOCKING": "1"}
        running = [subprocess.Popen(c, env=env, stdout=subprocess.DEVNULL) for c in commands]
        for p in running:
            p.wait()
        self.run("stop")
        self.run("destroy", name)
