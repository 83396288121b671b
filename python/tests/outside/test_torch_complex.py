# SPDX-License-Identifier: Apache-2.0
"""Complex elements and Fourier transforms of PyTorch beside PyTorch in binary64, values and gradients; complex parameters with their
optimizers; and what is refused by name."""
import copy
import importlib.util
import os
import sys
import tempfile
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise
import reprise.torch as rt

EXACT = 1e-12


def R(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def C(*shape):
    return torch.randn(*shape, dtype=torch.complex128)


class Weighted(nn.Module):
    """One number of what `f` makes of parameters."""

    def __init__(self, f, *own):
        super().__init__()
        self.f, self.own = f, nn.ParameterList([nn.Parameter(t.clone()) for t in own])

    def forward(self, x):
        y = self.f(*self.own)
        y = torch.view_as_real(y) if y.is_complex() else y
        return (y * torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)).sum() * x


class Only(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


class Beside(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)

    def same(self, f, *own):
        """Values, their type and the gradients of all parameters are PyTorch's."""
        net, x = Weighted(f, *own), torch.ones((), dtype=torch.float64)
        eager = copy.deepcopy(net)
        step = rt.compile(net, None, (x,), torch.optim.SGD(net.parameters(), 1.0), bound=1e-9)
        found, loss = float(step(x)), eager(x)
        loss.backward()
        step.copy_to(net)
        self.assertLess(abs(found - float(loss.detach())), EXACT * max(1, abs(float(loss.detach()))))
        for p, q, first in zip(net.own, eager.own, own):
            torch.testing.assert_close(first - p.detach(), q.grad, rtol=EXACT, atol=EXACT * max(1, float(q.grad.abs().max())))
        torch.testing.assert_close(rt.compile_inference(Only(f), own)(*own), f(*own), rtol=EXACT, atol=EXACT)

    def all_same(self, cases):
        """All in one program; where it is not PyTorch's, each alone says which."""
        def whole(*own):
            at, found = 0, []
            for f, *some in cases.values():
                y = f(*own[at:at + len(some)])
                found.append((torch.view_as_real(y.resolve_conj()) if y.is_complex() else y).reshape(-1) * 1.0)
                at += len(some)
            return torch.cat(found)
        try:
            self.same(whole, *(t for _, *some in cases.values() for t in some))
        except Exception:
            for name, (f, *own) in cases.items():
                with self.subTest(name):
                    self.same(f, *own)
            raise


class Transforms(Beside):
    def test_every_length_has_pytorchs_values_and_gradients(self):
        lengths = (1, 2, 3, 12, 13, 64, 96, 97, 128, 256, 300, 514, 768, 1000, 5003, 269 * 271)  # some with a prime factor above 256
        self.all_same({f"to {n}": (torch.fft.rfft, R(2, n)) for n in lengths})
        self.all_same({f"back from {n}": (lambda x, n=n: torch.fft.irfft(x, n=n), C(2, n // 2 + 1)) for n in lengths})
        self.all_same({f"{f.__name__} {n}": (f, C(2, n)) for n in (1, 10, 66, 128, 263, 300) for f in (torch.fft.fft, torch.fft.ifft)})

    def test_axes_norms_and_lengths(self):
        self.all_same({
            "ortho": (lambda x: torch.fft.rfft(x, n=10, norm="ortho", dim=0), R(12, 3)),
            "padded": (lambda x: torch.fft.rfft(x, n=16), R(3, 12)), "cut": (lambda x: torch.fft.irfft(x, n=6), C(3, 9)),
            "padded back": (lambda x: torch.fft.irfft(x, n=20), C(3, 5)), "real": (torch.fft.fft, R(3, 10)),
            "rfft2": (torch.fft.rfft2, R(2, 5, 6)), "irfft2": (lambda x: torch.fft.irfft2(x, s=(5, 7), norm="forward"), C(2, 5, 4)),
            "fft2": (torch.fft.fft2, R(2, 5, 6)), "ifft2": (torch.fft.ifft2, C(2, 5, 6)), "rfftn": (torch.fft.rfftn, R(2, 3, 4, 5)),
            "irfftn": (torch.fft.irfftn, C(2, 3, 4, 3)), "fftn": (lambda x: torch.fft.fftn(x, dim=(0, 2)), C(4, 3, 5)),
            "hfft": (torch.fft.hfft, C(3, 6)), "ihfft": (lambda x: torch.fft.ihfft(x).real, R(3, 6)),
            "shifted": (lambda x: torch.fft.ifftshift(torch.fft.fftshift(torch.fft.fft(x)[..., :7])), C(3, 10)),
            "FNet": (lambda x: torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real, R(2, 6, 8))})

    def test_what_goes_back_is_divided_by_the_operation(self):
        class Back(nn.Module):
            def forward(self, x):
                y = torch.view_as_complex(x)
                return torch.view_as_real(torch.fft.ifft(y)), torch.fft.irfft(y)

        text = rt.compile_inference(Back(), (R(3, 7, 2),)).program.text.decode()
        self.assertEqual(text.count('"fft"'), 2)
        self.assertNotIn('"mul"', text)

    def test_short_transforms_of_a_signal(self):
        hann = torch.hann_window(16, dtype=torch.float64)

        def stft(x):
            return torch.stft(x, 16, 4, window=hann, return_complex=True)
        self.all_same({
            "stft": (stft, R(2, 64)),
            "window": (lambda x: torch.stft(x, 16, 4, window=torch.hamming_window(16, dtype=torch.float64), return_complex=True), R(2, 64)),
            "power": (lambda x: torch.stft(x, 20, 5, win_length=12, window=torch.blackman_window(12, False, dtype=torch.float64),
                                           center=False, normalized=True, return_complex=True).abs().pow(2), R(64)),
            "two sides": (lambda x: torch.stft(x, 16, onesided=False, return_complex=True,
                                               window=torch.bartlett_window(16, dtype=torch.float64)), R(2, 64)),
            "back": (lambda x: torch.istft(stft(x) * 2, 16, 4, window=hann), R(2, 64)),
            "back, of a length": (lambda x: torch.istft(x, 16, 4, window=hann, length=50), C(9, 14))})

    def test_frames_of_pieces(self):
        cases = {}
        for n, hop, samples in ((32, 16, 96), (32, 16, 100), (48, 32, 150), (16, 32, 130), (16, 16, 64), (64, 24, 200), (256, 16, 300),
                                (272, 16, 300)):
            window = torch.hann_window(n, dtype=torch.float64) + 0.1
            cases[f"{n} {hop} {samples}"] = (lambda x, n=n, hop=hop, window=window: torch.stft(x, n, hop, window=window, center=False,
                                                                                               return_complex=True)), R(3, samples)
        self.all_same(cases)
        for n, hop, whole in ((32, 16, True), (16, 32, True), (64, 24, False), (256, 16, True), (272, 16, False)):
            m = Only(lambda x, n=n, hop=hop: torch.stft(x, n, hop, window=torch.ones(n), center=False, return_complex=True).abs())
            text = rt.compile_inference(m, (torch.randn(2, 400),)).program.text.decode()
            self.assertEqual('"gather"' not in text, whole, (n, hop))

    def test_an_absolute_value_of_answers_is_one_operation(self):
        m = Only(lambda x: torch.view_as_complex(x).abs())
        x = torch.tensor([[0.0, 0.0], [-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0], [3.0, -4.0], [float("nan"), 1.0], [float("inf"), float("nan")],
                          [1e-30, -1e-30], [-3e38, 3e38]])
        forward = rt.compile_inference(m, (x,))
        self.assertIn('"hypot"', forward.program.text.decode())
        self.assertNotIn('"where"', forward.program.text.decode())
        torch.testing.assert_close(forward(x), m(x), equal_nan=True)
        self.assertFalse(torch.signbit(forward(x)[:4]).any())

    def test_a_long_prime_is_refused_with_a_way_out(self):
        with self.assertRaisesRegex(rt.Unsupported, r"_fft_r2c.*4194319, which has a prime factor.*Pad"):
            rt.compile_inference(Only(lambda x: torch.fft.rfft(x).abs()), (torch.randn(4194319),))


class Arithmetic(Beside):
    def test_arithmetic(self):
        self.all_same({
            "mul": (lambda a, b: a * b, C(3, 4), C(4)), "by real": (lambda a, b: a * b, C(3, 4), R(4)),
            "numbers": (lambda a: a * 1j + 2 - 3j, C(3, 4)), "add": (lambda a, b: a + b - 0.5 * a, C(1, 4), R(3, 1)),
            "rsub": (lambda a: 1 - a, C(3)), "alpha": (lambda a, b: torch.sub(a, b, alpha=2), C(3), C(3)),
            "rsub, alpha": (lambda a, b: torch.rsub(a, b, alpha=2), C(3), C(3)),
            "sub": (lambda a, b: b - a, C(3), R(2, 3)),
            "div": (lambda a, b: a / b, C(3, 4), C(4)), "over real": (lambda a, b: a / b, C(3, 4), R(4)),
            "real over": (lambda a, b: a / b, R(3, 4), C(4)),
            "reciprocal": (torch.reciprocal, C(3)), "conj": (lambda a: a.conj() * a, C(3)), "parts": (lambda a: a.real * a.imag, C(3)),
            "polar": (torch.polar, R(3).abs(), R(3)), "complex": (torch.complex, R(3), R(3)), "pairs": (torch.view_as_complex, R(3, 2)),
            "as pairs": (lambda a: torch.view_as_real(a) * 2, C(3)), "detach": (lambda a: a * a.detach(), C(3)),
            "l1": (F.l1_loss, C(3), C(3)), "cast": (lambda a: a.to(torch.complex128) * 1j, R(3)), "square": (torch.square, C(3))})

    def test_variances_interpolations_and_sums_of_products(self):
        z, w, v, few = C(3, 5), C(3, 5), C(5), C(3, 1)
        self.all_same({
            "var": (lambda x: x.var(1), z), "var of all": (lambda x: x.var(correction=0), z), "var by 3": (lambda x: x.var(0, correction=2), z),
            "var, kept": (lambda x: torch.var(x, (0, 2), keepdim=True), C(3, 5, 4)), "std": (lambda x: x.std(1), z),
            "std of all": (lambda x: x.std(unbiased=False), z),
            "var_mean": (lambda x: torch.cat([t.to(x.dtype) for t in torch.var_mean(x, 1)]), z),
            "std_mean": (lambda x: torch.cat([t.to(x.dtype) for t in torch.std_mean(x, 0, correction=0)]), z),
            "lerp": (lambda a, b: torch.lerp(a, b, 0.3), z, w), "lerp from the end": (lambda a, b: torch.lerp(a, b, 0.8), z, v),
            "lerp by tensors": (torch.lerp, z, w, few), "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=0.7), z, w, v),
            "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c, value=-0.7), z, w, v)})

    def test_convolutions_with_a_named_padding(self):
        cases = {}
        for k in (3, 4):
            for kind in (R, C):
                of = f"{kind.__name__} {k}"
                cases[f"1d {of}"] = lambda x, w, b: F.conv1d(x, w, b, padding="same", dilation=2), kind(2, 3, 9), kind(4, 3, k), kind(4)
                cases[f"groups {of}"] = lambda x, w: F.conv1d(x, w, padding="same", groups=2), kind(2, 4, 9), kind(4, 2, k)
                cases[f"2d {of}"] = lambda x, w, b: F.conv2d(x, w, b, padding="same", dilation=(1, 2)), kind(2, 3, 7, 8), kind(4, 3, k, 3), kind(4)
                cases[f"3d {of}"] = lambda x, w: F.conv3d(x, w, padding="same"), kind(1, 2, 4, 5, 4), kind(2, 2, 3, 2, k)
                cases[f"alone {of}"] = lambda x, w, b: F.conv2d(x, w, b, padding="valid"), kind(3, 7, 8), kind(4, 3, k, 2), kind(4)
        self.all_same(cases)

    def test_a_signal_of_an_odd_transform(self):
        cases = {}
        for n, center, hop, one in ((7, True, 2, None), (9, True, 3, True), (9, False, 2, False), (15, True, 5, False)):
            def back(x, n=n, center=center, hop=hop, one=one):
                window = torch.hann_window(n, periodic=False, dtype=x.dtype) + 0.3
                s = torch.stft(x, n, hop, window=window, center=center, return_complex=True, onesided=one) * (1 + 0.1j)
                return torch.istft(s, n, hop, window=window, center=center, onesided=one)
            cases[f"{n} {center} {hop} {one}"] = back, R(2, 40)
        ones = torch.ones(9, dtype=torch.float64)
        cases["of a length"] = lambda s: s.istft(9, 3, window=ones, length=30, normalized=True), C(5, 14)
        cases["complex"] = lambda s: torch.istft(s, 9, 3, window=ones, onesided=False, return_complex=True), C(2, 9, 14)
        self.all_same(cases)

    def test_functions(self):
        functions = (torch.abs, torch.angle, torch.sgn, torch.exp, torch.log, torch.sqrt, torch.sin, torch.cos, torch.sinh, torch.cosh, torch.tanh,
                     torch.sigmoid, lambda a: a ** 2, lambda a: a ** -3, lambda a: a ** 1.5)
        self.all_same({str(f): (f, C(7)) for f in functions}
                      | {"power": (lambda a, b: a ** b, C(3), C(3)), "angle": (lambda x: torch.angle(x) * x, R(5))})

    def test_frequencies(self):
        for n in (1, 2, 5, 6):
            for d in (1.0, 0.3):
                for dtype in (torch.float32, torch.float64):
                    self.same(lambda a, n=n, d=d, dtype=dtype: a * torch.fft.fftfreq(n, d, dtype=dtype), R(n))
                    self.same(lambda a, n=n, d=d, dtype=dtype: a * torch.fft.rfftfreq(n, d=d, dtype=dtype), R(n // 2 + 1))

    def test_a_tensor_with_the_negative_bit_is_a_batch_and_a_buffer(self):
        class Shifted(nn.Module):
            def __init__(self, b):
                super().__init__()
                self.register_buffer("b", b)

            def forward(self, x):
                return x + self.b
        x, b = C(3).conj().imag, C(3).conj().imag
        self.assertTrue(x.is_neg() and b.is_neg())
        torch.testing.assert_close(rt.compile_inference(Shifted(b), (x,))(x), x + b)

    def test_roots_on_the_negative_axis(self):
        """The imaginary part moves the real one, by the sign that its 0 has."""
        for im in (0.0, -0.0):
            for f in (torch.sqrt, lambda z: z ** 0.5):
                self.same(lambda re, im, f=f: f(torch.complex(re, im)).real, torch.tensor([-4.0, -9.0]).double(), torch.tensor([im, im]).double())

    def test_at_zero_the_gradients_are_zero(self):
        """abs, angle and sgn have none there, and PyTorch gives 0."""
        zero = torch.zeros(2, dtype=torch.complex128)
        self.all_same({str(f): (lambda a, b, f=f: f(a) + b.abs(), zero, C(2)) for f in (torch.abs, torch.angle, lambda a: torch.sgn(a).real)})

    def test_a_quotient_neither_overflows_nor_vanishes(self):
        a = torch.tensor([1e200 + 1e200j, 3e-200 - 1e-200j, 1 + 2j], dtype=torch.complex128)
        b = torch.tensor([2e200 - 1e200j, 1e-200 + 2e-200j, -1j], dtype=torch.complex128)
        torch.testing.assert_close(rt.compile_inference(Only(torch.div), (a, b))(a, b), a / b, rtol=EXACT, atol=0)

    def test_products(self):
        self.all_same({
            "matmul": (torch.matmul, C(2, 3, 4), C(4, 5)), "mm": (lambda a, b: a @ b.to(a.dtype), C(3, 4), R(4, 5)),
            "bmm": (torch.bmm, C(2, 3, 4), C(2, 4, 5)),
            "einsum": (lambda a, b: torch.einsum("bixy,ioxy->boxy", a, b), C(2, 3, 4, 5), C(3, 2, 4, 5)), "mH": (lambda a: a @ a.mH, C(3, 4)),
            "of three": (lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), C(2, 3), C(3, 4), C(4, 2)), "vdot": (torch.vdot, C(4), C(4)),
            "dot": (torch.dot, C(4), C(4)), "linear": (F.linear, C(3, 4), C(5, 4), C(5)), "outer": (torch.outer, C(3), C(4)),
            "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1), C(2, 3, 8), C(4, 3, 3), C(4)),
            "conv2d": (lambda x, w: F.conv2d(x, w, stride=2), C(2, 3, 8, 7), C(4, 3, 3, 3)),
            "addmm": (lambda x, a, b: torch.addmm(x, a, b, alpha=2, beta=0.5), C(3, 5), C(3, 4), C(4, 5)),
            "norm": (lambda a: torch.linalg.vector_norm(a, dim=-1), C(3, 4)), "norm 1": (lambda a: torch.linalg.vector_norm(a, 1), C(3, 4))})

    def test_moves(self):
        def written(a):
            out = torch.zeros(2, 3, 8, dtype=torch.complex128)
            out[:, :, :4] = a
            out[:, 1, 5] = a[:, 0, 0]
            out[..., -1] += a[..., 1]
            return torch.fft.irfft(out)
        self.all_same({
            "written": (written, C(2, 3, 4)), "cat": (lambda a, b: torch.cat([a, b, b.real], 0), C(3, 4), C(2, 4)),
            "stack": (lambda a, b: torch.stack([a, b]), C(3), C(3)),
            "where": (lambda a: torch.where(a.real > 0, a, 0.0), C(7)), "filled": (lambda a: a.masked_fill(a.imag > 0, 2.0), C(7)),
            "index": (lambda a: a[:, [2, 0]], C(3, 4)), "pad": (lambda a: F.pad(a, (1, 2)), C(3, 4)), "roll": (lambda a: a.roll(1, 0), C(3, 4)),
            "sums": (lambda a: a.sum(0) + a.mean(0, keepdim=True) + a.cumsum(0), C(3, 4)),
            "axes": (lambda a: a.permute(2, 0, 1).reshape(4, -1).T[1:].flip(0).unsqueeze(0).expand(2, -1, -1), C(2, 3, 4)),
            "scatter": (lambda a, b: torch.scatter_add(a, 0, torch.tensor([[3, 1], [0, 3]]), b), C(4, 2), C(2, 2)),
            "index_add": (lambda a, b: a.index_add(0, torch.tensor([2, 2]), b), C(3, 4), C(2, 4)),
            "taken": (lambda a: a.gather(1, torch.tensor([[1, 0], [2, 2]])), C(2, 3)),
            "cast of integers": (lambda a: torch.fft.fft(torch.arange(3)) * a + torch.tensor([True, False, True]).to(a.dtype), C(3)),
            "cat of integers": (lambda a: torch.cat([a, torch.arange(3)]), C(3)),
            "finite": (lambda a: torch.where(torch.isfinite(a), a, torch.zeros_like(a)), C(3))})

    def test_what_has_no_rule_is_refused_by_name(self):
        for f, name in ((lambda z: torch.prod(z).abs(), "aten.prod"), (lambda z: torch.linalg.eigvals(z.real).abs().sum(), "eig")):
            with self.assertRaisesRegex(rt.Unsupported, name):
                rt.compile_inference(Only(f), (C(3, 3),))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16, dtype=torch.cfloat), nn.Linear(16, 3, dtype=torch.cfloat)
        self.register_buffer("turn", torch.polar(torch.ones(16), torch.linspace(0, 3, 16)))

    def forward(self, z):
        h = self.a(z) * self.turn
        return self.b(torch.complex(torch.relu(h.real), torch.relu(h.imag))).abs()


OPTIMIZERS = [torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.RAdam, torch.optim.Adamax,
              torch.optim.Adadelta, torch.optim.NAdam, torch.optim.ASGD, torch.optim.Rprop,
              lambda p: torch.optim.SGD(p, 0.01, momentum=0.9, nesterov=True)]


class Parameters(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.z, self.t = torch.randn(6, 8, dtype=torch.cfloat), torch.tensor([0, 1, 2, 0, 1, 2])

    def test_steps_and_moments_are_pytorchs(self):
        for kind in OPTIMIZERS:
            m = Two()
            eager = copy.deepcopy(m)
            mine, theirs = kind(m.parameters()), kind(eager.parameters())
            step = rt.compile(m, F.cross_entropy, (self.z, self.t), mine)
            for _ in range(3):
                step(self.z, self.t)
                theirs.zero_grad()
                F.cross_entropy(eager(self.z), self.t).backward()
                theirs.step()
            step.copy_to(m)
            for p, q in zip(m.parameters(), eager.parameters()):
                torch.testing.assert_close(p.detach(), q.detach(), rtol=1e-3, atol=2e-4)
            a, b = mine.state_dict()["state"], theirs.state_dict()["state"]
            for i in b:
                for name, t in b[i].items():
                    if isinstance(t, torch.Tensor) and t.dim():
                        self.assertEqual((a[i][name].dtype, a[i][name].shape), (t.dtype, t.shape))
                        torch.testing.assert_close(a[i][name], t, rtol=1e-2, atol=1e-4)

    def test_a_run_goes_on_from_a_checkpoint_with_its_bits(self):
        m = Two()
        o = torch.optim.Adam(m.parameters())
        step = rt.compile(m, F.cross_entropy, (self.z, self.t), o)
        step(self.z, self.t)
        step.copy_to(m)
        other = copy.deepcopy(m)
        p = torch.optim.Adam(other.parameters())
        p.load_state_dict(copy.deepcopy(o.state_dict()))
        again = rt.compile(other, F.cross_entropy, (self.z, self.t), p)
        self.assertEqual([float(step(self.z, self.t)) for _ in range(3)], [float(again(self.z, self.t)) for _ in range(3)])

    def test_a_record_replays(self):
        m = Two()
        step = rt.compile(m, F.cross_entropy, (self.z, self.t), torch.optim.Adam(m.parameters()))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.reprise")
            with rt.record(path):
                step(self.z, self.t)
                step(torch.randn(2, 8, dtype=torch.cfloat), self.t[:2])
            self.assertTrue(reprise.replay(path))
        self.assertEqual(np.array(step.state["a.weight"]).shape, (16, 8, 2))

    def test_answers_are_complex_and_follow_the_weights(self):
        m = nn.Linear(8, 3, dtype=torch.cfloat)
        f = rt.compile_inference(m, self.z)
        for _ in range(3):
            torch.testing.assert_close(f(self.z), m(self.z).detach())
        with torch.no_grad():
            m.weight.mul_(1j)
        torch.testing.assert_close(f(self.z.conj()), m(self.z.conj()).detach())

    def test_what_has_no_meaning_for_pairs_is_refused(self):
        m = Two()
        with self.assertRaisesRegex(rt.Unsupported, "Adafactor of the parameter .* complex"):
            rt.compile(m, F.cross_entropy, (self.z, self.t), torch.optim.Adafactor(m.parameters()))
        for clip in ({"clip_value": 1.0}, {"clip_norm": 1.0, "norm_type": 1.0}):
            with self.assertRaisesRegex(rt.Unsupported, "clipping by .* complex"):
                rt.compile(m, F.cross_entropy, (self.z, self.t), torch.optim.Adam(m.parameters()), **clip)

    def test_the_norm_that_clips_is_pytorchs(self):
        m = Two()
        eager = copy.deepcopy(m)
        step = rt.compile(m, F.cross_entropy, (self.z, self.t), torch.optim.SGD(m.parameters(), 1.0), clip_norm=0.01)
        step(self.z, self.t)
        step.copy_to(m)
        F.cross_entropy(eager(self.z), self.t).backward()
        torch.nn.utils.clip_grad_norm_(eager.parameters(), 0.01)
        for p, q in zip(m.parameters(), eager.parameters()):
            torch.testing.assert_close(p.detach(), q.detach() - q.grad, rtol=1e-5, atol=1e-7)


if __name__ == "__main__":
    unittest.main()
