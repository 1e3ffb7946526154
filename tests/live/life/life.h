/* SPDX-License-Identifier: MIT */
/* tests/live/life/life.h - the event all tests of a process's life use. */
#ifndef LIFE_H
#define LIFE_H

#include <duet/duet.h>

DUET_EVENT(life, step, (i32, pid), (i32, i));

#endif
