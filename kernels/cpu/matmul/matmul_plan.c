/* SPDX-License-Identifier: Apache-2.0
 * Planning a matrix product: merging batches into rows, choosing the side along which vectors lie, and walking the
 * blocks of a range of items. */
#include "kernels/cpu/matmul/matmul_plan.h"

enum { THIN_COLUMNS = 4 }; /* up to here the transposed product fills the vectors better */
/* Rows of a that meet a transposed b: more than a kernel of few rows takes, and few enough to be turned, with what
 * comes out, in the place of all of b. */
enum { TURNED_LEAST = 5, TURNED_MOST = 32, TURNED_TIMES = 4 };

static bool turning_a_pays(const rp_matmul_plan *plan)
{
    const rp_view *a = &plan->in[0], *b = &plan->in[1], *y = &plan->out;
    const int r = y->rank - 2;
    const size_t rows = y->shape[r];

    return rows >= TURNED_LEAST && rows <= TURNED_MOST && y->shape[r + 1] >= TURNED_TIMES * rows && b->stride[r] == 1 &&
           b->stride[r + 1] != 1 && a->stride[r + 1] == 1 && y->stride[r + 1] == 1 && a->dtype != RP_BF16 &&
           b->dtype != RP_BF16;
}

/* With b the same for the whole innermost batch axis, and the rows of a and y going on at one step from batch to batch,
 * the batch is one product with more rows. */
static bool merge_batch(rp_matmul_plan *plan)
{
    rp_view *a = &plan->in[0], *b = &plan->in[1], *y = &plan->out;
    const int d = y->rank - 3;

    if (d < 0 ||
        (y->shape[d] != 1 && (b->stride[d] != 0 || a->stride[d] != a->stride[d + 1] * (ptrdiff_t)a->shape[d + 1] ||
                              y->stride[d] != y->stride[d + 1] * (ptrdiff_t)y->shape[d + 1])))
        return false;
    a->shape[d + 1] *= y->shape[d];
    y->shape[d + 1] *= y->shape[d];
    for (int v = 0; v < 3; v++) {
        rp_view *view = v < 2 ? &plan->in[v] : y;

        for (int i = d; i < view->rank - 1; i++) {
            view->shape[i] = view->shape[i + 1];
            view->stride[i] = view->stride[i + 1];
        }
        view->rank--;
    }
    return true;
}

/* Only the axes there are: a plan is made some three times a product, and small ones are over sooner than a structure
 * is cleared and copied. */
static void copy_view(rp_view *to, const rp_view *from)
{
    to->data = from->data;
    to->dtype = from->dtype;
    to->rank = from->rank;
    for (int d = 0; d < from->rank; d++) {
        to->shape[d] = from->shape[d];
        to->stride[d] = from->stride[d];
    }
}

static void transpose(rp_view *view)
{
    const int r = view->rank - 2;
    const size_t shape = view->shape[r];
    const ptrdiff_t stride = view->stride[r];

    view->shape[r] = view->shape[r + 1];
    view->stride[r] = view->stride[r + 1];
    view->shape[r + 1] = shape;
    view->stride[r + 1] = stride;
}

static void swap(rp_matmul_plan *plan)
{
    ptrdiff_t a_on;
    rp_view a;

    copy_view(&a, &plan->in[0]);
    copy_view(&plan->in[0], &plan->in[1]);
    copy_view(&plan->in[1], &a);
    transpose(&plan->in[0]);
    transpose(&plan->in[1]);
    transpose(&plan->out);
    a_on = plan->a_on;
    plan->a_on = plan->b_on;
    plan->b_on = a_on;
}

static void make(rp_matmul_plan *plan, size_t panel, size_t widest)
{
    const rp_view *y = &plan->out;
    size_t strip = panel;
    int r;

    plan->batches = 1;
    plan->panel = panel;
    while (merge_batch(plan))
        ;
    r = y->rank - 2;
    if ((y->shape[r + 1] < y->shape[r] && y->shape[r + 1] <= THIN_COLUMNS) || turning_a_pays(plan))
        swap(plan);
    for (int d = 0; d < r; d++)
        plan->batches *= y->shape[d];
    plan->m = y->shape[r];
    plan->n = y->shape[r + 1];
    plan->panels = (plan->n + panel - 1) / panel;
    while (strip * 2 <= widest && strip * 2 <= plan->m) /* blocks about as wide as high: the least packing a thread */
        strip *= 2;
    plan->strips = (plan->n + strip - 1) / strip;
}

static void copy_views(rp_matmul_plan *plan, const rp_kernel_args *args)
{
    copy_view(&plan->in[0], &args->in[0]);
    copy_view(&plan->in[1], &args->in[1]);
    copy_view(&plan->out, &args->out[0]);
    plan->more = 0;
    plan->epilogue = NULL;
    plan->a_on = plan->b_on = 0;
}

void rp_matmul_plan_make(rp_matmul_plan *plan, const rp_kernel_args *args, size_t panel, size_t widest)
{
    copy_views(plan, args);
    make(plan, panel, widest);
}

/* Without the view's first axis; its stride. */
static ptrdiff_t without_first(rp_view *view)
{
    const ptrdiff_t stride = view->stride[0];

    for (int d = 1; d < view->rank; d++) {
        view->shape[d - 1] = view->shape[d];
        view->stride[d - 1] = view->stride[d];
    }
    view->rank--;
    return stride;
}

void rp_matmul_plan_make_onto(rp_matmul_plan *plan, const rp_kernel_args *args, size_t panel, size_t widest)
{
    copy_views(plan, args);
    if (plan->out.rank == 3) {
        plan->more = plan->out.shape[0] - 1;
        plan->a_on = without_first(&plan->in[0]);
        plan->b_on = without_first(&plan->in[1]);
        (void)without_first(&plan->out);
    }
    make(plan, panel, widest);
}

size_t rp_matmul_plan_items(const rp_matmul_plan *plan)
{
    return plan->batches * plan->strips * plan->m;
}

static size_t strip_start(const rp_matmul_plan *plan, size_t strip)
{
    const size_t column = plan->panels * strip / plan->strips * plan->panel;

    return column < plan->n ? column : plan->n;
}

/* Whether this thread goes through a row's batches from the last to the first. A recurrent network's frames multiply a
 * row by the same matrices again and again, more than a second cache holds: what it holds is what the frame before read
 * last, so each begins where that one ended. Only a hint: batches are independent, and in any order the same bits. */
static bool turns_round(const rp_matmul_plan *plan)
{
    static _Thread_local const void *last;
    static _Thread_local bool back;

    if (plan->m != 1 || plan->batches == 1)
        return false;
    back = plan->in[1].data == last && !back;
    last = plan->in[1].data;
    return back;
}

/* Of a product of one row, whose items are strips. */
static void run_back(const rp_matmul_plan *plan, const rp_kernel_args *args, size_t begin, size_t end,
                     rp_matmul_block *block)
{
    while (begin < end) {
        const size_t batch = (end - 1) / plan->strips, first = batch * plan->strips;
        const size_t from = first > begin ? first : begin;
        const rp_matmul product = rp_matmul_of(args, batch);

        block(&product, plan->epilogue, 0, 1, strip_start(plan, from - first), strip_start(plan, end - first));
        end = from;
    }
}

static void add_more(rp_matmul *product, const rp_matmul_plan *plan)
{
    product->more = plan->more;
    product->a_on = plan->a_on;
    product->b_on = plan->b_on;
}

void rp_matmul_plan_run(const rp_matmul_plan *plan, size_t begin, size_t end, rp_matmul_block *block)
{
    const rp_kernel_args args = {.in = plan->in, .n_in = 2, .out = &plan->out, .n_out = 1};

    if (plan->batches == 1 && begin == 0 && end == rp_matmul_plan_items(plan) && begin < end) { /* without a division */
        rp_matmul product = rp_matmul_of(&args, 0);

        add_more(&product, plan);
        block(&product, plan->epilogue, 0, plan->m, 0, plan->n);
        return;
    }
    if (turns_round(plan)) {
        run_back(plan, &args, begin, end, block);
        return;
    }
    while (begin < end) {
        const size_t strip = begin / plan->m % plan->strips, row = begin % plan->m, left = end - begin;
        const size_t room = plan->m - row, rows = left < room ? left : room;
        rp_matmul product = rp_matmul_of(&args, begin / plan->m / plan->strips);
        size_t strips = row == 0 && left >= plan->m ? left / plan->m : 1;

        add_more(&product, plan);
        if (strips > plan->strips - strip)
            strips = plan->strips - strip;
        block(&product, plan->epilogue, row, row + rows, strip_start(plan, strip), strip_start(plan, strip + strips));
        begin += rows * strips;
    }
}
