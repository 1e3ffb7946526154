/* SPDX-License-Identifier: MIT */
/*
 * kernel/setup.c - prepares an instance: its events and filters, and the BPF programs.
 *
 * The instance records nothing before tracing is switched on, which is the last step: events are enabled and
 * buffers get their sizes before it. Whether there is an instance, and BPF: setup_recorders.c. Clock,
 * modes and buffers: setup_instance.c. System calls: setup_syscalls.c. perf: setup_perf.c. See kernel.h.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock/clock.h"
#include "kernel/bpf/shared_ring.h"
#include "kernel/tracefs/events.h"
#include "kernel/filter.h"
#include "kernel/internal.h"
#include "kernel/probe/kprobe.h"
#include "kernel/tracefs/broker.h"
#include "kernel/probe/uprobe.h"

enum { BUFFER_KIB = 16384 };

static const char stream_block[] =
	"stream {\n\tid = 0;\n\tpacket.context := struct packet_context;\n"
	"\tevent.header := struct {\n\t\tuint32_clock_monotonic_t timestamp;\n\t\tuint16_t "
	"id;\n\t};\n"
	"\tevent.context := struct {\n\t\tuint8_t _flags;\n\t\tuint8_t _preempt;\n"
	"\t\tint32_t _tid;\n";
static const char stream_end[] = "\t};\n};\n\n";

int kernel_formats(const struct kernel *k)
{
	return k->root >= 0 ? k->root : k->instance.dir;
}

int kernel_set(const struct kernel *k, const char *file, const char *value, struct diag *d)
{
	int err = kernel_tracefs_write(k->instance.dir, file, value);

	return err ? diag_fail(d, err, "cannot write %s to %s of the tracefs instance: %s", value,
			       file, strerror(-err))
		   : 0;
}

uint32_t kernel_buffer_kib(const struct kernel_options *o)
{
	return o->buffer_kib ? o->buffer_kib : BUFFER_KIB;
}

/* Sub-buffers are of at most this size; records of BPF programs may be longer. */
static int set_up_classes(struct kernel *k, struct diag *d)
{
	size_t page = KERNEL_SUBBUFFER_KIB * 1024u, longest = BPF_RECORD_MAX;

	if (page < (size_t)sysconf(_SC_PAGESIZE))
		page = (size_t)sysconf(_SC_PAGESIZE);
	return kernel_classes_init(&k->drain.classes, page > longest ? page : longest)
		       ? diag_fail(d, -ENOMEM, "no memory for the table of kernel events")
		       : 0;
}

static int set_up_page(struct kernel *k, struct diag *d)
{
	k->drain.page = malloc(k->drain.page_size);
	return k->drain.page ? 0
			     : diag_fail(d, -ENOMEM, "no memory for a page of %zu bytes",
					 k->drain.page_size);
}

int kernel_set_filter(const struct kernel *k, const char *system, const char *event,
		      const char *filter, const char *expression, struct diag *d)
{
	char path[192], *content = NULL;
	const char *reason;
	int err;

	snprintf(path, sizeof path, "events/%s/%s/filter", system, event);
	err = kernel_tracefs_write(k->instance.dir, path, filter);
	if (!err || !expression)
		return err ? diag_fail(d, err, "cannot write tracefs %s: %s", path, strerror(-err))
			   : 0;
	reason = kernel_tracefs_read(k->instance.dir, path, &content) < 0
			 ? NULL
			 : strstr(content, "parse_error: ");
	err = diag_fail(d, err, "the kernel cannot filter %s:%s by %s: %.*s", system, event,
			expression, reason ? (int)strcspn(reason + 13, "\n") : 60,
			reason ? reason + 13
			       : "it compares fields with constants, joined by &&, ||, !");
	free(content);
	return err;
}

static int filter_event(const struct kernel *k, const struct kernel_pattern *e,
			const struct kernel_format *f, struct diag *d)
{
	struct text t = { 0 };
	int err = kernel_filter(e->filter, e->system, f, &t, d);

	if (!err)
		err = kernel_set_filter(k, e->system, e->event, t.bytes, e->filter, d);
	text_fini(&t);
	return err;
}

static int leave_to_instance(struct kernel *k, const struct kernel_pattern *e, struct diag *d)
{
	int err = kernel_instance_require(k, d);

	k->n_events++;
	return err ? err : kernel_event_enable(k->instance.dir, e->system, e->event, true, d);
}

static int set_up_events(struct kernel *k, struct kernel_selection *s, bool has_arguments,
			 struct kernel_format *f, struct diag *d)
{
	int formats = k->setup->has_begun ? k->instance.dir : k->root, err = 0;
	struct diag of_life, *why;

	for (int i = 0; !err && i < s->n_events; i++) {
		struct kernel_pattern *e = &s->events[i];

		err = kernel_event_format(formats, e->system, e->event, f, d);
		if (!err && has_arguments && kernel_event_is_tracer(e->system) &&
		    strcmp(e->event, "funcgraph_exit") != 0 && kernel_functions_complete(f))
			err = diag_fail(d, -EOPNOTSUPP, "this kernel records no arguments in %s",
					e->event);
		if (err)
			return err;
		if (kernel_event_is_probe(e->system))
			kernel_kprobe_rename(f, e->name);
		e->bpf = 0;
		kernel_bpf_signal(k->bpf, e->system, f, e->filter, &e->bpf, &k->bpf_refused);
		err = kernel_classes_add(&k->drain.classes, f, e->system, e->name);
		if (err)
			return diag_fail(d, err, "cannot add the kernel event %s:%s: %s", e->system,
					 e->event, strerror(-err));
		if (e->bpf)
			continue;
		err = e->filter ? filter_event(k, e, f, d) : 0; /* so the kernel accepts it */
		/* With --kernel-backend=bpf births, names and ends by ftrace are no reason to fail. */
		why = kernel_bpf_is_life(e->system, e->event) ? &of_life : &k->bpf_refused;
		if (!err && k->bpf &&
		    !kernel_bpf_event(k->bpf, e->system, f, e->filter, &e->bpf, why))
			continue;
		if (!err)
			err = leave_to_instance(k, e, d);
	}
	return err;
}

/*
 * Probes and cgroups show threads that nothing else names: births, renames and ends are recorded too.
 * They go first, so that ! and filters in the patterns apply to them.
 */
static int select_with_names(struct kernel *k, const struct kernel_options *o,
			     const char *available, struct diag *d)
{
	enum { FIRST = 3 };
	size_t n = 0, n_rooms = (size_t)o->n_patterns + FIRST;
	const char **patterns = calloc(n_rooms, sizeof *patterns);
	const char **filters = calloc(n_rooms, sizeof *filters);
	bool has_defaults =
		o->n_patterns ? *o->patterns[0] == '!' : !(o->n_uprobes || o->graph.n_patterns);
	int err = -ENOMEM;

	if (patterns && filters) {
		patterns[n++] = "profile";
		if (has_defaults) {
			patterns[n++] = "sched";
			patterns[n++] = "syscalls";
		}
		for (int i = 0; i < o->n_patterns; i++, n++) {
			patterns[n] = o->patterns[i];
			filters[n] = o->filters ? o->filters[i] : NULL;
		}
		err = kernel_select(&k->selection, available, patterns, filters, (int)n, d);
	}
	free(patterns);
	free(filters);
	return err;
}

static bool filters_births(const struct kernel_selection *s)
{
	for (int i = 0; i < s->n_events; i++)
		if (s->events[i].filter && kernel_name_is_birth(s->events[i].name))
			return true;
	return s->by_perf && filters_births(s->by_perf);
}

int kernel_setup_selection(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	char *available;
	ssize_t n = k->available < 0 ? kernel_tracefs_read(k->root, "available_events", &available)
				     : kernel_tracefs_read_all(k->available, &available);
	int err;

	k->available = -1;
	if (n < 0)
		return diag_fail(d, (int)n, "cannot read tracefs available_events: %s",
				 strerror((int)-n));
	if (o->n_uprobes || o->graph.n_patterns || o->n_cgroups)
		err = select_with_names(k, o, available, d);
	else
		err = kernel_select(&k->selection, available, o->patterns, o->filters,
				    o->n_patterns, d);
	free(available);
	k->drain.misses_births |= !err && filters_births(&k->selection);
	return err;
}

/* Calls of the kernel's functions by its tracer. Before Linux 6.12 probes replace the simplest
 * graph. */
static int select_functions(struct kernel *k, const struct kernel_graph *g, struct diag *d)
{
	struct kernel_selection *s = &k->selection;
	int err = kernel_functions_set_up(&k->functions, k->root, k->instance.dir, s, g, d);

	if (err != -EOPNOTSUPP || k->root < 0 || !g->n_patterns || g->has_arguments || g->over_ns ||
	    g->depth > 1)
		return err;
	if (d)
		d->text[0] = 0;
	k->has_uprobes = k->has_kprobes = true;
	return kernel_kprobe_graph(k->root, k->instance.path, g->patterns, g->n_patterns, s, d);
}

static int select_probes(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	int err = 0;

	if (o->n_uprobes && k->root < 0)
		err = diag_fail(d, -EPERM, "%s: only root may set probes",
				kernel_probe_option(o->uprobes[0].kind));
	if (!err && o->n_uprobes)
		err = kernel_uprobes_make(k->root, k->instance.path, o->uprobes, o->n_uprobes,
					  &k->selection, d);
	k->has_uprobes = o->n_uprobes > 0;
	for (int i = 0; i < o->n_uprobes; i++)
		k->has_kprobes |= o->uprobes[i].kind >= KERNEL_KPROBE;
	return err ? err : select_functions(k, &o->graph, d);
}

/* System calls first: BPF programs need nothing of the instance, which may still be set up. */
static int set_up_selection(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	struct kernel_format *f = malloc(sizeof *f);
	int err = f ? kernel_setup_syscalls(k, &k->selection, f, d)
		    : diag_fail(d, -ENOMEM, "no memory for the formats of kernel events");

	err = kernel_instance_end(k->setup, err, d);
	if (!err)
		err = select_probes(k, o, d);
	if (!err)
		err = set_up_events(k, &k->selection, o->graph.has_arguments, f, d);
	if (!err)
		err = kernel_setup_idle(k, f, d);
	free(f);
	return err;
}

static int add_cpu(struct kernel *k, int number, struct diag *d)
{
	struct kernel_cpu *cpus = realloc(k->cpus, (size_t)(k->n_cpus + 1) * sizeof *cpus);

	if (!cpus)
		return diag_fail(d, -ENOMEM, "no memory for cpu %d", number);
	k->cpus = cpus;
	return kernel_cpu_open(&cpus[k->n_cpus++], &k->drain, number, d);
}

static int share_losses(struct kernel *k, struct diag *d)
{
	void *losses = mmap(NULL, (size_t)(k->n_cpus + 1) * sizeof *k->losses,
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (losses == MAP_FAILED)
		return diag_errno(d, "no memory for the counters of lost events");
	k->losses = losses;
	for (int i = 0; i < k->n_cpus; i++)
		k->cpus[i].losses = &k->losses[i];
	return 0;
}

static int open_cpus(struct kernel *k, struct diag *d)
{
	int fd = kernel_tracefs_open_file(k->instance.dir, "per_cpu"), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!dir) {
		err = diag_errno(d, "cannot list per_cpu of the tracefs instance");
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (e = readdir(dir)))
		if (!strncmp(e->d_name, "cpu", 3) && isdigit((unsigned char)e->d_name[3]))
			err = add_cpu(k, atoi(e->d_name + 3), d);
	closedir(dir);
	return err;
}

int kernel_open_trace(struct kernel *k, const char *path, uint64_t begin_ns, struct diag *d)
{
	struct ctf_writer_options so = { .path = path,
					 .domain = "kernel",
					 .clock = &k->drain.clock,
					 .clock_offset_ns = k->clock_offset_ns,
					 .begin_ns = k->is_overwrite ? 0 : begin_ns,
					 .is_of_command = k->is_of_command,
					 .scope = k->whole_machine ? "machine" : "followed" };
	struct text block = { 0 };
	int err = ctf_writer_open(&k->drain.sink, &so, d);

	if (err)
		return err;
	text_addf(&block, "%s", stream_block);
	kernel_contexts_tsdl(k->drain.contexts, &block);
	text_addf(&block, "%s", stream_end);
	err = block.failed ? diag_fail(d, -ENOMEM, "no memory for the metadata of kernel events")
			   : ctf_writer_describe(&k->drain.sink, block.bytes, block.size, d);
	text_fini(&block);
	return err;
}

static int recover_bpf(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	bool is_must = o->backend == KERNEL_BACKEND_BPF;

	if (is_must && *k->bpf_refused.text)
		return diag_fail(d, -EOPNOTSUPP, "%s", k->bpf_refused.text);
	if (!k->bpf || kernel_bpf_has_events(k->bpf))
		return 0;
	kernel_bpf_close(k->bpf);
	k->bpf = NULL;
	if (!*k->bpf_refused.text)
		diag_fail(&k->bpf_refused, -EOPNOTSUPP,
			  "BPF records system calls and the scheduler's events, without patterns "
			  "in filters: "
			  "none of these is chosen");
	return is_must ? diag_fail(d, -EOPNOTSUPP, "%s", k->bpf_refused.text) : 0;
}

int kernel_reap(int root, struct diag *d)
{
	int n = kernel_instance_reap(root, d);

	kernel_probes_reap(root);
	return n;
}

/* Opens tracefs or, without the right to, borrows an instance. *@is_alone: there is no lender
 * either. */
static int open_tracefs(struct kernel *k, bool *is_alone, struct diag *d)
{
	int err;

	*is_alone = false;
	k->root = kernel_tracefs_open(d);
	if (k->root < 0) {
		err = geteuid() ? broker_request(&k->instance, &k->available, d) : -ENOENT;
		*is_alone = err == -ENOENT;
		if (!err && d)
			d->text[0] = 0; /* that we may not do it ourselves is no error then */
		return *is_alone ? k->root : err;
	}
	kernel_reap(k->root, NULL);
	return 0;
}

/* The rest of an instance, if there is one. */
static int complete_instance(struct kernel *k, struct diag *d)
{
	int err = k->setup->has_begun ? set_up_page(k, d) : 0;

	if (!err)
		err = kernel_instance_resize(k->setup, d);
	if (!err && k->setup->has_begun)
		err = open_cpus(k, d);
	return err ? err : share_losses(k, d);
}

static int open_contexts(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const struct kernel_thread_events_options uo = { .root = k->root,
							 .clock = &k->drain.clock,
							 .system_calls = k->selection.n_entry ||
									 k->selection.n_exit };

	if (!o->contexts)
		return 0;
	k->drain.room_size = 4 * k->drain.page_size;
	k->drain.room = malloc(k->drain.room_size);
	if (!k->drain.room)
		return diag_fail(d, -ENOMEM, "no memory for contexts of kernel events");
	return kernel_contexts_open(&k->drain.contexts, o->contexts, &uo, o->overwrite, d);
}

/* A lender of own processes alone: refuse what needs other threads' events. */
static int check_own_only(const struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	const char *what = o->whole_machine ? "the whole machine"
			   : o->n_cgroups   ? "a cgroup"
			   : o->contexts    ? "contexts of threads"
					    : NULL;

	return k->instance.is_own_only && what
		       ? diag_fail(d, -EPERM,
				   "%s cannot be recorded: the lender of kernel tracing lends a "
				   "user's own processes alone\n  record a command or -p PID (man "
				   "duet-lend, --own-processes)",
				   what)
		       : 0;
}

int kernel_prepare(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	struct kernel_instance_setup setup = { .kernel = k, .o = o };
	bool is_alone;
	int err = open_tracefs(k, &is_alone, d);

	if (is_alone) {
		k->refused = err;
		k->refused_why = d ? *d : (struct diag){ "" };
		return 0;
	}
	if (!err)
		err = kernel_check_pids(o, d);
	if (!err)
		err = check_own_only(k, o, d);
	if (err)
		return err;
	k->setup = &setup;
	err = set_up_classes(k, d);
	if (!err)
		err = kernel_setup_recorders(k, o, d);
	if (!err)
		err = set_up_selection(k, o, d);
	err = kernel_instance_end(&setup, err, d);
	if (!err)
		err = recover_bpf(k, o, d);
	if (!err)
		err = complete_instance(k, d);
	k->setup = NULL;
	return err;
}

int kernel_complete(struct kernel *k, const struct kernel_options *o, struct diag *d)
{
	int err = 0;

	if (k->refused) {
		if (d)
			*d = k->refused_why;
		return kernel_setup_own(k, o, k->refused, d);
	}
	kernel_bpf_clock(k->bpf, &k->drain.clock);
	if (k->selection.n_sampled || k->selection.by_perf)
		err = kernel_setup_perf(k, o, d);
	if (!err)
		err = open_contexts(k, o, d);
	if (!err && o->n_cgroups)
		err = kernel_cgroups_open(&k->cgroups, o->cgroups, o->n_cgroups, k->root,
					  &k->drain.clock, d);
	k->entered = o->entered;
	k->entered_arg = o->callback_arg;
	if (!err)
		err = kernel_open_trace(k, o->path, clock_now_ns(&k->drain.clock), d);
	if (!err)
		kernel_note_pids(o, d);
	return err;
}
