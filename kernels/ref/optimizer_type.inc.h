/* SPDX-License-Identifier: Apache-2.0
 * One step of each optimizer for one type (CONTRACT 8), element by element. Outputs may be their inputs: an element is
 * read whole before it is written. Coefficients are formed in binary64 and rounded to T once. `unit` says that every
 * step is 1: each function is compiled for both values. */

/* Element i of view v of the walk, and a rank-0 input. */
#define AT(v, i) (((T *)walk->at[v])[(i) * (unit ? 1 : walk->step[v])])
#define SCALAR(k) (*(const T *)args->in[k].data)

/* out p m, in p m g */
RP_INLINE void FN(sgd_map)(const rp_walk *walk, const rp_kernel_args *args, bool unit)
{
    const T lr = SCALAR(3), momentum = (T)RP_AT(args->attr, sgd, momentum).r,
            decay = (T)RP_AT(args->attr, sgd, weight_decay).r;
    const bool has_momentum = momentum != 0, nesterov = RP_AT(args->attr, sgd, nesterov).i != 0, has_decay = decay != 0;

    RP_EACH(i, walk->run)
    {
        const T p = AT(2, i), m = AT(3, i), g = has_decay ? AT(4, i) + decay * p : AT(4, i);
        const T m1 = has_momentum ? momentum * m + g : m;
        const T d = !has_momentum ? g : nesterov ? g + momentum * m1 : m1;

        AT(0, i) = p - lr * d;
        AT(1, i) = m1;
    }
}

/* out p m v, in p m v g; the decay is decoupled (AdamW) or added to the gradient (Adam) */
RP_INLINE void FN(adam_step)(const rp_walk *walk, const rp_kernel_args *args, bool unit, bool decoupled)
{
    const T lr = SCALAR(4), c1 = SCALAR(5), c2 = SCALAR(6), decay = (T)RP_AT(args->attr, adam, weight_decay).r,
            eps = (T)RP_AT(args->attr, adam, eps).r;
    const T beta1 = (T)RP_AT(args->attr, adam, beta1).r, beta2 = (T)RP_AT(args->attr, adam, beta2).r;
    const T rest1 = (T)(1.0 - RP_AT(args->attr, adam, beta1).r), rest2 = (T)(1.0 - RP_AT(args->attr, adam, beta2).r);
    const T step = lr / c1, root2 = SQRT(c2), keep = (T)1 - lr * decay;
    const bool shrink = decoupled && decay != 0, add = !decoupled && decay != 0;

    RP_EACH(i, walk->run)
    {
        const T p = shrink ? AT(3, i) * keep : AT(3, i);
        const T g = add ? AT(6, i) + decay * p : AT(6, i);
        const T m = beta1 * AT(4, i) + rest1 * g;
        const T v = beta2 * AT(5, i) + (rest2 * g) * g;

        AT(0, i) = p - step * (m / (SQRT(v) / root2 + eps));
        AT(1, i) = m;
        AT(2, i) = v;
    }
}

RP_INLINE void FN(adam_map)(const rp_walk *walk, const rp_kernel_args *args, bool unit)
{
    FN(adam_step)(walk, args, unit, false);
}

RP_INLINE void FN(adamw_map)(const rp_walk *walk, const rp_kernel_args *args, bool unit)
{
    FN(adam_step)(walk, args, unit, true);
}

/* out p v m, in p v m g */
RP_INLINE void FN(rmsprop_map)(const rp_walk *walk, const rp_kernel_args *args, bool unit)
{
    const T lr = SCALAR(4), alpha = (T)RP_AT(args->attr, rmsprop, alpha).r,
            rest = (T)(1.0 - RP_AT(args->attr, rmsprop, alpha).r);
    const T eps = (T)RP_AT(args->attr, rmsprop, eps).r, momentum = (T)RP_AT(args->attr, rmsprop, momentum).r,
            decay = (T)RP_AT(args->attr, rmsprop, weight_decay).r;
    const bool has_momentum = momentum != 0, has_decay = decay != 0;

    RP_EACH(i, walk->run)
    {
        const T p = AT(3, i), m = AT(5, i), g = has_decay ? AT(6, i) + decay * p : AT(6, i);
        const T v = alpha * AT(4, i) + (rest * g) * g;
        const T d = g / (SQRT(v) + eps);
        const T m1 = has_momentum ? momentum * m + d : m;

        AT(0, i) = p - lr * (has_momentum ? m1 : d);
        AT(1, i) = v;
        AT(2, i) = m1;
    }
}

/* out p m, in p m g: a step of lr along the sign of the momentum, which a zero and a NaN leave as they are */
RP_INLINE void FN(lion_map)(const rp_walk *walk, const rp_kernel_args *args, bool unit)
{
    const T lr = SCALAR(3), beta1 = (T)RP_AT(args->attr, lion, beta1).r, beta2 = (T)RP_AT(args->attr, lion, beta2).r,
            decay = (T)RP_AT(args->attr, lion, weight_decay).r;
    const T rest1 = (T)(1.0 - RP_AT(args->attr, lion, beta1).r), rest2 = (T)(1.0 - RP_AT(args->attr, lion, beta2).r);
    const T keep = (T)1 - lr * decay;
    const bool shrink = decay != 0;

    RP_EACH(i, walk->run)
    {
        const T p = shrink ? AT(2, i) * keep : AT(2, i), m = AT(3, i), g = AT(4, i);
        const T c = beta1 * m + rest1 * g;
        const T d = c > 0 ? (T)1 : c < 0 ? (T)-1 : c;

        AT(0, i) = p - lr * d;
        AT(1, i) = beta2 * m + rest2 * g;
    }
}

/* out p s, in p s g */
RP_INLINE void FN(adagrad_map)(const rp_walk *walk, const rp_kernel_args *args, bool unit)
{
    const T lr = SCALAR(3), eps = (T)RP_AT(args->attr, adagrad, eps).r,
            decay = (T)RP_AT(args->attr, adagrad, weight_decay).r;
    const bool has_decay = decay != 0;

    RP_EACH(i, walk->run)
    {
        const T p = AT(2, i), g = has_decay ? AT(4, i) + decay * p : AT(4, i);
        const T s = AT(3, i) + g * g;

        AT(0, i) = p - lr * (g / (SQRT(s) + eps));
        AT(1, i) = s;
    }
}

#undef AT
#undef SCALAR
