/* SPDX-License-Identifier: MIT */
/*
 * check/check.c - the checker from end to end.
 *
 * It allocates from the script's arena alone, so running out of memory leaves everything at once, by
 * longjmp, to a single place.  Only the kernel's types lie outside it, and are closed there.
 */
#include "bpf/types.h"
#include "script/check/internal.h"

static void check_all(struct check *c, struct script_file *const *files, uint32_t n_files)
{
	uint32_t errors = c->m->n_errors;

	check_declare(c, files, n_files);
	check_probes(c, files, n_files);
	for (uint32_t i = 0; i < c->n_scopes; i++) /* grows: functions call functions */
		if (c->scopes[i]->function)
			check_resolve(c, c->scopes[i]);
	if (c->m->n_errors == errors && !c->n_probes)
		semantic(c, (struct script_place){ 0 }, "the script has no probe");
	if (c->m->n_errors != errors)
		return;
	check_use(c);
	check_types(c);
	if (c->m->n_errors != errors)
		return;
	check_fold(c);
	check_prune(c);
	check_finish(c);
}

int script_check(struct script_program **program, struct script_file *const *files,
		 uint32_t n_files, struct script_sources *sources, struct script_world *world,
		 const struct script_check_options *o, struct script_messages *m)
{
	static const struct script_check_options defaults;
	struct check c = { .arena = sources->arena,
			   .sources = sources,
			   .world = world,
			   .options = o ? o : &defaults,
			   .m = m };
	uint32_t errors = m->n_errors;
	struct btf_types types = { .at = NULL };
	int why = setjmp(c.full);

	*program = NULL;
	c.types = &types;
	if (why) {
		btf_types_close(&types);
		return why == 1 ? -ENOMEM : -EINVAL;
	}
	c.program = check_allocate(&c, sizeof *c.program);
	*c.program =
		(struct script_program){ .arena = c.arena, .sources = sources, .world = world };
	check_all(&c, files, n_files);
	btf_types_close(&types);
	if (m->n_errors != errors)
		return -EINVAL;
	*program = c.program;
	return 0;
}
