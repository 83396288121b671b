/* SPDX-License-Identifier: Apache-2.0
 * A model's parameters to a safetensors file, or to several beside their index, as the layers have them or as PyTorch
 * does, one tensor at a time. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/archive/safetensors.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/nn/nn.h"
#include "determinism/bits.h"
#include "rp/nn_files.h"

enum { FILES_MAX = 4096 }; /* as many as are read */

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

/* The elements of parameter i. One tensor is held, and two only while their elements' order changes. */
static rp_status hold(saving *s, size_t i, rp_error *err)
{
    const size_t count = count_of(&s->tensor[i]), room = count ? count : 1;
    float *there;
    rp_status status;

    rp_free(s->value);
    s->held = s->n;
    s->value = rp_reallocarray(NULL, room, sizeof *s->value);
    status =
        s->value ? rp_nn_read(s->nn, s->tensor[i].name, s->value, count * sizeof *s->value, err) : rp_no_memory(err);
    if (status != RP_OK)
        return status;
    if (s->torch && !rp_nn_as_torch(s->nn, i)) {
        there = rp_reallocarray(NULL, room, sizeof *there);
        if (!there)
            return rp_no_memory(err);
        rp_nn_to_torch(s->nn, i, there, s->value);
        rp_free(s->value);
        s->value = there;
    }
    s->held = i;
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

/* Tensors from + 0 .. from + n - 1. */
static rp_status write_file(saving *s, const char *path, size_t from, size_t n, bool force, rp_error *err)
{
    rp_file_writer *file;
    rp_status status = rp_file_create(&file, path, force, 0644, err);

    if (status != RP_OK)
        return status;
    status = rp_safetensors_stream(&(rp_byte_sink){put, file}, &(rp_tensor_source){read_window, s}, s->tensor + from, n,
                                   NULL, 0, err);
    if (status == RP_OK)
        return rp_file_commit(file, err);
    rp_file_abort(file);
    return status;
}

/* ---- several files and their index ---- */

typedef struct sharding {
    char *base;    /* the index' name without folder and ending */
    size_t *first; /* of each file its first tensor, and behind them the number of tensors */
    size_t files, written;
    rp_json *index;
} sharding;

static size_t bytes_of(const rp_safetensor *tensor)
{
    return count_of(tensor) * sizeof(float);
}

/* Tensors in their order, as many a file as fit; one that fits in none has its own. */
static rp_status cut(const saving *s, sharding *cuts, uint64_t limit, rp_error *err)
{
    uint64_t held = 0;

    cuts->first = rp_calloc(s->n + 1, sizeof *cuts->first);
    if (!cuts->first)
        return rp_no_memory(err);
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t bytes = bytes_of(&s->tensor[i]);

        if (i == 0 || held > limit || bytes > limit - held) {
            cuts->first[cuts->files++] = i;
            held = 0;
        }
        held += bytes;
    }
    cuts->first[cuts->files] = s->n;
    return cuts->files <= FILES_MAX
               ? RP_OK
               : rp_fail(err, RP_EARG, "rp_nn_save: file_bytes of %llu make %zu files, more than %d",
                         (unsigned long long)limit, cuts->files, (int)FILES_MAX);
}

/* model.safetensors.index.json names model-00001-of-00003.safetensors: what others read. */
static rp_status take_base(sharding *cuts, const char *path, rp_error *err)
{
    static const char *const ending[] = {".safetensors.index.json", ".index.json", ".json"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(name);

    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        const size_t end = strlen(ending[i]);

        if (length > end && strcmp(name + length - end, ending[i]) == 0) {
            cuts->base = rp_strdup(name);
            if (!cuts->base)
                return rp_no_memory(err);
            cuts->base[length - end] = '\0';
            return RP_OK;
        }
    }
    return rp_fail(err, RP_EARG, "rp_nn_save: %s: an index' name ends in .json behind another byte", path);
}

/* The path beside the index, and in name the name alone. NULL: out of memory. */
static char *file_of(const sharding *cuts, const char *index, size_t file, char **name)
{
    const size_t room = strlen(cuts->base) + 64;
    char *path;

    *name = rp_malloc(room);
    if (!*name)
        return NULL;
    (void)snprintf(*name, room, "%s-%05zu-of-%05zu.safetensors", cuts->base, file + 1, cuts->files);
    path = rp_path_beside(index, *name);
    if (!path) {
        rp_free(*name);
        *name = NULL;
    }
    return path;
}

static rp_status write_part(saving *s, sharding *cuts, const char *index, size_t file, bool force, rp_error *err)
{
    const size_t first = cuts->first[file], n = cuts->first[file + 1] - first;
    rp_json *map = rp_json_object_get(cuts->index, "weight_map");
    char *name, *path = file_of(cuts, index, file, &name);
    rp_status status = path ? write_file(s, path, first, n, force, err) : rp_no_memory(err);

    cuts->written += status == RP_OK;
    for (size_t i = first; i < first + n && status == RP_OK; i++)
        if (rp_json_object_set_new(map, s->tensor[i].name, rp_json_string(name)) != 0)
            status = rp_no_memory(err);
    rp_free(name);
    rp_free(path);
    return status;
}

/* The index comes last: where there is one, its files are whole. */
static rp_status write_index(const saving *s, sharding *cuts, const char *path, bool force, rp_error *err)
{
    rp_buffer text = {0};
    uint64_t total = 0;
    rp_status status;

    for (size_t i = 0; i < s->n; i++)
        total += bytes_of(&s->tensor[i]);
    if (rp_json_object_set_new(rp_json_object_get(cuts->index, "metadata"), "total_size",
                               rp_json_integer((int64_t)total)) != 0)
        return rp_no_memory(err);
    status = rp_json_write(cuts->index, &text, err);
    if (status == RP_OK)
        status = rp_file_save(path, text.data, text.size, force, 0644, err);
    rp_buffer_free(&text);
    return status;
}

static rp_status write_parts(saving *s, sharding *cuts, const char *path, bool force, rp_error *err)
{
    rp_status status = RP_OK;

    cuts->index = rp_json_object();
    if (rp_json_object_set_new(cuts->index, "metadata", rp_json_object()) != 0 ||
        rp_json_object_set_new(cuts->index, "weight_map", rp_json_object()) != 0)
        return rp_no_memory(err);
    for (size_t i = 0; i < cuts->files && status == RP_OK; i++)
        status = write_part(s, cuts, path, i, force, err);
    return status == RP_OK ? write_index(s, cuts, path, force, err) : status;
}

/* Files that were new go again when a later one fails; with force there may have been others in their places. */
static void remove_parts(const sharding *cuts, const char *index)
{
    for (size_t i = 0; i < cuts->written; i++) {
        char *name, *path = file_of(cuts, index, i, &name);

        if (path)
            (void)remove(path);
        rp_free(name);
        rp_free(path);
    }
}

static rp_status write_sharded(saving *s, const char *path, const rp_nn_save_options *o, rp_error *err)
{
    sharding cuts = {0};
    rp_status status = take_base(&cuts, path, err);

    if (status == RP_OK && !o->force && access(path, F_OK) == 0)
        status = rp_fail(err, RP_EEXIST, "%s: there already; force replaces it", path);
    if (status == RP_OK)
        status = cut(s, &cuts, o->file_bytes, err);
    if (status == RP_OK)
        status = write_parts(s, &cuts, path, o->force, err);
    if (status != RP_OK && !o->force)
        remove_parts(&cuts, path);
    rp_json_free(cuts.index);
    rp_free(cuts.first);
    rp_free(cuts.base);
    return status;
}

static rp_status save(rp_nn *nn, const char *path, const rp_nn_save_options *options, rp_error *err)
{
    const rp_nn_save_options o = options ? *options : (rp_nn_save_options){0};
    saving s = {.nn = nn, .torch = o.torch};
    rp_status status = rp_nn_begin(nn, err);

    if (status == RP_OK)
        status = describe(&s, err);
    if (status == RP_OK)
        status = o.file_bytes ? write_sharded(&s, path, &o, err) : write_file(&s, path, 0, s.n, o.force, err);
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
