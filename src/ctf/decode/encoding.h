/* SPDX-License-Identifier: MIT */
/*
 * ctf/decode/encoding.h - texts that are not UTF-8: CTF 2 also has UTF-16 and UTF-32.
 *
 * A decoded value points into its packet.  A text of another encoding is not valid text there: it
 * is translated where it is used, which needs memory that the decoder does not own.
 */
#ifndef CTF_DECODE_ENCODING_H
#define CTF_DECODE_ENCODING_H

#include "base/text.h"
#include "ctf/decode/decode.h"

/*
 * encoding_text - the text of @v, which is CTF_TEXT, in UTF-8.
 *
 * @buffer: zeroes, or the buffer of an earlier text, which is overwritten; freed by text_fini().
 *          It is used only if the text has another encoding.
 * @size: its bytes, without a NUL.
 *
 * Invalid code units become U+FFFD.  Never NULL; without memory it returns a part of the text, and
 * sets @buffer->failed.
 */
const char *encoding_text(const struct ctf_value *v, struct text *buffer, size_t *size);

/* encoding_unit - bytes of a code unit: 1, 2 or 4.  @encoding: enum ctf_encoding. */
static inline uint32_t encoding_unit(uint8_t encoding)
{
	return encoding == CTF_UTF8 ? 1 : encoding <= CTF_UTF16_BE ? 2 : 4;
}

#endif
