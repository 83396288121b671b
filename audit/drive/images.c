/* SPDX-License-Identifier: Apache-2.0
 * The table of a recipe on images: the files that a list names, decoded one after the other by whoever the job's
 * options name. One is in memory at a time; what is left of all of them is the table, and digests of their bytes. */
#include <stdio.h>
#include <string.h>

#include "audit/drive/arrays.h"
#include "base/memory.h"
#include "base/text.h"
#include "core/data/arrays/arrays.h"
#include "core/data/text/csv.h"

enum { FILE_LIMIT = 4 << 20, LIST_LIMIT = 256 << 20 };

typedef struct images {
    const rp_job_options *options;
    const char *list; /* path of the labels */
    char *folder;
    rp_csv csv;
    bool labelled;
    rp_array shape; /* of every image, once the first is known */
    char *first;    /* the first one's path */
    size_t count;
    rp_buffer digests; /* of the files, one after the other */
    char *cell[2];     /* [RP_CELL_MAX + 1] each: file and label of the image at hand */
    char *path;        /* its path */
    rp_array_writer *writer;
    rp_file_taker take;
    void *taker;
    rp_error *err;
} images;

static rp_status read_cells(images *m, bool header)
{
    rp_status status = rp_csv_row(&m->csv);

    if (status != RP_OK)
        return status;
    if (m->csv.cells > 2 || (!header && m->csv.cells != (m->labelled ? 2 : 1)))
        return rp_fail(m->err, RP_EDATA, "%s:%zu: expected the columns file and label, found %zu cells", m->list,
                       rp_csv_line(&m->csv, m->csv.at - 1), m->csv.cells);
    for (size_t i = 0; i < m->csv.cells; i++)
        (void)rp_text_copy(m->cell[i], &m->csv.cell[i]);
    return RP_OK;
}

/* file, and label where outcomes are known. */
static rp_status read_header(images *m)
{
    rp_status status = rp_csv_more(&m->csv) ? read_cells(m, true) : RP_OK;

    m->labelled = status == RP_OK && m->csv.cells == 2;
    if (status == RP_OK &&
        (m->csv.cells == 0 || strcmp(m->cell[0], "file") != 0 || (m->labelled && strcmp(m->cell[1], "label") != 0)))
        status = rp_fail(m->err, RP_EDATA, "%s:1: expected a header of the columns file and label", m->list);
    return status;
}

/* Names are of files in the folder: a list that somebody else made reads nothing but these. */
static rp_status check_name(const images *m, const char *name)
{
    char shown[64];
    const size_t n = strlen(name);
    const bool above = strncmp(name, "../", 3) == 0 || strstr(name, "/../") != NULL ||
                       (n >= 2 && strcmp(name + n - 2, "..") == 0 && (n == 2 || name[n - 3] == '/'));

    if (n > 0 && name[0] != '/' && !above)
        return RP_OK;
    return rp_fail(m->err, RP_EDATA, "%s:%zu: expected the name of a file in the folder of data.images, found \"%s\"",
                   m->list, rp_csv_line(&m->csv, m->csv.at - 1), rp_printable(shown, sizeof shown, name, n));
}

/* The first image says what all are like. */
static rp_status begin(images *m, const rp_array *image)
{
    m->shape = *image;
    m->first = rp_strdup(m->path);
    if (!m->first)
        return rp_no_memory(m->err);
    rp_array_begin(m->writer, image, m->labelled, m->take, m->taker, m->err);
    return m->writer->status;
}

static rp_status take_pixels(void *self, size_t height, size_t width, size_t channels, const unsigned char *pixels,
                             rp_error *err)
{
    images *m = self;
    rp_array image = {.type = RP_ARRAY_U8, .rank = 4, .shape = {1, height, width, channels}, .data = pixels};
    rp_status status = RP_OK;

    (void)snprintf(image.where, sizeof image.where, "%s", m->path);
    if (!m->first)
        status = begin(m, &image);
    if (status == RP_OK && memcmp(image.shape, m->shape.shape, sizeof image.shape) != 0)
        status = rp_fail(err, RP_EDATA,
                         "%s: %zu x %zu with %zu channels, but %s is %zu x %zu with %zu: images of one recipe have one "
                         "size; scale or crop them first",
                         m->path, height, width, channels, m->first, m->shape.shape[1], m->shape.shape[2],
                         m->shape.shape[3]);
    if (status != RP_OK)
        return status;
    rp_array_put(m->writer, &image, m->labelled ? m->cell[1] : NULL);
    m->count++;
    return m->writer->status;
}

static rp_status read_image(images *m)
{
    rp_buffer bytes = {0};
    rp_digest digest;
    const size_t before = m->count;
    rp_status status = check_name(m, m->cell[0]);

    rp_free(m->path);
    m->path = status == RP_OK ? rp_path_in(m->folder, m->cell[0]) : NULL;
    if (status == RP_OK && !m->path)
        status = rp_no_memory(m->err);
    if (status == RP_OK)
        status = rp_file_read(m->path, FILE_LIMIT, &bytes, m->err);
    if (status == RP_OK)
        status = rp_sha256(&digest, bytes.data, bytes.size, m->err);
    if (status == RP_OK) {
        rp_buffer_append(&m->digests, digest.bytes, sizeof digest.bytes);
        status = m->options->decode_image(bytes.data, bytes.size, m->path, take_pixels, m, m->err);
    }
    if (status == RP_OK && m->count == before)
        status = rp_fail(m->err, RP_EARG, "%s: its decoder gave no pixels", m->path);
    rp_buffer_free(&bytes);
    return status;
}

static rp_status read_all(images *m)
{
    rp_status status = read_header(m);

    while (status == RP_OK && rp_csv_more(&m->csv)) {
        status = read_cells(m, false);
        if (status == RP_OK)
            status = read_image(m);
    }
    if (status == RP_OK && m->count == 0)
        status = rp_fail(m->err, RP_EDATA, "%s: names no image", m->list);
    if (status == RP_OK)
        status = rp_array_end(m->writer);
    return status == RP_OK ? rp_buffer_status(&m->digests, m->err) : status;
}

static rp_status say_origin(const images *m, const rp_buffer *list, rp_recipe *recipe, const char *recipe_path)
{
    const bool withheld = m->options && m->options->withhold; /* no digest stays, as of arrays */
    char hex[2][RP_DIGEST_HEX];
    rp_digest digest;
    rp_json *origin;
    rp_status status = rp_sha256(&digest, list->data, list->size, m->err);

    if (status == RP_OK) {
        rp_digest_hex(hex[0], &digest);
        status = rp_sha256(&digest, m->digests.data, m->digests.size, m->err);
    }
    if (status != RP_OK)
        return status;
    rp_digest_hex(hex[1], &digest);
    origin = rp_json_pack("{s:I, s:I, s:I, s:s?, s:s?, s:I}", "channels", (int64_t)m->shape.shape[3], "count",
                          (int64_t)m->count, "height", (int64_t)m->shape.shape[1], "labels", withheld ? NULL : hex[0],
                          "sha256", withheld ? NULL : hex[1], "width", (int64_t)m->shape.shape[2]);
    status = origin ? rp_recipe_set_images(recipe, origin, recipe_path, m->err) : rp_no_memory(m->err);
    rp_json_free(origin);
    return status;
}

static rp_status open_list(images *m, rp_buffer *list, const rp_recipe *recipe, const char *recipe_path)
{
    static const rp_recipe commas = {.data = {.delimiter = ','}};
    rp_status status = rp_table_stream(m->options, m->list, rp_buffer_take, list, m->err);
    size_t bad;

    if (status == RP_OK && list->size > LIST_LIMIT)
        status = rp_fail(m->err, RP_EDATA, "%s: larger than %d bytes", m->list, (int)LIST_LIMIT);
    m->folder = rp_path_beside(recipe_path, recipe->images.path);
    m->writer = rp_malloc(sizeof *m->writer);
    for (int i = 0; i < 2; i++)
        m->cell[i] = rp_malloc(RP_CELL_MAX + 1);
    if (status == RP_OK && (!m->folder || !m->writer || !m->cell[0] || !m->cell[1]))
        status = rp_no_memory(m->err);
    if (status == RP_OK)
        status = rp_csv_open(&m->csv, list->size ? (const void *)list->data : "", list->size, &commas, m->list, m->err);
    if (status == RP_OK && (bad = rp_csv_bad_text(&m->csv, m->csv.at, m->csv.end)) < m->csv.end)
        status = rp_csv_fail_text(&m->csv, bad);
    return status;
}

rp_status rp_images_stream(rp_recipe *recipe, const char *recipe_path, const char *labels,
                           const rp_job_options *options, rp_file_taker take, void *self, rp_error *err)
{
    images m = {.options = options, .list = labels, .take = take, .taker = self, .err = err};
    rp_buffer list = {0};
    rp_status status;

    if (!options || !options->decode_image)
        return rp_fail(err, RP_EUNSUPPORTED,
                       "%s: key data.images: nothing here decodes images (decode_image of the job's options)",
                       recipe_path);
    status = open_list(&m, &list, recipe, recipe_path);
    if (status == RP_OK)
        status = read_all(&m);
    if (status == RP_OK)
        status = say_origin(&m, &list, recipe, recipe_path);
    rp_csv_close(&m.csv);
    rp_buffer_free(&list);
    rp_buffer_free(&m.digests);
    for (int i = 0; i < 2; i++)
        rp_free(m.cell[i]);
    rp_free(m.writer);
    rp_free(m.first);
    rp_free(m.path);
    rp_free(m.folder);
    return status;
}
