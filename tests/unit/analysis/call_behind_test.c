/* SPDX-License-Identifier: MIT */
/* Memory behind the memory that arguments point to, structures that another argument decides, and
 * rows of which only a part could be read: as text, from bytes made by hand. */
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/syscalls/memory.h"
#include "analysis/syscalls/text.h"
#include "capture/table.h"

static struct call_memory memory[2];
static char made[4 * ABI_CAPTURE_MAX];

/* The capture of the call that has this type, or else this kind. */
static const struct abi_capture *find(const char *call, bool end, const char *type, int kind)
{
	const struct abi_captures all = capture_of_call(call, end, true);

	for (int i = 0; i < all.n; i++)
		if (type ? all.at[i]->type && !strcmp(all.at[i]->type, type)
			 : all.at[i]->kind == kind)
			return all.at[i];
	return NULL;
}

static void put(int i, const struct abi_capture *what, const void *bytes, size_t size)
{
	memory[i].what = what;
	memory[i].size = (uint32_t)size;
	memset(memory[i].bytes, 'Z', sizeof memory[i].bytes);
	memcpy(memory[i].bytes, bytes, size);
}

static const char *shown(struct call_moment x)
{
	struct text t = { 0 };

	x.memory = memory;
	x.n_memory = 2;
	snprintf(made, sizeof made, "%s",
		 call_memory_add(&t, &memory[0], &x) ? t.bytes
		 : t.size			     ? "refused, but something was added"
						     : "an address");
	text_fini(&t);
	return made;
}

static void control_messages_lie_behind_their_message(void)
{
	const int64_t args[6] = { 3, 0x1000, 0 };
	uint64_t header[8] = { 0, 0, 0, 0, 0x5000, 24, 0, 0 };
	const struct {
		uint64_t length;
		int32_t level, type, fds[2];
	} rights = { 20, SOL_SOCKET, 1, { 7, 0 } };
	const struct call_moment x = { .args = args };

	put(0, find("sendmsg", false, NULL, ABI_CAPTURE_MESSAGE), header, 58);
	put(1, find("sendmsg", false, "control", 0), &rights, 24);
	is_text(shown(x), "{msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, "
			  "msg_control=[{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, "
			  "cmsg_data=[7]}], msg_controllen=24, msg_flags=0}");
	memory[1].size = 8;
	is_text(shown(x), "{msg_name=NULL, msg_namelen=0, msg_iov=NULL, msg_iovlen=0, "
			  "msg_control=0x5000, msg_controllen=24, msg_flags=0}");
}

static void a_length_that_the_kernel_changed_stands_beside_the_old_one(void)
{
	const int64_t args[6] = { 3, 0x1000, 0 };
	const struct call_length lengths[6] = { [1] = { 16, true } };
	const uint64_t header[8] = { 0, 36 };

	put(0, find("recvmsg", true, NULL, ABI_CAPTURE_MESSAGE), header, 58);
	put(1, find("recvmsg", true, "control", 0), "", 0);
	is_text(shown((struct call_moment){ .args = args, .lengths = lengths, .is_end = true }),
		"{msg_name=NULL, msg_namelen=16 => 36, msg_iov=NULL, msg_iovlen=0, "
		"msg_controllen=0, msg_flags=0}");
}

static void blocks_have_the_data_that_they_write(void)
{
	const int64_t args[6] = { 1, 2, 0x2000 };
	uint8_t bytes[128] = { 0 };
	uint64_t address = 0x3000, buffer = 0x4000, size = 3;

	memcpy(bytes, &address, 8);
	bytes[8] = 64;
	bytes[10 + 16] = 1; /* IOCB_CMD_PWRITE */
	memcpy(bytes + 10 + 24, &buffer, 8);
	memcpy(bytes + 10 + 32, &size, 8);
	bytes[74] = 3;
	memcpy(bytes + 76, "abc", 3);
	put(0, find("io_submit", false, NULL, ABI_CAPTURE_BLOCKS), bytes, 79);
	put(1, memory[0].what, "", 0);
	is_text(shown((struct call_moment){ .args = args }),
		"[{aio_data=0, aio_lio_opcode=IOCB_CMD_PWRITE, aio_fildes=0, aio_buf=\"abc\", "
		"aio_nbytes=3, aio_offset=0}, ... /* 0x2008 */]");
}

static void the_command_of_a_quota_decides_its_structure(void)
{
	int64_t args[6] = { (int64_t)(0x800006ull << 8), 0x1000, 0, 0x2000 };
	const uint64_t info[3] = { 1, 2, 1 | 4ull << 32 };

	put(0, find("quotactl", false, "quota", 0), info, 24);
	is_text(shown((struct call_moment){ .args = args }),
		"{dqi_bgrace=1, dqi_igrace=2, dqi_flags=DQF_ROOT_SQUASH, dqi_valid=IIF_FLAGS}");
	args[0] = (int64_t)(0x800005ull << 8); /* the kernel writes it */
	is_text(shown((struct call_moment){ .args = args }), "an address");
	args[0] = (int64_t)(0x800002ull << 8);
	put(0, memory[0].what, "/q", 3);
	is_text(shown((struct call_moment){ .args = args }), "\"/q\"");
	put(0, memory[0].what, "/q", 2);
	is_text(shown((struct call_moment){ .args = args }), "an address");
}

static void a_row_ends_where_it_could_not_be_read(void)
{
	const int64_t args[6] = { 1, 3, 0x1ff0, 0x2000 }, mask[6] = { 0, 0x2ff8, 66 };
	const uint64_t pages[2] = { 0x10, 0 };

	put(0, find("move_pages", false, "addresses", 0), pages, 16);
	is_text(shown((struct call_moment){ .args = args, .string_bytes = 32 }),
		"[0x10, NULL, ... /* 0x2000 */]");
	is_text(shown((struct call_moment){ .args = args, .string_bytes = 1 }), "[0x10, ...]");
	put(0, find("set_mempolicy", false, "nodes", 0), pages, 8);
	is_text(shown((struct call_moment){ .args = mask, .string_bytes = 32 }),
		"[0000000000000010, ... /* 0x3000 */]");
}

static void captures_that_exclude_each_other_share_a_field(void)
{
	const struct abi_captures all = capture_of_call("seccomp", false, true);
	const int64_t strict[6] = { 0 }, filter[6] = { 1 };
	int n = 0;

	for (int i = 0; i < all.n; i++) {
		is(capture_place(&all, i), all.at[i]->is_behind); /* the filter has two */
		ok(!capture_is_made(all.at[i], strict));
		n += capture_is_made(all.at[i], filter);
	}
	is(n, 2);
}

static void locks_are_captured_of_commands_with_locks_alone(void)
{
	const struct abi_captures in = capture_of_call("fcntl", false, CAPTURE_EXTRA),
				  out = capture_of_call("fcntl", true, CAPTURE_EXTRA);
	const int64_t with[] = { F_GETLK,     F_SETLK,	    F_SETLKW,	 F_OFD_GETLK,
				 F_OFD_SETLK, F_OFD_SETLKW, F_SETOWN_EX, F_GETOWN_EX },
		      without[] = { F_GETFL, F_DUPFD, F_SETFD, 1024 + 5, 64 + 5, -1 };

	is(in.n, 1);
	is(out.n, 1);
	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		ok(capture_is_made(in.at[0], (int64_t[6]){ 3, with[i] }));
		ok(capture_is_made(out.at[0], (int64_t[6]){ 3, with[i] }));
	}
	for (size_t i = 0; i < sizeof without / sizeof *without; i++)
		ok(!capture_is_made(in.at[0], (int64_t[6]){ 3, without[i] }));
}

int main(void)
{
	run(control_messages_lie_behind_their_message);
	run(a_length_that_the_kernel_changed_stands_beside_the_old_one);
	run(blocks_have_the_data_that_they_write);
	run(the_command_of_a_quota_decides_its_structure);
	run(a_row_ends_where_it_could_not_be_read);
	run(locks_are_captured_of_commands_with_locks_alone);
	run(captures_that_exclude_each_other_share_a_field);
	return test_status();
}
