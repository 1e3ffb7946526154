/* SPDX-License-Identifier: MIT */
/* Names of contexts, and the messages for wrong ones. */
#include "ctf/write/context.h"

#include <errno.h>

#include "test.h"

#define BIT(name) ABI_CONTEXT_BIT(ABI_CONTEXT_##name)

static uint64_t parsed(const char *names)
{
	uint64_t mask = 0;
	struct diag d;

	is(context_parse(names, &mask, &d), 0);
	return mask;
}

static void names_become_bits(void)
{
	is(parsed("ip"), BIT(IP));
	is(parsed("ip,callstack,ppid"), BIT(IP) | BIT(CALLSTACK) | BIT(PPID));
	is(parsed("uid,euid,gid,egid"), parsed("vuid,veuid,vgid,vegid"));
	is(parsed("namespaces"), 0xffull << ABI_CONTEXT_CGROUP_NS);
	is(parsed("cgroup_ns,ipc_ns,mnt_ns,net_ns,pid_ns,time_ns,user_ns,uts_ns"),
	   parsed("namespaces"));
	is(parsed("callstack_user"), BIT(CALLSTACK));
}

static void contexts_that_every_event_has_are_accepted(void)
{
	is(parsed("vpid,vtid,pid,tid,cpu,cpu_id"), 0);
	is(parsed("procname"), BIT(PROCNAME));
}

static void a_mask_is_added_to(void)
{
	uint64_t mask = BIT(SLOT);

	is(context_parse("ip", &mask, NULL), 0);
	is(mask, BIT(SLOT) | BIT(IP));
	is(context_parse("ppid,nonsense", &mask, NULL), -EINVAL);
	is(mask, BIT(SLOT) | BIT(IP));
}

static void names_of_contexts_are_written_and_read_again(void)
{
	struct text t = { 0 };

	context_names(&t, ABI_CONTEXT_ALL);
	is(parsed(t.bytes), ABI_CONTEXT_ALL);
	text_fini(&t);
}

static const char *said(const char *names, int want)
{
	static struct diag d;
	uint64_t mask = 0;

	*d.text = 0;
	is(context_parse(names, &mask, &d), want);
	is(mask, 0);
	return d.text;
}

static void a_near_name_is_suggested(void)
{
	is_text(said("calstack", -EINVAL),
		"no context is called 'calstack'; did you mean 'callstack'?");
	is_text(said("ip,namespace", -EINVAL),
		"no context is called 'namespace'; did you mean 'namespaces'?");
	is_text(said("IP", -EINVAL),
		"no context is called 'IP'\n"
		"  there are: namespaces,procname,ppid,vuid,veuid,vgid,vegid,cgroup_ns,"
		"ipc_ns,mnt_ns,net_ns,pid_ns,time_ns,user_ns,uts_ns,ip,callstack,slot,perf_thread_"
		"cycles,perf_thread_instructions,"
		"perf_thread_cache_misses,perf_thread_branch_misses");
	said("a_name_that_is_longer_than_any_context_could_ever_be_and_is_cut_in_what_is_said",
	     -EINVAL);
}

static void an_empty_name_is_refused(void)
{
	is_text(said("", -EINVAL), "an empty name of a context in ''");
	is_text(said("ip,", -EINVAL), "an empty name of a context in 'ip,'");
	is_text(said(",ip", -EINVAL), "an empty name of a context in ',ip'");
}

static void counters_have_names_of_lttng_too(void)
{
	is(parsed("perf:thread:cycles"), BIT(PERF_CYCLES));
	is(parsed("perf:thread:cpu-cycles"), parsed("perf_thread_cycles"));
	is(parsed("perf:thread:instructions"), BIT(PERF_INSTRUCTIONS));
	is(parsed("perf:thread:cache-misses"), parsed("perf_thread_cache_misses"));
	is(parsed("perf:thread:branch-misses"), parsed("perf_thread_branch_misses"));
	is_text(said("perf_thread_branch_mises", -EINVAL),
		"no context is called 'perf_thread_branch_mises'; "
		"did you mean 'perf_thread_branch_misses'?");
	ok(strstr(said("perf:thread:dTLB-loads", -EINVAL), "perf_thread_cycles,"));
}

static void fields_stand_in_the_order_of_the_bits(void)
{
	struct text t = { 0 };

	context_to_tsdl(&t, BIT(SLOT) | BIT(PROCNAME) | BIT(CALLSTACK) | BIT(PERF_CACHE_MISSES));
	is_text(t.bytes,
		"\t\tinteger { size = 8; align = 8; signed = false; encoding = UTF8; } "
		"_procname[17];\n"
		"\t\tinteger { size = 32; align = 8; signed = false; } __callstack_user_length;\n"
		"\t\tinteger { size = 64; align = 8; signed = false; base = 16; } "
		"_callstack_user[ __callstack_user_length ];\n"
		"\t\tinteger { size = 64; align = 8; signed = false; base = 16; byte_order = be; } "
		"_slot[2];\n"
		"\t\tinteger { size = 64; align = 8; signed = false; base = 10; } "
		"_perf_thread_cache_misses;\n");
	text_fini(&t);
	t = (struct text){ 0 };
	context_to_tsdl(&t, 0);
	is(t.size, 0);
	text_fini(&t);
}

int main(void)
{
	run(names_become_bits);
	run(contexts_that_every_event_has_are_accepted);
	run(a_mask_is_added_to);
	run(names_of_contexts_are_written_and_read_again);
	run(a_near_name_is_suggested);
	run(an_empty_name_is_refused);
	run(counters_have_names_of_lttng_too);
	run(fields_stand_in_the_order_of_the_bits);
	return test_status();
}
