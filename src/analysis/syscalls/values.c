/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/values.c - one argument or result as text, by its rule: see text.h. */
#include <linux/fcntl.h>
#include <linux/ioctl.h>
#include <limits.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "analysis/syscalls/fds.h"
#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"

enum { AT_CWD = -100, KCMP_FILE_TYPE = 0, KCMP_EPOLL = 7 };

void call_plain(struct text *t, const char *bytes, size_t size)
{
	struct text quoted = { 0 };

	call_quoted(&quoted, bytes, size);
	for (size_t i = 1; !quoted.failed && i + 1 < quoted.size; i++) {
		char c = quoted.bytes[i], next = quoted.bytes[i + 1];

		if (c == '<' || c == '>')
			text_addf(t, next >= '0' && next <= '7' ? "\\%03o" : "\\%o", c);
		else
			text_add(t, &c, 1);
	}
	text_fini(&quoted);
}

/* The kernel's name for a descriptor that has no file (/proc/PID/fd). */
static const char *name_of_kind(const char *kind)
{
	static const struct {
		const char *kind, *name;
	} names[] = {
		{ "inotify", "anon_inode:inotify" },
		{ "eventfd", "anon_inode:[eventfd]" },
		{ "timerfd", "anon_inode:[timerfd]" },
		{ "signalfd", "anon_inode:[signalfd]" },
		{ "epoll", "anon_inode:[eventpoll]" },
		{ "perf_event", "anon_inode:[perf_event]" },
		{ "pidfd", "anon_inode:[pidfd]" },
		{ "userfaultfd", "anon_inode:[userfaultfd]" },
		{ "io_uring", "anon_inode:[io_uring]" },
		{ "landlock-ruleset", "anon_inode:[landlock-ruleset]" },
	};

	for (size_t i = 0; kind && i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i].kind, kind))
			return names[i].name;
	return kind;
}

void call_fd(struct text *t, int64_t fd, const struct call_about *about)
{
	const struct fd_file *f =
		about && about->fds ? fds_look(about->fds, about->process, fd) : NULL;
	unsigned kinds = about && about->fd_kinds ? about->fd_kinds : CALL_FD_PATHS;
	const char *name = f ? f->name ? f->name : name_of_kind(fds_kind(f->call)) : NULL;
	bool is_device = f && f->mode && kinds & CALL_FD_DEVICES;

	add_signed(t, fd);
	if (f && f->socket && kinds & CALL_FD_SOCKETS) {
		add(t, "<");
		add(t, f->socket);
		return add(t, ">");
	}
	if (f && f->pid && kinds & CALL_FD_PIDFDS)
		return text_addf(t, "<pid:%lld>", (long long)f->pid);
	if (!name || !(kinds & CALL_FD_PATHS || is_device))
		return;
	add(t, "<");
	call_plain(t, name, strlen(name));
	if (is_device)
		text_addf(t, "<%s %u:%u>", S_ISCHR(f->mode) ? "char" : "block", major(f->device),
			  minor(f->device));
	add(t, f->is_deleted ? ">(deleted)" : ">");
}

void call_pid(struct text *t, int64_t pid, const struct call_about *about)
{
	int64_t number = about && about->threads && pid > 0
				 ? threads_of(about->threads, about->event, pid)
				 : 0;
	const struct thread *th = number > 0 ? threads_at(about->threads, (uint32_t)number) : NULL;

	add_signed(t, pid);
	if (!th || !th->name_size)
		return;
	add(t, "<");
	call_plain(t, th->name, th->name_size);
	add(t, ">");
}

static void add_cwd(struct text *t, const struct call_about *about)
{
	if (call_words_begin(t, (uint64_t)AT_CWD, CALL_DECIMAL)) {
		add(t, "AT_FDCWD");
		call_words_end(t);
	}
	/* The kernel itself gives no longer path. */
	if (!about || !about->cwd || strlen(about->cwd) >= PATH_MAX ||
	    (about->fd_kinds && !(about->fd_kinds & CALL_FD_PATHS)))
		return;
	add(t, "<");
	call_plain(t, about->cwd, strlen(about->cwd));
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

void call_date(struct text *t, const char *before, int64_t seconds, uint64_t fraction, int digits,
	       const char *behind)
{
	time_t time = (time_t)seconds;
	char text[64], zone[16] = "";
	struct tm tm;

	if ((!seconds && !fraction) || !localtime_r(&time, &tm) ||
	    !strftime(text, sizeof text, "%FT%T", &tm))
		return;
	strftime(zone, sizeof zone, "%z", &tm);
	text_addf(t, "%s%s", before, text);
	if (digits && fraction)
		text_addf(t, ".%0*llu", digits, (unsigned long long)fraction);
	text_addf(t, "%s%s", zone, behind);
}

void call_device(struct text *t, uint64_t device)
{
	if (!call_words_begin(t, device, CALL_HEXADECIMAL))
		return;
	text_addf(t, "makedev(%#x, %#x)", major(device), minor(device));
	call_words_end(t);
}

void call_interface(struct text *t, uint32_t number)
{
	enum { LOOPBACK = 1 }; /* in every network namespace */

	if (number != LOOPBACK)
		return add_base(t, number, 10, "");
	if (!call_words_begin(t, number, CALL_DECIMAL))
		return;
	add(t, "if_nametoindex(\"lo\")");
	call_words_end(t);
}

void call_mode(struct text *t, uint32_t mode)
{
	static const struct call_name types[] = {
		{ "S_IFREG", S_IFREG, NULL },	{ "S_IFDIR", S_IFDIR, NULL },
		{ "S_IFCHR", S_IFCHR, NULL },	{ "S_IFBLK", S_IFBLK, NULL },
		{ "S_IFIFO", S_IFIFO, NULL },	{ "S_IFLNK", S_IFLNK, NULL },
		{ "S_IFSOCK", S_IFSOCK, NULL }, { 0 },
	};
	static const struct call_name bits[] = { { "S_ISUID", S_ISUID, NULL },
						 { "S_ISGID", S_ISGID, NULL },
						 { "S_ISVTX", S_ISVTX, NULL },
						 { 0 } };
	const char *type = call_name_of(types, mode & S_IFMT);

	if (!type && (mode & S_IFMT || !(mode & 07000)))
		return text_addf(t, "%#03o", mode);
	if (!call_words_begin(t, mode, CALL_OCTAL_BASE))
		return;
	if (type)
		text_addf(t, "%s|", type);
	for (int i = 0; bits[i].name; i++)
		if (mode & bits[i].value)
			text_addf(t, "%s|", bits[i].name);
	text_addf(t, "%#03o", mode & 0777);
	call_words_end(t);
}

static void add_ipc_mode(struct text *t, const struct call_rule *r, uint64_t bits)
{
	if (bits & ~0777ull) {
		call_flags(t, r->names, bits & ~0777ull);
		add(t, "|");
	}
	text_addf(t, "%#03llo", (unsigned long long)bits & 0777);
}

static void add_fanotify(struct text *t, const struct call_rule *r, uint64_t bits)
{
	const uint64_t class = 0xc;

	call_one(t, r->names, (int64_t)(bits & class), 0);
	if (bits & ~class) {
		add(t, "|");
		call_flags(t, r->flags, bits & ~class);
	}
}

bool call_is_address(const char *text, size_t size)
{
	if (size < 3 || size > 18 || memcmp(text, "0x", 2) != 0)
		return false;
	for (size_t i = 2; i < size; i++) /* a NUL need not follow */
		if (!memchr("0123456789abcdef", text[i], 16))
			return false;
	return true;
}

/* The size of a recorded text without the dots that older recordings put after a cut. */
static size_t own_size(const char *text, size_t size, bool *is_cut)
{
	bool has_dots = size == ABI_CAPTURE_TEXT_CUT_OLD && !memcmp(text + size - 3, "...", 3);

	*is_cut = has_dots || size >= ABI_CAPTURE_TEXT_CUT;
	return has_dots ? size - 3 : *is_cut ? ABI_CAPTURE_TEXT_CUT - 1 : size;
}

void call_text(struct text *t, const char *text, size_t size, size_t most)
{
	bool is_cut;

	size = own_size(text, size, &is_cut);
	call_quoted(t, text, size < most ? size : most);
	if (is_cut || size > most)
		add(t, "...");
}

/* Whether a recorded text is "0x7f00 abc": readable memory ended before the text. @at: the first
 * of its bytes. */
static bool has_no_end(const char *text, size_t size, size_t *at)
{
	const char *space = memchr(text, ' ', size);

	*at = space ? (size_t)(space - text) + 1 : 0;
	return space && *at < size && call_is_address(text, *at - 1);
}

/* The most bytes of a text that a call looks at: it refuses longer ones. */
static size_t limit_of(const struct call_rule *r)
{
	enum { MEMORY_FILE = 250, KEY = 256 };

	return !r || !r->call			  ? SIZE_MAX
	       : !strcmp(r->call, "memfd_create") ? MEMORY_FILE
	       : !strcmp(r->call, "fsconfig")	  ? KEY
						  : SIZE_MAX;
}

/* A text that was not in memory is recorded as its address, which is shown without quotes. If the
 * exit of the call has the text, it is shown later. */
static void add_text(struct text *t, const struct call_rule *r, const struct call_value *v,
		     const struct call_moment *x)
{
	size_t size = v->text_size, most = SIZE_MAX, at, limit = limit_of(r);

	if (size == 3 && !memcmp(v->text, "0x0", 3)) /* a file named "0x0" looks the same */
		return text_addf(t, "NULL");
	if (call_is_address(v->text, size))
		return text_add(t, v->text, size);
	if (r && r->kind == CALL_STRING && x && x->string_bytes)
		most = x->string_bytes;
	if (!has_no_end(v->text, size, &at))
		at = 0;
	if (size - at >= limit || (at && size - at > most)) { /* enough of it is known */
		call_quoted(t, v->text + at, limit < most ? limit : most);
		add(t, "...");
	} else if (!at)
		call_text(t, v->text, size, most);
	else
		text_add(t, v->text, at - 1);
}

/* The upper half was a sign once, and is not looked at today. */
static void add_mount(struct text *t, const struct call_rule *r, uint64_t bits)
{
	const uint64_t magic = 0xc0ed0000, mask = 0xffff0000;

	if ((bits & mask) != magic)
		return call_flags(t, r->names, bits);
	if (call_words_begin(t, magic, CALL_HEXADECIMAL)) {
		add(t, "MS_MGC_VAL");
		call_words_end(t);
	}
	if (!(bits & ~mask))
		return;
	add(t, "|");
	call_flags(t, r->names, bits & ~mask);
}

static void add_swap(struct text *t, const struct call_rule *r, uint64_t bits)
{
	const uint64_t prefer = 0x8000, priority = 0x7fff;

	if (bits & ~priority)
		call_flags(t, r->names, bits & ~priority);
	if (bits & prefer || bits & priority || !bits)
		text_addf(t, "%s%llu", bits & ~priority ? "|" : "",
			  (unsigned long long)(bits & priority));
}

/* The mode of synchronization is first, and its value 0 has a name. */
static void add_statx_flags(struct text *t, const struct call_rule *r, uint64_t bits)
{
	static const struct call_name modes[] = {
		{ "AT_STATX_SYNC_AS_STAT", 0, NULL },
		{ "AT_STATX_FORCE_SYNC", AT_STATX_FORCE_SYNC, NULL },
		{ "AT_STATX_DONT_SYNC", AT_STATX_DONT_SYNC, NULL },
		{ 0 }
	};
	const struct call_style was = *call_style();
	struct call_style words = was;

	if (!call_words_begin(t, bits, CALL_HEXADECIMAL))
		return;
	words.constants = CALL_ABBREV;
	call_style_set(&words);
	call_flags(t, modes, bits & AT_STATX_SYNC_TYPE);
	if (bits & ~(uint64_t)AT_STATX_SYNC_TYPE) {
		add(t, "|");
		call_flags_plain(t, r->names, bits & ~(uint64_t)AT_STATX_SYNC_TYPE);
	}
	call_style_set(&was);
	call_words_end(t);
}

void call_io_priority(struct text *t, uint64_t bits)
{
	add(t, "IOPRIO_PRIO_VALUE(");
	call_one(t, call_names_ioprio_class, (int64_t)(bits >> 13), 32);
	text_addf(t, ", %llu)", (unsigned long long)(bits & 8191));
}

static void add_io_priority(struct text *t, uint64_t bits)
{
	if (!call_words_begin(t, (uint64_t)(int32_t)bits, CALL_DECIMAL))
		return;
	call_io_priority(t, bits);
	call_words_end(t);
}

/* The type of a mapping is in the low bits, the size of its huge pages in the high ones. */
static void add_map_flags(struct text *t, const struct call_rule *r, uint64_t bits)
{
	enum { TYPES = 0xf, SHARED_VALIDATE = 3, HUGE = 0x40000, HUGE_AT = 26, HUGE_SIZES = 0x3f };
	const struct call_style was = *call_style();
	struct call_style words = was;
	uint64_t type = bits & TYPES, size = bits >> HUGE_AT & HUGE_SIZES;

	if (type && type <= SHARED_VALIDATE && !(bits & HUGE && size))
		return call_flags(t, r->names, bits);
	if (!call_words_begin(t, bits, CALL_HEXADECIMAL))
		return;
	words.constants = CALL_ABBREV;
	call_style_set(&words);
	if (!type)
		add(t, "MAP_FILE");
	else if (type <= SHARED_VALIDATE)
		call_flags(t, r->names, type);
	else
		text_addf(t, "%#llx /* MAP_??? */", (unsigned long long)type);
	bits &= ~(uint64_t)TYPES;
	if (bits & HUGE)
		bits &= ~((uint64_t)HUGE_SIZES << HUGE_AT);
	if (bits) {
		add(t, "|");
		call_flags(t, r->names, bits);
	}
	if (bits & HUGE && size)
		text_addf(t, "|%llu<<MAP_HUGE_SHIFT", (unsigned long long)size);
	call_style_set(&was);
	call_words_end(t);
}

/* The size of huge pages is in the high bits. */
static void add_memory_file_flags(struct text *t, const struct call_rule *r, uint64_t bits)
{
	enum { HUGE_AT = 26, HUGE_SIZES = 0x3f };
	const struct call_style was = *call_style();
	struct call_style words = was;
	uint64_t size = bits >> HUGE_AT & HUGE_SIZES,
		 rest = bits & ~((uint64_t)HUGE_SIZES << HUGE_AT);

	if (!size)
		return call_flags(t, r->names, bits);
	if (!call_words_begin(t, bits, CALL_HEXADECIMAL))
		return;
	words.constants = CALL_ABBREV;
	call_style_set(&words);
	if (rest) {
		call_flags(t, r->names, rest);
		add(t, "|");
	}
	text_addf(t, "%llu<<MFD_HUGE_SHIFT", (unsigned long long)size);
	call_style_set(&was);
	call_words_end(t);
}

static void add_kexec_flags(struct text *t, uint64_t bits)
{
	const uint64_t architectures = 0xffff0000;

	call_one(t, call_names_kexec_arch, (int64_t)(bits & architectures), 0);
	if (!(bits & ~architectures))
		return;
	add(t, "|");
	call_flags(t, call_names_kexec, bits & ~architectures);
}

static void add_error_number(struct text *t, uint32_t n)
{
	const char *name = n && n <= INT_MAX ? call_errno((int)n) : NULL;

	if (!name)
		return add_base(t, n, 10, "");
	if (!call_words_begin(t, n, CALL_DECIMAL))
		return;
	add(t, name);
	call_words_end(t);
}

static void add_commented(struct text *t, const struct call_rule *r, int32_t n)
{
	const struct call_name *names = r->names;
	const char *name = call_name_of(names, (uint32_t)n);

	if (!name && call_style()->constants != CALL_RAW)
		return call_one_signed(t, names, n);
	add_signed(t, n);
	if (call_style()->constants != CALL_RAW)
		text_addf(t, " /* %s */", name);
}

/* A request of ioctl() that has no name, in its parts. */
static void add_request(struct text *t, uint32_t n)
{
	static const char *const ways[] = { "_IOC_NONE", "_IOC_WRITE", "_IOC_READ",
					    "_IOC_READ|_IOC_WRITE" };

	if (!call_words_begin(t, n, CALL_HEXADECIMAL))
		return;
	text_addf(t, "_IOC(%s, %#x, %#x, %#x)", ways[_IOC_DIR(n)], _IOC_TYPE(n), _IOC_NR(n),
		  _IOC_SIZE(n));
	call_words_end(t);
}

void call_value_add(struct text *t, const struct call_rule *r, const struct call_value *v,
		    const struct call_moment *x)
{
	const struct call_about *about = x ? x->about : NULL;
	uint64_t bits = bits_of(v->n, v->size_bits);

	if (v->text)
		return add_text(t, r, v, x);
	if (v->memory && x && call_memory_add(t, v->memory, x))
		return;
	switch (r ? r->kind : CALL_NUMBER) {
	case CALL_NUMBER:
	case CALL_PATH:
		return add_number(t, v);
	case CALL_HEX:
		return add_hex(t, bits);
	case CALL_ONE_SIGNED:
		return call_one_signed(t, r->names, (int32_t)v->n);
	case CALL_ID:
		return (uint32_t)v->n == UINT32_MAX ? add(t, "-1")
						    : add_base(t, (uint32_t)v->n, 10, "");
	case CALL_UNSIGNED:
		return add_base(t, bits, 10, "");
	case CALL_SIGNED:
		return add_signed(t, v->size_bits == 64 || !v->size_bits ? v->n : (int32_t)v->n);
	case CALL_DEVICE:
		return call_device(t, bits);
	case CALL_KEY:
		return (uint32_t)v->n ? add_hex(t, (uint32_t)v->n) : add(t, "IPC_PRIVATE");
	case CALL_IPC_MODE:
		return add_ipc_mode(t, r, bits);
	case CALL_MODE:
		return call_mode(t, (uint32_t)bits);
	case CALL_FANOTIFY:
		return add_fanotify(t, r, bits);
	case CALL_KCMP:
		if (x && (x->args[2] == KCMP_FILE_TYPE || x->args[2] == KCMP_EPOLL))
			return call_fd(t, (int32_t)v->n, about);
		return add_hex(t, bits);
	case CALL_MOUNT:
		return add_mount(t, r, bits);
	case CALL_SWAP:
		return add_swap(t, r, bits);
	case CALL_ONE_COMMENT:
		return add_commented(t, r, (int32_t)v->n);
	case CALL_IOPRIO:
		return add_io_priority(t, bits);
	case CALL_QUOTA:
		return call_quota_command(t, bits);
	case CALL_MAP:
		return add_map_flags(t, r, bits);
	case CALL_ERROR:
		return add_error_number(t, (uint32_t)bits);
	case CALL_MEMORY_FILE:
		return add_memory_file_flags(t, r, bits);
	case CALL_KEXEC:
		return add_kexec_flags(t, bits);
	case CALL_ONE_INT:
		return call_one(t, r->names, (int32_t)v->n, 32);
	case CALL_STRING:
		return add_address(t, bits);
	case CALL_PERMISSIONS: /* the kernel's type has 16 bits */
		return text_addf(t, "%#03llo", (unsigned long long)bits & 0xffff);
	case CALL_OCTAL:
		return text_addf(t, "%#03llo", (unsigned long long)bits);
	case CALL_ADDRESS:
		return add_address(t, bits);
	case CALL_FAN_FD:
		if ((int32_t)v->n == -1) {
			if (!call_words_begin(t, (uint64_t)-1, CALL_DECIMAL))
				return;
			add(t, "FAN_NOFD");
			return call_words_end(t);
		}
		__attribute__((fallthrough));
	case CALL_FD:
	case CALL_AT_FD:
		if (r->kind != CALL_FD && (int32_t)v->n == AT_CWD)
			return add_cwd(t, about);
		return call_fd(t, (int32_t)v->n, about);
	case CALL_PID:
		return call_pid(t, (int32_t)v->n, about);
	case CALL_SIGNAL:
		return call_signal(t, (int32_t)v->n);
	case CALL_ONE:
		if (r->names == call_names_ioctl && !call_name_of(r->names, bits))
			return add_request(t, (uint32_t)bits);
		return call_one(t, r->names, v->n, v->size_bits);
	case CALL_FLAGS:
		return call_flags(t, r->names, bits);
	case CALL_OPEN:
		return call_open(t, r->names, bits);
	case CALL_CLONE:
		return call_clone(t, r->names, bits);
	case CALL_STATX:
		return add_statx_flags(t, r, bits);
	case CALL_WITH_FLAGS:
		return call_with_flags(t, r, bits);
	}
}
