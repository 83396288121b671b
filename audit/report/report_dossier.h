/* SPDX-License-Identifier: Apache-2.0
 * Dossiers: the evidence of an archive in the order of a text that regulated firms work under. Private to the report.
 */
#ifndef AUDIT_REPORT_REPORT_DOSSIER_H
#define AUDIT_REPORT_REPORT_DOSSIER_H

#include "audit/report/report.h"

/* What an archive may show, each with the member that holds it. */
typedef enum rp_evidence {
    RP_SHOWS_NOTHING, /* ends a list */
    RP_SHOWS_MODEL,
    RP_SHOWS_USE,
    RP_SHOWS_CARD,
    RP_SHOWS_DATA,
    RP_SHOWS_QUALITY,
    RP_SHOWS_SPLIT,
    RP_SHOWS_SETTINGS,
    RP_SHOWS_PROGRAMS,
    RP_SHOWS_JOURNAL,
    RP_SHOWS_GOOD,
    RP_SHOWS_TRIVIAL,
    RP_SHOWS_CALIBRATION,
    RP_SHOWS_COEFFICIENTS,
    RP_SHOWS_STABLE,
    RP_SHOWS_FAIR,
    RP_SHOWS_PARENT,
    RP_SHOWS_REFERENCE,
    RP_SHOWS_SIGNED,
    RP_SHOWS_REPLAYED,
    RP_SHOWS_DECIDED,
    RP_SHOWS_ENVIRONMENT,
    RP_SHOWS_ID,
    RP_SHOWS_TRIED,
    RP_SHOWS_VALIDATED,
    RP_SHOWS_MONITORED,
    RP_SHOWS_EXPLAINED,
    RP_SHOWS_RETRAINED,
    RP_SHOWS_FINDINGS
} rp_evidence;

enum { RP_EVIDENCE_MAX = 10 };

typedef struct rp_dossier_heading {
    const char *reference, *asks; /* asks: in our words, not the text's */
    rp_evidence shows[RP_EVIDENCE_MAX];
    const char *left; /* to the firm */
} rp_dossier_heading;

typedef struct rp_dossier_text {
    const char *title;
    const char *read; /* how far it was read, and what is known to have changed */
    const rp_dossier_heading *heading;
    size_t headings;
} rp_dossier_text;

extern const rp_dossier_text rp_dossier_texts[]; /* by rp_dossier */

#endif
