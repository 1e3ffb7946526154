# SPDX-License-Identifier: MIT
"""Strings that do harm on a terminal, and the characters that must not reach one.

The oracle is Unicode's own table of categories, as Python has it: independent of src/base/text.c.
"""
import os
import pty
import re
import select
import signal
import subprocess
import unicodedata

# As bytes: names of processes and files are any bytes.
PIECES = [
    b"\x1b]0;pwned\x07",  # a title
    b"\x1b[2J\x1b[8m",  # an empty screen, text that is not seen
    b"\xc2\x9b31m",  # CSI as one character
    b"\x9b31m\x90pwned\x9c",  # the same, and a device control string, as bytes
    "\u202epwned\u202c\u2066\u2069\u200e\u200f\u061c".encode(),
    "\u2028FORGED\u2029FORGED".encode(),
    "\u200b\u200d\u2060\ufeff\u00ad".encode(),
    "\U000e0041\U000e007f".encode(),
    b"\x00\x01\x08\x0b\x0c\r\x0e\x7f"[1:],
    b"\nFORGED: all is well",
    b"\xff\xfe\xc3(\xed\xa0\x80\xf0\x9f",
    b"%s%n",
]
ALL = b"".join(PIECES)
TEXT = "".join(p.decode() for p in PIECES if p.isascii() or not p.decode("utf-8", "replace").count("\ufffd"))
FORGED = re.compile(rb"^FORGED", re.M)
# Of duet itself on a terminal: its colours, and a line that it clears.
OWN = re.compile(rb"\x1b\[(?:[12]|3[1-6])?m|\x1b\[K|\r(?=[\n\x1bd]|$)")


def harm_in(output):
    """The first character that must not reach a terminal, with its place; None: there is none."""
    try:
        text = output.decode()
    except UnicodeDecodeError as e:
        return "a byte that is no UTF-8, in %r" % output[max(0, e.start - 60):e.start + 20]
    for i, c in enumerate(text):
        if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            return "U+%04X in %r" % (ord(c), text[max(0, i - 60):i + 20])
    return None


def forged_in(output):
    m = FORGED.search(output)
    return m and "a line of a name's own: %r" % output[max(0, m.start() - 80):m.end() + 20]


def on_terminal(argv, timeout=60, stdin=subprocess.DEVNULL, **more):
    """-> (status, all that the terminal was given, without our own colours)"""
    master, slave = pty.openpty()
    p = subprocess.Popen(argv, stdin=stdin, stdout=slave, stderr=slave, start_new_session=True, **more)
    os.close(slave)
    out = b""
    while True:
        if not select.select([master], [], [], timeout)[0]:
            os.killpg(p.pid, signal.SIGKILL)
            break
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(master)
    return p.wait(), OWN.sub(b"", out.replace(b"\r\n", b"\n"))
