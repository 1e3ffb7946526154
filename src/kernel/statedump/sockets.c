/* SPDX-License-Identifier: MIT */
/*
 * kernel/statedump/sockets.c - types and addresses of the sockets that are open when a recording begins,
 * from /proc/PID/net, in the form in which BPF programs record new ones (abi/capture.h).
 *
 * Each file is read once for a process: a server may have thousands of sockets. The peer of a UNIX
 * socket is not in there. Bytes of the files are the kernel's; a line in another form is skipped.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "abi/capture.h"
#include "kernel/statedump/internal.h"

enum { LINE_MAX_BYTES = 512 };

static const char fields[] =
	"\t\tint32_t _pid;\n\t\tint32_t _fd;\n\t\tuint16_t _file_bytes_length;\n"
	"\t\tinteger { size = 8; align = 8; signed = false; base = 16; } "
	"_file_bytes[_file_bytes_length];\n";

struct socket_state {
	int32_t pid, fd;
	uint16_t n_bytes;
	struct abi_file file;
} __attribute__((packed));

/* Eight digits for each 32 bits, which are in memory as they are in the kernel. */
static void read_address(const char *text, uint8_t to[16])
{
	for (size_t i = 0; i < 4 && strlen(text) >= 8; i++, text += 8) {
		char word[9];
		uint32_t value;

		memcpy(word, text, 8);
		word[8] = 0;
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(to + 4 * i, &value, 4);
	}
}

static bool read_inet(const char *line, struct abi_file *f)
{
	char local[33], remote[33];
	unsigned local_port, remote_port;

	if (sscanf(line,
		   " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
		   local, &local_port, remote, &remote_port, &f->inode) != 5)
		return false;
	read_address(local, f->local);
	read_address(remote, f->remote);
	f->local_port = (uint16_t)local_port;
	f->remote_port = (uint16_t)(remote_port << 8 | (remote_port >> 8 & 255));
	return true;
}

static bool read_unix(const char *line, struct abi_file *f)
{
	unsigned type;
	int path = 0;

	if (sscanf(line, "%*x: %*x %*x %*x %x %*x %" SCNu64 " %n", &type, &f->inode, &path) != 2)
		return false;
	if (type == SOCK_STREAM)
		memcpy(f->type, "UNIX-STREAM", sizeof "UNIX-STREAM");
	if (!path || !line[path])
		return true;
	f->path_size = (uint32_t)strnlen(line + path, sizeof f->path);
	memcpy(f->path, line + path, f->path_size);
	if (f->path[0] == '@')
		f->path[0] = 0;
	f->path_size += (uint32_t)sizeof(sa_family_t);
	return true;
}

static bool read_netlink(const char *line, struct abi_file *f)
{
	return sscanf(line, "%*x %" SCNu16 " %" SCNu32 " %*x %*u %*u %*u %*u %*u %" SCNu64,
		      &f->protocol, &f->netlink_port, &f->inode) == 3;
}

static const struct {
	const char *file, *type;
	uint16_t family;
	bool (*read)(const char *line, struct abi_file *f);
} tables[] = {
	{ "tcp", "TCP", AF_INET, read_inet },	{ "tcp6", "TCPv6", AF_INET6, read_inet },
	{ "udp", "UDP", AF_INET, read_inet },	{ "udp6", "UDPv6", AF_INET6, read_inet },
	{ "unix", "UNIX", AF_UNIX, read_unix }, { "netlink", "NETLINK", AF_NETLINK, read_netlink },
};

static bool add(struct kernel_dump_sockets *s, const struct abi_file *f)
{
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 64;
		struct abi_file *at = realloc(s->at, room * sizeof *at);

		if (!at)
			return false;
		s->at = at;
		s->room = room;
	}
	s->at[s->n++] = *f;
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct abi_file *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static void read_tables(struct kernel_dump_sockets *s, int pid)
{
	char path[64], line[LINE_MAX_BYTES];

	s->n = 0;
	s->pid = pid;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		FILE *file;

		snprintf(path, sizeof path, "/proc/%d/net/%s", pid, tables[i].file);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof line, file)) {
			struct abi_file f = { .mode = S_IFSOCK, .family = tables[i].family };

			snprintf(f.type, sizeof f.type, "%s", tables[i].type);
			line[strcspn(line, "\n")] = 0;
			if (tables[i].read(line, &f) && f.inode && !add(s, &f))
				break;
		}
		if (file)
			fclose(file);
	}
	if (s->n)
		qsort(s->at, s->n, sizeof *s->at, compare);
}

/* A socket without an address is in no table, but its type can be read. */
static bool read_type(struct abi_file *f, int pid, int fd)
{
	char path[64], type[ABI_FILE_PROTOCOL_MAX] = "";

	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
	if (getxattr(path, "system.sockprotoname", type, sizeof type - 1) <= 0)
		return false;
	memcpy(f->type, type, sizeof f->type);
	f->mode = S_IFSOCK;
	if (!strcmp(type, "UNIX-STREAM"))
		f->family = AF_UNIX;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		if (!strcmp(tables[i].type, type))
			f->family = tables[i].family;
	return f->family;
}

void kernel_dump_socket(struct kernel_dump *p, int pid, int fd, const char *name)
{
	struct socket_state state = { .pid = pid, .fd = fd, .n_bytes = sizeof state.file };
	struct kernel_dump_sockets *s = &p->sockets;
	const struct abi_file *found;
	struct abi_file key = { 0 };

	if (!s->is_wanted || sscanf(name, "socket:[%" SCNu64 "]", &key.inode) != 1)
		return;
	if (!s->event)
		s->event = kernel_classes_describe(&p->drain->classes, "lttng_statedump_socket",
						   fields);
	if (s->pid != pid)
		read_tables(s, pid);
	found = s->n ? bsearch(&key, s->at, s->n, sizeof *s->at, compare) : NULL;
	if (!found && !read_type(&key, pid, fd))
		return;
	state.file = found ? *found : key;
	kernel_dump_put(p, s->event, &state, sizeof state, NULL, 0);
}
