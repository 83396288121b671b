/* SPDX-License-Identifier: Apache-2.0
 * Moves as device code, for each type (CONTRACT 3): copies, constants, takes along an axis. */
/* Views of fill: out. Of gather: out, the table as if its axis were the index's with no step, the index as if it had
 * the others; own[0] is the bytes between neighbours of the table's axis. Of one_hot: out, the index as if it had the
 * last axis, whose length own[0] is. Of iota: out. */
#define FILL(type, T, made) \
    RP_GPU_MAP(rp_gpu_fill_##type, 1, const rp_attr *of = &RP_AT(walk->attr, fill, value); \
               *(T *)walk->at[0] = (T)(made);)
#define MOVES(type, T, made) \
    RP_GPU_MAP(rp_gpu_copy_##type, 2, *(T *)walk->at[0] = *(const T *)walk->at[1];) \
    FILL(type, T, made) \
    RP_GPU_MAP(rp_gpu_gather_##type, 3, const i64 from = rp_gpu_index_at(&p, walk->at[2]) * p.own[0]; \
               *(T *)walk->at[0] = *(const T *)((const char *)walk->at[1] + from);)
MOVES(f32, float, of->r)
MOVES(f64, double, of->r)
MOVES(i32, int32_t, of->i)
MOVES(i64, int64_t, of->i)
MOVES(bool, uint8_t, of->i != 0)
MOVES(bf16, uint16_t, rp_bf16_of_f64(of->r))
FILL(f16, uint16_t, rp_f16_of_f64(of->r))
FILL(i8, uint8_t, of->i)
FILL(u8, uint8_t, of->i)
FILL(i16, uint16_t, of->i)
FILL(u32, uint32_t, of->i)
RP_GPU_MAP(rp_gpu_iota_u32, 1, *(uint32_t *)walk->at[0] = (uint32_t)i;)

#define TAKES(type, T) \
    RP_GPU_MAP(rp_gpu_iota_##type, 1, *(T *)walk->at[0] = (T)(i64)i;) \
    RP_GPU_MAP(rp_gpu_one_hot_##type, 2, \
               *(T *)walk->at[0] = (T)((i64)(i % (u64)p.own[0]) == rp_gpu_index_at(&p, walk->at[1]));)
TAKES(f32, float)
TAKES(f64, double)
TAKES(i32, int32_t)
TAKES(i64, int64_t)
#undef MOVES
#undef FILL
#undef TAKES
