/* SPDX-License-Identifier: Apache-2.0
 * libFuzzer entry: a PNG or a JPEG image, decoded or refused; every byte of what is decoded is touched, and decoding it
 * again gives the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/data/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static rp_status take(void *self, size_t height, size_t width, size_t channels, const unsigned char *pixels,
                      rp_error *err)
{
    (void)err;
    rp_buffer_append(self, pixels, height * width * channels);
    return RP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rp_buffer once = {0}, again = {0};
    rp_error err;

    if (size > 1 << 16)
        return 0;
    if (rp_image_decode(data, size, "fuzz", take, &once, &err) == RP_OK) {
        if (rp_image_decode(data, size, "fuzz", take, &again, &err) != RP_OK || once.size != again.size ||
            memcmp(once.data, again.data, once.size) != 0)
            abort();
    } else if (once.size > 0 || err.text[0] == '\0') {
        abort();
    }
    rp_buffer_free(&once);
    rp_buffer_free(&again);
    return 0;
}
