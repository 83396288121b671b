/* SPDX-License-Identifier: Apache-2.0
 * The numbers that models are given here and in torch_values.py, and how a tensor is held against what that wrote. */
#ifndef TESTS_CORE_NN_TORCH_NUMBERS_H
#define TESTS_CORE_NN_TORCH_NUMBERS_H

/* A tensor by its name: its products with sin(0.7 i) and sin(0.7 i + 1). */
typedef struct torch_part {
    const char *name;
    double a, b;
} torch_part;

/* FNV-1a of the name, then a linear congruential generator: -1/2 .. 1/2. */
static inline void torch_numbers(const char *name, float *out, size_t count)
{
    uint32_t seed = 2166136261u;

    for (; *name; name++)
        seed = (seed ^ (unsigned char)*name) * 16777619u;
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 23) / 512.0f - 0.5f;
    }
}

static inline void torch_near(const char *row, const char *name, const torch_part *part, size_t parts,
                              const double *value, size_t count, double within)
{
    double product[2] = {0};

    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 2; j++)
            product[j] += value[i] * sin(0.7 * (double)i + j);
    for (size_t i = 0; i < parts && part[i].name; i++)
        if (strcmp(part[i].name, name) == 0) {
            if (!(fabs(part[i].a - product[0]) < within && fabs(part[i].b - product[1]) < within))
                fail_msg("%s: %s: expected %.9g and %.9g, found %.9g and %.9g", row, name, part[i].a, part[i].b,
                         product[0], product[1]);
            return;
        }
    fail_msg("%s: PyTorch has no %s", row, name);
}

#endif
