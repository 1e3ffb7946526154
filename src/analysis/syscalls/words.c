/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/words.c - flags, commands, signals, errors and strings as text: see text.h and
 * words.h.
 */
#include "analysis/syscalls/words.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>

enum { MAX_ERRNO = 4095 }; /* results -1 to -4095 are errors: the kernel's IS_ERR_VALUE */

/* ---------------------------------------------------------------- names */

const char *call_name_of(const struct call_name *names, uint64_t value)
{
	while (names->name && names->value != value)
		names++;
	return names->name;
}

void call_one(struct text *t, const struct call_name *names, int64_t value, uint8_t size_bits)
{
	uint64_t bits = bits_of(value, size_bits);
	const char *name = NULL;

	for (const struct call_name *n = names; n->name && !name; n++)
		if (bits_of((int64_t)n->value, size_bits) == bits)
			name = n->name;
	if (name)
		add(t, name);
	else if (value > -4096 && value < 4096)
		add_signed(t, value);
	else
		add_hex(t, bits);
}

/* The name that covers most bits of @value and no others; of several the lowest. */
static const struct call_name *largest_in(const struct call_name *names, uint64_t value)
{
	const struct call_name *best = NULL;

	for (; names->name; names++) {
		int n = __builtin_popcountll(names->value),
		    most = best ? __builtin_popcountll(best->value) : 0;

		if ((names->value & ~value) == 0 &&
		    (n > most || (n == most && best && names->value < best->value)))
			best = names;
	}
	return best;
}

/* Appends names in the order of their values, then the rest as a number. Returns false if there was
 * nothing. */
static bool add_flags(struct text *t, const struct call_name *names, uint64_t value,
		      const char *before)
{
	const struct call_name *found[64];
	int n = 0;

	for (const struct call_name *f; value && (f = largest_in(names, value));
	     value &= ~f->value) {
		int i = n++;

		for (; i && found[i - 1]->value > f->value; i--)
			found[i] = found[i - 1];
		found[i] = f;
	}
	assert(n <= 64); /* each name takes at least one bit */
	for (int i = 0; i < n; i++) {
		add(t, before);
		add(t, found[i]->name);
		before = "|";
	}
	if (value) {
		add(t, before);
		add_hex(t, value);
	}
	return n || value;
}

void call_flags(struct text *t, const struct call_name *names, uint64_t value)
{
	const char *none = call_name_of(names, 0);

	if (!add_flags(t, names, value, ""))
		add(t, none ? none : "0");
}

void call_open(struct text *t, const struct call_name *names, uint64_t value)
{
	static const char *const how[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };

	add(t, how[value & O_ACCMODE]);
	add_flags(t, names, value & ~(uint64_t)O_ACCMODE, "|");
}

void call_clone(struct text *t, const struct call_name *names, uint64_t value)
{
	bool has_flags = add_flags(t, names, value & ~0xffull, "");

	if (value & 0xff) {
		add(t, has_flags ? "|" : "");
		call_signal(t, (int64_t)(value & 0xff));
	} else if (!has_flags) {
		add(t, "0");
	}
}

/* The bits of flags are removed first; the rest is the command. */
void call_with_flags(struct text *t, const struct call_rule *r, uint64_t value)
{
	uint64_t flags = 0;
	const char *private;

	for (const struct call_name *f = r->flags; f->name; f++)
		flags |= f->value & value;
	call_one(t, r->names, (int64_t)(value & ~flags), 0);
	private = r->names == call_names_futex && flags & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "";
	add(t, private);
	add_flags(t, r->flags, *private ? flags & ~(uint64_t)FUTEX_PRIVATE_FLAG : flags, "|");
}

void call_signal(struct text *t, int64_t number)
{
	const char *name = number == SIGIO	       ? "IO"
			   : number > 0 && number < 32 ? sigabbrev_np((int)number)
						       : NULL;

	if (name) {
		add(t, "SIG");
		add(t, name);
	} else if (number >= 32 && number <= 64) {
		add_base(t, (uint64_t)number - 32, 10,
			 "SIGRT_"); /* counted as in the kernel, not as in libc */
	} else {
		add_signed(t, number);
	}
}

/* ---------------------------------------------------------------- errors */

/* Errors inside the kernel, which programs never see: the call is restarted. */
static const struct {
	int number;
	const char *name, *text;
} restarts[] = {
	{ 512, "ERESTARTSYS", "To be restarted if SA_RESTART is set" },
	{ 513, "ERESTARTNOINTR", "To be restarted" },
	{ 514, "ERESTARTNOHAND", "To be restarted if no handler" },
	{ 516, "ERESTART_RESTARTBLOCK", "Interrupted by signal" },
};

const char *call_errno(int number)
{
	const char *name = strerrorname_np(number);

	for (size_t i = 0; i < sizeof restarts / sizeof *restarts && !name; i++)
		if (restarts[i].number == number)
			name = restarts[i].name;
	return name;
}

bool call_is_error(int64_t result)
{
	return result < 0 && result >= -MAX_ERRNO;
}

void call_error(struct text *t, int number)
{
	const char *name = call_errno(number), *what = strerrordesc_np(number), *before = "-1 ";

	for (size_t i = 0; i < sizeof restarts / sizeof *restarts; i++)
		if (restarts[i].number == number) {
			what = restarts[i].text;
			before = "? "; /* the program gets no result */
		}
	add(t, before);
	if (!name)
		add_base(t, (uint64_t)number, 10, "errno ");
	else
		add(t, name);
	if (what)
		text_addf(t, " (%s)", what);
}

/* ---------------------------------------------------------------- texts */

void call_quoted(struct text *t, const char *bytes, size_t size)
{
	static const char from[] = "\"\\\n\t\r\v\f", to[] = "\"\\ntrvf";

	text_add(t, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];
		const char *f = c ? strchr(from, c) : NULL;

		if (f)
			text_addf(t, "\\%c", to[f - from]);
		else if (c >= 0x20 && c < 0x7f)
			text_add(t, &bytes[i], 1);
		else /* three octal digits if a digit follows */
			text_addf(t,
				  i + 1 < size && bytes[i + 1] >= '0' && bytes[i + 1] <= '7'
					  ? "\\%03o"
					  : "\\%o",
				  c);
	}
	text_add(t, "\"", 1);
}
