/* SPDX-License-Identifier: MIT */
/*
 * cmd/complete.h - what may stand at the end of a command line: duet list --complete.
 *
 * completion/ has the functions of bash, zsh and fish that ask for it.
 */
#ifndef CMD_COMPLETE_H
#define CMD_COMPLETE_H

/*
 * complete_line - print the candidates for the last of @words, a line each.
 *
 * @words: @n words of a command line, of which the first is `duet`; the last may be empty.  Nothing is
 * printed where a file is expected.  Candidates that do not continue the word may be among them.
 * Returns 0: a shell shows no messages while it completes.
 */
int complete_line(int n, char *const *words);

#endif
