/* SPDX-License-Identifier: Apache-2.0
 * SLEEF's AVX-512 functions (at most 1 ulp; not correctly rounded) over an array, as a peer of bench/functions.c. */
#include <immintrin.h>
#include <sleef.h>
#include <string.h>

#include "sleef_peer.h"

#define RUN(name, function) \
    static void run_##name(float *y, const float *x, size_t n) \
    { \
        for (size_t i = 0; i + 16 <= n; i += 16) \
            _mm512_storeu_ps(y + i, function(_mm512_loadu_ps(x + i))); \
    }
#define U10(X) \
    X(exp) \
    X(log) \
    X(log1p) \
    X(tanh) \
    X(erf) X(expm1) X(exp2) X(log2) X(log10) X(sin) X(cos) X(tan) X(sinh) X(cosh) X(asin) X(acos) X(atan) X(cbrt)
#define X(name) RUN(name, Sleef_##name##f16_u10avx512f)
U10(X)
#undef X
RUN(erfc, Sleef_erfcf16_u15avx512f)

sleef_run *sleef_peer(const char *name)
{
    static const struct {
        const char *name;
        sleef_run *run;
    } all[] = {
#define X(name) {#name, run_##name},
        U10(X)
#undef X
            {"erfc", run_erfc},
    };

    for (size_t i = 0; __builtin_cpu_supports("avx512f") && i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].run;
    return NULL;
}
