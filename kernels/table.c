/* SPDX-License-Identifier: Apache-2.0
 * The kernel tables and which of them this host can run. */
#include <stdlib.h>
#include <string.h>

#include "kernels/bags.h"
#include "kernels/dots.h"
#include "kernels/chain/epilogue.h"
#include "kernels/onto.h"

#define ROW(name) extern const rp_kernel rp_kernel_##name##_ref;
#define KERNEL(name, ...) ROW(name)
#include "kernels/operations.def"

static const rp_kernel_table table_ref = {"ref",
                                          {
#define ROW(name) [RP_K_##name] = &rp_kernel_##name##_ref,
#define KERNEL(name, ...) ROW(name)
#include "kernels/operations.def"
                                          },
                                          NULL};

/* A level's kernels that can go on with a chain. */
typedef struct epilogues {
    rp_epilogue_run *matmul, *conv2d, *conv2d_grad_input;
} epilogues;
#define DECLARE_EPILOGUES(level) \
    extern rp_epilogue_run rp_kernel_epilogue_run_##level, rp_kernel_conv2d_behind_##level, \
        rp_kernel_conv2d_grad_input_behind_##level
#define EPILOGUES(level) \
    { \
        rp_kernel_epilogue_run_##level, rp_kernel_conv2d_behind_##level, rp_kernel_conv2d_grad_input_behind_##level \
    }

/* The levels of this build, best last, and whether the processor and the operating system allow each. The compilers'
 * run-time check looks at CPUID and at XGETBV, so a system that does not save the wide registers is seen. */
#if defined(__x86_64__)
#define LEVEL_NAMES "ref", "sse2", "avx2", "avx512"
extern const rp_kernel_table rp_kernel_table_sse2, rp_kernel_table_avx2, rp_kernel_table_avx512;
static const rp_kernel_table *const built[] = {&table_ref, &rp_kernel_table_sse2, &rp_kernel_table_avx2,
                                               &rp_kernel_table_avx512};
extern rp_bags_run rp_bags_run_sse2, rp_bags_run_avx2, rp_bags_run_avx512;
static rp_bags_run *const bags[] = {NULL, rp_bags_run_sse2, rp_bags_run_avx2, rp_bags_run_avx512};
extern rp_dots_run rp_dots_run_sse2, rp_dots_run_avx2, rp_dots_run_avx512;
static rp_dots_run *const dots[] = {NULL, rp_dots_run_sse2, rp_dots_run_avx2, rp_dots_run_avx512};
extern const rp_kernel rp_kernel_matmul_onto_avx2, rp_kernel_matmul_onto_avx512;
static const rp_kernel *const onto[] = {NULL, NULL, &rp_kernel_matmul_onto_avx2, &rp_kernel_matmul_onto_avx512};
DECLARE_EPILOGUES(avx2);
DECLARE_EPILOGUES(avx512);
static const epilogues epilogue[] = {[2] = EPILOGUES(avx2), [3] = EPILOGUES(avx512)};

static bool host_has(size_t level)
{
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

    if (level == 2)
        return avx2;
    if (level == 3)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    return true;
}
#elif defined(__aarch64__)
#define LEVEL_NAMES "ref", "neon"
extern const rp_kernel_table rp_kernel_table_neon;
static const rp_kernel_table *const built[] = {&table_ref, &rp_kernel_table_neon};
extern rp_bags_run rp_bags_run_neon;
static rp_bags_run *const bags[] = {NULL, rp_bags_run_neon};
extern rp_dots_run rp_dots_run_neon;
static rp_dots_run *const dots[] = {NULL, rp_dots_run_neon};
extern const rp_kernel rp_kernel_matmul_onto_neon;
static const rp_kernel *const onto[] = {NULL, &rp_kernel_matmul_onto_neon};
DECLARE_EPILOGUES(neon);
static const epilogues epilogue[] = {[1] = EPILOGUES(neon)};

static bool host_has(size_t level)
{
    (void)level;
    return true;
}
#else
#define LEVEL_NAMES "ref"
static const rp_kernel_table *const built[] = {&table_ref};
static rp_bags_run *const bags[] = {NULL};
static rp_dots_run *const dots[] = {NULL};
static const rp_kernel *const onto[] = {NULL};
static const epilogues epilogue[] = {{NULL}};

static bool host_has(size_t level)
{
    (void)level;
    return true;
}
#endif

enum { BUILT = sizeof built / sizeof built[0] };

static const rp_kernel_table *find(const char *level)
{
    for (size_t i = 0; i < BUILT; i++)
        if (strcmp(built[i]->level, level) == 0 && host_has(i))
            return built[i];
    return NULL;
}

static bool known(const char *level)
{
    static const char *const names[] = {"ref", "sse2", "avx2", "avx512", "neon"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], level) == 0)
            return true;
    return false;
}

rp_status rp_kernel_table_get(const rp_kernel_table **out, const char *level, rp_error *err)
{
    const bool named = level != NULL && level[0] != '\0';
    const char *source = named ? "kernel level" : "RP_ISA";

    *out = NULL;
    if (!named)
        level = getenv("RP_ISA");
    if (level == NULL || level[0] == '\0') {
        for (size_t i = 0; i < BUILT; i++)
            if (host_has(i))
                *out = built[i];
        return RP_OK;
    }
    if (!known(level))
        return rp_fail(err, RP_EARG, "%s: expected ref, sse2, avx2, avx512 or neon, found '%.32s'", source, level);
    *out = find(level);
    if (*out == NULL)
        return rp_fail(err, RP_EUNSUPPORTED, "%s: this host or build cannot run '%s'; 'ref' runs everywhere", source,
                       level);
    return RP_OK;
}

rp_bags_run *rp_bags_of(const rp_kernel_table *table)
{
    for (size_t i = 0; i < BUILT; i++)
        if (built[i] == table)
            return bags[i];
    return NULL;
}

rp_dots_run *rp_dots_of(const rp_kernel_table *table)
{
    for (size_t i = 0; i < BUILT; i++)
        if (built[i] == table)
            return dots[i];
    return NULL;
}

const rp_kernel *rp_onto_of(const rp_kernel_table *table)
{
    for (size_t i = 0; i < BUILT; i++)
        if (built[i] == table)
            return onto[i];
    return NULL;
}

rp_epilogue_run *rp_epilogue_of(const rp_kernel_table *table, rp_kernel_id kernel)
{
    for (size_t i = 0; i < BUILT; i++)
        if (built[i] == table)
            return kernel == RP_K_matmul              ? epilogue[i].matmul
                   : kernel == RP_K_conv2d            ? epilogue[i].conv2d
                   : kernel == RP_K_conv2d_grad_input ? epilogue[i].conv2d_grad_input
                                                      : NULL;
    return NULL;
}

size_t rp_kernel_levels(const char *const **names)
{
    static const char *const all[] = {LEVEL_NAMES};
    size_t n = 0;

    /* a better level implies those before it, so the host's levels are a prefix of the build's */
    while (n < BUILT && host_has(n))
        n++;
    *names = all;
    return n;
}
