/* SPDX-License-Identifier: Apache-2.0
 * Programs of one sampled instruction, and their text, for the tests of programs and of plans. */
#ifndef TESTS_CORE_PROGRAM_SAMPLE_PROGRAM_H
#define TESTS_CORE_PROGRAM_SAMPLE_PROGRAM_H

#include <stdio.h>

#include "core/program/program.h"
#include "tests/core/program/op_samples.h"

static inline rp_buffer text_of(const rp_program *p)
{
    rp_buffer text = {0};

    assert_int_equal(rp_program_write(p, &text, NULL), RP_OK);
    return text;
}

/* The sample as a program of its own: x0, x1 .. -> result y, y1 ... */
static inline rp_program *sample_program(const op_sample *s)
{
    rp_program *p = rp_program_new();
    uint32_t in[7], out[RP_MAX_OUT];
    char name[24];
    rp_error err = {0};

    assert_non_null(p);
    for (int i = 0; i < s->n_in; i++) {
        snprintf(name, sizeof name, "x%d", i);
        assert_int_equal(rp_program_add_input(p, RP_INPUT_FEED, name, &s->in[i], &in[i], NULL), RP_OK);
    }
    if (rp_program_add_instr(p, rp_op_get(s->op), s->attr, in, (size_t)s->n_in, out, &err) != RP_OK)
        fail_msg("%s", err.text);
    /* a transposed or stretched view is no output: it is copied, as a one-operand concat */
    if (rp_op_get(s->op)->alias && p->value[out[0]].rank)
        assert_int_equal(
            rp_program_add_instr(p, rp_op_get(RP_OP_concat), (rp_attr[RP_MAX_ATTR]){{0}}, out, 1, out, NULL), RP_OK);
    for (int i = 0; i < rp_op_get(s->op)->n_out; i++) {
        snprintf(name, sizeof name, "y%d", i);
        assert_int_equal(rp_program_add_output(p, RP_OUTPUT_RESULT, name, out[i], NULL), RP_OK);
    }
    return p;
}

#endif
