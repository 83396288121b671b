/* SPDX-License-Identifier: Apache-2.0
 * Hostile archives, headers: names, kinds of entry, sizes and checksums, each field with what it may not hold. */
#include <string.h>

#include "tests/cli/hostile_make.h"

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
    put(out, honest_bytes.data, where);
    put(out, "x", 1);
    put(out, honest_bytes.data + where + 1, honest_bytes.size - where - 1);
}

#define R HOSTILE_REFUSED
#define J "run/journal.bin"

static const hostile_case cases[] = {
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
};
const hostile_group hostile_headers = {cases, sizeof cases / sizeof *cases};
