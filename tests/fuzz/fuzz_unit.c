/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/fuzz_unit.c - libFuzzer's entry to the verifier and the engines of scripts.
 *
 * FUZZ=unit: the input decides each choice of random_unit.h (tests/unit/script/machine), which makes a unit and
 * damages it.  What the verifier accepts must run the same in both engines.
 */
#include "random_unit.h"

static const uint8_t *at, *end;
static uint64_t left_over;

/* Two bytes of the input; behind its end the choices go on, the same each time. */
static uint64_t draw(uint64_t below)
{
	uint64_t choice;

	if (end - at >= 2) {
		choice = at[0] | (uint64_t)at[1] << 8;
		at += 2;
	} else {
		choice = left_over = left_over * 6364136223846793005u + 1442695040888963407u;
		choice >>= 33;
	}
	return choice % below;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	at = bytes;
	end = bytes + size;
	left_over = size;
	if (!formats[0].n)
		make_formats();
	if (!round_is_good())
		abort();
	return 0;
}
