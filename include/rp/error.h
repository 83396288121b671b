/* SPDX-License-Identifier: Apache-2.0
 * Status codes and error context.
 *
 * Every function that can fail returns an rp_status and takes an optional rp_error that the caller owns.
 * On failure the error says what, where, expected, found and what to do; out-parameters are NULL (or
 * untouched, where a header says so) and state is unchanged. The library never prints, exits or aborts. */
#ifndef RP_ERROR_H
#define RP_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RP_API __attribute__((visibility("default")))
#define RP_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define RP_API
#define RP_PRINTF(a, b)
#endif

typedef enum rp_status {
    RP_OK = 0,
    RP_ENOMEM,       /* an allocation failed */
    RP_EIO,          /* a file could not be read or written */
    RP_EARG,         /* an argument, option or recipe key is wrong: the caller can mend the call */
    RP_EEXIST,       /* the output exists and force was not given */
    RP_EDATA,        /* input data (CSV, tensor file) is malformed or unusable */
    RP_ESHAPE,       /* shapes or dtypes do not fit the operation */
    RP_EFORMAT,      /* an archive or one of its members is not well formed */
    RP_EHASH,        /* a digest differs from what the manifest or journal says */
    RP_ESIGN,        /* a signature is missing, wrong, or by a key that is not trusted */
    RP_EBITS,        /* a replay or comparison found different bits */
    RP_EUNSUPPORTED, /* well formed, but newer than this build or not possible on this host */
    RP_EFPENV,       /* the floating-point environment cannot be brought under the contract */
    RP_ECANCELED     /* the caller asked to stop */
} rp_status;

enum { RP_ERROR_TEXT = 1024 };

/* What an RP_EBITS error says, field by field, for programs; "" where there is none. */
typedef struct rp_difference {
    bool known;         /* of other errors, and of a difference that is no pair of values, false */
    int64_t step;       /* -1: of no step */
    char member[104];   /* of the archive */
    char value[200];    /* what of the step or member: "loss", "digest of the state", "SHA-256" */
    char expected[200]; /* recorded, as the text has it; "": the archive has no such member */
    char found[200];    /* recomputed; "": the replay does not make it */
} rp_difference;

typedef struct rp_error {
    rp_status status;
    char text[RP_ERROR_TEXT]; /* one line, no trailing newline, always terminated */
    rp_difference difference; /* of RP_EBITS */
} rp_error;

/* Fills err (may be NULL) and returns status, so that `return rp_fail(err, RP_EIO, ...)` reads as one thought. */
RP_API rp_status rp_fail(rp_error *err, rp_status status, const char *format, ...) RP_PRINTF(3, 4);

/* RP_EBITS: "step 3: outputs/x.csv: loss: recorded E, recomputed F", and the same as fields. step -1: none; member,
 * value: NULL: none. expected or found NULL: "in the archive, but not made by the replay", or the other way round. */
RP_API rp_status rp_differs(rp_error *err, int64_t step, const char *member, const char *value, const char *expected,
                            const char *found);

/* The fields alone, of an RP_EBITS error with another text. Returns RP_EBITS. */
RP_API rp_status rp_note_difference(rp_error *err, int64_t step, const char *member, const char *value,
                                    const char *expected, const char *found);

/* Puts "where: " in front of an error already filled in; returns its status. */
RP_API rp_status rp_fail_at(rp_error *err, rp_status status, const char *format, ...) RP_PRINTF(3, 4);

/* The code's name, e.g. "RP_EHASH"; never NULL. */
RP_API const char *rp_status_name(rp_status status);

/* The process exit code for a status: 0 fine, 1 failed to run, 2 usage, 3 bits differ, 4 signature or hash
 * wrong, 5 not supported here, 130 interrupted. */
RP_API int rp_exit_code(rp_status status);

#endif
