# SPDX-License-Identifier: MIT
"""A machine of its own for the tests: mount and pid namespaces with its own /dev/shm and /proc;
in it users, and containers."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../../lib")
import recorder  # noqa: E402
from trial import has_session, start, work  # noqa: E402

ROOTS = "/dev/shm/duet-0"  # the runtime directory of root


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


def has(session):
    return has_session(session, ROOTS)


class World:
    """A place for files that all may read, with copies of the programs."""
    def __init__(self, program, library, users=()):
        self.work, self.users = work, users
        os.chmod(work, 0o755)
        self.program = self.copy(program, "program")
        self.library = self.copy(library, "libduet.so.0")

    def copy(self, path, name):
        to = self.work + "/" + name
        shutil.copy(path, to)
        os.chmod(to, 0o755)
        return to

    def env(self):
        return dict(PATH=os.environ["PATH"], LD_LIBRARY_PATH=self.work)

    def spawn(self, argv, **more):
        return Program(start(*argv, stdin=subprocess.PIPE, env=self.env(), **more))

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

    def collect(self, trace, *options, session="default"):
        """-> a collector of root's, which records into @trace, a path below @work"""
        trace = os.path.join(self.work, trace)
        return recorder.collect(trace, *options, session=session, directory=ROOTS, env=self.env())

    def end(self, collector, *programs):
        """Ends the programs, then their collector, and removes the runtime directories of @users."""
        for p in programs:
            p.end()
        recorder.stop(collector)
        for uid in self.users:
            shutil.rmtree("/dev/shm/duet-%d" % uid, ignore_errors=True)


class Program:
    def __init__(self, popen):
        self.p = popen
        self.pid = int(self.line().split()[1])

    def line(self):
        said = self.p.stdout.readline()
        if not said:
            raise EOFError("the program has ended: %s %s" % (self.p.wait(), self.p.stderr.so_far()))
        return said

    def record(self, how):
        self.p.stdin.write("%s\n" % how)
        self.p.stdin.flush()
        return int(self.line().split()[1])

    def end(self):
        return self.p.end()[0]
