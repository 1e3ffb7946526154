/* SPDX-License-Identifier: MIT */
/* analysis/syscalls/structs.h - structures of the kernel as text, for memory.c and the rooms of calls. */
#ifndef ANALYSIS_SYSCALLS_STRUCTS_H
#define ANALYSIS_SYSCALLS_STRUCTS_H

#include <string.h>

#include "analysis/syscalls/bytes.h"
#include "analysis/syscalls/memory.h"

/* Numbers in the memory; the caller has checked its size. */
static inline uint64_t u64(const struct call_memory *m, size_t at)
{
	return bytes_u64(m->bytes + at);
}

static inline uint32_t u32(const struct call_memory *m, size_t at)
{
	return bytes_u32(m->bytes + at);
}

static inline uint16_t u16(const struct call_memory *m, size_t at)
{
	return bytes_u16(m->bytes + at);
}

/* call_struct_add - like call_memory_add(), for structures of one size and arrays of them. */
bool call_struct_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_fds_known - how many of the @n descriptors of a set are recorded; those behind them are not in
 * the set unless it @is_cut. 0: the set could not be read. */
int64_t call_fds_known(const struct call_memory *m, int32_t n, bool *is_cut);

/* The memory of ioctl(), getsockopt() and fcntl() depends on their command argument. */
bool call_control_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_option_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_lock_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_siginfo - the 48 bytes of a siginfo at @info. call_siginfo_codes - the names of its codes. */
void call_siginfo(struct text *t, const uint8_t *info);
/* The same, with names of descriptors. */
void call_siginfo_of(struct text *t, const uint8_t *info, const struct call_about *about);
const struct call_name *call_siginfo_codes(int signal, int64_t code);
/* iovecs, the messages of sendmsg() and its like with their control messages: messages.c; iocbs:
 * blocks.c. */
bool call_vector_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_message_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_messages_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_block_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_blocks_add(struct text *t, const struct call_memory *m, const struct call_moment *x);
/* sockets/: call_address_add - a sockaddr of @size bytes; false if it is too short to have a family.
 * @x may be NULL. */
bool call_address_add(struct text *t, const uint8_t *bytes, size_t size,
		      const struct call_moment *x);
/* call_control_messages_add - control messages: @all bytes at the program's address @from. */
void call_control_messages_add(struct text *t, const struct call_memory *m, uint64_t from,
			       uint64_t all, const struct call_moment *x);

/* An option of a socket that is a structure. */
enum call_option_shown { CALL_OPTION_OTHER, CALL_OPTION_SHOWN, CALL_OPTION_ADDRESS };
enum call_option_shown call_socket_option_add(struct text *t, const struct call_memory *m,
					      const struct call_moment *x);
/* A program of classic BPF that setsockopt() gets, or that getsockopt() returns. */
bool call_filter_given(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_filter_of_calls(struct text *t, const struct call_memory *m, const struct call_moment *x);
bool call_filter_got(struct text *t, const struct call_memory *m, const struct call_moment *x);
/* call_messages_befores - the lengths of names of the messages at the entry. */
void call_messages_befores(const struct call_memory *m, int32_t *befores, uint32_t n);
/* call_interface - the number of a network interface; that of the loopback interface is fixed. */
void call_interface(struct text *t, uint32_t number);

/* call_clone_add - the structure of clone3(): analysis/requests/clone.c. */
bool call_clone_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_described_add - like call_memory_add(), for memory that has a type (capture/table.h). */
bool call_described_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* Types that described.c does not have: analysis/requests/decoders.c, up to one without a type. Each
 * function returns false if there are too few bytes. */
struct call_decoder {
	const char *type;
	bool (*add)(struct text *t, const struct call_memory *m, const struct call_moment *x);
};
extern const struct call_decoder call_decoders[];

/* call_described_length - a length in memory of a type, which the kernel may change: at the place of
 * its argument among @lengths. */
void call_described_length(const struct call_memory *m, struct call_length *lengths);

/* call_rest_add - the bytes of @m behind a structure of @known bytes, of which the call spoke as
 * having @size: nothing if they are 0. */
void call_rest_add(struct text *t, const struct call_memory *m, uint32_t known, uint64_t size);

/* call_description_add - a description's text, with the fields of the structure at @bytes, which the
 * caller knows to be large enough. */
void call_description_add(struct text *t, const char *description, const uint8_t *bytes,
			  const struct call_moment *x);

/* call_quota_uses - a bit for each of the arguments command, path, number, address that the
 * command uses. call_quota_has_format - whether its number is a format. */
uint32_t call_quota_uses(int64_t command);
bool call_quota_has_format(int64_t command);
/* call_quota_command - "QCMD(Q_SYNC, USRQUOTA)". */
void call_quota_command(struct text *t, uint64_t command);
bool call_quota_add(struct text *t, const struct call_memory *m, const struct call_moment *x);

/* call_ticks - "14", with the seconds as a comment. */
void call_ticks(struct text *t, int64_t ticks);
/* call_stamp - a time with @digits (6, 9) below the second, and its date as a comment. */
void call_stamp(struct text *t, int64_t seconds, uint64_t fraction, int digits);

/* Each needs the size of its structure up to the size of the file. */
void call_stat_add(struct text *t, const struct call_memory *m);
void call_statx_add(struct text *t, const struct call_memory *m);

/* call_set_add - "[INT CHLD]", or "~[KILL STOP]" if that is shorter. */
void call_set_add(struct text *t, uint64_t set);

#endif
