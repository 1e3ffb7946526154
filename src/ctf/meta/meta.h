/* SPDX-License-Identifier: MIT */
/*
 * ctf/meta/meta.h - what a trace's metadata says, as a tree in memory.
 *
 * Parsed once from TSDL (CTF 1.8) or JSON (CTF 2), then only read: any number of threads may share
 * it.  All of it lies in one arena and goes with ctf_meta_close().  What always holds after a
 * parse:
 *
 *   (1) sizes are 1 to 64 bits, alignments are powers of two up to 4096
 *   (2) types form a tree or share branches, never a cycle, and are at most CTF_DEPTH_MAX deep
 *   (3) the arena is in proportion to the length of the text
 *
 * Shared branches may still stand for very many fields; ctf/decode/class.c bounds what it makes of
 * them.
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
	CTF_LEB128, /* an integer of as many bytes as it needs: CTF 2 */
};

enum ctf_order { CTF_NATIVE, CTF_LITTLE, CTF_BIG };

struct ctf_label {
	const char *text;
	uint64_t first, last; /* inclusive; two's complement if the container is signed */
};

struct ctf_member {
	const char *name; /* as written, underscores and all */
	const struct ctf_type *type;
};

struct ctf_type {
	uint8_t kind;  /* enum ctf_kind */
	uint8_t order; /* enum ctf_order: integers, floats */
	uint8_t base;  /* integers: 2, 8, 10 or 16 */
	bool is_signed;
	bool is_text;		/* integers: a character */
	bool is_optional;	/* variants: no case is no damage */
	uint32_t size_bits;	/* integers, floats */
	uint32_t align_bits;	/* of all kinds; 1 for variants */
	uint32_t exponent_bits; /* floats */
	uint32_t depth;
	uint32_t n_members; /* structs, variants; of enums: labels */
	uint32_t n_ranges;  /* variants that tell by themselves what chooses what: of labels, by
			       option */
	uint64_t length;    /* arrays */
	const struct ctf_type *of; /* arrays, sequences: the element; enums: the container */
	const char *path;	   /* sequences: where the length is; variants: the tag */
	const char *clock;	   /* integers: name of the clock they show, or NULL */
	const char *role; /* CTF 2: what it is to packets and headers, "" nothing; NULL: its name
			     tells */
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

/* A part of the text that says nothing: a block, or fragment, that is not whole or makes no sense.
 */
struct ctf_gap {
	size_t from, to;
};

struct ctf_program;

struct ctf_event_class {
	struct ctf_event_class *next; /* in the order of the metadata */
	const char *name;
	uint32_t id;
	uint32_t stream_id;
	bool has_stream_id; /* else it is of the only one */
	uint32_t number; /* who reads several traces numbers them through all; else 0 ... n_events -
			    1 */
	int loglevel;	 /* -1 if not given */
	const struct ctf_type *context;
	const struct ctf_type *fields;
	size_t from, to;		   /* its block of the text */
	const struct ctf_program *program; /* NULL if it cannot be read: see error */
	const char *error;
};

/* What stepping over an event needs, together in one cache line with its neighbours: nothing is to
 * be looked up through the class.  Context and fields are so many bits, then so many strings; if
 * they are anything else, or not on bytes, both are 0. */
struct ctf_by_id {
	struct ctf_event_class *class; /* NULL: no such id */
	uint32_t
		size_bits; /* 16 bytes in all: indexing is on the way from each event to the next */
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
	bool has_major, has_minor; /* the trace block says which version it is, which others than we
				      want to know */
	size_t trace_to;	   /* behind the trace block's last brace */
	const struct ctf_type *packet_header;
	const struct ctf_program *packet_header_program;
	struct ctf_clock *clocks;
	uint32_t n_clocks;
	struct ctf_env *env;
	uint32_t n_env;
	struct ctf_stream_class *streams;
	uint32_t n_streams;
	struct ctf_event_class *events;
	struct ctf_event_class **last_event; /* where the next is hung */
	uint32_t n_events;
	uint64_t n_ops;	  /* of all programs: bounded, see ctf/decode/class.c */
	uint64_t n_steps; /* spent on looking up lengths and tags: bounded too */
	const char *
		missing_clock; /* a name that numbers show, but no clock had before them; or NULL */
	struct ctf_gap *gaps;  /* passed over, in the order of the text */
	uint32_t n_gaps;
	struct ctf_event_class
		*last_linked; /* this and those before it are in their streams' tables */
	struct tsdl *parser;  /* NULL unless more text may come: ctf_meta_append() */
	uint64_t n_taken;     /* bytes of the file, by ctf_meta_append() */
};

/*
 * ctf_meta_parse - read TSDL text.
 *
 * A block that is damaged is passed over (m->gaps), and reading goes on with the next line that
 * begins like one.  On error (-EINVAL, -ENOMEM) @m holds what was whole, still to be closed, and is
 * usable if m->has_trace and a stream is there: a recording cut short is like that.  @d tells of
 * the first damage.
 */
int ctf_meta_parse(struct ctf_meta *m, const char *text, size_t size, struct diag *d);

/*
 * ctf_meta_open - read a metadata file, plain or packetised.
 *
 * Returns 0; 1 if it is damaged but usable, with the damage in @d; or -errno.
 */
int ctf_meta_open(struct ctf_meta *m, const char *path, struct diag *d);
void ctf_meta_close(struct ctf_meta *m);

/* ctf_meta_text - the text of a metadata file, to be freed by the caller; *@is_damaged if packets
 * of it were not whole.  0 or -errno. */
int ctf_meta_text(const char *path, char **text, size_t *size, bool *is_damaged, struct diag *d);
/* ctf_meta_read - parse text of either kind. */
int ctf_meta_read(struct ctf_meta *m, const char *text, size_t size, struct diag *d);
/* ctf_meta_link - compile what was parsed (since the last time), before it can be used to decode.
 * 0, -EINVAL, -ENOMEM. */
int ctf_meta_link(struct ctf_meta *m, struct diag *d);
/* ctf_meta_pass - note a gap.  False if there are too many, or no memory for it: stop there. */
bool ctf_meta_pass(struct ctf_meta *m, size_t from, size_t to);
/*
 * ctf_meta_append - what a metadata file that is still written has got since the last call; at
 * first all.
 *
 * @m: zeroes before the first call.  Whole blocks are taken over, what follows them is left for the
 * next call. Everything that was in @m stays where it is.  Metadata other than plain TSDL are read
 * once, and do not grow.
 *
 * Returns 1 if there was more, 0 if not, -EAGAIN if no trace and stream are described yet; or
 * -errno: then nothing more can be read.
 */
int ctf_meta_append(struct ctf_meta *m, const char *path, struct diag *d);
/* The file's @size bytes from @from on, to be freed; fewer at its end.  Of a packed one
 * (ctf/compressed/compressed.h): if it is not there plain. */
int ctf_meta_read_file(const char *path, uint64_t from, char **bytes, size_t *size, struct diag *d);

/* ctf_meta_unpack - the text of packetised metadata, in place: @bytes shrinks to it.
 * Returns its size; *@is_damaged if a packet was not whole. */
size_t ctf_meta_unpack(char *bytes, size_t size, bool *is_damaged);

const char *ctf_meta_env(const struct ctf_meta *m, const char *key); /* NULL: none, or a number */
const struct ctf_clock *ctf_meta_clock(const struct ctf_meta *m, const char *name);
struct ctf_stream_class *ctf_meta_stream(const struct ctf_meta *m, uint64_t id);
struct ctf_event_class *ctf_stream_event(const struct ctf_stream_class *s, uint32_t id);

/* Zeroed memory of the metadata's life time; NULL if there is none. */
void *ctf_meta_alloc(struct ctf_meta *m, size_t size);
char *ctf_meta_string(struct ctf_meta *m, const char *text, size_t size);

/* Room for one more in an array of the arena that grows by doubling. */
void *ctf_meta_grow(struct ctf_meta *m, void *array, uint32_t n, size_t element_size);

#endif
