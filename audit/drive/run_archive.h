/* SPDX-License-Identifier: Apache-2.0
 * What running and replaying share once the last step is done: the archive's members and manifest, and the job's
 * summary. */
#ifndef AUDIT_DRIVE_RUN_ARCHIVE_H
#define AUDIT_DRIVE_RUN_ARCHIVE_H

#include "audit/drive/driver.h"

/* All members that recorder and driver make, and the manifest. */
rp_status rp_compose_archive(rp_driver *driver, rp_recorder *recorder, rp_archive_writer *writer, rp_error *err);
/* What was computed by the driver, with metrics, level and threads; the rest is the caller's to fill in. */
rp_status rp_compose_job(rp_job **out, const rp_driver *driver, rp_error *err);

#endif
