/* SPDX-License-Identifier: Apache-2.0
 * One chunk of a block of convolution outputs, for one type: packing, register tiles, and channels side by side. */
/* Runs of terms of b, PANEL columns of it: as they lie in memory, or one packed run. */
typedef struct FN(panel) {
    const T *b;
    ptrdiff_t b_step;
    const segment *run;
    size_t runs;
} FN(panel);

#ifdef VEC_BYTES
#define WIDTH (VEC_BYTES / sizeof(T))
#define PANEL (2 * WIDTH)

/* The chains of `rows` rows of a over the runs of b, whose terms lie b_step apart. */
RP_INLINE void FN(conv_tile)(size_t rows, T *const *y, const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                             const FN(panel) *panel, outcome how)
{
    FN(vec) sum[CONV_ROWS][2];

    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        sum[i][0] = how == RESUME ? FN(vec_load)(y[i]) : FN(vec_all)(0);
        sum[i][1] = how == RESUME ? FN(vec_load)(y[i] + WIDTH) : FN(vec_all)(0);
    }
    for (size_t run = 0; run < panel->runs; run++) {
        const T *b = panel->b + panel->run[run].b;

        for (size_t left = panel->run[run].n; left > 0; left--) {
            const FN(vec) low = FN(vec_load)(b), high = FN(vec_load)(b + WIDTH);

            RP_UNROLL
            for (size_t i = 0; i < rows; i++) {
                const FN(vec) x = FN(vec_all)(a[(ptrdiff_t)i * a_row]);

                sum[i][0] = FN(vec_fma)(x, low, sum[i][0]);
                sum[i][1] = FN(vec_fma)(x, high, sum[i][1]);
            }
            a += a_col;
            b += panel->b_step;
        }
    }
    RP_UNROLL
    for (size_t i = 0; i < rows; i++) {
        FN(vec_store)(y[i], how == ADD ? FN(vec_add)(FN(vec_load)(y[i]), sum[i][0]) : sum[i][0]);
        FN(vec_store)(y[i] + WIDTH, how == ADD ? FN(vec_add)(FN(vec_load)(y[i] + WIDTH), sum[i][1]) : sum[i][1]);
    }
}

/* The highest tiles first; a few heights only, since each is a body of its own. */
static void FN(conv_panel)(size_t rows, T *const *y, const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                           const FN(panel) *panel, outcome how)
{
    while (rows > 0) {
        const size_t few = rows >= 4 ? 4 : rows >= 2 ? 2 : 1, n = rows >= CONV_ROWS ? CONV_ROWS : few;

        switch (n) {
        case 1: FN(conv_tile)(1, y, a, a_row, a_col, panel, how); break;
        case 2: FN(conv_tile)(2, y, a, a_row, a_col, panel, how); break;
        case 4: FN(conv_tile)(4, y, a, a_row, a_col, panel, how); break;
        default: FN(conv_tile)(CONV_ROWS, y, a, a_row, a_col, panel, how);
        }
        rows -= n;
        y += n;
        a += (ptrdiff_t)n * a_row;
    }
}
#else
#define PANEL (2 * WIDEST / sizeof(T))

/* Without a fused instruction: the exact software fma, a panel of neighbouring chains at a time. */
static void FN(conv_panel)(size_t rows, T *const *y, const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                           const FN(panel) *panel, outcome how)
{
    for (size_t i = 0; i < rows; i++) {
        const T *x = a + (ptrdiff_t)i * a_row;
        T chain[PANEL];

        for (size_t j = 0; j < PANEL; j++)
            chain[j] = how == RESUME ? y[i][j] : 0;
        for (size_t run = 0; run < panel->runs; run++) {
            const T *b = panel->b + panel->run[run].b;

            for (size_t l = 0; l < panel->run[run].n; l++, b += panel->b_step, x += a_col)
                RP_EACH(j, PANEL) chain[j] = FN(rp_fma)(*x, b[j], chain[j]);
        }
        for (size_t j = 0; j < PANEL; j++)
            y[i][j] = how == ADD ? y[i][j] + chain[j] : chain[j];
    }
}
#endif

/* The terms of every row of group g. Returns the steps between rows and between terms. */
static void FN(pack_a)(const block *p, size_t g, T *packed, ptrdiff_t *a_row, ptrdiff_t *a_col)
{
    const ptrdiff_t skip = (ptrdiff_t)g * p->a_group;

    *a_row = p->side_by_side ? 1 : RP_CONV_CHUNK + 16; /* rows apart from each other in the cache */
    *a_col = p->side_by_side ? (ptrdiff_t)p->rows : 1;
    for (size_t i = 0; i < (p->side_by_side ? 1 : p->rows); i++) {
        T *to = packed + (ptrdiff_t)i * *a_row;

        for (size_t n = 0; n < p->segments; n++) {
            const T *from = (const T *)p->a[i] + skip + p->segment[n].a;
            const size_t count = p->segment[n].n;

            if (p->side_by_side)
                for (size_t l = 0; l < count; l++, to += p->rows)
                    memcpy(to, from + (ptrdiff_t)l * p->a_step, p->rows * sizeof *to);
            else if (p->a_step == 1)
                memcpy(to, from, count * sizeof *to);
            else
                for (size_t l = 0; l < count; l++)
                    to[l] = from[(ptrdiff_t)l * p->a_step];
            if (!p->side_by_side)
                to += count;
        }
    }
}

#ifdef VEC_BYTES
/* PANEL columns that each lie in order, turned a square of vectors at a time: zipping the halves log2(WIDTH) times
 * transposes. Returns how many terms it took. */
static size_t FN(turn_b)(T *packed, const T *from, ptrdiff_t b_col, size_t n)
{
    size_t done = 0;

    for (; done + WIDTH <= n; done += WIDTH)
        for (size_t half = 0; half < PANEL; half += WIDTH) {
            FN(vec) v[WIDTH], w[WIDTH];

            RP_UNROLL
            for (size_t j = 0; j < WIDTH; j++)
                v[j] = FN(vec_load)(from + (ptrdiff_t)(half + j) * b_col + done);
            RP_UNROLL
            for (size_t stage = 1; stage < WIDTH; stage *= 2) {
                RP_UNROLL
                for (size_t j = 0; j < WIDTH / 2; j++) {
                    w[2 * j] = FN(vec_zip_low)(v[j], v[j + WIDTH / 2]);
                    w[2 * j + 1] = FN(vec_zip_high)(v[j], v[j + WIDTH / 2]);
                }
                RP_UNROLL
                for (size_t j = 0; j < WIDTH; j++)
                    v[j] = w[j];
            }
            RP_UNROLL
            for (size_t j = 0; j < WIDTH; j++)
                FN(vec_store)(packed + (done + j) * PANEL + half, v[j]);
        }
    return done;
}
#endif

/* Terms of b, the missing columns as zeros: they are outputs nobody stores. */
static void FN(pack_b)(const block *p, const T *b, size_t columns, T *packed)
{
    for (size_t n = 0; n < p->segments; n++) {
        const T *from = b + p->segment[n].b;
        size_t l = 0;

#ifdef VEC_BYTES
        if (p->b_step == 1 && columns == PANEL)
            l = FN(turn_b)(packed, from, p->b_col, p->segment[n].n);
        packed += l * PANEL;
        from += (ptrdiff_t)l * p->b_step;
#endif
        for (; l < p->segment[n].n; l++, from += p->b_step, packed += PANEL)
            if (p->b_col == 1 && columns == PANEL)
                memcpy(packed, from, PANEL * sizeof *packed);
            else
                for (size_t j = 0; j < PANEL; j++)
                    packed[j] = j < columns ? from[(ptrdiff_t)j * p->b_col] : 0;
    }
}

/* A panel narrower than a tile, or with a stride in y, is computed beside y and its columns are copied. */
static void FN(panel_aside)(const block *p, T *const *y, size_t columns, const T *a, ptrdiff_t a_row, ptrdiff_t a_col,
                            const FN(panel) *panel)
{
    T aside[CONV_ROWS][PANEL], *rows[CONV_ROWS];

    for (size_t i = 0; i < CONV_ROWS; i++)
        rows[i] = aside[i];
    for (size_t done = 0; done < p->rows; done += CONV_ROWS) {
        const size_t count = p->rows - done < CONV_ROWS ? p->rows - done : CONV_ROWS;

        FN(conv_panel)(count, rows, a + (ptrdiff_t)done * a_row, a_row, a_col, panel, SET);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < columns; j++) {
                T *at = y[done + i] + (ptrdiff_t)j * p->y_col;

                *at = p->first ? aside[i][j] : *at + aside[i][j];
            }
    }
}

static void FN(tiles)(const block *p)
{
    T a[BLOCK_BYTES / sizeof(T) * (RP_CONV_CHUNK + 16)], packed[RP_CONV_CHUNK * PANEL], *y[MOST_ROWS];
    const segment whole = {.n = p->terms};
    const bool in_place = p->b_col == 1 && p->rows <= 2 * CONV_ROWS; /* too few rows to pay for packing b */
    ptrdiff_t a_row, a_col;

    for (size_t g = 0; g < p->groups; g++) {
        FN(pack_a)(p, g, a, &a_row, &a_col);
        for (size_t column = 0; column < p->columns; column += PANEL) {
            const size_t columns = p->columns - column < PANEL ? p->columns - column : PANEL;
            const T *b = (const T *)p->b + (ptrdiff_t)g * p->b_group + (ptrdiff_t)column * p->b_col;
            FN(panel) panel = {packed, PANEL, &whole, 1};

            for (size_t i = 0; i < p->rows; i++)
                y[i] = (T *)p->y[i] + (ptrdiff_t)g * p->y_group + (ptrdiff_t)column * p->y_col;
            if (in_place && columns == PANEL)
                panel = (FN(panel)){b, p->b_step, p->segment, p->segments};
            else
                FN(pack_b)(p, b, columns, packed);
            if (columns == PANEL && p->y_col == 1)
                FN(conv_panel)(p->rows, y, a, a_row, a_col, &panel, p->first ? SET : ADD);
            else
                FN(panel_aside)(p, y, columns, a, a_row, a_col, &panel);
        }
    }
}

enum { FN(LANES) = 128 / sizeof(T) };

/* n <= LANES channels that do not mix: one chain each, side by side. */
RP_INLINE void FN(channels_part)(const block *p, size_t row, size_t channel, size_t n)
{
    T chain[FN(LANES)] = {0}, *y = (T *)p->y[row] + channel;

    for (size_t i = 0; i < p->segments; i++) {
        const T *a = (const T *)p->a[row] + p->segment[i].a + channel;
        const T *b = (const T *)p->b + p->segment[i].b + channel;

        for (size_t l = 0; l < p->segment[i].n; l++, a += p->a_step, b += p->b_step)
            RP_EACH(j, n) chain[j] = FN(rp_fma)(a[j], b[j], chain[j]);
    }
    RP_EACH(j, n) y[j] = p->first ? chain[j] : y[j] + chain[j];
}

static void FN(channels)(const block *p)
{
    for (size_t row = 0; row < p->rows; row++) {
        size_t channel = 0;

        for (; channel + FN(LANES) <= p->groups; channel += FN(LANES))
            FN(channels_part)(p, row, channel, FN(LANES));
        if (channel < p->groups)
            FN(channels_part)(p, row, channel, p->groups - channel);
    }
}
