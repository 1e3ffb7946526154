/* SPDX-License-Identifier: MIT */
/* kernel/statedump/internal.h - shared by statedump.c and machine.c. */
#ifndef KERNEL_STATEDUMP_INTERNAL_H
#define KERNEL_STATEDUMP_INTERNAL_H

#include "kernel/convert/cpu.h"
#include "kernel/convert/page.h"

enum { KERNEL_DUMP_BODY = 32768 };

struct abi_file;
struct kernel_dump_sockets { /* of the network of a process */
	bool is_wanted;
	uint16_t event; /* 0: not described yet */
	int pid;	/* 0: none was read */
	struct abi_file *at;
	size_t n, room;
};

struct kernel_dump {
	struct kernel_drain *drain;
	struct ctf_stream stream;
	struct kernel_packet packet;
	struct kernel_dump_sockets sockets;
	uint32_t cpu;
	uint16_t start, process, file, map, end; /* event ids */
	struct diag *d;
	int err; /* the first; ends the dump */
	uint8_t body[KERNEL_DUMP_BODY];
};

/* kernel_dump_put - write an event of @a followed by @b, together shorter than the body. Its thread
 * is this process's. */
void kernel_dump_put(struct kernel_dump *p, uint16_t id, const void *a, size_t a_size,
		     const void *b, size_t b_size);

/* kernel_dump_socket - write the addresses of @fd if its name in /proc is a socket's and the options
 * select sockets. */
void kernel_dump_socket(struct kernel_dump *p, int pid, int fd, const char *name);

/* kernel_dump_machine - write interrupts, disks, network interfaces, CPUs. */
void kernel_dump_machine(struct kernel_dump *p);

#endif
