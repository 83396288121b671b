/* SPDX-License-Identifier: Apache-2.0
 * Kernels that move data without arithmetic: copy, fill, concat, pad, iota (CONTRACT 3). Bits are kept, NaNs too. */
#include "kernels/ref/move.h"
#include "determinism/bits.h"
#include "kernels/ref/functions/map.h"

#include "kernels/type_f32.h"
#include "kernels/ref/move_type.inc.h"
#include "kernels/type_f64.h"
#include "kernels/ref/move_type.inc.h"
#include "kernels/type_i32.h"
#include "kernels/ref/move_type.inc.h"
#include "kernels/type_i64.h"
#include "kernels/ref/move_type.inc.h"
#include "kernels/type_bool.h"
#include "kernels/ref/move_type.inc.h"
#include "kernels/type_bf16.h"
#include "kernels/ref/move_type.inc.h"

static rp_map *const same_maps[RP_DTYPE_COUNT] = {RP_MOVED(same)};

void rp_copy_elements(const rp_view *out, const rp_view *in, size_t begin, size_t end)
{
    const rp_view *views[2] = {out, in};
    rp_walk walk;

    rp_walk_begin(&walk, views, 2, begin, end);
    while (rp_walk_next(&walk))
        same_maps[out->dtype](&walk);
}

void rp_set_elements(const rp_view *out, const rp_attr *value, size_t begin, size_t end)
{
    rp_walk walk;

    rp_walk_begin(&walk, &out, 1, begin, end);
    while (rp_walk_next(&walk))
        switch (out->dtype) {
        case RP_F32:
            set_f32(&walk, (float)value->r);
            break;
        case RP_F64:
            set_f64(&walk, value->r);
            break;
        case RP_I32:
            set_i32(&walk, (int32_t)value->i);
            break;
        case RP_I64:
            set_i64(&walk, value->i);
            break;
        case RP_BF16:
            set_bf16(&walk, rp_bf16_of_f64(value->r));
            break;
        case RP_F16:
            set_bf16(&walk, rp_f16_of_f64(value->r));
            break;
        case RP_I16:
            set_bf16(&walk, (uint16_t)value->i);
            break;
        case RP_U32:
            set_i32(&walk, (int32_t)(uint32_t)value->i);
            break;
        case RP_I8:
        case RP_U8:
            set_bool(&walk, (uint8_t)value->i);
            break;
        default:
            set_bool(&walk, value->i != 0);
        }
}

RP_ELEMENTWISE(copy, 1, 0, light, RP_MOVED(same));

static void fill_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    rp_set_elements(&args->out[0], &RP_AT(args->attr, fill, value), begin, end);
}

RP_DEFINE_KERNEL(fill, rp_items_elements, fill_run, rp_cost_light);

/* Items are the inputs' elements one input after the other: the numbering of items is free, only the result counts. An
 * input that lies where it goes stays there. */
static void concat_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const size_t axis = (size_t)RP_AT(args->attr, concat, axis).i;
    ptrdiff_t offset = 0;
    size_t first = 0;

    for (size_t v = 0; v < args->n_in && first < end; v++) {
        const rp_view *in = &args->in[v];
        const size_t count = rp_view_count(in);
        rp_view part = *in;

        part.data = rp_view_at(&args->out[0], offset * args->out[0].stride[axis]);
        for (int d = 0; d < in->rank; d++)
            part.stride[d] = args->out[0].stride[d];
        if (first + count > begin && part.data != in->data)
            rp_copy_elements(&part, in, begin > first ? begin - first : 0, end - first < count ? end - first : count);
        first += count;
        offset += (ptrdiff_t)in->shape[axis];
    }
}

RP_DEFINE_KERNEL(concat, rp_items_elements, concat_run, rp_cost_light);

/* Where row `row` of the padded output comes from: true and its offset in the input, or false for a row of zeros. */
static bool pad_source(const rp_kernel_args *args, size_t row, ptrdiff_t *offset)
{
    const rp_view *out = &args->out[0], *in = &args->in[0];

    *offset = 0;
    for (int d = out->rank - 2; d >= 0; d--) {
        const size_t at = row % out->shape[d], before = (size_t)RP_AT(args->attr, pad, before).list[d];

        row /= out->shape[d];
        if (at < before || at - before >= in->shape[d])
            return false;
        *offset += (ptrdiff_t)(at - before) * in->stride[d];
    }
    return true;
}

static void pad_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    static const rp_attr zero;
    const rp_view *out = &args->out[0], *in = &args->in[0];
    const unsigned last = out->rank > 0 ? 1u << (out->rank - 1) : 0;
    const ptrdiff_t before = out->rank > 0 ? (ptrdiff_t)RP_AT(args->attr, pad, before).list[out->rank - 1] : 0;
    const rp_view rows = rp_view_rows(out);
    const rp_view *walked = &rows;
    rp_view to = rp_view_axes(out, last, true), from = rp_view_axes(in, last, true);
    rp_walk walk;

    rp_walk_begin(&walk, &walked, 1, begin, end);
    while (rp_walk_next(&walk))
        for (size_t i = 0; i < walk.run; i++) {
            ptrdiff_t offset;

            to.shape[0] = rp_view_last(out);
            to.data = (char *)walk.at[0] + (ptrdiff_t)i * walk.step[0] * (ptrdiff_t)rp_dtype_size(out->dtype);
            rp_set_elements(&to, &zero, 0, rp_view_count(&to));
            if (!pad_source(args, walk.first + i, &offset))
                continue;
            from.data = rp_view_at(in, offset);
            to.data = rp_view_at(&to, before * rp_view_last_stride(&to));
            to.shape[0] = rp_view_last(in);
            rp_copy_elements(&to, &from, 0, rp_view_count(&from));
        }
}

RP_DEFINE_KERNEL(pad, rp_items_rows, pad_run, rp_cost_row);

static void iota_run(const rp_kernel_args *args, size_t begin, size_t end)
{
    const rp_view *out = &args->out[0];

    for (size_t i = begin; i < end; i++) {
        void *at = rp_view_at(out, (ptrdiff_t)i * out->stride[0]);

        switch (out->dtype) {
        case RP_F32:
            *(float *)at = (float)(int64_t)i;
            break;
        case RP_F64:
            *(double *)at = (double)(int64_t)i;
            break;
        case RP_I32:
            *(int32_t *)at = (int32_t)i;
            break;
        case RP_U32:
            *(uint32_t *)at = (uint32_t)i;
            break;
        default:
            *(int64_t *)at = (int64_t)i;
        }
    }
}

RP_DEFINE_KERNEL(iota, rp_items_elements, iota_run, rp_cost_light);
