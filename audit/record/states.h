/* SPDX-License-Identifier: Apache-2.0
 * A run's tensors to and from sets of tensors (FORMAT.md 7.1), in windows. Whoever reads elements of a run for an
 * archive does it through rp_stored_window. */
#ifndef AUDIT_RECORD_STATES_H
#define AUDIT_RECORD_STATES_H

#include <string.h>

#include "audit/archive/tensor_parts.h"
#include "audit/archive/tensor_set.h"
#include "core/run/run.h"

rp_type rp_safetensor_type(const rp_safetensor *tensor);
/* Size stored bytes (FORMAT.md 3) from byte `at` on of a tensor of a run. */
rp_status rp_stored_window(const rp_device_tensor *tensor, size_t at, void *stored, size_t size, rp_error *err);

/* Writes a run's tensors as a set, or as one safetensors file to a sink. */
rp_status rp_tensors_add(rp_archive_writer *writer, const char *set, const rp_device_tensor *tensor, size_t n,
                         rp_error *err);
rp_status rp_tensors_measure(uint64_t *bytes, const rp_device_tensor *tensor, size_t n, rp_error *err);
rp_status rp_tensors_stream(const rp_byte_sink *to, const rp_device_tensor *tensor, size_t n, rp_error *err);
/* Present states of the run, without those named optim.* unless all. */
rp_status rp_states_add(rp_archive_writer *writer, const char *set, const rp_run *run, bool all, rp_error *err);
/* How many members a set of all states is. */
rp_status rp_states_parts(size_t *parts, const rp_run *run, rp_error *err);
/* Whether the archive's set has the members of the writer's, with the same bytes. */
bool rp_set_in_archive(const rp_archive_writer *writer, const rp_archive *archive, const char *set);

/* The tensors of a set as values for a run. fresh_moments: states of the run named optim.* that the set lacks are
 * zeros. */
typedef struct rp_set_values {
    const rp_tensor_set *set;
    bool fresh_moments;
} rp_set_values;
rp_value_source rp_values_of(rp_set_values *values);
/* States (or else data) of the set's names and types are added to a run before its first step, with the set's values.
 */
rp_status rp_run_add_set(rp_run *run, const rp_tensor_set *set, bool states, rp_error *err);
/* A tensor of a set has the run's bytes under the same name and type. */
rp_status rp_set_has(bool *has, const rp_tensor_set *set, const rp_safetensor *tensor, const rp_device_tensor *state,
                     rp_error *err);

static inline bool rp_is_moment(const char *name)
{
    return strncmp(name, "optim.", 6) == 0;
}

#endif
