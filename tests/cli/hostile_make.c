/* SPDX-License-Identifier: Apache-2.0
 * What the makers of hostile archives have in common: the honest archive, and its blocks written one by one with
 * whatever headers are asked for. */
#include <stdlib.h>
#include <string.h>

#include "tests/cli/hostile_make.h"

rp_buffer honest_bytes;
static rp_archive *honest;

void must(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "hostile: %s\n", what);
    exit(1);
}

void hostile_begin(const char *path)
{
    rp_error err = {0};

    must(rp_file_read(path, (size_t)1 << 24, &honest_bytes, &err) == RP_OK, err.text);
    must(rp_archive_open_memory(&honest, honest_bytes.data, honest_bytes.size, path, &err) == RP_OK, err.text);
}

/* ---- blocks ---- */

void put(FILE *out, const void *data, size_t size)
{
    must(fwrite(data, 1, size, out) == size, "cannot write");
}

void pad(FILE *out, size_t size)
{
    static const unsigned char zeros[BLOCK];

    put(out, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

void put_end(FILE *out)
{
    static const unsigned char zeros[2 * BLOCK];

    put(out, zeros, sizeof zeros);
}

/* The checksum of whatever stands there. */
static void seal(unsigned char header[BLOCK])
{
    unsigned sum = 0;

    memset(header + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += header[i];
    (void)snprintf((char *)header + 148, 7, "%06o", sum & 0777777);
    header[154] = '\0';
    header[155] = ' ';
}

const rp_member *nth(size_t i)
{
    return rp_archive_member(honest, i);
}

size_t place(const char *name)
{
    for (size_t i = 0; i < rp_archive_member_count(honest); i++)
        if (strcmp(nth(i)->name, name) == 0)
            return i;
    must(false, name);
    return 0;
}

size_t listed_end(void)
{
    size_t end = 1;

    while (end < all() && strncmp(nth(end)->name, "signatures/", strlen("signatures/")) != 0)
        end++;
    return end;
}

const unsigned char *header_of(size_t i)
{
    return honest_bytes.data + nth(i)->offset - BLOCK;
}

void put_members(FILE *out, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        put(out, header_of(i), BLOCK);
        put(out, honest_bytes.data + nth(i)->offset, (size_t)nth(i)->size);
        pad(out, (size_t)nth(i)->size);
    }
}

size_t all(void)
{
    return rp_archive_member_count(honest);
}

void put_entry(FILE *out, const char *name, char type, const char *link, const char *body)
{
    unsigned char header[BLOCK];
    char plain[RP_MEMBER_NAME] = "outputs/x";

    must(rp_ustar_header(header, plain, strlen(body)), "a header");
    memset(header, 0, 100);
    memcpy(header, name, strnlen(name, 100));
    header[156] = (unsigned char)type;
    memcpy(header + 157, link, strnlen(link, 100));
    seal(header);
    put(out, header, BLOCK);
    put(out, body, strlen(body));
    pad(out, strlen(body));
}

void with_entry(FILE *out, const char *name, char type, const char *link, const char *body)
{
    size_t at = listed_end();

    put_members(out, 0, at);
    put_entry(out, name, type, link, body);
    put_members(out, at, all());
    put_end(out);
}

void with_header(FILE *out, size_t offset, const void *data, size_t size, bool sealed)
{
    unsigned char header[BLOCK];
    size_t at = place("run/journal.bin");

    memcpy(header, header_of(at), BLOCK);
    memcpy(header + offset, data, size);
    if (sealed)
        seal(header);
    put_members(out, 0, at);
    put(out, header, BLOCK);
    put(out, honest_bytes.data + nth(at)->offset, (size_t)nth(at)->size);
    pad(out, (size_t)nth(at)->size);
    put_members(out, at + 1, all());
    put_end(out);
}
