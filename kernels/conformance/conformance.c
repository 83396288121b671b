/* SPDX-License-Identifier: Apache-2.0
 * Digests of kernel outputs over a fixed list of specimens, and their comparison with the golden table. */
#include "kernels/conformance/conformance.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "determinism/bits.h"
#include "determinism/fpenv.h"
#include "kernels/conformance/conformance_table.h"
#include "kernels/device.h"
#include "kernels/conformance/specimen_data.h"

enum { OPTIONS = 8 };

static const uint64_t fnv_start = 0xCBF29CE484222325u;

static uint64_t fnv(uint64_t hash, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash;
}

/* Bytes to be added to a digest. */
typedef struct pending {
    uint64_t *hash;
    const unsigned char *bytes;
    size_t size;
} pending;

enum { LANES = 4, GROUP = 32 };

/* A digest waits for each product before it takes the next byte; so four advance in turn, and the next one takes the
 * place of one that has ended. */
static void fnv_all(const pending *job, size_t n)
{
    uint64_t hash[LANES] = {0}, *home[LANES] = {0};
    const unsigned char *at[LANES] = {0};
    size_t left[LANES] = {0}, next = 0;

    for (;;) {
        size_t longest = 0, steps;

        for (size_t l = 0; l < LANES; l++) {
            if (left[l] == 0 && home[l] != NULL) {
                *home[l] = hash[l];
                home[l] = NULL;
            }
            while (left[l] == 0 && next < n) {
                home[l] = job[next].size ? job[next].hash : NULL;
                hash[l] = *job[next].hash;
                at[l] = job[next].bytes;
                left[l] = job[next++].size;
            }
            longest = left[l] > left[longest] ? l : longest;
        }
        if ((steps = left[longest]) == 0)
            return;
        for (size_t l = 0; l < LANES; l++)
            if (left[l] > 0 && left[l] < steps)
                steps = left[l];
        for (size_t l = 0; l < LANES; l++) /* one without work reads along, for nothing */
            at[l] = left[l] > 0 ? at[l] : at[longest];
        for (size_t i = 0; i < steps; i++)
            for (size_t l = 0; l < LANES; l++)
                hash[l] = (hash[l] ^ at[l][i]) * 0x100000001B3u;
        for (size_t l = 0; l < LANES; l++) {
            at[l] += steps;
            left[l] -= left[l] > 0 ? steps : 0;
        }
    }
}

/* The plan of an option and kind of data, which go through shapes and layouts on the way. */
static rp_specimen_plan plan_of(rp_kernel_id id, rp_dtype dtype, int option, int data)
{
    static const size_t shapes[][3] = {{2, 3, 67}, {5, 7, 19}, {1, 2, 1031}};
    const size_t *shape = shapes[(option + data) % 3];

    return (rp_specimen_plan){.kernel = id,
                              .dtype = dtype,
                              .shape = {shape[0], shape[1], shape[2]},
                              .option = option,
                              .layout = (rp_specimen_layout)((option + 2 * data) % RP_LAYOUT_COUNT),
                              .data = (rp_specimen_data)data,
                              .seed = 20260101 + (uint64_t)option};
}

/* The outputs' stored form, one after another. */
typedef struct outputs {
    unsigned char *bytes;
    size_t size, room;
} outputs;

static rp_status run_specimen(const rp_kernel *kernel, const rp_specimen *specimen, outputs *out, rp_error *err)
{
    out->size = 0;
    kernel->run(&specimen->args, 0, kernel->items(&specimen->args));
    for (size_t i = 0; i < specimen->args.n_out; i++) {
        const rp_dtype dtype = specimen->out[i].dtype;
        size_t count, bytes;
        const void *block = rp_specimen_output(specimen, i, &count);

        bytes = count * rp_dtype_size(dtype);
        if (out->room < out->size + bytes) {
            unsigned char *bigger = rp_realloc(out->bytes, 2 * (out->size + bytes));

            if (bigger == NULL)
                return rp_no_memory(err);
            out->bytes = bigger;
            out->room = 2 * (out->size + bytes);
        }
        rp_to_stored(out->bytes + out->size, block, dtype, count);
        out->size += bytes;
    }
    return RP_OK;
}

rp_status rp_conformance_digest(const rp_kernel *kernel, rp_kernel_id id, rp_dtype dtype, uint64_t *digest,
                                rp_error *err)
{
    outputs out = {0};
    uint64_t hash = fnv_start;
    rp_status status = RP_OK;

    for (int option = 0; option < OPTIONS && status == RP_OK; option++)
        for (int data = 0; data < RP_DATA_COUNT && status == RP_OK; data++) {
            const rp_specimen_plan plan = plan_of(id, dtype, option, data);
            rp_specimen specimen;

            status = rp_specimen_make(&specimen, &plan, err);
            if (status != RP_OK)
                break;
            status = run_specimen(kernel, &specimen, &out, err);
            hash = fnv(hash, out.bytes, out.size);
            rp_specimen_free(&specimen);
        }
    rp_free(out.bytes);
    *digest = hash;
    return status;
}

/* ---- several levels ---- */

enum { VECTORS = sizeof conformance_table / sizeof conformance_table[0] };

size_t rp_conformance_vectors(void)
{
    return VECTORS;
}

int rp_conformance_rounds(void)
{
    return OPTIONS * RP_DATA_COUNT;
}

rp_specimen_plan rp_conformance_plan(size_t vector, int round)
{
    return plan_of(conformance_table[vector].kernel, conformance_table[vector].dtype, round / RP_DATA_COUNT,
                   round % RP_DATA_COUNT);
}

/* Digests so far of one vector. A level whose outputs were all equal to the first level's has the first's digest. */
typedef struct vector {
    uint64_t hash[RP_CONFORMANCE_LEVELS];
    bool own[RP_CONFORMANCE_LEVELS];
} vector;

typedef struct survey {
    const rp_kernel_table *table[RP_CONFORMANCE_LEVELS];
    size_t levels;
    unsigned parts;
    vector vector[VECTORS];
    atomic_int failed; /* an rp_status */
} survey;

/* One specimen of a vector on every level; the first level's outputs are left to be hashed. */
static rp_status survey_specimen(const survey *s, vector *v, const rp_specimen_plan *plan, outputs *first,
                                 outputs *other)
{
    rp_specimen specimen;
    rp_status status = rp_specimen_make(&specimen, plan, NULL);

    if (status != RP_OK)
        return status;
    for (size_t l = 0; l < s->levels && status == RP_OK; l++) {
        outputs *out = l == 0 ? first : other;

        if (l > 0)
            rp_specimen_reset(&specimen);
        status = run_specimen(s->table[l]->kernel[plan->kernel], &specimen, out, NULL);
        if (status != RP_OK || l == 0)
            continue;
        if (!v->own[l]) {
            if (out->size == first->size && (out->size == 0 || memcmp(out->bytes, first->bytes, out->size) == 0))
                continue;
            v->own[l] = true;
            v->hash[l] = v->hash[0]; /* this specimen is not in it yet */
        }
        v->hash[l] = fnv(v->hash[l], out->bytes, out->size);
    }
    rp_specimen_free(&specimen);
    return status;
}

/* What a thread works with, kept from specimen to specimen. */
typedef struct bench {
    rp_specimen_cache values;
    rp_specimen_memory memory;
    outputs first[GROUP], other;
} bench;

/* Some vectors of a round, from the i-th on; the place behind the last. */
static size_t survey_group(survey *s, int round, size_t i, bench *b)
{
    pending job[GROUP];
    size_t n = 0;

    for (; i < VECTORS && n < GROUP && atomic_load(&s->failed) == RP_OK; i += s->parts, n++) {
        rp_specimen_plan plan = rp_conformance_plan(i, round);
        rp_status status;

        plan.cache = &b->values;
        plan.memory = &b->memory;
        status = survey_specimen(s, &s->vector[i], &plan, &b->first[n], &b->other);
        if (status != RP_OK)
            atomic_store(&s->failed, status);
        job[n] = (pending){&s->vector[i].hash[0], b->first[n].bytes, b->first[n].size};
    }
    fnv_all(job, n);
    return i;
}

/* Every parts-th vector from each of the parts: neighbours in the table cost alike. Options and data are the outer
 * loops, so that kernels find their inputs in the cache. */
static void survey_part(void *arg, size_t begin, size_t end)
{
    survey *s = arg;
    bench b = {0};

    for (int round = 0; round < OPTIONS * RP_DATA_COUNT; round++)
        for (size_t part = begin; part < end; part++)
            for (size_t i = part; i < VECTORS && atomic_load(&s->failed) == RP_OK;)
                i = survey_group(s, round, i, &b);
    for (size_t i = 0; i < GROUP; i++)
        rp_free(b.first[i].bytes);
    rp_free(b.other.bytes);
    rp_specimen_memory_free(&b.memory);
    rp_specimen_cache_free(&b.values);
}

static void judge(const survey *s, size_t level, rp_conformance *result)
{
    result->status = RP_OK;
    result->checked = 0;
    for (size_t i = 0; i < VECTORS; i++) {
        const rp_kernel_id id = conformance_table[i].kernel;
        const uint64_t found = s->vector[i].hash[s->vector[i].own[level] ? level : 0];

        if (found != conformance_table[i].digest) {
            result->status =
                rp_fail(&result->error, RP_EBITS,
                        "kernel %s %s, level %s: expected digest %016llx, found %016llx: this build does not "
                        "keep the numeric contract on this host",
                        rp_kernel_name(id), rp_dtype_name(conformance_table[i].dtype), s->table[level]->level,
                        (unsigned long long)conformance_table[i].digest, (unsigned long long)found);
            return;
        }
        result->checked++;
    }
}

rp_status rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err)
{
    survey *s = rp_calloc(1, sizeof *s);
    size_t place[RP_CONFORMANCE_LEVELS];
    rp_pool *pool = NULL;
    rp_status status;

    if (s == NULL)
        return rp_no_memory(err);
    if (n > RP_CONFORMANCE_LEVELS) {
        rp_free(s);
        return rp_fail(err, RP_EARG, "at most %d levels together", RP_CONFORMANCE_LEVELS);
    }
    for (size_t i = 0; i < n; i++) { /* a level that this host cannot run is its own error */
        result[i].checked = 0;
        result[i].status = rp_kernel_table_get(&s->table[s->levels], result[i].level, &result[i].error);
        if (result[i].status == RP_OK)
            place[s->levels++] = i;
    }
    for (size_t i = 0; i < VECTORS; i++) {
        s->vector[i].hash[0] = fnv_start;
        s->vector[i].own[0] = true;
    }
    /* Without workers the caller does it all. */
    if (threads > 1)
        (void)rp_pool_new(&pool, threads, rp_fpenv_worker, NULL);
    s->parts = rp_pool_threads(pool);
    if (s->levels > 0)
        rp_pool_run(pool, s->parts, 1, survey_part, s);
    rp_pool_free(pool);
    status = (rp_status)atomic_load(&s->failed);
    for (size_t l = 0; l < s->levels && status == RP_OK; l++)
        judge(s, l, &result[place[l]]);
    rp_free(s);
    return status == RP_OK ? RP_OK : rp_no_memory(err);
}

rp_status rp_conformance_run(const char *level, size_t *checked, rp_error *err)
{
    rp_conformance result = {.level = level};
    rp_status status = rp_conformance_run_many(&result, 1, 1, err);

    if (checked != NULL)
        *checked = status == RP_OK ? result.checked : 0;
    if (status == RP_OK && result.status != RP_OK && err != NULL)
        *err = result.error;
    return status == RP_OK ? result.status : status;
}
