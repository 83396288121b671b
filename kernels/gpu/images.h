/* SPDX-License-Identifier: Apache-2.0
 * The fat binaries of kernels/gpu/NAME.cu that this build has (cmake/gpu.cmake); the last has no name. */
#ifndef KERNELS_GPU_IMAGES_H
#define KERNELS_GPU_IMAGES_H

typedef struct rp_gpu_image {
    const char *name;
    const unsigned char *bytes;
    const char *kernels; /* their names, a line each; NULL: whatever is asked for (tests) */
} rp_gpu_image;

extern const rp_gpu_image rp_gpu_images[];

#endif
