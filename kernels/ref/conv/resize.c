/* SPDX-License-Identifier: Apache-2.0
 * Resizing along an axis and its gradient (CONTRACT 7.12). An item is an element of the output; it reads the line of
 * the input on which it lies. */
#include "kernels/ref/conv/resize.h"

#include "kernels/level.h"

#include "kernels/type_f32.h"
#include "kernels/ref/conv/resize_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/conv/resize_type.inc.h"

typedef void resize_element(void *to, const void *from, ptrdiff_t step, const resizing *r, int64_t at);

static size_t resize_cost(const rp_kernel_args *args)
{
    return RP_AT(args->attr, resize, mode).i == 0 ? 10 : 20;
}

static size_t resize_grad_cost(const rp_kernel_args *args)
{
    const int64_t axis = RP_AT(args->attr, resize, axis).i;

    return 100 + 60 * (1 + args->in[0].shape[axis] / args->out[0].shape[axis]);
}

/* r is of the input and the output of resize, whichever of them is out. */
RP_KERNEL_CALLER static void resize_items(const rp_kernel_args *args, const resizing *r, size_t begin, size_t end,
                                          resize_element *element)
{
    const rp_view *out = &args->out[0], *in = &args->in[0];
    const int64_t axis = RP_AT(args->attr, resize, axis).i;
    const ptrdiff_t size = (ptrdiff_t)rp_dtype_size(out->dtype);

    for (size_t item = begin; item < end; item++) {
        size_t position = item;
        ptrdiff_t to = 0, from = 0;
        int64_t at = 0;

        for (int d = out->rank - 1; d >= 0; d--) {
            const size_t i = position % out->shape[d];

            position /= out->shape[d];
            to += (ptrdiff_t)i * out->stride[d];
            if (d == axis)
                at = (int64_t)i;
            else
                from += (ptrdiff_t)i * in->stride[d];
        }
        element((char *)out->data + to * size, (const char *)in->data + from * size, in->stride[axis], r, at);
    }
}

static void resize_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const int64_t axis = RP_AT(args->attr, resize, axis).i;
    const resizing r = resizing_of(args->attr, args->in[0].shape[axis], args->out[0].shape[axis]);

    if (args->out[0].dtype == RP_F32)
        resize_items(args, &r, begin, end, resize_one_f32);
    else
        resize_items(args, &r, begin, end, resize_one_f64);
}

static void resize_grad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const int64_t axis = RP_AT(args->attr, resize, axis).i;
    const resizing r = resizing_of(args->attr, args->out[0].shape[axis], args->in[0].shape[axis]);

    if (args->out[0].dtype == RP_F32)
        resize_items(args, &r, begin, end, resize_grad_one_f32);
    else
        resize_items(args, &r, begin, end, resize_grad_one_f64);
}

RP_DEFINE_KERNEL(resize, rp_items_elements, resize_run, resize_cost);
RP_DEFINE_KERNEL(resize_grad, rp_items_elements, resize_grad_run, resize_grad_cost);
