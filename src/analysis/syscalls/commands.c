/* SPDX-License-Identifier: MIT */
/*
 * analysis/syscalls/commands.c - arguments of ioctl(), fcntl() and
 * quotactl(), whose memory depends on a command: see structs.h.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <inttypes.h>
#include <linux/dqblk_xfs.h>
#include <linux/fcntl.h>
#include <linux/quota.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/socket.h>

#include "analysis/syscalls/structs.h"
#include "analysis/syscalls/words.h"

/* ---------------------------------------------------------------- ioctl */

enum command_memory { COMMAND_INT, COMMAND_TERMIOS, COMMAND_WINDOW };

static const struct {
	uint32_t command;
	enum command_memory what;
	bool is_at_exit;
} commands[] = {
	{ TCGETS, COMMAND_TERMIOS, true },    { TCSETS, COMMAND_TERMIOS, false },
	{ TCSETSW, COMMAND_TERMIOS, false },  { TCSETSF, COMMAND_TERMIOS, false },
	{ TIOCGWINSZ, COMMAND_WINDOW, true }, { TIOCSWINSZ, COMMAND_WINDOW, false },
	{ FIONREAD, COMMAND_INT, true },      { TIOCOUTQ, COMMAND_INT, true },
	{ TIOCGPGRP, COMMAND_INT, true },     { TIOCSPGRP, COMMAND_INT, false },
	{ TIOCGSID, COMMAND_INT, true },      { FIONBIO, COMMAND_INT, false },
	{ FIOASYNC, COMMAND_INT, false },     { TIOCGPTN, COMMAND_INT, true },
	{ TIOCSPTLCK, COMMAND_INT, false },
};

/* The delays of the output: fields of one or two bits. Their value 0 has a name too. */
static void add_output(struct text *t, uint32_t flags)
{
	static const struct {
		uint32_t mask;
		const char *name;
	} delays[] = { { NLDLY, "NL" }, { CRDLY, "CR" }, { TABDLY, "TAB" },
		       { BSDLY, "BS" }, { VTDLY, "VT" }, { FFDLY, "FF" } };
	uint32_t rest = flags;

	for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
		text_addf(t, "%s%s%u", i ? "|" : "", delays[i].name,
			  (flags & delays[i].mask) >> __builtin_ctz(delays[i].mask));
		rest &= ~delays[i].mask;
	}
	if (rest) {
		add(t, "|");
		call_flags(t, call_names_oflag, rest);
	}
}

static void add_termios(struct text *t, const struct termios *s)
{
	const uint32_t rest = s->c_cflag & ~(uint32_t)(CBAUD | CSIZE);

	add(t, "{c_iflag=");
	call_flags(t, call_names_iflag, s->c_iflag);
	add(t, ", c_oflag=");
	add_output(t, s->c_oflag);
	add(t, ", c_cflag=");
	call_one(t, call_names_baud, s->c_cflag & CBAUD, 0);
	text_addf(t, "|CS%u", 5 + ((s->c_cflag & CSIZE) >> __builtin_ctz(CSIZE)));
	if (rest) {
		add(t, "|");
		call_flags(t, call_names_cflag, rest);
	}
	add(t, ", c_lflag=");
	call_flags(t, call_names_lflag, s->c_lflag);
	add(t, ", ...}");
}

bool call_control_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	struct termios termios;
	uint16_t window[4];
	int32_t n;
	size_t i = 0;

	while (i < sizeof commands / sizeof *commands &&
	       (commands[i].command != (uint32_t)x->args[1] || commands[i].is_at_exit != x->is_end))
		i++;
	if (i == sizeof commands / sizeof *commands)
		return false;
	if (commands[i].what == COMMAND_TERMIOS && m->size >= sizeof termios) {
		memcpy(&termios, m->bytes, sizeof termios);
		return add_termios(t, &termios), true;
	}
	if (commands[i].what == COMMAND_WINDOW && m->size >= sizeof window) {
		memcpy(window, m->bytes, sizeof window);
		return text_addf(t, "{ws_row=%u, ws_col=%u, ws_xpixel=%u, ws_ypixel=%u}", window[0],
				 window[1], window[2], window[3]),
		       true;
	}
	if (commands[i].what != COMMAND_INT || m->size < sizeof n)
		return false;
	memcpy(&n, m->bytes, sizeof n);
	return text_addf(t, "[%" PRId32 "]", n), true;
}

bool call_memory_waits(const struct abi_capture *what, const int64_t *args)
{
	if (what->kind == ABI_CAPTURE_CONTROL) {
		for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
			if (commands[i].command == (uint32_t)args[1])
				return commands[i].is_at_exit;
		return false;
	}
	if (what->kind == ABI_CAPTURE_LOCK)
		return args[1] == F_GETLK || args[1] == F_OFD_GETLK || args[1] == F_GETOWN_EX;
	if (what->kind == ABI_CAPTURE_TEXT && !strcmp(what->call, "prctl"))
		return args[0] == 16; /* PR_GET_NAME */
	return !what->is_after && !what->is_of_failures;
}

/* ---------------------------------------------------------------- the others */

bool call_lock_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	int64_t place[2];
	int16_t how[2];
	int32_t pid;
	bool asks = x->args[1] == F_GETLK || x->args[1] == F_OFD_GETLK;

	if ((x->args[1] == F_SETOWN_EX && !x->is_end) || (x->args[1] == F_GETOWN_EX && x->is_end)) {
		if (m->size < 8)
			return false;
		call_description_add(t, "{type=%0E4:owner_type, pid=%4d4}", m->bytes, x);
		return true;
	}
	if (m->size < 32 || asks != x->is_end ||
	    !(asks || x->args[1] == F_SETLK || x->args[1] == F_SETLKW ||
	      x->args[1] == F_OFD_SETLK || x->args[1] == F_OFD_SETLKW))
		return false;
	memcpy(how, m->bytes, sizeof how);
	memcpy(place, m->bytes + 8, sizeof place);
	memcpy(&pid, m->bytes + 24, sizeof pid);
	add(t, "{l_type=");
	call_one(t, call_names_lock, how[0], 16);
	add(t, ", l_whence=");
	call_one(t, call_names_seek, how[1], 16);
	text_addf(t, ", l_start=%" PRId64 ", l_len=%" PRId64, place[0], place[1]);
	if (asks)
		text_addf(t, ", l_pid=%" PRId32, pid);
	add(t, "}");
	return true;
}

/* ---------------------------------------------------------------- quotas */

/* A command of quotactl() is an operation and, in the low byte, the type of quota. Structures are
 * those of linux/quota.h and linux/dqblk_xfs.h. */
enum { TYPE_BITS = 8, IN = 1, OUT = 2 };

static const struct operation {
	uint32_t number;
	uint8_t uses; /* of the arguments command, path, number, address */
	uint8_t directions;
	const char *text, *whole; /* as in described.c; NULL: a text */
} operations[] = {
	{ Q_SYNC, 0x3, 0, NULL, NULL },
	{ Q_QUOTAON, 0xf, IN, NULL, NULL },
	{ Q_QUOTAOFF, 0x3, 0, NULL, NULL },
	{ Q_GETFMT, 0xb, OUT, "[%0E4:qfmt]", NULL },
	{ Q_GETINFO, 0xb, OUT,
	  "{dqi_bgrace=%0u8, dqi_igrace=%8u8, dqi_flags=%16F4:dqf, dqi_valid=%20F4:iif}", NULL },
	{ Q_SETINFO, 0xb, IN,
	  "{dqi_bgrace=%0u8, dqi_igrace=%8u8, dqi_flags=%16F4:dqf, dqi_valid=%20F4:iif}", NULL },
#define BLOCK                                                                                      \
	"{dqb_bhardlimit=%0u8, dqb_bsoftlimit=%8u8, dqb_curspace=%16u8, dqb_ihardlimit=%24u8, "    \
	"dqb_isoftlimit=%32u8, dqb_curinodes=%40u8, "
#define BLOCK_WHOLE BLOCK "dqb_btime=%48u8, dqb_itime=%56u8, dqb_valid=%64F4:qif"
	{ Q_GETQUOTA, 0xf, OUT, BLOCK "...}", BLOCK_WHOLE "}" },
	{ Q_SETQUOTA, 0xf, IN, BLOCK "...}", BLOCK_WHOLE "}" },
	{ Q_GETNEXTQUOTA, 0xf, OUT, BLOCK "dqb_id=%68u4, ...}", BLOCK_WHOLE ", dqb_id=%68u4}" },
	{ Q_XQUOTAON, 0xb, IN, "[%0F4:fs_quota]", NULL },
	{ Q_XQUOTAOFF, 0xb, IN, "[%0F4:fs_quota]", NULL },
#define XFS                                                                                        \
	"{d_version=%0d1, d_flags=%1F1:fs_quota_type, d_fieldmask=%2x2, d_id=%4u4, "               \
	"d_blk_hardlimit=%8u8, d_blk_softlimit=%16u8, d_ino_hardlimit=%24u8, "                     \
	"d_ino_softlimit=%32u8, d_bcount=%40u8, d_icount=%48u8, "
#define XFS_WHOLE                                                                                  \
	XFS "d_itimer=%56d4, d_btimer=%60d4, d_iwarns=%64u2, d_bwarns=%66u2, "                     \
	    "d_rtb_hardlimit=%72u8, d_rtb_softlimit=%80u8, d_rtbcount=%88u8, d_rtbtimer=%96d4, "   \
	    "d_rtbwarns=%100u2}"
	{ Q_XGETQUOTA, 0xf, OUT, XFS "...}", XFS_WHOLE },
	{ Q_XGETNEXTQUOTA, 0xf, OUT, XFS "...}", XFS_WHOLE },
	{ Q_XSETQLIM, 0xf, IN, XFS "...}", XFS_WHOLE },
	{ Q_XGETQSTAT, 0xb, 0, NULL, NULL },
	{ Q_XGETQSTATV, 0xb, 0, NULL, NULL },
	{ Q_XQUOTARM, 0xb, IN, "[%0F4:fs_quota_type]", NULL },
	{ Q_XQUOTASYNC, 0x3, 0, NULL, NULL },
};

static const struct operation *operation_of(int64_t command)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (operations[i].number == (uint32_t)command >> TYPE_BITS)
			return &operations[i];
	return NULL;
}

uint32_t call_quota_uses(int64_t command)
{
	const struct operation *o = operation_of(command);

	return o ? o->uses : 0xf;
}

bool call_quota_has_format(int64_t command)
{
	return (uint32_t)command >> TYPE_BITS == Q_QUOTAON;
}

void call_quota_command(struct text *t, uint64_t command)
{
	const struct call_style was = *call_style();
	struct call_style words = was;

	if (!call_words_begin(t, (uint32_t)command, CALL_DECIMAL))
		return;
	words.constants = CALL_ABBREV;
	call_style_set(&words);
	add(t, "QCMD(");
	call_one(t, call_names_quota, (uint32_t)command >> TYPE_BITS, 32);
	add(t, ", ");
	call_one(t, call_names_quota_type, (int64_t)(command & ((1u << TYPE_BITS) - 1)), 32);
	add(t, ")");
	call_style_set(&was);
	call_words_end(t);
}

/* The end of a structure, by its last field. */
static uint32_t least_of(const struct operation *o, bool is_whole)
{
	bool is_xfs = o->uses == 0xf && (o->number & 0xff00) == 'X' << 8;

	return o->text[0] == '['		    ? 4
	       : o->uses == 0xb			    ? 24
	       : is_xfs				    ? (is_whole ? 102 : 56)
	       : is_whole || strstr(o->text, "%68") ? 72
						    : 48;
}

bool call_quota_add(struct text *t, const struct call_memory *m, const struct call_moment *x)
{
	int64_t command = x->args[strcmp(m->what->call, "quotactl_fd") ? 0 : 1];
	const struct operation *o = operation_of(command);
	bool is_whole = o && o->whole && call_style()->is_whole;
	const void *end = memchr(m->bytes, 0, m->size);

	if (!o || !(o->directions & (x->is_end ? OUT : IN)) || !m->size)
		return false;
	if (!o->text && end) {
		call_quoted(t, (const char *)m->bytes, (size_t)((const uint8_t *)end - m->bytes));
		return true;
	}
	if (!o->text || m->size < least_of(o, is_whole))
		return false;
	call_description_add(t, is_whole ? o->whole : o->text, m->bytes, x);
	return true;
}
