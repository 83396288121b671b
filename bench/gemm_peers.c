/* SPDX-License-Identifier: Apache-2.0
 * OpenBLAS and oneDNN as contenders. OpenBLAS chooses its kernels once, when it is loaded, and on recent processors not
 * the fastest ones: so each core type is tried in a child process, and the library is loaded with the best. */
#include "gemm_peers.h"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/limits.h"

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static void (*omp_threads)(int);

/* What oneDNN needs for one product. */
typedef struct primitive {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arg[3];
} primitive;

/* OpenBLAS, loaded after its environment is set. CBLAS enumerations: row-major 101, no 111, transposed 112. */
static struct {
    void (*sgemm)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemm)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *,
                  int);
    void (*sgemv)(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
    void (*dgemv)(int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
    void (*threads)(int);
    char *(*core)(void);
} blas;

static bool load(void *handle, const char *name, void *to)
{
    void *symbol = dlsym(handle, name);

    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool load_blas(const char *core)
{
    void *handle;

    setenv("OPENBLAS_CORETYPE", core, 1);
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 1); /* its idle threads spin for a millisecond, not through our turn */
    handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    return handle != NULL && load(handle, "cblas_sgemm", &blas.sgemm) && load(handle, "cblas_dgemm", &blas.dgemm) &&
           load(handle, "cblas_sgemv", &blas.sgemv) && load(handle, "cblas_dgemv", &blas.dgemv) &&
           load(handle, "openblas_set_num_threads", &blas.threads) && load(handle, "openblas_get_corename", &blas.core);
}

static void call_blas(bench_data *d)
{
    const bench_product *s = d->s;
    const int m = (int)s->m, n = (int)s->n, k = (int)s->k, ta = s->ta ? 112 : 111, tb = s->tb ? 112 : 111;
    const int lda = s->ta ? m : k, ldb = s->tb ? k : n;

    for (size_t i = 0; i < s->batch; i++) {
        const float *af = (const float *)d->a + i * s->m * s->k, *bf = (const float *)d->b + i * s->k * s->n;
        const double *ad = (const double *)d->a + i * s->m * s->k, *bd = (const double *)d->b + i * s->k * s->n;
        float *yf = (float *)d->y[1] + i * s->m * s->n;
        double *yd = (double *)d->y[1] + i * s->m * s->n;

        if (n == 1 && d->size == 4) /* it has functions of their own for vectors: compare with the best */
            blas.sgemv(101, ta, m, k, 1, af, lda, bf, 1, 0, yf, 1);
        else if (n == 1)
            blas.dgemv(101, ta, m, k, 1, ad, lda, bd, 1, 0, yd, 1);
        else if (m == 1 && d->size == 4)
            blas.sgemv(101, s->tb ? 111 : 112, s->tb ? n : k, s->tb ? k : n, 1, bf, ldb, af, 1, 0, yf, 1);
        else if (m == 1)
            blas.dgemv(101, s->tb ? 111 : 112, s->tb ? n : k, s->tb ? k : n, 1, bd, ldb, ad, 1, 0, yd, 1);
        else if (d->size == 4)
            blas.sgemm(101, ta, tb, m, n, k, 1, af, lda, bf, ldb, 0, yf, n);
        else
            blas.dgemm(101, ta, tb, m, n, k, 1, ad, lda, bd, ldb, 0, yd, n);
    }
}

/* Times one square product under each core type in a child, since OpenBLAS chooses once in a process. */
static const char *best_core(void)
{
    static const char *const names[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen", "Haswell", "NeoverseN1"};
    const char *best = "";
    double least = 0;

    for (size_t c = 0; c < sizeof names / sizeof names[0]; c++) {
        double took = 0;
        int fd[2];
        pid_t child;

        if (pipe(fd) != 0 || (child = fork()) < 0)
            return names[0];
        if (child == 0) {
            enum { N = 1024 };
            float *x = calloc(3 * N * N, sizeof *x);

            if (x != NULL && load_blas(names[c]) && strcmp(blas.core(), names[c]) == 0)
                for (int i = 0; i < 6; i++) {
                    const double start = rp_seconds_cpu();

                    blas.threads(1);
                    blas.sgemm(101, 111, 111, N, N, N, 1, x, N, x + N * N, N, 0, x + 2 * N * N, N);
                    if (took == 0 || rp_seconds_cpu() - start < took)
                        took = rp_seconds_cpu() - start;
                }
            _exit(write(fd[1], &took, sizeof took) != sizeof took);
        }
        close(fd[1]);
        if (read(fd[0], &took, sizeof took) == sizeof took && took > 0 && (least == 0 || took < least)) {
            least = took;
            best = names[c];
        }
        close(fd[0]);
        waitpid(child, NULL, 0);
    }
    return best;
}

static void call_dnnl_primitive(bench_data *d)
{
    const primitive *p = d->primitive;

    dnnl_primitive_execute(p->primitive, stream, 3, p->arg);
    dnnl_stream_wait(stream);
}

static void call_dnnl_sgemm(bench_data *d)
{
    const bench_product *s = d->s;

    for (size_t i = 0; i < s->batch; i++)
        dnnl_sgemm(s->ta ? 'T' : 'N', s->tb ? 'T' : 'N', (dnnl_dim_t)s->m, (dnnl_dim_t)s->n, (dnnl_dim_t)s->k, 1,
                   (float *)d->a + i * s->m * s->k, (dnnl_dim_t)(s->ta ? s->m : s->k), (float *)d->b + i * s->k * s->n,
                   (dnnl_dim_t)(s->tb ? s->k : s->n), 0, (float *)d->y[2] + i * s->m * s->n, (dnnl_dim_t)s->n);
}

static dnnl_memory_desc_t dnnl_matrix(const rp_view *view)
{
    dnnl_memory_desc_t md;
    dnnl_dims_t dims, strides;

    for (int i = 0; i < view->rank; i++) {
        dims[i] = (dnnl_dim_t)view->shape[i];
        strides[i] = view->stride[i];
    }
    dnnl_memory_desc_init_by_strides(&md, view->rank, dims, dnnl_f32, strides);
    return md;
}

void bench_dnnl_make(bench_data *d)
{
    const dnnl_memory_desc_t md[3] = {dnnl_matrix(&d->in[0]), dnnl_matrix(&d->in[1]), dnnl_matrix(&d->out)};
    void *const at[3] = {d->a, d->b, d->y[2]};
    const int name[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    primitive *p = calloc(1, sizeof *p);
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;

    d->primitive = NULL;
    if (p == NULL || d->size != 4 || dnnl_matmul_desc_init(&desc, &md[0], &md[1], NULL, &md[2]) != dnnl_success ||
        dnnl_primitive_desc_create(&pd, &desc, NULL, engine, NULL) != dnnl_success) {
        free(p);
        return;
    }
    if (dnnl_primitive_create(&p->primitive, pd) == dnnl_success)
        d->primitive = p;
    dnnl_primitive_desc_destroy(pd);
    for (int i = 0; i < 3 && d->primitive != NULL; i++) {
        p->arg[i].arg = name[i];
        dnnl_memory_create(&p->arg[i].memory, &md[i], engine, at[i]);
    }
    if (d->primitive == NULL)
        free(p);
}

void bench_dnnl_free(bench_data *d)
{
    primitive *p = d->primitive;

    if (p == NULL)
        return;
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(p->arg[i].memory);
    dnnl_primitive_destroy(p->primitive);
    free(p);
    d->primitive = NULL;
}

bench_call *bench_peer(const bench_data *d, int contender)
{
    switch (contender) {
    case BENCH_BLAS:
        return call_blas;
    case BENCH_DNNL:
        return d->primitive != NULL ? call_dnnl_primitive : NULL;
    case BENCH_DNNL_GEMM:
        return d->size == 4 ? call_dnnl_sgemm : NULL;
    default:
        return NULL;
    }
}

bool bench_peers_open(void)
{
    unsetenv("OPENBLAS_L2_SIZE");
    if (!load_blas(best_core()))
        return fprintf(stderr, "gemm: cannot load libopenblas.so.0\n"), false;
    load(dlopen(NULL, RTLD_NOW), "omp_set_num_threads", &omp_threads);
    return dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
           dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

void bench_peers_threads(unsigned threads)
{
    blas.threads((int)threads);
    if (omp_threads != NULL)
        omp_threads((int)threads);
}

const char *bench_peers_names(void)
{
    static char names[100];
    const dnnl_version_t *v = dnnl_version();

    snprintf(names, sizeof names, "OpenBLAS core %s; oneDNN %d.%d.%d", blas.core(), v->major, v->minor, v->patch);
    return names;
}
