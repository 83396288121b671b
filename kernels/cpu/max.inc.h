/* SPDX-License-Identifier: Apache-2.0
 * The maximum of contiguous reals (CONTRACT 2.4) for one type. It does not depend on the order, so many partial ones
 * are kept; NaNs and zeros, where the machine's comparison knows less than the contract, are looked at apart. BITS is
 * the unsigned type of T's size. */
enum { FN(MAX_PARTS) = 64 };

/* best[l] = the greater of it and best[l + by] */
#define HALVE(by) \
    for (size_t l = 0; l < (by); l++) \
        best[l] = best[l + (by)] > best[l] ? best[l + (by)] : best[l];

static T FN(max_contiguous)(const T *x, size_t n)
{
    T best[FN(MAX_PARTS)], most = (T)-__builtin_inf();
    BITS strange[FN(MAX_PARTS)] = {0}, any = 0;
    size_t at = 0;

    if (n >= FN(MAX_PARTS)) {
        for (size_t l = 0; l < FN(MAX_PARTS); l++)
            best[l] = most;
        for (; at + FN(MAX_PARTS) <= n; at += FN(MAX_PARTS))
            for (size_t l = 0; l < FN(MAX_PARTS); l++) {
                const T value = x[at + l];

                best[l] = value > best[l] ? value : best[l];
                strange[l] |= value != value ? (BITS)-1 : 0;
            }
        for (size_t l = 0; l < FN(MAX_PARTS); l++)
            any |= strange[l];
        HALVE(32)
        HALVE(16)
        HALVE(8)
        HALVE(4)
        HALVE(2)
        most = best[1] > best[0] ? best[1] : best[0];
    }
    for (size_t i = at; i < n; i++) {
        most = x[i] > most ? x[i] : most;
        any |= x[i] != x[i];
    }
    if (any != 0)
        return (T)__builtin_nan("");
    for (size_t i = 0; most == 0 && i < n; i++)
        if (x[i] == 0 && !__builtin_signbit(x[i]))
            return 0;
    return most;
}
#undef HALVE
