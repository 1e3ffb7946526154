/* SPDX-License-Identifier: MIT */
/*
 * duet/site.h - the record of a site in the program, and its way to libduet.  Not for users.
 *
 * Each site is one record in the ELF section `duet_sites`.  The assembler writes all of it, because
 * g++ refuses a C object with its own section in templates and inline functions.  The record
 * belongs to the section of its function (section flag "?"), so the linker drops both together.
 *
 * A constructor in every file passes the object's records to libduet, once per object.  It finds
 * libduet if it is already loaded (linked, preloaded), else with dlopen.  Without libduet,
 * `enabled` keeps pointing to a zero.  This layout and `struct duet_i_api` are frozen: they grow at
 * the end, after `size`.
 */
#ifndef DUET_SITE_H
#define DUET_SITE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum duet_i_kind { DUET_I_TYPED = 0, DUET_I_MARK = 1 };

struct duet_i_site {
	const uint64_t *enabled; /* not 0: enabled; in memory that libduet shares with collectors */
	const char *name;	 /* "channel:name" */
	const char *schema;	 /* typed: " i32 id str item"; mark: the format */
	uint32_t kind;
	uint32_t level;
	uint32_t index;	     /* libduet owns the members from here on */
	uint32_t fixed_size; /* typed: payload bytes known at compile time */
	void *data[3];
};

/* The state of an event too large for the stack.  Opaque. */
struct duet_i_open {
	void *words[12];
};

struct duet_probe_event; /* duet/probe.h */
struct duet_probe_value;

struct duet_i_api {
	size_t size; /* sizeof *this in libduet; members after it do not exist */
	/* @ip: the return address of the event in the program. */
	void (*emit)(struct duet_i_site *site, const void *payload, size_t size, const void *ip);
	void *(*open)(struct duet_i_site *site, struct duet_i_open *o, size_t size, const void *ip);
	void (*commit)(struct duet_i_open *o, char *end);
	void (*mark)(struct duet_i_site *site, const char *format, ...)
		__attribute__((format(printf, 2, 3)));
	char *(*string)(char *p, char *end, const char *s, int *cut);
	void (*lost)(void);			  /* counts an event that could not be recorded */
	void (*context_set)(const void *bytes16); /* duet/context.h */
	void (*context_refresh)(void);
	/* A payload of site->fixed_size <= 32 bytes, packed into words. */
	void (*words)(struct duet_i_site *site, const void *ip, uint64_t w0, uint64_t w1,
		      uint64_t w2, uint64_t w3);
	/* A payload of site->fixed_size <= 16 bytes, and a string after it. */
	void (*text)(struct duet_i_site *site, const void *ip, const char *text, uint64_t w0,
		     uint64_t w1);
	/* duet/probe.h */
	int (*probe_attach)(const char *pattern,
			    void (*probe)(const struct duet_probe_event *event, void *arg),
			    void *arg);
	int (*probe_detach)(int probe);
	int (*probe_field)(const struct duet_probe_event *event, const char *name,
			   struct duet_probe_value *value);
	uint64_t (*probe_missed)(void);
	int (*prepare)(unsigned flags); /* duet/sandbox.h */
};

/*
 * duet_i_register - register the sites of an object with libduet.
 *
 * @begin, @end: the object's records.
 * @api: receives the table of functions, before any `enabled` changes.
 *
 * Any thread; takes a lock; not from a signal handler.
 */
void duet_i_register(struct duet_i_site *begin, struct duet_i_site *end,
		     const struct duet_i_api **api) __attribute__((weak));
/* duet_i_unregister - forget the sites of an object that is about to be unloaded. */
void duet_i_unregister(struct duet_i_site *begin, struct duet_i_site *end) __attribute__((weak));

#ifdef DUET_I_LAYOUT_ONLY /* for libduet and duet */
#ifdef __cplusplus
}
#endif
#else

/* libc's functions by names of our own: if their headers are included, they may declare them
 * differently. */
extern void *duet_i_dlopen(const char *, int) __asm__("dlopen") __attribute__((weak));
extern void *duet_i_dlsym(void *, const char *) __asm__("dlsym") __attribute__((weak));
extern char *duet_i_getenv(const char *) __asm__("secure_getenv") __attribute__((weak));

/* One each per program or library: the linker merges them, `hidden` keeps them inside. */
#define DUET_I_OBJECT __attribute__((weak, visibility("hidden")))
extern struct duet_i_site __start_duet_sites[] DUET_I_OBJECT;
extern struct duet_i_site __stop_duet_sites[] DUET_I_OBJECT;
DUET_I_OBJECT const struct duet_i_api *duet_i_api = 0;
#ifdef __code_model_large__
DUET_I_OBJECT __attribute__((used)) uint64_t duet_i_zero = 0;
#else
DUET_I_OBJECT uint64_t duet_i_zero = 0;
#endif
DUET_I_OBJECT int duet_i_is_registered = 0;

/* The weak function if libduet is linked or preloaded; else the one found by dlopen. */
static inline __attribute__((unused)) void *duet_i_find(const char *symbol)
{
	const char *library = duet_i_getenv ? duet_i_getenv("DUET_LIBRARY") : 0;
	void *handle;

	if (!duet_i_dlopen || !duet_i_dlsym)
		return 0; /* statically linked without dlopen: dormant */
	handle = duet_i_dlopen(library && *library ? library : "libduet.so.0", 2 /* RTLD_NOW */);
	return handle ? duet_i_dlsym(handle, symbol) : 0;
}

static inline __attribute__((unused)) void duet_i_enter(void)
{
	void (*enter)(struct duet_i_site *, struct duet_i_site *, const struct duet_i_api **) =
		duet_i_register;

	if (duet_i_is_registered)
		return;
	duet_i_is_registered = 1;
	if (!enter) {
		void *found = duet_i_find("duet_i_register");

		memcpy(&enter, &found, sizeof enter);
	}
	if (enter)
		enter(__start_duet_sites, __stop_duet_sites, &duet_i_api);
}

static __attribute__((constructor, unused)) void duet_i_constructor(void)
{
	if (&__start_duet_sites[0] != &__stop_duet_sites[0])
		duet_i_enter();
}

static __attribute__((destructor, unused)) void duet_i_destructor(void)
{
	void (*leave)(struct duet_i_site *, struct duet_i_site *) = duet_i_unregister;

	if (!duet_i_api || duet_i_is_registered != 1)
		return;
	duet_i_is_registered = 2;
	if (!leave) {
		void *found = duet_i_find("duet_i_unregister");

		memcpy(&leave, &found, sizeof leave);
	}
	if (leave)
		leave(__start_duet_sites, __stop_duet_sites);
}

#ifdef __cplusplus
}
#endif

/* Puts the address of a new record into @site. */
#if defined __x86_64__
#define DUET_I_ADDRESS "leaq 771f(%%rip), %0\n\t"
#define DUET_I_SYMBOL "i"
#define DUET_I_QUAD ".quad "
#elif defined __aarch64__
#define DUET_I_ADDRESS "adrp %0, 771f\n\tadd %0, %0, :lo12:771f\n\t"
#ifdef __clang__
#define DUET_I_SYMBOL "i"
#else
#define DUET_I_SYMBOL "S"
#endif
#define DUET_I_QUAD ".xword "
#else
#error "duet: sites are known for x86-64 and aarch64"
#endif
#if defined __x86_64__ && defined __code_model_large__ && !defined __clang__
/*
 * gcc -mcmodel=large: the address of an object is no operand of an assembler statement, and code may
 * be far from data.  So the strings are written here, from their spelling in the source, in a
 * statement without operands, where a percent sign is one; the statement after it adds the numbers.
 * Both are volatile, so no other record comes between them.
 */
#define DUET_I_SPELL_(...) #__VA_ARGS__
#define DUET_I_SPELL(...) DUET_I_SPELL_(__VA_ARGS__)
#define DUET_I_SITE(site, name, schema, level, kind, fixed_size)                                   \
	__asm__ volatile(".pushsection duet_sites,\"aw?\"\n\t"                                     \
			 ".balign 8\n"                                                             \
			 "771:\t.quad duet_i_zero, 772f, 773f\n\t"                                 \
			 ".popsection\n\t"                                                         \
			 ".pushsection .rodata.duet,\"a?\"\n"                                      \
			 "772:\t.ascii " DUET_I_SPELL(name) "\n\t.byte 0\n"                        \
							    "773:\t.ascii " DUET_I_SPELL(          \
								    schema) "\n\t.byte 0\n\t"      \
									    ".popsection");        \
	__asm__ volatile("774:\tleaq 774b(%%rip), %0\n\t"                                          \
			 "movabsq $(771b-774b), %%rax\n\t"                                         \
			 "addq %%rax, %0\n\t"                                                      \
			 ".pushsection duet_sites,\"aw?\"\n\t"                                     \
			 ".long %c1, %c2, 0, %c3\n\t.quad 0, 0, 0\n\t"                             \
			 ".popsection"                                                             \
			 : "=&r"(site)                                                             \
			 : "i"(kind), "i"(level), "i"(fixed_size)                                  \
			 : "rax", "cc")
#else
#define DUET_I_SITE(site, name, schema, level, kind, fixed_size)                                   \
	__asm__(DUET_I_ADDRESS ".pushsection duet_sites,\"aw?\"\n\t"                               \
			       ".balign 8\n"                                                       \
			       "771:\t" DUET_I_QUAD "%c1, %c2, %c3\n\t"                            \
			       ".long %c4, %c5, 0, %c6\n\t" DUET_I_QUAD "0, 0, 0\n\t"              \
			       ".popsection"                                                       \
		: "=r"(site)                                                                       \
		: DUET_I_SYMBOL(&duet_i_zero), DUET_I_SYMBOL(name), DUET_I_SYMBOL(schema),         \
		  "i"(kind), "i"(level), "i"(fixed_size))
#endif

static inline __attribute__((always_inline, unused)) const void *duet_i_here(void)
{
	const void *here;

#if defined __x86_64__
	__asm__("leaq 0(%%rip), %0" : "=r"(here));
#else
	__asm__("adr %0, ." : "=r"(here));
#endif
	return here;
}

static inline __attribute__((always_inline)) int duet_i_is_enabled(const struct duet_i_site *site)
{
	return __builtin_expect(__atomic_load_n(site->enabled, __ATOMIC_RELAXED) != 0, 0) != 0;
}

/*
 * Packing: see DUET_I_PACK_... in types.h.  If a varying field does not fit before @end, *cut is
 * set and the attempt is discarded.  In the second attempt *cut is set from the start, and the
 * field is cut to fit, with at most 4 bytes (a NUL, a count of 0) after @end.
 */
static inline __attribute__((always_inline, unused)) char *duet_i_pack(char *p, const void *value,
								       size_t size)
{
	memcpy(p, value, size);
	return p + size;
}

/*
 * Collects numbers in whole words, in registers.  Small stores to memory, read back soon in other
 * sizes, would make the reader wait for store forwarding.
 */
static inline __attribute__((always_inline, unused)) unsigned
duet_i_gather(uint64_t *words, unsigned at, const void *value, size_t size)
{
	uint64_t bits;
	uint32_t four;
	uint16_t two;
	uint8_t one;

	switch (size) {
	case 1:
		memcpy(&one, value, 1);
		bits = one;
		break;
	case 2:
		memcpy(&two, value, 2);
		bits = two;
		break;
	case 4:
		memcpy(&four, value, 4);
		bits = four;
		break;
	default:
		memcpy(&bits, value, 8);
	}
	words[at / 8] |= bits << at % 8 * 8;
	if (at % 8 + size > 8)
		words[at / 8 + 1] |= bits >> (64 - at % 8 * 8);
	return at + (unsigned)size;
}

static inline __attribute__((always_inline, unused)) char *
duet_i_pack_string(char *p, char *end, const char *s, int *cut)
{
	return duet_i_api->string(p, end, s, cut);
}

static inline __attribute__((unused)) char *duet_i_pack_text(char *p, const char *s, size_t n)
{
	size_t i = 0;

	for (; i < n && s && s[i]; i++)
		p[i] = s[i];
	memset(p + i, 0, n - i);
	return p + n;
}

static inline __attribute__((unused)) char *duet_i_pack_sequence(char *p, char *end, const void *v,
								 size_t n, size_t element, int *cut)
{
	size_t room = end > p + 4 ? (size_t)(end - p - 4) / element : 0;
	uint32_t count;

	if (n > room) {
		if (!*cut) {
			*cut = 1;
			return p;
		}
		n = room;
	}
	count = (uint32_t)n;
	memcpy(p, &count, 4);
	if (n)
		memcpy(p + 4, v, n * element);
	return p + 4 + n * element;
}

#endif /* DUET_I_LAYOUT_ONLY */

#endif
