# SPDX-License-Identifier: Apache-2.0
"""Forwards with checks of values, in a file that no test runner rewrites. HONEST: each raises of elements of 100 and more, and of nothing
else. DISHONEST: each would have another value, or a state of Python, if its check were taken for one that only raises."""
import contextlib
import functools
import warnings

import torch
import torch.nn as nn


class Checked(nn.Module):
    def __init__(self, f):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.norm, self.f, self.n, self.on = nn.Linear(3, 3), nn.LayerNorm(3), f, 100, True
        self.bad = 0
        self.register_buffer("most", torch.tensor(100.0))

    def forward(self, x):
        return self.f(self, x, self.norm(self.l(x))).square().sum()


class TooLarge(ValueError):
    pass


def plain(m, x, y):
    if x.max() >= m.n:
        raise ValueError(f"{x.max()} is {m.n} or more")
    return y


def asserts(m, x, y):
    assert (x < m.n).all() and torch.isfinite(x).all(), "too large"
    return y


def other_way(m, x, y):
    if (x < m.n).all():
        y = y * 3
    else:
        text = f"too large: {x.max()}"
        raise TooLarge(text)
    return y


def several(m, x, y):
    if not torch.isfinite(x).all() or (m.on and bool((x >= m.n).any())):
        raise RuntimeError("not finite, or too large")
    elif torch.any(x > m.most):
        raise RuntimeError("never")
    return y


def of_buffers(m, x, y):
    with torch.no_grad(), warnings.catch_warnings():
        if m.on and (x >= m.most).any().item():
            if m.n > 5:
                raise ValueError("large")
            raise ValueError("too large")
    return y * 2


def numbers(m, x, y):
    if x.max().item() + 1 >= m.n + 1 or -x.max().item() < -1e6:
        raise ValueError("too large")
    return y


def integers(m, x, y):
    ids = x.detach().long()
    if ids.max().item() // 1 >= m.n and False:
        pass
    if not (ids.min().item() > -1000 and ids.max().item() < m.n):
        raise IndexError("out of range")
    return y


def of_torch(m, x, y):
    torch._assert((x < m.n).all(), "too large")
    return y


def of_torch_later(m, x, y):
    torch._assert_async((x < m.n).all(), "too large")
    return y


def of_torch_numbers(m, x, y):
    torch._check(x.max().item() < m.n, lambda: "too large")
    return y


def of_not_a_number(m, x, y):
    """Of NaN `not v <= n` raises, and `v > n` does not."""
    v = x.max().item()
    if v > 1e6:
        raise ValueError("never")
    if not v <= m.n:
        raise ValueError("too large, or not a number")
    return y


def of_torch_not_a_number(m, x, y):
    v = x.max().item()
    if v > m.n:
        raise ValueError("too large")
    torch._check(v <= m.n)
    return y


def beyond_64_bits(m, x, y):
    """Integers of Python have no end."""
    v = (x.max() >= m.n).long().item() * 2 ** 40
    if v * v > 2 ** 62:
        raise ValueError("too large")
    return y


def helper(x, most):
    for column in x.unbind(1):
        assert column.max() < most


def called(m, x, y):
    helper(x, m.n)
    return y


def of_distributions(m, x, y):
    return torch.distributions.Normal(y.detach(), torch.where(x < m.n, 1.0, -1.0)).log_prob(y) + y


def of_ints(m, x, y):
    if int(x.max()) >= m.n:
        raise ValueError(f"{int(x.max())} is too large")
    assert -m.n + 1.5 < int(x.min() * 2), "too small"
    return y


def of_floats(m, x, y):
    assert m.n > float(x.max())
    if not float(x.sum()) != 7.25 or int((x > 100).sum()) == 1:
        raise ValueError
    return y


HONEST = (plain, asserts, other_way, several, of_buffers, numbers, of_torch, of_torch_later, of_torch_numbers, called, of_distributions,
          of_ints, of_floats, of_not_a_number, of_torch_not_a_number, beyond_64_bits)
OF_NAN = (of_not_a_number, of_torch_not_a_number)


# ---- what looks like one ----

def swallowed(m, x, y):
    try:
        if x.max() >= 1.0:
            raise ValueError
    except ValueError:
        return y * 2
    return y


def swallowed_above(m, x, y):
    try:
        helper(x, 1.0)
    except AssertionError:
        y = y * 2
    return y


def left_by_finally(m, x, y):
    def inner():
        try:
            if x.max() >= 1.0:
                raise ValueError
        finally:
            return y * 2
    return inner()


def suppressed(m, x, y):
    with contextlib.suppress(ValueError):
        if x.max() >= 1.0:
            raise ValueError
        y = y * 2
    return y


@contextlib.contextmanager
def own_context():
    try:
        yield
    except ValueError:
        pass


def suppressed_by_own(m, x, y):
    with torch.no_grad(), own_context():
        if x.max() >= 1.0:
            raise ValueError
        return y * 2
    return y


@own_context()
def in_decorator(x):
    if x.max() >= 1.0:
        raise ValueError


def decorated(m, x, y):
    in_decorator(x)
    return y


def careful(f):
    @functools.wraps(f)
    def call(*args):
        try:
            return f(*args)
        except Exception:
            return None
    return call


@careful
def wrapped(x):
    assert x.max() < 1.0
    return 1


def by_wrapper(m, x, y):
    return y if wrapped(x) else y * 2


class Rows:
    def __init__(self, x):
        self.x, self.k = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        if self.x[self.k % len(self.x)].max() >= 1.0:
            raise StopIteration
        if self.k > 3:
            raise StopIteration
        return self.k

    def __getitem__(self, k):
        if self.x[k % len(self.x)].max() >= 1.0:
            raise IndexError
        return k

    @property
    def scale(self):
        if self.x.max() >= 1.0:
            raise AttributeError("scale")
        return 2.0


def ends_a_loop(m, x, y):
    for _ in Rows(x):
        y = y * 2
    return y


class Indexed:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, k):
        if k > 3 or self.x[k].max() >= 1.0:
            raise IndexError
        return k


def ends_a_loop_by_index(m, x, y):
    for _ in Indexed(x):
        y = y * 2
    return y


def no_attribute(m, x, y):
    return y * getattr(Rows(x), "scale", 3.0)


def counts(m, x, y):
    if x.max() >= m.n:
        m.bad += 1
        raise ValueError
    return y


def computes(m, x, y):
    if x.max() >= 1.0:
        y = y * 2
    return y


def computes_or_raises(m, x, y):
    if x.max() >= 1.0:
        if m.bad:
            raise ValueError
        y = y * 2
    return y


def nested(m, x, y):
    if x.max() >= 1.0:
        if x.min() <= -1.0:
            raise ValueError
        y = y * 2
    return y


def two(m, x, y):
    if (x.max() >= 1.0 or x.min() <= -100.0) and x.sum() > 0:
        raise ValueError
    return y


def two_of(m, x, y):
    assert (x.max() < 1.0 and x.sum() > 0) or x.min() > -100.0
    return y


def together(m, x, y):
    if x.max() >= m.n and (x.min() <= 0).any():
        raise ValueError("large, and not all are above 0")
    return y


def together_asserted(m, x, y):
    assert (x < m.n).all() or not x.min() <= 0, "large, and not all are above 0"
    return y


def together_of_three(m, x, y):
    if m.on and (x >= m.n).any() and m.n and bool((x < 0).any()):
        raise ValueError
    return y


def together_in_parts(m, x, y):
    if x.max() >= m.n and (x.min() <= -50 or (x.sum() > 0 and x.min() <= 0)):
        raise ValueError
    return y


def together_of_numbers(m, x, y):
    if int(x.max()) >= m.n and 0.0 >= float(x.min()):
        raise ValueError
    return y


def asked_of_finite(m, x, y):
    if torch.isfinite(x).all() and int(x.max()) >= m.n:
        raise ValueError
    return y


def known_behind(m, x, y):
    if (x >= m.n).any() and m.on:
        raise ValueError
    return y


def repeated(m, x, y):
    for row in x:
        if row.max() >= m.n and row.min() <= 0:
            raise ValueError
    return y


def looks_further(x):
    if x.min() <= -1e-9:
        raise ValueError
    return x.min() <= 0


def calls_behind(m, x, y):
    if (x >= m.n).any() and looks_further(x):
        raise ValueError
    return y


def names_behind(m, x, y):
    z = y
    if x.max() >= m.n and (z := y * 2).min() <= -1e9:
        raise ValueError
    return z


def writes_behind(m, x, y):
    if x.max() >= m.n and y.mul_(2).min() <= -1e9:
        raise ValueError
    return y


def writes_out_behind(m, x, y):
    if x.max() >= m.n and torch.add(y, y, out=m.most).min() <= -1e9:
        raise ValueError
    return y * m.most


def counts_behind(m, x, y):
    def least():
        m.bad += 1
        return y.min()
    if x.max() >= m.n and least() <= -1e9:
        raise ValueError
    return y * m.bad


class Counter:
    def __init__(self):
        self.k = 0

    def min(self):
        self.k += 1
        return self.k


def counts_by_a_method_behind(m, x, y):
    counter = Counter()
    assert (x < m.n).all() or x.max() > counter.min() or y.min() > -1e9
    return y * counter.k


def of_int_that_is_used(m, x, y):
    k = int(x.max())
    if k >= m.n:
        raise ValueError
    return y * k


def of_int_of_what_happens(m, x, y):
    def most():
        m.bad += 1
        return m.n
    if int(x.max()) >= most():
        raise ValueError
    return y


def between(m, x, y):
    if 1.0 < x.max() < 1.5:
        raise ValueError
    return y


def kept(m, x, y):
    fine = bool(x.max() < 1.0)
    if not fine:
        y = y * 2
    return y


def walrus(m, x, y):
    if (large := x.max() >= m.n):
        raise ValueError
    return y * (1 + int(large))


def warns(m, x, y):
    if x.max() >= 1.0:
        warnings.warn("large")
    return y


def loops(m, x, y):
    while x.max() >= m.n:
        raise ValueError
    return y


def chooses(m, x, y):
    return y * 2 if x.max() >= 1.0 else y


def leaves(m, x, y):
    if x.max() >= m.n:
        raise SystemExit
    return y


def another_error(m, x, y):
    ValueError = StopIteration
    if x.max() >= m.n:
        raise ValueError
    return y


def another_bool(m, x, y):
    bool = (lambda t: not t)  # noqa: E731
    if bool(x.max() >= 1.0):
        raise ValueError
    return y * 2


def again(m, x, y):
    error = ValueError("made before")
    if x.max() >= m.n:
        raise error
    return y


def some_of(m, x, y):
    if any(t > 1.0 for t in x[0]):
        raise ValueError
    return y


def within(m, x, y):
    if (x.max() >= 1.0) in (True, 5):
        raise ValueError
    return y


def condition_counts(m, x, y):
    def large():
        m.bad += 1
        return x.max() >= m.n
    if large():
        raise ValueError
    return y


def in_a_branch(m, x, y):
    def yes(y):
        assert y.max() < 1.0
        return y * 2
    return torch.cond(y.sum() > 0, yes, lambda y: y * 3, (y,))


def no_number(m, x, y):
    """PyTorch answers False without the number."""
    v = x.max().item()
    if v != v:
        raise ValueError
    return y


def no_number_by_difference(m, x, y):
    v = x.max().item()
    assert v - v == 0
    return y


def no_number_of_torch(m, x, y):
    v = x.max().item()
    torch._check(v == v)
    return y


def bits(m, x, y):
    if (x.max().long().item() | 1) > 900:
        raise ValueError
    return y


def guarded(f, other):
    """As careful code is written: what goes wrong goes another way."""
    def forward(m, x, y):
        try:
            return f(m, x, y)
        except Exception:
            return other(y)
    return forward


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.round_()

    @staticmethod
    def backward(ctx, g):
        return g


def dirty(m, x, y):
    return Dirty.apply(y)


def by_numpy(m, x, y):
    return y * float(x.detach().numpy().max())


def by_float(m, x, y):
    return y * float(x.max())


def by_number(m, x, y):
    return y * 5 if x.max().item() > 1 else y


def by_mask(m, x, y):
    return y[x > 0].sum()


GUARDED = [guarded(f, lambda y: y * 2) for f in (dirty, by_numpy, by_float, by_number, by_mask, computes)]
TOGETHER = (together, together_asserted, together_of_three, together_in_parts, together_of_numbers)  # only of a LARGE that is also 0 or less
DISHONEST = (swallowed, swallowed_above, left_by_finally, suppressed, suppressed_by_own, decorated, by_wrapper, ends_a_loop,
             ends_a_loop_by_index, no_attribute, counts, computes, computes_or_raises, nested, two, two_of, between, kept, walrus, warns, loops,
             chooses, leaves, another_error, another_bool, again, some_of, within, condition_counts, in_a_branch, no_number,
             no_number_by_difference, no_number_of_torch, bits, known_behind, repeated, calls_behind, names_behind, writes_behind, writes_out_behind,
             counts_behind, counts_by_a_method_behind,
             of_int_that_is_used, of_int_of_what_happens)
