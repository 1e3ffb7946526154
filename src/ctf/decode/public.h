/* SPDX-License-Identifier: MIT */
/* ctf/decode/public.h - what other rooms may use of this one. */
#ifndef CTF_DECODE_PUBLIC_H
#define CTF_DECODE_PUBLIC_H

#include "ctf/decode/decode.h"
#include "ctf/decode/encoding.h"
#include "ctf/decode/next.h"

#endif
