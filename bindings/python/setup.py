# SPDX-License-Identifier: MIT
"""Builds duetread for pip with the libduet-read that pkg-config finds."""
import shlex
import subprocess

from setuptools import Extension, setup


def ask(option):
    try:
        return shlex.split(subprocess.run(["pkg-config", option, "duet-read"], stdout=subprocess.PIPE, check=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("duetread needs libduet-read, which pkg-config does not find: install libduet-read-dev, "
                         "or duet with `meson install`; if it is in a prefix of its own, set PKG_CONFIG_PATH")


libraries = ask("--libs-only-L")
setup(ext_modules=[Extension("duetread", ["duetread.c", "events.c", "columns.c", "table.c", "texts.c", "arrow.c"],
                             depends=["duetread.h", "texts.h"], extra_compile_args=["-std=gnu11"] + ask("--cflags"),
                             # a library outside of the system's directories is found where it was at the build
                             extra_link_args=libraries + ["-Wl,-rpath," + d[2:] for d in libraries if not d.startswith("-L/usr/lib")] +
                             ask("--libs-only-l"))])
