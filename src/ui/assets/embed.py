#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page's files as a C source that the assembler fills.

    embed.py OUTPUT DEPFILE PAGE [UPLOT]

PAGE is src/ui/page, with all its directories; UPLOT is the directory of the npm package uplot.  Without it /uplot.js
exports null, and the page has no charts.  DEPFILE names every file and directory, so a new file builds again too.
OUTPUT has a hash of each file, so that it differs if one does.
"""
import hashlib
import os
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".js": "text/javascript; charset=utf-8", ".json": "application/json", ".svg": "image/svg+xml",
         ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8"}
UPLOT = {"/uplot.js": ("dist/uPlot.esm.js", b"export default null;\n"), "/uplot.css": ("dist/uPlot.min.css", b"\n"),
         "/uplot-license.txt": ("LICENSE", b"")}


def page_files(page, depends):
    files = {}
    if not page.is_dir():
        depends.append(page.parent)
    for directory, below, names in os.walk(page):
        depends.append(directory)
        below[:] = [d for d in below if not d.startswith(".")]
        for name in names:
            path = pathlib.Path(directory, name)
            if path.suffix not in TYPES or name.startswith("."):
                continue
            depends.append(path)
            at = "/" + path.relative_to(page).as_posix()
            files["/" if at == "/index.html" else at] = (path, path.read_bytes())
    return files


def quoted(path):
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


def data(number, path, content):
    """The symbol data_NUMBER, from the file; from the text if there is no file."""
    what = '.incbin \\"%s\\"' % quoted(quoted(path)) if path else ".byte " + ",".join(map(str, content))
    return ('\tASSET("data_%d", "%s")\n' % (number, what if content else ""))


def main(output, depfile, page, uplot=None):
    depends = []
    files = page_files(pathlib.Path(page).resolve(), depends)
    for at, (name, without) in UPLOT.items():
        path = pathlib.Path(uplot, name).resolve() if uplot else None
        if path:
            depends.append(path)
        if path or without:
            files[at] = (path, path.read_bytes() if path else without)
    names = sorted(files, key=lambda at: at.encode())
    with open(output, "w") as f:
        f.write('/* Made by ui/assets/embed.py. */\n#include "ui/assets/assets.h"\n\n'
                '#define ASSET(name, data) \\\n'
                '\t__asm__(".pushsection .rodata\\n" name ":\\n" data "\\n.byte 0\\n.popsection\\n");\n')
        for number, at in enumerate(names):
            f.write(data(number, *files[at]))
            f.write("extern const unsigned char data_%d[] __attribute__((visibility(\"hidden\")));\n" % number)
        f.write("\nconst struct ui_asset ui_assets[] = {\n")
        for number, at in enumerate(names):
            path, content = files[at]
            f.write('\t{ "%s", "%s", data_%d, %d }, /* %s */\n' % (
                quoted(at), TYPES[pathlib.Path(at).suffix or ".html"], number, len(content),
                hashlib.sha256(content).hexdigest()))
        f.write("};\nconst int ui_n_assets = %d;\n" % len(names))
    with open(depfile, "w") as f:
        f.write("%s: %s\n" % (output, " ".join(str(d).replace(" ", "\\ ") for d in depends)))


main(*sys.argv[1:])
