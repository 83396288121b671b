/* SPDX-License-Identifier: Apache-2.0
 * Accuracy of the orders that the contract chose between: rms relative error of 20 sums and 20 dot products of 10^6
 * non-negative binary32 numbers, against binary64. Prints the tables of docs/decisions/0001 and 0002.
 *   cc -std=c11 -O2 -ffp-contract=off -o /tmp/orders docs/decisions/orders.c -lm && /tmp/orders */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { N = 1000000, TRIALS = 20, LANES = 64, LANE_CHUNK = 4096 };

static float a[N], b[N];
static uint64_t state = 1;

static float uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(state >> 40) * 0x1p-24f;
}

/* Chains of `chunk` fma each, their sums added left to right; chunk N: one unbroken chain. */
static float dot(size_t chunk)
{
    float total = 0;

    for (size_t at = 0; at < N; at += chunk) {
        float c = 0;

        for (size_t l = at; l < at + chunk && l < N; l++)
            c = fmaf(a[l], b[l], c);
        total = at ? total + c : c;
    }
    return total;
}

static float left_to_right(const float *x, size_t n)
{
    float total = 0;

    for (size_t i = 0; i < n; i++)
        total += x[i];
    return total;
}

/* CONTRACT 4.1; the chunk sums overwrite x. */
static float lanes(float *x, size_t n)
{
    size_t chunks = (n + LANE_CHUNK - 1) / LANE_CHUNK;

    for (size_t k = 0; k < chunks; k++) {
        float lane[LANES] = {0};

        for (size_t i = k * LANE_CHUNK; i < n && i < (k + 1) * LANE_CHUNK; i++)
            lane[i % LANES] += x[i];
        for (size_t width = LANES / 2; width; width /= 2)
            for (size_t l = 0; l < width; l++)
                lane[l] += lane[l + width];
        x[k] = lane[0];
    }
    return chunks > 1 ? lanes(x, chunks) : x[0];
}

static double square(double found, double exact)
{
    return (found / exact - 1) * (found / exact - 1);
}

int main(void)
{
    static const size_t chunk[] = {N, 1024, 512, 256};
    double dots[4] = {0}, plain = 0, laned = 0;

    for (int trial = 0; trial < TRIALS; trial++) {
        double dot_exact = 0, sum_exact = 0;

        for (size_t i = 0; i < N; i++) {
            a[i] = uniform();
            b[i] = uniform();
            dot_exact += (double)a[i] * (double)b[i];
            sum_exact += (double)a[i];
        }
        for (size_t i = 0; i < 4; i++)
            dots[i] += square((double)dot(chunk[i]), dot_exact);
        plain += square((double)left_to_right(a, N), sum_exact);
        laned += square((double)lanes(a, N), sum_exact);
    }
    for (size_t i = 0; i < 4; i++)
        printf("dot product, chains of %7zu: %.1e\n", chunk[i], sqrt(dots[i] / TRIALS));
    printf("sum, left to right:          %.1e\n", sqrt(plain / TRIALS));
    printf("sum, 64 lanes:               %.1e\n", sqrt(laned / TRIALS));
    return 0;
}
