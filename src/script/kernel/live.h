/* SPDX-License-Identifier: MIT */
/* script/kernel/live.h - the parts of a running source, for source.c. */
#ifndef SCRIPT_KERNEL_LIVE_H
#define SCRIPT_KERNEL_LIVE_H

#include "bpf/object.h"
#include "script/kernel/emit.h"

/* maps.c */
int kernel_maps_make(struct kernel_source *s, struct diag *d);
void kernel_maps_free(struct kernel_source *s);

/* Makes a map of one element as it was when nothing was counted; a hash is emptied when it is read. */
int kernel_count_clear(const struct kernel_source *s, const struct kernel_count *c, int map);
/* kernel_wait_programs - until no program runs that began before: the kernel does so whenever a map
 * is put into a map of maps.  Some 10 ms.  0 or -errno. */
int kernel_wait_programs(const struct kernel_source *s);

/* site.c */
int kernel_site_attach(struct kernel_source *s, uint32_t i, struct diag *d);
/* The parts of it: the program is loaded; a link is kept until the detach, or closed if that fails;
 * a perf event is opened; a program is attached to one, which is kept.  0 (a descriptor) or -errno. */
int kernel_site_load(struct kernel_source *s, struct kernel_site *site, uint32_t attach,
		     struct diag *d);
int kernel_site_keep(struct kernel_site *site, int fd);
struct perf_event_attr;
int kernel_site_event(struct perf_event_attr *a, pid_t pid, int cpu);
int kernel_site_event_attach(struct kernel_site *site, int event, uint64_t cookie);
void kernel_site_detach(struct kernel_site *site); /* its program stays, for its statistics */
void kernel_site_free(struct kernel_site *site);   /* accepts NULL */
/* kernel_site_calls - fills the tables of a site of system calls. */
void kernel_site_calls(struct kernel_source *s, const struct kernel_site *site);

/* site_function.c: the program of a function of the kernel is loaded and attached.
 * kernel_function_missed - the number of returns that its probe has missed, up to its detachment. */
int kernel_site_function(struct kernel_source *s, struct kernel_site *site, struct diag *d);
uint64_t kernel_function_missed(struct kernel_site *site);
/* kernel_functions_note - a message about functions of patterns that were left out; -ENOENT if that are
 * all of one. */
int kernel_functions_note(struct kernel_source *s, struct diag *d);

/* reader.c */
void kernel_readers_begin(struct kernel_source *s);
/* The oldest record that is complete; NULL: none.  @time_ns: on the session's clock. */
const uint64_t *kernel_read(struct kernel_source *s, int64_t *time_ns, int *cpu);
void kernel_read_done(struct kernel_source *s, int cpu);

/* frame.c */
void kernel_frame(struct kernel_source *s, const struct script_probe *p,
		  const struct kernel_section *section, const uint64_t *record, int64_t time_ns,
		  int cpu);

/* words.c: @numbers: the call's, then six arguments; @texts: those of paths, NULL: not read. */
void kernel_words(struct kernel_source *s, struct text *to, const int64_t *numbers,
		  const char *const *texts, const size_t *sizes, uint32_t n_texts);

/* symbols.c.  kernel_symbols_note - read the mappings of process @pid while it runs.
 * kernel_symbol_text - as script_source_ops.symbol. */
void kernel_symbols_note(struct kernel_source *s, int64_t pid);
void kernel_symbol_text(struct script_source_of *source, int64_t pid, uint64_t address, char what,
			struct text *to);
void kernel_symbols_free(struct kernel_symbols *y); /* accepts NULL */

/* merge.c: the counts so far into the machine. */
int kernel_merge(struct kernel_source *s, struct diag *d);

/* guard.c: 0, or -EDQUOT with the reason: the programs take too much time, and are detached. */
int kernel_guard(struct kernel_source *s, struct diag *d);
void kernel_guard_end(struct kernel_source *s);

#endif
