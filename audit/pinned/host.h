/* SPDX-License-Identifier: Apache-2.0
 * The pinned profile between a device and an archive: what is recorded of the device, and whether a recorded run may
 * be repeated on one. */
#ifndef AUDIT_PINNED_HOST_H
#define AUDIT_PINNED_HOST_H

#include "audit/archive/archive.h"
#include "core/run/run.h"

/* run.pinned of a manifest, without products; NULL for a device in the portable profile. Reads the files of driver and
 * library: before the first step, as they are then what is loaded. Errors: RP_EIO, RP_ENOMEM. */
rp_status rp_pinned_describe(rp_json **out, const rp_device *device, rp_error *err);
/* And the products that were computed. */
rp_status rp_pinned_say_products(rp_json *pinned, const rp_device *device, rp_error *err);
/* The library that a pinned run on a device of that name would take, for who has yet to make one: an object of file,
 * name, sha256 and version, or a text of why there is none. Errors: RP_ENOMEM. */
rp_status rp_pinned_library_here(rp_json **out, const char *device, rp_error *err);
/* For people: what the device's products depend on; "" in the portable profile. */
void rp_pinned_device_words(char *out, size_t size, const rp_device *device);
/* Before anything is computed, or even made: that this host is what the archive's run is pinned to. own: options, and
 * of a pinned run its profile, whose text is the archive's. Nothing for a portable run. Errors: RP_EUNSUPPORTED with
 * what differs. */
rp_status rp_pinned_admit(rp_run_options *own, const rp_archive *archive, const rp_run_options *options, rp_error *err);
/* The run's products are the archive's, and no others. */
rp_status rp_pinned_bind(const rp_run *run, const rp_archive *archive, rp_error *err);

#endif
