/* SPDX-License-Identifier: MIT */
/*
 * script/kernel/site_function.c - the program of a function of the kernel is loaded and attached.
 *
 * An entry is a kprobe.  A return is taken at the exit of the function's trampoline (fexit): a
 * kretprobe sees only as many calls at once as it has rooms, ten on a machine with up to five CPUs,
 * so of a function that waits it would see few.  A kretprobe is left for handlers that read
 * registers or stacks, and for functions that have no trampoline; Linux counts its misses since 6.7.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "script/kernel/live.h"

enum { RETURN_BIT = 1 };

static int kprobe_type(void)
{
	char text[32];

	return io_read_file("/sys/bus/event_source/devices/kprobe/type", text, sizeof text) <= 0
		       ? -ENOENT
		       : atoi(text);
}

static int attach_kprobe(struct kernel_site *site, struct diag *d)
{
	int type = kprobe_type(), event;
	struct perf_event_attr a = { .size = sizeof a,
				     .config = site->point->is_return ? RETURN_BIT : 0 };

	if (type < 0)
		return diag_fail(
			d, -ENOTSUP,
			"kernel.function(\"%s\") needs kprobes, which this kernel was built "
			"without (CONFIG_KPROBES)",
			site->point->name);
	a.type = (uint32_t)type;
	a.kprobe_func = (uintptr_t)site->point->name;
	event = kernel_site_event(&a, -1, 0);
	return event < 0 ? event : kernel_site_event_attach(site, event, 0);
}

/* Whether no value needs a kretprobe's context. */
static bool can_exit(const struct kernel_site *site)
{
	if (!site->point->is_return || !site->point->btf_id)
		return false;
	for (uint32_t i = 0; i < site->n; i++)
		for (uint32_t j = 0; j < site->sections[i]->capture.n; j++) {
			const struct kernel_fetch *f = &site->sections[i]->capture.fetches[j];

			if (f->base == FETCH_REGISTER || f->what == FETCH_STACK)
				return false;
		}
	return true;
}

static int try_exit(struct kernel_source *s, struct kernel_site *site)
{
	int err, link;

	site->is_exit = true;
	err = kernel_site_load(s, site, BPF_TRACE_FEXIT, NULL);
	link = err ? err : bpf_attach_raw(NULL, site->program);
	err = link < 0 ? link : kernel_site_keep(site, link);
	if (err) {
		kernel_site_free(site);
		site->is_exit = false;
	}
	return err;
}

/* Functions of a pattern that are gone since the start, or that the kernel does not let be probed. */
static bool is_refusal(int err)
{
	return err == -EINVAL || err == -ENOENT || err == -EADDRNOTAVAIL || err == -EILSEQ ||
	       err == -EOPNOTSUPP;
}

int kernel_site_function(struct kernel_source *s, struct kernel_site *site, struct diag *d)
{
	int err = can_exit(site) ? try_exit(s, site) : -ENOENT;

	if (!err || err == -ENOMEM)
		return err;
	err = kernel_site_load(s, site, 0, d);
	if (err)
		return err;
	if (d)
		d->text[0] = 0;
	err = attach_kprobe(site, d);
	if (err && site->point->pattern && is_refusal(err)) {
		kernel_site_free(site);
		site->is_left_out = true;
		return 0;
	}
	if (err && d && !d->text[0])
		return diag_fail(d, err, "cannot attach %s: %s",
				 s->probes[site->sections[0]->probes[0]]->point.text,
				 is_refusal(err) ? "the kernel does not let this function be probed"
						 : strerror(-err));
	return err;
}

uint64_t kernel_function_missed(struct kernel_site *site)
{
	uint64_t n;

	if (site->point->kind == KIND_FUNCTION && !site->is_exit && site->n_links &&
	    !bpf_kprobe_missed(site->links[0], &n))
		site->n_missed = n;
	return site->n_missed;
}

/* ---------------------------------------------------------------- patterns */

static bool is_first_of(const struct kernel_source *s, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (s->sites[j]->point->pattern &&
		    !strcmp(s->sites[j]->point->pattern, s->sites[i]->point->pattern))
			return false;
	return true;
}

int kernel_functions_note(struct kernel_source *s, struct diag *d)
{
	char text[400];

	for (uint32_t i = 0; i < s->n_sites; i++) {
		const char *pattern = s->sites[i]->point->pattern, *name = NULL;
		uint32_t n = 0, n_out = 0;

		if (!pattern || !is_first_of(s, i))
			continue;
		for (uint32_t j = i; j < s->n_sites; j++) {
			const struct kernel_site *site = s->sites[j];

			if (!site->point->pattern || strcmp(site->point->pattern, pattern) != 0)
				continue;
			n++;
			n_out += site->is_left_out;
			name = site->is_left_out && !name ? site->point->name : name;
		}
		if (n_out && n_out == n)
			return diag_fail(
				d, -ENOENT,
				"kernel.function(\"%s\"): the kernel lets none of these %u "
				"functions be probed",
				pattern, n);
		snprintf(text, sizeof text,
			 "kernel.function(\"%s\"): the kernel does not let %u of %u functions be "
			 "probed: %s%s left out",
			 pattern, n_out, n, name ? name : "",
			 n_out > 1 ? " and others are" : " is");
		if (n_out && s->k->options.warn)
			s->k->options.warn(s->k->options.context, text);
	}
	return 0;
}
