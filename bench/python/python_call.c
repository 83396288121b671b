/* SPDX-License-Identifier: Apache-2.0
 * One eager call from C, of two small tensors, as bench/python/python_call.py makes it from Python: the processor's
 * nanoseconds, the least of several turns. */
#include <stdio.h>
#include <time.h>

#include "rp/rp.h"

enum { TURNS = 40, CALLS = 8000 };

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A step whose gradients are behind it, so that what is released goes at once, as in Python's eager steps. */
static double turn(rp_run *run, rp_error *err)
{
    static const float four[4] = {1, 2, 3, 4};
    const size_t shape[] = {4};
    rp_tensor a, b, total, grad;
    double begun, ended;

    if (rp_step_begin(run, err) != RP_OK)
        return 0;
    a = rp_feed(run, "a", RP_F32, 1, shape, four);
    b = rp_feed(run, "b", RP_F32, 1, shape, four);
    total = rp_sum(a, NULL, 0, false);
    rp_gradients(total, &a, 1, &grad);
    begun = now();
    for (int i = 0; i < CALLS; i++)
        rp_tensor_release(rp_add(a, b));
    ended = now();
    return rp_step_end(run, err) == RP_OK ? (ended - begun) / CALLS : 0;
}

int main(void)
{
    rp_run *run = NULL;
    rp_error err = {0};
    double least = 0;

    if (rp_run_new(&run, NULL, &err) != RP_OK)
        return fprintf(stderr, "%s\n", err.text), 1;
    for (int i = 0; i < TURNS && err.status == RP_OK; i++) {
        const double t = turn(run, &err);

        least = least == 0 || t < least ? t : least;
    }
    rp_run_free(run);
    printf("%.0f\n", least);
    return err.status != RP_OK;
}
