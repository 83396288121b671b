/* SPDX-License-Identifier: Apache-2.0
 * A model's parameters from safetensors files, one or those of an index, mapped and read in place, or from an archive.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/archive/member.h"
#include "audit/archive/safetensors.h"
#include "audit/archive/tensor_set.h"
#include "base/file.h"
#include "base/handle.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/nn/nn.h"
#include "determinism/bits.h"
#include "rp/nn_files.h"

enum { INDEX_LIMIT = 64 << 20, SHARDS_MAX = 4096 };

typedef struct shard {
    char *path;
    void *map;
    size_t size;
    rp_safetensors *file;
} shard;

typedef struct shards {
    shard *shard;
    size_t n, room;
} shards;

static void shards_free(shards *s)
{
    for (size_t i = 0; i < s->n; i++) {
        rp_safetensors_free(s->shard[i].file);
        if (s->shard[i].map)
            (void)munmap(s->shard[i].map, s->shard[i].size);
        rp_free(s->shard[i].path);
    }
    rp_free(s->shard);
}

static rp_status map_shard(shard *s, int fd, rp_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return rp_fail(err, RP_EIO, "%s: not a regular file", s->path);
    if (st.st_size < RP_SAFETENSORS_BEGIN)
        return rp_fail(err, RP_EDATA, "%s: %lld bytes are no safetensors file", s->path, (long long)st.st_size);
    s->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return rp_fail(err, RP_EIO, "%s: cannot be mapped: %s", s->path, strerror(errno));
    }
    s->size = (size_t)st.st_size;
    return rp_safetensors_parse(&s->file, s->map, s->size, s->path, err);
}

/* path is taken. */
static rp_status add_shard(shards *all, char *path, rp_error *err)
{
    shard *s;
    int fd;
    rp_status status;

    if (path && all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 8;
        shard *bigger = rp_reallocarray(all->shard, room, sizeof *bigger);

        if (bigger) {
            all->shard = bigger;
            all->room = room;
        }
    }
    if (!path || all->n == all->room) {
        rp_free(path);
        return rp_no_memory(err);
    }
    s = &all->shard[all->n++];
    *s = (shard){.path = path};
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for its writer */
    if (fd < 0)
        return rp_fail(err, RP_EIO, "%s: %s", path, strerror(errno));
    status = map_shard(s, fd, err);
    (void)close(fd);
    return status;
}

static bool have_shard(const shards *all, const char *path)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->shard[i].path, path) == 0)
            return true;
    return false;
}

/* A file that lies beside the index: names that lead elsewhere are refused. */
static rp_status add_beside(shards *all, const char *index, const char *name, rp_error *err)
{
    char *path;

    if (!name || !*name || strchr(name, '/') || strcmp(name, "..") == 0)
        return rp_fail(err, RP_EDATA, "%s: weight_map: expected names of files beside it, found %.200s", index,
                       name ? name : "no text");
    path = rp_path_beside(index, name);
    if (path && have_shard(all, path)) {
        rp_free(path);
        return RP_OK;
    }
    if (all->n >= SHARDS_MAX) {
        rp_free(path);
        return rp_fail(err, RP_EUNSUPPORTED, "%s: more than %d files", index, (int)SHARDS_MAX);
    }
    return add_shard(all, path, err);
}

/* *out: the index, for find. */
static rp_status read_index(shards *all, rp_json **out, const char *path, rp_error *err)
{
    rp_buffer bytes = {0};
    rp_json *index = NULL, *map, *name;
    const char *tensor;
    rp_status status = rp_file_read(path, INDEX_LIMIT, &bytes, err);

    if (status == RP_OK)
        status = rp_json_parse(&index, bytes.data, bytes.size, false, path, err);
    map = rp_json_object_get(index, "weight_map");
    if (status == RP_OK && !rp_json_is_object(map))
        status = rp_fail(err, RP_EDATA, "%s: no weight_map: is it an index of safetensors files?", path);
    if (status == RP_OK)
        rp_json_object_foreach (map, tensor, name) {
            if (status == RP_OK)
                status = add_beside(all, path, rp_json_string_value(name), err);
        }
    *out = index;
    rp_buffer_free(&bytes);
    return status;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Where weights come from: files, or an archive's set. */
typedef struct source {
    shards files;
    rp_json *index; /* NULL: one file */
    rp_archive *archive;
    rp_tensor_set *set;
} source;

static rp_status open_source(source *s, const char *path, rp_error *err)
{
    rp_status status;

    if (ends_in(path, ".json"))
        return read_index(&s->files, &s->index, path, err);
    if (!ends_in(path, ".reprise"))
        return add_shard(&s->files, rp_strdup(path), err);
    status = rp_archive_open(&s->archive, path, err);
    return status == RP_OK ? rp_tensor_set_open(&s->set, s->archive, RP_FINAL_MEMBER, err) : status;
}

static void close_source(source *s)
{
    shards_free(&s->files);
    rp_json_free(s->index);
    rp_tensor_set_free(s->set);
    rp_archive_close(s->archive);
}

typedef struct load {
    rp_nn *nn;
    const char *path;
    rp_nn_load_options options;
    source from;
    const rp_safetensor **tensor; /* of each parameter; NULL: it stays as initialised */
} load;

/* The file that an index names for a tensor; NULL: it names none. */
static const rp_safetensors *file_of(const source *from, const char *tensor)
{
    const char *name = rp_json_string_value(rp_json_object_get(rp_json_object_get(from->index, "weight_map"), tensor));

    for (size_t i = 0; name && i < from->files.n; i++) {
        const char *slash = strrchr(from->files.shard[i].path, '/');

        if (strcmp(slash ? slash + 1 : from->files.shard[i].path, name) == 0)
            return from->files.shard[i].file;
    }
    return NULL;
}

static const rp_safetensor *find(const source *from, const char *prefix, const char *name)
{
    const shards *all = &from->files;
    char whole[512];

    if ((size_t)snprintf(whole, sizeof whole, "%s%s", prefix ? prefix : "", name) >= sizeof whole)
        return NULL;
    if (from->set)
        return rp_tensor_set_find(from->set, whole);
    if (from->index) {
        const rp_safetensors *file = file_of(from, whole);

        return file ? rp_safetensors_find(file, whole) : NULL;
    }
    return all->n ? rp_safetensors_find(all->shard[0].file, whole) : NULL;
}

static rp_type here_type(const rp_nn *nn, size_t parameter)
{
    rp_nn_parameter_info info;
    rp_type type = {.dtype = RP_F32};

    (void)rp_nn_parameter_at(nn, parameter, &info);
    type.rank = info.rank;
    memcpy(type.shape, info.shape, sizeof type.shape);
    return type;
}

static rp_status check(const load *l, size_t i, const char *name, rp_error *err)
{
    const rp_safetensor *t = l->tensor[i];
    rp_type wanted = l->options.torch ? rp_nn_torch_type(l->nn, i) : here_type(l->nn, i), found;
    char expected[192], there[192];

    if (!t && l->options.partial)
        return RP_OK;
    if (!t)
        return rp_fail(err, RP_EDATA,
                       "%s: there is no tensor %s%s, which the model has; partial would leave it as "
                       "initialised",
                       l->path, l->options.prefix ? l->options.prefix : "", name);
    found = (rp_type){.dtype = t->dtype, .rank = t->rank};
    memcpy(found.shape, t->shape, sizeof found.shape);
    if ((t->dtype == RP_BF16 || t->dtype == RP_F16) && !l->from.set)
        wanted.dtype = t->dtype;
    if (rp_type_equal(&found, &wanted))
        return RP_OK;
    rp_type_text(&wanted, expected, sizeof expected);
    rp_type_text(&found, there, sizeof there);
    return rp_fail(err, RP_EDATA, "%s: %.200s: expected %s, found %s%s", l->path, t->name, expected, there,
                   l->options.torch ? "" : "; are its weights PyTorch's? then the option torch turns them");
}

/* Stored elements of a mapped file, as f32. */
static void widen(float *out, const rp_safetensor *t, size_t count)
{
    const unsigned char *stored = t->data;

    if (t->dtype == RP_F32) {
        rp_to_host(out, stored, RP_F32, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint16_t half = (uint16_t)(stored[2 * i] | stored[2 * i + 1] << 8);

        out[i] = t->dtype == RP_F16 ? rp_f32_of_f16(half) : rp_f32_of_bf16(half);
    }
}

static rp_status give(const load *l, size_t i, const char *name, rp_error *err)
{
    const rp_type type = here_type(l->nn, i);
    const size_t count = rp_type_count(&type);
    float *value = rp_reallocarray(NULL, count ? count : 1, sizeof *value), *turned = NULL;
    rp_status status = value ? RP_OK : rp_no_memory(err);

    if (status == RP_OK && l->options.torch) {
        turned = rp_reallocarray(NULL, count ? count : 1, sizeof *turned);
        status = turned ? RP_OK : rp_no_memory(err);
    }
    if (status == RP_OK) {
        if (l->from.set)
            status = rp_tensor_set_read_host(l->from.set, l->tensor[i], value, err);
        else
            widen(value, l->tensor[i], count);
    }
    if (status == RP_OK) {
        if (turned)
            rp_nn_from_torch(l->nn, i, turned, value);
        status = rp_nn_write(l->nn, name, turned ? turned : value, count * sizeof *value, err);
    }
    rp_free(value);
    rp_free(turned);
    return status;
}

static rp_status load_all(load *l, rp_error *err)
{
    const size_t n = rp_nn_parameters(l->nn);
    size_t taken = 0;
    rp_nn_parameter_info info;
    rp_status status = open_source(&l->from, l->path, err);

    if (status != RP_OK)
        return status;
    l->tensor = rp_calloc(n ? n : 1, sizeof *l->tensor);
    if (!l->tensor)
        return rp_no_memory(err);
    for (size_t i = 0; i < n && status == RP_OK && rp_nn_parameter_at(l->nn, i, &info); i++) {
        l->tensor[i] = find(&l->from, l->options.prefix, info.name);
        status = check(l, i, info.name, err);
        taken += l->tensor[i] != NULL;
    }
    if (status == RP_OK && n > 0 && taken == 0)
        status = rp_fail(err, RP_EDATA, "%s: none of its tensors is one of the model's: is the prefix right?", l->path);
    for (size_t i = 0; i < n && status == RP_OK && rp_nn_parameter_at(l->nn, i, &info); i++)
        if (l->tensor[i])
            status = give(l, i, info.name, err);
    return status;
}

rp_status rp_nn_load(rp_nn *nn, const char *path, const rp_nn_load_options *options, rp_error *err)
{
    load l = {.nn = nn, .path = path};
    rp_status status;

    if (!nn)
        return rp_no_handle(err, __func__, "nn");
    if (options)
        l.options = *options;
    status = rp_nn_build(nn, err);
    if (status != RP_OK)
        return status;
    status = rp_nn_keep(nn, load_all(&l, rp_nn_error(nn)), err);
    close_source(&l.from);
    rp_free(l.tensor);
    return status;
}
