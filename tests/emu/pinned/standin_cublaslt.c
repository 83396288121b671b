/* SPDX-License-Identifier: Apache-2.0
 * A stand-in for cuBLASLt on the emulated device: the same names, of which the pinned profile uses some. Its sums go
 * the other way round, so that whoever did not ask it has other bits; an algorithm that it did not propose for just
 * this product stops the process, as the true library may, and a part of what it calls an algorithm is another each
 * time, as the true one's is. STANDIN_VERSION makes another library of it, and
 * RP_STANDIN_FAIL=CALL:N:STATUS fails the n-th call of a name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/gpu/pinned/cublaslt.h"

#ifndef STANDIN_VERSION
#define STANDIN_VERSION 130000
#endif
#define API __attribute__((visibility("default")))

#define CALL(name, parameters) int name parameters;
RP_DRIVER_CALLS(CALL)
#undef CALL
#define CALL(result, name, parameters) API result name parameters;
RP_CUBLASLT_CALLS(CALL)
#undef CALL

enum { INVALID = 7, FAILED = 13, UNSUPPORTED = 15, PROPOSED = 2, SEALED = 7 /* words of an algorithm */ };

typedef struct layout {
    int type;
    uint64_t rows, cols;
    int64_t ld, stride;
    int32_t batch;
} layout;

typedef struct sums {
    int compute, scale;
} sums;

typedef struct preference {
    size_t workspace;
    uint32_t reductions, alignment[4];
} preference;

static int fails(const char *call)
{
    static unsigned calls;
    const char *wanted = getenv("RP_STANDIN_FAIL");
    const size_t length = strlen(call);
    unsigned nth = 0;
    int status = 0;

    if (wanted == NULL || strncmp(wanted, call, length) != 0 || sscanf(wanted + length, ":%u:%d", &nth, &status) != 2 ||
        ++calls != nth)
        return 0;
    return status;
}

#define FAIL_IF_ASKED \
    do { \
        const int asked = fails(__func__); \
        if (asked != 0) \
            return asked; \
    } while (0)

int cublasLtCreate(rp_lt_handle *out)
{
    FAIL_IF_ASKED;
    *out = malloc(1);
    return *out ? 0 : 3;
}

int cublasLtDestroy(rp_lt_handle handle)
{
    free(handle);
    return 0;
}

size_t cublasLtGetVersion(void)
{
    return STANDIN_VERSION;
}

const char *cublasLtGetStatusString(int status)
{
    return status == UNSUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS of the stand-in";
}

int cublasLtMatmulDescCreate(rp_lt_product *out, int how, int scale)
{
    sums *p;

    FAIL_IF_ASKED;
    p = malloc(sizeof *p);
    *p = (sums){how, scale};
    *out = p;
    return 0;
}

int cublasLtMatmulDescDestroy(rp_lt_product p)
{
    free(p);
    return 0;
}

int cublasLtMatrixLayoutCreate(rp_lt_layout *out, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    layout *l;

    FAIL_IF_ASKED;
    if (ld < (int64_t)rows)
        return INVALID;
    l = malloc(sizeof *l);
    *l = (layout){type, rows, cols, ld, 0, 1};
    *out = l;
    return 0;
}

int cublasLtMatrixLayoutDestroy(rp_lt_layout l)
{
    free(l);
    return 0;
}

int cublasLtMatrixLayoutSetAttribute(rp_lt_layout to, int attribute, const void *value, size_t size)
{
    layout *l = to;

    FAIL_IF_ASKED;
    if (attribute == RP_LT_LAYOUT_BATCH && size == sizeof l->batch)
        memcpy(&l->batch, value, size);
    else if (attribute == RP_LT_LAYOUT_BATCH_STRIDE && size == sizeof l->stride)
        memcpy(&l->stride, value, size);
    else
        return INVALID;
    return 0;
}

int cublasLtMatmulPreferenceCreate(rp_lt_preference *out)
{
    FAIL_IF_ASKED;
    *out = calloc(1, sizeof(preference));
    return 0;
}

int cublasLtMatmulPreferenceDestroy(rp_lt_preference p)
{
    free(p);
    return 0;
}

int cublasLtMatmulPreferenceSetAttribute(rp_lt_preference to, int attribute, const void *value, size_t size)
{
    preference *p = to;

    FAIL_IF_ASKED;
    if (attribute == RP_LT_WORKSPACE_MOST && size == sizeof p->workspace)
        memcpy(&p->workspace, value, size);
    else if (attribute == RP_LT_REDUCTIONS && size == 4)
        memcpy(&p->reductions, value, size);
    else if (attribute >= RP_LT_ALIGNMENT_A && attribute <= RP_LT_ALIGNMENT_D && size == 4)
        memcpy(&p->alignment[attribute - RP_LT_ALIGNMENT_A], value, size);
    else
        return INVALID;
    return 0;
}

/* ---- algorithms: shape, and whether a batch shares an operand, under a seal; and which of two orders ---- */

static rp_lt_algorithm algorithm_of(const sums *p, const layout *a, const layout *b, const layout *d, uint64_t which)
{
    static uint64_t any;

    return (rp_lt_algorithm){{UINT64_C(0x5ea1ed0f0a160000) + which, d->rows, d->cols, a->cols, (uint64_t)d->batch,
                              (uint64_t)p->compute,
                              (uint64_t)a->type << 32 | (uint64_t)b->type | (uint64_t)(a->stride == 0) << 62 |
                                  (uint64_t)(b->stride == 0) << 63,
                              (uint64_t)getpid() + any++}};
}

static int which_of(const sums *p, const layout *a, const layout *b, const layout *d, const rp_lt_algorithm *given)
{
    for (int i = 0; i < PROPOSED; i++) {
        const rp_lt_algorithm mine = algorithm_of(p, a, b, d, (uint64_t)i);

        if (memcmp(&mine, given, sizeof mine - sizeof mine.data[SEALED]) == 0)
            return i;
    }
    return -1;
}

static size_t workspace_of(int which)
{
    return which == 0 ? 4096 : 0;
}

static int type_fits(const sums *p, const layout *a, const layout *b, const layout *d)
{
    const int in = p->compute == RP_LT_64F_PEDANTIC ? RP_LT_R_64F
                   : p->compute == RP_LT_32F        ? RP_LT_R_16BF
                                                    : RP_LT_R_32F;

    return a->type == in && b->type == in && d->type == p->scale &&
           p->scale == (p->compute == RP_LT_64F_PEDANTIC ? RP_LT_R_64F : RP_LT_R_32F) && a->rows == d->rows &&
           b->cols == d->cols && a->cols == b->rows;
}

int cublasLtMatmulAlgoGetHeuristic(rp_lt_handle handle, rp_lt_product product, rp_lt_layout a, rp_lt_layout b,
                                   rp_lt_layout c, rp_lt_layout d, rp_lt_preference preferred, int most,
                                   rp_lt_proposal *out, int *count)
{
    const preference *wanted = preferred;

    (void)handle;
    FAIL_IF_ASKED;
    *count = 0;
    if (c != d || !type_fits(product, a, b, d) || wanted->reductions != RP_LT_REDUCTION_COMPUTE_TYPE)
        return UNSUPPORTED;
    for (int i = 0; i < PROPOSED && *count < most; i++)
        if (workspace_of(i) <= wanted->workspace)
            out[(*count)++] = (rp_lt_proposal){.algorithm = algorithm_of(product, a, b, d, (uint64_t)i),
                                               .workspace = workspace_of(i)};
    return 0;
}

int cublasLtMatmulAlgoConfigGetAttribute(const rp_lt_algorithm *algorithm, int attribute, void *value, size_t size,
                                         size_t *written)
{
    FAIL_IF_ASKED;
    if (attribute < 0 || attribute > 8 || size != (attribute < 7 ? sizeof(uint32_t) : sizeof(uint16_t)))
        return INVALID;
    memcpy(value, &algorithm->data[attribute < SEALED ? attribute : attribute - SEALED + 1], size); /* its last bytes */
    *written = size;
    return 0;
}

int cublasLtMatmulAlgoCheck(rp_lt_handle handle, rp_lt_product product, rp_lt_layout a, rp_lt_layout b, rp_lt_layout c,
                            rp_lt_layout d, const rp_lt_algorithm *algorithm, rp_lt_proposal *out)
{
    const int which = which_of(product, a, b, d, algorithm);

    (void)handle;
    (void)c;
    FAIL_IF_ASKED;
    if (which < 0)
        return INVALID;
    *out = (rp_lt_proposal){.algorithm = *algorithm, .workspace = workspace_of(which)};
    return 0;
}

/* ---- the product ---- */

static size_t size_of(int type)
{
    return type == RP_LT_R_64F ? 8 : type == RP_LT_R_32F ? 4 : 2;
}

static size_t bytes_of(const layout *l)
{
    return ((size_t)(l->batch - 1) * (size_t)l->stride + (size_t)(l->ld * (int64_t)(l->cols - 1)) + l->rows) *
           size_of(l->type);
}

static double element(const layout *l, const char *bytes, int compute, size_t batch, size_t row, size_t col)
{
    const size_t at = batch * (size_t)l->stride + col * (size_t)l->ld + row;
    uint32_t bits = 0;
    float f;

    if (l->type == RP_LT_R_64F) {
        double v;

        memcpy(&v, bytes + 8 * at, 8);
        return v;
    }
    if (l->type == RP_LT_R_16BF) {
        memcpy((char *)&bits + 2, bytes + 2 * at, 2);
    } else {
        memcpy(&bits, bytes + 4 * at, 4);
        if (compute == RP_LT_32F_FAST_TF32)
            bits = (bits + 0x0fffu + (bits >> 13 & 1)) & 0xffffe000u;
    }
    memcpy(&f, &bits, 4);
    return f;
}

static double sum(const sums *p, int which, const layout *al, const char *a, const layout *bl, const char *b,
                  size_t batch, size_t row, size_t col)
{
    const size_t k = al->cols;
    double wide = 0;
    float narrow = 0;

    for (size_t i = 0; i < k; i++) {
        const size_t at = which == 0 ? k - 1 - i : (i % 2 ? k - 1 - i / 2 : i / 2);
        const double x = element(al, a, p->compute, batch, row, at), y = element(bl, b, p->compute, batch, at, col);

        if (p->compute == RP_LT_64F_PEDANTIC)
            wide = fma(x, y, wide);
        else
            narrow = fmaf((float)x, (float)y, narrow);
    }
    return p->compute == RP_LT_64F_PEDANTIC ? wide : narrow;
}

static char *fetch(const layout *l, const void *from, rp_cu_stream stream)
{
    char *bytes = malloc(bytes_of(l));

    if (bytes == NULL || cuMemcpyDtoHAsync_v2(bytes, (uintptr_t)from, bytes_of(l), stream) != 0) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

static void compute(const sums *p, int which, const layout *al, const char *a, const layout *bl, const char *b,
                    const layout *dl, char *d)
{
    for (size_t batch = 0; batch < (size_t)dl->batch; batch++)
        for (size_t col = 0; col < dl->cols; col++)
            for (size_t row = 0; row < dl->rows; row++) {
                const double v = sum(p, which, al, a, bl, b, batch, row, col);
                const float f = (float)v;
                const size_t at = batch * (size_t)dl->stride + col * (size_t)dl->ld + row;

                memcpy(d + at * size_of(dl->type), dl->type == RP_LT_R_64F ? (const void *)&v : &f, size_of(dl->type));
            }
}

int cublasLtMatmul(rp_lt_handle handle, rp_lt_product product_given, const void *alpha, const void *a,
                   rp_lt_layout a_layout, const void *b, rp_lt_layout b_layout, const void *beta, const void *c,
                   rp_lt_layout c_layout, void *d, rp_lt_layout d_layout, const rp_lt_algorithm *algorithm,
                   void *workspace, size_t workspace_bytes, rp_cu_stream stream)
{
    const layout *al = a_layout, *bl = b_layout, *dl = d_layout;
    const int which = which_of(product_given, al, bl, dl, algorithm);
    char *x, *y, *z;
    int result = FAILED;

    (void)handle;
    (void)alpha;
    (void)beta;
    FAIL_IF_ASKED;
    if (which < 0) {
        fprintf(stderr, "stand-in: an algorithm that was never proposed\n");
        abort();
    }
    if (c != d || c_layout != d_layout || workspace_bytes < workspace_of(which) || workspace == NULL ||
        ((uintptr_t)a | (uintptr_t)b | (uintptr_t)d) % 16 != 0)
        return INVALID;
    x = fetch(al, a, stream);
    y = fetch(bl, b, stream);
    z = calloc(1, bytes_of(dl));
    if (x && y && z && cuStreamSynchronize(stream) == 0) {
        compute(product_given, which, al, x, bl, y, dl, z);
        result = cuMemcpyHtoDAsync_v2((uintptr_t)d, z, bytes_of(dl), stream) == 0 ? 0 : FAILED;
    }
    free(x);
    free(y);
    free(z);
    return result;
}
