/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target: the safetensors reader. Every byte of every tensor of an accepted file is touched, and what was read is
 * written and read again. */
#include <stdint.h>
#include <stdlib.h>

#include "audit/archive/safetensors.h"
#include "base/memory.h"
#include "determinism/bits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Host copies in place of the stored bytes. */
static void to_host(rp_safetensors *file)
{
    for (size_t i = 0; i < file->count; i++) {
        rp_safetensor *tensor = &file->tensor[i];
        void *host = rp_malloc(tensor->size);
        if (host == NULL)
            abort();
        rp_to_host(host, tensor->data, tensor->dtype, tensor->size / rp_dtype_size(tensor->dtype));
        tensor->data = host;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_safetensors *file, *again;
    rp_buffer out = {0};
    rp_error err;
    rp_status status;

    if (rp_safetensors_parse(&file, data, size, "input", &err) != RP_OK)
        return 0;
    to_host(file);
    status = rp_safetensors_write(&out, file->tensor, file->count, file->metadata, file->pairs, &err);
    if (status == RP_OK) {
        if (rp_safetensors_parse(&again, out.data, out.size, "again", &err) != RP_OK || again->count != file->count)
            abort();
        rp_safetensors_free(again);
    } else if (status != RP_EARG && status != RP_ESHAPE) {
        abort(); /* some names can be read that we do not write; nothing else may fail */
    }
    for (size_t i = 0; i < file->count; i++)
        rp_free((void *)file->tensor[i].data);
    rp_safetensors_free(file);
    rp_buffer_free(&out);
    return 0;
}
