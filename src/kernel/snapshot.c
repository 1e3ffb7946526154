/* SPDX-License-Identifier: MIT */
/* kernel/snapshot.c - writes a copy of the instance's buffers while recording goes on.
 *
 * drain.sink and the classes are those of the snapshot while it is open, so that the code that
 * writes the main trace serves both. See kernel.h. */
#include <assert.h>

#include "kernel/internal.h"

int kernel_take(struct kernel *k, uint64_t until_ns, struct diag *d)
{
	int err = 0;

	for (int i = 0; i < k->n_cpus && !err; i++)
		err = kernel_cpu_take(&k->cpus[i], &k->drain, until_ns, d);
	kernel_bpf_keep(k->bpf, &k->drain);
	return err ? err : kernel_profile_keep(k->profile, &k->drain, until_ns, d);
}

void kernel_each_held(struct kernel *k,
		      void (*each)(void *arg, uint64_t begin_ns, uint64_t end_ns, size_t bytes),
		      void *arg)
{
	for (int i = 0; i < k->n_cpus; i++)
		for (const struct kernel_held *h = k->cpus[i].oldest; h; h = h->next)
			each(arg, h->begin_ns, kernel_held_end_ns(h), h->size);
	kernel_bpf_each_kept(k->bpf, &k->drain, each, arg);
	kernel_profile_each_kept(k->profile, each, arg);
}

int kernel_snapshot_open(struct kernel *k, const char *path, uint64_t from_ns,
			 struct disk_budget *disk, struct diag *d)
{
	int err;

	assert(!k->snapshot.is_open);
	k->snapshot = (struct snapshot){ .is_open = true,
					 .main = k->drain.sink,
					 .main_described = k->drain.classes.n_described,
					 .main_events = k->drain.n_events,
					 .main_malformed = k->drain.n_malformed,
					 .from_ns = from_ns };
	k->drain.sink = (struct ctf_writer){ .dir = -1, .index_dir = -1, .metadata = -1 };
	kernel_classes_restart(&k->drain.classes, 0);
	kernel_profile_restart(k->profile);
	err = kernel_open_trace(k, path, 0, d);
	k->drain.sink.disk = disk;
	if (err)
		kernel_snapshot_close(k, NULL);
	return err;
}

static int write_cpu(struct kernel *k, const struct kernel_cpu *c, struct diag *d)
{
	struct kernel_losses losses = { 0 };
	struct kernel_cpu to = { .pipe = -1,
				 .stats = -1,
				 .losses = &losses,
				 .stream = { .fd = -1, .index = -1 },
				 .from_ns = k->snapshot.from_ns,
				 .number = c->number,
				 .prefix = c->prefix };
	int err = kernel_cpu_write_held(c, &to, &k->drain, d);

	k->snapshot.lost += kernel_cpu_lost(&to);
	kernel_cpu_close(&to);
	return err;
}

int kernel_snapshot_step(struct kernel *k, struct diag *d)
{
	int i = k->snapshot.next_cpu++, err, n = k->n_cpus, n_bpf = kernel_bpf_n_cpus(k->bpf);
	struct snapshot *s = &k->snapshot;

	assert(s->is_open);
	if (i < n)
		err = write_cpu(k, &k->cpus[i], d);
	else if (i < n + n_bpf)
		err = kernel_bpf_write_kept(k->bpf, i - n, &k->drain, s->from_ns, &s->lost, d);
	else if (i < n + n_bpf + kernel_profile_n_rings(k->profile))
		err = kernel_profile_write_kept(k->profile, i - n - n_bpf, &k->drain, s->from_ns,
						&s->lost, d);
	else
		return kernel_state(k, d);
	return err ? err : 1;
}

void kernel_snapshot_close(struct kernel *k, struct kernel_counts *counts)
{
	struct kernel_drain *n = &k->drain;

	if (!k->snapshot.is_open)
		return;
	if (counts) {
		kernel_end_trace(k); /* it is whole */
		*counts = (struct kernel_counts){ .events = n->n_events - k->snapshot.main_events,
						  .lost = k->snapshot.lost,
						  .bytes = n->sink.bytes,
						  .malformed = n->n_malformed -
							       k->snapshot.main_malformed };
	}
	ctf_writer_close(&n->sink);
	n->sink = k->snapshot.main;
	n->n_events = k->snapshot.main_events;
	n->n_malformed = k->snapshot.main_malformed;
	/* Ids that the main trace has described stay; other classes get the next ids. */
	kernel_classes_restart(&n->classes, k->snapshot.main_described);
	kernel_profile_restart(k->profile); /* the main trace has no samples before its end */
	k->snapshot.is_open = false;
}
