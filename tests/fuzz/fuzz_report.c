/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: the report of an archive whose hashes are right and whose members are anything. The input is a list of
 * members: a byte that names one, its length (u32), its bytes; 0xFF: the first states, of a run of the API. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/archive/archive.h"
#include "rp/audit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
    "run/recipe.json",  "run/programs/0000.json",    "run/journal.bin",      "data/raw.csv",
    "data/schema.json", "weights/final.safetensors", "outputs/metrics.json", "data/feeds.safetensors",
};
enum { NAMES = sizeof names / sizeof *names };

static void fill(rp_archive_writer *writer, const uint8_t *data, size_t size)
{
    while (size >= 5) {
        size_t length = rp_load_u32(data + 1);
        const char *name = data[0] == 0xFF ? RP_INIT_MEMBER : names[data[0] % NAMES];

        data += 5;
        size -= 5;
        length = length < size ? length : size;
        if (!rp_archive_writer_find(writer, name))
            (void)rp_archive_writer_add(writer, name, data, length, NULL);
        data += length;
        size -= length;
    }
}

/* The page has one script-free head, and ends as it should. */
static void check(const char *html, size_t length)
{
    static const char end[] = "</html>\n";

    if (strlen(html) != length || length < sizeof end || strcmp(html + length - strlen(end), end) != 0)
        abort();
    if (strstr(html, "<script") || strpbrk(html, "\x01\x02\x0B\x1B\x7F"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_archive_writer *writer;
    rp_archive *archive = NULL;
    rp_buffer bytes = {0};
    rp_json *run = rp_json_pack("{s:i, s:i}", "steps", 15, "training_steps", 12);
    char *html;
    size_t length;

    if (rp_archive_writer_new(&writer, NULL, NULL) != RP_OK)
        abort();
    fill(writer, data, size);
    if (rp_archive_writer_finish(writer, size && data[0] & 0x80 ? RP_RUN_API : RP_RUN_RECIPE, run, NULL) != RP_OK ||
        rp_archive_writer_append(writer, &bytes, NULL) != RP_OK ||
        rp_archive_open_memory(&archive, bytes.data, bytes.size, "input", NULL) != RP_OK)
        abort();
    if (rp_report(archive, NULL, NULL, &html, &length, NULL) != RP_OK)
        abort();
    check(html, length);
    rp_text_free(html);
    rp_archive_close(archive);
    rp_buffer_free(&bytes);
    rp_archive_writer_free(writer);
    rp_json_free(run);
    return 0;
}
