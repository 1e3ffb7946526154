/* SPDX-License-Identifier: MIT */
/* A library with a lock, which a program loads and unloads. */
#include <pthread.h>

pthread_mutex_t *plugin_mutex(void);

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;

pthread_mutex_t *plugin_mutex(void)
{
	return &plugin_lock;
}
