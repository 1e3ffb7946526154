/* SPDX-License-Identifier: MIT */
/* cmd/script/internal.h - what the files of `duet script` share. */
#ifndef CMD_SCRIPT_INTERNAL_H
#define CMD_SCRIPT_INTERNAL_H

#include "cmd/cmd.h"
#include "cmd/confine/output_file.h"
#include "cmd/selection.h"
#include "script/engine/engine.h"

enum { SCRIPT_PASS_RUN = 5 };

/* The command line. */
struct script_options {
	const char *text;	    /* -e */
	const char *file;	    /* FILE */
	struct cmd_strings also;    /* -E */
	struct cmd_strings include; /* -I */
	struct cmd_strings globals; /* -G */
	struct cmd_strings recordings;
	struct cmd_strings arguments; /* of the script */
	const char *command;
	pid_t target;
	const char *point; /* -l, -L */
	bool lists_values; /* -L */
	int pass;	   /* -p: the last one to do, 1 to 5 */
	const char *output;
	uint64_t file_bytes; /* -S; 0: one file without limit */
	uint64_t n_files;
	bool is_flight_recorder;
	uint64_t timeout_ns;
	struct script_limits limits;
	bool checks_no_overload;
	bool is_verbose, hides_warnings, warnings_are_errors, keeps_unused, skips_bad_values;
	bool is_json, interprets;
	const char *tables;  /* where tables go instead of the output */
	bool runs_no_system; /* system() is an error */
	struct moment from, to;
	const char *save;
	bool stores;	    /* tables, in the recording */
	const char *module; /* -m */
};

/* script_options - parse the command line.  OPTIONS_GO_ON, or the exit status. */
int script_options(struct script_options *o, int argc, char **argv);
/* script_limits_print - those that are not the defaults, as options: " -D MAXACTION=5". */
void script_limits_print(struct text *t, const struct script_limits *limits);

/* A script on its way from text to byte code.  All of it lies in the arena. */
struct script_front {
	struct script_arena arena;
	struct script_sources sources;
	struct script_messages messages;
	struct script_file **files;
	uint32_t n_files, n_own_files; /* own: without duet's library */
	struct script_world *world;
	struct script_live *live; /* the world, if it is the running system; else NULL */
	struct script_program *program;
	struct script_unit *unit;
};

/* The configuration of the kernel: config.c. */
struct script_config {
	struct script_arena *arena;
	const char *text; /* lines, a NUL behind each */
	size_t size;
	bool was_read;
};
/* script_config - for script_parse_options.config, with a struct script_config as context. */
const char *script_config(void *context, const char *name);

/* script_front_parse - read and parse all texts.  0, or CMD_FAILED after a message. */
int script_front_parse(struct script_front *f, const struct script_options *o);
/* script_front_has - whether the script's own texts have @word. */
bool script_front_has(const struct script_front *f, const char *word);
/* script_front_compile - check against f->world, and make byte code. */
int script_front_compile(struct script_front *f, const struct script_options *o);
/* script_front_list - -l and -L: print the points.  The exit status. */
int script_front_list(struct script_front *f, const struct script_options *o);
void script_front_fini(struct script_front *f);

/* script_module_write - -m: the compiled script's texts as one file that can be run.  0, or
 * CMD_FAILED after a message. */
int script_module_write(struct script_front *f, const struct script_options *o);

/*
 * script_confine - a script over recordings enters its sandbox; before that it opens its output, if
 * that is one file, into @output.  0, or CMD_FAILED after a message.
 */
int script_confine(const struct script_front *f, const struct script_options *o,
		   struct output_file *output);

/* Where the output of the script goes. */
struct script_output {
	const char *path; /* NULL: standard output */
	int fd;
	char *bytes; /* not yet written; with -F a ring of the newest */
	size_t size, room, at;
	uint64_t file_bytes, n_files, written, file; /* -S; written: into this file */
	bool is_ring;
	int err; /* the first error, as -errno */
};
/* @file: opened before; or with the path NULL. */
int script_output_open(struct script_output *out, const struct script_options *o,
		       struct output_file *file);
void script_output_write(struct script_output *out, const char *bytes, size_t size);
void script_output_flush(struct script_output *out); /* nothing with -F */
void script_output_dump(struct script_output *out);  /* -F: what is kept */
/* script_output_close - 0, or CMD_FAILED after a message. */
int script_output_close(struct script_output *out);

/* script_run - run it on the system or the recordings.  The exit status. */
int script_run(const struct script_options *o);

#endif
