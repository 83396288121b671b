/* SPDX-License-Identifier: Apache-2.0
 * The command as a build would be whose kernels fail their own conformance vectors: linked with --wrap, so that every
 * level is told to differ. All else is as it is. */
#include "kernels/conformance/conformance.h"

rp_status __real_rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err);
rp_status __wrap_rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err);

rp_status __wrap_rp_conformance_run_many(rp_conformance *result, size_t n, unsigned threads, rp_error *err)
{
    rp_status status = __real_rp_conformance_run_many(result, n, threads, err);

    for (size_t i = 0; i < n && status == RP_OK; i++)
        result[i].status = rp_fail(&result[i].error, RP_EBITS, "matmul f32: digest differs");
    return status;
}
