/* SPDX-License-Identifier: Apache-2.0
 * Tensors of a framework as they lie in memory: the DLPack structures (version 1), and the table of calls by which a
 * framework's type shows its tensors without Python. */
#ifndef PYTHON_EXCHANGE_H
#define PYTHON_EXCHANGE_H

#include "binding.h"

enum {
    DL_CPU = 1,
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_BOOL = 6,
    DL_READ_ONLY = 1,
    DL_IS_COPIED = 2
};

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

/* What type.__dlpack_c_exchange_api__ is a capsule of: static, of the framework's. */
typedef struct dl_exchange {
    struct {
        uint32_t major, minor;
    } version;
    struct dl_exchange *previous;
    void (*allocate)(void), (*managed)(void), (*object)(void); /* of other signatures, never called here */
    int (*look)(void *object, dl_tensor *out);                 /* borrowed; -1 with an exception. May be NULL */
    void (*stream)(void);
} dl_exchange;

/* False without an exception: no tensor here has elements of that kind, or so many axes. */
bool exchange_type(const dl_tensor *from, rp_type *type);

#endif
