/* SPDX-License-Identifier: Apache-2.0
 * Programs come from archives, so an operation meets operands of every type: each row of the op table, with its
 * operands and its dtype attribute replaced by every type, is either computed or refused with RP_ESHAPE. What a shape
 * rule lets through and a kernel does not know is a crash here, and a stray write under the sanitizers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/run/run.h"
#include "tests/core/program/op_samples.h"

static unsigned long computed, refused;

static void try_types(rp_run *run, const op_sample *s, const rp_type *in, const rp_attr *attr)
{
    static const unsigned char zeros[1 << 14];
    rp_tensor x[7], out[RP_MAX_OUT];
    rp_error err = {0};
    rp_status status;

    assert_int_equal(rp_step_begin(run, NULL), RP_OK);
    for (int i = 0; i < s->n_in; i++) {
        char name[8];

        snprintf(name, sizeof name, "x%d", i);
        assert_true(rp_type_count(&in[i]) * 8 <= sizeof zeros);
        x[i] = rp_feed(run, name, in[i].dtype, in[i].rank, in[i].shape, zeros);
    }
    assert_int_equal(rp_graph_status(rp_step_graph(run), NULL), RP_OK);
    rp_emit(rp_step_graph(run), s->op, attr, x, (size_t)s->n_in, out);
    status = rp_step_end(run, &err);
    if (status != RP_OK && status != RP_ESHAPE)
        fail_msg("%s: %s", rp_op_get(s->op)->name, err.text);
    computed += status == RP_OK;
    refused += status == RP_ESHAPE;
}

/* Every set of operands, all of the set of that type. */
static void try_operands(rp_run *run, const op_sample *s, rp_dtype dtype)
{
    for (unsigned set = 0; set < 1u << s->n_in; set++) {
        rp_type in[7];

        memcpy(in, s->in, sizeof in);
        for (int i = 0; i < s->n_in; i++)
            if (set >> i & 1)
                in[i].dtype = dtype;
        try_types(run, s, in, s->attr);
    }
}

static void every_type_is_computed_or_refused(void **state)
{
    rp_run *run = NULL;

    (void)state;
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, NULL), RP_OK);
    for (size_t k = 0; k < OP_SAMPLES; k++)
        for (int dtype = 0; dtype < RP_DTYPE_COUNT; dtype++) {
            const op_sample *s = &op_samples[k];

            try_operands(run, s, (rp_dtype)dtype);
            for (int a = 0; a < RP_MAX_ATTR; a++)
                if (rp_op_get(s->op)->attr[a].kind == RP_ATTR_DTYPE) {
                    rp_attr attr[RP_MAX_ATTR];

                    memcpy(attr, s->attr, sizeof attr);
                    attr[a].i = dtype;
                    try_types(run, s, s->in, attr);
                }
        }
    printf("%lu computed, %lu refused\n", computed, refused);
    assert_true(computed > 1000 && refused > 1000);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_computed_or_refused),
    };

    return cmocka_run_group_tests_name("types of operands", tests, NULL, NULL);
}
