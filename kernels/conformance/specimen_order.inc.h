/* SPDX-License-Identifier: Apache-2.0
 * Specimens of Fourier transforms, of order and of places along an axis. */
static void build_sort(rp_specimen *s, const rp_specimen_plan *plan)
{
    RP_AT(s->attr, sort, descending).i = plan->option % 2;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, RP_I64, 3, plan->shape);
}

/* One, all, all but one, or a tenth of them. */
static void build_topk(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t n = plan->shape[2], most[4] = {1, n, n > 0 ? n - 1 : 0, n / 10};
    const size_t k = most[plan->option / 2 % 4] < n ? most[plan->option / 2 % 4] : n;
    const size_t shape[3] = {plan->shape[0], plan->shape[1], k};

    RP_AT(s->attr, topk, k).i = (int64_t)k;
    RP_AT(s->attr, topk, largest).i = plan->option % 2;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, plan->dtype, 3, shape);
    add_out(s, plan, RP_I64, 3, shape);
}

/* Lines of the greatest length that fft takes, or of the longest power of two, that is at most the plan's. */
static void build_fft(rp_specimen *s, const rp_specimen_plan *plan)
{
    size_t shape[3] = {plan->shape[0], plan->shape[1], 1};
    rp_fourier_factors factors;

    if (plan->option / 4 % 2 == 1)
        for (shape[2] = plan->shape[2] > 0 ? plan->shape[2] : 1; !rp_fourier_factor(&factors, shape[2]);)
            shape[2]--;
    else
        while (2 * shape[2] <= plan->shape[2])
            shape[2] *= 2;
    RP_AT(s->attr, fft, inverse).i = plan->option % 2;
    RP_AT(s->attr, fft, transposed).i = plan->option / 2 % 2;
    add_in(s, plan, plan->dtype, 3, shape);
    add_in(s, plan, plan->dtype, 3, shape);
    add_out(s, plan, plan->dtype, 3, shape);
    add_out(s, plan, plan->dtype, 3, shape);
}

/* Lines that are in no order have an answer too: the one that halving finds. */
static void build_searchsorted(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t lines[3] = {plan->shape[0], plan->shape[1], plan->option % 5 * 7};

    RP_AT(s->attr, searchsorted, right).i = plan->option % 2;
    if (plan->option / 2 % 2)
        add_in(s, plan, plan->dtype, 1, &lines[2]);
    else
        add_in(s, plan, plan->dtype, 3, lines);
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_out(s, plan, RP_I64, 3, plan->shape);
}

/* Boxes about the middle of each other, or far apart; scores that are in no order are taken as they come. */
static void build_non_max(rp_specimen *s, const rp_specimen_plan *plan)
{
    const size_t m = plan->shape[2], classes = plan->shape[1], n = plan->shape[0];
    const size_t boxes[3] = {n, m, 4}, scores[3] = {n, classes, m}, kept[3] = {n, classes, 1 + m / 3};

    RP_AT(s->attr, non_max, k).i = (int64_t)kept[2];
    RP_AT(s->attr, non_max, overlap).r = 0.1 * (plan->option % 4);
    RP_AT(s->attr, non_max, least).r = plan->option / 2 % 2 ? -0.5 : -1e300;
    RP_AT(s->attr, non_max, centred).i = plan->option % 2;
    add_in(s, plan, plan->dtype, 3, boxes);
    add_in(s, plan, plan->dtype, 3, scores);
    add_indices(s, plan, 3, scores, m);
    add_out(s, plan, RP_I64, 3, kept);
}

/* The index's shape: another length of the axis, none where the axis has none. */
static int along_shape(const rp_specimen_plan *plan, size_t shape[3])
{
    const int axis = plan->option % 3;

    memcpy(shape, plan->shape, 3 * sizeof *shape);
    shape[axis] = shape[axis] > 0 ? shape[axis] / 2 + 3 : 0;
    return axis;
}

static void build_take_along(rp_specimen *s, const rp_specimen_plan *plan)
{
    size_t shape[3];
    const int axis = along_shape(plan, shape);

    RP_AT(s->attr, take_along, axis).i = axis;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_indices(s, plan, 3, shape, plan->shape[axis]);
    add_out(s, plan, plan->dtype, 3, shape);
}

static void build_scatter_along(rp_specimen *s, const rp_specimen_plan *plan)
{
    const bool number = (RP_D_NUMBER >> plan->dtype & 1) != 0;
    size_t shape[3];
    const int axis = along_shape(plan, shape);

    RP_AT(s->attr, scatter_along, axis).i = axis;
    RP_AT(s->attr, scatter_along, mode).i = number ? plan->option / 3 % 5 : 0;
    add_in(s, plan, plan->dtype, 3, plan->shape);
    add_indices(s, plan, 3, shape, plan->shape[axis]);
    add_in(s, plan, plan->dtype, 3, shape);
    add_out(s, plan, plan->dtype, 3, plan->shape);
}
