/* SPDX-License-Identifier: MIT */
/*
 * collect/session/tenant.h - a tenant: another user, on this machine or in a container, whose
 * programs our session records through that user's own runtime directory.
 *
 * The tenant may change that directory at any time.  Therefore, always:
 *
 *   (1) we hold the directory by a descriptor and follow no path that the tenant could make
 *   (2) files in it are created with its owner's file system identity: owner_begin
 *   (3) one process serves one tenant, so a stall, a full disk or a crash hurts that tenant only
 *
 * docs/design/tenants.md
 */
#ifndef COLLECT_SESSION_TENANT_H
#define COLLECT_SESSION_TENANT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collect/session/container.h"

#define TENANT_PAYER_UNKNOWN ((uid_t)-1)

enum { TENANT_LABEL_BYTES = CONTAINER_BYTES + 17 };

struct tenant {
	int dir;   /* the tenant's runtime directory */
	uid_t uid; /* in our user namespace */
	gid_t gid;
	unsigned number; /* the N of its name duet-N: the user id inside its namespace */
	unsigned turn;	 /* from 2 on: an earlier tenant of this recording had the same label */
	char container[CONTAINER_BYTES]; /* container's name; "": a user of this machine */
	uid_t payer; /* user that made the outermost user namespace of its programs; 0: root, or
		      * no such namespace; TENANT_PAYER_UNKNOWN: no program of it was found */
};

/*
 * tenant_label - "1000" or "docker-3f2a9c01b2c3:0"; the second tenant of that label gets "1000.2".
 */
void tenant_label(const struct tenant *t, char label[TENANT_LABEL_BYTES]);

/*
 * tenant_session_name - the name of a tenant's session in our runtime directory: "default@1000" for
 * session "default".  False if it does not fit.
 */
bool tenant_session_name(const struct tenant *t, const char *session, char *name, size_t size);

/* The owner of directory @dir; (uid_t)-1 if it cannot be read. */
uid_t owner_of(int dir);

/* A file system identity: checked when files are opened, and the owner of files created. */
struct rights {
	uid_t uid;
	gid_t gid;
};

/*
 * rights_take - set this thread's file system identity to @r; works for root only.
 *
 * Returns the identity before.  Keeps errno.
 *
 * owner_begin - take the identity of the owner of directory @dir.
 *
 * owner_end - restore the identity @before.
 */
struct rights rights_take(struct rights r);
struct rights owner_begin(int dir);
void owner_end(struct rights before);

#endif
