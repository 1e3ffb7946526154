# SPDX-License-Identifier: MIT
"""Lines of strace and of `duet strace`, taken apart and compared."""
import collections
import re

LIKE = {"_newselect": "select"}
# strace shows other arguments, or in another order, or the libc's names.
OTHERWISE = {"rseq", "restart_syscall", "rt_sigreturn"}


def split(text):
    """The arguments between the outermost parentheses of "name(a, {b, c}, "d, e")  = result", and the rest."""
    parts, depth, quoted, at, i = [], 0, False, 0, 0
    while i < len(text):
        c = text[i]
        if quoted:
            i += c == "\\"
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in "([{":
            depth += 1
        elif c in ")]}" and depth:
            depth -= 1
        elif c == ")" or (c == "," and not depth):
            parts.append(text[at:i].strip())
            at = i + 1
            if c == ")":
                return [p for p in parts if p], text[at:].strip()
        i += 1
    return parts, ""


def calls_in(lines):
    """thread -> its calls, whole ones: (name, arguments, result)"""
    found, open_ = collections.defaultdict(list), {}
    for tid, line in lines:
        if line.endswith("<unfinished ...>"):
            open_[tid] = line[:-len("<unfinished ...>")].rstrip()
            continue
        resumed = re.match(r"<\.\.\. \w+ resumed>(.*)", line)
        if resumed and tid in open_:
            line = open_.pop(tid) + resumed[1]
        m = re.match(r"(\w+)\((.*)", line)
        if not m:
            continue
        arguments, rest = split(m[2])
        found[tid].append((LIKE.get(m[1], m[1]), arguments, rest.lstrip("= ")))
    return found


def lines_by_thread(path):
    """Of a file that strace or `duet strace` wrote with -f: a thread's number begins each line."""
    return calls_in((int(line.split(None, 1)[0]), line.split(None, 1)[1].strip()) for line in open(path))


def command(text):
    """_IOC(_IOC_READ|_IOC_WRITE, 0x56, 0x78, 0x1234): an ioctl that has no name there either"""
    m = re.match(r"_IOC\(([^,]*), (\w+), (\w+), (\w+)\)", text)
    way = ("WRITE" in m[1]) + 2 * ("READ" in m[1]) if m else 0
    return "0x%x" % (way << 30 | int(m[4], 0) << 16 | int(m[2], 0) << 8 | int(m[3], 0)) if m else text


def is_address(text):
    return text == "NULL" or re.fullmatch(r"0x[0-9a-f]+", text)


def in_order(text):
    """Flags, within structures too."""
    return re.sub(r"\w+(?:\|\w+)+", lambda m: "|".join(sorted(m[0].split("|"))), text)


def is_memory_there(ours, theirs):
    """Of long texts and long lists of them only the beginning is recorded, and dots are behind it."""
    ours, theirs = in_order(ours), in_order(theirs)
    pattern = re.escape(ours).replace(r'"\.\.\.', r'.*"').replace(r"\.\.\.\]", r".*\]")
    return bool(re.fullmatch(pattern, theirs))


def is_same(ours, theirs):
    if ours == theirs or command(theirs) == ours:
        return True
    ours, without = (re.sub(r" /\*.*\*/", "", text) for text in (ours, theirs))
    if without == ours:
        return True
    if theirs == "FUTEX_BITSET_MATCH_ANY":
        return ours == "0xffffffff"
    if theirs[:1] in "{[" and ours[:1] in "{[":
        return is_memory_there(ours, theirs)
    if theirs[:1] in '"{[~' or is_address(theirs):  # data in memory
        return is_address(ours) and (not is_address(theirs) or ours == theirs)
    if set(ours.split("|")) == set(theirs.split("|")):
        return True
    try:  # another base, or without a name there
        return int(ours, 0) == int(re.split(r"[ /]", theirs)[0], 0)
    except ValueError:
        return False


def difference(ours, theirs):
    """The difference between a call as duet and as strace shows it, or None."""
    name, arguments, result = theirs
    if ours[0] != name and not (name.startswith("syscall_") and ours[0] == "unknown"):
        return "is %s" % (ours,)
    if name in OTHERWISE or ours[0] == "unknown":
        return None
    if len(ours[1]) != len(arguments) and name not in ("prctl", "wait4"):
        return "has other arguments: %s" % (ours,)
    for a, b in zip(ours[1], arguments):
        if not is_same(a, b):
            return "has %s, not %s" % (a, b)
    mine, other = ours[2].split(), result.split()
    if mine[:1] != other[:1] and not is_same(mine[0], other[0]):
        return "returned %s" % ours[2]
    if other[:1] == ["-1"] and ours[2] != result:
        return "failed with %s" % ours[2]
    return None


def compared(ours, theirs):
    """Threads with their calls, as lines_by_thread() has them.  -> how many calls were compared, the differences"""
    n, wrong = 0, []
    for tid, wanted in theirs.items():
        got = ours[tid]
        if wanted[0][0] == "execve":  # before that it was a child of strace
            got = got[next((i for i, c in enumerate(got) if c[0] == "execve" and c[2] == "0"), 0):]
        if len(got) != len(wanted):
            wrong.append("thread %d made %d calls, not %d: %s, not %s" % (tid, len(got), len(wanted), [c[0] for c in got],
                                                                          [c[0] for c in wanted]))
        for a, b in zip(got, wanted):
            n += 1
            what = difference(a, b)
            if what:
                wrong.append("%s(%s) = %s: %s" % (b[0], ", ".join(b[1]), b[2], what))
    return n, wrong
