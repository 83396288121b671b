/* SPDX-License-Identifier: Apache-2.0
 * A model's parameters to a safetensors file, as the layers have them or as PyTorch does, one tensor at a time. */
#include <string.h>

#include "audit/archive/safetensors.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/memory.h"
#include "core/nn/nn.h"
#include "determinism/bits.h"
#include "rp/nn_files.h"

typedef struct saving {
    rp_nn *nn;
    bool torch;
    size_t n;
    rp_safetensor *tensor; /* of each parameter */
    size_t held;           /* whose elements are in value; n: of none */
    float *value;
} saving;

static rp_status put(void *self, const void *bytes, size_t size, rp_error *err)
{
    return rp_file_write(self, bytes, size, err);
}

static size_t count_of(const rp_safetensor *tensor)
{
    size_t count = 1;

    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->shape[i];
    return count;
}

/* The elements of parameter i. */
static rp_status hold(saving *s, size_t i, rp_error *err)
{
    const size_t count = count_of(&s->tensor[i]), room = count ? count : 1;
    float *here = rp_reallocarray(NULL, room, sizeof *here), *there;
    rp_status status = here ? rp_nn_read(s->nn, s->tensor[i].name, here, count * sizeof *here, err) : rp_no_memory(err);

    rp_free(s->value);
    s->value = here;
    s->held = status == RP_OK ? i : s->n;
    if (status != RP_OK || !s->torch)
        return status;
    there = rp_reallocarray(NULL, room, sizeof *there);
    if (!there)
        return rp_no_memory(err);
    rp_nn_to_torch(s->nn, i, there, here);
    rp_free(here);
    s->value = there;
    return RP_OK;
}

static rp_status read_window(void *self, const rp_safetensor *tensor, size_t at, void *stored, size_t size,
                             rp_error *err)
{
    saving *s = self;
    rp_status status = RP_OK;

    if (s->held == s->n || strcmp(s->tensor[s->held].name, tensor->name) != 0)
        for (size_t i = 0; i < s->n; i++)
            if (strcmp(s->tensor[i].name, tensor->name) == 0)
                status = hold(s, i, err);
    if (status == RP_OK)
        rp_to_stored(stored, (const unsigned char *)s->value + at, RP_F32, size / sizeof *s->value);
    return status;
}

static rp_status describe(saving *s, rp_error *err)
{
    rp_nn_parameter_info info;

    s->n = s->held = rp_nn_parameters(s->nn);
    s->tensor = rp_calloc(s->n ? s->n : 1, sizeof *s->tensor);
    if (!s->tensor)
        return rp_no_memory(err);
    for (size_t i = 0; rp_nn_parameter_at(s->nn, i, &info); i++) {
        const rp_type there = rp_nn_torch_type(s->nn, i);

        s->tensor[i] = (rp_safetensor){.name = info.name, .dtype = RP_F32, .rank = info.rank};
        memcpy(s->tensor[i].shape, s->torch ? there.shape : info.shape, sizeof info.shape);
    }
    return RP_OK;
}

static rp_status write_file(saving *s, const char *path, bool force, rp_error *err)
{
    rp_file_writer *file;
    rp_status status = rp_file_create(&file, path, force, 0644, err);

    if (status != RP_OK)
        return status;
    status = rp_safetensors_stream(&(rp_byte_sink){put, file}, &(rp_tensor_source){read_window, s}, s->tensor, s->n,
                                   NULL, 0, err);
    if (status == RP_OK)
        return rp_file_commit(file, err);
    rp_file_abort(file);
    return status;
}

static rp_status save(rp_nn *nn, const char *path, const rp_nn_save_options *options, rp_error *err)
{
    saving s = {.nn = nn, .torch = options && options->torch};
    rp_status status = rp_nn_begin(nn, err);

    if (status == RP_OK)
        status = describe(&s, err);
    if (status == RP_OK)
        status = write_file(&s, path, options && options->force, err);
    rp_free(s.tensor);
    rp_free(s.value);
    return status;
}

rp_status rp_nn_save(rp_nn *nn, const char *path, const rp_nn_save_options *options, rp_error *err)
{
    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (rp_nn_told(nn, err) != RP_OK)
        return rp_nn_told(nn, err);
    return rp_nn_keep(nn, save(nn, path, options, rp_nn_error(nn)), err);
}
