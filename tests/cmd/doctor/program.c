/* SPDX-License-Identifier: MIT */
/*
 * program.c - programs that duet doctor looks at: with trace sites, with a USDT mark, with a
 * tracepoint of LTTng-UST, with none of them.  It prints "ready" and waits for its end.
 *
 * The note and the section are those that sys/sdt.h and lttng/tracepoint.h make.
 */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#ifdef WITH_SITES
#include <duet/duet.h>
DUET_EVENT(till, sale, (i32, id), (str, item));
#endif

#ifdef WITH_MARK
__asm__(".pushsection .note.stapsdt,\"\",\"note\"\n\t.balign 4\n\t"
	".4byte 8, 772f-771f, 3\n\t.asciz \"stapsdt\"\n"
	"771:\t.8byte main, 0, 0\n\t.asciz \"till\"\n\t.asciz \"sale\"\n\t.asciz \"\"\n"
	"772:\t.balign 4\n\t.popsection");
#endif

#ifdef WITH_LTTNG
static int tracepoint;
static int *const pointer __attribute__((section("lttng_ust_tracepoints_ptrs"), used)) =
	&tracepoint;
#endif

int main(void)
{
	printf("ready\n");
	fflush(stdout);
#ifdef WITH_SITES
	for (int i = 0;; i++) {
		trace_till_sale(i, "tea");
		trace_mark(till, closed, "id %d", i);
		usleep(10000);
	}
#endif
	for (;;)
		pause();
}
