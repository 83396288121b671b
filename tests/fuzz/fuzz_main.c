/* SPDX-License-Identifier: Apache-2.0
 * Replays files through a fuzz target without libFuzzer: every argument is one input. With libFuzzer (clang
 * -fsanitize=fuzzer) leave this file out. */
#include <stdint.h>
#include <stdio.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        rp_buffer bytes = {0};
        rp_error err;

        if (rp_file_read(argv[i], (size_t)1 << 28, &bytes, &err) != RP_OK) {
            (void)fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        (void)LLVMFuzzerTestOneInput(bytes.data, bytes.size);
        rp_buffer_free(&bytes);
    }
    return 0;
}
