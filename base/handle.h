/* SPDX-License-Identifier: Apache-2.0
 * What a public call answers to a handle that is NULL: an error like any other, not the end of the process. */
#ifndef BASE_HANDLE_H
#define BASE_HANDLE_H

#include "rp/error.h"

/* call: __func__ of the public call; handle: its parameter's name. */
static inline rp_status rp_no_handle(rp_error *err, const char *call, const char *handle)
{
    return rp_fail(err, RP_EARG, "%s: the handle %s is NULL: was the call that makes it checked for its error?", call,
                   handle);
}

/* The same of what the caller has without a call: a path, a text, a function. */
static inline rp_status rp_no_value(rp_error *err, const char *call, const char *parameter)
{
    return rp_fail(err, RP_EARG, "%s: %s is NULL", call, parameter);
}

#endif
