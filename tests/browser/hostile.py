# SPDX-License-Identifier: MIT
"""1000 strings that would do harm as markup, style, script or address, and a recording that has them as the names of
its events, fields, processes, files, hosts and spans, and as values.  CTF 2: its metadata take any text as a name.

Each one that runs, in whatever way, sets window.pwned or loads an address with "pwned" in it.
"""
import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../cmd/analysis")
from make import kernel, switch, wakeup

N = 1000
RUNS = ["window.pwned=1", "alert('pwned')", "fetch('/pwned')", "location='/pwned'", "top.pwned=1", "import('/pwned.js')"]
TEMPLATES = [
    "<img src=x onerror=%s>", "</script><script>%s</script>", "<svg/onload=%s>", "\"><script>%s</script>",
    "'><svg onload=%s>", "javascript:%s", "<a href=\"javascript:%s\">x</a>", "<iframe srcdoc=\"<script>%s</script>\">",
    "{{constructor.constructor('%s')()}}", "${%s}", "`${%s}`", "</style><script>%s</script>", "]]><script>%s</script>",
    "<!--><script>%s</script>-->", "\\u003cscript>%s\\u003c/script>", "<details open ontoggle=%s>", "onclick=%s",
    "<input autofocus onfocus=%s>", "</title><script>%s</script>", "</textarea><script>%s</script>", "\";%s;//", "';%s;//",
    "<math><mtext></p><style><img src=x onerror=%s>", "\n\r\n\r<script>%s</script>", "<base href=/pwned/><!-- %s",
    "<link rel=stylesheet href=/pwned.css><!-- %s", "<meta http-equiv=refresh content='0;url=/pwned'><!-- %s",
    "<form action=/pwned><button autofocus>%s", "<svg><animate onbegin=%s attributeName=x dur=1s>", "&lt;script&gt;%s",
    "<object data=/pwned>%s", "__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "then", "length",
]
PIECES = ["\u202e", "\u2066\u202a", "\u0085", "\u009b31m", "\x1b]0;pwned\x07", "\u2028", "\ufeff", "\u0000"[:0], "\U0001f600" * 9,
          "A" * 20000, "e" + "\u0301" * 300, "%s%n%x", "../../../../etc/passwd", "\t\n", "\ud7ff", " ", "0", "NaN", "null"]


def strings(n=N):
    """Always the same, all different, as text; the first are each template once, plain."""
    dice, found = random.Random(1000), {}
    for template in TEMPLATES:
        found[template.replace("%s", RUNS[0])] = None
    while len(found) < n:
        text = dice.choice(TEMPLATES).replace("%s", dice.choice(RUNS))
        for _ in range(dice.randrange(1, 4)):
            at, piece = dice.randrange(len(text) + 1), dice.choice(PIECES)
            text = text[:at] + piece + text[at:] if dice.random() < 0.4 else text + piece
        found[text] = None
    return list(found)


def integer(bits, *roles):
    return dict({"type": "fixed-length-unsigned-integer", "length": bits, "alignment": 8,
                 "byte-order": "little-endian"}, **({"roles": list(roles)} if roles else {}))


def structure(**members):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in members.items()]}


def metadata(host, events):
    """events: (name, names of its fields, all of them texts)."""
    text = {"type": "null-terminated-string"}
    yield {"type": "preamble", "version": 2, "uuid": list(range(16))}
    yield {"type": "trace-class", "environment": {"domain": "ust", "hostname": host},
           "packet-header-field-class": structure(magic=integer(32, "packet-magic-number"))}
    yield {"type": "clock-class", "id": "c", "frequency": 10**9, "offset-from-origin": {"seconds": 1700000000, "cycles": 0}}
    yield {"type": "data-stream-class", "default-clock-class-id": "c",
           "packet-context-field-class": structure(
               timestamp_begin=integer(64, "default-clock-timestamp"),
               timestamp_end=integer(64, "packet-end-default-clock-timestamp"),
               content_size=integer(64, "packet-content-length"), packet_size=integer(64, "packet-total-length"),
               cpu_id=integer(32)),
           "event-record-header-field-class": structure(id=integer(16, "event-record-class-id"),
                                                        timestamp=integer(64, "default-clock-timestamp")),
           "event-record-common-context-field-class": structure(vpid=integer(32), vtid=integer(32), procname=text)}
    for i, (name, fields) in enumerate(events):
        yield {"type": "event-record-class", "id": i, "name": name,
               "payload-field-class": {"type": "structure",
                                       "member-classes": [{"name": f, "field-class": text} for f in fields]}}


def application(directory, host, classes, events):
    """events: (time, class, (pid, tid, name), values)"""
    os.makedirs(directory)
    with open(directory + "/metadata", "w", encoding="utf-8", errors="surrogatepass") as f:
        for fragment in metadata(host, classes):
            f.write("\x1e" + json.dumps(fragment) + "\n")
    body = b""
    for time, number, (pid, tid, name), values in events:
        body += struct.pack("<HQII", number, time, pid, tid) + b"".join(as_bytes(v) + b"\0" for v in (name, *values))
    bits = (4 + 36 + len(body)) * 8
    with open(directory + "/cpu_0", "wb") as f:
        f.write(struct.pack("<I4QI", 0xC1FC1FC1, 0, events[-1][0], bits, bits, 0) + body)


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


def hostile(directory):
    """Also its own name is one of them.  -> the recording"""
    texts = strings()
    directory += "/<img src=x onerror=window.pwned=1>"
    processes = [(t[:200], 2000 + i) for i, t in enumerate(texts)]
    classes, events, time = [], [], 1000
    for i, text in enumerate(texts):
        if i % 4 == 0:  # a pair: a span has the name of its events
            classes += [(text + "_begin", [text or "f", "plain"]), (text + "_end", [text or "f"])]
        else:
            classes.append((text, [text or "f", "plain"]))
    for i, (_, fields) in enumerate(classes):
        time += 10000
        name, tid = processes[i // 2 % len(processes)]
        value = texts[i % len(texts)]
        invalid = b"\xff\xc3\x28<img src=x onerror=window.pwned=1>\xf0\x9f"
        events.append((time, i, (tid, tid, name.encode()[:150] + invalid), [value, invalid][:len(fields)]))
    application(directory + "/ust", texts[0], classes, events)

    of_kernel, time = [], 500
    for i, who in enumerate(processes):
        who = (who[0], who[1])
        time += 10000
        of_kernel += [(time, 0, 1, "lttng_statedump_file_descriptor",
                       dict(pid=who[1], fd=3, flags=0, fmode=1, filename="/tmp/" + texts[i])),
                      switch(time + 1000, 0, ("swapper/0", 0), who),
                      (time + 2000, 0, who[1], "syscall_entry_openat", dict(dfd=-100, filename=texts[i], flags=0)),
                      (time + 3000, 0, who[1], "syscall_exit_openat", dict(ret=3)),
                      (time + 4000, 0, who[1], "syscall_entry_fsync", dict(fd=3)),
                      wakeup(time + 5000, 0, who, processes[i - 1]),
                      (time + 6000, 0, who[1], "syscall_exit_fsync", dict(ret=0)),
                      switch(time + 7000, 0, who, ("swapper/0", 0), 1)]
    kernel(directory + "/kernel", of_kernel)
    return directory
