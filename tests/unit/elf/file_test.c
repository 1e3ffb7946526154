/* SPDX-License-Identifier: MIT */
/* A file that is cut while it is read, as by a linker that writes it anew, has no build ID then; it
 * does not end the reader by SIGBUS. */
#include "elf/build_id.h"
#include "elf/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static char path[] = "/tmp/duet-elf-test-XXXXXX";

static void copy_this_program(void)
{
	int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
	char bytes[65536];
	ssize_t n;

	ok(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof bytes)) > 0)
		is(write(to, bytes, (size_t)n), n);
	close(from);
	close(to);
}

static void a_file_that_is_cut_has_no_build_id(void)
{
	char whole[ELF_BUILD_ID_HEX], cut[ELF_BUILD_ID_HEX];
	struct elf_file f;

	copy_this_program();
	ok(elf_build_id(path, whole));
	ok(elf_file_open(&f, path));
	is(truncate(path, 0), 0);
	ok(!elf_build_id_of(f.elf, cut));
	elf_file_close(&f);
	ok(!elf_build_id(path, cut));
	unlink(path);
}

int main(void)
{
	run(a_file_that_is_cut_has_no_build_id);
	return test_status();
}
