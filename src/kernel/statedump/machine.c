/* SPDX-License-Identifier: MIT */
/*
 * kernel/statedump/machine.c - writes the names of machine parts that events refer to by number.
 *
 * Data that cannot be read is left out: a recording is complete without these names. See
 * statedump.h.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "kernel/statedump/internal.h"

enum { TEXT_MAX = 256 };

static const char interrupt_fields[] =
	"\t\tuint32_t _irq;\n\t\tstring _name;\n\t\tstring _action;\n";
static const char disk_fields[] = "\t\tuint32_t _dev;\n\t\tstring _diskname;\n";
static const char interface_fields[] = "\t\tstring _name;\n"
				       "\t\tinteger { size = 32; align = 8; signed = false; base = "
				       "16; byte_order = be; } _address_ipv4;\n";
static const char cpu_fields[] =
	"\t\tuint16_t _cpu_id;\n\t\tuint16_t _physical_id;\n\t\tuint16_t _core_id;\n"
	"\t\tstring _vendor;\n\t\tstring _model_name;\n";

/* The first line of a file of /sys or /proc; "" if there is none. */
static void read_line(char line[TEXT_MAX], const char *format, int number)
{
	char path[96];

	snprintf(path, sizeof path, format, number);
	if (io_read_file(path, line, TEXT_MAX) <= 0)
		line[0] = 0;
	line[strcspn(line, "\n")] = 0;
}

static size_t two_texts(char *to, const char *a, const char *b)
{
	size_t n = strlen(a) + 1, m = strlen(b) + 1;

	memcpy(to, a, n);
	memcpy(to + n, b, m);
	return n + m;
}

static void dump_interrupt(struct kernel_dump *p, uint16_t id, uint32_t irq)
{
	char chip[TEXT_MAX], actions[TEXT_MAX], both[2 * TEXT_MAX], *rest = actions, *action;

	read_line(chip, "/sys/kernel/irq/%d/chip_name", (int)irq);
	read_line(actions, "/sys/kernel/irq/%d/actions", (int)irq);
	while ((action = strsep(&rest, ",")))
		if (*action)
			kernel_dump_put(p, id, &irq, sizeof irq, both,
					two_texts(both, chip, action));
}

/* Only interrupts with a handler. */
static void dump_interrupts(struct kernel_dump *p)
{
	uint16_t id = kernel_classes_describe(&p->drain->classes, "lttng_statedump_interrupt",
					      interrupt_fields);
	DIR *dir = opendir("/sys/kernel/irq");
	struct dirent *e;

	while (dir && !p->err && (e = readdir(dir)))
		if (isdigit((unsigned char)e->d_name[0]))
			dump_interrupt(p, id, (uint32_t)atoi(e->d_name));
	if (dir)
		closedir(dir);
}

/* Device numbers as in the events of `block`. */
static void dump_disks(struct kernel_dump *p)
{
	uint16_t id = kernel_classes_describe(&p->drain->classes, "lttng_statedump_block_device",
					      disk_fields);
	FILE *f = fopen("/proc/partitions", "re");
	char line[TEXT_MAX], name[TEXT_MAX];
	unsigned major, minor;
	uint32_t dev;

	while (f && !p->err && fgets(line, sizeof line, f))
		if (sscanf(line, "%u %u %*u %255s", &major, &minor, name) == 3) {
			dev = major << 20 | minor;
			kernel_dump_put(p, id, &dev, sizeof dev, name, strlen(name) + 1);
		}
	if (f)
		fclose(f);
}

/* One event for each IPv4 address; address 0 for an interface without one. */
static void dump_interfaces(struct kernel_dump *p)
{
	uint16_t id = kernel_classes_describe(
		&p->drain->classes, "lttng_statedump_network_interface", interface_fields);
	struct if_nameindex *all = if_nameindex();
	struct ifaddrs *addresses = NULL;

	if (getifaddrs(&addresses))
		addresses = NULL;
	for (struct if_nameindex *i = all; i && i->if_name && !p->err; i++) {
		uint32_t none = 0;
		bool has_address = false;

		for (struct ifaddrs *a = addresses; a; a = a->ifa_next) {
			const struct sockaddr_in *in = (const struct sockaddr_in *)a->ifa_addr;

			if (!in || in->sin_family != AF_INET || strcmp(a->ifa_name, i->if_name))
				continue;
			kernel_dump_put(p, id, i->if_name, strlen(i->if_name) + 1, &in->sin_addr,
					4);
			has_address = true;
		}
		if (!has_address)
			kernel_dump_put(p, id, i->if_name, strlen(i->if_name) + 1, &none, 4);
	}
	if (all)
		if_freenameindex(all);
	freeifaddrs(addresses);
}

struct cpu {
	uint16_t number, package, core;
} __attribute__((packed));

static uint16_t number_in(const char *format, int cpu)
{
	char line[TEXT_MAX];

	read_line(line, format, cpu);
	return (uint16_t)atoi(line);
}

/* Uses the first CPU's model: machines with different ones are rare, and the kernel's text has 1 KB
 * per CPU. */
static void read_model(const char *text, const char *key, char to[TEXT_MAX])
{
	const char *at = strstr(text, key);

	at = at ? strchr(at, ':') : NULL;
	at = at ? at + 1 + (at[1] == ' ') : "";
	snprintf(to, TEXT_MAX, "%.*s", (int)strcspn(at, "\n"), at);
}

static void dump_cpus(struct kernel_dump *p)
{
	uint16_t id = kernel_classes_describe(&p->drain->classes, "lttng_statedump_cpu_topology",
					      cpu_fields);
	char text[4096], vendor[TEXT_MAX], model[TEXT_MAX], both[2 * TEXT_MAX];
	ssize_t n = io_read_file("/proc/cpuinfo", text, sizeof text);
	DIR *dir = opendir("/sys/devices/system/cpu");
	struct dirent *e;

	if (n <= 0)
		text[0] = 0;
	read_model(text, "vendor_id", vendor);
	read_model(text, "model name", model);
	while (dir && !p->err && (e = readdir(dir))) {
		struct cpu c;

		if (strncmp(e->d_name, "cpu", 3) || !isdigit((unsigned char)e->d_name[3]))
			continue;
		c.number = (uint16_t)atoi(e->d_name + 3);
		c.package = number_in("/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
				      c.number);
		c.core = number_in("/sys/devices/system/cpu/cpu%d/topology/core_id", c.number);
		kernel_dump_put(p, id, &c, sizeof c, both, two_texts(both, vendor, model));
	}
	if (dir)
		closedir(dir);
}

void kernel_dump_machine(struct kernel_dump *p)
{
	dump_interrupts(p);
	dump_disks(p);
	dump_interfaces(p);
	dump_cpus(p);
}
