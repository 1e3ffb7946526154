/* SPDX-License-Identifier: MIT */
/*
 * patch/open.c - a file opened and analysed, step by step; its properties.
 */
#include "patch/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/build_id.h"

static const char *const reasons[PATCH_REASONS] = {
	[PATCH_PATCHABLE] = "patchable",
	[PATCH_SHORT] = "too short for a jump",
	[PATCH_TARGET] = "a branch leads into its first bytes",
	[PATCH_LOOP] = "a loop leads to its first byte",
	[PATCH_CALL] = "its first bytes hold a call",
	[PATCH_RELATIVE] = "its first bytes cannot be moved",
	[PATCH_UNDECODED] = "holds bytes that are no known instruction",
	[PATCH_NO_UNWIND] = "no unwind information",
	[PATCH_PART] = "only jumped to: a part of another function",
	[PATCH_VARIADIC] = "variable arguments, or an address of arguments on the stack",
	[PATCH_REALIGN] = "its frame cannot be followed",
	[PATCH_ARGUMENTS] = "more than 256 bytes of arguments on the stack",
	[PATCH_RETURN] = "looks at its return address",
	[PATCH_POPS] = "removes its arguments from the stack",
	[PATCH_STACK] = "switches stacks",
	[PATCH_FLAGS] = "returns a result in the processor's flags",
	[PATCH_RESOLVER] = "resolver of an indirect function",
	[PATCH_SIGNAL] = "trampoline of signals",
	[PATCH_TWICE] = "returns twice",
	[PATCH_START] = "begins a program, a thread or a context",
	[PATCH_RSEQ] = "holds a restartable sequence",
	[PATCH_MARKED] = "a USDT mark lies in its first bytes",
	[PATCH_OWN] = "of libduet or of the dynamic loader",
	[PATCH_UNWINDER] =
		"its file has an unwinder of its own, which stubs cannot be made known to",
	[PATCH_WINDOW] = "no room for a jump around the mark",
	[PATCH_OPERAND] = "an operand that is not understood",
};

const char *patch_reason_text(enum patch_reason r)
{
	return r < PATCH_REASONS ? reasons[r] : "unknown";
}

const char *patch_kind_text(enum abi_site_kind k)
{
	static const char *const kinds[] = {
		"", "nop", "nops", "sled", "prologue", "mark", "island"
	};

	return k < sizeof kinds / sizeof *kinds ? kinds[k] : "";
}

/* ---------------------------------------------------------------- the file */

static int open_elf(struct patch_file *f, struct diag *d)
{
	GElf_Ehdr h;

	if (!elf_file_open(&f->elf, f->path))
		return diag_fail(d, -ENOEXEC, "%s: cannot be read, or is no ELF file", f->path);
	if (!gelf_getehdr(f->elf.elf, &h) || h.e_machine != EM_X86_64 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || (h.e_type != ET_EXEC && h.e_type != ET_DYN))
		return diag_fail(d, -ENOEXEC, "%s: is no program or library for x86-64", f->path);
	f->is_fixed = h.e_type == ET_EXEC;
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_build_id(struct patch_file *f, struct diag *d)
{
	char hex[ELF_BUILD_ID_HEX];

	if (!elf_build_id(f->path, hex))
		return diag_fail(d, -ENODATA,
				 "%s: has no build ID, by which a program finds its plan: link it "
				 "with -Wl,--build-id",
				 f->path);
	for (uint32_t i = 0; i < ABI_BUILD_ID_BYTES && hex[2 * i]; i++) {
		f->id[i] = (uint8_t)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
		f->id_bytes = i + 1;
	}
	snprintf(f->id_hex, sizeof f->id_hex, "%.*s", (int)(2 * f->id_bytes), hex);
	return 0;
}

static void read_soname(struct patch_file *f)
{
	GElf_Shdr h;
	Elf_Scn *scn = elf_file_table(f->elf.elf, SHT_DYNAMIC, &h);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t n = data ? data->d_size / sizeof(Elf64_Dyn) : 0;
	GElf_Dyn entry;

	for (size_t i = 0; i < n && i < INT32_MAX && gelf_getdyn(data, (int)i, &entry); i++)
		if (entry.d_tag == DT_SONAME) {
			const char *name = elf_strptr(f->elf.elf, h.sh_link, entry.d_un.d_val);

			snprintf(f->soname, sizeof f->soname, "%s", name ? name : "");
		}
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Libraries with functions that run within the hooks, or before these can. */
static bool is_own(const char *name)
{
	return !strncmp(name, "libduet", 7) || !strncmp(name, "ld-linux", 8) ||
	       !strncmp(name, "ld-2.", 5) || !strcmp(name, "ld.so");
}

/* What the dynamic symbols say about exceptions. */
struct unwinding {
	bool uses_unwinder; /* stubs can be registered with it */
	bool walks_objects; /* it looks for unwind information itself */
	bool has_handlers;
};

static void look_at_symbols(const struct patch_file *f, Elf_Scn *scn, const GElf_Shdr *h,
			    struct unwinding *u)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Sym s;

	for (int i = 0; data && gelf_getsym(data, i, &s); i++) {
		const char *name = elf_strptr(f->elf.elf, h->sh_link, s.st_name);

		if (!name)
			continue;
		u->uses_unwinder |=
			!strcmp(name, "_Unwind_RaiseException") || !strcmp(name, "_Unwind_Resume");
		u->uses_unwinder |= !strcmp(name, "_dl_find_object"); /* inproc/calls/unwinder.c */
		u->walks_objects |= s.st_shndx == SHN_UNDEF && !strcmp(name, "dl_iterate_phdr");
	}
}

/* An exception of an unwinder that does not know stubs would end the program. */
static bool has_unwinder(const struct patch_file *f)
{
	struct unwinding u = { .uses_unwinder = false };
	Elf_Scn *scn = NULL;
	size_t names = 0;
	GElf_Shdr h;

	elf_getshdrstrndx(f->elf.elf, &names);
	while ((scn = elf_nextscn(f->elf.elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &h) ? elf_strptr(f->elf.elf, names, h.sh_name) : NULL;

		if (name && h.sh_type == SHT_DYNSYM)
			look_at_symbols(f, scn, &h, &u);
		u.has_handlers |= name && !strcmp(name, ".gcc_except_table");
	}
	return u.walks_objects && u.has_handlers && !u.uses_unwinder;
}

static int analyse(struct patch_file *f, struct symbols *symbols, struct diag *d)
{
	int err = open_elf(f, d);

	if (!err)
		err = read_build_id(f, d);
	if (!err)
		err = patch_read_sections(f, d);
	if (!err)
		err = patch_read_ranges(f, d);
	if (!err)
		err = patch_read_names(f, symbols, d);
	if (err)
		return err;
	read_soname(f);
	f->is_own = is_own(f->soname) || is_own(last_component(f->path));
	f->refused = f->is_own ? PATCH_OWN : has_unwinder(f) ? PATCH_UNWINDER : PATCH_PATCHABLE;
	patch_read_pointers(f);
	patch_scan(f);
	if (f->failed)
		return diag_fail(d, -ENOMEM, "%s: no memory for its code", f->path);
	patch_sort_targets(&f->targets);
	patch_settle(f);
	err = patch_find_marks(f, d);
	return err ? err : patch_find_functions(f, d);
}

/* Data that only the analysis needs. */
static void forget(struct patch_file *f)
{
	free(f->targets.at);
	free(f->edges);
	free(f->rows);
	free(f->near_slots);
	free(f->restartable);
	free(f->resolvers);
	free(f->cies);
	f->targets = (struct patch_targets){ .n = 0 };
	f->edges = NULL;
	f->rows = NULL;
	f->near_slots = f->restartable = f->resolvers = NULL;
	f->cies = NULL;
	f->n_edges = 0;
	f->n_rows = f->n_near_slots = f->n_restartable = f->n_resolvers = f->n_cies = 0;
}

int patch_open(struct patch_file **file, const char *path, struct symbols *symbols, struct diag *d)
{
	struct patch_file *f = calloc(1, sizeof *f);
	int err;

	*file = NULL;
	if (!f || !(f->path = strdup(path))) {
		free(f);
		return diag_fail(d, -ENOMEM, "%s: no memory for its functions", path);
	}
	f->elf.fd = -1;
	ZydisDecoderInit(&f->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	err = analyse(f, symbols, d);
	forget(f);
	if (err) {
		patch_close(f);
		return err;
	}
	*file = f;
	return 0;
}

void patch_close(struct patch_file *f)
{
	if (!f)
		return;
	free(f->functions);
	free(f->ranges);
	patch_free_marks(f);
	patch_free_names(f);
	symbols_close(f->own_symbols);
	elf_file_close(&f->elf);
	free(f->path);
	free(f);
}

const char *patch_path(const struct patch_file *f)
{
	return f->path;
}

const char *patch_build_id(const struct patch_file *f)
{
	return f->id_hex;
}

const char *patch_soname(const struct patch_file *f)
{
	return f->soname;
}

uint32_t patch_functions(const struct patch_file *f, const struct patch_function **functions)
{
	*functions = f->functions;
	return f->n_functions;
}

uint32_t patch_marks(const struct patch_file *f, const struct patch_mark **marks)
{
	*marks = f->marks;
	return f->n_marks;
}
