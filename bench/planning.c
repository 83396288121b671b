/* SPDX-License-Identifier: Apache-2.0
 * What building a program and compiling it cost as it grows.
 *
 *   build/release/bench/planning [LAYERS ...]
 *
 * Prints instructions, states, seconds of the process to add the states and build the program, and to compile it. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/core/run/deep_program.h"

int main(int argc, char **argv)
{
    static const size_t usual[] = {1000, 2000, 4000, 8000, 16000, 112000};
    const size_t n = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof *usual;

    printf("%12s %10s %10s %10s %14s\n", "instructions", "states", "build s", "compile s", "us/instruction");
    for (size_t i = 0; i < n; i++) {
        const size_t layers = argc > 1 ? strtoul(argv[i + 1], NULL, 10) : usual[i];
        deep_cost cost = {0};
        rp_error err = {0};

        if (layers == 0 || deep_measure(layers, &cost, &err) != RP_OK) {
            fprintf(stderr, "planning: %s\n", err.text);
            return 1;
        }
        printf("%12zu %10zu %10.3f %10.3f %14.2f\n", cost.instructions, cost.states, cost.build, cost.compile,
               (cost.build + cost.compile) / (double)cost.instructions * 1e6);
    }
    return 0;
}
