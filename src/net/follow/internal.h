/* SPDX-License-Identifier: MIT */
/* net/follow/internal.h - shared by the reader's side (replica.c) and the receiving process (copier.c). */
#ifndef NET_FOLLOW_INTERNAL_H
#define NET_FOLLOW_INTERNAL_H

#include <limits.h>

#include "net/follow/replica.h"
#include "net/message.h"

/* Shared memory of the receiving process and the reader. */
struct replica_shared {
	uint32_t state;	   /* enum replica_state */
	uint32_t is_ready; /* the copy may be read */
	uint32_t grew;	   /* the recording grew when it was opened */
	uint32_t starves;  /* set by the reader; cleared with each allowance */
	char name[MESSAGE_NAME + 1], path[PATH_MAX]; /* written before is_ready */
	struct diag why;			     /* written before the state that it explains */
};

/* The receiving process. */
struct copier {
	const struct replica_options *o;
	struct replica_shared *shared;
	struct tls_context *keys;
	int control, dir;
	const char *dir_path;
	bool is_over, was_welcome;
	uint64_t from_ns, last_read_ns, trim_due_ns, pause_due_ns;
	uint64_t known_ns;	   /* up to when the relay was complete at the first connection */
	uint64_t disk_bytes;	   /* on the disk, as last measured */
	uint64_t unmeasured_bytes; /* received since then */
	uint64_t allowance_bytes;  /* bytes that may be received although the copy is full */
	char list[sizeof((struct diag *)0)->text];
	uint32_t n_listed;
};

/* copier_run - receive until the pipe `control` closes, then remove the copy and end the process. */
_Noreturn void copier_run(struct copier *c);

#endif
