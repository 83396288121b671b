/* SPDX-License-Identifier: Apache-2.0
 * Running sums for one type: each is the one before it plus the element, the first the element itself. */

/* `width` columns beside one another in both tensors. */
static void FN(cumsum_columns)(const lines *l, size_t column, size_t width)
{
    const T *x = (const T *)l->x + column;
    T *y = (T *)l->y + column;

    RP_EACH(c, width) y[c] = x[c];
    for (size_t i = 1; i < l->n; i++) {
        const T *before = y;

        x += l->x_step;
        y += l->y_step;
        RP_EACH(c, width) y[c] = (T)((WIDE)before[c] + (WIDE)x[c]);
    }
}

/* `count` lines, a constant, that lie anywhere: their chains of additions overlap. */
RP_INLINE void FN(cumsum_beside)(const lines *l, size_t line, size_t count)
{
    const T *x = (const T *)l->x + (ptrdiff_t)line * l->x_line;
    T *y = (T *)l->y + (ptrdiff_t)line * l->y_line, sum[LINES];

    RP_UNROLL
    for (size_t k = 0; k < count; k++)
        y[(ptrdiff_t)k * l->y_line] = sum[k] = x[(ptrdiff_t)k * l->x_line];
    for (size_t i = 1; i < l->n; i++) {
        x += l->x_step;
        y += l->y_step;
        RP_UNROLL
        for (size_t k = 0; k < count; k++) {
            sum[k] = (T)((WIDE)sum[k] + (WIDE)x[(ptrdiff_t)k * l->x_line]);
            y[(ptrdiff_t)k * l->y_line] = sum[k];
        }
    }
}

static void FN(cumsum_lines)(const lines *l)
{
    const size_t strip = COLUMN_STRIP / sizeof(T);
    size_t line = 0;

    if (l->n == 0)
        return;
    if (l->y_line == 1 && l->x_line == 1 && l->count >= COLUMNS_LEAST) {
        for (; line < l->count; line += strip)
            FN(cumsum_columns)(l, line, l->count - line < strip ? l->count - line : strip);
        return;
    }
    for (; line + LINES <= l->count; line += LINES)
        FN(cumsum_beside)(l, line, LINES);
    for (; line + 2 <= l->count; line += 2)
        FN(cumsum_beside)(l, line, 2);
    for (; line < l->count; line++)
        FN(cumsum_beside)(l, line, 1);
}
