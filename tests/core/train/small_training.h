/* SPDX-License-Identifier: Apache-2.0
 * Trainings by recipe on a table of 29 rows. */
#ifndef TESTS_CORE_TRAIN_SMALL_TRAINING_H
#define TESTS_CORE_TRAIN_SMALL_TRAINING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/train/train.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { ROWS = 29 };

static inline rp_recipe *recipe_of(const char *text)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    if (rp_recipe_from_yaml(&recipe, text, strlen(text), "r.yaml", &err) != RP_OK)
        fail_msg("%s", err.text);
    return recipe;
}

/* Two numeric columns exact in binary32 and a class that leans on them; kind 2: three classes, kind 0: a number. */
static inline void write_csv(char *out, size_t size, int kind)
{
    size_t used = (size_t)snprintf(out, size, "a,b,y\n");

    for (int i = 0; i < ROWS; i++) {
        int a = i * 7 % 13 - 6, b = i * 5 % 11 - 5, y = a + i % 3;

        used += (size_t)snprintf(out + used, size - used, "%d.5,%d.25,", a, b);
        if (kind == 0)
            used += (size_t)snprintf(out + used, size - used, "%d\n", y);
        else
            used += (size_t)snprintf(out + used, size - used, "%s\n",
                                     y > 1                 ? "yes"
                                     : kind == 2 && y < -2 ? "low"
                                                           : "no");
    }
}

static inline rp_trainer *trainer_of(rp_recipe *recipe, int kind, const char *level, unsigned threads)
{
    static char csv[4096]; /* borrowed only while the trainer is made */
    rp_trainer *t = NULL;
    rp_error err = {0};

    write_csv(csv, sizeof csv, kind);
    if (rp_trainer_new(&t, recipe, &(rp_source_text){csv, strlen(csv), "d.csv", NULL, NULL},
                       &(rp_run_options){.threads = threads, .level = level}, &err) != RP_OK)
        fail_msg("%s", err.text);
    return t;
}

static inline void step(rp_trainer *t)
{
    rp_error err = {0};

    if (rp_trainer_step(t, &err) != RP_OK)
        fail_msg("%s", err.text);
}

static inline void assert_bits(const char *what, uint64_t at, float expected, float found)
{
    if (rp_bits_f32(expected) != rp_bits_f32(found))
        fail_msg("%s at step %d: expected %a, found %a", what, (int)at, (double)expected, (double)found);
}

#define WIDE \
    "reprise: 1\nseed: 9\ndata: {csv: d.csv, target: y, folds: 3}\n" \
    "model: {hidden: [24, 8], activation: gelu, dropout: 0.25, layer_norm: true}\n" \
    "train: {epochs: 3, batch: 12, shards: 3, accumulate: 2, clip_norm: 0.5, optimizer: {kind: %s, lr: 0.05}, " \
    "schedule: {kind: cosine, warmup_steps: 3, min_lr: 0.001}}\n"

#endif
