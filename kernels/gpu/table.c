/* SPDX-License-Identifier: Apache-2.0
 * How each kernel is launched on a GPU: the ways that it has, the fastest first. An elementwise row of operations.def
 * is here without another line. */
#include "kernels/gpu/device_gpu.h"
#include "kernels/gpu/launch_tuned.h"

#define MAP \
    { \
        { \
            rp_gpu_launch_map \
        } \
    }
#define REFERENCE \
    { \
        { \
            rp_gpu_launch_reference \
        } \
    }
#define ONLY(launcher) \
    { \
        { \
            launcher \
        } \
    }
#define CONVOLUTION \
    { \
        { \
            rp_gpu_launch_conv_tile, rp_gpu_launch_conv_direct, rp_gpu_launch_reference \
        } \
    }
#define TUNED(launcher) \
    { \
        { \
            launcher, rp_gpu_launch_reference \
        } \
    }

const rp_gpu_row rp_gpu_table[RP_K_COUNT] = {
#define MAP1(name, ...) [RP_K_##name] = MAP,
#define MAP1P MAP1
#define MAP1Q MAP1
#define MAP2 MAP1
#define NUM1 MAP1
#define NUM2 MAP1
#define PAIR2 MAP1
#define COMPARE MAP1
#define LOGIC1 MAP1
#define LOGIC2 MAP1
#define INT2 MAP1
#include "kernels/operations.def"
    [RP_K_pow_int] = MAP,
    [RP_K_cast] = ONLY(rp_gpu_launch_cast),
    [RP_K_bitcast] = ONLY(rp_gpu_launch_bitcast),
    [RP_K_where] = ONLY(rp_gpu_launch_where),
    [RP_K_dropout] = ONLY(rp_gpu_launch_random),
    [RP_K_copy] = ONLY(rp_gpu_launch_copy),
    [RP_K_fill] = ONLY(rp_gpu_launch_fill),
    [RP_K_iota] = ONLY(rp_gpu_launch_iota),
    [RP_K_concat] = ONLY(rp_gpu_launch_concat),
    [RP_K_pad] = ONLY(rp_gpu_launch_pad),
    [RP_K_gather] = ONLY(rp_gpu_launch_gather),
    [RP_K_scatter_add] = ONLY(rp_gpu_launch_scatter_add),
    [RP_K_one_hot] = ONLY(rp_gpu_launch_one_hot),
    [RP_K_take_along] = ONLY(rp_gpu_launch_take_along),
    [RP_K_scatter_along] = REFERENCE,
    [RP_K_sort] = TUNED(rp_gpu_launch_sort),
    [RP_K_topk] = TUNED(rp_gpu_launch_topk),
    [RP_K_searchsorted] = REFERENCE,
    [RP_K_non_max] = REFERENCE,
    [RP_K_sum] = TUNED(rp_gpu_launch_reduce),
    [RP_K_mean] = TUNED(rp_gpu_launch_reduce),
    [RP_K_max] = TUNED(rp_gpu_launch_reduce),
    [RP_K_argmax] = TUNED(rp_gpu_launch_reduce),
    [RP_K_min] = TUNED(rp_gpu_launch_reduce),
    [RP_K_argmin] = TUNED(rp_gpu_launch_reduce),
    [RP_K_cumsum] = TUNED(rp_gpu_launch_cumsum),
    [RP_K_prod] = TUNED(rp_gpu_launch_reduce),
    [RP_K_cumprod] = TUNED(rp_gpu_launch_cumsum),
    [RP_K_var] = TUNED(rp_gpu_launch_reduce_twice),
    [RP_K_logsumexp] = TUNED(rp_gpu_launch_reduce_twice),
    [RP_K_softmax] = TUNED(rp_gpu_launch_rows),
    [RP_K_softmax_grad] = TUNED(rp_gpu_launch_rows),
    [RP_K_log_softmax] = TUNED(rp_gpu_launch_rows),
    [RP_K_log_softmax_grad] = TUNED(rp_gpu_launch_rows),
    [RP_K_layer_norm] = TUNED(rp_gpu_launch_rows),
    [RP_K_layer_norm_grad] = TUNED(rp_gpu_launch_rows),
    [RP_K_layer_norm_backward] = TUNED(rp_gpu_launch_norm_lanes),
    [RP_K_rms_norm] = TUNED(rp_gpu_launch_rows),
    [RP_K_rms_norm_grad] = TUNED(rp_gpu_launch_norm_lanes),
    [RP_K_cross_entropy] = TUNED(rp_gpu_launch_rows),
    [RP_K_cross_entropy_grad] = TUNED(rp_gpu_launch_rows),
    [RP_K_matmul] = {{rp_gpu_launch_pinned, rp_gpu_launch_matmul, rp_gpu_launch_reference}},
    [RP_K_fft] = TUNED(rp_gpu_launch_fourier),
    [RP_K_attention] = TUNED(rp_gpu_launch_attention),
    [RP_K_attention_grad] = TUNED(rp_gpu_launch_attention),
    [RP_K_cholesky] = REFERENCE,
    [RP_K_triangular_solve] = REFERENCE,
    [RP_K_conv2d] = CONVOLUTION,
    [RP_K_conv2d_grad_input] = CONVOLUTION,
    [RP_K_conv2d_grad_weight] = CONVOLUTION,
    [RP_K_conv2d_winograd] = TUNED(rp_gpu_launch_winograd),
    [RP_K_max_pool] = TUNED(rp_gpu_launch_pool),
    [RP_K_max_pool_grad] = TUNED(rp_gpu_launch_pool),
    [RP_K_avg_pool] = TUNED(rp_gpu_launch_pool),
    [RP_K_avg_pool_grad] = TUNED(rp_gpu_launch_pool),
    [RP_K_resize] = REFERENCE,
    [RP_K_resize_grad] = REFERENCE,
    [RP_K_batch_norm] = TUNED(rp_gpu_launch_batch_norm),
    [RP_K_batch_norm_train] = TUNED(rp_gpu_launch_batch_norm),
    [RP_K_batch_norm_grad] = TUNED(rp_gpu_launch_batch_norm_grad),
    [RP_K_group_norm] = TUNED(rp_gpu_launch_group_norm),
    [RP_K_group_norm_grad] = TUNED(rp_gpu_launch_group_norm_grad),
    [RP_K_uniform] = ONLY(rp_gpu_launch_random),
    [RP_K_normal] = ONLY(rp_gpu_launch_random),
    [RP_K_sgd] = ONLY(rp_gpu_launch_optimizer),
    [RP_K_adam] = ONLY(rp_gpu_launch_optimizer),
    [RP_K_adamw] = ONLY(rp_gpu_launch_optimizer),
    [RP_K_rmsprop] = ONLY(rp_gpu_launch_optimizer),
    [RP_K_lion] = ONLY(rp_gpu_launch_optimizer),
    [RP_K_adagrad] = ONLY(rp_gpu_launch_optimizer),
};

/* A row that is there is there for every type that its operation takes. */
bool rp_gpu_has(const rp_device *device, rp_kernel_id kernel, rp_dtype dtype)
{
    (void)device, (void)dtype;
    return rp_gpu_table[kernel].way[0] != NULL;
}

void rp_gpu_compute(rp_gpu_queue *queue, rp_kernel_id kernel, const rp_kernel_args *args)
{
    const rp_gpu_row *row = &rp_gpu_table[kernel];

    for (size_t i = 0; i < RP_GPU_WAYS && queue->status == RP_OK; i++)
        if (row->way[i] != NULL && row->way[i](queue, kernel, args))
            return;
    if (queue->status == RP_OK)
        queue->status = rp_fail(queue->err, RP_EUNSUPPORTED, "device %s: no kernel %s", queue->device->base.kind,
                                rp_kernel_name(kernel));
}

rp_status rp_gpu_launch(rp_device *device, rp_kernel_id kernel, const rp_kernel_args *args, rp_stream *stream,
                        rp_error *err)
{
    rp_gpu_queue queue = rp_gpu_queue_of((rp_gpu_device *)device, stream, err);

    rp_gpu_compute(&queue, kernel, args);
    return rp_gpu_queue_end(&queue);
}
