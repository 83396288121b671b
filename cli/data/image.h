/* SPDX-License-Identifier: Apache-2.0
 * Images as the command takes them: PNG by libpng, JPEG by libjpeg-turbo, told by their first bytes. */
#ifndef CLI_DATA_IMAGE_H
#define CLI_DATA_IMAGE_H

#include "rp/audit.h"

/* As decode_image of rp_job_options. Grey images have one channel, others three: red, green, blue, 8 bits each; nothing
 * is scaled, and no gamma, profile or orientation is applied. Errors: RP_EDATA: damaged, with transparency, 16 bits or
 * CMYK, over 2^20 bytes of pixels; RP_EUNSUPPORTED: this build was made without the library. */
rp_status rp_image_decode(const void *bytes, size_t size, const char *where,
                          rp_status (*take)(void *taker, size_t height, size_t width, size_t channels,
                                            const unsigned char *pixels, rp_error *err),
                          void *taker, rp_error *err);

#endif
