# SPDX-License-Identifier: Apache-2.0
"""torch.linalg's systems, factors and determinants beside PyTorch in binary64, values and gradients; PyTorch's own sample inputs; what is
refused by name; and what PyTorch raises of, which is an error of the step."""
import functools
import importlib.util
import math
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
import torch.linalg as L

import reprise
import reprise.torch as rt

EXACT = 1e-10
lstsq = L.lstsq
part = functools.partial(lstsq)


class Net(nn.Module):
    """What `f` makes of parameters, weighted."""

    def __init__(self, f, *tensors):
        super().__init__()
        self.f, self.own = f, nn.ParameterList([nn.Parameter(t.clone()) for t in tensors])

    def forward(self, x):
        return (self.f(*self.own) * x).sum()


class Only(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


def flat(*functions):
    """The values of all in one row."""
    return lambda *t: torch.cat([f(*t).reshape(-1) for f in functions])


class Systems(unittest.TestCase):
    def setUp(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        torch.manual_seed(0)
        self.a, self.m, self.b = torch.randn(4, 4) + 2 * torch.eye(4), torch.randn(3, 4, 4) + 2 * torch.eye(4), torch.randn(4, 2)
        self.s, self.many = self.a @ self.a.mT, self.m @ self.m.mT
        self.zeros = torch.tensor([[0.0, 1, 2], [3, 0, 1], [1, 1, 0]])  # rows have to be exchanged

    def same(self, f, *tensors):
        """Values and gradients of all tensors are PyTorch's."""
        with torch.no_grad():
            weights = torch.randn(f(*tensors).shape)
        net, eager = Net(f, *tensors), Net(f, *tensors)
        step = rt.compile(net, None, (weights,), torch.optim.SGD(net.parameters(), 1.0), bound=1e-9)
        found, loss = float(step(weights)), eager(weights)
        loss.backward()
        step.copy_to(net)
        self.assertLess(abs(found - float(loss.detach())), EXACT * max(1, abs(float(loss.detach()))))
        for p, q in zip(net.own, eager.own):
            torch.testing.assert_close(q.detach() - p.detach(), q.grad, rtol=EXACT, atol=EXACT * max(1, float(q.grad.abs().max())))
        torch.testing.assert_close(torch.from_numpy(np.array(rt.compile_inference(Only(f), tensors)(*tensors))), f(*tensors),
                                   rtol=EXACT, atol=EXACT)

    def test_solve_and_inverses(self):
        for a, b in ((self.a, self.b), (self.a, self.b[:, 0]), (self.m, self.b), (self.m, torch.randn(3, 4)), (self.a, torch.randn(3, 4, 2)),
                     (self.zeros, torch.randn(3, 1)), (torch.randn(2, 3, 5, 5), torch.randn(2, 3, 5, 1))):
            self.same(L.solve, a, b)
        self.same(lambda a, b: L.solve(a, b, left=False), self.m, torch.randn(3, 2, 4))
        self.same(lambda a, b: L.solve_ex(a, b)[0], self.m, self.b)
        for a in (self.a, self.zeros, torch.randn(2, 3, 4, 4)):
            self.same(L.inv, a)
            self.same(lambda a: torch.inverse(a) + L.inv_ex(a)[0], a)
        for n in (-3, -1, 0, 1, 2, 5):
            self.same(lambda a: L.matrix_power(a, n) + a, self.m)
        self.same(lambda a, b: L.multi_dot([a, a, b]), self.a, self.b)
        self.same(lambda a, b: L.multi_dot([b[:, 0], a, b[:, 1]]), self.a, self.b)

    def test_determinants(self):
        for a in (self.a, self.m, self.zeros, torch.randn(1, 1), -self.zeros):
            self.same(L.det, a)
            self.same(lambda a: L.slogdet(a)[1] * 2 + L.slogdet(a)[0], a)
        self.same(torch.logdet, self.s)
        self.assertTrue(np.isnan(np.array(rt.compile_inference(Only(torch.logdet), -torch.eye(3))(-torch.eye(3)))).all())

    def test_cholesky(self):
        above, below = torch.triu(torch.randn(4, 4), 1), torch.tril(torch.randn(4, 4), -1)
        for a in (self.s, self.many, self.s + above):
            self.same(L.cholesky, a)
            self.same(lambda a: L.cholesky_ex(a).L, a)
        for a in (self.s, self.many, self.s + below):
            self.same(lambda a: L.cholesky(a, upper=True), a)
        for factor in (L.cholesky(self.s), self.a, self.m):  # of what is no factor, too, PyTorch's gradient
            self.same(torch.cholesky_solve, self.b, factor)
            self.same(lambda b, u: torch.cholesky_solve(b, u, upper=True), self.b, factor)
            if factor.dim() == 2:
                self.same(torch.cholesky_inverse, factor)
        self.same(lambda u: torch.cholesky_inverse(u, upper=True), self.a)

    def test_triangular(self):
        for k in range(8):
            how = {"upper": bool(k & 1), "left": bool(k & 2), "unitriangular": bool(k & 4)}
            self.same(lambda a, b: L.solve_triangular(a, b, **how), self.m, self.b if k & 2 else self.b.mT)
        for k in range(4):
            how = {"upper": bool(k & 1), "transpose": bool(k & 2)}
            self.same(lambda b, a: torch.triangular_solve(b, a, **how)[0], self.b, self.a)

    def test_least_squares(self):
        for a, b in ((torch.randn(6, 4), torch.randn(6, 2)), (self.a, self.b), (torch.randn(2, 7, 3), torch.randn(2, 7, 2)),
                     (torch.randn(2, 7, 3), torch.randn(2, 7)), (torch.randn(5, 1), torch.randn(5, 1)),
                     (-torch.eye(5)[:, :3], torch.randn(5, 2))):
            self.same(lambda a, b: L.lstsq(a, b).solution, a, b)
            self.same(lambda a, b: lstsq(a, b).solution + part(a, b)[0], a, b)  # by names of the script's own
        near = torch.randn(8, 3)
        near[:, 2] = near[:, 0] + 1e-6 * torch.randn(8)  # a condition of 1e6
        b = torch.randn(8, 1)
        found = np.array(rt.compile_inference(Only(lambda a, b: L.lstsq(a, b)[0]), (near, b))(near, b))
        np.testing.assert_allclose(found, L.lstsq(near, b, driver="gels").solution.numpy(), rtol=1e-8)

    def test_qr(self):
        for a in (self.a, self.m, torch.randn(6, 3), torch.randn(3, 6), torch.randn(2, 1, 3), torch.randn(5, 1), torch.triu(self.a)):
            self.same(flat(lambda a: L.qr(a)[0], lambda a: L.qr(a)[1],
                           lambda a: L.qr(a, mode="complete")[1] if a.shape[-1] >= a.shape[-2] else a), a)
        tall = torch.randn(5, 2)
        for f in (lambda a: L.qr(a, mode="complete")[0], lambda a: L.qr(a, mode="r")[1]):  # no gradient in PyTorch
            torch.testing.assert_close(torch.from_numpy(np.array(rt.compile_inference(Only(f), tall)(tall))), f(tall))
            with self.assertRaisesRegex(rt.Unsupported, "linalg_qr.*no gradient"):
                rt.compile(net := Net(f, tall), None, (torch.ones(()),), torch.optim.SGD(net.parameters(), 1.0))
        for scale in (1e-200, 1e200):
            self.assertLess(float((rt.compile_inference(Only(L.qr), tall)(tall * scale)[1] / scale - L.qr(tall)[1]).abs().max()), EXACT)
        for a in (torch.randn(5, 3), torch.randn(2, 4, 4)):
            self.same(L.householder_product, a, torch.rand(*a.shape[:-2], a.shape[-1]))
            self.same(lambda a, t: L.householder_product(a, t), a, torch.rand(*a.shape[:-2], 2))

    def test_lu(self):
        for a in (self.a, self.m, self.zeros, torch.randn(1, 1)):
            b = torch.randn(*a.shape[:-1], 2)
            self.same(flat(*(lambda a, k=k: L.lu(a)[k] for k in range(3)), *(lambda a, k=k: L.lu_factor(a)[k] for k in range(2)),
                           lambda a: L.lu_factor_ex(a)[0]), a)
            self.same(flat(*(lambda a, b, k=k: L.lu_solve(*L.lu_factor(a), b if k & 1 else b.mT, left=bool(k & 1), adjoint=bool(k & 2))
                             for k in range(4)), lambda a, b: torch.lu_solve(b, *L.lu_factor(a))), a, b)
        self.assertEqual(int(rt.compile_inference(Only(lambda a: L.lu_factor_ex(a)[2]), self.a)(torch.zeros(4, 4))), 1)
        with self.assertRaisesRegex(reprise.DataError, "index 2 at position 0"):
            rt.compile_inference(Only(lambda a: L.lu_factor(a)[0]), self.a)(torch.zeros(4, 4))

    def test_eigenvalues(self):
        """Vectors up to their signs."""
        for n in (1, 2, 3, 4, 5, 8, 17):
            s = torch.randn(n, n)
            s = s + s.mT
            self.same(flat(L.eigvalsh, lambda a: L.eigh(a)[1].square(),
                           lambda a: (lambda w, v: v @ torch.diag(torch.exp(0.1 * w)) @ v.mT)(*L.eigh(a))), s)
        self.same(flat(lambda a: L.eigh(a)[1].abs(), lambda a: L.eigh(a)[0]), self.many)
        self.same(flat(lambda a: L.eigvalsh(a, UPLO="U"), lambda a: L.eigh(a, UPLO="L")[1].abs()), self.a)
        for a in (torch.zeros(3, 3), torch.eye(4), torch.diag(torch.tensor([3.0, 1, 2])), torch.diag(torch.tensor([1e-200, 1, 1e200])),
                  torch.ones(6, 6), torch.full((5, 5), 1e-310), torch.tensor([[0.0, 1], [1, 0]])):
            w, v = rt.compile_inference(Only(L.eigh), a)(a)
            torch.testing.assert_close(w, L.eigvalsh(a), rtol=EXACT, atol=EXACT * float(a.abs().max()))
            torch.testing.assert_close(v.mT @ v, torch.eye(len(a)), rtol=0, atol=EXACT)
            torch.testing.assert_close(v @ torch.diag(w) @ v.mT, a, rtol=EXACT, atol=EXACT * float(a.abs().max()))
        with self.assertRaisesRegex(reprise.DataError, "index 2 at position 0"):
            rt.compile_inference(Only(L.eigvalsh), self.s)(self.s * math.nan)

    def test_singular_values(self):
        low = lambda u, s, v: (u[..., :2] * s[..., None, :2]) @ v[..., :2, :]
        for a in (self.a, self.m, torch.randn(6, 3), torch.randn(3, 6), torch.randn(2, 5, 2), torch.randn(9, 7), torch.randn(2, 2)):
            self.same(flat(L.svdvals, lambda a: L.svd(a, full_matrices=False)[0].abs(), lambda a: L.svd(a, full_matrices=False)[2].abs(),
                      lambda a: low(*L.svd(a)), L.pinv, lambda a: L.matrix_norm(a, "nuc"), lambda a: L.matrix_norm(a, 2),
                      lambda a: L.matrix_norm(a, -2), lambda a: L.cond(a) * 1e-3, lambda a: L.pinv(a, rtol=0.3), lambda a: L.pinv(a, atol=0.5)), a)
        for a in (torch.randn(5, 1), torch.randn(1, 4), torch.randn(1, 1)):
            self.same(flat(L.svdvals, L.pinv), a)
        self.same(lambda a: L.pinv(a, hermitian=True), self.s)
        lost = torch.randn(5, 3) @ torch.randn(3, 4)
        self.same(L.pinv, lost)
        self.assertEqual(int(rt.compile_inference(Only(L.matrix_rank), lost)(lost)), 3)
        for a in (lost, torch.zeros(4, 3), torch.eye(3) * 2, torch.ones(3, 5), 1e-200 * self.a, 1e200 * self.a, torch.diag(torch.tensor([1.0, 1e-9, 0]))):
            for full in (False, True):
                f = lambda a: L.svd(a, full_matrices=full)
                u, s, v = rt.compile_inference(Only(f), a)(a)
                atol = EXACT * float(a.abs().max())
                torch.testing.assert_close(s, L.svdvals(a), rtol=EXACT, atol=1e-15 * float(a.abs().max()) * 8)
                torch.testing.assert_close(u.mT @ u, torch.eye(u.shape[-1]), rtol=0, atol=EXACT)
                torch.testing.assert_close(v @ v.mT, torch.eye(v.shape[-2]), rtol=0, atol=EXACT)
                torch.testing.assert_close((u[:, :len(s)] * s) @ v[:len(s)], a, rtol=EXACT, atol=atol)

    def test_signs_of_vectors_that_a_loss_depends_on_are_not_taken_in_silence(self):
        refused = 0
        for k in range(6):
            net = Net(lambda a: L.eigh(a)[1], self.s + k * torch.randn(4, 4))
            try:
                rt.compile(net, None, (torch.randn(4, 4),), torch.optim.SGD(net.parameters(), 1.0))
            except rt.GradientMismatch:
                refused += 1
        self.assertGreater(refused, 0)

    def test_orthogonal_weights(self):
        for shape in ((4, 4), (6, 3), (3, 6)):
            for how in (None, "householder", "cayley"):
                m = torch.nn.utils.parametrizations.orthogonal(nn.Linear(*shape), orthogonal_map=how)
                x, y = torch.randn(5, shape[0]), torch.randn(5, shape[1])
                step = rt.compile(m, nn.functional.mse_loss, (x, y), torch.optim.SGD(m.parameters(), 0.1), bound=1e-9)
                self.assertLess(step.origin["gradients"]["difference"], EXACT)

    def test_a_loss_of_rank_that_no_element_of_the_triangle_shows_is_an_error(self):
        steps = torch.arange(80.0)
        kahan = torch.diag(0.8 ** steps) @ (torch.eye(80) - 0.6 * torch.ones(80, 80).triu(1))  # its last singular value is 1e-22
        scaled = torch.randn(5, 3) * torch.tensor([1.0, 1e-9, 1e6])
        for a in (kahan, scaled):
            b = torch.randn(len(a), 1)
            forward = rt.compile_inference(Only(lambda a, b: L.lstsq(a, b).solution), (a, b))
            with self.assertRaisesRegex(reprise.DataError, "index 2 at position 0"):
                forward(a, b)
            forward(a + 1e6 * torch.eye(*a.shape), b)

    def test_the_exact_gradient_of_float32(self):
        torch.set_default_dtype(torch.float32)
        a = torch.randn(5, 5) + 3 * torch.eye(5)
        for f in (L.inv, L.slogdet, lambda a: L.cholesky(a @ a.mT), lambda a: L.lstsq(a[:, :3], a[:, 3:]).solution):
            net = Net(lambda a: f(a)[1] if f is L.slogdet else f(a), a)
            with torch.no_grad():
                x = torch.randn(net.f(a).shape)
            step = rt.compile(net, None, (x,), torch.optim.SGD(net.parameters(), 0.1))
            self.assertLess(step.origin["gradients"]["difference"], 1e-3)

    def test_what_pytorch_raises_of_is_an_error_that_leaves_the_states(self):
        lines = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
        for f in (L.inv, lambda a: L.solve(a, torch.ones(2)), lambda a: L.cholesky(a - torch.eye(2)), lambda a: L.matrix_power(a, -2),
                  lambda a: L.lstsq(torch.cat([a, a]), torch.ones(4)).solution):
            forward = rt.compile_inference(Only(f), torch.eye(2) * 3)
            forward(torch.eye(2) * 3)
            with self.assertRaisesRegex(reprise.DataError, "index 2 at position 0") as caught:
                forward(lines)
            self.assertIn("singular", caught.exception.__notes__[0])
            forward(torch.eye(2) * 3)
        net = Net(lambda a: L.inv(a), torch.eye(2) * 3)
        step = rt.compile(net, None, (torch.ones(2, 2),), torch.optim.SGD(net.parameters(), 9.0))
        step(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))  # 3 + 9 / 9
        before = np.array(step.state["own.0"])
        np.testing.assert_allclose(before, [[4.0, 0.0], [0.0, 3.0]])
        step(torch.tensor([[0.0, 0.0], [0.0, -3.0]]))  # 3 - 3
        self.assertEqual(np.array(step.state["own.0"])[1, 1], 0)
        with self.assertRaises(reprise.DataError) as caught:
            step(torch.ones(2, 2))
        self.assertTrue(any("test_torch_systems.py" in n for n in caught.exception.__notes__), caught.exception.__notes__)
        self.assertTrue(any("singular" in n for n in caught.exception.__notes__))
        np.testing.assert_array_equal(np.array(step.state["own.0"]), [[4.0, 0.0], [0.0, 0.0]])

    def test_values_of_singular_matrices_where_pytorch_goes_on(self):
        lines = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
        for f in (L.det, torch.logdet, lambda a: L.slogdet(a)[1], lambda a: L.slogdet(a)[0], lambda a: L.inv_ex(a).info,
                  lambda a: L.solve_ex(torch.stack([a, a * 0, torch.eye(2)]), torch.ones(3, 2, 1)).info, lambda a: L.inv_ex(a)[0]):
            np.testing.assert_array_equal(np.array(rt.compile_inference(Only(f), torch.eye(2))(lines)), f(lines).numpy())
        self.assertTrue(np.isnan(np.tril(np.array(rt.compile_inference(Only(lambda a: L.cholesky_ex(a)[0]), lines)(-lines)))[1]).all())
        for f in (L.det, lambda a: L.slogdet(a)[1].exp()):  # no gradient is none that is another's
            net = Net(f, lines)
            step = rt.compile(net, None, (torch.ones(()),), torch.optim.SGD(net.parameters(), 1.0), check=False)
            self.assertEqual(float(step(torch.ones(()))), 0)
            self.assertTrue(np.isnan(np.array(step.state["own.0"])).all())

    def test_refused(self):
        batch = torch.eye(2).repeat(300, 1, 1)
        for f, a, why in ((L.inv, batch, r"linalg_inv.*of 300 matrices, at most 256 at once: take x\[:256\].*torch.cat"),
                          (L.ldl_factor, self.s, "_linalg_check_errors"), (L.eigvals, self.a, "linalg_eig.*no rule"),
                          (lambda a: L.lu(a)[1], torch.randn(4, 2), "linalg_lu.* 4 rows and 2 columns"),
                          (lambda a: L.lu(a, pivot=False)[1], self.a, "pivot=False"), (L.svdvals, torch.randn(1025, 1026), "1025 columns"),
                          (lambda a: L.lstsq(a.mT, a[0, :2]).solution, torch.randn(4, 2)[:, :2], "lstsq of 2 equations for 4 unknowns"),
                          (lambda a: L.lstsq(a, a).residuals * 2, self.a, "lstsq whose residuals are used"),
                          (lambda a: L.lstsq(a, a).rank.sum(), self.a, "lstsq whose rank is used"),
                          (lambda a: torch.sum(L.lstsq(a, a)[3]), self.a, "lstsq whose singular_values are used"),
                          (lambda a: L.lstsq(a, a, rcond=0.1)[0], self.a, "lstsq with an rcond"),
                          (lambda a: L.cholesky_ex(a).info, self.s, "cholesky_ex.*no rule")):
            with self.assertRaisesRegex(rt.Unsupported, why):
                rt.compile_inference(Only(f), a)(a)
        self.assertIs(L.lstsq, lstsq)  # PyTorch's own again
        parts = rt.compile_inference(Only(lambda a: torch.cat([L.det(a[:256]), L.det(a[256:])])), batch)
        torch.testing.assert_close(parts(2 * batch), L.det(2 * batch))

    def test_pytorchs_own_samples(self):
        from torch.testing._internal.common_methods_invocations import op_db
        wanted = {"linalg.solve", "linalg.inv", "linalg.det", "linalg.slogdet", "logdet", "linalg.cholesky", "cholesky_solve",
                  "linalg.solve_triangular", "linalg.lstsq", "linalg.matrix_power", "linalg.qr", "linalg.eigvalsh", "linalg.svdvals",
                  "linalg.pinv", "linalg.lu_solve", "linalg.householder_product"}
        count = 0
        for o in (o for o in op_db if o.name in wanted and o.variant_test_name in ("", "grad_oriented")):
            wide = o.name == "linalg.lstsq"
            for s in [s for s in o.sample_inputs("cpu", torch.float64) if not s.kwargs.get("driver", "gelsy") != "gelsy"][:6]:
                if wide and s.input.shape[-2] < s.input.shape[-1]:
                    continue

                def call(a, *rest):
                    found = (L.lstsq if wide else o.op)(a, *rest, **s.kwargs)
                    return found[0] if wide or o.name in ("linalg.slogdet", "linalg.qr") else found
                tensors = (s.input, *s.args)
                if not all(isinstance(t, torch.Tensor) for t in tensors):
                    continue
                expected = call(*tensors)
                found = rt.compile_inference(Only(call), tensors)(*tensors)
                torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8, msg=lambda m: f"{o.name} {s}: {m}")
                count += 1
        self.assertGreater(count, 30)

    def test_what_is_solved_is_replayed_by_the_command(self):
        command = os.environ.get("REPRISE_COMMAND")
        if not command:
            self.skipTest("REPRISE_COMMAND is not set")
        import subprocess
        torch.set_default_dtype(torch.float32)
        net = Net(lambda a, b: L.solve(a, b) + L.slogdet(a)[1] + L.lstsq(a[:, :2], b).solution.sum() + L.cholesky(a @ a.mT)[:, :2],
                  self.a.float(), self.b.float())
        step = rt.compile(net, None, (torch.randn(4, 2),), torch.optim.Adam(net.parameters(), 1e-3))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s.reprise")
            with rt.record(path, seed=1):
                for _ in range(3):
                    step(torch.randn(4, 2))
            done = subprocess.run([command, "replay", path], check=True, capture_output=True, text=True)
            self.assertRegex(done.stdout, r"kind +PyTorch door \(\d+\.\d+[^ ]*\) run, by its own word")


if __name__ == "__main__":
    unittest.main()
