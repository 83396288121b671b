/* SPDX-License-Identifier: Apache-2.0
 * What the tests of prepared tables share: recipes, tables and schemas as texts. */
#ifndef TESTS_CORE_DATA_DATASET_STEPS_H
#define TESTS_CORE_DATA_DATASET_STEPS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "core/data/dataset.h"
#include "determinism/bits.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define HEAD "reprise: 1\ntrain: {batch: 1}\n"
#define ALL HEAD "data: {csv: a, target: y, train_on_all: true}\n"

static rp_recipe *parse(const char *yaml)
{
    rp_recipe *recipe = NULL;
    rp_error err = {0};

    if (rp_recipe_from_yaml(&recipe, yaml, strlen(yaml), "r.yaml", &err) != RP_OK)
        fail_msg("%s", err.text);
    return recipe;
}

static rp_dataset *prepare(const char *yaml, const char *csv)
{
    rp_recipe *recipe = parse(yaml);
    rp_dataset *dataset = NULL;
    rp_error err = {0};

    if (rp_dataset_prepare(&dataset, recipe, csv, strlen(csv), "d.csv", &(rp_table_options){.pool = NULL}, &err) !=
        RP_OK)
        fail_msg("%s", err.text);
    rp_recipe_free(recipe);
    return dataset;
}

static char *canonical(const rp_json *json)
{
    rp_buffer out = {0};
    char *text;

    assert_int_equal(rp_json_write(json, &out, NULL), RP_OK);
    text = rp_strndup((const char *)out.data, out.size);
    rp_buffer_free(&out);
    return text;
}

static const char mixed[] = "a,c,e,y\n1,x,0.5,no\n2,,0.5,yes\nNA,z,0.5,no\n6,x,0.5,yes\n";

#endif
