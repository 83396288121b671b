/* SPDX-License-Identifier: Apache-2.0
 * Figures of groups from their counts. */
#include "core/stats/groups.h"

#include "core/stats/calibration.h"
#include "core/stats/distributions.h"
#include "determinism/bits.h"
#include "determinism/math.h"

static double real(uint64_t count)
{
    return (double)(int64_t)count;
}

static double ratio(uint64_t a, uint64_t b)
{
    return b ? real(a) / real(b) : rp_from_bits_f64(0x7FF8000000000000u);
}

static void against(rp_group *g, const rp_group *reference)
{
    const double z = rp_normal_quantile(0.975), none = rp_from_bits_f64(0x7FF8000000000000u);
    const double pooled = ratio(g->selected + reference->selected, g->rows + reference->rows);
    const double spread = 1 / real(g->rows) + 1 / real(reference->rows);
    double error;

    g->ratio = reference->selected ? g->rate / reference->rate : none;
    g->ratio_low = g->ratio_high = none;
    g->p = g->rate == reference->rate
               ? 1
               : rp_normal_two_sided((g->rate - reference->rate) / __builtin_sqrt((pooled * (1 - pooled)) * spread));
    if (g == reference || g->selected == 0 || reference->selected == 0)
        return;
    error = __builtin_sqrt((1 / real(g->selected) - 1 / real(g->rows)) +
                           (1 / real(reference->selected) - 1 / real(reference->rows)));
    g->ratio_low = g->ratio * rp_exp_f64(-(z * error));
    g->ratio_high = g->ratio * rp_exp_f64(z * error);
}

/* The largest less the least of the groups that have one. */
static double range(const rp_group *group, size_t n, double (*of)(const rp_group *))
{
    double least = 0, most = rp_from_bits_f64(0x7FF8000000000000u);

    for (size_t i = 0; i < n; i++) {
        const double x = of(&group[i]);

        if (x != x)
            continue;
        if (most != most)
            least = most = x;
        least = x < least ? x : least;
        most = x > most ? x : most;
    }
    return most - least;
}

static double rate_of(const rp_group *g)
{
    return g->rate;
}

static double true_rate_of(const rp_group *g)
{
    return g->true_positive_rate;
}

static double false_rate_of(const rp_group *g)
{
    return g->false_positive_rate;
}

void rp_compare_groups(rp_group_summary *out, rp_group *group, size_t n, int outcomes)
{
    double least, false_odds;

    *out = (rp_group_summary){.reference = 0};
    for (size_t i = 0; i < n; i++) {
        rp_group *g = &group[i];

        g->rate = ratio(g->selected, g->rows);
        rp_jeffreys(g->selected, g->rows, &g->rate_low, &g->rate_high);
        g->true_positive_rate = ratio(g->favourable_selected, outcomes ? g->favourable : 0);
        g->false_positive_rate = ratio(g->selected - g->favourable_selected, outcomes ? g->rows - g->favourable : 0);
        if (g->rate > group[out->reference].rate)
            out->reference = i;
    }
    least = group[0].rate;
    for (size_t i = 0; i < n; i++) {
        against(&group[i], &group[out->reference]);
        least = group[i].rate < least ? group[i].rate : least;
    }
    out->difference = range(group, n, rate_of);
    out->ratio = group[out->reference].selected ? least / group[out->reference].rate : group[0].ratio;
    out->opportunity = range(group, n, true_rate_of);
    false_odds = range(group, n, false_rate_of);
    out->odds = out->opportunity > false_odds || false_odds != false_odds ? out->opportunity : false_odds;
}
