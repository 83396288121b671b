/* SPDX-License-Identifier: Apache-2.0
 * The safetensors file format: a length, a JSON header, the tensors' bytes. The writer's bytes are a function of the
 * content alone; the reader takes any file the specification allows (in our dtypes) and nothing else. */
#ifndef AUDIT_ARCHIVE_SAFETENSORS_H
#define AUDIT_ARCHIVE_SAFETENSORS_H

#include "base/buffer.h"
#include "rp/dtype.h"

enum { RP_SAFETENSORS_HEADER_LIMIT = 16 << 20 };

typedef struct rp_safetensor {
    const char *name;
    rp_dtype dtype;
    int rank;
    size_t shape[RP_MAX_RANK];
    const void *data; /* writing: contiguous host elements; parsed whole: stored bytes of any alignment (rp_to_host) */
    size_t size;      /* stored bytes; ignored when writing */
    uint64_t offset;  /* read: of its first byte from the beginning of the file; ignored when writing */
} rp_safetensor;

typedef struct rp_safetensors_pair {
    const char *key, *value;
} rp_safetensors_pair;

/* Appends a file to out. The header lists tensors by name; data lies by falling element size, then name, so that each
 * tensor is aligned. Tensors and pairs may come in any order. Errors: RP_EARG (double, empty or reserved name, text not
 * UTF-8), RP_ESHAPE, RP_ENOMEM. */
rp_status rp_safetensors_write(rp_buffer *out, const rp_safetensor *tensors, size_t count,
                               const rp_safetensors_pair *metadata, size_t pairs, rp_error *err);

/* The same in pieces, for what is not held in memory: bytes go to the sink in order, and tensors' stored bytes come
 * from the source (NULL: from their data) in order too, window by window; windows hold whole elements. */
typedef struct rp_byte_sink {
    rp_status (*put)(void *self, const void *bytes, size_t size, rp_error *err);
    void *self;
} rp_byte_sink;
typedef struct rp_tensor_source {
    rp_status (*read)(void *self, const rp_safetensor *tensor, size_t at, void *stored, size_t size, rp_error *err);
    void *self;
} rp_tensor_source;
rp_status rp_safetensors_stream(const rp_byte_sink *to, const rp_tensor_source *from, const rp_safetensor *tensors,
                                size_t count, const rp_safetensors_pair *metadata, size_t pairs, rp_error *err);
/* The bytes of that file. */
rp_status rp_safetensors_measure(uint64_t *bytes, const rp_safetensor *tensors, size_t count,
                                 const rp_safetensors_pair *metadata, size_t pairs, rp_error *err);
/* Stored bytes of a tensor by dtype, rank and shape. Errors: RP_ESHAPE: it cannot be saved. */
rp_status rp_safetensor_size(const rp_safetensor *tensor, size_t *out, rp_error *err);

typedef struct rp_safetensors {
    rp_safetensor *tensor; /* by name, ascending bytes */
    size_t count;
    rp_safetensors_pair *metadata; /* by key */
    size_t pairs;
    void *header; /* private, as the next two: they own the texts */
    char *names;
    size_t names_size;
} rp_safetensors;

/* Looks at the first 9 bytes (or all, if there are fewer) of a file of size bytes: whether its header can be one. For a
 * file that would otherwise be read whole before it is refused. Errors: RP_EDATA. */
enum { RP_SAFETENSORS_BEGIN = 9 };
rp_status rp_safetensors_check_begin(const unsigned char *bytes, uint64_t size, const char *where, rp_error *err);
/* Borrows bytes until freed. where names the file in errors. Errors: RP_EDATA; RP_EUNSUPPORTED for a dtype or rank that
 * Reprise does not have. */
rp_status rp_safetensors_parse(rp_safetensors **out, const void *bytes, size_t size, const char *where, rp_error *err);
/* The header alone: the first bytes of a file of size bytes, as many as rp_safetensors_begin says, which are no longer
 * needed afterwards. Tensors have offsets and no data. */
rp_status rp_safetensors_parse_header(rp_safetensors **out, const void *bytes, uint64_t size, const char *where,
                                      rp_error *err);
static inline size_t rp_safetensors_begin(const unsigned char bytes[RP_SAFETENSORS_BEGIN])
{
    return 8 + (size_t)rp_load_u64(bytes); /* checked */
}
const rp_safetensor *rp_safetensors_find(const rp_safetensors *file, const char *name); /* NULL when absent */
void rp_safetensors_free(rp_safetensors *file);

#endif
