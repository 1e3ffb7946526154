/* SPDX-License-Identifier: MIT */
/* Filter expressions in the kernel's words. */
#include "kernel/filter.h"

#include <errno.h>

#include "test.h"

static const struct kernel_format format = {
	.name = "sched_switch",
	.n_fields = 4,
	.fields = { { .name = "prev_comm" },
		    { .name = "prev_pid" },
		    { .name = "prev_prio" },
		    { .name = "flags" } },
};

static struct diag d;
static struct text t;

/* @expression in the kernel's syntax, or the reason why it has no equivalent. */
static const char *said(const char *expression)
{
	t.size = 0;
	d.text[0] = 0;
	return kernel_filter(expression, "sched", &format, &t, &d) ? d.text : t.bytes;
}

static void names_are_the_kernels(void)
{
	is_text(said("prev_tid == 0x10 && prev_comm != \"sh\""), "prev_pid==16&&prev_comm!=\"sh\"");
	is_text(said("prev_pid > 010"), "prev_pid>8");
	is_text(said("4 < prev_tid && 0x10 >= flags"), "prev_pid>4&&flags<=16");
	is_text(said("flags & 4 || !(prev_tid <= 5)"), "flags&4||!(prev_pid<=5)");
	is_text(said("flags == 18446744073709551615"), "flags==18446744073709551615");
}

static void patterns_may_be_denied(void)
{
	is_text(said("prev_comm ~ \"kw*\""), "prev_comm~\"kw*\"");
	is_text(said("(prev_comm !~ \"kw*\") && flags == 1"), "(!(prev_comm~\"kw*\"))&&flags==1");
}

static void values_are_those_shown(void)
{
	is_text(said("prev_prio < 20"), "prev_prio<120");
	is_text(said("prev_prio == -100"), "prev_prio==0");
	is_text(said("prev_prio == -120"), "prev_prio==-20");
	is_text(said("prev_tid == -1"), "prev_pid==-1");
}

static void expressions_the_kernel_cannot_apply_are_refused(void)
{
	is_text(said("prev_tid + 1 == 2"), "filter, column 10: the kernel's filters do not "
					   "compute: they compare a field with a constant");
	is_text(said("cpu == 1"), "filter, column 1: sched:sched_switch has no field `cpu'");
	is_text(said("$procname == \"x\""),
		"filter, column 1: the kernel's filters can only compare fields of the event");
	is_text(said("flags == 1.5"),
		"filter, column 10: the kernel's filters cannot compare with fractions");
	is_text(said("flags == -flags"), "filter, column 11: a number is expected after -");
	is_text(said("prev_comm == \"a\\\"b\""), "filter, column 14: the kernel's filters cannot "
						 "compare with a text that has a quotation mark");
	is_text(said(" "), "filter, column 1: the filter is empty");
	is_text(said("flags = 1"), "filter, column 7: `=' compares nothing; write ==");
}

int main(void)
{
	run(names_are_the_kernels);
	run(patterns_may_be_denied);
	run(values_are_those_shown);
	run(expressions_the_kernel_cannot_apply_are_refused);
	text_fini(&t);
	return test_status();
}
