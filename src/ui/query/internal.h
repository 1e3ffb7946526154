/* SPDX-License-Identifier: MIT */
/* ui/query/internal.h - what the files of this room share. */
#ifndef UI_QUERY_INTERNAL_H
#define UI_QUERY_INTERNAL_H

#include "ui/query/answer.h"

#endif
