/* SPDX-License-Identifier: Apache-2.0
 * The makers of hostile archives. Those of wrong structure are written block by block, with whatever headers they need;
 * those of wrong content have every hash right, since a reader may not rely on nobody having signed nonsense. */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/archive/archive.h"
#include "base/buffer.h"
#include "tests/cli/hostile.h"

enum { BLOCK = 512, HONEST_MAX = 64 };

static rp_buffer bytes; /* of the honest archive */
static rp_archive *honest;

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "hostile: %s\n", what);
    exit(1);
}

void hostile_begin(const char *path)
{
    rp_error err = {0};

    must(rp_file_read(path, (size_t)1 << 24, &bytes, &err) == RP_OK, err.text);
    must(rp_archive_open_memory(&honest, bytes.data, bytes.size, path, &err) == RP_OK, err.text);
}

/* ---- blocks ---- */

static void put(FILE *out, const void *data, size_t size)
{
    must(fwrite(data, 1, size, out) == size, "cannot write");
}

static void pad(FILE *out, size_t size)
{
    static const unsigned char zeros[BLOCK];

    put(out, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

static void put_end(FILE *out)
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

static const rp_member *nth(size_t i)
{
    return rp_archive_member(honest, i);
}

static size_t place(const char *name)
{
    for (size_t i = 0; i < rp_archive_member_count(honest); i++)
        if (strcmp(nth(i)->name, name) == 0)
            return i;
    must(false, name);
    return 0;
}

static const unsigned char *header_of(size_t i)
{
    return bytes.data + nth(i)->offset - BLOCK;
}

/* Members first to end - 1 as they are. */
static void put_members(FILE *out, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        put(out, header_of(i), BLOCK);
        put(out, bytes.data + nth(i)->offset, (size_t)nth(i)->size);
        pad(out, (size_t)nth(i)->size);
    }
}

static size_t all(void)
{
    return rp_archive_member_count(honest);
}

/* An entry of any kind, checksum right, with a small body. */
static void put_entry(FILE *out, const char *name, char type, const char *link, const char *body)
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

/* The honest archive with one more entry before the last members. */
static void with_entry(FILE *out, const char *name, char type, const char *link, const char *body)
{
    size_t at = place("outputs/predictions.csv") + 1;

    put_members(out, 0, at);
    put_entry(out, name, type, link, body);
    put_members(out, at, all());
    put_end(out);
}

/* The honest archive with bytes of run/journal.bin's header replaced, and its checksum made right again. */
static void with_header(FILE *out, size_t offset, const void *data, size_t size, bool sealed)
{
    unsigned char header[BLOCK];
    size_t at = place("run/journal.bin");

    memcpy(header, header_of(at), BLOCK);
    memcpy(header + offset, data, size);
    if (sealed)
        seal(header);
    put_members(out, 0, at);
    put(out, header, BLOCK);
    put(out, bytes.data + nth(at)->offset, (size_t)nth(at)->size);
    pad(out, (size_t)nth(at)->size);
    put_members(out, at + 1, all());
    put_end(out);
}

/* ---- names ---- */

static void escape(FILE *out)
{
    with_entry(out, "../escaped", '0', "", "x");
}
static void escape_inside(FILE *out)
{
    with_entry(out, "outputs/../../escaped", '0', "", "x");
}
static void escape_at_end(FILE *out)
{
    with_entry(out, "outputs/..", '0', "", "x");
}
static void absolute(FILE *out)
{
    with_entry(out, "/tmp/rp-hostile-escaped", '0', "", "x");
}
static void dot(FILE *out)
{
    with_entry(out, "outputs/./x", '0', "", "x");
}
static void double_slash(FILE *out)
{
    with_entry(out, "outputs//x", '0', "", "x");
}
static void slash_at_end(FILE *out)
{
    with_entry(out, "outputs/x/", '0', "", "");
}
static void backslash(FILE *out)
{
    with_entry(out, "outputs\\..\\..\\escaped", '0', "", "x");
}
static void drive(FILE *out)
{
    with_entry(out, "C:/escaped", '0', "", "x");
}
static void empty_name(FILE *out)
{
    with_entry(out, "", '0', "", "x");
}
static void not_utf8(FILE *out)
{
    with_entry(out, "outputs/\xff\xfe\xc0\x80", '0', "", "x");
}
static void overlong_dots(FILE *out)
{
    with_entry(out, "outputs/\xc0\xae\xc0\xae/x", '0', "", "x");
}
static void control_name(FILE *out)
{
    with_entry(out, "outputs/\x1b[2Jx", '0', "", "x");
}
static void case_clone(FILE *out)
{
    with_entry(out, "outputs/PREDICTIONS.CSV", '0', "", "x");
}
static void nul_name(FILE *out)
{
    with_header(out, 0, "run/journal.bin\0x", 17, true);
}
static void prefix_field(FILE *out)
{
    with_header(out, 345, "../../tmp", 9, true);
}

/* ---- kinds of entry ---- */

static void symbolic_link(FILE *out)
{
    with_entry(out, "outputs/link", '2', "/etc/passwd", "");
}
static void hard_link(FILE *out)
{
    with_entry(out, "outputs/link", '1', "manifest.json", "");
}
static void device(FILE *out)
{
    with_entry(out, "outputs/null", '3', "", "");
}
static void block_device(FILE *out)
{
    with_entry(out, "outputs/disk", '4', "", "");
}
static void directory(FILE *out)
{
    with_entry(out, "outputs/folder/", '5', "", "");
}
static void fifo(FILE *out)
{
    with_entry(out, "outputs/fifo", '6', "", "");
}
static void contiguous(FILE *out)
{
    with_entry(out, "outputs/x", '7', "", "x");
}
static void old_regular(FILE *out)
{
    with_entry(out, "outputs/x", '\0', "", "x");
}
static void pax(FILE *out)
{
    with_entry(out, "PaxHeader/x", 'x', "", "19 path=../escaped\n");
}
static void pax_size(FILE *out)
{
    with_entry(out, "PaxHeader/x", 'x', "", "28 size=9223372036854775807\n");
}
static void pax_global(FILE *out)
{
    with_entry(out, "pax_global_header", 'g', "", "19 path=../escaped\n");
}
static void gnu_long_name(FILE *out)
{
    with_entry(out, "././@LongLink", 'L', "", "../escaped");
}
static void gnu_long_link(FILE *out)
{
    with_entry(out, "././@LongLink", 'K', "", "../escaped");
}
static void gnu_sparse(FILE *out)
{
    with_entry(out, "outputs/sparse", 'S', "", "x");
}
static void gnu_multivolume(FILE *out)
{
    with_entry(out, "outputs/x", 'M', "", "x");
}
static void vendor_type(FILE *out)
{
    with_entry(out, "outputs/x", 'Z', "", "x");
}
static void gnu_magic(FILE *out)
{
    with_header(out, 257, "ustar  \0", 8, true);
}
static void v7_magic(FILE *out)
{
    with_header(out, 257, "\0\0\0\0\0\0\0\0", 8, true);
}
static void setuid(FILE *out)
{
    with_header(out, 100, "004755 ", 7, true);
}
static void owner(FILE *out)
{
    with_header(out, 265, "root", 4, true);
}
static void time_set(FILE *out)
{
    with_header(out, 136, "77777777777 ", 12, true);
}

/* ---- sizes and checksums ---- */

static void base_256(FILE *out)
{
    with_header(out, 124, "\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12, true);
}
static void base_256_small(FILE *out)
{
    with_header(out, 124, "\x80\0\0\0\0\0\0\0\0\0\0\x80", 12, true);
}
static void base_256_negative(FILE *out)
{
    with_header(out, 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, true);
}
static void octal_largest(FILE *out)
{
    with_header(out, 124, "77777777777 ", 12, true);
}
static void octal_no_end(FILE *out)
{
    with_header(out, 124, "777777777777", 12, true);
}
static void octal_sign(FILE *out)
{
    with_header(out, 124, "-0000000001 ", 12, true);
}
static void octal_digit(FILE *out)
{
    with_header(out, 124, "00000000900 ", 12, true);
}
static void octal_spaces(FILE *out)
{
    with_header(out, 124, "        200 ", 12, true);
}
static void size_zero(FILE *out)
{
    with_header(out, 124, "00000000000 ", 12, true);
}
static void checksum_wrong(FILE *out)
{
    with_header(out, 148, "000000\0 ", 8, false);
}
static void checksum_blank(FILE *out)
{
    with_header(out, 148, "        ", 8, false);
}

/* As old tar programs sum: bytes as signed. */
static void checksum_signed(FILE *out)
{
    unsigned char header[BLOCK];
    size_t at = place("run/journal.bin");
    int sum = 0;
    char text[8];

    memcpy(header, header_of(at), BLOCK);
    header[300] = 0xff;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (signed char)header[i];
    (void)snprintf(text, sizeof text, "%06o", (unsigned)sum & 0777777);
    text[7] = ' ';
    memcpy(header + 148, text, 8);
    with_header(out, 0, header, BLOCK, false);
}

static void padding(FILE *out)
{
    size_t at = place("run/recipe.json");
    size_t where = (size_t)(nth(at)->offset + nth(at)->size);

    must(nth(at)->size % BLOCK != 0, "a recipe without padding");
    put(out, bytes.data, where);
    put(out, "x", 1);
    put(out, bytes.data + where + 1, bytes.size - where - 1);
}

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
    size_t at = place("outputs/predictions.csv") + 1;

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
    put_members(out, 0, place("outputs/predictions.csv") + 1);
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
    put_members(out, 0, place("outputs/predictions.csv") + 1);
    for (unsigned i = 0; i < 60000; i++) {
        char name[RP_MEMBER_NAME];

        (void)snprintf(name, sizeof name, "signatures/approval-%016x-0000000000000000.dsse.json", i);
        put_large(out, name, "{\"payload\":\"", "AAAAAAAAAAAAAAAA", 8, "\"}");
    }
    put_end(out);
}

static void concatenated(FILE *out)
{
    put(out, bytes.data, bytes.size);
    put(out, bytes.data, bytes.size);
}

static void concatenated_without_end(FILE *out)
{
    put(out, bytes.data, bytes.size - 2 * BLOCK);
    put(out, bytes.data, bytes.size);
}

static void garbage(FILE *out)
{
    put(out, bytes.data, bytes.size);
    put(out, "PK\x05\x06", 4);
}

static void record_of_zeros(FILE *out)
{
    put(out, bytes.data, bytes.size);
    for (int i = 0; i < 10; i++)
        put_end(out);
}

static void one_end_block(FILE *out)
{
    put(out, bytes.data, bytes.size - BLOCK);
}
static void no_end(FILE *out)
{
    put(out, bytes.data, bytes.size - 2 * BLOCK);
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
    put(out, bytes.data, (size_t)nth(place("run/journal.bin"))->offset + 100);
}
static void cut_in_header(FILE *out)
{
    put(out, bytes.data, (size_t)nth(place("run/journal.bin"))->offset - 200);
}

/* ---- manifests ---- */

/* An archive whose manifest is this text, followed by the honest members without signatures. */
static void with_manifest(FILE *out, const void *text, size_t size)
{
    unsigned char header[BLOCK];

    must(rp_ustar_header(header, RP_MANIFEST_NAME, size), "a header");
    put(out, header, BLOCK);
    put(out, text, size);
    pad(out, size);
    put_members(out, 1, place("outputs/predictions.csv") + 1);
    put_end(out);
}

static void repeated(FILE *out, const char *before, const char *unit, size_t count, const char *after)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, before);
    for (size_t i = 0; i < count; i++)
        rp_buffer_text(&text, unit);
    rp_buffer_text(&text, after);
    must(!text.failed, "memory");
    with_manifest(out, text.data, text.size);
    rp_buffer_free(&text);
}

#define MANIFEST_START "{\"contract\":1,\"format\":1,\"kind\":\"recipe\",\"members\":["
#define MANIFEST_END "],\"profile\":\"portable\",\"run\":{}}"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static void deep_manifest(FILE *out)
{
    repeated(out, "", "[", 100000, "");
}
static void deep_run(FILE *out)
{
    repeated(out, MANIFEST_START "],\"profile\":\"portable\",\"run\":{\"a\":", "[", 100000, "");
}
static void many_values(FILE *out)
{
    repeated(out, MANIFEST_START "],\"profile\":\"portable\",\"run\":{\"a\":[0", ",0", 8000000, "]}}");
}
static void many_objects(FILE *out)
{
    repeated(out, MANIFEST_START "{}", ",{}", 5000000, MANIFEST_END);
}
static void long_string(FILE *out)
{
    repeated(out, "{\"contract\":\"", "xxxxxxxxxxxxxxxx", 1000000, "\"}");
}
static void manifest_too_large(FILE *out)
{
    repeated(out, "{\"contract\":\"", "xxxxxxxxxxxxxxxx", 1100000, "\"}");
}

static void one_listed(FILE *out, const char *path, const char *size)
{
    char text[400];

    (void)snprintf(text, sizeof text,
                   MANIFEST_START "{\"path\":\"%s\",\"sha256\":\"" ZEROS "\",\"size\":%s}" MANIFEST_END, path, size);
    with_manifest(out, text, strlen(text));
}

static void listed_escape(FILE *out)
{
    one_listed(out, "../escaped", "1");
}
static void listed_absolute(FILE *out)
{
    one_listed(out, "/etc/passwd", "1");
}
static void listed_8_eib(FILE *out)
{
    one_listed(out, "run/recipe.json", "9223372036854775807");
}
static void listed_over_8_eib(FILE *out)
{
    one_listed(out, "run/recipe.json", "9223372036854775808");
}
static void listed_2_to_53(FILE *out)
{
    one_listed(out, "run/recipe.json", "9007199254740991");
}
static void listed_negative(FILE *out)
{
    one_listed(out, "run/recipe.json", "-1");
}
static void listed_nul(FILE *out)
{
    one_listed(out, "run/recipe.json\\u0000x", "1");
}

/* ---- content: all hashes are right ---- */

/* The honest archive's members, one of them with other bytes, unsigned. */
static void with_content(FILE *out, const char *name, const void *data, size_t size)
{
    rp_archive_writer *writer;
    rp_buffer made = {0};
    rp_json *run = NULL, *manifest = NULL;
    rp_error err = {0};
    size_t end = place("outputs/predictions.csv") + 1;

    must(rp_json_parse(&manifest, bytes.data + nth(0)->offset, (size_t)nth(0)->size, true, "manifest", &err) == RP_OK &&
             rp_archive_writer_new(&writer, NULL, &err) == RP_OK,
         err.text);
    run = rp_json_object_get(manifest, "run");
    for (size_t i = 1; i < end; i++) {
        bool other = strcmp(nth(i)->name, name) == 0;

        must(rp_archive_writer_add(writer, nth(i)->name, other ? data : bytes.data + nth(i)->offset,
                                   other ? size : (size_t)nth(i)->size, &err) == RP_OK,
             err.text);
    }
    must(rp_archive_writer_finish(writer, RP_RUN_RECIPE, run, &err) == RP_OK &&
             rp_archive_writer_append(writer, &made, &err) == RP_OK,
         err.text);
    put(out, made.data, made.size);
    rp_archive_writer_free(writer);
    rp_buffer_free(&made);
    rp_json_free(manifest);
}

static void content_repeated(FILE *out, const char *name, const char *before, const char *unit, size_t count,
                             const char *after)
{
    rp_buffer text = {0};

    rp_buffer_text(&text, before);
    for (size_t i = 0; i < count; i++)
        rp_buffer_text(&text, unit);
    rp_buffer_text(&text, after);
    must(!text.failed, "memory");
    with_content(out, name, text.data, text.size);
    rp_buffer_free(&text);
}

static void deep_recipe(FILE *out)
{
    content_repeated(out, "run/recipe.json", "", "[", 100000, "");
}
static void wide_recipe(FILE *out)
{
    content_repeated(out, "run/recipe.json", "[0", ",0", 500000, "]");
}
static void large_recipe(FILE *out)
{
    content_repeated(out, "run/recipe.json", "[0", ",0", 5000000, "]");
}
static void recipe_not_utf8(FILE *out)
{
    content_repeated(out, "run/recipe.json", "{\"a\":\"\xff\xfe", "\xc0", 10, "\"}");
}
static void empty_recipe(FILE *out)
{
    with_content(out, "run/recipe.json", "", 0);
}
static void empty_csv(FILE *out)
{
    with_content(out, "data/raw.csv", "", 0);
}
static void wide_csv(FILE *out)
{
    content_repeated(out, "data/raw.csv", "id", ",x", 1000000, "\n");
}
static void quoted_csv(FILE *out)
{
    content_repeated(out, "data/raw.csv", "id,x,kind,y\n\"", "\n", 1000000, "");
}
static void short_journal(FILE *out)
{
    with_content(out, "run/journal.bin", "x", 1);
}
static void empty_journal(FILE *out)
{
    with_content(out, "run/journal.bin", "", 0);
}
static void journal_of_ff(FILE *out)
{
    content_repeated(out, "run/journal.bin", "", "\xff\xff\xff\xff\xff\xff\xff\xff", 32, "");
}
static void deep_program(FILE *out)
{
    content_repeated(out, "run/programs/0000.json", "", "[", 100000, "");
}

static void tensors(FILE *out, uint64_t length, const char *header, size_t data)
{
    rp_buffer file = {0};

    rp_buffer_u64(&file, length ? length : strlen(header));
    rp_buffer_text(&file, header);
    for (size_t i = 0; i < data; i++)
        rp_buffer_u8(&file, 0);
    must(!file.failed, "memory");
    with_content(out, "weights/final.safetensors", file.data, file.size);
    rp_buffer_free(&file);
}

static void tensors_overlap(FILE *out)
{
    tensors(out, 0,
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F32\",\"shape\":[2],"
            "\"data_offsets\":[4,12]}}",
            12);
}

static void tensors_gap(FILE *out)
{
    tensors(out, 0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8);
}
static void tensors_outside(FILE *out)
{
    tensors(out, 0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", 8);
}

static void tensors_overflow(FILE *out)
{
    tensors(out, 0, "{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4],\"data_offsets\":[0,0]}}", 0);
}

static void tensors_8_eib(FILE *out)
{
    tensors(out, 0,
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[2305843009213693951],\"data_offsets\":[0,9223372036854775804]}}", 0);
}

static void tensors_length(FILE *out)
{
    tensors(out, UINT64_MAX, "{}", 0);
}
static void tensors_large_header(FILE *out)
{
    tensors(out, (uint64_t)48 << 20, "{", (size_t)48 << 20);
}

static void tensors_many_values(FILE *out)
{
    rp_buffer header = {0};

    rp_buffer_text(&header, "{\"a\":[0");
    for (size_t i = 0; i < 4000000; i++)
        rp_buffer_text(&header, ",0");
    rp_buffer_text(&header, "]}");
    rp_buffer_u8(&header, 0);
    tensors(out, 0, (const char *)header.data, 0);
    rp_buffer_free(&header);
}

static void tensors_deep(FILE *out)
{
    rp_buffer header = {0};

    rp_buffer_text(&header, "{\"a\":");
    for (size_t i = 0; i < 100000; i++)
        rp_buffer_u8(&header, '[');
    rp_buffer_u8(&header, 0);
    tensors(out, 0, (const char *)header.data, 0);
    rp_buffer_free(&header);
}

/* ---- sets of tensors in parts ---- */

typedef struct part {
    const char *name, *header;
    size_t data; /* zero bytes */
} part;

/* The honest archive with these members instead of its final weights, or with whole set beside them. */
static void with_parts(FILE *out, bool whole, const part *list, size_t parts)
{
    static const unsigned char zeros[64];
    rp_archive_writer *writer;
    rp_buffer made = {0};
    rp_json *manifest = NULL;
    rp_error err = {0};
    size_t end = place("outputs/predictions.csv") + 1;

    must(rp_json_parse(&manifest, bytes.data + nth(0)->offset, (size_t)nth(0)->size, true, "manifest", &err) == RP_OK &&
             rp_archive_writer_new(&writer, NULL, &err) == RP_OK,
         err.text);
    for (size_t i = 1; i < end; i++)
        if (whole || strcmp(nth(i)->name, "weights/final.safetensors") != 0)
            must(rp_archive_writer_add(writer, nth(i)->name, bytes.data + nth(i)->offset, (size_t)nth(i)->size, &err) ==
                     RP_OK,
                 err.text);
    for (size_t i = 0; i < parts; i++) {
        rp_buffer file = {0};

        rp_buffer_u64(&file, strlen(list[i].header));
        rp_buffer_text(&file, list[i].header);
        rp_buffer_append(&file, zeros, list[i].data);
        must(rp_archive_writer_add(writer, list[i].name, file.data, file.size, &err) == RP_OK, err.text);
        rp_buffer_free(&file);
    }
    must(rp_archive_writer_finish(writer, RP_RUN_RECIPE, rp_json_object_get(manifest, "run"), &err) == RP_OK &&
             rp_archive_writer_append(writer, &made, &err) == RP_OK,
         err.text);
    put(out, made.data, made.size);
    rp_archive_writer_free(writer);
    rp_buffer_free(&made);
    rp_json_free(manifest);
}

#define P(part, parts) "weights/final-0000" #part "-of-0000" #parts ".safetensors"
#define T(name, begin, end) "\"" name "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"
#define PARTS(whole, ...) \
    with_parts(out, whole, (const part[]){__VA_ARGS__}, sizeof((const part[]){__VA_ARGS__}) / sizeof(part))

static void parts_missing(FILE *out)
{
    PARTS(false, {P(1, 3), "{" T("a", 0, 8) "}", 8}, {P(3, 3), "{" T("c", 0, 8) "}", 8});
}
static void parts_first_missing(FILE *out)
{
    PARTS(false, {P(2, 2), "{" T("b", 0, 8) "}", 8});
}
static void parts_of_very_many(FILE *out)
{
    PARTS(false, {"weights/final-00001-of-99999.safetensors", "{" T("a", 0, 8) "}", 8});
}
static void parts_of_two_counts(FILE *out)
{
    PARTS(false, {P(1, 2), "{" T("a", 0, 8) "}", 8}, {P(1, 3), "{" T("a", 0, 8) "}", 8},
          {P(2, 2), "{" T("b", 0, 8) "}", 8});
}
static void parts_and_whole(FILE *out)
{
    PARTS(true, {P(1, 2), "{" T("a", 0, 8) "}", 8}, {P(2, 2), "{" T("b", 0, 8) "}", 8});
}
static void parts_swapped(FILE *out)
{
    PARTS(false, {P(1, 2), "{" T("b", 0, 8) "}", 8}, {P(2, 2), "{" T("a", 0, 8) "}", 8});
}
static void parts_doubled(FILE *out)
{
    PARTS(false, {P(1, 2), "{" T("a", 0, 8) "," T("b", 8, 16) "}", 16}, {P(2, 2), "{" T("b", 0, 8) "}", 8});
}
static void parts_overlap(FILE *out)
{
    PARTS(false, {P(1, 2), "{" T("a", 0, 8) "}", 8}, {P(2, 2), "{" T("b", 0, 8) "," T("c", 4, 12) "}", 12});
}
static void parts_empty(FILE *out)
{
    PARTS(false, {P(1, 2), "{" T("a", 0, 8) "}", 8}, {P(2, 2), "{}", 0});
}

#define R HOSTILE_REFUSED
#define C HOSTILE_CONTENT
#define J "run/journal.bin"
#define W "weights/final.safetensors"
#define E "end of archive"
/* where no member can be named: the first is expected */
#define M "manifest.json"

const hostile_case hostile_cases[] = {
    {"escape", R, "../escaped", false, escape},
    {"escape-inside", R, "outputs/../../escaped", false, escape_inside},
    {"escape-at-end", R, "outputs/..", false, escape_at_end},
    {"absolute", R, "/tmp/rp-hostile-escaped", false, absolute},
    {"dot", R, "outputs/./x", false, dot},
    {"double-slash", R, "outputs//x", false, double_slash},
    {"slash-at-end", R, "outputs/x/", false, slash_at_end},
    {"backslash", R, "outputs", false, backslash},
    {"drive", R, "C:/escaped", false, drive},
    {"empty-name", R, "header byte 0", false, empty_name},
    {"not-utf8", R, "outputs/\?\?\?\?", false, not_utf8},
    {"overlong-dots", R, "outputs/\?\?\?\?/x", false, overlong_dots},
    {"control-name", R, "outputs/?[2Jx", false, control_name},
    {"case-clone", R, "outputs/PREDICTIONS.CSV", false, case_clone},
    {"nul-name", R, J, false, nul_name},
    {"prefix-field", R, J, false, prefix_field},
    {"symbolic-link", R, "outputs/link", false, symbolic_link},
    {"hard-link", R, "outputs/link", false, hard_link},
    {"device", R, "outputs/null", false, device},
    {"block-device", R, "outputs/disk", false, block_device},
    {"directory", R, "outputs/folder", false, directory},
    {"fifo", R, "outputs/fifo", false, fifo},
    {"contiguous", R, "outputs/x", false, contiguous},
    {"old-regular", R, "outputs/x", false, old_regular},
    {"pax", R, "PaxHeader/x", false, pax},
    {"pax-size", R, "PaxHeader/x", false, pax_size},
    {"pax-global", R, "pax_global_header", false, pax_global},
    {"gnu-long-name", R, "././@LongLink", false, gnu_long_name},
    {"gnu-long-link", R, "././@LongLink", false, gnu_long_link},
    {"gnu-sparse", R, "outputs/sparse", false, gnu_sparse},
    {"gnu-multivolume", R, "outputs/x", false, gnu_multivolume},
    {"vendor-type", R, "outputs/x", false, vendor_type},
    {"gnu-magic", R, J, false, gnu_magic},
    {"v7-magic", R, J, false, v7_magic},
    {"setuid", R, J, false, setuid},
    {"owner", R, J, false, owner},
    {"time", R, J, false, time_set},
    {"base-256-8-eib", R, J, false, base_256},
    {"base-256-small", R, J, false, base_256_small},
    {"base-256-negative", R, J, false, base_256_negative},
    {"octal-largest", R, J, false, octal_largest},
    {"octal-no-end", R, J, false, octal_no_end},
    {"octal-sign", R, J, false, octal_sign},
    {"octal-digit", R, J, false, octal_digit},
    {"octal-spaces", R, J, false, octal_spaces},
    {"size-zero", R, J, false, size_zero},
    {"checksum-wrong", R, J, false, checksum_wrong},
    {"checksum-blank", R, J, false, checksum_blank},
    {"checksum-signed", R, J, false, checksum_signed},
    {"padding", R, "run/recipe.json", false, padding},
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
    {"deep-manifest", R, M, false, deep_manifest},
    {"deep-run", R, M, false, deep_run},
    {"many-values", R, M, false, many_values},
    {"many-objects", R, M, false, many_objects},
    {"long-string", R, M, false, long_string},
    {"manifest-too-large", R, M, false, manifest_too_large},
    {"listed-escape", R, "../escaped", false, listed_escape},
    {"listed-absolute", R, "/etc/passwd", false, listed_absolute},
    {"listed-8-eib", R, M, false, listed_8_eib},
    {"listed-over-8-eib", R, M, false, listed_over_8_eib},
    {"listed-2-to-53", R, "run/recipe.json", false, listed_2_to_53},
    {"listed-negative", R, "run/recipe.json", false, listed_negative},
    {"listed-nul", R, M, false, listed_nul},
    {"deep-recipe", C, "run/recipe.json", false, deep_recipe},
    {"wide-recipe", C, "run/recipe.json", false, wide_recipe},
    {"large-recipe", C, "run/recipe.json", false, large_recipe},
    {"recipe-not-utf8", C, "run/recipe.json", false, recipe_not_utf8},
    {"empty-recipe", C, "run/recipe.json", false, empty_recipe},
    {"empty-csv", C, "data/raw.csv", false, empty_csv},
    {"wide-csv", C, "data/raw.csv", false, wide_csv},
    {"quoted-csv", C, "data/raw.csv", false, quoted_csv},
    {"short-journal", C, J, false, short_journal},
    {"empty-journal", C, "journal", false, empty_journal},
    {"journal-of-ff", C, J, false, journal_of_ff},
    {"deep-program", C, "program", false, deep_program},
    {"tensors-overlap", C, W, false, tensors_overlap},
    {"tensors-gap", C, W, false, tensors_gap},
    {"tensors-outside", C, W, false, tensors_outside},
    {"tensors-overflow", C, W, false, tensors_overflow},
    {"tensors-8-eib", C, W, false, tensors_8_eib},
    {"tensors-length", C, W, false, tensors_length},
    {"tensors-large-header", C, W, false, tensors_large_header},
    {"tensors-many-values", C, W, false, tensors_many_values},
    {"tensors-deep", C, W, false, tensors_deep},
    {"parts-missing", R, P(2, 3), false, parts_missing},
    {"parts-first-missing", R, P(1, 2), false, parts_first_missing},
    {"parts-of-very-many", R, "weights/final-00002-of-99999.safetensors", false, parts_of_very_many},
    {"parts-of-two-counts", R, P(2, 2), false, parts_of_two_counts},
    {"parts-and-whole", R, W, false, parts_and_whole},
    {"parts-swapped", C, "weights/final-0000", false, parts_swapped},
    {"parts-doubled", C, "weights/final-0000", false, parts_doubled},
    {"parts-overlap", C, "weights/final-0000", false, parts_overlap},
    {"parts-empty", C, "weights/final-0000", false, parts_empty},
};
const size_t hostile_count = sizeof hostile_cases / sizeof *hostile_cases;
