/* SPDX-License-Identifier: MIT */
/*
 * base/service.h - what a service manager and its services tell each other: sd_notify(3),
 * sd_listen_fds(3).
 *
 * The protocol is a datagram and three variables; that is no reason to depend on a library.
 */
#ifndef BASE_SERVICE_H
#define BASE_SERVICE_H

/* service_notify - "READY=1", "STOPPING=1", "STATUS=...": to $NOTIFY_SOCKET.  0 also if there is
 * none, or -errno. */
int service_notify(const char *state);

/*
 * service_listener - the socket that was opened for us (LISTEN_PID, LISTEN_FDS), close-on-exec.
 *
 * Once: the variables are removed, so that no child takes them for its own.  -ENOENT if there is
 * none, -E2BIG if there are several; another error if it is no such socket.
 */
int service_listener(void);

#endif
