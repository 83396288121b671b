/* SPDX-License-Identifier: Apache-2.0
 * What PTX translated to C runs on: the state of a thread and its block, memory, and those instructions that are no
 * operator of C. Addresses are the device's: the host's plus EMU_FAR, so that device memory which the host was given
 * lies where the host may not touch, and an address of the host given to a kernel is no address there. */
#ifndef TESTS_EMU_EMU_H
#define TESTS_EMU_EMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EMU_FN static inline __attribute__((always_inline, unused))
#ifdef EMU_SOURCE
#define EMU_NEAR UINT64_C(0) /* kernels as the host's source: tests/emu/source.h */
#else
#define EMU_NEAR UINT64_C(0x200000000000) /* host address = device address + EMU_NEAR */
#endif

typedef struct emu_block emu_block;

typedef struct emu_thread {
    uint32_t tid[3], ctaid[3], ntid[3], nctaid[3];
    uint32_t index;   /* in the block: its warp is index / 32 */
    uint32_t dynamic; /* where the shared memory begins whose size was given at launch */
    char *shared;     /* the block's; shared addresses are offsets */
    emu_block *block;
} emu_thread;

typedef void emu_run(emu_thread *t, const char *const *param);

typedef struct emu_kernel {
    const char *name;
    emu_run *run;
    const uint32_t *param_size;
    uint32_t n_params;
    uint32_t shared;      /* bytes that are not given at launch */
    uint32_t max_threads; /* of a block; 0: not said */
    bool meets;           /* its threads wait for each other: fibers; else each runs to its end */
} emu_kernel;

typedef struct emu_variable { /* of a module */
    const char *name;
    void *at;
    size_t size;
} emu_variable;

typedef struct emu_module {
    const emu_kernel *kernel;
    size_t n_kernels;
    const emu_variable *variable;
    size_t n_variables;
    struct emu_module *next;
} emu_module;

#ifdef __cplusplus
extern "C"
#endif
    void
    emu_register(emu_module *module);

/* ---- what threads do together (block.c) ---- */

enum { EMU_WARP = 32 };
/* The kernel is wrong and does not go on. */
void emu_trap(const char *what) __attribute__((noreturn));
void emu_barrier(emu_thread *t, uint32_t which, uint32_t site);
void emu_warp_barrier(emu_thread *t, uint32_t mask);
/* The value of lane `from(lane)` of those in the mask. */
typedef enum emu_shuffle_kind { EMU_UP, EMU_DOWN, EMU_BFLY, EMU_IDX } emu_shuffle_kind;
uint32_t emu_shuffle(emu_thread *t, emu_shuffle_kind kind, uint32_t value, uint32_t b, uint32_t c, uint32_t mask,
                     bool *in_range);
/* The lanes of the mask whose predicate holds. */
uint32_t emu_ballot(emu_thread *t, bool predicate, uint32_t mask);
/* Asynchronous copies happen when their group is waited for, or at once, or when chance says: by the order. */
void emu_copy(emu_thread *t, uint32_t to, uint64_t from, uint32_t bytes, uint32_t taken);
void emu_copy_commit(emu_thread *t);
void emu_copy_wait(emu_thread *t, uint32_t groups_left);
void emu_copy_wait_all(emu_thread *t);

/* ---- bits ---- */

EMU_FN float emu_f32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

EMU_FN double emu_f64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

EMU_FN uint32_t emu_b32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

EMU_FN uint64_t emu_b64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

/* The NaN that arithmetic gives on the device, whatever this host's gives: a kernel that shows it is seen. */
EMU_FN float emu_nan_f32(float x)
{
    return __builtin_expect(x != x, 0) ? emu_f32(0x7FFFFFFFu) : x;
}

EMU_FN double emu_nan_f64(double x)
{
    return __builtin_expect(x != x, 0) ? emu_f64(UINT64_C(0xFFF8000000000000)) : x;
}

/* ---- memory ---- */

EMU_FN char *emu_at(uint64_t address, uint32_t align)
{
    if (__builtin_expect(address % align != 0, 0))
        emu_trap("an access that is not aligned to its size");
    return (char *)(uintptr_t)(address + EMU_NEAR);
}

EMU_FN char *emu_shared_at(char *shared, uint32_t address, uint32_t align)
{
    if (__builtin_expect(address % align != 0, 0))
        emu_trap("an access of shared memory that is not aligned to its size");
    return shared + address;
}

EMU_FN uint64_t emu_far(const void *host)
{
    return (uint64_t)(uintptr_t)host - EMU_NEAR;
}

#define EMU_ACCESS(T, name) \
    EMU_FN T emu_load_##name(const char *at) \
    { \
        T v; \
        memcpy(&v, at, sizeof v); \
        return v; \
    } \
    EMU_FN void emu_store_##name(char *at, T v) \
    { \
        memcpy(at, &v, sizeof v); \
    }
EMU_ACCESS(uint8_t, u8)
EMU_ACCESS(int8_t, s8)
EMU_ACCESS(uint16_t, u16)
EMU_ACCESS(int16_t, s16)
EMU_ACCESS(uint32_t, u32)
EMU_ACCESS(int32_t, s32)
EMU_ACCESS(uint64_t, u64)
EMU_ACCESS(int64_t, s64)
EMU_ACCESS(float, f32)
EMU_ACCESS(double, f64)
#undef EMU_ACCESS

/* ---- integers ---- */

#define EMU_INTEGER(T, S, n, name) \
    EMU_FN T emu_shl_##name(T a, uint32_t by) \
    { \
        return by >= n ? 0 : (T)(a << by); \
    } \
    EMU_FN T emu_shr_u##name(T a, uint32_t by) \
    { \
        return by >= n ? 0 : (T)(a >> by); \
    } \
    EMU_FN S emu_shr_s##name(S a, uint32_t by) \
    { \
        return (S)(a >> (by >= n ? n - 1 : by)); \
    } \
    EMU_FN T emu_div_u##name(T a, T b) /* by zero: all ones, as the device has it */ \
    { \
        return b == 0 ? (T)-1 : (T)(a / b); \
    } \
    EMU_FN T emu_rem_u##name(T a, T b) \
    { \
        return b == 0 ? a : (T)(a % b); \
    } \
    EMU_FN S emu_div_s##name(S a, S b) \
    { \
        return b == 0 ? (S)-1 : b == -1 ? (S)(0 - (T)a) : (S)(a / b); \
    } \
    EMU_FN S emu_rem_s##name(S a, S b) \
    { \
        return b == 0 ? a : b == -1 ? 0 : (S)(a % b); \
    }
EMU_INTEGER(uint16_t, int16_t, 16, 16)
EMU_INTEGER(uint32_t, int32_t, 32, 32)
EMU_INTEGER(uint64_t, int64_t, 64, 64)
#undef EMU_INTEGER

EMU_FN uint64_t emu_mulhi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

EMU_FN int64_t emu_mulhi_s64(int64_t a, int64_t b)
{
    return (int64_t)((__int128)a * b >> 64);
}

EMU_FN uint32_t emu_prmt(uint32_t a, uint32_t b, uint32_t choice)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;

    for (int i = 0; i < 4; i++) {
        const uint32_t c = choice >> 4 * i & 15;
        uint32_t byte = (uint32_t)(bytes >> 8 * (c & 7)) & 255;

        if (c & 8) /* its sign, eight times */
            byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}

EMU_FN uint32_t emu_funnel(uint32_t low, uint32_t high, uint32_t by, bool left)
{
    const uint64_t both = (uint64_t)high << 32 | low;

    return left ? (uint32_t)(both << by >> 32) : (uint32_t)(both >> by);
}

EMU_FN uint64_t emu_bfe(uint64_t a, uint32_t at, uint32_t n, uint32_t width, bool is_signed)
{
    const uint32_t first = at & 255, count = n & 255;
    const uint32_t last = first + count - 1 < width - 1 ? first + count - 1 : width - 1;
    const uint64_t sign = is_signed && count ? a >> last & 1 : 0;
    uint64_t r = 0;

    for (uint32_t i = 0; i < width; i++)
        r |= (i < count && first + i < width ? a >> (first + i) & 1 : sign) << i;
    return r;
}

EMU_FN uint64_t emu_bfi(uint64_t a, uint64_t b, uint32_t at, uint32_t n, uint32_t width)
{
    for (uint32_t i = 0; i < (n & 255) && (at & 255) + i < width; i++) {
        const uint32_t bit = (at & 255) + i;

        b = (b & ~(UINT64_C(1) << bit)) | (a >> i & 1) << bit;
    }
    return b;
}

EMU_FN uint64_t emu_brev(uint64_t a, uint32_t width)
{
    uint64_t r = 0;

    for (uint32_t i = 0; i < width; i++)
        r |= (a >> i & 1) << (width - 1 - i);
    return r;
}

EMU_FN uint32_t emu_bfind(uint64_t a)
{
    return a == 0 ? UINT32_MAX : 63u - (uint32_t)__builtin_clzll(a);
}

/* ---- between real and integer ---- */

/* Outside the type: the nearest of its ends; a NaN: 0. `x` has been rounded to an integer. */
EMU_FN int64_t emu_to_signed(double x, int bits)
{
    const double end = (double)(UINT64_C(1) << (bits - 1));
    const int64_t most = (int64_t)((UINT64_C(1) << (bits - 1)) - 1);

    return x != x ? 0 : x >= end ? most : x < -end ? -most - 1 : (int64_t)x;
}

EMU_FN uint64_t emu_to_unsigned(double x, int bits)
{
    const double end = 2 * (double)(UINT64_C(1) << (bits - 1));

    return x != x || x <= 0 ? 0 : x >= end ? (bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1) : (uint64_t)x;
}

/* ---- atomic, on integers alone: what they give does not depend on who comes first, unless a kernel reads it ---- */

#define EMU_ATOMIC(T, name) \
    EMU_FN T emu_atom_add_##name(char *at, T v) \
    { \
        return __atomic_fetch_add((T *)(void *)at, v, __ATOMIC_SEQ_CST); \
    } \
    EMU_FN T emu_atom_and_##name(char *at, T v) \
    { \
        return __atomic_fetch_and((T *)(void *)at, v, __ATOMIC_SEQ_CST); \
    } \
    EMU_FN T emu_atom_or_##name(char *at, T v) \
    { \
        return __atomic_fetch_or((T *)(void *)at, v, __ATOMIC_SEQ_CST); \
    } \
    EMU_FN T emu_atom_xor_##name(char *at, T v) \
    { \
        return __atomic_fetch_xor((T *)(void *)at, v, __ATOMIC_SEQ_CST); \
    } \
    EMU_FN T emu_atom_exch_##name(char *at, T v) \
    { \
        return __atomic_exchange_n((T *)(void *)at, v, __ATOMIC_SEQ_CST); \
    } \
    EMU_FN T emu_atom_cas_##name(char *at, T old, T v) \
    { \
        (void)__atomic_compare_exchange_n((T *)(void *)at, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        return old; \
    } \
    EMU_FN T emu_atom_min_##name(char *at, T v) \
    { \
        T old = __atomic_load_n((T *)(void *)at, __ATOMIC_SEQ_CST); \
        while (v < old && \
               !__atomic_compare_exchange_n((T *)(void *)at, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
            continue; \
        return old; \
    } \
    EMU_FN T emu_atom_max_##name(char *at, T v) \
    { \
        T old = __atomic_load_n((T *)(void *)at, __ATOMIC_SEQ_CST); \
        while (v > old && \
               !__atomic_compare_exchange_n((T *)(void *)at, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) \
            continue; \
        return old; \
    }
EMU_ATOMIC(uint32_t, u32)
EMU_ATOMIC(int32_t, s32)
EMU_ATOMIC(uint64_t, u64)
EMU_ATOMIC(int64_t, s64)
#undef EMU_ATOMIC

#endif
