/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/meta.h - the metadata of a trace as a tree in memory.
 *
 * It is parsed once, from TSDL (CTF 1.8) or JSON (CTF 2), and then only read: any number of
 * threads may share it.  All of it is in one arena, which ctf_meta_close() frees.  What always
 * holds after parsing:
 *
 * (1) sizes are 1 to 64 bits, alignments are powers of two up to 4096
 * (2) types form a tree, or share branches, but never a cycle, and have at most CTF_DEPTH_MAX
 *     levels
 * (3) the size of the arena is proportional to the length of the text
 *
 * Shared branches may still expand to very many fields; ctf/decode/class.c limits the programs
 * that it compiles from them.
 */
#ifndef CTF_META_META_H
#define CTF_META_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum { CTF_DEPTH_MAX = 32, CTF_ALIGN_MAX = 4096 };

enum ctf_kind {
	CTF_INTEGER,
	CTF_FLOAT,
	CTF_ENUM,
	CTF_STRING,
	CTF_STRUCT,
	CTF_VARIANT,
	CTF_ARRAY,
	CTF_SEQUENCE,
	CTF_LEB128, /* an integer of variable length: CTF 2 */
};

/* Of texts: the code units, and their byte order.  Bytes of unknown encoding count as UTF-8. */
enum ctf_encoding { CTF_UTF8, CTF_UTF16_LE, CTF_UTF16_BE, CTF_UTF32_LE, CTF_UTF32_BE };

enum ctf_order { CTF_NATIVE, CTF_LITTLE, CTF_BIG };

struct ctf_label {
	const char *text;
	/* inclusive; two's complement if the container is signed; of a bit map: numbers of bits */
	uint64_t first, last;
};

struct ctf_member {
	const char *name; /* as written, with underscores */
	const struct ctf_type *type;
};

struct ctf_type {
	uint8_t kind;  /* enum ctf_kind */
	uint8_t order; /* enum ctf_order: integers, floats */
	uint8_t base;  /* integers: 2, 8, 10 or 16 */
	bool is_signed;
	bool is_text;	     /* integers: a character */
	uint8_t encoding;    /* enum ctf_encoding: strings; integers that are a character's byte */
	bool is_bit_map;     /* enums: a label for each set bit (CTF 2) */
	bool has_several;    /* enums: one value may have several labels */
	bool is_optional;    /* variants: a tag without a case is allowed */
	bool is_known;	     /* enums: an integer in the metadata: ctf/decode/known.h */
	uint32_t size_bits;  /* integers, floats */
	uint32_t align_bits; /* of all kinds; 1 for variants */
	uint32_t exponent_bits; /* floats */
	uint32_t depth;
	uint32_t n_members; /* structs, variants; of enums: labels */
	/* variants with ranges of their own (CTF 2): the number of labels, ordered by option */
	uint32_t n_ranges;
	uint64_t length;	   /* arrays */
	const struct ctf_type *of; /* arrays, sequences: the element; enums: the container */
	const char *path;	   /* sequences: path of the length; variants: path of the tag */
	const char *clock;	   /* integers: name of their clock, or NULL */
	/* CTF 2: the role in packets and headers, "" for none; NULL: the name is the role */
	const char *role;
	const struct ctf_member *members;
	const struct ctf_label *labels;
};

struct ctf_env {
	const char *key;
	const char *text; /* NULL: it is a number */
	int64_t number;
};

struct ctf_clock {
	const char *name;
	uint8_t uuid[16];
	bool has_uuid;
	uint64_t freq; /* never 0 */
	int64_t offset_s;
	int64_t offset; /* in ticks of the clock */
};

/* A part of the text that was skipped: a block or fragment that is incomplete or invalid. */
struct ctf_gap {
	size_t from, to;
};

struct ctf_program;

struct ctf_event_class {
	struct ctf_event_class *next; /* in the order of the metadata */
	const char *name;
	uint32_t id;
	uint32_t stream_id;
	bool has_stream_id; /* else ctf_meta_link() sets the id of the only stream class */
	/* 0 .. n_events - 1; a reader of several traces numbers the classes of all of them */
	uint32_t number;
	int loglevel; /* -1 if not given */
	const struct ctf_type *context;
	const struct ctf_type *fields;
	size_t from, to; /* its block in the text */
	/* NULL if events of the class cannot be decoded: see error */
	const struct ctf_program *program;
	const char *error;
};

/* The data that the step from event to event needs, together in one cache line with its
 * neighbours, so that the class is not read.  An event has @size_bits of context and fields, then
 * @n_strings strings.  If it has any other form, or does not begin on a byte, both are 0. */
struct ctf_by_id {
	struct ctf_event_class *class; /* NULL: no such id */
	/* 16 bytes in all: the index computation is on the path from event to event */
	uint32_t size_bits;
	uint32_t n_strings;
};

struct ctf_stream_class {
	struct ctf_stream_class *next;
	uint32_t id;
	const struct ctf_type *packet_context;
	const struct ctf_type *event_header;
	const struct ctf_type *event_context;
	const struct ctf_program *packet_program;
	const struct ctf_program *header_program;
	uint8_t header_kind; /* enum ctf_header, ctf/decode/class.h */
	uint32_t n_by_id;
	struct ctf_by_id *by_id; /* ids below n_by_id */
	uint32_t n_sparse;
	struct ctf_event_class **sparse; /* the others, by ascending id */
};

struct ctf_meta {
	struct ctf_arena *arena;
	uint8_t uuid[16];
	bool has_uuid;
	uint8_t order; /* CTF_LITTLE or CTF_BIG */
	bool has_trace;
	/* the trace block states the version; other versions are refused */
	bool has_major, has_minor;
	size_t trace_to; /* after the last brace of the trace block */
	const struct ctf_type *packet_header;
	const struct ctf_program *packet_header_program;
	struct ctf_clock *clocks;
	uint32_t n_clocks;
	struct ctf_env *env;
	uint32_t n_env;
	struct ctf_stream_class *streams;
	uint32_t n_streams;
	struct ctf_event_class *events;
	struct ctf_event_class **last_event; /* where to link the next one */
	uint32_t n_events;
	uint64_t n_ops;	  /* of all programs: limited, see ctf/decode/class.c */
	uint64_t n_steps; /* steps of look-ups of lengths and tags: limited too */
	/* a clock name that integers use before the clock is declared; or NULL */
	const char *missing_clock;
	/* those of requests to disks (ctf/decode/known.c), once a class has them; or NULL */
	const struct ctf_label *request_labels;
	struct ctf_gap *gaps; /* skipped parts, in the order of the text */
	uint32_t n_gaps;
	/* this class and those before it are in the tables of their streams */
	struct ctf_event_class *last_linked;
	struct tsdl *parser;   /* NULL unless more text may come: ctf_meta_append() */
	uint64_t n_read_bytes; /* bytes of the file that ctf_meta_append() has read */
};

/*
 * ctf_meta_parse - parse TSDL text.
 *
 * A damaged block is skipped and noted (m->gaps), and parsing continues with the next line that
 * begins like a block.  On error (-EINVAL, -ENOMEM) @m contains the complete blocks, must still
 * be closed, and is usable if m->has_trace and a stream exists: for example after a recording was
 * cut short.  @d describes the first damage.
 */
int ctf_meta_parse(struct ctf_meta *m, const char *text, size_t size, struct diag *d);

void ctf_meta_close(struct ctf_meta *m);

/* ctf_meta_text - read the text of a metadata file.  The caller frees it.  *@is_damaged is set if
 * packets of it were incomplete.  0 or -errno. */
int ctf_meta_text(const char *path, char **text, size_t *size, bool *is_damaged, struct diag *d);
/* ctf_meta_read - parse complete text of either kind.  CTF 1.8 without a `stream` block gets one
 * stream class. */
int ctf_meta_read(struct ctf_meta *m, const char *text, size_t size, struct diag *d);
/* ctf_meta_add_gap - note a skipped part.  False if there are too many, or no memory: then stop. */
bool ctf_meta_add_gap(struct ctf_meta *m, size_t from, size_t to);
/* ctf_meta_read_file - read @size bytes of the file from @from on, fewer at its end.  The caller
 * frees them.  If the plain file does not exist, a compressed one is read
 * (ctf/compressed/compressed.h). */
int ctf_meta_read_file(const char *path, uint64_t from, char **bytes, size_t *size, struct diag *d);

/* ctf_meta_unpack - remove the packet headers from packetised metadata, in place.  Returns the
 * size of the text; *@is_damaged is set if a packet was incomplete. */
size_t ctf_meta_unpack(char *bytes, size_t size, bool *is_damaged);

const char *ctf_meta_env(const struct ctf_meta *m, const char *key); /* NULL: none, or a number */
const struct ctf_clock *ctf_meta_clock(const struct ctf_meta *m, const char *name);
struct ctf_stream_class *ctf_meta_stream(const struct ctf_meta *m, uint64_t id);

/* ctf_meta_alloc - zeroed memory that lives as long as the metadata; NULL if there is none. */
void *ctf_meta_alloc(struct ctf_meta *m, size_t size);
char *ctf_meta_string(struct ctf_meta *m, const char *text, size_t size);

/* ctf_labels_overlap - whether two ranges of an enum share a value.  Also true if
 * memory for the check is missing: a search for further labels is only slower. */
bool ctf_labels_overlap(const struct ctf_type *t);

/* ctf_meta_grow - make room for one more element in an array of the arena, whose capacity
 * doubles. */
void *ctf_meta_grow(struct ctf_meta *m, void *array, uint32_t n, size_t element_size);

#endif
