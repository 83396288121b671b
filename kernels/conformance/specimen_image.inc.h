/* SPDX-License-Identifier: Apache-2.0
 * Specimens of convolution, pooling and batch norm; a part of specimen.c. The options go through one window each:
 * padded, pointwise, strided, dilated, depthwise, grouped, a row alone, and more than one chunk of terms. */
typedef struct window {
    int64_t taps[2], stride[2], pad[4], dilation[2];
    size_t groups, c, k; /* channels of a group */
} window;

static const window windows[8] = {
    {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1, 2, 60}, {{1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}, 1, 7, 33},
    {{3, 3}, {2, 2}, {1, 1, 0, 1}, {1, 1}, 1, 5, 8},  {{3, 2}, {1, 1}, {2, 3, 2, 0}, {2, 3}, 1, 3, 5},
    {{3, 3}, {1, 1}, {1, 1, 1, 1}, {1, 1}, 19, 1, 1}, {{2, 3}, {1, 2}, {0, 1, 0, 1}, {1, 1}, 2, 3, 4},
    {{1, 3}, {1, 1}, {0, 2, 0, 2}, {1, 1}, 1, 2, 3},  {{3, 3}, {3, 2}, {0, 1, 2, 1}, {1, 2}, 1, 60, 2}};

/* Images small enough for many taps; only the row alone keeps its length. */
static size_t image_side(size_t side, const window *win)
{
    return side <= 12 || win->taps[0] == 1 ? side : 5 + side % 8;
}

static size_t window_outputs(size_t in, const window *win, int d)
{
    const int64_t room = (int64_t)in + win->pad[d] + win->pad[d + 2] - win->dilation[d] * (win->taps[d] - 1);

    return room < 1 ? 0 : (size_t)((room - 1) / win->stride[d]) + 1;
}

/* The attributes and shapes of x and y. */
static const window *open_window(rp_specimen *s, const rp_specimen_plan *plan, size_t x[4], size_t y[4])
{
    const window *win = &windows[plan->option % 8];

    s->attr[0].n = s->attr[2].n = 2;
    s->attr[1].n = 4;
    memcpy(s->attr[0].list, win->stride, sizeof win->stride);
    memcpy(s->attr[1].list, win->pad, sizeof win->pad);
    memcpy(s->attr[2].list, win->dilation, sizeof win->dilation);
    x[0] = y[0] = plan->shape[0];
    for (int d = 0; d < 2; d++) {
        x[d + 1] = image_side(plan->shape[d + 1], win);
        y[d + 1] = window_outputs(x[d + 1], win, d);
    }
    x[3] = win->groups * win->c;
    y[3] = win->groups * win->k;
    return win;
}

static void build_conv2d(rp_specimen *s, const rp_specimen_plan *plan)
{
    size_t x[4], y[4];
    const window *win = open_window(s, plan, x, y);
    const size_t weight[4] = {(size_t)win->taps[0], (size_t)win->taps[1], win->c, y[3]};
    const bool to_x = plan->kernel == RP_K_conv2d_grad_input, to_weight = plan->kernel == RP_K_conv2d_grad_weight;

    s->attr[3].i = (int64_t)win->groups;
    add_in(s, plan, plan->dtype, 4, to_x ? y : x);
    add_in(s, plan, plan->dtype, 4, to_weight ? y : weight);
    add_out(s, plan, plan->dtype, 4, to_x ? x : to_weight ? weight : y);
}

/* Padded by every amount, few and many channels and filters, and more than one chunk of channels. */
static void build_winograd(rp_specimen *s, const rp_specimen_plan *plan)
{
    static const struct {
        int64_t pad[4];
        size_t c, k;
    } forms[8] = {{{1, 1, 1, 1}, 3, 5},   {{0, 0, 0, 0}, 17, 33}, {{2, 2, 2, 2}, 2, 70},  {{0, 1, 2, 1}, 40, 3},
                  {{1, 1, 1, 1}, 600, 2}, {{2, 0, 1, 2}, 1, 1},   {{1, 2, 0, 0}, 64, 16}, {{1, 1, 1, 1}, 5, 32}};
    const size_t form = plan->option % 8, c = forms[form].c, k = forms[form].k;
    size_t x[4] = {plan->shape[0], 0, 0, c}, y[4] = {plan->shape[0], 0, 0, k};

    s->attr[0].n = s->attr[2].n = 2;
    s->attr[1].n = 4;
    s->attr[3].i = 1;
    memcpy(s->attr[1].list, forms[form].pad, sizeof forms[form].pad);
    for (int d = 0; d < 2; d++) {
        s->attr[0].list[d] = s->attr[2].list[d] = 1;
        x[d + 1] = 3 + plan->shape[d + 1] % 9;
        y[d + 1] = x[d + 1] + (size_t)(forms[form].pad[d] + forms[form].pad[d + 2]) - 2;
    }
    add_in(s, plan, plan->dtype, 4, x);
    add_in(s, plan, plan->dtype, 4, (size_t[]){3, 3, c, k});
    add_out(s, plan, plan->dtype, 4, y);
}

static void build_pool(rp_specimen *s, const rp_specimen_plan *plan)
{
    const bool grad = plan->kernel == RP_K_max_pool_grad || plan->kernel == RP_K_avg_pool_grad;
    size_t x[4], y[4];
    const window *win = open_window(s, plan, x, y);

    x[3] = y[3] = win->groups * win->c;
    s->attr[3].n = 2;
    memcpy(s->attr[3].list, win->taps, sizeof win->taps);
    add_in(s, plan, plan->dtype, 4, grad ? y : x);
    if (plan->kernel == RP_K_max_pool_grad)
        add_in(s, plan, plan->dtype, 4, x);
    add_out(s, plan, plan->dtype, 4, grad ? x : y);
}

/* Every axis, mode, placing and rounding; longer, shorter, of equal length and of one element. */
static void build_resize(rp_specimen *s, const rp_specimen_plan *plan)
{
    const int option = plan->option, axis = (option + option / 3) % 3;
    size_t x[3] = {plan->shape[0], plan->shape[1], plan->shape[2]}, y[3] = {x[0], x[1], x[2]};
    const bool grad = plan->kernel == RP_K_resize_grad;

    x[axis] = x[axis] > 300 ? 300 : x[axis] > 0 ? x[axis] : 1;
    y[axis] =
        (const size_t[]){2 * x[axis], 1 + x[axis] / 2, 3 * x[axis] + 1, x[axis], 1, 5, 70, 1 + x[axis] / 7}[option % 8];
    RP_AT(s->attr, resize, axis).i = axis;
    RP_AT(s->attr, resize, size).i = (int64_t)(grad ? x : y)[axis];
    RP_AT(s->attr, resize, mode).i = option % 3;
    RP_AT(s->attr, resize, coordinates).i = option / 2 % 3;
    RP_AT(s->attr, resize, rounding).i = option % 4;
    add_in(s, plan, plan->dtype, 3, grad ? y : x);
    add_out(s, plan, plan->dtype, 3, grad ? x : y);
}

static void build_resize_grad(rp_specimen *s, const rp_specimen_plan *plan)
{
    build_resize(s, plan);
}

/* Every second option has few channels of many elements. */
static void build_batch_norm(rp_specimen *s, const rp_specimen_plan *plan)
{
    const bool turn = plan->option % 2 == 1, grad = plan->kernel == RP_K_batch_norm_grad;
    const size_t shape[3] = {plan->shape[0], plan->shape[turn ? 2 : 1], plan->shape[turn ? 1 : 2]};
    const size_t n_in = plan->kernel == RP_K_batch_norm_train ? 3 : 5;

    s->attr[0].r = 1e-5;
    for (size_t i = 0; i < n_in; i++)
        add_in(s, plan, plan->dtype, i < (grad ? 2 : 1) ? 3 : 1, i < (grad ? 2 : 1) ? shape : &shape[2]);
    if (n_in == 5)
        make_positive(s, 4);
    add_out(s, plan, plan->dtype, 3, shape);
    for (size_t i = 0; i < 2 && plan->kernel != RP_K_batch_norm; i++)
        add_out(s, plan, plan->dtype, 1, &shape[2]);
}

/* One group, a group a channel, or two groups of several channels. */
static void build_group_norm(rp_specimen *s, const rp_specimen_plan *plan)
{
    const int way = plan->option % 3;
    const bool grad = plan->kernel == RP_K_group_norm_grad;
    const size_t x[3] = {plan->shape[0], plan->shape[1], plan->shape[2] * (way == 2 ? 2 : 1)};
    const size_t groups = x[2] == 0 || way == 0 ? 1 : way == 1 ? x[2] : 2;
    const size_t channels[2] = {x[0], x[2]}, moments[2] = {x[0], groups};

    RP_AT(s->attr, group_norm, eps).r = 1e-5;
    RP_AT(s->attr, group_norm, groups).i = (int64_t)groups;
    add_in(s, plan, plan->dtype, 3, x);
    if (grad)
        add_in(s, plan, plan->dtype, 3, x);
    add_in(s, plan, plan->dtype, 1, &x[2]);
    if (!grad)
        add_in(s, plan, plan->dtype, 1, &x[2]);
    for (int i = 0; i < 2 && grad; i++)
        add_in(s, plan, plan->dtype, 2, moments);
    if (grad)
        make_positive(s, 4);
    add_out(s, plan, plan->dtype, 3, x);
    for (int i = 0; i < 2; i++)
        add_out(s, plan, plan->dtype, 2, grad ? channels : moments);
}
