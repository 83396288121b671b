/* SPDX-License-Identifier: Apache-2.0
 * Tables in other encodings than UTF-8 (CONTRACT 9.1). Private to core/data. */
#ifndef CORE_DATA_TEXT_ENCODING_H
#define CORE_DATA_TEXT_ENCODING_H

#include "base/buffer.h"
#include "core/recipe/recipe.h"

/* The text as UTF-8, appended to out; encoding is not UTF-8. Errors: RP_EDATA with line and byte, RP_ENOMEM. */
rp_status rp_text_decode(rp_buffer *out, const void *bytes, size_t size, rp_encoding encoding, const char *where,
                         rp_error *err);

#endif
