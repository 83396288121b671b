/* SPDX-License-Identifier: Apache-2.0
 * The feeds of a run that nothing else can derive: each distinct one once, on disk, found by its tensor digest, and the
 * order in which steps took them (FORMAT.md 9). */
#ifndef AUDIT_RECORD_FEEDS_H
#define AUDIT_RECORD_FEEDS_H

#include "audit/record/states.h"

typedef struct rp_feeds rp_feeds;

rp_status rp_feeds_new(rp_feeds **out, rp_error *err);
void rp_feeds_free(rp_feeds *feeds);
/* A step took it; digest: of the tensor. */
rp_status rp_feeds_keep(rp_feeds *feeds, const rp_device_tensor *feed, const rp_digest *digest, rp_error *err);
/* data/feeds.safetensors, whole or in parts, and data/feeds.bin. Feeds may go on being kept afterwards. */
rp_status rp_feeds_add_members(rp_feeds *feeds, rp_archive_writer *writer, rp_error *err);
/* What an archive of the run's first steps holds; nothing was kept so far. Errors: RP_EFORMAT. */
rp_status rp_feeds_take(rp_feeds *feeds, const rp_archive *archive, rp_error *err);

#endif
