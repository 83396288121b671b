/* SPDX-License-Identifier: Apache-2.0
 * Hostile archives, members: doubled, swapped, left out, too many, too large, cut, followed by something, or of another
 * kind of file altogether. */
#include <string.h>

#include "tests/cli/hostile_make.h"

/* ---- members ---- */

static void doubled(FILE *out)
{
    size_t at = place("run/journal.bin");

    put_members(out, 0, at + 1);
    put_members(out, at, all());
    put_end(out);
}

static void second_manifest(FILE *out)
{
    put_members(out, 0, 1);
    put_members(out, 0, all());
    put_end(out);
}

static void manifest_last(FILE *out)
{
    put_members(out, 1, all());
    put_members(out, 0, 1);
    put_end(out);
}

static void swapped(FILE *out)
{
    size_t at = place("run/journal.bin");

    put_members(out, 0, at);
    put_members(out, at + 1, at + 2);
    put_members(out, at, at + 1);
    put_members(out, at + 2, all());
    put_end(out);
}

static void left_out(FILE *out)
{
    size_t at = place("run/journal.bin");

    put_members(out, 0, at);
    put_members(out, at + 1, all());
    put_end(out);
}

static void unlisted(FILE *out)
{
    with_entry(out, "outputs/z", '0', "", "x");
}
static void unknown_place(FILE *out)
{
    with_entry(out, "bin/sh", '0', "", "x");
}

/* Both are on disk in no extraction. */
static void folder_and_file(FILE *out)
{
    size_t at = listed_end();

    put_members(out, 0, at);
    put_entry(out, "outputs/z", '0', "", "x");
    put_entry(out, "outputs/z/y", '0', "", "x");
    put_members(out, at, all());
    put_end(out);
}

/* Behind all members: one of signatures/ with a body of so many bytes that a pattern fills. */
static void put_large(FILE *out, const char *name, const char *before, const char *unit, size_t count,
                      const char *after)
{
    unsigned char header[BLOCK];
    size_t size = strlen(before) + count * strlen(unit) + strlen(after);

    must(rp_ustar_header(header, name, size), name);
    put(out, header, BLOCK);
    put(out, before, strlen(before));
    for (size_t i = 0; i < count; i++)
        put(out, unit, strlen(unit));
    put(out, after, strlen(after));
    pad(out, size);
}

static void many_certificates(FILE *out)
{
    put_members(out, 0, listed_end());
    for (unsigned i = 0; i < 256; i++) {
        char name[RP_MEMBER_NAME];

        (void)snprintf(name, sizeof name, "signatures/%016x.x509.pem", i);
        put_large(out, name, "-----BEGIN CERTIFICATE-----\n",
                  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", 900,
                  "-----END CERTIFICATE-----\n");
    }
    put_end(out);
}

static void many_statements(FILE *out)
{
    put_members(out, 0, listed_end());
    for (unsigned i = 0; i < 60000; i++) {
        char name[RP_MEMBER_NAME];

        (void)snprintf(name, sizeof name, "signatures/approval-%016x-0000000000000000.dsse.json", i);
        put_large(out, name, "{\"payload\":\"", "AAAAAAAAAAAAAAAA", 8, "\"}");
    }
    put_end(out);
}

static void concatenated(FILE *out)
{
    put(out, honest_bytes.data, honest_bytes.size);
    put(out, honest_bytes.data, honest_bytes.size);
}

static void concatenated_without_end(FILE *out)
{
    put(out, honest_bytes.data, honest_bytes.size - 2 * BLOCK);
    put(out, honest_bytes.data, honest_bytes.size);
}

static void garbage(FILE *out)
{
    put(out, honest_bytes.data, honest_bytes.size);
    put(out, "PK\x05\x06", 4);
}

static void record_of_zeros(FILE *out)
{
    put(out, honest_bytes.data, honest_bytes.size);
    for (int i = 0; i < 10; i++)
        put_end(out);
}

static void one_end_block(FILE *out)
{
    put(out, honest_bytes.data, honest_bytes.size - BLOCK);
}
static void no_end(FILE *out)
{
    put(out, honest_bytes.data, honest_bytes.size - 2 * BLOCK);
}
static void only_end(FILE *out)
{
    put_end(out);
}
static void nothing(FILE *out)
{
    (void)out;
}
static void one_byte(FILE *out)
{
    put(out, "m", 1);
}
static void gzip(FILE *out)
{
    put(out, "\x1f\x8b\x08\0\0\0\0\0\0\x03\xed\xc1\x01\x0d\0\0\0\xc2\xa0\xf7\x4f\x6d\x0e\x37\xa0\0\0", 28);
}
static void xz(FILE *out)
{
    put(out,
        "\xfd"
        "7zXZ\0\0\x04\xe6\xd6\xb4\x46",
        12);
}

static void zip(FILE *out)
{
    static const char entry[30] = "PK\x03\x04\x14\0\0\0\x08";

    for (int i = 0; i < 100; i++)
        put(out, entry, sizeof entry);
}

/* count entries without bodies behind the manifest. */
static void many(FILE *out, size_t count)
{
    static unsigned char blocks[1024][BLOCK];

    put_members(out, 0, 1);
    for (size_t i = 0; i < count; i += 1024) {
        for (size_t k = 0; k < 1024; k++) {
            char name[RP_MEMBER_NAME];

            (void)snprintf(name, sizeof name, "outputs/%010zu", i + k);
            must(rp_ustar_header(blocks[k], name, 0), name);
        }
        put(out, blocks, sizeof blocks);
    }
    put_end(out);
}

static void many_members(FILE *out)
{
    many(out, 70 * 1024);
}
static void million_members(FILE *out)
{
    many(out, 1024 * 1024);
}

/* A hole in the file: the disk holds next to nothing, its size is what the header says. */
static void hole(FILE *out)
{
    unsigned char header[BLOCK];
    const size_t size = (size_t)4 << 30;

    put_members(out, 0, 1);
    must(rp_ustar_header(header, "weights/final.safetensors", size), "a header");
    put(out, header, BLOCK);
    must(fseeko(out, (off_t)size, SEEK_CUR) == 0, "cannot seek");
    put_end(out);
}

static void cut_in_body(FILE *out)
{
    put(out, honest_bytes.data, (size_t)nth(place("run/journal.bin"))->offset + 100);
}
static void cut_in_header(FILE *out)
{
    put(out, honest_bytes.data, (size_t)nth(place("run/journal.bin"))->offset - 200);
}

#define R HOSTILE_REFUSED
#define J "run/journal.bin"
#define E "end of archive"
/* where no member can be named: the first is expected */
#define M "manifest.json"

static const hostile_case cases[] = {
    {"doubled", R, J, false, doubled},
    {"second-manifest", R, M, false, second_manifest},
    {"manifest-last", R, "run/recipe.json", false, manifest_last},
    {"swapped", R, J, false, swapped},
    {"left-out", R, J, false, left_out},
    {"unlisted", R, "outputs/z", false, unlisted},
    {"unknown-place", R, "bin/sh", false, unknown_place},
    {"folder-and-file", R, "outputs/z/y", false, folder_and_file},
    {"many-certificates", R, "signatures/", false, many_certificates},
    {"many-statements", R, "signatures/approval-", false, many_statements},
    {"concatenated", R, E, false, concatenated},
    {"concatenated-without-end", R, M, false, concatenated_without_end},
    {"garbage", R, E, false, garbage},
    {"record-of-zeros", R, E, false, record_of_zeros},
    {"one-end-block", R, E, false, one_end_block},
    {"no-end", R, E, false, no_end},
    {"only-end", R, M, false, only_end},
    {"nothing", R, E, false, nothing},
    {"one-byte", R, E, false, one_byte},
    {"gzip", R, E, false, gzip},
    {"xz", R, E, false, xz},
    {"zip", R, M, false, zip},
    {"many-members", R, "outputs/", false, many_members},
    {"million-members", R, "outputs/", true, million_members},
    {"hole", R, "run/recipe.json", true, hole},
    {"cut-in-body", R, J, false, cut_in_body},
    {"cut-in-header", R, E, false, cut_in_header},
};
const hostile_group hostile_members = {cases, sizeof cases / sizeof *cases};
