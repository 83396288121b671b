/* SPDX-License-Identifier: Apache-2.0
 * A run's tensors and sets of tensors. */
#include "audit/record/states.h"

#include "base/memory.h"
#include "determinism/bits.h"

enum { WINDOW = 1 << 16 };

rp_status rp_stored_window(const rp_device_tensor *tensor, size_t at, void *stored, size_t size, rp_error *err)
{
    const rp_dtype dtype = tensor->type.dtype;
    rp_status status = rp_device_read(tensor->device, stored, (const char *)tensor->memory + at, size, NULL, err);

    rp_to_stored(stored, stored, dtype, status == RP_OK ? size / rp_dtype_size(dtype) : 0);
    return status;
}

rp_type rp_safetensor_type(const rp_safetensor *tensor)
{
    rp_type type = {.dtype = tensor->dtype, .rank = tensor->rank};

    memcpy(type.shape, tensor->shape, sizeof type.shape);
    return type;
}

/* ---- writing ---- */

static rp_status read_tensor(void *self, const rp_safetensor *tensor, size_t at, void *stored, size_t size,
                             rp_error *err)
{
    (void)self;
    return rp_stored_window(tensor->data, at, stored, size, err); /* data is the rp_device_tensor here */
}

static const rp_tensor_source from_run = {read_tensor, NULL};

static void describe(rp_safetensor *out, const char *name, const rp_type *type, const void *data)
{
    *out = (rp_safetensor){.name = name, .dtype = type->dtype, .rank = type->rank, .data = data};
    memcpy(out->shape, type->shape, sizeof out->shape);
}

/* NULL: no memory. To be freed. */
static rp_safetensor *tensors_of(const rp_device_tensor *list, size_t n)
{
    rp_safetensor *tensor = rp_calloc(n ? n : 1, sizeof *tensor);

    for (size_t i = 0; tensor && i < n; i++)
        describe(&tensor[i], list[i].name, &list[i].type, &list[i]);
    return tensor;
}

rp_status rp_tensors_add(rp_archive_writer *writer, const char *set, const rp_device_tensor *list, size_t n,
                         rp_error *err)
{
    rp_safetensor *tensor = tensors_of(list, n);
    rp_status status = tensor ? rp_tensor_parts_add(writer, set, &from_run, tensor, n, err) : rp_no_memory(err);

    rp_free(tensor);
    return status;
}

rp_status rp_tensors_stream(const rp_byte_sink *to, const rp_device_tensor *list, size_t n, rp_error *err)
{
    rp_safetensor *tensor = tensors_of(list, n);
    rp_status status = tensor ? rp_safetensors_stream(to, &from_run, tensor, n, NULL, 0, err) : rp_no_memory(err);

    rp_free(tensor);
    return status;
}

rp_status rp_tensors_measure(uint64_t *bytes, const rp_device_tensor *list, size_t n, rp_error *err)
{
    rp_safetensor *tensor = tensors_of(list, n);
    rp_status status = tensor ? rp_safetensors_measure(bytes, tensor, n, NULL, 0, err) : rp_no_memory(err);

    rp_free(tensor);
    return status;
}

rp_status rp_states_add(rp_archive_writer *writer, const char *set, const rp_run *run, bool all, rp_error *err)
{
    size_t n, kept = 0;
    const rp_device_tensor *state = rp_run_states(run, &n);
    rp_device_tensor *list = rp_calloc(n ? n : 1, sizeof *list);
    rp_status status;

    if (!list)
        return rp_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (all || !rp_is_moment(state[i].name))
            list[kept++] = state[i];
    status = rp_tensors_add(writer, set, list, kept, err);
    rp_free(list);
    return status;
}

rp_status rp_states_parts(size_t *parts, const rp_run *run, rp_error *err)
{
    size_t n;
    const rp_device_tensor *state = rp_run_states(run, &n);
    rp_safetensor *tensor = tensors_of(state, n);
    rp_status status = tensor ? rp_tensor_parts_count(parts, tensor, n, err) : rp_no_memory(err);

    rp_free(tensor);
    return status;
}

bool rp_set_in_archive(const rp_archive_writer *writer, const rp_archive *archive, const char *set)
{
    size_t made = 0;

    for (size_t i = 0; i < rp_archive_writer_member_count(writer); i++) {
        const rp_member *is = rp_archive_writer_member(writer, i), *was;
        rp_member_part part;

        (void)rp_member_part_of(&part, is->name);
        if (strcmp(part.set, set) != 0)
            continue;
        was = rp_archive_find(archive, is->name);
        if (!was || !rp_digest_equal(&was->digest, &is->digest))
            return false;
        made++;
    }
    return made > 0 || !rp_tensor_set_present(archive, set);
}

/* ---- reading ---- */

static rp_status put_in_run(void *self, const rp_safetensor *tensor, size_t first, const void *host, size_t count,
                            rp_error *err)
{
    const rp_type type = rp_safetensor_type(tensor);

    return rp_run_put(self, tensor->name, &type, first, host, count, err);
}

static rp_status give(void *self, rp_run *run, rp_error *err)
{
    const rp_set_values *values = self;
    const rp_element_sink to = {put_in_run, run};
    rp_status status = rp_tensor_set_stream(values->set, &to, err);
    size_t n;
    const rp_device_tensor *state = rp_run_states(run, &n);

    for (size_t i = 0; values->fresh_moments && i < n && status == RP_OK; i++)
        if (rp_is_moment(state[i].name) && !rp_tensor_set_find(values->set, state[i].name))
            status = rp_run_put(run, state[i].name, &state[i].type, 0, NULL, rp_type_count(&state[i].type), err);
    return status;
}

rp_value_source rp_values_of(rp_set_values *values)
{
    return (rp_value_source){give, values};
}

rp_status rp_run_add_set(rp_run *run, const rp_tensor_set *set, bool states, rp_error *err)
{
    rp_set_values values = {.set = set};
    const rp_value_source from = rp_values_of(&values);
    rp_status status = RP_OK;

    for (size_t i = 0; status == RP_OK && i < rp_tensor_set_count(set); i++) {
        const rp_safetensor *t = rp_tensor_set_at(set, i);

        status = (states ? rp_run_add_state : rp_run_add_data)(run, t->name, t->dtype, t->rank, t->shape, NULL, err);
    }
    if (status == RP_OK)
        status = states ? rp_run_restore(run, 0, &from, err) : rp_run_fill_data(run, &from, err);
    return status == RP_EARG || status == RP_EDATA ? rp_fail_at(err, RP_EFORMAT, "tensors") : status;
}

rp_status rp_set_has(bool *has, const rp_tensor_set *set, const rp_safetensor *tensor, const rp_device_tensor *state,
                     rp_error *err)
{
    const rp_type type = rp_safetensor_type(tensor);
    unsigned char *window = rp_malloc((size_t)2 * WINDOW);
    rp_status status = window ? RP_OK : rp_no_memory(err);

    *has = rp_type_equal(&type, &state->type);
    for (size_t at = 0; *has && at < tensor->size && status == RP_OK; at += WINDOW) {
        const size_t size = tensor->size - at < WINDOW ? tensor->size - at : WINDOW;

        status = rp_tensor_set_read(set, tensor, at, window, size, err);
        if (status == RP_OK)
            status = rp_stored_window(state, at, window + WINDOW, size, err);
        *has = status == RP_OK && memcmp(window, window + WINDOW, size) == 0;
    }
    rp_free(window);
    return status;
}
