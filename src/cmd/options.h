/* SPDX-License-Identifier: MIT */
/*
 * cmd/options.h - the options of a verb as rows of a table.
 *
 * One row has an option's names, its help, the verbs that accept it, and the field that it sets or
 * the function that takes its value.  getopt_long's arrays and the help text come from the rows.
 * Invariants:
 *
 *   (1) of the rows that one verb accepts, no two have the same name or letter
 *   (2) a field that a row sets has the type of the row's kind: the macros below check it
 *   (3) the help lists every option that the verb accepts, in the order of the rows; headings stand
 *       before the rows that they name, examples before all
 *
 * Several verbs can share one table.  A row whose help differs between verbs is written once for
 * each text, with the verbs of that text.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/cmd.h"

enum option_kind {
	OPTION_FLAG,	/* bool: becomes true */
	OPTION_TEXT,	/* const char *: becomes the value, which argv owns */
	OPTION_SIZE,	/* uint64_t: bytes */
	OPTION_TIME,	/* uint64_t: nanoseconds */
	OPTION_STRINGS, /* struct cmd_strings: gets the value as one more */
	OPTION_TAKE,	/* a function takes the value */
	OPTION_ALIAS,	/* another name for the option of the row above */
};

/* An option in argv, for the function that takes it. */
struct option_value {
	const char *verb;
	char *text; /* the value, in argv; NULL if the option has none */
	void *part; /* options.parts[row->part] */
	int detail; /* of the row */
};

/* option_take - take the value.  Returns 0, or CMD_FAILED after it printed why not. */
typedef int option_take(const struct option_value *v);

struct option_row {
	const char *name;     /* long form, without the dashes */
	const char *argument; /* as the help shows it; NULL: the option has none */
	const char *help;     /* lines, with '\n' between them */
	option_take *take;    /* OPTION_TAKE */
	size_t offset;	      /* of the field in its part; unless OPTION_TAKE */
	int detail;	      /* passed to take */
	unsigned verbs;	      /* bit mask of the verbs that accept it */
	uint8_t part;	      /* index in options.parts */
	uint8_t kind;	      /* enum option_kind */
	char letter;	      /* short form; 0: none */
};

/* A line of the help before the row @name, unless the same text stands above already. */
struct option_heading {
	const char *name, *text;
};

struct option_table {
	const struct option_row *rows;
	int n;
	const struct option_heading *headings; /* in the order of the rows; or NULL */
	int n_headings;
};

enum { OPTIONS_MAX = 96, OPTIONS_TABLES = 4, OPTIONS_PARTS = 8, OPTIONS_GO_ON = -1 };

/* The options of one verb. */
struct options {
	const char *verb;
	unsigned bit;	      /* of this verb in option_row.verbs */
	const char *usage;    /* the help above the options */
	const char *examples; /* commands, below that; or NULL */
	const char *notes;    /* the help below the options; or NULL */
	bool has_command;     /* options end at the first argument, which is a command */
	const struct option_table *tables[OPTIONS_TABLES]; /* in the order of the help; or NULL */
	void *parts[OPTIONS_PARTS]; /* the structures whose fields are set; lent */
};

/*
 * options_parse - take all options of @argv; afterwards optind is at the first argument.
 *
 * Each verb has --help and -h as well.  Returns OPTIONS_GO_ON, or the exit status: 0 after the
 * help, CMD_FAILED after a message.
 */
int options_parse(const struct options *o, int argc, char **argv);

struct option;
/*
 * options_refuse - print which option of @argv getopt_long() did not accept, and the nearest one.
 *
 * @c: what getopt_long() returned: '?' or ':'.  @options: its long options.  For verbs with a loop of
 * their own.  Returns CMD_FAILED.
 */
int options_refuse(const char *verb, int c, const struct option *options, char *const *argv);

/* A row's target, for the initialiser of a struct option_row. */
#define OPTION_FIELD(KIND, PART, type, tag, member)                                                \
	.kind = KIND, .part = PART,                                                                \
	.offset = offsetof(struct tag, member) +                                                   \
		  0 * sizeof(struct {                                                              \
			  _Static_assert(__builtin_types_compatible_p(                             \
						 __typeof__(((struct tag *)0)->member), type),     \
					 "the field has the type of the row's kind");              \
			  char unused;                                                             \
		  })
#define OPTION_CALL(PART, FUNCTION, DETAIL)                                                        \
	.kind = OPTION_TAKE, .part = PART, .take = FUNCTION, .detail = DETAIL

#endif
