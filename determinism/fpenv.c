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

/* One operation of the proof. Operands and result are volatile, so no compiler can do it at build time or move it
 * across the change of the control register. */
typedef struct proof32 {
    char op;
    uint32_t a, b, expected;
    const char *what;
} proof32;

typedef struct proof64 {
    char op;
    uint64_t a, b, expected;
    const char *what;
} proof64;

static const proof32 proofs32[] = {
    {'*', 0x00800000, 0x3F000000, 0x00400000, "binary32 subnormal result kept"},
    {'+', 0x00000001, 0x00000001, 0x00000002, "binary32 subnormal operand kept"},
    {'+', 0x3F800000, 0x33800000, 0x3F800000, "binary32 halfway to even, down"},
    {'+', 0x3F800001, 0x33800000, 0x3F800002, "binary32 halfway to even, up"},
    {'+', 0xBF800000, 0xB3800000, 0xBF800000, "binary32 negative halfway to even"},
    {'+', 0x3F800000, 0x33800001, 0x3F800001, "binary32 above halfway"},
    {'/', 0x3F800000, 0x40400000, 0x3EAAAAAB, "binary32 one third"},
};

static const proof64 proofs64[] = {
    {'*', 0x0010000000000000, 0x3FE0000000000000, 0x0008000000000000, "binary64 subnormal result kept"},
    {'+', 0x0000000000000001, 0x0000000000000001, 0x0000000000000002, "binary64 subnormal operand kept"},
    {'+', 0x3FF0000000000000, 0x3CA0000000000000, 0x3FF0000000000000, "binary64 halfway to even, down"},
    {'+', 0x3FF0000000000001, 0x3CA0000000000000, 0x3FF0000000000002, "binary64 halfway to even, up"},
    {'+', 0xBFF0000000000000, 0xBCA0000000000000, 0xBFF0000000000000, "binary64 negative halfway to even"},
    {'+', 0x3FF0000000000000, 0x3CA0000000000001, 0x3FF0000000000001, "binary64 above halfway"},
    {'/', 0x3FF0000000000000, 0x4008000000000000, 0x3FD5555555555555, "binary64 one third"},
};

/* volatile: the processor does it, not the compiler. */
#define COMPUTE(bits, T) \
    static uint##bits##_t compute##bits(const proof##bits *p) \
    { \
        volatile T a = rp_from_bits_f##bits(p->a); \
        volatile T b = rp_from_bits_f##bits(p->b); \
        volatile T result = p->op == '*' ? a * b : p->op == '/' ? a / b : a + b; \
\
        return rp_bits_f##bits(result); \
    }

COMPUTE(32, float)
COMPUTE(64, double)

static rp_status prove(rp_error *err)
{
    for (size_t i = 0; i < sizeof proofs32 / sizeof *proofs32; i++) {
        const proof32 *p = &proofs32[i];
        uint32_t found = compute32(p);

        if (found != p->expected)
            return rp_fail(err, RP_EFPENV,
                           "floating-point environment: %s: expected 0x%08" PRIx32 ", found 0x%08" PRIx32 " (" REGISTER
                           " 0x%" PRIx64 "); this host or thread cannot be brought under the contract",
                           p->what, p->expected, found, read_control());
    }
    for (size_t i = 0; i < sizeof proofs64 / sizeof *proofs64; i++) {
        const proof64 *p = &proofs64[i];
        uint64_t found = compute64(p);

        if (found != p->expected)
            return rp_fail(err, RP_EFPENV,
                           "floating-point environment: %s: expected 0x%016" PRIx64 ", found 0x%016" PRIx64
                           " (" REGISTER " 0x%" PRIx64 "); this host or thread cannot be brought under the contract",
                           p->what, p->expected, found, read_control());
    }
    return RP_OK;
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
