/* SPDX-License-Identifier: Apache-2.0
 * What the rows of operations.def say of kernels: names, flags and how many attributes. */
#include "kernels/kernel.h"

const char *rp_kernel_name(rp_kernel_id kernel)
{
    static const char *const names[RP_K_COUNT] = {
#define ROW(name) [RP_K_##name] = #name,
#define KERNEL(name, ...) ROW(name)
#include "kernels/operations.def"
    };

    return (unsigned)kernel < RP_K_COUNT ? names[kernel] : NULL;
}

unsigned rp_kernel_flags(rp_kernel_id kernel)
{
    static const unsigned flags[RP_K_COUNT] = {
#define MAP1(name, ...) [RP_K_##name] = RP_OP_OF_ONE,
#define MAP1P MAP1
#define MAP1Q MAP1
#define NUM1 MAP1
#define LOGIC1 MAP1
#define PAIR2 MAP1
#define MAP2(name, ...) [RP_K_##name] = RP_OP_OF_TWO,
#define NUM2 MAP2
#define LOGIC2 MAP2
#define INT2 MAP2
#define COMPARE(name, ...) [RP_K_##name] = RP_OP_OF_COMPARE,
#define OP(name, level, operands, outputs, flags_, ...) [RP_K_##name] = flags_,
#include "kernels/operations.def"
    };

    return flags[kernel];
}

/* Rows in order: a kernel, an operation without one, or an attribute of the row before. */
enum { NO_KERNEL = -1, ATTRIBUTE = -2 };

size_t rp_kernel_attributes(rp_kernel_id kernel)
{
    static const short rows[] = {
#define ROW(name) RP_K_##name,
#define KERNEL(name, ...) ROW(name)
#define VIEW(name, ...) NO_KERNEL,
#define MAP1P(name, ...) RP_K_##name, ATTRIBUTE,
#define MAP1Q(name, ...) RP_K_##name, ATTRIBUTE, ATTRIBUTE,
#define ATTR(op, name, kind) ATTRIBUTE,
#include "kernels/operations.def"
        NO_KERNEL};
    size_t at = 0, n = 0;

    while (at < sizeof rows / sizeof *rows && rows[at] != (short)kernel)
        at++;
    while (++at < sizeof rows / sizeof *rows && rows[at] == ATTRIBUTE)
        n++;
    return n;
}
