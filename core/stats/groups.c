/* SPDX-License-Identifier: Apache-2.0
 * Figures of groups from their counts. */
#include "core/stats/groups.h"

#include "core/stats/calibration.h"
#include "core/stats/distributions.h"
#include "determinism/bits.h"
#include "determinism/math.h"

#include <stdbool.h>

static double real(uint64_t count)
{
    return (double)(int64_t)count;
}

static double ratio(uint64_t a, uint64_t b)
{
    return b ? real(a) / real(b) : rp_from_bits_f64(0x7FF8000000000000u);
}

/* Of a rate of 0 or 1 the interval of Katz takes the variance to be 0, or has none. */
static bool knows_no_variance(const rp_group *g)
{
    return g->selected == 0 || g->selected == g->rows;
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
    if (g == reference || knows_no_variance(g) || knows_no_variance(reference))
        return;
    error = __builtin_sqrt((1 / real(g->selected) - 1 / real(g->rows)) +
                           (1 / real(reference->selected) - 1 / real(reference->rows)));
    g->ratio_low = g->ratio * rp_exp_f64(-(z * error));
    g->ratio_high = g->ratio * rp_exp_f64(z * error);
}

static bool is_small(const rp_group *g)
{
    return g->rows < RP_GROUP_SMALL;
}

/* The largest less the least of the groups that have one and are not small. */
static double range(const rp_group *group, size_t n, double (*of)(const rp_group *))
{
    double least = 0, most = rp_from_bits_f64(0x7FF8000000000000u);

    for (size_t i = 0; i < n; i++) {
        const double x = of(&group[i]);

        if (x != x || is_small(&group[i]))
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

static void fill(rp_group *g, int outcomes)
{
    g->rate = ratio(g->selected, g->rows);
    rp_jeffreys(g->selected, g->rows, &g->rate_low, &g->rate_high);
    g->true_positive_rate = ratio(g->favourable_selected, outcomes ? g->favourable : 0);
    g->false_positive_rate = ratio(g->selected - g->favourable_selected, outcomes ? g->rows - g->favourable : 0);
}

/* Of twelve rows a rate says little, and the highest of many such rates is high by chance. */
static size_t highest(const rp_group *group, size_t n, size_t large)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if ((large == 0 || !is_small(&group[i])) && (best == n || group[i].rate > group[best].rate))
            best = i;
    return best;
}

/* Of two groups or more that are not small. */
static void summarise(rp_group_summary *out, const rp_group *group, size_t n)
{
    const rp_group *reference = &group[out->reference];
    double least = reference->rate, false_odds;

    for (size_t i = 0; i < n; i++)
        least = !is_small(&group[i]) && group[i].rate < least ? group[i].rate : least;
    out->difference = range(group, n, rate_of);
    out->ratio = reference->selected > 0 ? least / reference->rate : reference->ratio;
    out->opportunity = range(group, n, true_rate_of);
    false_odds = range(group, n, false_rate_of);
    out->odds = out->opportunity > false_odds || false_odds != false_odds ? out->opportunity : false_odds;
}

void rp_compare_groups(rp_group_summary *out, rp_group *group, size_t n, int outcomes)
{
    const double none = rp_from_bits_f64(0x7FF8000000000000u);
    size_t large = 0;

    for (size_t i = 0; i < n; i++) {
        fill(&group[i], outcomes);
        large += !is_small(&group[i]);
    }
    *out = (rp_group_summary){highest(group, n, large), none, none, none, none};
    for (size_t i = 0; i < n; i++)
        against(&group[i], &group[out->reference]);
    if (large >= 2)
        summarise(out, group, n);
}
