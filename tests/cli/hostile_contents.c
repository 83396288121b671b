/* SPDX-License-Identifier: Apache-2.0
 * Hostile archives, contents: recipes, tables, journals, programs, tensors and sets of them in parts. Every hash is
 * right, since a reader may not rely on nobody having signed nonsense. */
#include <stdint.h>
#include <string.h>

#include "tests/cli/hostile_make.h"

/* ---- content: all hashes are right ---- */

/* The honest archive's members, one of them with other bytes, unsigned. */
static void with_content(FILE *out, const char *name, const void *data, size_t size)
{
    rp_archive_writer *writer;
    rp_buffer made = {0};
    rp_json *run = NULL, *manifest = NULL;
    rp_error err = {0};
    size_t end = listed_end();

    must(rp_json_parse(&manifest, honest_bytes.data + nth(0)->offset, (size_t)nth(0)->size, true, "manifest", &err) ==
                 RP_OK &&
             rp_archive_writer_new(&writer, NULL, &err) == RP_OK,
         err.text);
    run = rp_json_object_get(manifest, "run");
    for (size_t i = 1; i < end; i++) {
        bool other = strcmp(nth(i)->name, name) == 0;

        must(rp_archive_writer_add(writer, nth(i)->name, other ? data : honest_bytes.data + nth(i)->offset,
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
    content_repeated(out, "run/recipe.json", "[0", ",0", 10000000, "]");
}
static void long_recipe(FILE *out)
{
    static char unit[1024 + 1];

    memset(unit, 'x', sizeof unit - 1);
    content_repeated(out, "run/recipe.json", "{\"name\":\"", unit, 63 << 10, "\"}");
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
    size_t end = listed_end();

    must(rp_json_parse(&manifest, honest_bytes.data + nth(0)->offset, (size_t)nth(0)->size, true, "manifest", &err) ==
                 RP_OK &&
             rp_archive_writer_new(&writer, NULL, &err) == RP_OK,
         err.text);
    for (size_t i = 1; i < end; i++)
        if (whole || strcmp(nth(i)->name, "weights/final.safetensors") != 0)
            must(rp_archive_writer_add(writer, nth(i)->name, honest_bytes.data + nth(i)->offset, (size_t)nth(i)->size,
                                       &err) == RP_OK,
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

static const hostile_case cases[] = {
    {"deep-recipe", HOSTILE_RECIPE, "run/recipe.json", false, deep_recipe},
    {"wide-recipe", HOSTILE_RECIPE, "run/recipe.json", false, wide_recipe},
    {"large-recipe", HOSTILE_REFUSED, "run/recipe.json", false, large_recipe},
    {"long-recipe", HOSTILE_REFUSED, "run/recipe.json", false, long_recipe},
    {"recipe-not-utf8", HOSTILE_RECIPE, "run/recipe.json", false, recipe_not_utf8},
    {"empty-recipe", HOSTILE_RECIPE, "run/recipe.json", false, empty_recipe},
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
const hostile_group hostile_contents = {cases, sizeof cases / sizeof *cases};
