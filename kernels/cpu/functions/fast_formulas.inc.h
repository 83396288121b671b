/* SPDX-License-Identifier: Apache-2.0
 * Formulas over functions of fast_f32.h, in binary32 over contiguous data: the rows FAST, VIA and BLOCK of
 * kernels/operations.def. A block goes through one function after another, in the first cache; each is correctly
 * rounded, so the bits are those of the formula. */
#ifndef KERNELS_CPU_FAST_FORMULAS_INC_H
#define KERNELS_CPU_FAST_FORMULAS_INC_H

/* Included by ref/elementwise.inc.h behind the maps of the functions, whose exact ways these use. */
#ifdef FAST_LANES

#define NOTHING(...)

/* The functions' own maps, for the rows that are FAST. */
#define FAST_ONLY_LOOP NOTHING
#define FAST_ONLY_OWN NOTHING
#define FAST_ONLY_FAST FAST_MAP
#define FAST_ONLY_BLOCK NOTHING
#define FAST_ONLY_VIA(f, before) NOTHING
#define FAST_ONLY_VIA2(f, g, before) NOTHING
#define MAP1(name, cost, way, ...) FAST_ONLY_##way(name)
#include "kernels/operations.def"

enum { FORMULA_BLOCK = 1024 };

/* Each takes at most FORMULA_BLOCK elements; y may be an input. soon: what is read and written next. */
typedef void fast_formula(float *y, const float *a, const float *b, size_t n, const fast_soon *soon);

static void gelu_grad_block(float *y, const float *g, const float *x, size_t n, const fast_soon *soon)
{
    float t[FORMULA_BLOCK], e[FORMULA_BLOCK];

    RP_EACH(i, n) t[i] = x[i] * (float)0x1.6a09e667f3bcdp-1;
    RP_EACH(i, n) e[i] = -0.5f * (x[i] * x[i]);
    fast_run(t, t, n, fast_erf, erf_exact, soon, NULL);
    fast_run(e, e, n, fast_exp, exp_exact, NULL, NULL);
    RP_EACH(i, n) y[i] = g[i] * (0.5f * (1.0f + t[i]) + x[i] * (e[i] * (float)0x1.9884533d43651p-2));
}

static void bce_logits_block(float *y, const float *x, const float *target, size_t n, const fast_soon *soon)
{
    float t[FORMULA_BLOCK];

    RP_EACH(i, n) t[i] = -__builtin_fabsf(x[i]);
    fast_run(t, t, n, fast_exp, exp_exact, soon, NULL);
    fast_run(t, t, n, fast_log1p, log1p_exact, NULL, NULL);
    RP_EACH(i, n) y[i] = (relu_f32(x[i]) - x[i] * target[i]) + t[i];
}

/* CONTRACT 3.1 for quotients below 2^28, of which no product nor difference rounds; the rest of them, and infinities,
 * by the formula. */
RP_INLINE void rest_block(float *y, const float *a, const float *b, size_t n, bool as_divisor)
{
    float some[FORMULA_BLOCK];
    int rare = 0;

    RP_EACH(i, n)
    {
        const double x = __builtin_fabs((double)a[i]), by = __builtin_fabs((double)b[i]), q = x / by;
        const double near = (q + 0x1p52) - 0x1p52, rest = x - (near > q ? near - 1 : near) * by;

        some[i] = (float)(rest < 0 ? rest + by : rest);
        rare |= !(q < 0x1p28 && by <= (double)__FLT_MAX__);
    }
    RP_EACH(i, n) some[i] = signed_as_f32(some[i], a[i]);
    for (size_t i = 0; rare && i < n; i++) {
        const double by = __builtin_fabs((double)b[i]);

        if (!(__builtin_fabs((double)a[i]) / by < 0x1p28 && by <= (double)__FLT_MAX__))
            some[i] = rest_f32(a[i], b[i]);
    }
    RP_EACH(i, n)
    y[i] = as_divisor && some[i] != 0 && (some[i] < 0) != (b[i] < 0) ? some[i] + b[i] : some[i];
}

static void fmod_block(float *y, const float *a, const float *b, size_t n, const fast_soon *soon)
{
    (void)soon;
    rest_block(y, a, b, n, false);
}

static void remainder_block(float *y, const float *a, const float *b, size_t n, const fast_soon *soon)
{
    (void)soon;
    rest_block(y, a, b, n, true);
}

/* The views' next blocks, or those of the next row, or, behind the last, what is at hand. */
RP_INLINE fast_soon formula_soon(const rp_walk *walk, size_t at)
{
    fast_soon soon = {{0}};

    for (size_t v = 0; v < FAST_SOON; v++) {
        const size_t of = v < walk->n_views ? v : 0;

        soon.at[v] = (uintptr_t)walk->at[of];
        if (at + FORMULA_BLOCK < walk->run)
            soon.at[v] += (at + FORMULA_BLOCK) * sizeof(float);
        else if (walk->rank > 1)
            soon.at[v] += (uintptr_t)walk->bytes[of][walk->rank - 2];
    }
    return soon;
}

RP_INLINE void formula_run(const rp_walk *walk, fast_formula *formula)
{
    float *y = walk->at[0];
    const float *a = walk->at[1], *b = walk->n_views > 2 ? walk->at[2] : a;

    for (size_t at = 0, count; at < walk->run; at += count) {
        const fast_soon soon = formula_soon(walk, at);

        count = walk->run - at < FORMULA_BLOCK ? walk->run - at : FORMULA_BLOCK;
        formula(y + at, a + at, b + at, count, &soon);
    }
}

#define FAST_FORMULA(name, last) \
    static void name##_fast_f32(const rp_walk *walk) \
    { \
        if (walk->step[0] == 1 && walk->step[1] == 1 && walk->step[last] == 1) \
            formula_run(walk, name##_block); \
        else \
            name##_map_f32(walk); \
    }

/* t = before of x, which `through` takes through its functions, then the formula of x and t. Where x itself goes
 * through them it is read where it lies: compilers make a copy a string instruction, which takes as long as sigmoid. */
#define FAST_VIA(name, let, through, before, formula) \
    static void name##_fast_f32(const rp_walk *walk) \
    { \
        float *to = walk->at[0], some[FORMULA_BLOCK]; \
        const float *from = walk->at[1]; \
        let \
\
            if (walk->step[0] != 1 || walk->step[1] != 1) \
        { \
            name##_map_f32(walk); \
            return; \
        } \
        for (size_t at = 0, count; at < walk->run; at += count) { \
            const bool itself = strcmp(#before, "x") == 0; \
            const fast_soon soon = fast_soon_from(walk, at); \
            const float *source = itself ? from + at : some; \
\
            count = walk->run - at < FORMULA_BLOCK ? walk->run - at : FORMULA_BLOCK; \
            const size_t copied = itself ? 0 : count; /* unoptimized, gcc warns of an annotated loop that it folds */ \
            RP_EACH(i, copied) \
            { \
                const float x = from[at + (size_t)i]; \
\
                some[i] = before; \
            } \
            through RP_EACH(i, count) \
            { \
                const float x = from[at + (size_t)i], t = some[i]; \
\
                to[at + (size_t)i] = formula; \
            } \
        } \
    }
#define APPLY(...) APPLY_TO(__VA_ARGS__)
#define APPLY_TO(row, ...) row(__VA_ARGS__)

/* The formulas are written in T. */
#include "kernels/type_f32.h"
#define GELU_SCALE ((T)0x1.6a09e667f3bcdp-1)

#define ROW_LOOP NOTHING
#define ROW_OWN NOTHING
#define ROW_FAST NOTHING
#define ROW_BLOCK NOTHING
#define THROUGH(f) \
    fast_run(some, source, count, fast_##f, f##_exact, &soon, NULL); \
    source = some;
#define ROW_VIA(f, before) VIA_ROW, THROUGH(f), before
#define ROW_VIA2(f, g, before) VIA_ROW, THROUGH(g) THROUGH(f), before
#define VIA_ROW(through, before, name, let, formula) FAST_VIA(name, let, through, before, formula)
#define MAP1(name, cost, way, domain, formula, ...) APPLY(ROW_##way, name, , formula)
#define MAP1P(name, cost, way, domain, p, p0, formula, ...) \
    APPLY(ROW_##way, name, const float p = (float)walk->attr[0].r;, formula)
#define MAP1Q(name, cost, way, domain, p, p0, q, q0, formula, ...) APPLY(ROW_##way, name, LET2(p, q), formula)
#define LET2(p, q) \
    const float p = (float)walk->attr[0].r; \
    const float q = (float)walk->attr[1].r;
#define MAP2(name, cost, way, ...) BLOCK_ONLY_##way(name, 2)
#define PAIR2 MAP2
#define NUM2_BLOCK(name, ...) FAST_FORMULA(name, 2)
#define BLOCK_ONLY_LOOP NOTHING
#define BLOCK_ONLY_OWN NOTHING
#define BLOCK_ONLY_BLOCK FAST_FORMULA
#include "kernels/operations.def"

#endif
#endif
