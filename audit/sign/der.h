/* SPDX-License-Identifier: Apache-2.0
 * Whether bytes are one DER value and nothing else (X.690), before any other parser sees them: OpenSSL reads BER too,
 * and steps over what follows a value. What a DEFAULT leaves out and the order of sets are not looked at: they need the
 * type. */
#ifndef AUDIT_SIGN_DER_H
#define AUDIT_SIGN_DER_H

#include <stdbool.h>
#include <stddef.h>

/* Definite shortest lengths, low tags, no constructed strings, integers, booleans, bit strings, object identifiers and
 * times in their one form, at most 32 levels. NULL when all is well; else what is wrong, a static text. */
const char *rp_der_fault(const unsigned char *bytes, size_t size);

#endif
