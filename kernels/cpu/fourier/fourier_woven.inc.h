/* SPDX-License-Identifier: Apache-2.0
 * Stages of fft of 2 and of odd primes with fewer transforms between each other than lanes, for one type: 4 and, where
 * a vector has 16 lanes, 8 of them. A vector is of several places, whose results lie apart. Parameters: those of
 * fourier_type.inc.h; ORDER(order, chunk) of fourier_alone.inc.h, which includes it. */

/* A vector of turns, each for `chunk` places, from turn p of a level on: what lies behind the last are other turns. */
RP_INLINE FN(pair) FN(turns_at)(const FN(pass) * a, size_t level, size_t p, int chunk)
{
    FN(pair) v;

    memcpy(&v.re, a->c + level + p, sizeof v.re);
    memcpy(&v.im, a->d + level + p, sizeof v.im);
#if LINE_LANES == 16
    if (chunk == 8)
        return (FN(pair)){__builtin_shufflevector(v.re, v.re, EIGHTFOLD_16_1),
                          __builtin_shufflevector(v.im, v.im, EIGHTFOLD_16_1)};
#endif
    (void)chunk;
    return (FN(pair)){__builtin_shufflevector(v.re, v.re, ORDER(FOURFOLD, 1)),
                      __builtin_shufflevector(v.im, v.im, ORDER(FOURFOLD, 1))};
}

/* A stage of two with 4 transforms between each other, fewer than lanes. */
RP_INLINE void FN(woven_two)(const FN(pass) * a, bool back, bool transposed)
{
    const ptrdiff_t half = (ptrdiff_t)(4 * a->m);

    for (ptrdiff_t begin = 0; begin < half; begin += FN(LANES)) {
        const ptrdiff_t i = WITHIN(begin, half);
        const FN(pair) w = FN(turns_at)(a, a->m, (size_t)i / 4, 4);
        const FN(rows) *from = transposed ? &a->y : &a->x;
        const FN(pair) e = FN(get)(from, transposed ? 2 * i : i);
        const FN(pair) f = FN(get)(from, transposed ? 2 * i + FN(LANES) : i + half);

        if (transposed) {
            const FN(pair) x = {__builtin_shufflevector(e.re, f.re, ORDER(EVEN, 4)),
                                __builtin_shufflevector(e.im, f.im, ORDER(EVEN, 4))};
            const FN(pair) y = {__builtin_shufflevector(e.re, f.re, ORDER(ODD, 4)),
                                __builtin_shufflevector(e.im, f.im, ORDER(ODD, 4))};
            const FN(pair) t = FN(turned)(y, w, back);

            FN(put)(&a->x, i, FN(plus)(x, t));
            FN(put)(&a->x, i + half, FN(minus)(x, t));
        } else {
            const FN(pair) x = FN(plus)(e, f), y = FN(turned)(FN(minus)(e, f), w, back);

            FN(put)
            (&a->y, 2 * i,
             (FN(pair)){__builtin_shufflevector(x.re, y.re, ORDER(LOW, 4)),
                        __builtin_shufflevector(x.im, y.im, ORDER(LOW, 4))});
            FN(put)
            (&a->y, 2 * i + FN(LANES),
             (FN(pair)){__builtin_shufflevector(x.re, y.re, ORDER(HIGH, 4)),
                        __builtin_shufflevector(x.im, y.im, ORDER(HIGH, 4))});
        }
    }
}

#if LINE_LANES == 16
typedef T FN(half) __attribute__((vector_size(VECTOR / 2)));

/* Halves of rows to and from places that far apart. */
RP_INLINE FN(vec) FN(get_halves)(const T *x, ptrdiff_t far)
{
    FN(half) a, b;

    memcpy(&a, x, sizeof a);
    memcpy(&b, x + far, sizeof b);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

RP_INLINE void FN(put_halves)(T *y, ptrdiff_t far, FN(vec) v)
{
    const FN(half) a = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
    const FN(half) b = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);

    memcpy(y, &a, sizeof a);
    memcpy(y + far, &b, sizeof b);
}

/* A stage of an odd prime with 8 transforms between each other, half as many as lanes. */
RP_INLINE void FN(woven_odd)(const FN(pass) * a, bool back, bool transposed)
{
    const ptrdiff_t part = (ptrdiff_t)(8 * a->m);
    const int r = a->radix;
    FN(pair) v[RP_FOURIER_PRIME];

    for (ptrdiff_t begin = 0; begin < part; begin += 16) {
        const ptrdiff_t i = WITHIN(begin, part);
        const size_t p = (size_t)i / 8;

        for (int j = 0; j < r; j++)
            if (transposed) {
                const ptrdiff_t at = i * r + 8 * j;

                v[j] = (FN(pair)){FN(get_halves)(a->y.re + at, 8 * r), FN(get_halves)(a->y.im + at, 8 * r)};
                if (j > 0)
                    v[j] = FN(turned)(v[j], FN(turns_at)(a, (size_t)j * a->m, p, 8), back);
            } else {
                v[j] = FN(get)(&a->x, i + j * part);
            }
        FN(fold)(v, r);
        for (int h = 0; h <= r / 2; h++) {
            const int one = back ? r - h : h, other = r - one;
            FN(pair) e = {{0}, {0}}, f = {{0}, {0}};

            if (h == 0)
                e = FN(whole)(v, r);
            else
                FN(results)(&e, &f, v, r, h, a->root_c, a->root_d);
            if (!transposed && h > 0) {
                e = FN(turned)(e, FN(turns_at)(a, (size_t)one * a->m, p, 8), back);
                f = FN(turned)(f, FN(turns_at)(a, (size_t)other * a->m, p, 8), back);
            }
            if (transposed) {
                FN(put)(&a->x, i + (h ? one : 0) * part, e);
                if (h > 0)
                    FN(put)(&a->x, i + other * part, f);
            } else {
                const ptrdiff_t at = i * r + 8 * (h ? one : 0), to = i * r + 8 * other;

                FN(put_halves)(a->y.re + at, 8 * r, e.re);
                FN(put_halves)(a->y.im + at, 8 * r, e.im);
                if (h > 0) {
                    FN(put_halves)(a->y.re + to, 8 * r, f.re);
                    FN(put_halves)(a->y.im + to, 8 * r, f.im);
                }
            }
        }
    }
}

#define ODD(back, transposed) \
    static void FN(woven_odd_##back##_##transposed)(const FN(pass) * a) \
    { \
        FN(woven_odd)(a, back, transposed); \
    }
ODD(0, 0)
ODD(0, 1)
ODD(1, 0)
ODD(1, 1)
#undef ODD
#endif

#define TWO(back, transposed) \
    static void FN(woven_two_##back##_##transposed)(const FN(pass) * a) \
    { \
        FN(woven_two)(a, back, transposed); \
    }
TWO(0, 0)
TWO(0, 1)
TWO(1, 0)
TWO(1, 1)
#undef TWO
