/* SPDX-License-Identifier: MIT */
/* code_print_test.c - what the compiler makes of small scripts, as -p3 prints it. */
#include "run_script.h"
#include "test.h"

/* @want: SLOT stands for the place of the first slot in a frame. */
static void compiles(const char *script, const char *want)
{
	struct made_script made;
	struct text t = { 0 }, expected = { 0 };
	const char *slot;

	if (ok(make_script(&made, script, NULL)))
		script_unit_print(&t, made.unit);
	while ((slot = strstr(want, "SLOT"))) {
		text_addf(&expected, "%.*s%zu", (int)(slot - want), want,
			  sizeof(struct script_frame));
		want = slot + 4;
	}
	text_addf(&expected, "%s", want);
	is_text(t.bytes, expected.bytes);
	text_fini(&expected);
	text_fini(&t);
	free_script(&made);
}

static void a_filter_a_count_and_a_statistic_are_twenty_instructions(void)
{
	compiles("global n, s\n"
		 "probe event(1) {\n"
		 "	if ($number > 10)\n"
		 "		n[pid()]++\n"
		 "	if ($number == 3) s[cpu() & 15] <<< $number\n"
		 "}\n"
		 "probe end { foreach (k in n) print(n[k]); foreach (k in s) print(@sum(s[k])) }\n",
		 "array 0 n[long]:long, 65536 entries\n"
		 "array 1 s[long]:stats, 65536 entries\n"
		 "handler event, stack 8\n"
		 "     0  r6 = r1\n"
		 "\t# test.stp:3: if ($number > 10)\n"
		 "     1  r1 = [r6+SLOT]\n"
		 "     2  if r1 <= 10 goto 10\n"
		 "\t# test.stp:4: n[pid()]++\n"
		 "     3  r1 = [r6+24]\n"
		 "     4  [r10-8] = r1\n"
		 "     5  r1 = 0\n"
		 "     6  r2 = r10\n"
		 "     7  r2 += -8\n"
		 "     8  r3 = 1\n"
		 "     9  call ARRAY_ADD\n"
		 "\t# test.stp:5: if ($number == 3) s[cpu() & 15] <<< $number\n"
		 "    10  r1 = [r6+SLOT]\n"
		 "    11  if r1 != 3 goto 20\n"
		 "    12  r1 = [r6+16]\n"
		 "    13  r1 &= 15\n"
		 "    14  [r10-8] = r1\n"
		 "    15  r1 = 1\n"
		 "    16  r2 = r10\n"
		 "    17  r2 += -8\n"
		 "    18  r3 = [r6+SLOT]\n"
		 "    19  call STAT_ADD\n"
		 "    20  exit\n"
		 "handler end, stack 16\n"
		 "    21  r6 = 0\n"
		 "\t# test.stp:7: probe end { foreach (k in n) print(n[k]); foreach (k in s) "
		 "print(@sum(s[k])) }\n"
		 "    22  r1 = 0\n"
		 "    23  r2 = r10\n"
		 "    24  r3 = -1\n"
		 "    25  call ITER_BEGIN\n"
		 "    26  r7 = r0\n"
		 "    27  r1 = r7\n"
		 "    28  call ITER_NEXT\n"
		 "    29  if r0 == 0 goto 45\n"
		 "    30  r1 = r7\n"
		 "    31  r2 = 0\n"
		 "    32  call ITER_KEY_LONG\n"
		 "    33  r6 = r0\n"
		 "    34  [r10-16] = r6\n"
		 "    35  r1 = 0\n"
		 "    36  r2 = r10\n"
		 "    37  r2 += -16\n"
		 "    38  call ARRAY_GET\n"
		 "    39  [r10-8] = r0\n"
		 "    40  r1 = 0\n"
		 "    41  r2 = r10\n"
		 "    42  r2 += -8\n"
		 "    43  call PRINT\n"
		 "    44  goto 27\n"
		 "    45  r1 = 1\n"
		 "    46  r2 = r10\n"
		 "    47  r3 = -1\n"
		 "    48  call ITER_BEGIN\n"
		 "    49  r7 = r0\n"
		 "    50  r1 = r7\n"
		 "    51  call ITER_NEXT\n"
		 "    52  if r0 == 0 goto 70\n"
		 "    53  r1 = r7\n"
		 "    54  r2 = 0\n"
		 "    55  call ITER_KEY_LONG\n"
		 "    56  r6 = r0\n"
		 "    57  [r10-16] = r6\n"
		 "    58  r1 = 1\n"
		 "    59  r2 = r10\n"
		 "    60  r2 += -16\n"
		 "    61  r3 = 1\n"
		 "    62  r4 = 0\n"
		 "    63  call STAT_GET\n"
		 "    64  [r10-8] = r0\n"
		 "    65  r1 = 1\n"
		 "    66  r2 = r10\n"
		 "    67  r2 += -8\n"
		 "    68  call PRINT\n"
		 "    69  goto 50\n"
		 "    70  exit\n");
}

static void hot_locals_live_in_registers(void)
{
	compiles("function sum(n) {\n"
		 "	for (i = 0; i < n; i++) s += i\n"
		 "	return s\n"
		 "}\n"
		 "probe begin { println(sum(5)) }\n",
		 "function sum(long):long, stack 0\n"
		 "     0  r8 = r1\n"
		 "     1  r6 = 0\n"
		 "     2  r7 = 0\n"
		 "\t# test.stp:2: for (i = 0; i < n; i++) s += i\n"
		 "     3  r6 = 0\n"
		 "     4  goto 7\n"
		 "     5  r7 += r6\n"
		 "     6  r6 += 1\n"
		 "     7  if r6 < r8 goto 5\n"
		 "\t# test.stp:3: return s\n"
		 "     8  r0 = r7\n"
		 "     9  exit\n"
		 "handler begin, stack 8\n"
		 "\t# test.stp:5: probe begin { println(sum(5)) }\n"
		 "    10  r1 = 5\n"
		 "    11  call function sum\n"
		 "    12  [r10-8] = r0\n"
		 "    13  r1 = 0\n"
		 "    14  r2 = r10\n"
		 "    15  r2 += -8\n"
		 "    16  call PRINT\n"
		 "    17  exit\n");
}

int main(void)
{
	run(a_filter_a_count_and_a_statistic_are_twenty_instructions);
	run(hot_locals_live_in_registers);
	return test_status();
}
