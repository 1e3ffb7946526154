/* SPDX-License-Identifier: MIT */
/* cmd/cut_files.c - a handler of SIGBUS that fills lacking pages: cmd/cmd.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic.h"
#include "cmd/cmd.h"

static long page_bytes;
static uint64_t n_pages;

/* Maps a page of zeros in place of the one that is lacking.  A signal that another process sent, and
 * failing memory, have their default effect. */
static void fill_page(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr & ~(uintptr_t)(page_bytes - 1);
	int err = errno;

	(void)context;
	if (info->si_code != BUS_ADRERR ||
	    mmap((void *)at, (size_t)page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		signal(signal_number, SIG_DFL); /* it occurs again at once */
	else
		__atomic_fetch_add(&n_pages, 1, __ATOMIC_RELAXED);
	errno = err;
}

void cut_files_survive(void)
{
	const struct sigaction act = { .sa_sigaction = fill_page, .sa_flags = SA_SIGINFO };

	page_bytes = sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &act, NULL);
}

int cut_files_status(const char *verb, int status)
{
	uint64_t n = load(&n_pages);

	if (!n)
		return status;
	cmd_error(verb,
		  "a file was cut while it was read, or a disk failed: %" PRIu64
		  " pages were missing and read as zeros\n"
		  "  do not rely on what was shown; run it again when the file does not change",
		  n);
	return status ? status : 1;
}

void cut_files_forget(void)
{
	store(&n_pages, 0);
}
