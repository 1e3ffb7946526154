/* SPDX-License-Identifier: MIT */
/*
 * collect/tenant/tenant.h - a tenant: another user, here or in a container, whose programs a
 * session of ours serves, in his own runtime directory.
 *
 * He may do in that directory what he likes, at any time.  So, always:
 *
 *   (1) it is known by its descriptor; no path of its owner's making is followed to it or in it
 *   (2) what is made in it is made with its owner's rights and in his name: owner_begin
 *   (3) one process serves one tenant: what stalls, fills or breaks it is his own loss
 *
 * docs/design/tenants.md
 */
#ifndef COLLECT_TENANT_TENANT_H
#define COLLECT_TENANT_TENANT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collect/tenant/container.h"

enum { TENANT_LABEL_BYTES = CONTAINER_BYTES + 17 };

struct tenant {
	int dir;   /* his runtime directory */
	uid_t uid; /* as we see him */
	gid_t gid;
	unsigned number; /* what it is called by: duet-NUMBER, as he sees himself */
	unsigned turn;	 /* from 2 on: others were called the same before, in this recording */
	char container[CONTAINER_BYTES]; /* a word; "": none, a user of this machine */
	uid_t maker; /* of the container's user namespace; 0: it has none, or root made it */
};

/* tenant_label - "1000", or "docker-3f2a9c01b2c3:0"; the second of that name "1000.2". */
void tenant_label(const struct tenant *t, char label[TENANT_LABEL_BYTES]);

/* tenant_session_name - what the session @session of a tenant is called where we are asked about
 * it: "default@1000".  False if it does not fit. */
bool tenant_session_name(const struct tenant *t, const char *session, char *name, size_t size);

/* Who owns the directory @dir; (uid_t)-1 if that cannot be seen. */
uid_t owner_of(int dir);

/* With whose rights files are opened and made, and whose they are then. */
struct rights {
	uid_t uid;
	gid_t gid;
};

/* rights_take - those of @r, if we may: root only.  Returns those of before; of the calling thread.
 * errno stays. owner_begin - those of the owner of the directory @dir. owner_end - those of before.
 */
struct rights rights_take(struct rights r);
struct rights owner_begin(int dir);
void owner_end(struct rights before);

#endif
