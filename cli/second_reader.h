/* SPDX-License-Identifier: Apache-2.0
 * The command's second opinion on an archive's structure: libarchive, a tar reader by other hands, must list the same
 * members at the same places. The library's own reader leaves no room for another answer; whoever doubts that, or finds
 * a flaw in it, has this. */
#ifndef CLI_SECOND_READER_H
#define CLI_SECOND_READER_H

#include "rp/verify.h"

/* Asks about an archive that was just opened; closes it and sets *archive to NULL on failure. Errors: RP_EFORMAT names
 * the member that the two disagree on; RP_EIO, RP_ENOMEM. In reprise-verify, which has one reader, always RP_OK. */
rp_status rp_second_reader(rp_archive **archive, const char *path, rp_error *err);

#endif
