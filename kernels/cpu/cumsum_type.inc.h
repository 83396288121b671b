/* SPDX-License-Identifier: Apache-2.0
 * Running sums or products for one type: each is the one before it joined with the element, the first the element
 * itself. Parameters: RUN(name), its names; JOIN(a, b), their sum or product. They end with it. */

/* `width` columns beside one another in both tensors. */
static void RUN(columns)(const lines *l, size_t column, size_t width)
{
    const T *x = (const T *)l->x + column;
    T *y = (T *)l->y + column;

    RP_EACH(c, width) y[c] = x[c];
    for (size_t i = 1; i < l->n; i++) {
        const T *before = y;

        x += l->x_step;
        y += l->y_step;
        RP_EACH(c, width) y[c] = (T)JOIN((WIDE)before[c], (WIDE)x[c]);
    }
}

/* `count` lines, a constant, that lie anywhere: their chains of additions overlap. */
RP_INLINE void RUN(beside)(const lines *l, size_t line, size_t count)
{
    const T *x = (const T *)l->x + (ptrdiff_t)line * l->x_line;
    T *y = (T *)l->y + (ptrdiff_t)line * l->y_line, so_far[LINES];

    RP_UNROLL
    for (size_t k = 0; k < count; k++)
        y[(ptrdiff_t)k * l->y_line] = so_far[k] = x[(ptrdiff_t)k * l->x_line];
    for (size_t i = 1; i < l->n; i++) {
        x += l->x_step;
        y += l->y_step;
        RP_UNROLL
        for (size_t k = 0; k < count; k++) {
            so_far[k] = (T)JOIN((WIDE)so_far[k], (WIDE)x[(ptrdiff_t)k * l->x_line]);
            y[(ptrdiff_t)k * l->y_line] = so_far[k];
        }
    }
}

static void RUN(lines)(const lines *l)
{
    const size_t strip = COLUMN_STRIP / sizeof(T);
    size_t line = 0;

    if (l->n == 0)
        return;
    if (l->y_line == 1 && l->x_line == 1 && l->count >= COLUMNS_LEAST) {
        for (; line < l->count; line += strip)
            RUN(columns)(l, line, l->count - line < strip ? l->count - line : strip);
        return;
    }
    for (; line + LINES <= l->count; line += LINES)
        RUN(beside)(l, line, LINES);
    for (; line + 2 <= l->count; line += 2)
        RUN(beside)(l, line, 2);
    for (; line < l->count; line++)
        RUN(beside)(l, line, 1);
}

#undef RUN
#undef JOIN
