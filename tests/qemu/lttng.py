#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""LTTng's kernel tracer and duet record the same in one kernel, under qemu; their events are matched one by one and compared field
by field; so are names and types of all fields, contexts and entries of the environment: docs/formats/lttng.md.

usage: lttng.py BUILD [--keep DIRECTORY] [--timeout SECONDS]
       lttng.py --compare DIRECTORY BUILD

Needs, beside the needs of run.py: lttng-tools, kmod, make, gcc-12.  Debian 12's kernel, its headers and lttng-modules-dkms are fetched with
apt-get, unpacked and built in DIRECTORY, or a temporary one; existing files are not made again.  Exits with 1 if a field that both have
differs without a known reason.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import run
sys.path.insert(0, run.HERE + "/../lib")
import ctf_types  # noqa: E402

DOCUMENT = run.HERE + "/../../docs/formats/lttng.md"
META = "linux-headers-cloud-amd64"
PROBES_LEFT_OUT = ["timer"]  # does not compile with the headers of Debian's 6.1.192: a tracepoint has other arguments
FAR_NS = 20_000_000  # both see one tracepoint one after the other; more between them, and it is another one
KINDS_LEAST, PAIRS_LEAST = 150, 5000  # 174 to 181 and 9 961 to 12 403 were measured: docs/design/figures/kernel.md

# (event, field, why): patterns of known differences, and their reason.
KNOWN = [(re.compile(e), re.compile(f), why) for e, f, why in [
    ("sched_switch", "prev_state", "a preempted thread's is 0, LTTng's 0x100"),
    ("block_.*", "tid", "in the event's header"),
    ("skb_kfree", "reason", "a number, LTTng's an enumeration"),
    ("net_.*", "network_header.*", "not recorded by tracefs"),
    ("sched_process_fork", "(child|parent)_ns_inum|vtids", "not recorded by tracefs"),
    ("syscall_entry_.*", "filename|path|pathname|name", "not in memory at the entry: its address, LTTng's empty"),
    ("syscall_(entry_connect|exit_(accept4?|recvfrom))", "family|[sd]port|v[46]addr|addr|upeer_addrlen", "addr_bytes, as it lay in memory"),
    ("syscall_exit_(getsockname|getpeername|recvfrom)", "usockaddr|usockaddr_len|addr_len", "addr_bytes, as it lay in memory"),
    ("syscall_entry_epoll_ctl", "event|op_enum", "number and pointer, LTTng's taken apart"),
    ("syscall_entry_(poll|ppoll|select|pselect6)", "fds|overflow|.*fds.*", "a pointer; LTTng records its target"),
    ("syscall_exit_unknown", ".*", "of system calls that the tables lack: LTTng's are older"),
    ("syscall_exit_.*", "(?!ret$).+", "the call's output is not recorded; its address is at the entry"),
]]


def reason(event, field):
    return next((why for e, f, why in KNOWN if e.fullmatch(event) and f.fullmatch(field)), None)


def download(package, where):
    if not glob.glob(f"{where}/{package.split('=')[0]}_*.deb"):
        subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "-qq", "download", package], cwd=where, check=True)
    return glob.glob(f"{where}/{package.split('=')[0]}_*.deb")[0]


def depends(package, pattern):
    out = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=True).stdout
    return re.search(r"Depends: (" + pattern + r")", out).group(1)


def fetch(work):
    """The packages, unpacked into one tree -> the version of the kernel"""
    tree, part = work + "/tree", work + "/tree.part"  # whole, and not yet
    headers = depends(META, r"linux-headers-6\.1\S+")
    version = headers[len("linux-headers-"):]
    if os.path.isdir(tree):
        return version
    wanted = [headers, depends(headers, r"linux-headers-\S+-common"), depends(headers, r"linux-kbuild-\S+"),
              "linux-image-" + version, "lttng-modules-dkms"]
    for package in wanted:
        subprocess.run(["dpkg", "-x", download(package, work), part], check=True)
    # The headers' Makefile names the place where they would be installed.
    makefile = f"{part}/usr/src/{headers}/Makefile"
    with open(makefile, encoding="utf-8") as f:
        text = f.read().replace("/usr/src", tree + "/usr/src")
    with open(makefile, "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(part, tree)
    return version


def build_modules(work, version):
    source = glob.glob(work + "/tree/usr/src/lttng-modules-*")[0]
    if glob.glob(source + "/src/lttng-tracer.ko"):
        return source
    kbuild = source + "/src/probes/Kbuild"
    with open(kbuild, encoding="utf-8") as f:
        lines = [line for line in f if not any(f"lttng-probe-{name}.o" in line for name in PROBES_LEFT_OUT)]
    with open(kbuild, "w", encoding="utf-8") as f:
        f.writelines(lines)
    with open(work + "/modules.log", "w", encoding="utf-8") as log:
        done = subprocess.run(["make", "-C", f"{work}/tree/usr/src/linux-headers-{version}", "M=" + source, "modules", "CONFIG_LTTNG=m", "-j2"],
                              stdout=log, stderr=log, check=False)
    if done.returncode:
        sys.exit(f"LTTng's modules do not compile: {work}/modules.log")
    return source


def make_system(root, build, work, version, source):
    run.make_base(root, build, "lttng_guest.sh")
    for path in ["/usr/bin/lttng", "/usr/bin/lttng-sessiond", "/usr/lib/x86_64-linux-gnu/lttng/libexec/lttng-consumerd"]:
        run.add_program(root, path, os.path.basename(path))
    run.add(root, "/usr/share/xml/lttng/session.xsd", "/usr/share/xml/lttng/session.xsd")
    modules = f"{root}/lib/modules/{version}/"
    os.makedirs(modules + "extra")
    for path in glob.glob(source + "/src/**/*.ko", recursive=True):
        subprocess.run(["strip", "--strip-debug", "-o", modules + "extra/" + os.path.basename(path), path], check=True)
    shutil.copy(f"{work}/tree/lib/modules/{version}/kernel/drivers/block/loop.ko", modules + "extra")
    for name in ["modules.order", "modules.builtin", "modules.builtin.modinfo"]:
        shutil.copy(f"{work}/tree/lib/modules/{version}/{name}", modules)
    subprocess.run(["/sbin/depmod", "-b", root, version], check=True)


def record(work, args):
    version = fetch(work)
    source = build_modules(work, version)
    root, initrd, told, out = (os.path.join(work, name) for name in ("root", "initrd", "told", "out.tar.gz"))
    for path in (root, work + "/both"):
        shutil.rmtree(path, ignore_errors=True)
    make_system(root, args.build, work, version, source)
    run.pack(root, initrd)
    for path in (told, out):
        with open(path, "w", encoding="utf-8"):
            pass
    console = run.boot(f"{work}/tree/boot/vmlinuz-{version}", initrd, told, args, "-serial", "file:" + out)
    with open(told, errors="replace", encoding="utf-8") as f:
        text = f.read().replace("\r", "")
    print(text)
    if "done" not in text.splitlines():
        sys.exit("the guest did not come to its end; its console:\n" + console.decode(errors="replace")[-2000:])
    subprocess.run(["tar", "xzf", out], cwd=work, check=True)


# ---------------------------------------------------------------- comparing


def events(build, path):
    """-> of each event's name, its occurrences: (time, tid, fields)"""
    found = collections.defaultdict(list)
    with subprocess.Popen([build + "/src/cmd/duet", "view", "--json", path], stdout=subprocess.PIPE, text=True) as view:
        for line in view.stdout:
            e = json.loads(line)
            if e.get("domain", "kernel") != "kernel":
                continue
            tid = e.get("tid", e.get("context", {}).get("tid"))
            found[e["event"]].append((e["time"], tid, e["fields"]))
    return found


def offset(ours, theirs):
    """By how much LTTng's clock is ahead, from the workload's execve: the same in both, and as many."""
    def paths(trace):
        return {e[1]: e[0] for e in trace["sched_process_exec"]}
    a, b = paths(ours), paths(theirs)
    differences = sorted(b[tid] - a[tid] for tid in a if tid in b)
    if not differences:
        sys.exit("no process that both saw")
    return differences[len(differences) // 2]


def by_thread(found, begin, end, shift):
    threads = collections.defaultdict(list)
    for e in found:
        if begin <= e[0] - shift <= end:
            threads[e[1]].append(e)
    return threads


def match(ours, theirs, ahead, begin, end):
    """-> pairs, how many only we have, how many only LTTng has; between @begin and @end of our time.  The calls of one thread have one order:
    so the shorter list is laid where it fits the longer one best."""
    pairs, alone, others = [], 0, 0
    a, b = by_thread(ours, begin, end, 0), by_thread(theirs, begin - FAR_NS, end + FAR_NS, ahead)
    for tid in set(a) | set(b):
        x, y = a.get(tid, []), b.get(tid, [])
        short, long = sorted((x, y), key=len)
        best = min(range(len(long) - len(short) + 1),
                   key=lambda at: sum(min(abs(abs(p[0] - q[0]) - abs(ahead)), FAR_NS) for p, q in zip(short, long[at:])))
        if len(x) <= len(y):
            pairs += zip(x, y[best:])
            rest = y[:best] + y[best + len(x):]
            others += sum(begin <= e[0] - ahead <= end for e in rest)
        else:
            pairs += zip(x[best:], y)
            alone += len(x) - len(y)
    return pairs, alone, others


class Result:
    def __init__(self):
        self.same = collections.Counter()
        self.different = collections.Counter()
        self.example = {}
        self.ours = collections.Counter()
        self.theirs = collections.Counter()

    def add(self, a, b):
        for name in set(a) | set(b):
            if name not in b:
                self.ours[name] += 1
            elif name not in a:
                self.theirs[name] += 1
            elif a[name] == b[name]:
                self.same[name] += 1
            else:
                self.different[name] += 1
                self.example.setdefault(name, (a[name], b[name]))


def compare(args, work):
    ours, theirs = events(args.build, work + "/both/duet"), events(args.build, work + "/both/lttng")
    ahead = offset(ours, theirs)
    # The workload's life: the first that is executed, and the last that ends.
    begin = ours["sched_process_exec"][0][0]
    end = [e[0] for e in ours["sched_process_exit"] if e[1] == ours["sched_process_exec"][0][1]][0]
    bad, n_pairs, whys = 0, 0, collections.defaultdict(set)
    both = sorted(name for name in ours if name in theirs and not name.startswith("lttng_statedump"))
    for name in both:
        pairs, alone, others = match(ours[name], theirs[name], ahead, begin, end)
        r = Result()
        for a, b in pairs:
            r.add(a[2], b[2])
        n_pairs += len(pairs)
        print(f"{name}: {len(pairs)} pairs" + (f", {alone} only ours" if alone else "") + (f", {others} only LTTng's" if others else ""))
        if alone or others:
            why = reason(name, "")
            whys[why].add(name)
            bad += not why
        for field in sorted(set(r.same) | set(r.different) | set(r.ours) | set(r.theirs)):
            if not r.different[field] and not r.theirs[field]:
                if r.ours[field]:
                    print(f"    {field}: only ours")
                continue
            why = reason(name, field)
            whys[why].add(f"{name}.{field}")
            bad += not why
            if r.different[field]:
                print(f"    {field}: {r.different[field]} differ, {r.same[field]} same; ours {r.example[field][0]!r}, "
                      f"LTTng's {r.example[field][1]!r}: {why}")
            else:
                print(f"    {field}: only LTTng's: {why}")
    for name in sorted(name for name in ours if name in theirs and name.startswith("lttng_statedump")):
        a, b = set(ours[name][0][2]), set(theirs[name][0][2])
        print(f"{name}: {len(ours[name])} and LTTng's {len(theirs[name])}; only ours: {sorted(a - b)}; only LTTng's: {sorted(b - a)}")
    print("only in LTTng's: " + ", ".join(sorted(name for name in theirs if name not in ours)))
    print("only in ours: " + ", ".join(sorted(name for name in ours if name not in theirs)))
    for why in sorted(whys, key=str):
        print(f"{why or 'NO REASON KNOWN'}: {', '.join(sorted(whys[why]))}")
    print(f"{len(both)} kinds of events, {n_pairs} pairs, {bad} differences without a known reason")
    if len(both) < KINDS_LEAST or n_pairs < PAIRS_LEAST:
        print(f"these are too few: at least {KINDS_LEAST} kinds and {PAIRS_LEAST} pairs are expected")
        return bad + 1
    return bad


def compare_types(work):
    """Names and types of all fields of events that both have, of contexts and of the environment."""
    ours, theirs = (ctf_types.recording(f"{work}/both/{name}/kernel") for name in ("duet", "lttng"))
    both = set(ours) & set(theirs)
    print(f"{len(both) - 2} events of both")
    if len(both) < KINDS_LEAST:
        print(f"these are too few: at least {KINDS_LEAST} are expected")
        return 1
    return ctf_types.check(ours, theirs, DOCUMENT, "The kernel", both)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("build")
    p.add_argument("--keep")
    p.add_argument("--compare")
    p.add_argument("--timeout", type=int, default=900)
    p.add_argument("--append", default="")
    args = p.parse_args()
    if args.compare:
        sys.exit(compare(args, args.compare) + compare_types(args.compare) > 0)
    work = os.path.abspath(args.keep) if args.keep else tempfile.mkdtemp(prefix="duet-lttng-")
    os.makedirs(work, exist_ok=True)
    try:
        record(work, args)
        bad = compare(args, work) + compare_types(work)
    finally:
        if not args.keep:
            shutil.rmtree(work, ignore_errors=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
