/* SPDX-License-Identifier: Apache-2.0
 * Limits of readers that recording keeps to: a step whose program nobody could parse is refused when it is made. The
 * real limit is a million instructions; here it is lowered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "audit/record/recorder_private.h"
#include "base/json.h"
#include "rp/rp.h"

static rp_status relu_step(rp_run *run, int times, rp_error *err)
{
    rp_tensor x;
    rp_status status = rp_step_begin(run, err);

    assert_int_equal(status, RP_OK);
    x = rp_state(run, "w");
    for (int i = 0; i < times; i++)
        x = rp_relu(x);
    rp_set_state(run, "w", x);
    return rp_step_end(run, err);
}

static void a_program_that_no_reader_takes_is_not_recorded(void **state)
{
    static const size_t shape[] = {1};
    static const float w[] = {1};
    rp_recorder *recorder;
    rp_run *run;
    rp_error err;

    (void)state;
    assert_int_equal(rp_run_new(&run, &(rp_run_options){.threads = 1}, &err), RP_OK);
    assert_int_equal(rp_run_add_state(run, "w", RP_F32, 1, shape, w, &err), RP_OK);
    assert_int_equal(rp_recorder_new(&recorder, run, &err), RP_OK);
    assert_int_equal(recorder->program_memory, RP_JSON_PROGRAM_MEMORY);
    recorder->program_memory = 1 << 18;
    assert_int_equal(relu_step(run, 500, &err), RP_OK); /* some 300 bytes an instruction */
    assert_int_equal(relu_step(run, 1500, &err), RP_EUNSUPPORTED);
    assert_non_null(strstr(err.text, "step 1: its program is too large to be recorded"));
    rp_recorder_free(recorder);
    rp_run_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_no_reader_takes_is_not_recorded),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
