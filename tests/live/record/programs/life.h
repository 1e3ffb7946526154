/* SPDX-License-Identifier: MIT */
/* tests/live/record/programs/life.h - the events all tests of a process's life use. */
#ifndef LIFE_H
#define LIFE_H

#include <duet/duet.h>

DUET_EVENT(life, step, (i32, pid), (i32, i));
/* Too large for a restartable sequence. */
DUET_EVENT(life, large, (i32, pid), (i32, i), (seq(u8), bytes));

#endif
