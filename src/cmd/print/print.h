/* SPDX-License-Identifier: MIT */
/*
 * cmd/print/print.h - the only way from duet to a terminal, beside struct out (trace/text/output.h).
 *
 * Names and values come from other users' programs, from recordings and from other hosts.  On a
 * terminal a byte of them could move the cursor, change the title, hide text or answer questions.
 * So this always holds:
 *
 *   (1) a %s of print_out() and print_err() is escaped (text_shown_length): no control character,
 *       also no newline, leaves it; only the format, a literal of ours, prints those
 *   (2) a text of several lines that duet composed keeps its newlines and tabs, and nothing else
 *   (3) no other file of src calls printf(), fputs(), fwrite() or write() for a terminal: the
 *       test prints_go_one_way
 *
 * So a new verb need not think about it.  The width of %s counts characters, its precision bytes.
 */
#ifndef CMD_PRINT_PRINT_H
#define CMD_PRINT_PRINT_H

#include <stdbool.h>
#include <stddef.h>

/* print_out, print_err - printf() on standard output, on standard error; see (1). */
void print_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_err(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * print_own - print @text as it is.  For constant texts: help, colours, movements of the cursor.
 * Returns 0, the exit status of a verb that prints its help.
 */
int print_own(const char *text);
int print_own_err(const char *text);

/* print_lines - print a text of several lines that duet composed; see (2). */
void print_lines(const char *text, size_t size);
void print_lines_err(const char *text, size_t size);

/* print_message - print "duet VERB: @text" and a newline on standard error.  @verb: NULL: "duet: ".
 * Newlines before two blanks are kept: a message may have a second line. */
void print_message(const char *verb, const char *text);

/* print_reason - print a reason (struct diag), without a newline behind it.  Newlines as above. */
void print_reason(const char *text);
void print_reason_err(const char *text);

/*
 * print_data - print text for programs, as JSON: as it is, unless a terminal or a pager shows it: then
 * as print_lines.
 */
void print_data(const char *text, size_t size);

/*
 * print_flush - write all that was printed on standard output.  Returns 0 or -errno, also for an earlier
 * write, unless the reader of a pipe went away then.
 */
int print_flush(void);
/* print_close - write it, and close standard output.  Errors are forgotten. */
void print_close(void);

#endif
