/* SPDX-License-Identifier: Apache-2.0
 * Learning rates as pure functions of the step, in binary64, as CONTRACT 12.5 and 16.3 write them. */
#include "determinism/fpenv.h"
#include "determinism/math.h"
#include "rp/nn.h"

static double rate(const rp_nn_schedule *s, double lr, uint64_t t)
{
    uint64_t after, span;

    if (t <= s->warmup)
        return lr * ((double)t / (double)s->warmup);
    after = t - 1 - s->warmup;
    if (s->curve == RP_NN_STEPS)
        return lr * rp_powi_f64(s->gamma, (int64_t)(after / (s->every ? s->every : 1)));
    if (s->curve != RP_NN_COSINE && s->curve != RP_NN_LINEAR)
        return lr;
    span = s->total > s->warmup ? s->total - s->warmup : 0;
    if (after >= span)
        return s->low;
    if (s->curve == RP_NN_LINEAR)
        return s->low + (lr - s->low) * (1.0 - (double)after / (double)span);
    return s->low + 0.5 * (lr - s->low) * (1.0 + rp_cospi_f64((double)after / (double)span));
}

double rp_nn_rate(const rp_nn_schedule *schedule, double lr, uint64_t t)
{
    rp_fpenv saved;
    double r;

    if (!schedule || t == 0 || rp_fpenv_enter(&saved, NULL, NULL) != RP_OK)
        return lr;
    r = rate(schedule, lr, t);
    rp_fpenv_leave(&saved);
    return r;
}
