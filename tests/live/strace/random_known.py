# SPDX-License-Identifier: MIT
"""Differences between strace 6.1 and `duet strace` that are known, each with its reason.

A reason is for some calls, and for a difference: patterns of the parts of the two lines that are not equal.
"""
import re


def parts(theirs, ours):
    """The middles of two lines, without their equal beginnings and ends."""
    i, least = 0, min(len(theirs), len(ours))
    while i < least and theirs[i] == ours[i]:
        i += 1
    j = 0
    while j < least - i and theirs[-1 - j] == ours[-1 - j]:
        j += 1
    return theirs[i:len(theirs) - j], ours[i:len(ours) - j]


ADDRESS = r"(0x)?[0-9a-f]*"
# Calls, strace's part, duet's part (None: any), and the reason.
KNOWN = [
    ("ustat", ADDRESS, r"\{f_tfree=.*", "strace 6.1 shows no structure of ustat"),
    ("prctl", None, None, "constants of options of prctl are shown as numbers, values behind pointers as addresses"),
    ("mbind|get_mempolicy", None, ADDRESS + "(, .*)?", "masks of nodes are shown as addresses"),
    ("move_pages", r"\[\]", ADDRESS, "an empty list that the call does not fill is shown as its address"),
    ("mincore", r".*", ADDRESS, "the list of a failed mincore is shown as its address"),
    ("capget|capset", r"\{effective=.*", ADDRESS, "sets of capabilities are shown as addresses"),
    ("io_submit|io_cancel", None, None, "impossible numbers of blocks: lists that end in another place"),
    ("personality", r" \(PER_.*\)", "", "strace names the personality that was before"),
    ("[fl]?[gs]etxattr|keyctl", r'"?', r'\\0("\.\.\.)?', "strace omits a NUL at the cut of a value, and the dots"),
    ("fcntl", r".*F_\?\?\?.*|0x40[bcde].*", r"F_(GET|SET)_.*", "strace 6.1 does not have the command"),
    ("readv|writev|preadv2?|pwritev2?|process_madvise", None, r"(.*\.\.\..*)?", "of a vector as many elements as are recorded"),
    ("[fl]?getxattr", r'"([^"\\]|\\.)*"(\.\.\.)?', r"0x[0-9a-f]+", "strace shows the buffer that a size of 0 leaves alone"),
    ("name_to_handle_at|open_by_handle_at", None, None, "handles of files are shown as addresses"),
    ("msgget", r"[0-9a-f]*|.*", r".*IPC_\?\?\?.*|.*", "strace joins unknown flags and permissions to one number"),
    ("rseq", None, None, "strace 6.1 does not decode rseq"),
    ("poll|ppoll", None, ADDRESS, "a negative number of descriptors: the kernel refuses it unread"),
    ("epoll_pwait2?", ADDRESS, r"\[.*|~\[.*", "strace does not show the mask if the call fails"),
    ("epoll_pwait2?", ADDRESS, None, "strace does not show the mask if the call fails"),
    ("openat2", r"5", "6", "an argument larger than a page: strace counts to its end"),
    ("openat2", None, r".*", "an argument larger than a page"),
    ("ioctl", r"\{ifr_.*", ADDRESS, "requests of sockets on other files are shown by their address"),
    ("ioctl", None, ADDRESS, "results behind the pointer of rare requests are shown as its address"),
    ("recvmsg", ADDRESS, r"\{msg_namelen=.*", "the beginning of a header that cannot be read as a whole"),
    ("getdents|getdents64", r" /\* \d+ entries \*/", "", "no number is shown of an empty list, or of one above 4096 bytes"),
    ("ioctl", "NULL", "0", "a pointer that is NULL is shown as a number"),
    ("process_vm_readv|process_vm_writev|readv|writev|p(read|write)v2?", None, ADDRESS, "bytes before unreadable memory are shown as their address"),
    ("setsockopt", r'".*', None, "values of another size than the option's: strace shows a text"),
    ("getsockopt", r'".*', r"\{.*", "strace 6.1 shows times of options as text"),
    ("getsockopt", ADDRESS, r"\[.*", "a negative length: strace shows no value"),
    ("setsockopt", r"\d+", r"E[A-Z0-9]+", "a number of an error has its name"),
    ("getsockopt", r".?", r"\\?x[0-9a-f]*", "single bytes of options are shown in hexadecimal"),
    ("process_vm_readv", None, None, "the call overwrites a list that strace reads behind it"),
    ("setsockopt|getsockopt", r"\[.*", r'".*', "values of another size than the option's are shown as text"),
    ("getsockopt", r"TCP_COOKIE_TRANSACTIONS", r"0xf /\* TCP_\?\?\? \*/", "the kernel's headers do not have the name"),
    ("select|pselect6", r"\]", "", "strace prints a bracket too many"),
    ("copy_file_range", None, r".* => .*", "strace does not show the offset behind the call"),
    ("sched_setaffinity", None, r".*", "sets of more CPUs than the kernel has"),
    ("rt_sigqueueinfo|pidfd_send_signal", r"E[A-Z]+", r"\d+", "an error of the kernel alone has no name"),
    ("rt_sigqueueinfo|pidfd_send_signal", r"\d", r"\d", "millions of years, rounded"),
    ("ptrace", None, None, "newer or older headers: other names"),
]


PLACES = 256  # for descriptors of the program of random calls: the kernel looks at no more


def has_no_far(theirs, ours):
    """Whether a call with sets is equal without the descriptors beyond those. strace counts them as ready."""
    near = re.sub(r"\[([0-9 ]+)\]", lambda m: "[%s]" % " ".join(w for w in m[1].split() if int(w) < PLACES), theirs)
    near = near.replace("]]", "]")  # it prints a bracket too many
    if theirs.split(") = ")[1:] != near.split(") = ")[1:]:
        near, ours = near.split(") = ")[0], ours.split(") = ")[0]
    return near == ours


def reason_for(theirs, ours, call):
    """The reason of a difference between two lines, or None."""
    name = theirs.split("(")[0]
    if ours.split("(")[0] != name:
        return None
    if name in ("select", "pselect6") and has_no_far(theirs, ours):
        return "strace shows descriptors that the kernel has no places for"
    a, b = parts(theirs, ours)
    for calls, strace, duet, reason in KNOWN:
        if re.fullmatch(calls, name) and (strace is None or re.fullmatch(strace, a, re.S)) and (
                duet is None or re.fullmatch(duet, b, re.S)):
            return reason
    return None
