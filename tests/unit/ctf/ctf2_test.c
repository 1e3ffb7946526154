/* SPDX-License-Identifier: MIT */
/* tests/unit/ctf/ctf2_test.c - CTF 2: every field class, by hand; and metadata that are wrong or cut.
 */
#include "unit/trace/make_trace.h"

#define RS "\x1e"
#define U(bits, order, more)                                                                       \
	"{\"type\":\"fixed-length-unsigned-integer\",\"length\":" #bits ",\"byte-order\":\"" order \
	"\"" more "}"
#define U8 U(8, "little-endian", ",\"alignment\":8")
#define U32 U(32, "little-endian", ",\"alignment\":8")
#define U64 U(64, "little-endian", ",\"alignment\":8")
#define ROLE(bits, role) U(bits, "little-endian", ",\"alignment\":8,\"roles\":[\"" role "\"]")
#define M(name, class) "{\"name\":\"" name "\",\"field-class\":" class "}"
#define STRUCT(members) "{\"type\":\"structure\",\"member-classes\":[" members "]}"
#define AT(path) "{\"path\":[" path "]}"

#define HEAD2                                                                                                                                                                                                                                                                                                                                                                \
	RS "{\"type\":\"preamble\",\"version\":2,\"uuid\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"                                                                                                                                                                                                                                                                             \
	   "16]}\n" RS                                                                                                                                                                                                                                                                                                                                                       \
	   "{\"type\":\"trace-class\",\"environment\":{\"domain\":\"ust\",\"n\":-3},\"packet-"                                                                                                                                                                                                                                                                               \
	   "header-field-class\":" STRUCT(M(                                                                                                                                                                                                                                                                                                                                 \
		   "m",                                                                                                                                                                                                                                                                                                                                                      \
		   ROLE(32, "packet-magic-number")) "," M("u",                                                                                                                                                                                                                                                                                                               \
							  "{\""                                                                                                                                                                                                                                                                                                              \
							  "typ"                                                                                                                                                                                                                                                                                                              \
							  "e\""                                                                                                                                                                                                                                                                                                              \
							  ":\""                                                                                                                                                                                                                                                                                                              \
							  "sta"                                                                                                                                                                                                                                                                                                              \
							  "tic"                                                                                                                                                                                                                                                                                                              \
							  "-le"                                                                                                                                                                                                                                                                                                              \
							  "ngt"                                                                                                                                                                                                                                                                                                              \
							  "h-"                                                                                                                                                                                                                                                                                                               \
							  "blo"                                                                                                                                                                                                                                                                                                              \
							  "b\""                                                                                                                                                                                                                                                                                                              \
							  ",\""                                                                                                                                                                                                                                                                                                              \
							  "len"                                                                                                                                                                                                                                                                                                              \
							  "gth"                                                                                                                                                                                                                                                                                                              \
							  "\":"                                                                                                                                                                                                                                                                                                              \
							  "16,"                                                                                                                                                                                                                                                                                                              \
							  "\"r"                                                                                                                                                                                                                                                                                                              \
							  "ole"                                                                                                                                                                                                                                                                                                              \
							  "s\""                                                                                                                                                                                                                                                                                                              \
							  ":["                                                                                                                                                                                                                                                                                                               \
							  "\"m"                                                                                                                                                                                                                                                                                                              \
							  "eta"                                                                                                                                                                                                                                                                                                              \
							  "dat"                                                                                                                                                                                                                                                                                                              \
							  "a-"                                                                                                                                                                                                                                                                                                               \
							  "str"                                                                                                                                                                                                                                                                                                              \
							  "eam"                                                                                                                                                                                                                                                                                                              \
							  "-uu"                                                                                                                                                                                                                                                                                                              \
							  "id"                                                                                                                                                                                                                                                                                                               \
							  "\"]"                                                                                                                                                                                                                                                                                                              \
							  "}") "," M("c",                                                                                                                                                                                                                                                                                                    \
								     ROLE(8,                                                                                                                                                                                                                                                                                                 \
									  "data-stream-"                                                                                                                                                                                                                                                                                     \
									  "class-id"))) "}"                                                                                                                                                                                                                                                                                  \
											"\n" RS                                                                                                                                                                                                                                                                              \
											"{"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"ty"                                                                                                                                                                                                                                                                                 \
											"pe"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"oc"                                                                                                                                                                                                                                                                                 \
											"k-"                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"as"                                                                                                                                                                                                                                                                                 \
											"s"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"id"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"k"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"fr"                                                                                                                                                                                                                                                                                 \
											"eq"                                                                                                                                                                                                                                                                                 \
											"ue"                                                                                                                                                                                                                                                                                 \
											"nc"                                                                                                                                                                                                                                                                                 \
											"y"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											":1"                                                                                                                                                                                                                                                                                 \
											"00"                                                                                                                                                                                                                                                                                 \
											"00"                                                                                                                                                                                                                                                                                 \
											"00"                                                                                                                                                                                                                                                                                 \
											"00"                                                                                                                                                                                                                                                                                 \
											"0,"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											"or"                                                                                                                                                                                                                                                                                 \
											"ig"                                                                                                                                                                                                                                                                                 \
											"in"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"un"                                                                                                                                                                                                                                                                                 \
											"ix"                                                                                                                                                                                                                                                                                 \
											"-e"                                                                                                                                                                                                                                                                                 \
											"po"                                                                                                                                                                                                                                                                                 \
											"ch"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"of"                                                                                                                                                                                                                                                                                 \
											"fs"                                                                                                                                                                                                                                                                                 \
											"et"                                                                                                                                                                                                                                                                                 \
											"-f"                                                                                                                                                                                                                                                                                 \
											"ro"                                                                                                                                                                                                                                                                                 \
											"m-"                                                                                                                                                                                                                                                                                 \
											"or"                                                                                                                                                                                                                                                                                 \
											"ig"                                                                                                                                                                                                                                                                                 \
											"in"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":{"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											"se"                                                                                                                                                                                                                                                                                 \
											"co"                                                                                                                                                                                                                                                                                 \
											"nd"                                                                                                                                                                                                                                                                                 \
											"s"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											":1"                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"cy"                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"es"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":7"                                                                                                                                                                                                                                                                                 \
											"}}"                                                                                                                                                                                                                                                                                 \
											"\n" RS                                                                                                                                                                                                                                                                              \
											"{"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"ty"                                                                                                                                                                                                                                                                                 \
											"pe"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"da"                                                                                                                                                                                                                                                                                 \
											"ta"                                                                                                                                                                                                                                                                                 \
											"-s"                                                                                                                                                                                                                                                                                 \
											"tr"                                                                                                                                                                                                                                                                                 \
											"ea"                                                                                                                                                                                                                                                                                 \
											"m-"                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"as"                                                                                                                                                                                                                                                                                 \
											"s"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"id"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":5"                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"de"                                                                                                                                                                                                                                                                                 \
											"fa"                                                                                                                                                                                                                                                                                 \
											"ul"                                                                                                                                                                                                                                                                                 \
											"t-"                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"oc"                                                                                                                                                                                                                                                                                 \
											"k-"                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"as"                                                                                                                                                                                                                                                                                 \
											"s-"                                                                                                                                                                                                                                                                                 \
											"id"                                                                                                                                                                                                                                                                                 \
											"\""                                                                                                                                                                                                                                                                                 \
											":"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"k"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											","                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											"pa"                                                                                                                                                                                                                                                                                 \
											"ck"                                                                                                                                                                                                                                                                                 \
											"et"                                                                                                                                                                                                                                                                                 \
											"-"                                                                                                                                                                                                                                                                                  \
											"co"                                                                                                                                                                                                                                                                                 \
											"nt"                                                                                                                                                                                                                                                                                 \
											"ex"                                                                                                                                                                                                                                                                                 \
											"t-"                                                                                                                                                                                                                                                                                 \
											"fi"                                                                                                                                                                                                                                                                                 \
											"el"                                                                                                                                                                                                                                                                                 \
											"d-"                                                                                                                                                                                                                                                                                 \
											"cl"                                                                                                                                                                                                                                                                                 \
											"as"                                                                                                                                                                                                                                                                                 \
											"s"                                                                                                                                                                                                                                                                                  \
											"\""                                                                                                                                                                                                                                                                                 \
											":" STRUCT(                                                                                                                                                                                                                                                                          \
												M(                                                                                                                                                                                                                                                                           \
													"total", ROLE(                                                                                                                                                                                                                                                       \
															 32, "packet-total-"                                                                                                                                                                                                                                 \
															     "length")) "," M("content", ROLE(32, "packet-content-length")) "," M("begin", ROLE(64, "default-clock-timestamp")) "," M("lost", ROLE(16, "discarded-event-"                                                                                    \
																																       "record-counter-"                                                                                     \
																																       "snapshot"))) ",\"event"                                                                              \
																																		     "-record-"                                                                              \
																																		     "header-"                                                                               \
																																		     "field-"                                                                                \
																																		     "class\""                                                                               \
																																		     ":" STRUCT(                                                                             \
																																			     M("timestamp", U8) "," M("which", ROLE(8,                                       \
																																								    "event-record-class-id")) "," M("when",  \
																																												    ROLE(16, \
																																													 "default-clock-timestamp"))) "}\n"
#define EVENT2(members)                                                                            \
	RS "{\"type\":\"event-record-class\",\"id\":3,\"data-stream-class-id\":5,\"name\":\"e\","  \
	   "\"payload-field-class\":" STRUCT(members) "}\n"

/* A packet of one event, 260 ns after the clock's 0x10000, with @body for fields. */
static void packet(struct bytes *b, const struct bytes *body)
{
	size_t bits = (21 + 18 + 4 + body->n) * 8;

	put(b, 0xC1FC1FC1, 4);
	for (uint64_t i = 1; i <= 16; i++)
		put(b, i, 1);
	put(b, 5, 1);
	put(b, bits, 4);
	put(b, bits, 4);
	put(b, 0x10000, 8);
	put(b, 0, 2);
	put(b, 99, 1); /* named timestamp, without the role */
	put(b, 3, 1);
	put(b, 260, 2);
	memcpy(b->at + b->n, body->at, body->n);
	b->n += body->n;
}

/* 1 s, 7 ns, 65536 + 260 ns */
static void expect(const char *metadata, const struct bytes *body, const char *fields)
{
	struct bytes b = { .n = 0 };
	char want[1024], *got;

	packet(&b, body);
	snprintf(want, sizeof want, "1000065803 -1 e {%s }\nend, 0 damaged\n", fields);
	got = trace_text_of(metadata, &b);
	is_text(got, want);
	free(got);
}

static void numbers_of_all_kinds(void)
{
	struct bytes b = { .n = 0 };
	double d = -2.5;
	float f = 0.25f;

	put(&b, 0xfe, 1);
	put_big(&b, 0x0102, 2);
	put(&b, 5 | 9 << 3, 1);
	put(&b, 0x3c00, 2); /* 1 as a 16-bit float */
	memcpy(b.at + b.n, &f, 4);
	memcpy(b.at + b.n + 4, &d, 8);
	b.n += 12;
	put(&b, 2, 1);
	put(&b, 1, 1);
	expect(
		HEAD2 EVENT2(M(
			"a",
			"{\"type\":\"fixed-length-signed-integer\",\"length\":8,"
			"\"alignment\":8,\"byte-order\":\"big-endian\"}") "," M("b", U(16, "big-endian", "")) "," M("c",
														    U(
															    3, "little-endian", "")) "," M("d",
																			   U(
																				   5, "little-endian", ",\"bit-order\":\"first-to-last\"")) "," M("h", "{\"type\":\"fixed-length-floating-point-number\",\"length\":16,"
																												       "\"byte-order\":\"little-endian\"}") "," M("f", "{\"type\":\"fixed-"
																																		       "length-floating-point-"
																																		       "number\",\"length\":32,"
																																		       "\"byte-order\":\"little-"
																																		       "endian\"}") "," M("g", "{\"ty"
																																					       "pe\":"
																																					       "\"fix"
																																					       "ed-"
																																					       "lengt"
																																					       "h-"
																																					       "float"
																																					       "ing-"
																																					       "point"
																																					       "-numb"
																																					       "er\","
																																					       "\"len"
																																					       "gth\""
																																					       ":64,"
																																					       "\"byt"
																																					       "e-"
																																					       "order"
																																					       "\":"
																																					       "\"lit"
																																					       "tle-"
																																					       "endia"
																																					       "n\"}") "," M("e",
																																							     U(8,
																																							       "little-endian",
																																							       ",\"mappings\":{\"x\":[[0,1]],\"y\":[[5,9],[2,3]]}")) "," M("t",
																																															   "{\"type\":\"fixed-length-boolean\",\"length\":8,\"byte-order\":\"little-endian\"}")),
		&b, " a = -2 b = 258 c = 5 d = 9 h = 1 f = 0.25 g = -2.5 e = y:2 t = 1");
}

static void numbers_of_varying_length(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 0xe5 | 0x8e << 8 | 0x26 << 16, 3); /* 624485 */
	put(&b, 0xc0 | 0xbb << 8 | 0x78 << 16, 3); /* -123456 */
	put(&b, 0x7f, 1);
	put(&b, UINT64_MAX, 8);
	put(&b, 0x01ff, 2); /* 2^64 - 1 in ten bytes */
	put(&b, 2, 1);
	put(&b, 7, 1);
	put(&b, 8, 1);
	expect(HEAD2 EVENT2(M("a", "{\"type\":\"variable-length-unsigned-integer\"}") "," M(
		       "b",
		       "{\"ty"
		       "pe\":"
		       "\"var"
		       "iable"
		       "-leng"
		       "th-"
		       "signe"
		       "d-"
		       "integ"
		       "er\""
		       "}") "," M("c",
				  "{\"type\":\"variable-length-signed-"
				  "integer\"}") "," M("d",
						      "{\"type\":\"variable-"
						      "length-unsigned-"
						      "integer\"}") "," M("n",
									  "{\"ty"
									  "pe\""
									  ":\"va"
									  "riab"
									  "le-"
									  "lengt"
									  "h-"
									  "unsig"
									  "ned-"
									  "integ"
									  "er\""
									  "}") "," M("v",
										     "{\"type\":"
										     "\"dynamic-"
										     "length-"
										     "array\","
										     "\"length-"
										     "field-"
										     "location\""
										     ":" AT("\"n"
											    "\"") ",\"element-field-class\":"
												  "{\"type\":\"variable-length-unsigned-integer\"}}")),
	       &b, " a = 624485 b = -123456 c = -1 d = 18446744073709551615 n = 2 v = [ 7 8 ]");
}

static void texts_arrays_and_blobs(void)
{
	struct bytes b = { .n = 0 };

	put_text(&b, "zero");
	put_text(&b, "abc");
	put(&b, 2, 1);
	put(&b, 'x' | 'y' << 8, 2);
	put(&b, 1 | 2 << 8, 2);
	put(&b, 0xaa, 1);
	expect(HEAD2 RS
	       "{\"type\":\"field-class-alias\",\"name\":\"byte\",\"field-class\":" U8
	       "}\n" EVENT2(M("z", "{\"type\":\"null-terminated-string\"}") "," M(
		       "s",
		       "{\"type\":"
		       "\"static-"
		       "length-"
		       "string\","
		       "\"length\":"
		       "4}") "," M("n",
				   "\"byte\"") "," M("d",
						     "{\"type\":\"dynamic-length-string\",\"length-"
						     "field-"
						     "location\":"
						     "{\"origin\":\"event-record-payload\","
						     "\"path\":["
						     "\"n\"]}}") "," M("v",
								       "{\"type\":\"static-length-"
								       "array\",\"length\":2,"
								       "\"element-field-class\":"
								       "\"byte\"}") "," M("w",
											  "{\"type"
											  "\":"
											  "\"static"
											  "-"
											  "length-"
											  "blob\","
											  "\"length"
											  "\""
											  ":1,"
											  "\"media-"
											  "type\":"
											  "\"image/"
											  "x\"}")),
	       &b, " z = \"zero\" s = \"abc\" n = 2 d = \"xy\" v = [ 1 2 ] w = [ 170 ]");
}

#define CHOOSE                                                                                     \
	M("k", U8)                                                                                 \
	"," M("o",                                                                                 \
	      "{\"type\":\"variant\",\"selector-field-location\":" AT(                             \
		      "\"k\"") ",\"options\":["                                                    \
			       "{\"selector-field-ranges\":[[1,1],[8,9]],\"field-class\":" U8 "}," \
			       "{\"name\":\"big\",\"selector-field-ranges\":[[2,7]],\"field-"      \
			       "class\":" U32                                                      \
			       "}]}") "," M("p",                                                   \
					    "{\"type\":\"optional\",\"selector-field-"             \
					    "location\":" AT(                                      \
						    "\"k\"") ",\"selector-field-ranges\":[[9,9]]," \
							     "\"field-class\":" U8                 \
							     "}") "," M("last", U8)

static void variants_and_optional_fields(void)
{
	struct bytes b = { .n = 0 }, c = { .n = 0 };

	put(&b, 9, 1);
	put(&b, 33, 1);
	put(&b, 44, 1);
	put(&b, 55, 1);
	expect(HEAD2 EVENT2(CHOOSE), &b, " k = 9 o = 33 p = 44 last = 55");
	put(&c, 2, 1);
	put(&c, 0x01020304, 4);
	put(&c, 55, 1);
	expect(HEAD2 EVENT2(CHOOSE), &c, " k = 2 o = 16909060 last = 55");
}

/* The inner struct's field comes first; with null in its path, the outer one's. */
static void a_path_goes_to_the_struct_around(void)
{
	struct bytes b = { .n = 0 };

	put(&b, 1, 1);
	put(&b, 2, 1);
	put_text(&b, "");
	b.n--;
	put(&b, 'a', 1);
	put(&b, 'b' | 'c' << 8, 2);
	expect(HEAD2 EVENT2(M("n", U8) "," M(
		       "in",
		       STRUCT(M("n", U8) "," M(
			       "outer",
			       "{\"type\":\"dynamic-length-string\",\"length-field-location\":" AT(
				       "null,\"n\"") "}") "," M("inner",
								"{\"type\":\"dynamic-length-"
								"string\",\"length-field-"
								"location\":" AT("\"n\"") "}")))),
	       &b, " n = 1 in = { n = 2 outer = \"a\" inner = \"bc\" }");
}

static bool opens(const char *metadata)
{
	struct bytes b = { .n = 0 }, body = { .n = 0 };
	char *got;
	bool is_good;

	put(&body, 1, 1);
	packet(&b, &body);
	got = trace_text_of(metadata, &b);
	is_good = strstr(got, "end, 0 damaged");
	free(got);
	return is_good;
}

static void wrong_metadata_are_refused(void)
{
	static const char *const wrong[] = {
		RS "{\"type\":\"preamble\",\"version\":3}\n",
		RS "{\"type\":\"preamble\",\"version\":2,\"extensions\":{\"x\":{\"y\":{}}}}\n",
		HEAD2 RS "{\"type\":\"event-record-class\"",
		HEAD2 RS "[1,2",
		HEAD2 RS "{\"type\":\"nonsense\"}",
		HEAD2 RS "{\"type\":\"preamble\",\"version\":2}",
		HEAD2 EVENT2(M("x", U(65, "little-endian", ""))),
		HEAD2 EVENT2(M("x", U(8, "middle-endian", ""))),
		HEAD2 EVENT2(M("x", U(8, "little-endian", ",\"bit-order\":\"last-to-first\""))),
		HEAD2 EVENT2(M("x", U(8, "little-endian", ",\"alignment\":3"))),
		HEAD2 EVENT2(M("x", "\"unknown\"")),
		HEAD2 EVENT2(M("x", "{\"type\":\"dynamic-length-blob\"}")),
		HEAD2 EVENT2(M("x\\u0000", U8)),
	};

	ok(opens(HEAD2 EVENT2(M("x", U8))));
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (!ok(!opens(wrong[i])))
			printf("# number %zu\n", i);
}

static void cut_metadata_are_read_up_to_the_cut(void)
{
	static const char whole[] = HEAD2 EVENT2(CHOOSE);
	struct ctf_meta m;
	struct diag d;

	for (size_t n = 0; n < sizeof whole - 1; n++) {
		const char *path = make_directory();
		char name[256];

		write_file(path, "metadata", whole, n);
		snprintf(name, sizeof name, "%s/metadata", path);
		if (ctf_meta_open(&m, name, &d) >= 0)
			ctf_meta_close(&m);
		remove_directory(path);
	}
}

int main(void)
{
	run(numbers_of_all_kinds);
	run(numbers_of_varying_length);
	run(texts_arrays_and_blobs);
	run(variants_and_optional_fields);
	run(a_path_goes_to_the_struct_around);
	run(wrong_metadata_are_refused);
	run(cut_metadata_are_read_up_to_the_cut);
	return test_status();
}
