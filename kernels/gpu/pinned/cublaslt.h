/* SPDX-License-Identifier: Apache-2.0
 * cuBLASLt as the pinned profile uses it: found when a device enters the profile, with declarations of our own, so that
 * a build needs none of its headers. The names and values are those of its interface, version 13. */
#ifndef KERNELS_GPU_PINNED_CUBLASLT_H
#define KERNELS_GPU_PINNED_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/gpu/driver_abi.h"
#include "kernels/pinned/pinned.h"

typedef void *rp_lt_handle, *rp_lt_product, *rp_lt_layout, *rp_lt_preference;

typedef struct rp_lt_algorithm {
    uint64_t data[8];
} rp_lt_algorithm;

typedef struct rp_lt_proposal {
    rp_lt_algorithm algorithm;
    size_t workspace;
    int state; /* 0: it may be used */
    float waves;
    int reserved[4];
} rp_lt_proposal;

enum {
    RP_LT_R_32F = 0, /* element types */
    RP_LT_R_64F = 1,
    RP_LT_R_16BF = 14,
    RP_LT_32F = 68, /* how sums are formed */
    RP_LT_32F_PEDANTIC = 69,
    RP_LT_64F_PEDANTIC = 71,
    RP_LT_32F_FAST_TF32 = 77,
    RP_LT_LAYOUT_BATCH = 5, /* attributes of layouts: int32_t, int64_t elements */
    RP_LT_LAYOUT_BATCH_STRIDE = 6,
    RP_LT_WORKSPACE_MOST = 1, /* of preferences: size_t */
    RP_LT_REDUCTIONS = 3,     /* uint32_t */
    RP_LT_ALIGNMENT_A = 5,    /* uint32_t, and those of b, c, d behind it */
    RP_LT_ALIGNMENT_D = 8,
    RP_LT_REDUCTION_COMPUTE_TYPE = 2 /* parts of a split k are added in the compute type */
    /* Attributes of an algorithm, 0 to 8: its number, tile, parts of k, how these are added, order of tiles, an option
     * of its own, stages (4 bytes each), inner shape, shape of a cluster (2 bytes each). */
};

/* CALL(result, name, parameters) */
#define RP_CUBLASLT_CALLS(CALL) \
    CALL(int, cublasLtCreate, (rp_lt_handle * out)) \
    CALL(int, cublasLtDestroy, (rp_lt_handle handle)) \
    CALL(size_t, cublasLtGetVersion, (void)) \
    CALL(const char *, cublasLtGetStatusString, (int status)) \
    CALL(int, cublasLtMatmulDescCreate, (rp_lt_product * out, int compute, int scale)) \
    CALL(int, cublasLtMatmulDescDestroy, (rp_lt_product product)) \
    CALL(int, cublasLtMatrixLayoutCreate, (rp_lt_layout * out, int type, uint64_t rows, uint64_t cols, int64_t ld)) \
    CALL(int, cublasLtMatrixLayoutDestroy, (rp_lt_layout layout)) \
    CALL(int, cublasLtMatrixLayoutSetAttribute, (rp_lt_layout layout, int attribute, const void *value, size_t size)) \
    CALL(int, cublasLtMatmulPreferenceCreate, (rp_lt_preference * out)) \
    CALL(int, cublasLtMatmulPreferenceDestroy, (rp_lt_preference preference)) \
    CALL(int, cublasLtMatmulPreferenceSetAttribute, \
         (rp_lt_preference preference, int attribute, const void *value, size_t size)) \
    CALL(int, cublasLtMatmulAlgoGetHeuristic, \
         (rp_lt_handle handle, rp_lt_product product, rp_lt_layout a, rp_lt_layout b, rp_lt_layout c, rp_lt_layout d, \
          rp_lt_preference preference, int most, rp_lt_proposal *out, int *count)) \
    CALL(int, cublasLtMatmulAlgoConfigGetAttribute, \
         (const rp_lt_algorithm *algorithm, int attribute, void *value, size_t size, size_t *written)) \
    CALL(int, cublasLtMatmulAlgoCheck, \
         (rp_lt_handle handle, rp_lt_product product, rp_lt_layout a, rp_lt_layout b, rp_lt_layout c, rp_lt_layout d, \
          const rp_lt_algorithm *algorithm, rp_lt_proposal *out)) \
    CALL(int, cublasLtMatmul, \
         (rp_lt_handle handle, rp_lt_product product, const void *alpha, const void *a, rp_lt_layout a_layout, \
          const void *b, rp_lt_layout b_layout, const void *beta, const void *c, rp_lt_layout c_layout, void *d, \
          rp_lt_layout d_layout, const rp_lt_algorithm *algorithm, void *workspace, size_t workspace_bytes, \
          rp_cu_stream stream))

typedef struct rp_cublaslt {
    void *file;
    rp_lt_handle handle; /* NULL: only loaded */
#define CALL(result, name, parameters) result(*name) parameters;
    RP_CUBLASLT_CALLS(CALL)
#undef CALL
} rp_cublaslt;

/* Loads the library for a device kind ("cuda", "emulated") and says what it is: RP_CUBLASLT_LIBRARY names it; else the
 * host's, or for the emulated device the stand-in beside its driver. It stays loaded. Errors: RP_EUNSUPPORTED
 * with the way out. */
rp_status rp_cublaslt_load(rp_cublaslt **out, rp_pinned_library *identity, const char *kind, const char *driver,
                           rp_error *err);
void rp_cublaslt_close(rp_cublaslt *library); /* NULL is fine */
/* RP_OK for 0; else the error names the call and what the library says of it. */
rp_status rp_cublaslt_result(const rp_cublaslt *library, int result, const char *call, rp_error *err);
/* The file that a function was loaded from, as far as the loader knows. Errors: RP_EUNSUPPORTED, also where another
 * file has taken its place meanwhile. */
rp_status rp_loaded_file(char path[4096], void *function, const char *name, rp_error *err);

#endif
