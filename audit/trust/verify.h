/* SPDX-License-Identifier: Apache-2.0
 * Verification is public (rp/archive.h); audit/trust/verify.c explains its order. */
#ifndef AUDIT_TRUST_VERIFY_H
#define AUDIT_TRUST_VERIFY_H

#include "audit/archive/archive.h"
#include "audit/statements/oms.h"

#endif
