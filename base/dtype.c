/* SPDX-License-Identifier: Apache-2.0
 * Element types: sizes and names. */
#include "rp/dtype.h"

static const struct {
    size_t size;
    const char *name;
} dtypes[RP_DTYPE_COUNT] = {{4, "f32"}, {8, "f64"}, {4, "i32"}, {8, "i64"}, {1, "bool"}, {2, "bf16"},
                            {2, "f16"}, {1, "i8"},  {1, "u8"},  {2, "i16"}, {4, "u32"}};

size_t rp_dtype_size(rp_dtype dtype)
{
    return (unsigned)dtype < RP_DTYPE_COUNT ? dtypes[dtype].size : 0;
}

const char *rp_dtype_name(rp_dtype dtype)
{
    return (unsigned)dtype < RP_DTYPE_COUNT ? dtypes[dtype].name : "?";
}
