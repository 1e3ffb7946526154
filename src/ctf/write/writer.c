/* SPDX-License-Identifier: MIT */
/*
 * ctf/write/writer.c - writes metadata, streams and indexes in the layout of LTTng 2.13.
 *
 * With this layout readers of LTTng's traces take their fast paths.  docs/formats/trace.md
 * describes it.
 */
#include "ctf/write/writer.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "abi/ctf.h"
#include "base/io.h"
#include "base/text.h"
#include "clock/clock.h"

enum { BODY_MAX = 1000, FILE_PAGE = 4096, UNIT = 1 << 16, LEAST_SHARE = 16, GAPS_SHARE = 64 };

static void print_uuid(char *text, const uint8_t u[16])
{
	for (int i = 0; i < 16; i++)
		text += sprintf(text, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
				u[i]);
}

/* env values come from the system; quotes and control characters are removed. */
static void add_env(struct text *t, const char *key, const char *value)
{
	text_addf(t, "\t%s = \"", key);
	for (; *value; value++)
		text_addf(t, "%c", *value < ' ' || *value == '"' || *value == '\\' ? '_' : *value);
	text_add(t, "\";\n", 3);
}

static void add_types(struct text *t)
{
	for (int size = 8; size <= 64; size *= 2)
		for (int is_signed = 0; is_signed < 2; is_signed++)
			text_addf(t,
				  "typealias integer { size = %d; align = 8; signed = %s; } := "
				  "%sint%d_t;\n",
				  size, is_signed ? "true" : "false", is_signed ? "" : "u", size);
	text_addf(t, "\n");
}

static void add_env_block(struct text *t, const struct ctf_writer_options *o)
{
	const char *domain = o->domain;
	bool kernel = !strcmp(domain, "kernel");
	struct utsname u;
	time_t now = time(NULL);
	struct tm tm;
	char when[32];

	uname(&u);
	localtime_r(&now, &tm);
	strftime(when, sizeof when, "%Y%m%dT%H%M%S%z", &tm);
	text_addf(t, "env {\n");
	add_env(t, "domain", domain);
	/* The tracer that defined this layout; the tracer that wrote it is named below. */
	add_env(t, "tracer_name", kernel ? "lttng-modules" : "lttng-ust");
	text_addf(t, "\ttracer_major = 2;\n\ttracer_minor = 13;\n");
	if (kernel) {
		text_addf(t, "\ttracer_patchlevel = 0;\n");
		add_env(t, "sysname", u.sysname);
		add_env(t, "kernel_release", u.release);
		add_env(t, "kernel_version", u.version);
	} else {
		add_env(t, "tracer_buffering_scheme", "uid");
		text_addf(t, "\ttracer_buffering_id = %u;\n", (unsigned)getuid());
		text_addf(t, "\tarchitecture_bit_width = %d;\n", (int)sizeof(long) * 8);
	}
	add_env(t, "hostname", o->hostname ? o->hostname : u.nodename);
	add_env(t, "trace_name", "duet");
	add_env(t, "trace_creation_datetime", when);
	add_env(t, "duet_version", DUET_VERSION);
	if (o->scope)
		add_env(t, "duet_scope", o->scope);
	if (o->is_of_command)
		add_env(t, "duet_subject", "command");
	if (o->coarse_channels) {
		add_env(t, "duet_coarse_channels", o->coarse_channels);
		text_addf(t, "\tduet_coarse_error_ns = %llu;\n",
			  (unsigned long long)o->coarse_error_ns);
	}
	text_addf(t, "};\n\n");
}

static void add_head(struct text *t, const struct ctf_writer *s, const struct ctf_writer_options *o,
		     const uint8_t boot_id[16])
{
	char uuid[40];

	print_uuid(uuid, s->uuid);
	text_addf(t, "/* CTF 1.8 */\n\n");
	add_types(t);
	text_addf(t,
		  "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = %s;\n"
		  "\tpacket.header := struct {\n\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n"
		  "\t\tuint32_t stream_id;\n\t\tuint64_t stream_instance_id;\n\t};\n};\n\n",
		  uuid, __BYTE_ORDER == __LITTLE_ENDIAN ? "le" : "be");
	add_env_block(t, o);
	print_uuid(uuid, boot_id);
	text_addf(t,
		  "clock {\n\tname = \"monotonic\";\n\tuuid = \"%s\";\n\tdescription = \"%s\";\n"
		  "\tfreq = 1000000000;\n\toffset = %llu;\n};\n\n",
		  uuid, o->clock->kind == ABI_CLOCK_TSC ? "TSC in nanoseconds" : "Monotonic Clock",
		  (unsigned long long)o->clock_offset_ns);
	text_addf(t, "typealias integer {\n\tsize = 32; align = 8; signed = false;\n"
		     "\tmap = clock.monotonic.value;\n} := uint32_clock_monotonic_t;\n\n"
		     "typealias integer {\n\tsize = 64; align = 8; signed = false;\n"
		     "\tmap = clock.monotonic.value;\n} := uint64_clock_monotonic_t;\n\n"
		     "struct packet_context {\n\tuint64_clock_monotonic_t timestamp_begin;\n"
		     "\tuint64_clock_monotonic_t timestamp_end;\n\tuint64_t content_size;\n"
		     "\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n"
		     "\tuint64_t events_discarded;\n\tuint32_t cpu_id;\n};\n\n");
}

int ctf_writer_open(struct ctf_writer *s, const struct ctf_writer_options *o, struct diag *d)
{
	struct text t = { 0 };
	uint8_t boot_id[16];
	int err;

	*s = (struct ctf_writer){
		.dir = -1, .index_dir = -1, .metadata = -1, .begin_ns = o->begin_ns
	};
	if (strlen(o->path) >= sizeof s->path)
		return diag_fail(d, -ENAMETOOLONG, "%s: the path is too long", o->path);
	strcpy(s->path, o->path);
	if (getrandom(s->uuid, sizeof s->uuid, 0) != sizeof s->uuid)
		return diag_errno(d, "cannot draw a trace uuid");
	err = 0;
	if (o->clock_uuid)
		memcpy(boot_id, o->clock_uuid, sizeof boot_id);
	else
		err = clock_boot_id(boot_id);
	if (err)
		return diag_fail(d, err, "cannot read the boot id in /proc/sys/kernel/random");
	err = io_make_dirs(o->path);
	if (err)
		return diag_fail(d, err, "cannot make %s: %s", o->path, strerror(-err));
	s->dir = open(o->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0 || (mkdirat(s->dir, "index", 0777) && errno != EEXIST))
		goto fail;
	s->index_dir = openat(s->dir, "index", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->metadata = openat(s->dir, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
			     0666);
	if (s->index_dir < 0 || s->metadata < 0)
		goto fail;
	add_head(&t, s, o, boot_id);
	err = t.failed ? -ENOMEM : ctf_writer_describe(s, t.bytes, t.size, d);
	text_fini(&t);
	if (err)
		ctf_writer_close(s);
	return err;
fail:
	err = diag_errno(d, "cannot write a trace into %s", o->path);
	ctf_writer_close(s);
	return err;
}

void ctf_writer_close(struct ctf_writer *s)
{
	if (s->dir >= 0)
		close(s->dir);
	if (s->index_dir >= 0)
		close(s->index_dir);
	if (s->metadata >= 0)
		close(s->metadata);
	s->dir = s->index_dir = s->metadata = -1;
}

static int refuse(const struct ctf_writer *s, const char *name, struct diag *d)
{
	return diag_fail(d, -EDQUOT, "%s/%s: the %s is reached", s->path, name,
			 disk_reason_text(s->disk->reason));
}

int ctf_writer_describe(struct ctf_writer *s, const char *tsdl, size_t size, struct diag *d)
{
	off_t before = lseek(s->metadata, 0, SEEK_END);
	uint64_t blocks = disk_blocks(before > 0 ? (uint64_t)before : 0, size);
	int err;

	assert(!size || tsdl[size - 1] == '\n'); /* whole blocks: (3) */
	if (s->refuses)
		return diag_fail(d, -ENOENT, "%s: %s", s->path, s->refuses);
	if (!disk_take(s->disk, s->dir, blocks, false))
		return refuse(s, "metadata", d);
	err = io_write(s->metadata, tsdl, size);
	if (!err)
		return 0;
	disk_untake(s->disk, blocks);
	/* If cutting back fails too, the last block stays incomplete, and readers report it. */
	if (before >= 0)
		(void)!ftruncate(s->metadata, before);
	return diag_fail(d, err, "%s/metadata: %s", s->path, strerror(-err));
}

/* Removes a stream that could not be created, so that the next attempt can use its name. */
static void undo_stream(struct ctf_stream *st, const char *index)
{
	if (st->fd >= 0)
		unlinkat(st->writer->dir, st->name, 0);
	if (st->index >= 0)
		unlinkat(st->writer->index_dir, index, 0);
	ctf_stream_close(st);
}

int ctf_stream_open(struct ctf_stream *st, struct ctf_writer *s, const char *name, struct diag *d)
{
	struct abi_ctf_index_header h = {
		.magic = htobe32(ABI_CTF_INDEX_MAGIC),
		.major = htobe32(1),
		.minor = htobe32(1),
		.entry_size = htobe32(sizeof(struct abi_ctf_index_entry)),
	};
	char index[80];
	int err;

	assert(s->dir >= 0 && s->index_dir >= 0 && s->metadata >= 0);
	if (s->refuses)
		return diag_fail(d, -ENOENT, "%s: %s", s->path, s->refuses);
	*st = (struct ctf_stream){ .writer = s,
				   .fd = -1,
				   .index = -1,
				   .instance = s->n_streams,
				   .begin_ns = s->begin_ns };
	snprintf(st->name, sizeof st->name, "%s", name);
	snprintf(index, sizeof index, "%s.idx", st->name);
	st->fd = openat(s->dir, st->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	st->index = openat(s->index_dir, index, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (st->fd < 0 || st->index < 0) {
		err = diag_errno(d, "cannot create %s/%s", s->path, name);
		undo_stream(st, index);
		return err;
	}
	if (!disk_take(s->disk, s->dir, disk_blocks(0, sizeof h), true)) {
		undo_stream(st, index);
		return refuse(s, name, d);
	}
	err = io_write(st->index, &h, sizeof h);
	if (err) {
		undo_stream(st, index);
		return diag_fail(d, err, "%s/index/%s: %s", s->path, index, strerror(-err));
	}
	st->n_index = sizeof h;
	s->n_streams++;
	return 0;
}

void ctf_stream_close(struct ctf_stream *st)
{
	if (st->fd >= 0)
		close(st->fd);
	if (st->index >= 0)
		close(st->index);
	st->fd = st->index = -1;
}

static struct abi_ctf_index_entry entry_of(const struct abi_ctf_packet *h, uint64_t offset,
					   enum ctf_births births)
{
	static const uint64_t upper[] = { [CTF_BIRTHS_NONE] = ABI_CTF_INDEX_NO_BIRTHS,
					  [CTF_BIRTHS_SOME] = ABI_CTF_INDEX_BIRTHS };

	return (struct abi_ctf_index_entry){
		.offset = htobe64(offset),
		.packet_bits = htobe64(h->packet_bits),
		.content_bits = htobe64(h->content_bits),
		.begin_ns = htobe64(h->begin_ns),
		.end_ns = htobe64(h->end_ns),
		.discarded = htobe64(h->discarded),
		.stream_id = htobe64(h->stream_id),
		.stream_instance_id = htobe64(h->stream_instance_id | upper[births]),
		.sequence = htobe64(h->sequence),
	};
}

/*
 * Blocks for @size more bytes of the index, so that no full disk cuts them: a reader that follows might
 * have read the first of several packets when they are taken back.  Without them nothing is written.  A
 * file system that cannot reserve goes without.
 */
static int reserve_index(struct ctf_stream *st, size_t size)
{
	uint64_t end = (st->n_index + size + FILE_PAGE - 1) & ~(uint64_t)(FILE_PAGE - 1);

	if (st->n_index + size <= st->index_room)
		return 0;
	if (fallocate(st->index, FALLOC_FL_KEEP_SIZE, (off_t)st->n_index,
		      (off_t)(end - st->n_index)) &&
	    (errno == ENOSPC || errno == EDQUOT))
		return -errno;
	st->index_room = end;
	return 0;
}

static int append_index(struct ctf_stream *st, const struct abi_ctf_index_entry *e, size_t size)
{
	int err = io_write(st->index, e, size);

	if (err) {
		(void)!ftruncate(st->index, (off_t)st->n_index); /* reserved blocks go too */
		st->index_room = 0;
		lseek(st->index, (off_t)st->n_index, SEEK_SET);
		return err;
	}
	st->n_index += size;
	return 0;
}

/* From @at to the next multiple of @unit, a power of two. */
static size_t to_next(uint64_t at, uint32_t unit)
{
	return (size_t)(-at & (unit - 1));
}

/*
 * Zeros behind a packet of @size bytes at @offset, so that the next one begins on a page of the file, if
 * they are a small part of it.  A write of whole pages costs ext4 a third less than one that begins and
 * ends within a page.
 *
 * A packet that fills UNITs (a full sub-buffer) also ends with one: ext4 keeps such a write in one or two
 * large folios in place of seven.  After a shorter packet that takes up to a UNIT of zeros; these gaps
 * are at most a GAPS_SHAREth of the file.  Figures: docs/design/figures/collector.md.
 */
static size_t padding(const struct ctf_stream *st, uint64_t offset, uint64_t size, uint64_t gaps)
{
	size_t n = to_next(offset + size, UNIT), page = to_next(offset + size, FILE_PAGE);

	if (to_next(size, UNIT) * LEAST_SHARE <= size &&
	    (n * LEAST_SHARE <= size || (st->gaps + gaps + n) * GAPS_SHARE <= offset + size))
		return n;
	return page * LEAST_SHARE <= size ? page : 0;
}

/* Packets that one write appends. */
struct writing {
	struct abi_ctf_packet heads[CTF_PACKETS_MOST];
	struct abi_ctf_index_entry entries[CTF_PACKETS_MOST];
	struct ctf_sum sums[CTF_PACKETS_MOST];
	struct iovec v[BODY_MAX + 2 * CTF_PACKETS_MOST];
	int n, n_v;
	uint64_t size;
	uint64_t gaps; /* ctf_stream.gaps of them */
};

static void add_part(struct writing *w, void *bytes, size_t size)
{
	w->v[w->n_v++] = (struct iovec){ bytes, size };
}

static int add_packet(struct writing *w, const struct ctf_stream *st, const struct ctf_packet *p,
		      struct diag *d)
{
	static char zeros[UNIT];
	struct abi_ctf_packet *h = &w->heads[w->n];
	uint64_t size = sizeof *h, offset = st->offset + w->size;
	size_t n_zeros;

	assert(p->n_body >= 0 && w->n < CTF_PACKETS_MOST);
	if (p->n_body > BODY_MAX + 2 * w->n - w->n_v)
		return diag_fail(d, -E2BIG, "%s: a packet in %d pieces", st->name, p->n_body);
	*h = (struct abi_ctf_packet){
		.magic = ABI_CTF_MAGIC,
		.stream_id = st->class_id,
		.stream_instance_id = st->instance,
		.begin_ns = p->begin_ns,
		.end_ns = p->end_ns,
		.sequence = p->sequence,
		.discarded = p->discarded,
		.cpu = p->cpu,
	};
	memcpy(h->uuid, st->writer->uuid, sizeof h->uuid);
	add_part(w, h, sizeof *h);
	for (int i = 0; i < p->n_body; i++) {
		add_part(w, p->body[i].iov_base, p->body[i].iov_len);
		size += p->body[i].iov_len;
	}
	h->content_bits = size * 8;
	n_zeros = padding(st, offset, size, w->gaps);
	w->gaps += n_zeros * LEAST_SHARE > size ? n_zeros : 0;
	add_part(w, zeros, n_zeros);
	size += n_zeros;
	h->packet_bits = size * 8;
	w->entries[w->n] = entry_of(h, offset, p->births);
	w->sums[w->n++] = (struct ctf_sum){ p->n_events, size };
	w->size += size;
	return 0;
}

/* Room on the disk and in the spool for all of @w.  Without it for several packets the caller tries them one by
 * one, so that is no refusal. */
static int take_room(struct ctf_stream *st, const struct writing *w, uint64_t *blocks,
		     bool is_report, struct diag *d)
{
	struct ctf_writer *s = st->writer;

	*blocks = disk_blocks(st->offset, w->size) +
		  disk_blocks(st->n_index, (size_t)w->n * sizeof *w->entries);
	if (w->n > 1 && (!disk_fits(s->disk, s->dir, *blocks) || !quota_fits(s->quota, w->size)))
		return -ENOSPC;
	if (!disk_take(s->disk, s->dir, *blocks, is_report))
		return refuse(s, st->name, d);
	if (quota_take(s->quota, w->size))
		return 0;
	disk_untake(s->disk, *blocks);
	return diag_fail(d, -ENOSPC, "%s/%s: the spool is full", s->path, st->name);
}

static int write_all(struct ctf_stream *st, struct writing *w, uint64_t blocks, struct diag *d)
{
	struct ctf_writer *s = st->writer;
	int err;

	ctf_ledger_begin(s->ledger, w->sums, (uint32_t)w->n);
	err = reserve_index(st, (size_t)w->n * sizeof *w->entries);
	if (!err)
		err = io_writev(st->fd, w->v, w->n_v);
	if (!err)
		err = append_index(st, w->entries, (size_t)w->n * sizeof *w->entries);
	if (err) {
		/* If cutting back fails too, readers stop before the incomplete packet. */
		(void)!ftruncate(st->fd, (off_t)st->offset);
		lseek(st->fd, (off_t)st->offset, SEEK_SET);
		quota_wrote(s->quota, w->size);
		disk_untake(s->disk, blocks);
		ctf_ledger_begin(s->ledger, NULL, 0);
		return diag_fail(d, err, "%s/%s: %s", s->path, st->name, strerror(-err));
	}
	quota_wrote(s->quota, 0);
	ctf_ledger_end(s->ledger);
	return 0;
}

static int append(struct ctf_stream *st, const struct ctf_packet *p, int n, struct diag *d)
{
	struct ctf_writer *s = st->writer;
	struct writing w;
	uint64_t blocks;
	int err = 0;

	assert(st->fd >= 0 && st->index >= 0 && n > 0 && n <= CTF_PACKETS_MOST);
	if (s->refuses)
		return diag_fail(d, -ENOENT, "%s: %s", s->path, s->refuses);
	w.n = w.n_v = 0; /* the rest is written before it is read */
	w.size = w.gaps = 0;
	for (int i = 0; i < n && !err; i++)
		err = add_packet(&w, st, &p[i], d);
	if (!err)
		err = take_room(st, &w, &blocks, p->is_report, d);
	if (!err)
		err = write_all(st, &w, blocks, d);
	if (err)
		return err;
	st->offset += w.size;
	st->gaps += w.gaps;
	st->sequence = p[n - 1].sequence + 1;
	s->bytes += w.size;
	s->first_ns = s->first_ns && s->first_ns < p->begin_ns ? s->first_ns : p->begin_ns;
	s->last_ns = s->last_ns > p[n - 1].end_ns ? s->last_ns : p[n - 1].end_ns;
	return 0;
}

/* The time between the two packets is one in which the stream had no event. */
static int append_opening(struct ctf_stream *st, const struct ctf_packet *p, struct diag *d)
{
	const struct ctf_packet opening = { .begin_ns = st->begin_ns,
					    .end_ns = st->begin_ns,
					    .is_report = true,
					    .births = p->births ? CTF_BIRTHS_NONE
								: CTF_BIRTHS_UNKNOWN,
					    .cpu = p->cpu };

	return append(st, &opening, 1, d);
}

int ctf_stream_append_all(struct ctf_stream *st, const struct ctf_packet *p, int n, struct diag *d)
{
	struct ctf_packet packets[CTF_PACKETS_MOST];
	int err;

	assert(n > 0 && n <= CTF_PACKETS_MOST);
	if (st->offset || p->sequence || !st->begin_ns || st->begin_ns >= p->begin_ns)
		return append(st, p, n, d);
	err = append_opening(st, p, d);
	if (err)
		return err;
	memcpy(packets, p, (size_t)n * sizeof *p);
	for (int i = 0; i < n; i++)
		packets[i].sequence += st->sequence; /* behind the opening */
	return append(st, packets, n, d);
}

int ctf_stream_append(struct ctf_stream *st, const struct ctf_packet *p, struct diag *d)
{
	return ctf_stream_append_all(st, p, 1, d);
}
