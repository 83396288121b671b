/* SPDX-License-Identifier: Apache-2.0
 * oneDNN's convolutions: its direct algorithms and minimal filtering, in the layouts it likes best. */
#include "conv_peer.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct conv_peer {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[3];
    dnnl_memory_desc_t ours; /* our layout of the result */
    int out;
};

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static void (*omp_threads)(int);

static void check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success)
        return;
    fprintf(stderr, "conv: oneDNN: %s: status %d\n", what, (int)status);
    exit(1);
}

bool conv_peer_start(void)
{
    void *symbol = dlsym(dlopen(NULL, RTLD_NOW), "omp_set_num_threads");

    memcpy(&omp_threads, &symbol, sizeof symbol);
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return false;
    printf("# oneDNN %d.%d.%d, its own layouts\n", dnnl_version()->major, dnnl_version()->minor, dnnl_version()->patch);
    return true;
}

void conv_peer_threads(unsigned n)
{
    if (omp_threads != NULL)
        omp_threads((int)n);
}

/* A depth-wise weight has the groups as an axis: g 1 1 r s. */
static dnnl_memory_desc_t described_apart(const rp_view *v)
{
    const dnnl_dims_t dims = {(dnnl_dim_t)v->shape[3], 1, 1, (dnnl_dim_t)v->shape[0], (dnnl_dim_t)v->shape[1]};
    const dnnl_dims_t strides = {v->stride[3], 1, 1, v->stride[0], v->stride[1]};
    dnnl_memory_desc_t md;

    check(dnnl_memory_desc_init_by_strides(&md, 5, dims, dnnl_f32, strides), "layout");
    return md;
}

/* The descriptor of a view in oneDNN's order of axes: n c h w, or k c r s. */
static dnnl_memory_desc_t described(const rp_view *v, bool weight)
{
    static const int image[4] = {0, 3, 1, 2}, filter[4] = {3, 2, 0, 1};
    dnnl_memory_desc_t md;
    dnnl_dims_t dims, strides;

    if (weight && v->shape[2] == 1 && v->shape[3] > 1)
        return described_apart(v);
    for (int d = 0; d < 4; d++) {
        dims[d] = (dnnl_dim_t)v->shape[weight ? filter[d] : image[d]];
        strides[d] = v->stride[weight ? filter[d] : image[d]];
    }
    check(dnnl_memory_desc_init_by_strides(&md, 4, dims, dnnl_f32, strides), "layout");
    return md;
}

static dnnl_memory_desc_t any_layout(const dnnl_memory_desc_t *md)
{
    dnnl_memory_desc_t any;

    check(dnnl_memory_desc_init_by_tag(&any, md->ndims, md->dims, dnnl_f32, dnnl_format_tag_any), "any layout");
    return any;
}

static void reorder(dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *a, *b;
    const dnnl_exec_arg_t arg[2] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t primitive;

    dnnl_memory_get_memory_desc(from, &a);
    dnnl_memory_get_memory_desc(to, &b);
    check(dnnl_reorder_primitive_desc_create(&pd, a, engine, b, engine, NULL), "reorder");
    check(dnnl_primitive_create(&primitive, pd), "reorder");
    check(dnnl_primitive_execute(primitive, stream, 2, arg), "reorder");
    dnnl_stream_wait(stream);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
}

/* NULL: there is no such algorithm. */
static dnnl_primitive_desc_t describe(int kind, const rp_attr *attr, const dnnl_memory_desc_t md[3])
{
    const int64_t *stride = attr[0].list, *pad = attr[1].list;
    const dnnl_dims_t strides = {stride[0], stride[1]}, left = {pad[0], pad[1]}, right = {pad[2], pad[3]},
                      dilation = {0, 0};
    dnnl_convolution_desc_t forward, desc;
    dnnl_primitive_desc_t hint, pd;

    check(dnnl_dilated_convolution_forward_desc_init(&forward, dnnl_forward_training,
                                                     kind == 3 ? dnnl_convolution_winograd : dnnl_convolution_direct,
                                                     &md[0], &md[1], NULL, &md[2], strides, dilation, left, right),
          "forward");
    if (kind == 3)
        return dnnl_primitive_desc_create(&pd, &forward, NULL, engine, NULL) == dnnl_success ? pd : NULL;
    check(dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL), "forward");
    if (kind == 0)
        return hint;
    if (kind == 1)
        check(dnnl_dilated_convolution_backward_data_desc_init(&desc, dnnl_convolution_direct, &md[0], &md[1], &md[2],
                                                               strides, dilation, left, right),
              "backward data");
    else
        check(dnnl_dilated_convolution_backward_weights_desc_init(&desc, dnnl_convolution_direct, &md[0], &md[1], NULL,
                                                                  &md[2], strides, dilation, left, right),
              "backward weights");
    check(dnnl_primitive_desc_create(&pd, &desc, NULL, engine, hint), "gradient");
    dnnl_primitive_desc_destroy(hint);
    return pd;
}

conv_peer *conv_peer_new(const rp_view view[3], int kind, const rp_attr *attr)
{
    static const dnnl_query_t query[3] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    static const dnnl_query_t diff[3] = {dnnl_query_diff_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md};
    static const int name[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    static const int diff_name[3] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
    conv_peer *p = calloc(1, sizeof *p);
    dnnl_memory_desc_t any[3];
    dnnl_primitive_desc_t pd;

    if (p == NULL)
        exit(1);
    p->out = kind == 1 ? 0 : kind == 2 ? 1 : 2;
    p->ours = described(&view[p->out], p->out == 1);
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t md = described(&view[i], i == 1);

        any[i] = any_layout(&md);
    }
    pd = describe(kind, attr, any);
    if (pd == NULL) {
        free(p);
        return NULL;
    }
    check(dnnl_primitive_create(&p->primitive, pd), "convolution");
    for (int i = 0; i < 3; i++) {
        const bool gradient = (kind == 1 || kind == 2) && (i == 2 || i == p->out);
        const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, gradient ? diff[i] : query[i], 0);
        const dnnl_memory_desc_t ours = described(&view[i], i == 1);
        dnnl_memory_t memory;

        p->arg[i].arg = gradient ? diff_name[i] : name[i];
        check(dnnl_memory_create(&p->arg[i].memory, md, engine, DNNL_MEMORY_ALLOCATE), "memory");
        if (i == p->out)
            continue;
        check(dnnl_memory_create(&memory, &ours, engine, view[i].data), "memory");
        reorder(memory, p->arg[i].memory);
        dnnl_memory_destroy(memory);
    }
    dnnl_primitive_desc_destroy(pd);
    return p;
}

void conv_peer_call(conv_peer *p)
{
    dnnl_primitive_execute(p->primitive, stream, 3, p->arg);
    dnnl_stream_wait(stream);
}

void conv_peer_result(conv_peer *p, float *to)
{
    dnnl_memory_t memory;

    check(dnnl_memory_create(&memory, &p->ours, engine, to), "memory");
    reorder(p->arg[p->out].memory, memory);
    dnnl_memory_destroy(memory);
}

void conv_peer_free(conv_peer *p)
{
    if (p == NULL)
        return;
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(p->arg[i].memory);
    dnnl_primitive_destroy(p->primitive);
    free(p);
}
