/* SPDX-License-Identifier: Apache-2.0
 * Verification is public (rp/archive.h); audit/verify.c explains its order. */
#ifndef AUDIT_VERIFY_H
#define AUDIT_VERIFY_H

#include "audit/archive.h"
#include "audit/oms.h"

#endif
