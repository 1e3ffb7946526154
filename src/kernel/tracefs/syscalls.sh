#!/bin/sh
# SPDX-License-Identifier: MIT
# kernel/tracefs/syscalls.sh - the names of this architecture's system calls, as C initialisers.
#
# Usage: syscalls.sh COMPILER...   The compiler is asked, so cross builds get the target's table;
# the numbers are left to it too (some are defined through other macros).
echo '#include <asm/unistd.h>' | "$@" -E -dM -x c - |
	sed -n 's/^#define __NR_\([a-z_][a-z0-9_]*\) .*/\1/p' |
	grep -v -x -e syscalls -e arch_specific_syscall |
	LC_ALL=C sort |
	sed 's/.*/[__NR_&] = "&",/'
