/* SPDX-License-Identifier: MIT */
/* script/kernel/maps.c - the maps of a source: rings, shared memory, counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "script/kernel/live.h"

enum { RING_BYTES = 4 << 20, RING_BYTES_MIN = 1 << 16, RING_BYTES_MAX = 1 << 28 };

static size_t ring_bytes(uint64_t wanted)
{
	size_t size = RING_BYTES_MIN;

	if (!wanted)
		return RING_BYTES;
	while (2 * size <= wanted && 2 * size <= RING_BYTES_MAX)
		size *= 2;
	return size;
}

static void *map_memory(int fd, size_t size, struct diag *d)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED)
		return p;
	diag_errno(d, "cannot map a BPF map of %zu bytes", size);
	return NULL;
}

static int make_rings(struct kernel_source *s, struct diag *d)
{
	struct bpf_map_spec spec = { .name = "duet_rings",
				     .type = BPF_MAP_TYPE_ARRAY,
				     .key_size = 4,
				     .n = (uint32_t)s->n_cpus,
				     .flags = BPF_F_MMAPABLE };

	s->ring_bytes = ring_bytes(s->k->options.ring_bytes);
	s->ring_stride = sizeof(struct kernel_ring) + s->ring_bytes + RING_SLACK;
	spec.value_size = (uint32_t)s->ring_stride;
	s->rings_map = bpf_map_create(&spec, d);
	if (s->rings_map < 0)
		return s->rings_map;
	s->rings = map_memory(s->rings_map, s->ring_stride * (size_t)s->n_cpus, d);
	return s->rings ? 0 : -ENOMEM;
}

static int make_control(struct kernel_source *s, struct diag *d)
{
	const struct bpf_map_spec spec = { .name = "duet_control",
					   .type = BPF_MAP_TYPE_ARRAY,
					   .key_size = 4,
					   .value_size = s->control_bytes,
					   .n = 1,
					   .flags = BPF_F_MMAPABLE };

	s->control_map = bpf_map_create(&spec, d);
	if (s->control_map < 0)
		return s->control_map;
	s->control = map_memory(s->control_map, s->control_bytes, d);
	return s->control ? 0 : -ENOMEM;
}

/* Puts the value before anything is counted into the only element, for all CPUs. */
static int clear_single(const struct kernel_source *s, const struct kernel_count *c, int map)
{
	uint8_t *values = malloc((size_t)c->n_copies * c->value_bytes);
	uint32_t zero = 0;
	int err = values ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < c->n_copies; i++)
		memcpy(values + (size_t)i * c->value_bytes, s->control + c->start_at,
		       c->value_bytes);
	err = err ? err : bpf_map_put(map, &zero, values, BPF_ANY);
	free(values);
	return err;
}

int kernel_count_clear(const struct kernel_source *s, const struct kernel_count *c, int map)
{
	return c->n_keys ? 0 : clear_single(s, c, map);
}

/* Elements of a hash are allocated here: at an event that could fail.  One value for all CPUs,
 * because values for each CPU take the kernel a third of a second to allocate. */
static int make_map(const struct kernel_source *s, const struct kernel_count *c, struct diag *d)
{
	const struct bpf_map_spec spec = { .name = "duet_count",
					   .type = c->n_keys ? BPF_MAP_TYPE_HASH
							     : BPF_MAP_TYPE_PERCPU_ARRAY,
					   .key_size = c->n_keys ? c->key_bytes : 4,
					   .value_size = c->value_bytes,
					   .n = kernel_count_entries(s, c->variable) };
	int map = bpf_map_create(&spec, d);
	int err = map < 0 ? map : kernel_count_clear(s, c, map);

	if (err && map >= 0)
		close(map);
	return err ? err : map;
}

static int make_count(const struct kernel_source *s, struct kernel_count *c, struct diag *d)
{
	uint64_t *start = (uint64_t *)(s->control + c->start_at);

	if (c->variable->type == SCRIPT_STATS) {
		start[2] = INT64_MAX; /* the least, and the greatest */
		start[3] = (uint64_t)INT64_MIN;
	}
	for (int i = 0; i < 2; i++) {
		c->maps[i] = make_map(s, c, d);
		if (c->maps[i] < 0)
			return c->maps[i];
	}
	return 0;
}

/* ---------------------------------------------------------------- waiting */

static int make_wait(struct kernel_source *s, struct diag *d)
{
	struct bpf_map_spec spec = { .name = "duet_wait",
				     .type = BPF_MAP_TYPE_ARRAY,
				     .key_size = 4,
				     .value_size = 8,
				     .n = 1 };

	s->a_map = bpf_map_create(&spec, d);
	if (s->a_map < 0)
		return s->a_map;
	spec.type = BPF_MAP_TYPE_ARRAY_OF_MAPS;
	spec.value_size = 4;
	spec.inner = s->a_map;
	s->wait_map = bpf_map_create(&spec, d);
	return s->wait_map < 0 ? s->wait_map : 0;
}

int kernel_wait_programs(const struct kernel_source *s)
{
	uint32_t zero = 0, fd = (uint32_t)s->a_map;

	return bpf_map_put(s->wait_map, &zero, &fd, BPF_ANY);
}

int kernel_maps_make(struct kernel_source *s, struct diag *d)
{
	bool has_records = false;
	int err;

	for (uint32_t i = 0; i < s->n_probes; i++)
		has_records |= !s->of[i]->is_folded;
	err = make_control(s, d);
	if (!err && has_records)
		err = make_rings(s, d);
	if (!err && s->n_counts)
		err = make_wait(s, d);
	for (uint32_t i = 0; !err && i < s->n_counts; i++)
		err = make_count(s, &s->counts[i], d);
	return err;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void kernel_maps_free(struct kernel_source *s)
{
	if (s->rings)
		munmap(s->rings, s->ring_stride * (size_t)s->n_cpus);
	if (s->control)
		munmap(s->control, s->control_bytes);
	s->rings = s->control = NULL;
	shut(&s->rings_map);
	shut(&s->control_map);
	shut(&s->wait_map);
	shut(&s->a_map);
	for (uint32_t i = 0; i < s->n_counts; i++) {
		shut(&s->counts[i].maps[0]);
		shut(&s->counts[i].maps[1]);
	}
}
