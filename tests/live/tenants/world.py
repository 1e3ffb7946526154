# SPDX-License-Identifier: MIT
"""A machine of its own for the tests: mount and pid namespaces with a /dev/shm and a /proc that nobody else
has; in it users, and containers."""
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE = 60


def enter():
    """Goes on in namespaces of its own, once; False if there is no right to."""
    if os.environ.get("TENANTS_WORLD") == "1":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"], check=True)
        return True
    if os.geteuid() or subprocess.run(["unshare", "-m", "-p", "-f", "true"], stderr=subprocess.DEVNULL).returncode:
        return False
    os.environ["TENANTS_WORLD"] = "1"
    os.environ.pop("DUET_RUNTIME_DIR", None)
    r = subprocess.run(["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", sys.executable] + sys.argv)
    sys.exit(r.returncode)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        v = condition()
        if v:
            return v
        time.sleep(0.02)
    raise TimeoutError(what)


class World:
    """A place for files that all may read, with copies of the programs."""
    def __init__(self, program, library):
        self.work = tempfile.mkdtemp(prefix="tenants-", dir="/var/tmp")
        os.chmod(self.work, 0o755)
        self.program = self.copy(program, "program")
        self.library = self.copy(library, "libduet.so.0")
        self.children = []

    def copy(self, path, name):
        to = self.work + "/" + name
        shutil.copy(path, to)
        os.chmod(to, 0o755)
        return to

    def env(self):
        return dict(PATH=os.environ["PATH"], LD_LIBRARY_PATH=self.work)

    def spawn(self, argv, **more):
        p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env(), **more)
        self.children.append(p)
        return Program(p)

    def user(self, uid, *args):
        return self.spawn([self.program] + list(args), user=uid, group=uid, extra_groups=[])

    def container(self, name, *args, user=None):
        """The program as root of a container: namespaces, a root directory, and a /dev/shm of its own.  With
        @user it is that user's, with a user namespace."""
        root = self.work + "/" + name
        os.makedirs(root, exist_ok=True)
        script = ("set -e; mount -t tmpfs none $0; cd $0; mkdir usr proc dev old work dev/shm; "
                  "mount --rbind /usr usr; mount --rbind %s work; "
                  "for d in bin lib lib64; do if [ -L /$d ]; then ln -s $(readlink /$d) $d; fi; done; "
                  "mount -t proc proc proc; mount -t tmpfs -o mode=1777 none dev/shm; "
                  "pivot_root . old; umount -l /old; cd /; "
                  "export LD_LIBRARY_PATH=/work; exec /work/program \"$@\"" % self.work)
        more = dict(user=user, group=user, extra_groups=[]) if user else {}
        unshare = ["unshare", "-m", "-p", "-f", "-i", "-n", "-u"] + (["-U", "-r"] if user else [])
        if user:
            os.chown(root, user, user)
        return self.spawn(unshare + ["--kill-child", "sh", "-c", script, root] + list(args), **more)

    def close(self):
        for p in self.children:
            if p.poll() is None:
                p.kill()
            p.wait()
        shutil.rmtree(self.work, ignore_errors=True)


class Program:
    def __init__(self, popen):
        self.p = popen
        self.buffer = b""
        self.pid = int(self.line().split()[1])

    def line(self):
        while b"\n" not in self.buffer:
            if not select.select([self.p.stdout], [], [], PATIENCE)[0]:
                raise TimeoutError("the program says nothing")
            more = os.read(self.p.stdout.fileno(), 4096)
            if not more:
                raise EOFError("the program has ended: %s" % self.p.wait())
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def record(self, how):
        self.p.stdin.write(b"%s\n" % str(how).encode())
        self.p.stdin.flush()
        return int(self.line().split()[1])

    def end(self):
        self.p.stdin.close()
        return self.p.wait(PATIENCE)
