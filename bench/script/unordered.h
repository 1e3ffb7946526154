/* SPDX-License-Identifier: MIT */
/* unordered.h - std::unordered_map for arrays.c. */
#ifndef BENCH_SCRIPT_UNORDERED_H
#define BENCH_SCRIPT_UNORDERED_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
void unordered_add(int64_t key);
void unordered_add_text(const char *bytes, size_t size);
void unordered_clear(void);
#ifdef __cplusplus
}
#endif

#endif
