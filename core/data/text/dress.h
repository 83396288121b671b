/* SPDX-License-Identifier: Apache-2.0
 * What a text that is no number under the recipe's rules seems to be, so that an error or a warning can name the key
 * that settles it. Nothing here decides a value. Private to core. */
#ifndef CORE_DATA_TEXT_DRESS_H
#define CORE_DATA_TEXT_DRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum rp_look {
    RP_LOOK_TEXT,
    RP_LOOK_NUMBER, /* in a dress that a key takes off */
    RP_LOOK_UNIT,   /* a number and a word behind it: a quantity, or a name */
    RP_LOOK_DATE
} rp_look;

/* Of the cells of a column together: what is seen in any of them. Zeroed to begin with. */
typedef struct rp_dress_seen {
    bool spaces, brackets; /* around the number; (12) */
    bool comma_decimal;    /* 1,5: no group of three */
    bool iso_date;
    char prefix[16], suffix[16]; /* the first met; "" for none */
    char thousands[4];           /* certain: 1,234,567 or 1.234,5 */
    char group_or_point;         /* '.' or ',' of 1,234: either; 0 for none */
} rp_dress_seen;

/* What text seems to be; what is seen is added to seen (may be NULL). */
rp_look rp_dress_look(const char *text, rp_dress_seen *seen);
/* The keys that would read what was seen, e.g. data: {prefix: ["$"], thousands: ","}. Returns out. */
char *rp_dress_keys(char *out, size_t size, const rp_dress_seen *seen);

enum { RP_DRESS_KEYS = 200 };

#endif
