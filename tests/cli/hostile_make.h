/* SPDX-License-Identifier: Apache-2.0
 * For the makers of hostile archives: the honest one, and blocks of a container written one by one. Whatever fails ends
 * the program. */
#ifndef TESTS_CLI_HOSTILE_MAKE_H
#define TESTS_CLI_HOSTILE_MAKE_H

#include "audit/archive/archive.h"
#include "base/buffer.h"
#include "tests/cli/hostile.h"

enum { BLOCK = 512 };

extern rp_buffer honest_bytes; /* the honest archive */

void must(bool fine, const char *what);

/* The honest archive's members: the i-th with its header, that of a name, how many. */
const rp_member *nth(size_t i);
const unsigned char *header_of(size_t i);
size_t place(const char *name);
/* Behind the last member that the manifest lists. */
size_t listed_end(void);
size_t all(void);

void put(FILE *out, const void *data, size_t size);
void pad(FILE *out, size_t size); /* to whole blocks, behind so many bytes */
void put_end(FILE *out);
/* Members first to end - 1 as they are. */
void put_members(FILE *out, size_t first, size_t end);
/* An entry of any kind, checksum right, with a small body. */
void put_entry(FILE *out, const char *name, char type, const char *link, const char *body);

/* The honest archive with one more entry before the last members. */
void with_entry(FILE *out, const char *name, char type, const char *link, const char *body);
/* The honest archive with bytes of run/journal.bin's header replaced, and if sealed its checksum made right again. */
void with_header(FILE *out, size_t offset, const void *data, size_t size, bool sealed);

#endif
