/* SPDX-License-Identifier: Apache-2.0
 * Digests of kernel outputs over a fixed list of specimens, and their comparison with the golden table. */
#include "kernels/conformance.h"

#include "base/memory.h"
#include "determinism/bits.h"
#include "kernels/conformance_table.h"
#include "kernels/device.h"
#include "kernels/specimen.h"

enum { OPTIONS = 8 };

static const uint64_t fnv_start = 0xCBF29CE484222325u;

static uint64_t fnv(uint64_t hash, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash;
}

static rp_status digest_outputs(const rp_specimen *specimen, uint64_t *hash, rp_error *err)
{
    for (size_t i = 0; i < specimen->args.n_out; i++) {
        const rp_dtype dtype = specimen->out[i].dtype;
        size_t count;
        const void *block = rp_specimen_output(specimen, i, &count);
        unsigned char *stored = rp_malloc(count * rp_dtype_size(dtype));

        if (stored == NULL)
            return rp_no_memory(err);
        rp_to_stored(stored, block, dtype, count);
        *hash = fnv(*hash, stored, count * rp_dtype_size(dtype));
        rp_free(stored);
    }
    return RP_OK;
}

static rp_status digest_plan(const rp_kernel *kernel, const rp_specimen_plan *plan, uint64_t *hash, rp_error *err)
{
    rp_specimen specimen;
    rp_status status = rp_specimen_make(&specimen, plan, err);

    if (status != RP_OK)
        return status;
    kernel->run(&specimen.args, 0, kernel->items(&specimen.args));
    status = digest_outputs(&specimen, hash, err);
    rp_specimen_free(&specimen);
    return status;
}

rp_status rp_conformance_digest(const rp_kernel *kernel, rp_kernel_id id, rp_dtype dtype, uint64_t *digest,
                                rp_error *err)
{
    static const size_t shapes[][3] = {{2, 3, 67}, {5, 7, 19}, {1, 2, 1031}};
    uint64_t hash = fnv_start;

    for (int option = 0; option < OPTIONS; option++)
        for (int data = 0; data < RP_DATA_COUNT; data++) {
            const size_t *shape = shapes[(option + data) % 3];
            const rp_specimen_plan plan = {.kernel = id,
                                           .dtype = dtype,
                                           .shape = {shape[0], shape[1], shape[2]},
                                           .option = option,
                                           .layout = (rp_specimen_layout)((option + 2 * data) % RP_LAYOUT_COUNT),
                                           .data = (rp_specimen_data)data,
                                           .seed = 20260101 + (uint64_t)option};
            rp_status status = digest_plan(kernel, &plan, &hash, err);

            if (status != RP_OK)
                return status;
        }
    *digest = hash;
    return RP_OK;
}

rp_status rp_conformance_run(const char *level, size_t *checked, rp_error *err)
{
    const rp_kernel_table *table;
    rp_status status = rp_kernel_table_get(&table, level, err);
    size_t n = 0;

    for (size_t i = 0; i < sizeof conformance_table / sizeof conformance_table[0] && status == RP_OK; i++) {
        const rp_kernel_id id = conformance_table[i].kernel;
        uint64_t found;

        status = rp_conformance_digest(table->kernel[id], id, conformance_table[i].dtype, &found, err);
        if (status == RP_OK && found != conformance_table[i].digest)
            status = rp_fail(err, RP_EBITS,
                             "kernel %s %s, level %s: expected digest %016llx, found %016llx: this build does not keep "
                             "the numeric contract on this host",
                             rp_kernel_name(id), rp_dtype_name(conformance_table[i].dtype), table->level,
                             (unsigned long long)conformance_table[i].digest, (unsigned long long)found);
        n += status == RP_OK;
    }
    if (checked != NULL)
        *checked = n;
    return status;
}
