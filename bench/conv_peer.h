/* SPDX-License-Identifier: Apache-2.0
 * oneDNN's convolutions for bench/conv.c and bench/winograd.c. Whatever fails ends the program with a message. */
#ifndef BENCH_CONV_PEER_H
#define BENCH_CONV_PEER_H

#include <stdbool.h>

#include "kernels/kernel.h"

typedef struct conv_peer conv_peer;

bool conv_peer_start(void); /* prints the version */
void conv_peer_threads(unsigned n);
/* view: x, weight, y, read now in our layout; kind: 0 forward, 1 input gradient, 2 weight gradient, all direct; 3
 * forward by minimal filtering: NULL where oneDNN has none. */
conv_peer *conv_peer_new(const rp_view view[3], int kind, const rp_attr *attr);
void conv_peer_call(conv_peer *peer);
void conv_peer_result(conv_peer *peer, float *to); /* the last call's, in our layout */
void conv_peer_free(conv_peer *peer);              /* NULL is fine */

#endif
