/* SPDX-License-Identifier: MIT */
/* analysis/call_text.c - see call_text.h. */
#include "analysis/call_text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/fds.h"

enum { MAX_ERRNO = 4095, AT_CWD = -100 };

static void add(struct text *t, const char *s)
{
	text_add(t, s, strlen(s));
}

static void add_base(struct text *t, uint64_t v, unsigned base, const char *before)
{
	char digits[72], *p = digits + sizeof digits;

	do {
		*--p = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	add(t, before);
	text_add(t, p, (size_t)(digits + sizeof digits - p));
}

static void add_signed(struct text *t, int64_t v)
{
	add_base(t, v < 0 ? -(uint64_t)v : (uint64_t)v, 10, v < 0 ? "-" : "");
}

static void add_hex(struct text *t, uint64_t v)
{
	add_base(t, v, 16, v ? "0x" : "");
}

static void add_address(struct text *t, uint64_t v)
{
	if (v)
		add_hex(t, v);
	else
		add(t, "NULL");
}

/* As wide as the field was. */
static uint64_t bits_of(int64_t v, uint8_t size_bits)
{
	return size_bits && size_bits < 64 ? (uint64_t)v & ((1ull << size_bits) - 1) : (uint64_t)v;
}

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

/* The name that has most of @value's bits, and no others; of several the lowest. */
static const struct call_name *largest_in(const struct call_name *names, uint64_t value)
{
	const struct call_name *best = NULL;

	for (; names->name; names++) {
		int n = __builtin_popcountll(names->value), most = best ? __builtin_popcountll(best->value) : 0;

		if ((names->value & ~value) == 0 && (n > most || (n == most && best && names->value < best->value)))
			best = names;
	}
	return best;
}

/* Those in @names by value, then what is left as a number.  False if there is nothing. */
static bool add_flags(struct text *t, const struct call_name *names, uint64_t value, const char *before)
{
	const struct call_name *found[64];
	int n = 0;

	for (const struct call_name *f; value && (f = largest_in(names, value)); value &= ~f->value) {
		int i = n++;

		for (; i && found[i - 1]->value > f->value; i--)
			found[i] = found[i - 1];
		found[i] = f;
	}
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

static void add_open(struct text *t, const struct call_name *names, uint64_t value)
{
	static const char *const how[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };

	add(t, how[value & O_ACCMODE]);
	add_flags(t, names, value & ~(uint64_t)O_ACCMODE, "|");
}

static void add_clone(struct text *t, const struct call_name *names, uint64_t value)
{
	bool has_flags = add_flags(t, names, value & ~0xffull, "");

	if (value & 0xff) {
		add(t, has_flags ? "|" : "");
		call_signal(t, (int64_t)(value & 0xff));
	} else if (!has_flags) {
		add(t, "0");
	}
}

/* The bits of flags go first; what they leave is the command. */
static void add_with_flags(struct text *t, const struct call_rule *r, uint64_t value)
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
	const char *name = number > 0 && number < 32 ? sigabbrev_np((int)number) : NULL;

	if (name) {
		add(t, "SIG");
		add(t, name);
	} else if (number >= 32 && number <= 64) {
		add_base(t, (uint64_t)number - 32, 10, "SIGRT_"); /* the kernel's count, not libc's */
	} else {
		add_signed(t, number);
	}
}

/* ---------------------------------------------------------------- errors */

/* The kernel's own, which programs never see: the call is begun again. */
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

static void add_error(struct text *t, int number)
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

/* ---------------------------------------------------------------- values */

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
		else /* so that a digit behind it is not taken for a part of it */
			text_addf(t, i + 1 < size && bytes[i + 1] >= '0' && bytes[i + 1] <= '7' ? "\\%03o" : "\\%o", c);
	}
	text_add(t, "\"", 1);
}

/* Names come from recordings: no control character of theirs reaches a terminal. */
static void add_plain(struct text *t, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)bytes[i];

		text_add(t, c < 0x20 || c == 0x7f ? "?" : &bytes[i], 1);
	}
}

void call_fd(struct text *t, int64_t fd, const struct call_about *about)
{
	const struct fd_file *f = about && about->fds ? fds_look(about->fds, about->process, fd) : NULL;
	const char *name = f ? f->name ? f->name : fds_kind(f->call) : NULL;

	add_signed(t, fd);
	if (!name)
		return;
	add(t, "<");
	add_plain(t, name, strlen(name));
	add(t, ">");
}

static void add_pid(struct text *t, int64_t pid, const struct call_about *about)
{
	int64_t number = about && about->threads && pid > 0 ? threads_of(about->threads, about->event, pid) : 0;
	const struct thread *th = number > 0 ? threads_at(about->threads, (uint32_t)number) : NULL;

	add_signed(t, pid);
	if (!th || !th->name_size)
		return;
	add(t, "<");
	add_plain(t, th->name, th->name_size);
	add(t, ">");
}

static void add_number(struct text *t, const struct call_value *v)
{
	if (v->is_address)
		add_address(t, (uint64_t)v->n);
	else if (v->is_signed)
		add_signed(t, v->n);
	else
		add_base(t, bits_of(v->n, v->size_bits), 10, "");
}

static void add_value(struct text *t, const struct call_rule *r, const struct call_value *v, const struct call_about *about)
{
	uint64_t bits = bits_of(v->n, v->size_bits);

	if (v->text)
		return call_quoted(t, v->text, v->text_size);
	switch (r ? r->kind : CALL_NUMBER) {
	case CALL_NUMBER:
	case CALL_PATH:
		return add_number(t, v);
	case CALL_HEX:
		return add_hex(t, bits);
	case CALL_OCTAL:
		return add_base(t, bits, 8, bits ? "0" : "");
	case CALL_ADDRESS:
		return add_address(t, bits);
	case CALL_FD:
	case CALL_AT_FD:
		if (r->kind == CALL_AT_FD && (int32_t)v->n == AT_CWD)
			return add(t, "AT_FDCWD");
		return call_fd(t, (int32_t)v->n, about);
	case CALL_PID:
		return add_pid(t, (int32_t)v->n, about);
	case CALL_SIGNAL:
		return call_signal(t, (int32_t)v->n);
	case CALL_ONE:
		return call_one(t, r->names, v->n, v->size_bits);
	case CALL_FLAGS:
		return call_flags(t, r->names, bits);
	case CALL_OPEN:
		return add_open(t, r->names, bits);
	case CALL_CLONE:
		return add_clone(t, r->names, bits);
	case CALL_WITH_FLAGS:
		return add_with_flags(t, r, bits);
	}
}

/* ---------------------------------------------------------------- calls */

static const struct {
	const char *call;
	enum call_shape shape;
	enum call_kind result;
} shapes[] = {
	{ "open", SHAPE_OPEN, CALL_FD },
	{ "openat", SHAPE_OPEN, CALL_FD },
	{ "futex", SHAPE_FUTEX, CALL_NUMBER },
	{ "fcntl", SHAPE_FCNTL, CALL_NUMBER },
	{ "mremap", SHAPE_MREMAP, CALL_HEX },
	{ "socket", SHAPE_SOCKET, CALL_FD },
	{ "socketpair", SHAPE_SOCKET, CALL_NUMBER },
	{ "setsockopt", SHAPE_SOCKOPT, CALL_NUMBER },
	{ "getsockopt", SHAPE_SOCKOPT, CALL_NUMBER },
	{ "mmap", SHAPE_PLAIN, CALL_HEX },
	{ "brk", SHAPE_PLAIN, CALL_HEX },
	{ "shmat", SHAPE_PLAIN, CALL_HEX },
	{ "umask", SHAPE_PLAIN, CALL_OCTAL },
};

void call_plan_make(struct call_plan *p, const char *call, const struct call_class *c)
{
	*p = (struct call_plan){ .result = fds_gives(call) ? CALL_FD : CALL_NUMBER,
				 .has_result = strcmp(call, "exit") != 0 && strcmp(call, "exit_group") != 0 };
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (!strcmp(shapes[i].call, call)) {
			p->shape = shapes[i].shape;
			p->result = shapes[i].result;
		}
	for (uint32_t i = 0; c && i < c->n_fields; i++)
		p->rules[i] = c->name[i] ? call_rule_of(call, c->name[i]) : NULL;
}

/* Which of the arguments mean something, a bit for each: what the kernel records are registers. */
static uint32_t futex_uses(int64_t op)
{
	switch (op & ~(int64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)) {
	case FUTEX_WAIT:
		return 0xf;
	case FUTEX_WAKE:
		return 0x7;
	case FUTEX_REQUEUE:
		return 0x1f;
	case FUTEX_WAIT_BITSET:
		return 0x2f;
	case FUTEX_WAKE_BITSET:
		return 0x27;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return 0xb;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		return 0x3;
	}
	return 0x3f;
}

static uint32_t fcntl_uses(int64_t command)
{
	switch (command) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		return 0x3;
	}
	return 0x7;
}

static uint32_t uses_of(const struct call_plan *p, const struct call_value *v, uint32_t n)
{
	const uint32_t all = (1u << n) - 1;

	switch (p->shape) {
	case SHAPE_OPEN: /* the mode comes last, the flags before it */
		return n >= 2 && !(v[n - 2].n & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) ? all >> 1 : all;
	case SHAPE_FUTEX:
		return n > 1 ? all & futex_uses(v[1].n) : all;
	case SHAPE_FCNTL:
		return n > 1 ? all & fcntl_uses(v[1].n) : all;
	case SHAPE_MREMAP:
		return n > 3 && !(v[3].n & MREMAP_FIXED) ? all & 0xf : all;
	default:
		return all;
	}
}

static const struct call_rule protocol = { .kind = CALL_ONE, .names = call_names_ipproto },
			      fd_flags = { .kind = CALL_FLAGS, .names = call_names_fd },
			      file_flags = { .kind = CALL_OPEN, .names = call_names_open },
			      number = { .kind = CALL_NUMBER }, address = { .kind = CALL_ADDRESS },
			      socket_option = { .kind = CALL_ONE, .names = call_names_so },
			      tcp_option = { .kind = CALL_ONE, .names = call_names_tcp },
			      ip_option = { .kind = CALL_ONE, .names = call_names_ip };

static const struct call_rule *fcntl_rule(int64_t command)
{
	switch (command) {
	case F_SETFD:
		return &fd_flags;
	case F_SETFL:
		return &file_flags;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return &address;
	}
	return &number;
}

/* The rule for argument @i, which may depend on others. */
static const struct call_rule *rule_for(const struct call_plan *p, const struct call_value *v, uint32_t i)
{
	if (i != 2 && !(p->shape == SHAPE_FUTEX && i == 3))
		return p->rules[i];
	switch (p->shape) {
	case SHAPE_FCNTL:
		return fcntl_rule(v[1].n);
	case SHAPE_SOCKET:
		return v[0].n == AF_INET || v[0].n == AF_INET6 ? &protocol : &number;
	case SHAPE_SOCKOPT:
		return v[1].n == SOL_SOCKET ? &socket_option : v[1].n == IPPROTO_TCP ? &tcp_option
			: v[1].n == IPPROTO_IP ? &ip_option : &number;
	default:
		return p->rules[i];
	}
}

bool call_arguments(struct text *t, const struct call_plan *p, const struct call_value *values, uint32_t n,
		    const struct call_about *about)
{
	uint32_t uses = uses_of(p, values, n < CALL_ARGS ? n : CALL_ARGS);
	const char *before = "";
	bool lacks = false;

	for (uint32_t i = 0; i < CALL_ARGS; i++) {
		const struct call_rule *r = rule_for(p, values, i);

		if (!(uses & 1u << i))
			continue;
		add(t, before);
		before = ", ";
		add_value(t, r, &values[i], about);
		lacks |= r && r->kind == CALL_PATH && !values[i].text && values[i].n;
	}
	return lacks;
}

void call_result(struct text *t, const struct call_plan *p, const struct call_made *m, int64_t result,
		 const struct call_about *about)
{
	int64_t command = p->shape == SHAPE_FCNTL && m->class ? m->args[1] : -1;

	if (!p->has_result)
		return add(t, "?");
	if (call_is_error(result))
		return add_error(t, (int)-result);
	if (p->result == CALL_FD || command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return call_fd(t, result, about);
	if (p->result == CALL_HEX)
		return add_hex(t, (uint64_t)result);
	if (p->result == CALL_OCTAL)
		return add_base(t, (uint64_t)result, 8, result ? "0" : "");
	if (command != F_GETFL && (command != F_GETFD || !result))
		return add_signed(t, result);
	add_hex(t, (uint64_t)result);
	add(t, " (flags ");
	add_value(t, command == F_GETFL ? &file_flags : &fd_flags, &(struct call_value){ .n = result }, NULL);
	add(t, ")");
}
