/* SPDX-License-Identifier: Apache-2.0
 * What it takes to load and prepare a table: seconds of reading the file, of the whole preparation, and of its first
 * part, the columns; and the most memory that preparation held. Usage: tables RECIPE.yaml [THREADS]; the table is read
 * with a recipe's keys. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "audit/drive/kept_text.h"
#include "base/file.h"
#include "base/memory.h"
#include "core/data/dataset.h"
#include "determinism/fpenv.h"

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double used(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double peak_mib(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static void stop(const rp_error *err)
{
    fprintf(stderr, "tables: %s\n", err->text);
    exit(1);
}

static void load_columns(const rp_kept_text *csv, const rp_recipe *recipe, rp_pool *pool)
{
    rp_table *table;
    rp_store *store;
    rp_error err = {0};
    double begin = now();

    if (rp_table_open(&table, csv->text.bytes, csv->text.size, recipe, "table", &err) != RP_OK)
        stop(&err);
    store = rp_calloc(table->cols, sizeof *store);
    for (size_t i = 0; store != NULL && i < table->cols; i++)
        store[i] = RP_STORE_AUTO;
    if (store == NULL ||
        rp_table_load(table, store, recipe,
                      &(rp_table_options){.pool = pool, .leave = csv->text.leave, .self = csv->text.self},
                      &err) != RP_OK)
        stop(&err);
    printf("columns %.3f s, %zu rows of %zu\n", now() - begin, table->rows, table->cols);
    rp_free(store);
    rp_table_free(table);
}

int main(int argc, char **argv)
{
    rp_buffer yaml = {0};
    rp_kept_text csv = {.where = NULL};
    rp_recipe *recipe = NULL;
    rp_dataset *dataset = NULL;
    rp_pool *pool = NULL;
    rp_error err = {0};
    char *path;
    double start = now(), begin = start;

    rp_memory_return_blocks(); /* as the command does */
    if (argc < 2) {
        fprintf(stderr, "usage: tables RECIPE.yaml [THREADS]\n");
        return 2;
    }
    if (rp_file_read(argv[1], 1 << 20, &yaml, &err) != RP_OK ||
        rp_recipe_from_yaml(&recipe, (const char *)yaml.data, yaml.size, argv[1], &err) != RP_OK ||
        rp_pool_new(&pool, argc > 2 ? (unsigned)atoi(argv[2]) : 2, rp_fpenv_worker, &err) != RP_OK)
        stop(&err);
    path = rp_path_beside(argv[1], recipe->data.csv);
    if (path == NULL || rp_kept_text_read(&csv, "data/raw.csv", path, NULL, argv[1], NULL, &err) != RP_OK)
        stop(&err);
    printf("file    %.3f s, %.1f MiB\n", now() - begin, (double)csv.text.size / (1 << 20));
    begin = now();
    if (rp_dataset_prepare(&dataset, recipe, csv.text.bytes, csv.text.size, path,
                           &(rp_table_options){.pool = pool, .leave = csv.text.leave, .self = csv.text.self},
                           &err) != RP_OK)
        stop(&err);
    printf("prepare %.3f s, %zu features\n", now() - begin, dataset->schema->features);
    printf("seconds %.3f %.3f %.1f\n", now() - start, used(), peak_mib()); /* wall, processor, MiB: for scripts */
    printf("memory  %.1f MiB at most, %.2f of the file\n", peak_mib(), peak_mib() * (1 << 20) / (double)csv.text.size);
    load_columns(&csv, recipe, pool);
    rp_dataset_free(dataset);
    rp_pool_free(pool);
    rp_recipe_free(recipe);
    rp_buffer_free(&yaml);
    rp_kept_text_clear(&csv);
    rp_free(path);
    return 0;
}
