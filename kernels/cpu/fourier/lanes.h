/* SPDX-License-Identifier: Apache-2.0
 * Orders of two vectors' elements for __builtin_shufflevector, by the number of lanes and of elements that stay
 * together: LOW and HIGH weave them, EVEN and ODD take them apart again; FOURFOLD
 * and EIGHTFOLD repeat the first few. */
#ifndef KERNELS_CPU_FOURIER_LANES_H
#define KERNELS_CPU_FOURIER_LANES_H

#define LOW_2_1 0, 2
#define HIGH_2_1 1, 3
#define EVEN_2_1 0, 2
#define ODD_2_1 1, 3
#define LOW_2_4 0, 1 /* whole vectors stay together: never woven */
#define HIGH_2_4 2, 3
#define EVEN_2_4 0, 1
#define ODD_2_4 2, 3
#define LOW_4_1 0, 4, 1, 5
#define HIGH_4_1 2, 6, 3, 7
#define EVEN_4_1 0, 2, 4, 6
#define ODD_4_1 1, 3, 5, 7
#define LOW_4_4 0, 1, 2, 3 /* as above */
#define HIGH_4_4 4, 5, 6, 7
#define EVEN_4_4 0, 1, 2, 3
#define ODD_4_4 4, 5, 6, 7
#define LOW_8_1 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8_1 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN_8_1 0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8_1 1, 3, 5, 7, 9, 11, 13, 15
#define LOW_8_4 0, 1, 2, 3, 8, 9, 10, 11
#define HIGH_8_4 4, 5, 6, 7, 12, 13, 14, 15
#define EVEN_8_4 LOW_8_4
#define ODD_8_4 HIGH_8_4
#define LOW_16_1 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16_1 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN_16_1 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_16_1 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOW_16_4 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23
#define HIGH_16_4 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31
#define EVEN_16_4 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27
#define ODD_16_4 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31

#define FOURFOLD_2_1 0, 0       /* less than one element: never spread */
#define FOURFOLD_4_1 0, 0, 0, 0 /* as above */
#define FOURFOLD_8_1 0, 0, 0, 0, 1, 1, 1, 1
#define FOURFOLD_16_1 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3
#define EIGHTFOLD_16_1 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1

#define LANES_NAME(order, lanes, chunk) order##_##lanes##_##chunk
#define LANES_ORDER(order, lanes, chunk) LANES_NAME(order, lanes, chunk)

#endif
