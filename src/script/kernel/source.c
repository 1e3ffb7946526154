/* SPDX-License-Identifier: MIT */
/* script/kernel/source.c - the running kernel as a source of events. */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/monotonic.h"
#include "script/kernel/live.h"

enum { POLL_MS = 10 };

/* ---------------------------------------------------------------- rights */

int script_kernel_rights(struct diag *d)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct c[2] = { { 0 } };
	bool is_admin, can;

	if (syscall(SYS_capget, &h, c))
		return diag_errno(d, "cannot read this process's capabilities");
	is_admin = c[CAP_SYS_ADMIN / 32].effective & 1u << CAP_SYS_ADMIN % 32;
	can = c[CAP_BPF / 32].effective & 1u << CAP_BPF % 32 &&
	      c[CAP_PERFMON / 32].effective & 1u << CAP_PERFMON % 32;
	if (is_admin || can)
		return 0;
	return diag_fail(
		d, -EPERM,
		"probes of the kernel need root, or the capabilities CAP_BPF and "
		"CAP_PERFMON\n"
		"  sudo setcap cap_bpf,cap_perfmon+ep FILE grants them; recordings and own "
		"programs need neither");
}

/* ---------------------------------------------------------------- start, stop */

static int64_t epoch_offset(void)
{
	struct timespec wall;
	uint64_t before = monotonic_ns(), after;

	clock_gettime(CLOCK_REALTIME, &wall);
	after = monotonic_ns();
	return (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec -
	       (int64_t)(before + (after - before) / 2);
}

static int start(struct script_source_of *source, struct diag *d)
{
	struct kernel_source *s = (struct kernel_source *)source;
	int err = script_kernel_rights(d);

	err = err ? err : kernel_maps_make(s, d);
	if (err)
		return err;
	for (int i = 0; i < s->n_cpus; i++)
		s->readers[i] = (struct kernel_reader){
			.ring = s->rings ? (struct kernel_ring *)(s->rings +
								  (size_t)i * s->ring_stride)
					 : NULL,
			.time_ns = INT64_MAX
		};
	s->offset_ns = s->k->options.epoch_ns ? s->k->options.epoch_ns : epoch_offset();
	source->known_ns = (int64_t)monotonic_ns() + s->offset_ns;
	s->last_ns = source->known_ns;
	s->next_guard_ns = monotonic_ns() + 500000000;
	for (uint32_t i = 0; i < s->n_sites; i++)
		if (kernel_point_of(&s->probes[s->sites[i]->sections[0]->probes[0]]->point)->kind ==
		    KIND_CALL)
			kernel_site_calls(s, s->sites[i]);
	for (uint32_t i = 0; !err && i < s->n_sites; i++)
		err = kernel_site_attach(s, i, d);
	err = err ? err : kernel_functions_note(s, d);
	s->is_started = !err;
	return err;
}

static void detach(struct kernel_source *s)
{
	for (uint32_t i = 0; i < s->n_sites; i++) {
		kernel_function_missed(s->sites[i]); /* losses() comes later */
		kernel_site_detach(s->sites[i]);
	}
	kernel_guard_end(s);
	s->is_stopped = true;
}

static void stop(struct script_source_of *source)
{
	detach((struct kernel_source *)source);
}

/* ---------------------------------------------------------------- events */

/* No record is there: known_ns moves on, or it is the end. */
static int nothing(struct kernel_source *s, struct diag *d)
{
	int64_t known = (int64_t)s->until_ns + s->offset_ns;

	s->is_in_pass = false;
	if (known > s->source.known_ns)
		s->source.known_ns = known;
	if (s->is_failed)
		return diag_fail(d, -EDQUOT, "%s", s->failure.text);
	if (s->is_stopped)
		return -ENODATA;
	if (kernel_guard(s, &s->failure)) {
		detach(s);
		s->is_failed = true;
	}
	return 0;
}

static int next(struct script_source_of *source, struct script_event *e, struct diag *d)
{
	struct kernel_source *s = (struct kernel_source *)source;
	const uint64_t *record;
	int64_t time_ns;
	uint32_t probe;
	int cpu;

	if (s->held >= 0) { /* the frame of the event before is done with */
		kernel_read_done(s, s->held);
		s->held = -1;
	}
	if (!s->is_in_pass) {
		s->is_final = s->is_stopped;
		kernel_readers_begin(s);
	}
	s->is_in_pass = true;
	while ((record = kernel_read(s, &time_ns, &cpu))) {
		probe = (uint32_t)(record[1] & RING_PROBES_MAX);
		if (probe < s->n_probes && !s->of[probe]->is_folded)
			break;
		kernel_read_done(s, cpu);
	}
	if (!record && s->is_stopped && !s->is_final) { /* that pass began before the stop */
		s->is_in_pass = false;
		return next(source, e, d);
	}
	if (!record)
		return nothing(s, d);
	s->held = cpu;
	if (time_ns < s->last_ns) /* of a program that was preempted before it reserved its place */
		time_ns = s->last_ns;
	s->last_ns = time_ns;
	kernel_frame(s, s->probes[probe], s->of[probe], record, time_ns, cpu);
	*e = (struct script_event){ s->probes[probe], time_ns, s->frame };
	return 1;
}

static int wait_for(struct script_source_of *source, int *wait_ms)
{
	(void)source;
	*wait_ms = POLL_MS;
	return -1;
}

static int collect(struct script_source_of *source, struct diag *d)
{
	struct kernel_source *s = (struct kernel_source *)source;

	return s->is_started ? kernel_merge(s, d) : 0;
}

/* ---------------------------------------------------------------- losses, words */

static int losses(struct script_source_of *source, struct script_losses *l)
{
	struct kernel_source *s = (struct kernel_source *)source;
	const uint64_t *lost = (const uint64_t *)(s->control + s->losses_at);

	for (; s->control && s->next_loss < s->n_probes; s->next_loss++) {
		uint64_t n = load(&lost[s->next_loss]);

		if (n == s->lost[s->next_loss])
			continue;
		*l = (struct script_losses){ .lost = n - s->lost[s->next_loss],
					     .probe = s->probes[s->next_loss] };
		s->lost[s->next_loss++] = n;
		return 1;
	}
	for (; s->next_loss < s->n_probes + s->n_sites; s->next_loss++) {
		struct kernel_site *site = s->sites[s->next_loss - s->n_probes];
		uint64_t missed = kernel_function_missed(site);
		struct bpf_usage u;

		if (site->program < 0 || bpf_program_usage(site->program, &u) ||
		    (u.misses == site->misses && missed == site->missed))
			continue;
		*l = (struct script_losses){ .skipped = u.misses - site->misses,
					     .lost = missed - site->missed,
					     .probe = s->probes[site->sections[0]->probes[0]] };
		site->misses = u.misses;
		site->missed = missed;
		s->next_loss++;
		return 1;
	}
	s->next_loss = 0;
	return 0;
}

static void explain_section(const struct kernel_source *s, const struct kernel_section *section,
			    struct text *to)
{
	uint32_t first = section->probes[0];

	text_addf(to, "%s", s->probes[first]->point.text);
	if (section->n_probes > 1)
		text_addf(to, " and %u more like it", section->n_probes - 1);
	if (section->is_folded)
		text_addf(to, ": folded into the kernel\n");
	else
		text_addf(to, ": stream, %u bytes a record at most%s: the handler %s\n",
			  section->capture.bytes, section->test ? ", filtered in the kernel" : "",
			  s->reasons[first]);
}

static void explain(struct script_source_of *source, struct text *to)
{
	const struct kernel_source *s = (const struct kernel_source *)source;

	for (uint32_t i = 0; i < s->n_sites; i++)
		for (uint32_t j = 0; j < s->sites[i]->n; j++)
			explain_section(s, s->sites[i]->sections[j], to);
}

/* ---------------------------------------------------------------- open, close */

static void close_source(struct script_source_of *source)
{
	struct kernel_source *s = (struct kernel_source *)source;

	if (!s)
		return;
	for (uint32_t i = 0; i < s->n_sites; i++) {
		struct kernel_site *site = s->sites[i];

		kernel_site_free(site);
		for (uint32_t j = 0; j < site->n; j++) {
			free(site->sections[j]->probes);
			free(site->sections[j]);
		}
		free(site->sections);
		free(site);
	}
	for (uint32_t i = 0; i < CALL_TABLE; i++)
		free(s->words[i]);
	kernel_guard_end(s);
	kernel_symbols_free(s->symbols);
	kernel_maps_free(s);
	free(s->sites);
	free(s->probes);
	free(s->of);
	free(s->reasons);
	free(s->lost);
	free(s->readers);
	free(s->frame);
	free(s);
}

static const struct script_source_ops operations = {
	.name = "kernel",
	.start = start,
	.next = next,
	.wait = wait_for,
	.collect = collect,
	.stop = stop,
	.losses = losses,
	.explain = explain,
	.symbol = kernel_symbol_text,
	.close = close_source,
};

static int make_room(struct kernel_source *s)
{
	uint32_t n = s->program->n_probes;

	s->n_cpus = bpf_possible_cpus();
	s->probes = calloc(n + 1, sizeof *s->probes);
	s->of = calloc(n + 1, sizeof *s->of);
	s->reasons = calloc(n + 1, sizeof *s->reasons);
	s->lost = calloc(n + 1, sizeof *s->lost);
	s->frame = calloc(1, sizeof *s->frame + SCRIPT_SLOTS_MAX * sizeof(union script_cell));
	s->readers = s->n_cpus > 0 ? calloc((size_t)s->n_cpus, sizeof *s->readers) : NULL;
	return s->probes && s->of && s->reasons && s->lost && s->frame && s->readers ? 0 : -ENOMEM;
}

static int plan(struct kernel_source *s, struct diag *d)
{
	int err = 0;

	for (uint32_t i = 0; i < s->program->n_probes; i++)
		if (script_kernel_has(s->k, &s->program->probes[i]->point))
			s->probes[s->n_probes++] = s->program->probes[i];
	if (!s->n_probes)
		return -ENOENT;
	if (s->n_probes > RING_PROBES_MAX)
		return diag_fail(d, -E2BIG, "a script has at most %d probes of the kernel",
				 RING_PROBES_MAX);
	for (s->loss_rooms = 1; s->loss_rooms < s->n_probes;)
		s->loss_rooms *= 2;
	s->losses_at = kernel_control_room(s, 8 * s->loss_rooms);
	for (uint32_t i = 0; !err && i < s->n_probes; i++)
		err = kernel_plan_probe(s, i, d);
	return err ? err : kernel_fold(s);
}

int script_kernel_source(struct script_source_of **source, struct script_kernel *k,
			 const struct script_program *program, struct script_vm *vm, struct diag *d)
{
	struct kernel_source *s = calloc(1, sizeof *s);
	int err;

	*source = NULL;
	if (!s)
		return -ENOMEM;
	s->source = (struct script_source_of){ .ops = &operations, .vm = vm, .is_live = true };
	s->k = k;
	s->program = program;
	s->wait_map = s->a_map = -1;
	s->rings_map = s->control_map = s->statistics = s->held = -1;
	s->own = k->options.records_own ? 0 : (uint32_t)getpid();
	err = make_room(s);
	err = err ? err : plan(s, d);
	if (err) {
		close_source(&s->source);
		return err;
	}
	*source = &s->source;
	return 0;
}
