/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/described.c - structures of the kernel as text, by descriptions.
 *
 * A description is the text to show, with a mark for each field: %, the offset, the form, the bytes,
 * and for words the table after a colon: "{sched_priority=%0d4}", "{events=%0F4:epoll_events}".
 * The forms:
 *
 *   d u x o    signed, unsigned, hexadecimal, octal
 *   i          the number of a user or group; -1 is none
 *   p          an address
 *   F E O      flags of a table; one of a table; flags of open()
 *   f          a descriptor
 *   g          a signal
 *   w          16 hexadecimal digits
 *   s          a text of at most so many bytes, up to its NUL
 *   m          a file's type and permissions
 *   v          a device
 *   t          clock ticks
 *   D          seconds, with the date
 *   S          a timeval, with the date
 *   e          an error as a negative number, or a number
 *   R          a reserved number, only if it is not 0
 *
 * A row of elements is shown as a list. Layouts are the kernel's ABI for 64 bits (uapi headers).
 */
#include "analysis/syscalls/structs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "analysis/syscalls/words.h"
#include "analysis/syscalls/bytes.h"

static bool add_sigevent(struct text *t, const struct call_memory *m, const struct call_moment *x);
static bool add_open_how(struct text *t, const struct call_memory *m, const struct call_moment *x);
static bool add_landlock_path(struct text *t, const struct call_memory *m,
			      const struct call_moment *x);
static bool add_seccomp(struct text *t, const struct call_memory *m, const struct call_moment *x);
static bool add_entries(struct text *t, const struct call_memory *m, const struct call_moment *x);
static bool add_nodes(struct text *t, const struct call_memory *m, const struct call_moment *x);
static bool add_residence(struct text *t, const struct call_memory *m, const struct call_moment *x);
static bool add_masked(struct text *t, const struct call_memory *m, const struct call_moment *x);

static const struct description {
	const char *type;
	uint16_t size; /* of one element; fewer bytes are not shown */
	bool is_row;
	const char *text;
	const char *whole; /* if structures are not abbreviated; NULL: the same */
	/* Instead of a text. Returns false if there are too few bytes. */
	bool (*add)(struct text *t, const struct call_memory *m, const struct call_moment *x);
} descriptions[] = {
	{ "int", 4, false, "[%0d4]", NULL, NULL },
	{ "uint", 4, false, "[%0u4]", NULL, NULL },
	{ "id", 4, false, "[%0i4]", NULL, NULL },
	{ "ids", 4, true, "%0i4", NULL, NULL },
	{ "long", 8, false, "[%0d8]", NULL, NULL },
	{ "size", 8, false, "[%0u8]", NULL, NULL },
	{ "address", 8, false, "[%0p8]", NULL, NULL },
	{ "hex", 8, false, "[%0x8]", NULL, NULL },
	{ "sched_param", 4, false, "[%0d4]", NULL, NULL },
	{ "timex", 208, false,
	  "{modes=%0F4:timex_modes, offset=%8d8, freq=%16d8, maxerror=%24u8, esterror=%32u8, "
	  "status=%40F4:timex_status, constant=%48d8, precision=%56u8, tolerance=%64d8, "
	  "time={tv_sec=%72d8, tv_usec=%80u8}, tick=%88d8, ppsfreq=%96d8, jitter=%104d8, "
	  "shift=%112d4, stabil=%120d8, jitcnt=%128d8, calcnt=%136d8, errcnt=%144d8, "
	  "stbcnt=%152d8, tai=%160d4}",
	  NULL, NULL },
	{ "tms", 32, false, "{tms_utime=%0t8, tms_stime=%8t8, tms_cutime=%16t8, tms_cstime=%24t8}",
	  NULL, NULL },
	{ "utimbuf", 16, false, "{actime=%0D8, modtime=%8D8}", NULL, NULL },
	{ "timevals", 32, false, "[%0S8, %16S8]", NULL, NULL },
	{ "timezone", 8, false, "{tz_minuteswest=%0d4, tz_dsttime=%4d4}", NULL, NULL },
	{ "timeval", 16, false, "{tv_sec=%0d8, tv_usec=%8u8}", NULL, NULL },
	{ "timespec", 16, false, "{tv_sec=%0d8, tv_nsec=%8u8}", NULL, NULL },
	{ "date", 8, false, "[%0D8]", NULL, NULL },
	{ "sigmask_argument", 0, false, NULL, NULL, add_masked },
	{ "iovecs", 16, true, "{iov_base=%0p8, iov_len=%8u8}", NULL, NULL },
	{ "seccomp_action", 0, false, NULL, NULL, add_seccomp },
	{ "entries", 0, false, NULL, NULL, add_entries },
	{ "entries64", 0, false, NULL, NULL, add_entries },
	{ "nodes", 0, false, NULL, NULL, add_nodes },
	{ "policy", 4, false, "[%0E4:mpol]", NULL, NULL },
	{ "residence", 0, false, NULL, NULL, add_residence },
	{ "quota", 0, false, NULL, NULL, call_quota_add },
	{ "errors", 4, true, "%0e4", NULL, NULL },
	{ "filter", 0, false, NULL, NULL, call_filter_of_calls },
	{ "socket_filter", 0, false, NULL, NULL, call_filter_got },
	{ "kcmp_slot", 12, false, "{efd=%0d4, tfd=%4d4, toff=%8u4}", NULL, NULL },
	{ "sysctl", 48, false,
	  "{name=%0p8, nlen=%8d4, oldval=%16p8, oldlenp=%24p8, newval=%32p8, newlen=%40u8}", NULL,
	  NULL },
	{ "kexec_segments", 32, true, "{buf=%0p8, bufsz=%8u8, mem=%16p8, memsz=%24u8}", NULL,
	  NULL },
	{ "cap_header", 8, false, "{version=%0E4:capability, pid=%4d4}", NULL, NULL },
	{ "mq_attr", 64, false,
	  "{mq_flags=%0F8:mq_attr, mq_maxmsg=%8d8, mq_msgsize=%16d8, mq_curmsgs=%24d8}", NULL,
	  NULL },
	{ "new_mq_attr", 64, false, /* mq_open() ignores the flags */
	  "{mq_flags=%0x8, mq_maxmsg=%8d8, mq_msgsize=%16d8, mq_curmsgs=%24d8}", NULL, NULL },
	{ "sembuf", 6, true, "{sem_num=%0u2, sem_op=%2d2, sem_flg=%4F2:sem}", NULL, NULL },
	{ "open_how", 0, false, NULL, NULL, add_open_how },
	{ "landlock_path", 0, false, NULL, NULL, add_landlock_path },
	{ "signals_wanted", 16, false, "{off=%0u8, flags=%8F4:peek_signals, nr=%12u4}", NULL,
	  NULL },
	{ "capheader", 8, false, "{version=%0E4:cap_version, pid=%4d4}", NULL, NULL },
	{ "ustat", 32, false, "{f_tfree=%0d4, f_tinode=%8u8, f_fname=%16s6, f_fpack=%22s6}", NULL,
	  NULL },
	{ "seccomp_sizes", 6, false,
	  "{seccomp_notif=%0u2, seccomp_notif_resp=%2u2, seccomp_data=%4u2}", NULL, NULL },
	{ "sigevent", 0, false, NULL, NULL, add_sigevent },
	{ "futex_waitv", 24, true, "{val=%0x8, uaddr=%8p8, flags=%16F4:futex2%20R4}", NULL, NULL },
	{ "ints", 4, true, "%0d4", NULL, NULL },
	{ "addresses", 8, true, "%0p8", NULL, NULL },
	{ "iocb", 0, false, NULL, NULL, call_block_add },
	{ "io_event", 32, true, "{data=%0x8, obj=%8p8, res=%16d8, res2=%24d8}", NULL, NULL },
};

void call_described_length(const struct call_memory *m, struct call_length *lengths)
{
	static const struct {
		const char *type;
		uint8_t at, size;
	} places[] = { { "bpf_attr", 4, 4 }, { "ptrace_data", 8, 8 }, { "perf_attr", 4, 4 } };

	for (size_t i = 0; m->what->type && i < sizeof places / sizeof *places; i++)
		if (!strcmp(m->what->type, places[i].type) &&
		    m->size >= (unsigned)places[i].at + places[i].size)
			lengths[m->what->argument - 1] = (struct call_length){
				bytes_number(m->bytes + places[i].at, places[i].size), true
			};
}

static const struct call_name *table_of(const char *name, size_t size)
{
	const struct call_names_entry *const all[] = { call_names_of_uapi, call_names_of_libc };

	for (int i = 0; i < 2; i++)
		for (const struct call_names_entry *e = all[i]; e->name; e++)
			if (strlen(e->name) == size && !memcmp(e->name, name, size))
				return e->names;
	return NULL;
}

struct mark {
	unsigned offset, size;
	char form;
	const struct call_name *names;
};

/* Reads the mark at @p, behind its %; returns its end. */
static const char *read_mark(const char *p, struct mark *m)
{
	char *end;

	m->offset = (unsigned)strtoul(p, &end, 10);
	m->form = *end++;
	m->size = (unsigned)strtoul(end, &end, 10);
	m->names = NULL;
	if (*end != ':' || !strchr("FEO", m->form))
		return end;
	p = end + 1;
	end += 1 + strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
	m->names = table_of(p, (size_t)(end - p));
	return end;
}

static void add_signed_of(struct text *t, uint64_t v, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	add_signed(t, (int64_t)(v << unused) >> unused);
}

/* "-EFAULT", by the style. */
static void add_error(struct text *t, int32_t n)
{
	const char *name = n < 0 && n != INT32_MIN ? call_errno(-n) : NULL;

	if (!name)
		return add_signed(t, n);
	if (!call_words_begin(t, (uint64_t)(int64_t)n, CALL_DECIMAL))
		return;
	text_addf(t, "-%s", name);
	call_words_end(t);
}

static void add_field(struct text *t, const struct mark *m, const uint8_t *bytes,
		      const struct call_moment *x)
{
	uint64_t v = m->size <= 8 && m->form != 's' ? bytes_number(bytes + m->offset, m->size) : 0;

	switch (m->form) {
	case 'd':
		return add_signed_of(t, v, m->size);
	case 'u':
		return add_base(t, v, 10, "");
	case 'x':
		return add_hex(t, v);
	case 'o':
		return text_addf(t, "%#03llo", (unsigned long long)v);
	case 'i':
		return (uint32_t)v == UINT32_MAX ? add(t, "-1") : add_base(t, v, 10, "");
	case 'p':
		return add_address(t, v);
	case 'f':
		return call_fd(t, (int32_t)v, x->about);
	case 'w':
		return text_addf(t, "%016" PRIx64, v);
	case 'g':
		return call_signal(t, (int32_t)v);
	case 'm':
		return call_mode(t, (uint32_t)v);
	case 't':
		return call_ticks(t, (int64_t)v);
	case 'D':
		add_signed(t, (int64_t)v);
		return call_date(t, " /* ", (int64_t)v, 0, 0, " */");
	case 'S':
		return call_stamp(t, (int64_t)v, bytes_number(bytes + m->offset + 8, 8), 6);
	case 'v':
		return call_device(t, v);
	case 's':
		return call_quoted(t, (const char *)bytes + m->offset,
				   strnlen((const char *)bytes + m->offset, m->size));
	case 'F':
		return m->names ? call_flags(t, m->names, v) : add_hex(t, v);
	case 'e':
		return add_error(t, (int32_t)v);
	case 'R':
		return v ? text_addf(t, ", __reserved=%#llx", (unsigned long long)v) : (void)0;
	case 'O':
		return call_open(t, call_names_open, v);
	case 'E':
		return m->names ? call_one(t, m->names, (int64_t)v, (uint8_t)(8 * m->size))
				: add_hex(t, v);
	}
}

static void add_element(struct text *t, const char *p, const uint8_t *bytes,
			const struct call_moment *x)
{
	struct mark m;

	for (const char *next; (next = strchr(p, '%')); p = next) {
		text_add(t, p, (size_t)(next - p));
		next = read_mark(next + 1, &m);
		add_field(t, &m, bytes, x);
	}
	add(t, p);
}

void call_description_add(struct text *t, const char *description, const uint8_t *bytes,
			  const struct call_moment *x)
{
	add_element(t, description, bytes, x);
}

/* A mask of signals and its size; the mask lies behind the pointer. */
static bool add_masked(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct call_memory *set = call_memory_behind(m, x, 0);

	if (m->size < 16)
		return false;
	add(t, "{sigmask=");
	if (set && set->size == 8 && bytes_number(m->bytes + 8, 8) == 8)
		call_set_add(t, bytes_number(set->bytes, 8));
	else
		add_address(t, bytes_number(m->bytes, 8));
	add_element(t, ", sigsetsize=%8u8}", m->bytes, x);
	return true;
}

static uint64_t most_of(const struct call_moment *x)
{
	return x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX;
}

/* A mask of memory nodes. The kernel takes one bit less than the number that it is given. */
static bool add_nodes(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	uint64_t bits = (uint64_t)x->args[2], n = bits > 1 ? (bits - 2) / 64 + 1 : 0, i = 0,
		 most = most_of(x), from = (uint64_t)x->args[m->what->argument - 1];
	bool is_cut = m->size + 8u > m->what->size;

	if (bits == 1 || (n && m->size < 8) || (x->is_end && n > m->size / 8 && !is_cut))
		return false;
	add(t, "[");
	for (; i < n && i < most && 8 * (i + 1) <= m->size; i++)
		text_addf(t, "%s%016" PRIx64, i ? ", " : "",
			  bytes_number(m->bytes + 8 * (unsigned)i, 8));
	if (i < n && i == m->size / 8 && !is_cut)
		text_addf(t, ", ... /* %#" PRIx64 " */]", from + 8 * i);
	else
		add(t, i < n ? ", ...]" : "]");
	return true;
}

/* Whether each page of a range is in memory. */
static bool add_residence(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { PAGE = 4096 };
	uint64_t length = (uint64_t)x->args[1], n = length / PAGE + (length % PAGE != 0), i = 0,
		 most = most_of(x);

	if (n > m->size && m->size < m->what->size)
		return false;
	add(t, "[");
	for (; i < n && i < most && i < m->size; i++)
		text_addf(t, "%s%u", i ? ", " : "", m->bytes[i] & 1);
	add(t, i < n ? ", ...]" : "]");
	return true;
}

static bool add_sigevent(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIGNAL, THREAD = 2, THREAD_ID = 4 };
	const uint8_t *p = m->bytes;
	uint32_t how;

	if (m->size < 32)
		return false;
	how = (uint32_t)bytes_number(p + 12, 4);
	add(t, "{");
	if (bytes_number(p, 8))
		add_element(t, "sigev_value={sival_int=%0d4, sival_ptr=%0p8}, ", p, x);
	add_element(t,
		    how == SIGNAL || how == THREAD || how == THREAD_ID ? "sigev_signo=%8g4"
								       : "sigev_signo=%8u4",
		    p, x);
	add_element(t, ", sigev_notify=%12E4:sigev", p, x);
	if (how == THREAD && m->size >= 32)
		add_element(t, ", sigev_notify_function=%16p8, sigev_notify_attributes=%24p8", p,
			    x);
	if (how == THREAD_ID && m->size >= 20)
		add_element(t, ", sigev_notify_thread_id=%16d4", p, x);
	add(t, "}");
	return true;
}

static bool add_landlock_path(struct text *t, const struct call_memory *m,
			      const struct call_moment *x)
{
	enum { PATH_BENEATH = 1 };

	if (m->size < 12 || (uint32_t)x->args[1] != PATH_BENEATH)
		return false;
	add_element(t, "{allowed_access=%0F8:landlock_fs, parent_fd=%8f4}", m->bytes, x);
	return true;
}

static bool add_seccomp(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	if (m->size < 4 || x->args[0] != 2) /* SECCOMP_GET_ACTION_AVAIL */
		return false;
	add_element(t, "[%0E4:seccomp_ret]", m->bytes, x);
	return true;
}

/* One entry of a directory, @size bytes at @p. The two calls have its type in two places. */
static void add_entry(struct text *t, const uint8_t *p, uint16_t size, bool is_64)
{
	const char *name = (const char *)p + (is_64 ? 19 : 18);
	size_t room = size - 19u;

	text_addf(t, "{d_ino=%" PRIu64 ", d_off=%" PRId64 ", d_reclen=%" PRIu16, bytes_number(p, 8),
		  (int64_t)bytes_number(p + 8, 8), size);
	if (is_64) {
		add(t, ", d_type=");
		call_one(t, call_names_directory, p[18], 8);
	}
	add(t, ", d_name=");
	call_quoted(t, name, strnlen(name, room));
	if (!is_64) {
		add(t, ", d_type=");
		call_one(t, call_names_directory, p[size - 1], 8);
	}
	add(t, "}");
}

/* The entries that getdents() returned: their number, or all. They are counted only if all were
 * recorded. */
static bool add_entries(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	bool is_64 = !strcmp(m->what->type, "entries64"), is_whole = call_style()->is_whole;
	uint32_t n = 0, at = 0;
	uint16_t size;

	if (x->result < 0 || (uint64_t)x->result != m->size)
		return false;
	for (; at + 20 <= m->size; at += size, n++) {
		size = (uint16_t)bytes_number(m->bytes + at + 16, 2);
		if (size < 20 || size > m->size - at)
			return false;
	}
	if (!is_whole) {
		add_address(t, (uint64_t)x->args[m->what->argument - 1]);
		text_addf(t, " /* %" PRIu32 " entries */", n);
		return true;
	}
	add(t, "[");
	for (uint32_t k = 0, from = 0; k < n; k++, from += size) {
		size = (uint16_t)bytes_number(m->bytes + from + 16, 2);
		add(t, k ? ", " : "");
		add_entry(t, m->bytes + from, size, is_64);
	}
	add(t, "]");
	return true;
}

/* What a newer program passes behind the structure: nothing if it is 0. */
void call_rest_add(struct text *t, const struct call_memory *m, uint32_t known, uint64_t size)
{
	uint32_t i = known;

	if (size <= known)
		return;
	if (m->size <= known || (m->size < size && m->size < m->what->size))
		return add(t, ", ???");
	while (i < m->size && !m->bytes[i])
		i++;
	if (i == m->size)
		return;
	text_addf(t, ", /* bytes %" PRIu32 "..%" PRIu64 " */ ", known, size - 1);
	call_hex_quoted(t, m->bytes + known, m->size - known);
	add(t, m->size < size ? "..." : "");
}

static bool add_open_how(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	enum { SIZE = 24, CREATES = 0x40 | 0x400000 }; /* O_CREAT, __O_TMPFILE */

	if (m->size < SIZE)
		return false;
	add_element(t, "{flags=%0O8:open", m->bytes, x);
	if (bytes_number(m->bytes, 8) & CREATES || bytes_number(m->bytes + 8, 8))
		add_element(t, ", mode=%8o8", m->bytes, x);
	add_element(t, ", resolve=%16F8:resolve", m->bytes, x);
	call_rest_add(t, m, SIZE, (uint64_t)x->args[3]);
	add(t, "}");
	return true;
}

static const struct description *description_of(const char *type)
{
	for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++)
		if (!strcmp(descriptions[i].type, type))
			return &descriptions[i];
	return NULL;
}

/* The number of elements that the call speaks of. */
static uint64_t count_of(const struct call_memory *m, const struct call_moment *x, unsigned size)
{
	uint8_t from = m->what->size_argument;

	if (!from)
		return m->size / size;
	if (from == ABI_CAPTURE_RESULT)
		return (uint64_t)x->result * m->what->unit / size;
	return (m->what->is_int ? (uint64_t)(int32_t)x->args[from - 1]
				: (uint64_t)x->args[from - 1]) *
	       m->what->unit / size;
}

/* The most elements that a call accepts; it refuses more without reading them. */
static uint64_t limit_of(const struct abi_capture *what)
{
	enum { GROUPS = 65536, SEGMENTS = 16 };

	return !strcmp(what->type, "ids")	       ? GROUPS
	       : !strcmp(what->type, "kexec_segments") ? SEGMENTS
						       : UINT64_MAX;
}

static bool add_row(struct text *t, const struct description *d, const struct call_memory *m,
		    const struct call_moment *x)
{
	uint64_t all = count_of(m, x, d->size), n = m->size / d->size,
		 most = x->string_bytes && !call_style()->is_whole ? x->string_bytes : UINT64_MAX;

	uint64_t from = (uint64_t)x->args[m->what->argument - 1];
	bool is_cut = n * d->size + d->size > m->what->size;

	if ((!n && all) || all > limit_of(m->what))
		return false;
	if (all && m->what->room_argument && !(uint32_t)x->args[m->what->room_argument - 1])
		return false; /* only their number is wanted */
	add(t, "[");
	for (uint64_t i = 0; i < n && i < most; i++) {
		add(t, i ? ", " : "");
		add_element(t, d->text, m->bytes + i * d->size, x);
	}
	if (n < all && n <= most && !is_cut) /* the next one could not be read */
		text_addf(t, ", ... /* %#" PRIx64 " */]", from + n * d->size);
	else
		add(t, (n < most ? n : most) < all ? ", ...]" : "]");
	return true;
}

bool call_described_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	const struct description *d = m->what->type ? description_of(m->what->type) : NULL;
	const struct call_decoder *other = call_decoders;

	while (!d && m->what->type && other->type && strcmp(other->type, m->what->type) != 0)
		other++;
	if (!d && m->what->type && other->type && x->args[m->what->argument - 1])
		return other->add(t, m, x);
	if (!d || !x->args[m->what->argument - 1])
		return false;
	if (d->add)
		return d->add(t, m, x);
	if (d->is_row)
		return add_row(t, d, m, x);
	if (m->size < d->size)
		return false;
	add_element(t, d->whole && call_style()->is_whole ? d->whole : d->text, m->bytes, x);
	return true;
}
