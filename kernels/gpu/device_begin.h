/* SPDX-License-Identifier: Apache-2.0
 * From here to device_end.h what is static belongs to the device. No include guard: it opens each stretch. */
#if defined(__CUDACC__)
#define static static __device__
#endif
