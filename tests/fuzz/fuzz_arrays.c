/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: a file of an array, or of several, whose table is written or refused; what is written has a row for
 * each of the array's, and one more. */
#include <stdlib.h>

#include "base/memory.h"
#include "core/data/arrays/arrays.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_table(const rp_array *x, const rp_array *y)
{
    rp_buffer out = {0};
    size_t lines = 0;

    if (rp_array_write(x, y, rp_buffer_take, &out, NULL) == RP_OK) {
        for (size_t i = 0; i < out.size; i++)
            lines += out.data[i] == '\n';
        if (lines != x->shape[0] + 1)
            abort();
    }
    rp_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_array x, y;

    if (size > 1 << 16)
        return 0;
    if (rp_array_from_npy(&x, data, size, "fuzz", NULL) == RP_OK)
        write_table(&x, NULL);
    if (rp_array_from_tensors(&x, data, size, "x", "fuzz", NULL) == RP_OK) {
        if (!rp_array_in_tensors(data, size, "x"))
            abort();
        if (rp_array_from_tensors(&y, data, size, "y", "fuzz", NULL) == RP_OK)
            write_table(&x, &y);
        write_table(&x, NULL);
    }
    return 0;
}
