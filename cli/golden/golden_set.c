/* SPDX-License-Identifier: Apache-2.0
 * Listing a folder of goldens, computing and reading them. */
#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "cli/golden/golden.h"
#include "cli/progress.h"

enum { INDEX_LIMIT = 16 << 20, PATH_ROOM = 1024 };
static const size_t archive_limit = (size_t)4 << 30;

char *rp_golden_path(const rp_golden_set *set, const char *file)
{
    size_t a = strlen(set->folder), b = strlen(file);
    char *path = rp_malloc(a + b + 2);

    if (path) {
        memcpy(path, set->folder, a);
        path[a] = '/';
        memcpy(path + a + 1, file, b + 1);
    }
    return path;
}

static rp_golden *find_or_add(rp_golden_set *set, const char *name, size_t length)
{
    rp_golden *grown;

    for (size_t i = 0; i < set->count; i++)
        if (strlen(set->golden[i].name) == length && memcmp(set->golden[i].name, name, length) == 0)
            return &set->golden[i];
    grown = rp_reallocarray(set->golden, set->count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    set->golden = grown;
    grown[set->count] = (rp_golden){.name = rp_strndup(name, length), .archive = rp_malloc(length + sizeof ".reprise")};
    if (!grown[set->count].name || !grown[set->count].archive) {
        rp_free(grown[set->count].name);
        rp_free(grown[set->count].archive);
        return NULL;
    }
    memcpy(grown[set->count].archive, name, length);
    memcpy(grown[set->count].archive + length, ".reprise", sizeof ".reprise");
    return &grown[set->count++];
}

static bool has_suffix(const char *name, const char *suffix, size_t *stem)
{
    size_t n = strlen(name), m = strlen(suffix);

    *stem = n > m ? n - m : 0;
    return n > m && name[0] != '.' && strcmp(name + n - m, suffix) == 0;
}

static rp_status note_file(rp_golden_set *set, const char *name, rp_error *err)
{
    size_t stem;
    bool recipe = has_suffix(name, ".yaml", &stem);
    rp_golden *golden;

    if (!recipe && !has_suffix(name, ".reprise", &stem))
        return RP_OK;
    golden = find_or_add(set, name, stem);
    if (!golden)
        return rp_no_memory(err);
    if (recipe) {
        golden->recipe = rp_strdup(name);
        return golden->recipe ? RP_OK : rp_no_memory(err);
    }
    golden->on_disk = true;
    return RP_OK;
}

static rp_status list_folder(rp_golden_set *set, rp_error *err)
{
    DIR *folder = opendir(set->folder);
    struct dirent *entry;
    rp_status status = RP_OK;

    if (!folder)
        return rp_fail(err, RP_EIO, "%s: cannot open as a folder: %s", set->folder, strerror(errno));
    while (status == RP_OK && (entry = readdir(folder)) != NULL)
        status = note_file(set, entry->d_name, err);
    (void)closedir(folder);
    return status;
}

/* {"goldens": [{"archive": "x.reprise", ...}], "reprise_golden": 1} */
static rp_status note_rows(rp_golden_set *set, const char *path, rp_error *err)
{
    const rp_json *rows = rp_json_object_get(set->index, "goldens");
    size_t i;
    rp_json *row;

    if (rp_json_integer_value(rp_json_object_get(set->index, "reprise_golden")) != 1 || !rp_json_is_array(rows))
        return rp_fail(err, RP_EFORMAT, "%s: expected {\"goldens\": [...], \"reprise_golden\": 1}", path);
    rp_json_array_foreach ((rp_json *)rows, i, row) {
        const char *archive = rp_json_string_value(rp_json_object_get(row, "archive"));
        rp_golden *golden;
        size_t stem;

        if (!archive || strchr(archive, '/') || !has_suffix(archive, ".reprise", &stem) ||
            !rp_json_is_string(rp_json_object_get(row, "archive_id")) ||
            !rp_json_is_string(rp_json_object_get(row, "sha256")))
            return rp_fail(err, RP_EFORMAT, "%s: row %zu: expected archive (NAME.reprise), archive_id and sha256", path,
                           i);
        golden = find_or_add(set, archive, stem);
        if (!golden)
            return rp_no_memory(err);
        if (golden->entry)
            return rp_fail(err, RP_EFORMAT, "%s: row %zu: %s is listed twice", path, i, archive);
        golden->entry = row;
    }
    return RP_OK;
}

static rp_status load_index(rp_golden_set *set, rp_error *err)
{
    char *path = rp_golden_path(set, "golden.json");
    rp_buffer text = {0};
    rp_status status = RP_OK;

    if (!path)
        return rp_no_memory(err);
    if (rp_file_exists(path)) {
        status = rp_file_read(path, INDEX_LIMIT, &text, err);
        if (status == RP_OK)
            status = rp_json_parse(&set->index, text.data, text.size, false, path, err);
        if (status == RP_OK)
            status = note_rows(set, path, err);
    }
    rp_buffer_free(&text);
    rp_free(path);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rp_golden *)a)->name, ((const rp_golden *)b)->name);
}

rp_status rp_golden_set_load(rp_golden_set *set, const char *folder, rp_error *err)
{
    rp_status status;

    *set = (rp_golden_set){.folder = folder};
    status = list_folder(set, err);
    if (status == RP_OK)
        status = load_index(set, err);
    if (status == RP_OK && set->count)
        qsort(set->golden, set->count, sizeof *set->golden, by_name);
    if (status != RP_OK)
        rp_golden_set_free(set);
    return status;
}

void rp_golden_set_free(rp_golden_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        rp_free(set->golden[i].name);
        rp_free(set->golden[i].recipe);
        rp_free(set->golden[i].archive);
        rp_json_free(set->golden[i].diff);
    }
    rp_free(set->golden);
    rp_json_free(set->index);
    *set = (rp_golden_set){0};
}

rp_status rp_golden_sha256(char out[RP_DIGEST_HEX], const rp_buffer *bytes, rp_error *err)
{
    unsigned char digest[RP_DIGEST_SIZE];

    if (EVP_Digest(bytes->data, bytes->size, digest, NULL, EVP_sha256(), NULL) != 1)
        return rp_no_memory(err);
    rp_hex(out, digest, sizeof digest);
    return RP_OK;
}

rp_status rp_golden_read(const rp_golden_set *set, const rp_golden *golden, rp_buffer *out, rp_error *err)
{
    char *path = rp_golden_path(set, golden->archive);
    rp_status status = path ? rp_file_read(path, archive_limit, out, err) : rp_no_memory(err);

    rp_free(path);
    return status;
}

static rp_status train(const rp_golden_set *set, const rp_golden *golden, const char *scratch,
                       const rp_job_options *options, rp_error *err)
{
    char *recipe = rp_golden_path(set, golden->recipe);
    rp_job_options with_meter = *options;
    rp_job *job = NULL;
    rp_meter meter;
    rp_status status;

    if (!recipe)
        return rp_no_memory(err);
    with_meter.progress = rp_meter_update;
    with_meter.self = &meter;
    rp_meter_begin(&meter, golden->name);
    status = rp_train_recipe(recipe, scratch, NULL, false, &with_meter, &job, err);
    rp_meter_end(&meter);
    rp_job_free(job);
    rp_free(recipe);
    return status;
}

rp_status rp_golden_replay(const rp_golden *golden, const rp_archive *archive, const rp_job_options *options,
                           rp_error *err)
{
    rp_job_options with_meter = *options;
    rp_job *job = NULL;
    rp_meter meter;
    rp_status status;

    with_meter.progress = rp_meter_update;
    with_meter.self = &meter;
    rp_meter_begin(&meter, golden->name);
    status = rp_replay(archive, &with_meter, &job, err);
    rp_meter_end(&meter);
    rp_job_free(job);
    return status == RP_OK ? RP_OK : rp_fail_at(err, status, "%s: replay", golden->archive);
}

rp_status rp_golden_compute(const rp_golden_set *set, const rp_golden *golden, const rp_job_options *options,
                            rp_buffer *out, rp_error *err)
{
    static char folder[PATH_ROOM], scratch[PATH_ROOM + 16]; /* static: the signal handler reads them */
    const char *base = getenv("TMPDIR");
    rp_status status;

    if (snprintf(folder, sizeof folder, "%s/reprise-golden-XXXXXX", base && *base ? base : "/tmp") >=
        (int)sizeof folder)
        return rp_fail(err, RP_EIO, "TMPDIR: longer than %d bytes", PATH_ROOM);
    if (!mkdtemp(folder))
        return rp_fail(err, RP_EIO, "%s: cannot make a scratch folder: %s", folder, strerror(errno));
    (void)snprintf(scratch, sizeof scratch, "%s/archive", folder);
    rp_signals_scratch(scratch, folder);
    status = train(set, golden, scratch, options, err);
    if (status == RP_OK)
        status = rp_file_read(scratch, archive_limit, out, err);
    (void)unlink(scratch);
    (void)rmdir(folder);
    rp_signals_scratch(NULL, NULL);
    return status;
}
