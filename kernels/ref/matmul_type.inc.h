/* SPDX-License-Identifier: Apache-2.0
 * CONTRACT 4.4 for one type: k in chunks of 512, each an ascending fma chain from +0, their sums added left to
 * right. SOURCE is what the operands are stored as, OF(x) its value in T; where b is stored otherwise SOURCE_B and
 * OF_B, which end here. */
#ifndef SOURCE_B
#define SOURCE_B SOURCE
#define OF_B OF
#endif

static T FN(dot)(const SOURCE *a, ptrdiff_t a_step, const SOURCE_B *b, ptrdiff_t b_step, size_t k)
{
    T total = 0;

    for (size_t start = 0; start < k; start += RP_MATMUL_CHUNK) {
        const size_t stop = k - start < RP_MATMUL_CHUNK ? k : start + RP_MATMUL_CHUNK;
        T chain = 0;

        for (size_t i = start; i < stop; i++)
            chain = FN(rp_fma)(OF(a[(ptrdiff_t)i * a_step]), OF_B(b[(ptrdiff_t)i * b_step]), chain);
        total = start == 0 ? chain : total + chain;
    }
    return total;
}

static inline void FN(rows)(const rp_matmul *p, size_t begin, size_t end)
{
    const SOURCE *a = (const SOURCE *)p->a;
    const SOURCE_B *b = (const SOURCE_B *)p->b;
    T *y = (T *)p->y;

    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j < p->n; j++)
            y[(ptrdiff_t)i * p->y_row + (ptrdiff_t)j * p->y_col] =
                FN(dot)(a + (ptrdiff_t)i * p->a_row, p->a_col, b + (ptrdiff_t)j * p->b_col, p->b_row, p->k);
}

#undef SOURCE_B
#undef OF_B
