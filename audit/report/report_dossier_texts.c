/* SPDX-License-Identifier: Apache-2.0
 * The headings of the dossiers: what each text asks, what of an archive speaks to it, what the firm must write itself.
 * COMPLIANCE.md says how far each text was read. */
#include "audit/report/report_dossier.h"

static const rp_dossier_heading annex_iv[] = {
    {"Annex IV, 1",
     "General description: intended purpose, provider, version, how it interacts with other systems",
     {RP_SHOWS_MODEL, RP_SHOWS_USE, RP_SHOWS_CARD, RP_SHOWS_ID},
     "The provider, the product around the model, hardware and software it runs in, the user's interface and "
     "instructions."},
    {"Annex IV, 2 (a) to (c)",
     "Methods and steps of development, design and its reasons, architecture, computing resources",
     {RP_SHOWS_MODEL, RP_SHOWS_SETTINGS, RP_SHOWS_PROGRAMS, RP_SHOWS_PARENT, RP_SHOWS_ENVIRONMENT},
     "Why this design and not another, its assumptions, what was optimised for and what was traded for it."},
    {"Annex IV, 2 (d)",
     "Data: provenance, scope, characteristics, how obtained and selected, labelling, cleaning",
     {RP_SHOWS_DATA, RP_SHOWS_QUALITY, RP_SHOWS_SPLIT},
     "Where the rows come from, whom they represent, how they were chosen and labelled before they became this table."},
    {"Annex IV, 2 (e)",
     "Human oversight",
     {RP_SHOWS_CARD, RP_SHOWS_DECIDED},
     "The measures of oversight, and how those who use the output are helped to interpret it."},
    {"Annex IV, 2 (f)",
     "Changes determined beforehand",
     {RP_SHOWS_PARENT},
     "Which changes are foreseen, and how compliance is kept through them."},
    {"Annex IV, 2 (g)",
     "Validation and testing: data, metrics of accuracy, robustness, discriminatory impact, test logs, reports "
     "dated and "
     "signed",
     {RP_SHOWS_GOOD, RP_SHOWS_TRIVIAL, RP_SHOWS_CALIBRATION, RP_SHOWS_STABLE, RP_SHOWS_FAIR, RP_SHOWS_VALIDATED,
      RP_SHOWS_EXPLAINED, RP_SHOWS_JOURNAL, RP_SHOWS_SIGNED},
     "Choice and adequacy of the metrics and of their thresholds, robustness, groups that no figure names, tests of "
     "the system as a whole, and whose key is whose."},
    {"Annex IV, 2 (h)",
     "Cybersecurity",
     {RP_SHOWS_ID, RP_SHOWS_SIGNED},
     "All measures beyond the integrity of this record."},
    {"Annex IV, 3 and 4",
     "Monitoring, functioning and control; limits, foreseeable harm; why these metrics are appropriate",
     {RP_SHOWS_GOOD, RP_SHOWS_CARD, RP_SHOWS_REFERENCE, RP_SHOWS_MONITORED},
     "Limits of performance, accuracy for the persons it is used on, risks to health, safety and fundamental "
     "rights, why the "
     "metrics fit the purpose."},
    {"Annex IV, 5 to 8",
     "Risk management, changes over the lifecycle, standards applied, declaration of conformity",
     {RP_SHOWS_PARENT, RP_SHOWS_RETRAINED, RP_SHOWS_DECIDED},
     "All else: an archive records one training."},
    {"Annex IV, 9",
     "Monitoring after it is placed on the market (Article 72)",
     {RP_SHOWS_REFERENCE, RP_SHOWS_MONITORED},
     "The plan, and results that are not attached: reprise monitor gives figures of drift against the edges named "
     "here."},
};

static const rp_dossier_heading art31[] = {
    {"Art. 31(6)",
     "Documentation and code from which a third party reproduces the final results",
     {RP_SHOWS_ID, RP_SHOWS_SETTINGS, RP_SHOWS_PROGRAMS, RP_SHOWS_JOURNAL, RP_SHOWS_REPLAYED},
     "Everything before the table in the archive: extraction, definition of default, sampling; and the reasons for "
     "choices."},
    {"Art. 31(8)",
     "The model in production is the documented one",
     {RP_SHOWS_ID, RP_SHOWS_MODEL, RP_SHOWS_SIGNED},
     "That the system in production holds these weights and prepares its rows this way: reprise predict scores the "
     "same rows "
     "to compare."},
    {"ECB guide, 4",
     "A qualified third party can replicate the development",
     {RP_SHOWS_DATA, RP_SHOWS_SETTINGS, RP_SHOWS_TRIED, RP_SHOWS_JOURNAL, RP_SHOWS_REPLAYED},
     "The development that led to this recipe: what was tried before it and dropped is not in the archive."},
    {"ECB guide, 59",
     "Seeds stored, in some cases the exact order of observations",
     {RP_SHOWS_SETTINGS, RP_SHOWS_JOURNAL},
     "Seeds of whatever came before the recipe, sampling above all."},
    {"ECB guide, 53",
     "Versioned, verifiable decisions",
     {RP_SHOWS_DECIDED, RP_SHOWS_SIGNED, RP_SHOWS_PARENT, RP_SHOWS_ID},
     "Decisions that were made without a signed statement, and whose key is whose."},
    {"ECB guide, 43 and 62",
     "Stability against other approaches, hyperparameters and the randomness of training; explanations, global and per "
     "prediction",
     {RP_SHOWS_STABLE, RP_SHOWS_TRIED, RP_SHOWS_TRIVIAL, RP_SHOWS_COEFFICIENTS, RP_SHOWS_EXPLAINED},
     "Seeds, settings and methods that were not tried here; explanations of single decisions (reprise predict "
     "--reasons), and of the model where none is attached."},
    {"ECB guide, 6, 120 and 137",
     "Register of models, past versions, dimensions of data quality",
     {RP_SHOWS_QUALITY, RP_SHOWS_DATA, RP_SHOWS_ID},
     "The register (reprise inventory lists archives), keeping archives, quality of the sources."},
};

static const rp_dossier_heading sr26_2[] = {
    {"IV: testing",
     "Out-of-sample and out-of-time tests, alternative methods",
     {RP_SHOWS_GOOD, RP_SHOWS_SPLIT, RP_SHOWS_VALIDATED, RP_SHOWS_TRIVIAL, RP_SHOWS_TRIED, RP_SHOWS_CALIBRATION,
      RP_SHOWS_STABLE},
     "Tests on another period and alternative methods where none is named here, and what is good enough."},
    {"IV: data",
     "Quality and relevance of the data",
     {RP_SHOWS_DATA, RP_SHOWS_QUALITY},
     "Relevance to the use, sources and proxies."},
    {"V: documentation",
     "Design, assumptions and data written so that others understand them",
     {RP_SHOWS_MODEL, RP_SHOWS_USE, RP_SHOWS_CARD, RP_SHOWS_SETTINGS, RP_SHOWS_COEFFICIENTS},
     "Reasons for the design, its assumptions and limits in the firm's words."},
    {"V: outcomes",
     "Outputs compared with outcomes against the firm's own thresholds; benchmarking",
     {RP_SHOWS_GOOD, RP_SHOWS_CALIBRATION, RP_SHOWS_VALIDATED, RP_SHOWS_PARENT, RP_SHOWS_RETRAINED},
     "Thresholds, outcomes after deployment that no validation here is of, benchmarks."},
    {"V: monitoring",
     "Ongoing monitoring",
     {RP_SHOWS_REFERENCE, RP_SHOWS_MONITORED, RP_SHOWS_CARD},
     "The plan, results that are not attached (reprise monitor), overrides, limits on use."},
    {"VI: governance, inventory, findings",
     "Inventory, roles, findings tracked to closure",
     {RP_SHOWS_ID, RP_SHOWS_REPLAYED, RP_SHOWS_DECIDED, RP_SHOWS_FINDINGS, RP_SHOWS_SIGNED},
     "The inventory itself (reprise inventory lists archives), independence of people, closing findings."},
    {"VII: vendor models",
     "Development data and evidence of models from others",
     {RP_SHOWS_DATA, RP_SHOWS_REPLAYED, RP_SHOWS_ENVIRONMENT},
     "Obtaining archives from vendors, and validating for the firm's own portfolio."},
};

#define TEXT(list) list, sizeof list / sizeof *list
const rp_dossier_text rp_dossier_texts[] = {
    [RP_DOSSIER_ANNEX_IV] =
        {"EU AI Act, Regulation (EU) 2024/1689, Annex IV",
         "Read in a copy, not in the Official Journal. Duties on high-risk systems are reported moved to "
         "December 2027 and August 2028 by Regulation (EU) 2026/1744.",
         TEXT(annex_iv)},
    [RP_DOSSIER_ART31] =
        {"Commission Delegated Regulation (EU) 2022/439, Art. 31, with the ECB guide to internal models",
         "Both read in copies, the guide in the edition of July 2025; an edition of June 2026 is reported to "
         "keep its section on machine learning and was not read.",
         TEXT(art31)},
    [RP_DOSSIER_SR26_2] =
        {"SR 26-2 / OCC Bulletin 2026-13 (April 2026), which replaces SR 11-7",
         "Read as the issuer's text by its metadata, from a public mirror. It says that not following it "
         "brings no criticism by itself, and leaves generative AI out.",
         TEXT(sr26_2)},
};
