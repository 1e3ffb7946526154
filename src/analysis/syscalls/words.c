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

/* ---------------------------------------------------------------- style */

static struct call_style style;

void call_style_set(const struct call_style *s)
{
	style = *s;
}

const struct call_style *call_style(void)
{
	return &style;
}

bool call_words_begin(struct text *t, uint64_t value, enum call_base base)
{
	if (style.constants == CALL_ABBREV)
		return true;
	if (base == CALL_DECIMAL)
		add_signed(t, (int64_t)value);
	else if (base == CALL_HEXADECIMAL)
		add_hex(t, value);
	else
		text_addf(t, "%#03llo", (unsigned long long)value);
	if (style.constants == CALL_VERBOSE)
		add(t, " /* ");
	return style.constants == CALL_VERBOSE;
}

void call_words_end(struct text *t)
{
	if (style.constants == CALL_VERBOSE)
		add(t, " */");
}

/* ---------------------------------------------------------------- names */

const char *call_name_of(const struct call_name *names, uint64_t value)
{
	while (names->name && names->value != value)
		names++;
	return names->name;
}

static uint64_t order_of(const struct call_name *names)
{
	while (names->name)
		names++;
	return names->value;
}

/* Whether @a is shown before @b. */
static bool is_before(const struct call_name *a, const struct call_name *b, uint64_t order)
{
	return order == CALL_AS_LISTED ? a < b
	       : order == CALL_FALLING ? a->value > b->value
				       : a->value < b->value;
}

/* The comment beside a number that has no name. */
static const char *unknown_of(const struct call_name *names)
{
	while (names->name)
		names++;
	return names->unknown;
}

static void add_unknown(struct text *t, const struct call_name *names)
{
	if (style.constants != CALL_RAW && unknown_of(names))
		text_addf(t, " /* %s */", unknown_of(names));
}

static void add_one(struct text *t, const struct call_name *names, int64_t value, uint8_t size_bits,
		    enum call_base base)
{
	uint64_t bits = bits_of(value, size_bits);
	const char *name = NULL;

	for (const struct call_name *n = names; n->name && !name; n++)
		if (bits_of((int64_t)n->value, size_bits) == bits)
			name = n->name;
	if (base == CALL_DECIMAL)
		bits = (uint64_t)value;
	if (name) {
		if (!call_words_begin(t, bits, base))
			return;
		add(t, name);
		return call_words_end(t);
	}
	if (base == CALL_DECIMAL)
		add_signed(t, value);
	else
		add_hex(t, bits);
	add_unknown(t, names);
}

void call_one(struct text *t, const struct call_name *names, int64_t value, uint8_t size_bits)
{
	add_one(t, names, value, size_bits, CALL_HEXADECIMAL);
}

void call_one_signed(struct text *t, const struct call_name *names, int64_t value)
{
	add_one(t, names, value, 32, CALL_DECIMAL);
}

void call_one_decimal(struct text *t, const struct call_name *names, int64_t value)
{
	if (call_name_of(names, (uint64_t)value))
		return call_one(t, names, value, 0);
	add_signed(t, value);
	add_unknown(t, names);
}

/* The name that covers most bits of @value and no others; of several the lowest. */
static const struct call_name *largest_in(const struct call_name *names, uint64_t value)
{
	const struct call_name *best = NULL;
	int most = 0, n;

	for (; names->name; names++) {
		if (names->value & ~value || !names->value)
			continue;
		n = __builtin_popcountll(names->value);
		if (n > most || (n == most && names->value < best->value)) {
			best = names;
			most = n;
		}
	}
	return best;
}

/* Appends names in the order of the table, then the rest as a number. Returns the bits that have
 * names. */
static uint64_t add_flags(struct text *t, const struct call_name *names, uint64_t value,
			  const char *before)
{
	const struct call_name *found[64];
	uint64_t rest = value, order = order_of(names);
	int n = 0;

	for (const struct call_name *f; rest && (f = largest_in(names, rest)); rest &= ~f->value) {
		int i = n++;

		for (; i && is_before(f, found[i - 1], order); i--)
			found[i] = found[i - 1];
		found[i] = f;
	}
	assert(n <= 64); /* each name takes at least one bit */
	for (int i = 0; i < n; i++) {
		add(t, before);
		add(t, found[i]->name);
		before = "|";
	}
	if (rest) {
		add(t, before);
		add_hex(t, rest);
	}
	return value & ~rest;
}

/* Numbers that have no name at all get a comment that says so. */
void call_flags(struct text *t, const struct call_name *names, uint64_t value)
{
	const char *none = call_name_of(names, 0);

	if (value && !largest_in(names, value)) {
		add_hex(t, value);
		return add_unknown(t, names);
	}
	if (!value && !none)
		return add(t, "0");
	if (!call_words_begin(t, value, CALL_HEXADECIMAL))
		return;
	if (value)
		add_flags(t, names, value, "");
	else
		add(t, none);
	call_words_end(t);
}

void call_flags_plain(struct text *t, const struct call_name *names, uint64_t value)
{
	add_flags(t, names, value, "");
}

void call_open(struct text *t, const struct call_name *names, uint64_t value)
{
	static const char *const how[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };

	if (!call_words_begin(t, value, CALL_HEXADECIMAL))
		return;
	add(t, how[value & O_ACCMODE]);
	add_flags(t, names, value & ~(uint64_t)O_ACCMODE, "|");
	call_words_end(t);
}

void call_clone(struct text *t, const struct call_name *names, uint64_t value)
{
	uint64_t flags = value & ~0xffull;

	if (!call_words_begin(t, value, CALL_HEXADECIMAL))
		return;
	add_flags(t, names, flags, "");
	if (value & 0xff) {
		add(t, flags ? "|" : "");
		call_signal_name(t, (int64_t)(value & 0xff));
	} else if (!flags) {
		add(t, "0");
	}
	call_words_end(t);
}

/* The operations that wait for a time of a clock. */
static bool futex_takes_clock(uint64_t operation)
{
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
	       operation == FUTEX_WAIT_REQUEUE_PI || operation == FUTEX_LOCK_PI2;
}

void call_futex_operation(struct text *t, uint32_t v)
{
	static const char *const operations[] = { "SET", "ADD", "OR", "ANDN", "XOR" };
	static const char *const comparisons[] = { "EQ", "NE", "LT", "LE", "GT", "GE" };
	uint32_t operation = v >> 28 & 7, comparison = v >> 24 & 15;

	if (!call_words_begin(t, v, CALL_HEXADECIMAL))
		return;
	add(t, v >> 31 ? "FUTEX_OP_OPARG_SHIFT<<28|" : "");
	if (operation < 5)
		text_addf(t, "FUTEX_OP_%s<<28|", operations[operation]);
	else
		text_addf(t, "%#x<<28 /* FUTEX_OP_??? */|", operation);
	text_addf(t, "%#x<<12|", v >> 12 & 0xfff);
	if (comparison < 6)
		text_addf(t, "FUTEX_OP_CMP_%s<<24|", comparisons[comparison]);
	else
		text_addf(t, "%#x<<24 /* FUTEX_OP_CMP_??? */|", comparison);
	text_addf(t, "%#x", v & 0xfff);
	call_words_end(t);
}

/* The bits of flags are removed first; the rest is the command. */
void call_with_flags(struct text *t, const struct call_rule *r, uint64_t value)
{
	uint64_t flags = 0;
	const char *private, *name;

	for (const struct call_name *f = r->flags; f->name; f++)
		flags |= f->value & value;
	name = call_name_of(r->names, value & ~flags);
	if (!name && r->names == call_names_socket && flags) {
		if (!call_words_begin(t, value, CALL_HEXADECIMAL))
			return;
		add_flags(t, r->flags, value, "");
		return call_words_end(t);
	}
	if (r->names == call_names_futex && flags & FUTEX_CLOCK_REALTIME &&
	    !futex_takes_clock(value & ~flags))
		name = NULL;
	if (!name && (!flags || r->names == call_names_futex)) {
		add_hex(t, value);
		return add_unknown(t, r->names);
	}
	if (!call_words_begin(t, value, CALL_HEXADECIMAL))
		return;
	if (!name && r->flags == call_names_mpol_mode) {
		add_flags(t, r->flags, value, "");
		return call_words_end(t);
	}
	if (name)
		add(t, name);
	else
		text_addf(t, "%#llx /* %s */", (unsigned long long)(value & ~flags),
			  unknown_of(r->names));
	private = r->names == call_names_futex && flags & FUTEX_PRIVATE_FLAG &&
				  (value & ~flags) != FUTEX_FD
			  ? "_PRIVATE"
			  : "";
	add(t, private);
	add_flags(t, r->flags, *private ? flags & ~(uint64_t)FUTEX_PRIVATE_FLAG : flags, "|");
	call_words_end(t);
}

void call_signal_name(struct text *t, int64_t number)
{
	const char *name = number == SIGIO	       ? "IO"
			   : number > 0 && number < 32 ? sigabbrev_np((int)number)
						       : NULL;

	if (name) {
		add(t, "SIG");
		add(t, name);
	} else if (number == 32) {
		add(t, "SIGRTMIN"); /* counted as in the kernel, not as in libc */
	} else if (number > 32 && number <= 64) {
		add_base(t, (uint64_t)number - 32, 10, "SIGRT_");
	} else {
		add_signed(t, number);
	}
}

void call_signal(struct text *t, int64_t number)
{
	if (number <= 0 || number > 64)
		return add_signed(t, number);
	if (!call_words_begin(t, (uint64_t)number, CALL_DECIMAL))
		return;
	call_signal_name(t, number);
	call_words_end(t);
}

/* swapon(2); the libraries' header lacks the newer ones. */
const struct call_name call_names_swap[] = {
	{ "SWAP_FLAG_PREFER", 0x8000, NULL },
	{ "SWAP_FLAG_DISCARD", 0x10000, NULL },
	{ "SWAP_FLAG_DISCARD_ONCE", 0x20000, NULL },
	{ "SWAP_FLAG_DISCARD_PAGES", 0x40000, NULL },
	{ NULL, 0, "SWAP_FLAG_???" },
};

const struct call_name call_names_pkey_all[] = {
	{ "PKEY_DISABLE_ACCESS", 1, NULL },
	{ "PKEY_DISABLE_WRITE", 2, NULL },
	{ "PKEY_DISABLE_EXECUTE", 4, NULL }, /* of other processors */
	{ NULL, 0, "PKEY_???" },
};

/* The kernel's headers for programs lack these: syslog(2). */
const struct call_name call_names_syslog[] = {
	{ "SYSLOG_ACTION_CLOSE", 0, NULL },	    { "SYSLOG_ACTION_OPEN", 1, NULL },
	{ "SYSLOG_ACTION_READ", 2, NULL },	    { "SYSLOG_ACTION_READ_ALL", 3, NULL },
	{ "SYSLOG_ACTION_READ_CLEAR", 4, NULL },    { "SYSLOG_ACTION_CLEAR", 5, NULL },
	{ "SYSLOG_ACTION_CONSOLE_OFF", 6, NULL },   { "SYSLOG_ACTION_CONSOLE_ON", 7, NULL },
	{ "SYSLOG_ACTION_CONSOLE_LEVEL", 8, NULL }, { "SYSLOG_ACTION_SIZE_UNREAD", 9, NULL },
	{ "SYSLOG_ACTION_SIZE_BUFFER", 10, NULL },  { NULL, 0, "SYSLOG_ACTION_???" },
};

/* The levels of the kernel's log. */
const struct call_name call_names_loglevel[] = {
	{ "LOGLEVEL_EMERG", 0, NULL },	 { "LOGLEVEL_ALERT", 1, NULL },
	{ "LOGLEVEL_CRIT", 2, NULL },	 { "LOGLEVEL_ERR", 3, NULL },
	{ "LOGLEVEL_WARNING", 4, NULL }, { "LOGLEVEL_NOTICE", 5, NULL },
	{ "LOGLEVEL_INFO", 6, NULL },	 { "LOGLEVEL_DEBUG", 7, NULL },
	{ "LOGLEVEL_DEBUG+1", 8, NULL }, /* all messages */
	{ NULL, 0, "LOGLEVEL_???" },
};

/* fanotify_mark(2), in the order of the manual; only two Linux versions have FAN_DIR_MODIFY. */
const struct call_name call_names_fan_mask[] = {
	{ "FAN_ACCESS", 0x1, NULL },
	{ "FAN_MODIFY", 0x2, NULL },
	{ "FAN_ATTRIB", 0x4, NULL },
	{ "FAN_CLOSE_WRITE", 0x8, NULL },
	{ "FAN_CLOSE_NOWRITE", 0x10, NULL },
	{ "FAN_OPEN", 0x20, NULL },
	{ "FAN_MOVED_FROM", 0x40, NULL },
	{ "FAN_MOVED_TO", 0x80, NULL },
	{ "FAN_CREATE", 0x100, NULL },
	{ "FAN_DELETE", 0x200, NULL },
	{ "FAN_DELETE_SELF", 0x400, NULL },
	{ "FAN_MOVE_SELF", 0x800, NULL },
	{ "FAN_OPEN_EXEC", 0x1000, NULL },
	{ "FAN_Q_OVERFLOW", 0x4000, NULL },
	{ "FAN_FS_ERROR", 0x8000, NULL },
	{ "FAN_OPEN_PERM", 0x10000, NULL },
	{ "FAN_ACCESS_PERM", 0x20000, NULL },
	{ "FAN_OPEN_EXEC_PERM", 0x40000, NULL },
	{ "FAN_DIR_MODIFY", 0x80000, NULL },
	{ "FAN_ONDIR", 0x40000000, NULL },
	{ "FAN_EVENT_ON_CHILD", 0x8000000, NULL },
	{ "FAN_RENAME", 0x10000000, NULL },
	{ NULL, CALL_AS_LISTED, "FAN_???" },
};

/* open_tree(2): its own flags, then those of all calls with descriptors of directories. */
const struct call_name call_names_open_tree[] = {
	{ "OPEN_TREE_CLONE", 1, NULL },
	{ "OPEN_TREE_CLOEXEC", 0x80000, NULL },
	{ "AT_SYMLINK_NOFOLLOW", 0x100, NULL },
	{ "AT_REMOVEDIR", 0x200, NULL },
	{ "AT_SYMLINK_FOLLOW", 0x400, NULL },
	{ "AT_NO_AUTOMOUNT", 0x800, NULL },
	{ "AT_EMPTY_PATH", 0x1000, NULL },
	{ "AT_RECURSIVE", 0x8000, NULL },
	{ NULL, CALL_AS_LISTED, "OPEN_TREE_???" },
};

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

static bool is_printed(unsigned char c)
{
	return (c >= 0x20 && c < 0x7f) || (c >= 9 && c < 14);
}

/* Whether all bytes are shown as \x41. */
static bool is_in_hex(const char *bytes, size_t size)
{
	size_t i = 0;

	if (style.texts != CALL_HEX_UNPRINTABLE)
		return style.texts == CALL_HEX_ALL;
	while (i < size && is_printed((unsigned char)bytes[i]))
		i++;
	return i < size;
}

void call_hex_quoted(struct text *t, const uint8_t *bytes, size_t size)
{
	add(t, "\"");
	for (size_t i = 0; i < size; i++)
		text_addf(t, "\\x%02x", bytes[i]);
	add(t, "\"");
}

void call_quoted(struct text *t, const char *bytes, size_t size)
{
	static const char from[] = "\"\\\n\t\r\v\f", to[] = "\"\\ntrvf";
	bool is_hex = is_in_hex(bytes, size);

	text_add(t, "\"", 1);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];
		const char *f = c ? strchr(from, c) : NULL;

		if (is_hex)
			text_addf(t, "\\x%02x", c);
		else if (f)
			text_addf(t, "\\%c", to[f - from]);
		else if (c >= 0x20 && c < 0x7f)
			text_add(t, &bytes[i], 1);
		else if (style.texts == CALL_HEX_CHARACTERS)
			text_addf(t, "\\x%02x", c);
		else /* three octal digits if a digit follows */
			text_addf(t,
				  i + 1 < size && bytes[i + 1] >= '0' && bytes[i + 1] <= '7'
					  ? "\\%03o"
					  : "\\%o",
				  c);
	}
	text_add(t, "\"", 1);
}
