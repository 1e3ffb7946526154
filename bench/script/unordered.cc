/* SPDX-License-Identifier: MIT */
/* unordered.cc - the reference of arrays.c. */
#include "unordered.h"

#include <string>
#include <unordered_map>

static std::unordered_map<int64_t, int64_t> numbers;
static std::unordered_map<std::string, int64_t> texts;

void unordered_add(int64_t key)
{
	numbers[key]++;
}

void unordered_add_text(const char *bytes, size_t size)
{
	texts[std::string(bytes, size)]++;
}

void unordered_clear(void)
{
	numbers.clear();
	texts.clear();
}
