/* SPDX-License-Identifier: MIT */
/* A file that is cut while it is read, as by a linker that writes it anew, has no build ID then; it
 * does not end the reader by SIGBUS. */
#include "elf/build_id.h"
#include "elf/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <string.h>
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

/* Its note is sparse: all of it would be memory of the recorder. */
static void a_note_of_a_gigabyte_is_not_read(void)
{
	static const unsigned char note[] = { 4, 0, 0, 0,   4,	 0,   0, 0, NT_GNU_BUILD_ID,
					      0, 0, 0, 'G', 'N', 'U', 0, 1, 2,
					      3, 4 };
	char huge[] = "/tmp/duet-elf-test-XXXXXX", hex[ELF_BUILD_ID_HEX];
	Elf64_Phdr p = { .p_type = PT_NOTE, .p_offset = 4096, .p_align = 4 };
	Elf64_Ehdr h = { .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof h,
			 .e_ehsize = sizeof h,
			 .e_phentsize = sizeof p,
			 .e_phnum = 1 };
	int fd = mkstemp(huge);

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	is(pwrite(fd, &h, sizeof h, 0), sizeof h);
	is(pwrite(fd, note, sizeof note, 4096), sizeof note);
	for (int is_huge = 0; is_huge < 2; is_huge++) {
		p.p_filesz = is_huge ? 1 << 30 : sizeof note;
		is(pwrite(fd, &p, sizeof p, sizeof h), sizeof p);
		is(ftruncate(fd, 4096 + (off_t)p.p_filesz), 0);
		is(elf_build_id(huge, hex), !is_huge);
	}
	close(fd);
	unlink(huge);
}

int main(void)
{
	run(a_note_of_a_gigabyte_is_not_read);
	run(a_file_that_is_cut_has_no_build_id);
	return test_status();
}
