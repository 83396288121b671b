/* SPDX-License-Identifier: Apache-2.0
 * The tests of JSON lie in two files: what is read (test_json.c), and what is done with values (json_values.c). */
#ifndef TESTS_BASE_JSON_TESTS_H
#define TESTS_BASE_JSON_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/memory.h"

/* An allocator that counts. */
typedef struct json_heap {
    size_t live, peak, calls, fail; /* bytes, bytes; the fail-th call fails, 0: none */
} json_heap;
extern json_heap heap;
extern const rp_allocator counting;

void parts_outlive_their_whole(void **state);
void parts_are_handed_over_and_forgotten(void **state);
void parts_are_as_strict_as_their_whole(void **state);
void parts_take_the_memory_of_one(void **state);
void parsed_values_cannot_be_changed_and_their_copies_can(void **state);
void what_cannot_be_said_is_not_built(void **state);
void formats_are_packed(void **state);
void kinds_answer_only_for_themselves(void **state);
void large_objects_take_no_quadratic_time(void **state);

#endif
