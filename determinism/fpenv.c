/* SPDX-License-Identifier: Apache-2.0
 * The floating-point environment of CONTRACT 2: read, set, prove by arithmetic, restore. The control register is
 * reached directly where fenv.h cannot express flush-to-zero (x86-64, aarch64). */
#include "determinism/fpenv.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>

#include "determinism/bits.h"

/* x87 and every other excess precision: such a build cannot give the contract's bits, so there is none. */
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "Reprise needs FLT_EVAL_METHOD 0: float in binary32, double in binary64 (x86: a 64-bit build)"
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "Reprise cannot be built with -ffast-math or -ffinite-math-only"
#endif

#if defined(__x86_64__)
#include <immintrin.h>

#define REGISTER "MXCSR"
/* Bits 6-15: DAZ, the six exception masks, rounding (2 bits), FTZ. The low six are sticky flags, not control. */
enum { CONTROL = 0xFFC0, WANTED = 0x1F80 };
enum { ROUNDING = 0x6000, FLUSH = 0x8040, TRAPS = 0x1F80, TRAPS_OFF = 0x1F80 };

static uint64_t read_control(void)
{
    return _mm_getcsr();
}
static void write_control(uint64_t v)
{
    _mm_setcsr((unsigned)v);
}

#elif defined(__aarch64__)

#define REGISTER "FPCR"
/* FIZ 0, AH 1, NEP 2, trap enables 8-12 and 15, EBF 13, FZ16 19, rounding 22-23, FZ 24, DN 25, AHP 26: all wanted 0.
 * DN only chooses NaN payloads, which are never observable; it is cleared so that all hosts run alike. */
enum { CONTROL = 0x07C8BF07, WANTED = 0 };
enum { ROUNDING = 0x00C00000, FLUSH = 0x01080001, TRAPS = 0x9F00, TRAPS_OFF = 0 };

static uint64_t read_control(void)
{
    uint64_t v;

    __asm__ volatile("mrs %0, fpcr" : "=r"(v) : : "memory");
    return v;
}

static void write_control(uint64_t v)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(v) : "memory");
}

#else
#include <fenv.h>

#define REGISTER "rounding mode"
/* Elsewhere only rounding can be set portably; the proof refuses a host that flushes subnormals. */
#define CONTROL UINT64_MAX
#define WANTED ((uint64_t)FE_TONEAREST)
#define ROUNDING UINT64_MAX
enum { FLUSH = 0, TRAPS = 0, TRAPS_OFF = 0 };

static uint64_t read_control(void)
{
    return (uint64_t)fegetround();
}
static void write_control(uint64_t v)
{
    fesetround((int)v);
}
#endif

/* The proof: operation, operands, the result that is expected, and what it shows. An eager step proves before every
 * instruction, so all are done in one straight line with one branch behind it. */
#define PROOFS_32(ROW) \
    ROW(*, 0x00800000, 0x3F000000, 0x00400000, "binary32 subnormal result kept") \
    ROW(+, 0x00000001, 0x00000001, 0x00000002, "binary32 subnormal operand kept") \
    ROW(+, 0x3F800000, 0x33800000, 0x3F800000, "binary32 halfway to even, down") \
    ROW(+, 0x3F800001, 0x33800000, 0x3F800002, "binary32 halfway to even, up") \
    ROW(+, 0xBF800000, 0xB3800000, 0xBF800000, "binary32 negative halfway to even") \
    ROW(+, 0x3F800000, 0x33800001, 0x3F800001, "binary32 above halfway") \
    ROW(/, 0x3F800000, 0x40400000, 0x3EAAAAAB, "binary32 one third")

#define PROOFS_64(ROW) \
    ROW(*, 0x0010000000000000, 0x3FE0000000000000, 0x0008000000000000, "binary64 subnormal result kept") \
    ROW(+, 0x0000000000000001, 0x0000000000000001, 0x0000000000000002, "binary64 subnormal operand kept") \
    ROW(+, 0x3FF0000000000000, 0x3CA0000000000000, 0x3FF0000000000000, "binary64 halfway to even, down") \
    ROW(+, 0x3FF0000000000001, 0x3CA0000000000000, 0x3FF0000000000002, "binary64 halfway to even, up") \
    ROW(+, 0xBFF0000000000000, 0xBCA0000000000000, 0xBFF0000000000000, "binary64 negative halfway to even") \
    ROW(+, 0x3FF0000000000000, 0x3CA0000000000001, 0x3FF0000000000001, "binary64 above halfway") \
    ROW(/, 0x3FF0000000000000, 0x4008000000000000, 0x3FD5555555555555, "binary64 one third")

/* Operands and results are volatile, so no compiler can do an operation at build time or move it across the change of
 * the control register. */
#define PROOF(bits, T) \
    typedef struct proof##bits { \
        union { \
            uint##bits##_t word; \
            T value; \
        } a, b; \
        uint##bits##_t expected; \
        const char *what; \
    } proof##bits;

#define ROW(op, a, b, expected, what) {{a}, {b}, expected, what},
PROOF(32, float)
PROOF(64, double)
static const volatile proof32 proof_32[] = {PROOFS_32(ROW)};
static const volatile proof64 proof_64[] = {PROOFS_64(ROW)};
#undef ROW
enum { N_32 = sizeof proof_32 / sizeof *proof_32, N_64 = sizeof proof_64 / sizeof *proof_64 };

typedef struct results {
    volatile float f32[N_32];
    volatile double f64[N_64];
} results;

/* Whether all results are those expected. */
static bool compute(results *r)
{
    uint64_t wrong = 0;
    size_t i = 0, k = 0;

#define ROW(op, a_bits, b_bits, expected, what) \
    r->f32[i] = proof_32[i].a.value op proof_32[i].b.value; \
    wrong |= rp_bits_f32(r->f32[i++]) ^ (expected);
    PROOFS_32(ROW)
#undef ROW
#define ROW(op, a_bits, b_bits, expected, what) \
    r->f64[k] = proof_64[k].a.value op proof_64[k].b.value; \
    wrong |= rp_bits_f64(r->f64[k++]) ^ (expected);
    PROOFS_64(ROW)
#undef ROW
    return wrong == 0;
}

static rp_status prove(rp_error *err)
{
    results r;

    if (compute(&r))
        return RP_OK;
    for (size_t i = 0; i < N_32; i++)
        if (rp_bits_f32(r.f32[i]) != proof_32[i].expected)
            return rp_fail(err, RP_EFPENV,
                           "floating-point environment: %s: expected 0x%08" PRIx32 ", found 0x%08" PRIx32 " (" REGISTER
                           " 0x%" PRIx64 "); this host or thread cannot be brought under the contract",
                           proof_32[i].what, proof_32[i].expected, rp_bits_f32(r.f32[i]), read_control());
    for (size_t i = 0;; i++) /* one of these it is then */
        if (rp_bits_f64(r.f64[i]) != proof_64[i].expected)
            return rp_fail(err, RP_EFPENV,
                           "floating-point environment: %s: expected 0x%016" PRIx64 ", found 0x%016" PRIx64
                           " (" REGISTER " 0x%" PRIx64 "); this host or thread cannot be brought under the contract",
                           proof_64[i].what, proof_64[i].expected, rp_bits_f64(r.f64[i]), read_control());
}

rp_status rp_fpenv_enter(rp_fpenv *saved, bool *repaired, rp_error *err)
{
    uint64_t before = read_control();
    bool differs = (before & CONTROL) != WANTED;
    rp_status status;

    if (differs)
        write_control((before & ~(uint64_t)CONTROL) | WANTED);
    status = prove(err);
    if (status) {
        write_control(before);
        return status;
    }
    saved->control = before;
    if (repaired)
        *repaired = differs;
    return RP_OK;
}

void rp_fpenv_leave(const rp_fpenv *saved)
{
    write_control(saved->control);
}

rp_status rp_fpenv_worker(rp_error *err)
{
    rp_fpenv saved;

    return rp_fpenv_enter(&saved, NULL, err);
}

void rp_fpenv_describe(char *out, size_t size)
{
    uint64_t v = read_control() & CONTROL; /* without the sticky flags, which say nothing */

    snprintf(out, size, REGISTER " 0x%" PRIx64 ": %s, subnormals %s, traps %s", v,
             (v & ROUNDING) == (WANTED & ROUNDING) ? "nearest even" : "NOT nearest even",
             FLUSH == 0  ? "proved by arithmetic"
             : v & FLUSH ? "FLUSHED"
                         : "kept",
             (v & TRAPS) == TRAPS_OFF ? "masked" : "ON");
}
