/* SPDX-License-Identifier: Apache-2.0
 * Stages of odd primes of fft, for one type: vectors of r rows at a time, of which those that lie opposite are added
 * and subtracted first.
 * Parameters: those of fourier_type.inc.h, which includes it. */

/* Sums and differences of rows j and r - j, 0 < j <= r / 2, to v[j] and v[r - j]; v[0] is left. */
RP_INLINE void FN(fold)(FN(pair) * v, int r)
{
    _Pragma("GCC unroll 4") for (int j = 1; j <= r / 2; j++)
    {
        const FN(pair) a = v[j], b = v[r - j];

        v[j] = FN(plus)(a, b);
        v[r - j] = FN(minus)(a, b);
    }
}

/* Of folded rows results h and r - h, 0 < h <= r / 2; roots: turns k n / r. */
RP_INLINE void FN(results)(FN(pair) * high, FN(pair) * low, const FN(pair) * v, int r, int h, const T *c, const T *d)
{
    FN(pair) a = v[0], p = {{0}, {0}};
    int k = 0;

    _Pragma("GCC unroll 4") for (int j = 1; j <= r / 2; j++)
    {
        FN(vec) by_re, by_im;

        k = k + h < r ? k + h : k + h - r;
        by_re = d[k] * v[r - j].re;
        by_im = d[k] * v[r - j].im;
        a.re = a.re + c[k] * v[j].re;
        a.im = a.im + c[k] * v[j].im;
        p.re = j == 1 ? by_re : p.re + by_re;
        p.im = j == 1 ? by_im : p.im + by_im;
    }
    *high = (FN(pair)){a.re - p.im, a.im + p.re};
    *low = (FN(pair)){a.re + p.im, a.im - p.re};
}

/* The sum of all rows, of folded ones. */
RP_INLINE FN(pair) FN(whole)(const FN(pair) * v, int r)
{
    FN(pair) sum = v[0];

    _Pragma("GCC unroll 4") for (int j = 1; j <= r / 2; j++) sum = FN(plus)(sum, v[j]);
    return sum;
}

/* A pass of one stage, of given->radix elements where `constant` is 0; v, w: room for as many, w only for a constant.
 */
RP_INLINE void FN(odd)(const FN(pass) * given, FN(pair) * v, FN(pair) * w, int constant, bool lanes, bool back,
                       bool transposed, int out)
{
    const FN(pass) a = FN(flat)(given);
    const int r = constant ? constant : a.radix;
    const ptrdiff_t x_row = (ptrdiff_t)a.s * a.x.step, y_row = (ptrdiff_t)a.s * a.y.step;
    const ptrdiff_t far = (ptrdiff_t)a.m * x_row;
    const FN(rows) *from = transposed ? &a.y : &a.x, *to = transposed ? &a.x : &a.y;
    const ptrdiff_t of_row = transposed ? y_row : far, row = transposed ? far : y_row;

    for (size_t p = 0; p < a.m; p++) {
        if (constant)
            _Pragma("GCC unroll 8") for (int h = 1; h < r; h++) w[h] = FN(turn_at)(&a, (size_t)h * a.m, p, lanes);
        for (size_t q = 0; q < a.s; q++) {
            const ptrdiff_t x = (ptrdiff_t)p * x_row + (ptrdiff_t)q * a.x.step;
            const ptrdiff_t y = (ptrdiff_t)p * r * y_row + (ptrdiff_t)q * a.y.step;

            for (ptrdiff_t begin = 0; begin < (ptrdiff_t)a.width; begin += FN(LANES)) {
                const ptrdiff_t i = WITHIN(begin, (ptrdiff_t)a.width);
                const ptrdiff_t of = i + (transposed ? y : x), at = i + (transposed ? x : y);

                _Pragma("GCC unroll 8") for (int j = 0; j < r; j++)
                {
                    v[j] = FN(get)(from, of + j * of_row);
                    if (transposed && j > 0)
                        v[j] = FN(turned)(v[j], constant ? w[j] : FN(turn_at)(&a, (size_t)j * a.m, p, lanes), back);
                }
                FN(fold)(v, r);
                FN(put_out)(to, at, FN(whole)(v, r), out, a.share);
                _Pragma("GCC unroll 4") for (int h = 1; h <= r / 2; h++)
                {
                    const int one = back ? r - h : h, other = r - one;
                    FN(pair) e, f;

                    FN(results)(&e, &f, v, r, h, a.root_c, a.root_d);
                    if (!transposed) {
                        e = FN(turned)(e, constant ? w[one] : FN(turn_at)(&a, (size_t)one * a.m, p, lanes), back);
                        f = FN(turned)(f, constant ? w[other] : FN(turn_at)(&a, (size_t)other * a.m, p, lanes), back);
                    }
                    FN(put_out)(to, at + one * row, e, out, a.share);
                    FN(put_out)(to, at + other * row, f, out, a.share);
                }
            }
        }
    }
}

#define ODD(r, lanes, back, transposed) \
    static void FN(odd_##r##_##lanes##_##back##_##transposed)(const FN(pass) * a) \
    { \
        FN(pair) v[(r) ? (r) : RP_FOURIER_PRIME], w[(r) ? (r) : 1]; \
\
        FN(odd)(a, v, w, r, lanes, back, transposed, OUT_PARTS); \
    }
#define ODDS(r) \
    ODD(r, 0, 0, 0) \
    ODD(r, 0, 0, 1) \
    ODD(r, 0, 1, 0) \
    ODD(r, 0, 1, 1) \
    ODD(r, 1, 0, 0) \
    ODD(r, 1, 0, 1) \
    ODD(r, 1, 1, 0) \
    ODD(r, 1, 1, 1)
ODDS(0)
ODDS(3)
ODDS(5)
ODDS(7)
#undef ODDS
#undef ODD
#define BOTH(r, lanes, back) \
    { \
        FN(odd_##r##_##lanes##_##back##_0), FN(odd_##r##_##lanes##_##back##_1) \
    }
#define ALL(r) \
    { \
        {BOTH(r, 0, 0), BOTH(r, 0, 1)}, \
        { \
            BOTH(r, 1, 0), BOTH(r, 1, 1) \
        } \
    }

/* Those of 3, 5, 7 and all others. */
static FN(pass_fn) *const FN(odd_passes)[4][2][2][2] = {ALL(3), ALL(5), ALL(7), ALL(0)};
#undef ALL
#undef BOTH

#define END(r, back, out) \
    static void FN(odd_end_##r##_##back##_##out)(const FN(pass) * a) \
    { \
        FN(pair) v[r], w[r]; \
\
        FN(odd)(a, v, w, r, false, back, false, out); \
    }
#define ENDS(r) \
    END(r, 0, OUT_SHARES) \
    END(r, 0, OUT_PAIRS) \
    END(r, 0, OUT_EXCHANGED) \
    END(r, 1, OUT_SHARES) \
    END(r, 1, OUT_PAIRS) \
    END(r, 1, OUT_EXCHANGED)
ENDS(3)
ENDS(5)
ENDS(7)
#undef ENDS
#undef END
#define END(r, back) \
    { \
        FN(odd_end_##r##_##back##_OUT_SHARES), FN(odd_end_##r##_##back##_OUT_PAIRS), \
            FN(odd_end_##r##_##back##_OUT_EXCHANGED) \
    }
#define ENDS(r) \
    { \
        END(r, 0), END(r, 1) \
    }

/* Last passes of 3, 5 and 7. */
static FN(pass_fn) *const FN(odd_ends)[3][2][3] = {ENDS(3), ENDS(5), ENDS(7)};
#undef ENDS
#undef END
