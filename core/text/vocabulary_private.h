/* SPDX-License-Identifier: Apache-2.0
 * What learning a vocabulary and reading one share. */
#ifndef CORE_TEXT_VOCABULARY_PRIVATE_H
#define CORE_TEXT_VOCABULARY_PRIVATE_H

#include <stdbool.h>

#include "core/text/vocabulary.h"

/* The bytes alone, with room for `most` tokens in all. */
rp_status rp_vocabulary_new(rp_vocabulary **out, size_t most, rp_error *err);
/* The next token, of two that are there; false where they are joined already, or longer than any piece. */
bool rp_vocabulary_join(rp_vocabulary *vocabulary, rp_merge merge);

#endif
