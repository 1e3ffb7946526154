# SPDX-License-Identifier: MIT
"""The record that programs/random makes of its calls, and statements of a line about one of them."""
import re
import struct

from strace_lines import split

SEEN, N = 64, 6
FORMAT = struct.Struct("<Q6Qq%ds%ds6B6B4x" % (N * SEEN, N * SEEN))


class Call:
    """Registers, result, and the first bytes behind each argument before and after the call."""

    def __init__(self, data, i):
        fields = FORMAT.unpack_from(data, i * FORMAT.size)
        self.number, self.arguments, self.result = fields[0], fields[1:7], fields[7]
        before, after, sizes = fields[8], fields[9], fields[10:]
        self.before = [before[k * SEEN:k * SEEN + sizes[k]] for k in range(N)]
        self.after = [after[k * SEEN:k * SEEN + sizes[N + k]] for k in range(N)]

    def __str__(self):
        memory = ["  argument %d: before %s\n              after  %s" % (k + 1, self.before[k].hex(), self.after[k].hex())
                  for k in range(N) if self.before[k]]
        return "call %d(%s) = %d\n%s" % (self.number, ", ".join("%#x" % a for a in self.arguments), self.result, "\n".join(memory))


def unquoted(text):
    """The bytes of "a text\\n", as a tracer writes it."""
    ends = {"n": 10, "t": 9, "r": 13, "v": 11, "f": 12, "\\": 92, '"': 34}

    def byte(m):
        return bytes([ends[m[1]] if m[1] in ends else int(m[1][1:], 16) if m[1][0] == "x" else int(m[1], 8)]).decode("latin-1")
    return re.sub(r"(?s)\\([0-7]{1,3}|x..|.)", byte, text).encode("latin-1")


def result_is_true(text, call):
    """@text: behind the equals sign."""
    word = text.split(" ")[0]
    if -4096 < call.result < 0:
        return word in ("-1", "?")
    if word == "?":
        return True
    try:
        return int(word, 8 if re.fullmatch(r"0[0-7]+", word) else 0) & 0xffffffff == call.result & 0xffffffff
    except ValueError:
        return False


def argument_is_true(text, call, k):
    """Whether a number or a whole text agrees with argument @k."""
    value = call.arguments[k]
    if text == "NULL":
        return not value
    if re.fullmatch(r"-?\d+|0x[0-9a-f]+", text):
        shown = int(text, 8 if re.fullmatch(r"0\d+", text) else 0)
        masks = [0xffffffffffffffff, 0xffffffff, 0xffff]
        # A number from memory, in brackets, is compared by the caller with strace alone.
        return any(shown & m == value & m for m in masks)
    quoted = re.fullmatch(r'"((?:[^"\\]|\\.)*)"(\.\.\.)?', text)
    if quoted and call.before[k]:
        shown = unquoted(quoted[1])[:SEEN]
        return any(m[:len(shown)] == shown[:len(m)] for m in (call.before[k], call.after[k]))
    return True


# Calls whose lines have the arguments in another order, or others.
OTHERWISE = {"clone", "select", "pselect6", "preadv", "pwritev", "preadv2", "pwritev2", "process_vm_readv", "process_vm_writev", "rseq",
             "mq_timedsend", "mq_timedreceive", "clone3", "wait4", "sync_file_range", "ptrace", "futex"}


def contradictions(line, call):
    """Statements of @line about @call that are false."""
    name, rest = line.split("(", 1)
    arguments, result = split(rest)
    result = result.lstrip("= ")
    found = [] if result_is_true(result, call) else ["the result is %s, not %d" % (result, call.result)]
    if name not in OTHERWISE:
        for k, text in enumerate(arguments[:N]):
            if not argument_is_true(text, call, k):
                found.append("argument %d is %s, not %#x" % (k + 1, text, call.arguments[k]))
    return found
