#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bindings/python/pip_test.py DIRECTORY PKG_CONFIG_PATH - `pip install DIRECTORY` makes a module that works."""
import os
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
source, packages = map(os.path.abspath, sys.argv[1:3])


def run(*command, **more):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if p.returncode:
        raise SystemExit("not ok %s\n%s" % (" ".join(command), p.stdout))
    return p.stdout


def main():
    if subprocess.run([sys.executable, "-c", "import setuptools, wheel, pip, ensurepip"], stderr=subprocess.DEVNULL).returncode:
        print("skipped: pip, venv, setuptools or wheel is not installed (python3-pip, python3-venv)")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="duet-pip-") as work:
        # pip would put its build directory into the source.
        shutil.copytree(source, work + "/source", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        run(sys.executable, "-m", "venv", "--system-site-packages", work + "/venv")
        env = dict(os.environ, PKG_CONFIG_PATH=packages, PIP_DISABLE_PIP_VERSION_CHECK="1")
        # Offline: what pip would fetch to build is installed.
        run(work + "/venv/bin/pip", "install", "--no-index", "--no-build-isolation", work + "/source", env=env)
        said = run(work + "/venv/bin/python", "-c", "import duetread; print(duetread.__file__, duetread.Reader.table.__name__)", cwd="/")
        if not said.startswith(work):
            raise SystemExit("not ok: another module was imported: " + said)
        without = subprocess.run([work + "/venv/bin/pip", "install", "--no-index", "--no-build-isolation", "--force-reinstall", work + "/source"],
                                 env=dict(env, PKG_CONFIG_PATH="", PKG_CONFIG_LIBDIR="/nonexistent"),
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not without.returncode or "install libduet-read-dev" not in without.stdout:
            raise SystemExit("not ok: without the library: " + without.stdout)
    print("ok pip installs a module that works, and says what is missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
