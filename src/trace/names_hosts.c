/* SPDX-License-Identifier: MIT */
/*
 * trace/names_hosts.c - numbers the hosts of sources.
 *
 * Keys of threads have the number of their host.  So it must not change when the sources of a host are
 * forgotten, and new ones come: hosts are kept by name.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "trace/names_internal.h"

static bool number_host(struct names *n, const char *name, uint32_t *number)
{
	char **bigger;

	for (*number = 0; *number < n->n_hosts; ++*number)
		if (!strcmp(n->host_names[*number], name))
			return true;
	bigger = reallocarray(n->host_names, n->n_hosts + (size_t)1, sizeof *bigger);
	if (!bigger)
		return false;
	n->host_names = bigger;
	bigger[n->n_hosts] = strdup(name);
	return bigger[n->n_hosts] && ++n->n_hosts;
}

bool names_number_hosts(struct names *n, const struct trace *t, uint32_t first)
{
	for (uint32_t i = first; i < trace_n_sources(t); i++)
		if (!number_host(n, trace_source(t, i)->hostname, &n->hosts[i]))
			return false;
	return true;
}

uint32_t names_host(const struct names *n, uint32_t source)
{
	assert(source < n->n_sources);
	return n->hosts[source];
}

void names_free_hosts(struct names *n)
{
	for (uint32_t i = 0; i < n->n_hosts; i++)
		free(n->host_names[i]);
	free(n->host_names);
}
