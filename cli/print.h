/* SPDX-License-Identifier: Apache-2.0
 * Results for people (aligned lines) and for programs (JSON). Numbers are formatted here without printf, so neither the
 * locale nor the C library decides how they look. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "base/json.h"

#include "cli/cli.h"

/* Appends text without what a terminal would obey: control characters (C0 but for newline, DEL, C1) become '?'. */
void rp_put_plain(rp_buffer *out, const char *text);
/* The same in one line: a newline becomes '?' too. */
void rp_put_plain_line(rp_buffer *out, const char *text);

/* "label      text\n" */
void rp_put_line(rp_session *session, const char *label, const char *format, ...) RP_PRINTF(3, 4);
/* The same in green or red where colours are welcome: for verdicts. */
void rp_put_verdict(rp_session *session, bool good, const char *label, const char *format, ...) RP_PRINTF(4, 5);
/* What is told of n lines (`where`: "" or " of the table") that recipe keys pass over though they look like rows;
 * `tail` ends the sentence. */
void rp_hidden_words(rp_buffer *out, int64_t n, const char *where, const char *tail);
void rp_put_hidden(rp_session *session, int64_t n, const char *where, const char *tail);

enum { RP_NUMBER_TEXT = 40 };
/* value with so many decimals (0 to 6), rounded to nearest; "-" where it is not finite or too large. Returns out. */
const char *rp_fixed(char out[RP_NUMBER_TEXT], double value, int decimals);
size_t rp_characters(const char *text); /* of UTF-8 */
/* Bytes in MiB, or in KiB where that would be less than one. */
const char *rp_memory_text(char out[RP_NUMBER_TEXT], uint64_t bytes);
/* A decimal as the archive holds it, rounded in its text; exponents are kept as they are. Returns out. */
const char *rp_rounded(char out[RP_NUMBER_TEXT], const char *decimal, size_t decimals);

/* JSON: commas put themselves. key NULL inside an array, and for the outermost object. */
void rp_put_open(rp_buffer *out, const char *key, char bracket);
void rp_put_close(rp_buffer *out, char bracket);
void rp_put_text(rp_buffer *out, const char *key,
                 const char *text); /* NULL: null; bytes that are not UTF-8 become '?' */
void rp_put_integer(rp_buffer *out, const char *key, uint64_t value);
void rp_put_bool(rp_buffer *out, const char *key, bool value);
void rp_put_seconds(rp_buffer *out, const char *key, double value); /* a number with six decimals */
void rp_put_json(rp_buffer *out, const char *key, const rp_json *value);
/* A text that is JSON, as it stands. */
void rp_put_raw(rp_buffer *out, const char *key, const char *json);
/* outputs/metrics.json, in which reals are strings, with those reals as JSON numbers. */
void rp_put_metrics(rp_buffer *out, const char *key, const rp_json *metrics);

/* An object {"expected", "found", "member", "step", "value"}, each null where there is none; null where nothing is
 * known.
 */
void rp_put_difference(rp_buffer *out, const char *key, const rp_difference *difference);

/* Of a replay's scope "segments" to "steps_total", and trials where there are any. */
void rp_put_scope_counts(rp_buffer *out, const rp_replay_scope *scope);

/* Rows of {"here", "recorded", "what"}; null where there are none. */
void rp_put_host_json(rp_buffer *out, const char *key, const rp_host_table *table);
/* The same in aligned columns, a line each, under a line of their names; nothing where there are none. */
void rp_put_host_lines(rp_buffer *out, const rp_host_table *table);

/* A short line of the metrics: "accuracy 0.7650, AUC 0.7901, loss 0.5123 (200 rows)" for each part that exists. */
void rp_put_metric_lines(rp_session *session, const rp_json *metrics);

/* "signed  by key ..." for each statement, with what it states: only provenance and endorsements vouch for the run.
 * Those of keys that are not trusted are named last, and not quoted. */
void rp_put_signers(rp_session *session, const rp_verification *verified);
void rp_put_statements_json(rp_buffer *out, const char *key, const rp_verified_statement *list, size_t count);
/* What became of a policy's clauses; nothing for NULL. */
void rp_put_policy_lines(rp_session *session, const rp_policy_result *policy);
void rp_put_policy_json(rp_buffer *out, const char *key, const rp_policy_result *policy);
/* Where a clause is not met: exit code 4, and a line on stderr. */
void rp_policy_verdict(rp_session *session, const char *path, const rp_policy_result *policy);

#endif
