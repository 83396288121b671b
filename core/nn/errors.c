/* SPDX-License-Identifier: Apache-2.0
 * A model's first error, which is kept and told again; patterns of names; what is freed with the model. */
#include <stdarg.h>
#include <stdio.h>

#include "base/handle.h"
#include "core/nn/nn_private.h"

rp_error *rp_nn_error(rp_nn *nn)
{
    return &nn->error;
}

rp_status rp_nn_told(const rp_nn *nn, rp_error *err)
{
    if (nn->status != RP_OK && err)
        *err = nn->error;
    return nn->status;
}

rp_status rp_nn_keep(rp_nn *nn, rp_status status, rp_error *err)
{
    if (status != RP_OK && nn->status == RP_OK)
        nn->status = status;
    return rp_nn_told(nn, err);
}

rp_status rp_nn_status(const rp_nn *nn, rp_error *err)
{
    return nn ? rp_nn_told(nn, err) : rp_no_handle(err, __func__, "nn");
}

rp_status rp_nn_check_open(const rp_nn *nn, const char *call, rp_error *err)
{
    return nn->built ? rp_fail(err, RP_EARG,
                               "%s: the model is built already: call it before rp_nn_build, "
                               "rp_nn_record and the first step",
                               call)
                     : RP_OK;
}

bool rp_nn_matches(const char *pattern, const char *name)
{
    const char *star = NULL, *again = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = ++pattern;
            again = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star;
            name = ++again;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

void rp_nn_fail(rp_nn *nn, rp_status status, const char *format, ...)
{
    char text[RP_ERROR_TEXT];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (nn->graph)
        rp_graph_fail(nn->graph, status, "%s", text);
    else if (nn->status == RP_OK)
        nn->status = rp_fail(&nn->error, status, "%s", text);
}

void rp_nn_set_companion(rp_nn *nn, void *companion, void (*release)(void *companion))
{
    if (nn->companion)
        nn->release(nn->companion);
    nn->companion = companion;
    nn->release = release;
}

void *rp_nn_companion(rp_nn *nn)
{
    return nn->companion;
}
