/* SPDX-License-Identifier: MIT */
/*
 * kernel/bpf/capture_file.c - reads what a descriptor is open on, from the kernel's own structures.
 *
 * /proc shows the same, but at a later time and perhaps of another file with the same number. All is
 * read by probe_read_kernel(): a file that another thread closes meanwhile gives wrong numbers at
 * worst. R6 is the address in the kernel from which the next step reads; see capture_one.c for the
 * other registers.
 */
#include "kernel/bpf/capture.h"

#include <linux/btf.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "bpf/types.h"
#include "kernel/bpf/capture_steps.h"

/* ---------------------------------------------------------------- the kernel's layout */

static int offset_of(const struct btf_types *t, const char *structure, const char *member)
{
	uint32_t id = btf_find(t, BTF_KIND_STRUCT, structure);
	struct btf_place at;

	return id && btf_place_of(t, id, member, &at) && !at.bit_size ? (int)(at.bit / 8) : -1;
}

bool bpf_file_layout(struct bpf_file_layout *l)
{
	const struct {
		int *to;
		const char *structure, *member;
		bool is_must;
	} members[] = {
		{ &l->files, "task_struct", "files", true },
		{ &l->fdt, "files_struct", "fdt", true },
		{ &l->fd, "fdtable", "fd", true },
		{ &l->max_fds, "fdtable", "max_fds", true },
		{ &l->inode, "file", "f_inode", true },
		{ &l->private_data, "file", "private_data", true },
		{ &l->mode, "inode", "i_mode", true },
		{ &l->device, "inode", "i_rdev", true },
		{ &l->number, "inode", "i_ino", true },
		{ &l->links, "inode", "i_nlink", true },
		{ &l->sk, "socket", "sk", true },
		{ &l->family, "sock_common", "skc_family", true },
		{ &l->protocol, "sock", "sk_protocol", true },
		{ &l->local_port, "sock_common", "skc_num", true },
		{ &l->remote_port, "sock_common", "skc_dport", true },
		{ &l->local, "sock_common", "skc_rcv_saddr", true },
		{ &l->remote, "sock_common", "skc_daddr", true },
		{ &l->prot, "sock_common", "skc_prot", true },
		{ &l->prot_name, "proto", "name", true },
		{ &l->sk_socket, "sock", "sk_socket", true },
		{ &l->socket_inode, "socket_alloc", "vfs_inode", true },
		{ &l->local6, "sock_common", "skc_v6_rcv_saddr", false },
		{ &l->remote6, "sock_common", "skc_v6_daddr", false },
		{ &l->unix_peer, "unix_sock", "peer", false },
		{ &l->unix_address, "unix_sock", "addr", false },
		{ &l->address_size, "unix_address", "len", false },
		{ &l->address_path, "unix_address", "name", false },
		{ &l->netlink_port, "netlink_sock", "portid", false },
	};
	struct btf_types t;
	bool has_all = true;

	if (btf_types_open(&t, NULL))
		return false;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		*members[i].to = offset_of(&t, members[i].structure, members[i].member);
		has_all &= *members[i].to >= 0 || !members[i].is_must;
	}
	btf_types_close(&t);
	return has_all;
}

/* ---------------------------------------------------------------- steps */

/* Copies @size bytes at R6 + @offset to byte @to of the result; zeroes if they cannot be read. */
static void take(const struct bpf_captures *k, int offset, int size, size_t to)
{
	struct bpf_code *c = k->c;

	at_stage(c, k->stage);
	bpf_alu_imm(c, BPF_ADD, R1, (int)to);
	bpf_alu_imm(c, BPF_MOV, R2, size);
	bpf_alu(c, BPF_MOV, R3, R6);
	bpf_alu_imm(c, BPF_ADD, R3, offset);
	bpf_call(c, BPF_FUNC_probe_read_kernel);
}

#define TO(member) offsetof(struct abi_file, member)

/* STACK_POINTER becomes the descriptor: an argument, the result, or in the memory of an argument. */
static void find_descriptor(const struct bpf_captures *k, int done)
{
	struct bpf_code *c = k->c;
	int is_found = bpf_label(c);

	load_argument(c, k->stage, R3, 0);
	bpf_alu(c, BPF_MOV, R1, R9);
	bpf_alu_imm(c, BPF_AND, R1, BPF_CAPTURE_IS_BEHIND);
	bpf_jump_if_imm(c, BPF_JEQ, R1, 0, is_found);
	bpf_load(c, BPF_DW, R1, FP, STACK_ROW);
	bpf_load(c, BPF_DW, R1, R1, (int)offsetof(struct bpf_capture, more));
	bpf_alu_imm(c, BPF_RSH, R1, BPF_CAPTURE_AT);
	bpf_alu_imm(c, BPF_AND, R1, 255);
	bpf_alu(c, BPF_ADD, R3, R1);
	read_word(c, 4, done);
	bpf_load(c, BPF_W, R3, FP, STACK_WORD);
	bpf_put_label(c, is_found);
	bpf_alu_imm(c, BPF_LSH, R3, 32);
	bpf_alu_imm(c, BPF_RSH, R3, 32);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R3);
}

/* R6 becomes the file of the descriptor in STACK_POINTER. */
static void find_file(const struct bpf_captures *k, int done)
{
	const struct bpf_file_layout *l = &k->p->file;
	struct bpf_code *c = k->c;

	find_descriptors(c, k->p, done);
	bpf_load(c, BPF_DW, R2, FP, STACK_POINTER);
	bpf_jump_if(c, BPF_JGE, R2, R1, done);
	follow(c, l->fd, done);
	bpf_load(c, BPF_DW, R2, FP, STACK_POINTER);
	bpf_alu_imm(c, BPF_LSH, R2, 3);
	bpf_alu(c, BPF_ADD, R6, R2);
	follow(c, 0, done);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R6);
}

/* ---------------------------------------------------------------- sockets */

/* The inode of the socket of the other sock at R6. */
static void take_peer(const struct bpf_captures *k, int done)
{
	const struct bpf_file_layout *l = &k->p->file;

	follow(k->c, l->unix_peer, done);
	follow(k->c, l->sk_socket, done);
	take(k, l->socket_inode + l->number, 8, TO(peer));
}

static void take_unix(const struct bpf_captures *k, int done)
{
	const struct bpf_file_layout *l = &k->p->file;
	struct bpf_code *c = k->c;
	int has_no_name = bpf_label(c);

	follow(c, l->unix_address, has_no_name);
	take(k, l->address_size, 4, TO(path_size));
	take(k, l->address_path + (int)sizeof(sa_family_t), ABI_FILE_PATH_MAX - 4, TO(path));
	bpf_put_label(c, has_no_name);
	bpf_load(c, BPF_DW, R6, FP, STACK_POINTER);
	take_peer(k, done);
}

/* R6 is a sock, and STACK_POINTER too. */
static void take_socket(const struct bpf_captures *k, int done)
{
	const struct bpf_file_layout *l = &k->p->file;
	struct bpf_code *c = k->c;
	int is_unix = bpf_label(c), is_ip6 = bpf_label(c), is_netlink = bpf_label(c);

	take(k, l->family, 2, TO(family));
	take(k, l->protocol, 2, TO(protocol));
	take(k, l->local_port, 2, TO(local_port));
	take(k, l->remote_port, 2, TO(remote_port));
	take(k, l->local, 4, TO(local));
	take(k, l->remote, 4, TO(remote));
	follow(c, l->prot, done);
	take(k, l->prot_name, ABI_FILE_PROTOCOL_MAX, TO(type));
	bpf_load(c, BPF_DW, R6, FP, STACK_POINTER);
	at_stage(c, k->stage);
	bpf_load(c, BPF_H, R1, R1, (int)TO(family));
	bpf_jump_if_imm(c, BPF_JEQ, R1, AF_UNIX, is_unix);
	bpf_jump_if_imm(c, BPF_JEQ, R1, AF_INET6, is_ip6);
	bpf_jump_if_imm(c, BPF_JEQ, R1, AF_NETLINK, is_netlink);
	bpf_jump(c, done);
	bpf_put_label(c, is_ip6);
	if (l->local6 >= 0 && l->remote6 >= 0) {
		take(k, l->local6, 16, TO(local));
		take(k, l->remote6, 16, TO(remote));
	}
	bpf_jump(c, done);
	bpf_put_label(c, is_netlink);
	if (l->netlink_port >= 0)
		take(k, l->netlink_port, 4, TO(netlink_port));
	bpf_jump(c, done);
	bpf_put_label(c, is_unix);
	if (l->unix_peer >= 0 && l->unix_address >= 0 && l->address_size >= 0 &&
	    l->address_path >= 0)
		take_unix(k, done);
}

/* ---------------------------------------------------------------- all of it */

void bpf_capture_file(const struct bpf_captures *k, int done)
{
	const struct bpf_file_layout *l = &k->p->file;
	struct bpf_code *c = k->c;
	int is_other = bpf_label(c), is_taken = bpf_label(c);

	bpf_jump_if_imm(c, BPF_JNE, R1, ABI_CAPTURE_OPENED, is_other);
	find_descriptor(k, done);
	find_file(k, done);
	at_stage(c, k->stage);
	for (int i = 0; i < (int)sizeof(struct abi_file); i += 8)
		bpf_store_imm(c, BPF_DW, R1, i, 0);
	follow(c, l->inode, done);
	take(k, l->mode, 2, TO(mode));
	take(k, l->device, 4, TO(device));
	take(k, l->number, 8, TO(inode));
	take(k, l->links, 4, TO(links));
	at_stage(c, k->stage);
	bpf_load(c, BPF_W, R1, R1, (int)TO(mode));
	bpf_alu_imm(c, BPF_AND, R1, S_IFMT);
	bpf_jump_if_imm(c, BPF_JNE, R1, S_IFSOCK, is_taken);
	bpf_load(c, BPF_DW, R6, FP, STACK_POINTER);
	follow(c, l->private_data, is_taken);
	follow(c, l->sk, is_taken);
	bpf_store(c, BPF_DW, FP, STACK_POINTER, R6);
	take_socket(k, is_taken);
	bpf_put_label(c, is_taken);
	bpf_alu_imm(c, BPF_ADD, R8, (int)sizeof(struct abi_file));
	bpf_jump(c, done);
	bpf_put_label(c, is_other);
}

_Static_assert(sizeof(struct abi_file) % 8 == 0, "cleared by words");
