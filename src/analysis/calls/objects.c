/* SPDX-License-Identifier: MIT */
/* analysis/calls/objects.c - the files of a process, from its calls file. */
#include <stdio.h>
#include <string.h>

#include "analysis/calls/internal.h"

bool fcalls_object(const struct fcalls *c, uint32_t process, uint32_t i, struct fcalls_object *o)
{
	const struct calls_file *f = c->processes[process].file;
	const struct abi_calls_object *from;

	if (!f || i >= f->n_objects)
		return false;
	from = &f->objects[i];
	*o = (struct fcalls_object){ .bias = from->bias };
	o->build_id_bytes = from->build_id_bytes < sizeof o->build_id
				    ? from->build_id_bytes
				    : (uint32_t)sizeof o->build_id;
	memcpy(o->build_id, from->build_id, sizeof o->build_id);
	snprintf(o->path, sizeof o->path, "%.*s", (int)sizeof from->path, from->path);
	return true;
}
