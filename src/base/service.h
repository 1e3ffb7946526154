/* SPDX-License-Identifier: MIT */
/*
 * base/service.h - the protocol of a service manager: sd_notify(3), sd_listen_fds(3).
 *
 * It is one datagram and three variables, which does not justify a library.
 */
#ifndef BASE_SERVICE_H
#define BASE_SERVICE_H

/* service_notify - send "READY=1", "STOPPING=1", "STATUS=..." to $NOTIFY_SOCKET.  Returns 0, also
 * if there is no such socket; or -errno. */
int service_notify(const char *state);

/*
 * service_listener - the listening socket that the manager passed (LISTEN_PID, LISTEN_FDS), set
 * close-on-exec.
 *
 * Call it once: it removes the variables, so that no child uses them.  -ENOENT: there is none;
 * -E2BIG: there are several; -EINVAL or another error: it is no listening socket.
 */
int service_listener(void);

#endif
