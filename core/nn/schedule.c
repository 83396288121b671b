/* SPDX-License-Identifier: Apache-2.0
 * Learning rates as pure functions of the step, in binary64, as CONTRACT 12.5 and 16.3 write them. */
#include "determinism/fpenv.h"
#include "determinism/math.h"
#include "rp/nn.h"

/* From `from` to `to` by half a cosine, a fraction of the way. */
static double swung(double from, double to, double fraction)
{
    return to + 0.5 * (from - to) * (1.0 + rp_cospi_f64(fraction));
}

/* Step 1 has start, step W lr, step T low. */
static double one_cycle(const rp_nn_schedule *s, double lr, uint64_t t)
{
    const double start = s->start != 0 ? s->start : lr / 25.0;

    if (t < s->warmup)
        return swung(start, lr, (double)(t - 1) / (double)(s->warmup - 1));
    if (t >= s->total)
        return s->low;
    return t <= s->warmup ? lr : swung(lr, s->low, (double)(t - s->warmup) / (double)(s->total - s->warmup));
}

/* After the warm-up, `after` steps behind it. */
static double decayed(const rp_nn_schedule *s, double lr, uint64_t after)
{
    const uint64_t span = s->total > s->warmup ? s->total - s->warmup : 0, every = s->every ? s->every : 1;

    switch (s->curve) {
    case RP_NN_STEPS:
        return lr * rp_powi_f64(s->gamma, (int64_t)(after / every));
    case RP_NN_EXPONENTIAL:
        return lr * rp_powi_f64(s->gamma, (int64_t)after);
    case RP_NN_RESTARTS:
        return s->low + 0.5 * (lr - s->low) * (1.0 + rp_cospi_f64((double)(after % every) / (double)every));
    case RP_NN_LINEAR:
        return after >= span ? s->low : s->low + (lr - s->low) * (1.0 - (double)after / (double)span);
    case RP_NN_COSINE:
        return after >= span ? s->low
                             : s->low + 0.5 * (lr - s->low) * (1.0 + rp_cospi_f64((double)after / (double)span));
    default:
        return lr;
    }
}

static double rate(const rp_nn_schedule *s, double lr, uint64_t t)
{
    if (s->curve == RP_NN_ONE_CYCLE)
        return one_cycle(s, lr, t);
    if (t <= s->warmup)
        return lr * ((double)t / (double)s->warmup);
    if (s->curve == RP_NN_INVERSE_ROOT)
        return lr * __builtin_sqrt((double)(s->warmup ? s->warmup : 1) / (double)t);
    return decayed(s, lr, t - 1 - s->warmup);
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
