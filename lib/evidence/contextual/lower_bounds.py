r"""The lower bounds of Section 2 of [Li2024]: the hard pairs of instances, their exact divergences, and what follows.

A pair is two laws of one record. With n records, :math:`1 - \mathrm{TV}` of the two product laws is twice the error of
the likelihood-ratio test at equal priors, and Le Cam's inequality turns it into a bound on every estimator.

Mean squares (Theorem 2.1): the direction e2 appears with probability q, and the parameter is 0 or e2.
Input perturbation (Theorem 2.2): phi = (1/2, +-m), a record is (phi + Laplace, y + Laplace), y = phi . theta. The first
coordinate carries the same information under all hypotheses and is left out; then y - 1/4 = +-theta_2 m.
Perturbed sufficient statistics: phi = (0, +-m), theta = (0, +-1), a record is (phi phi^T + noise, y phi + Laplace).

References
----------
[Li2024] On the Optimal Regret of Locally Private Linear Contextual Bandit, Sections 2 and 6.
[Kairouz2015] Extremal mechanisms for local differential privacy: extreme points of the private channels.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

from dpregret import _checks

LEMMA_6_1_CONSTANT = 16.7
THEOREM_2_1_CONSTANT = 3 / (64 * math.sqrt(2))
"""C_1 of the proof of Theorem 2.1: 3/16 of `paper_c` times e^alpha - 1."""
LARGEST_M = math.sqrt(3) / 2
"""Largest m for which (1/2, m) has norm at most 1."""


def _alpha(alpha: float) -> float:
    return _checks.real("alpha", alpha, above=0.0, at_most=1.0)


def _users(name: str, n: float) -> float:
    return _checks.real(name, n, at_least=1.0)


# Theorem 2.1 ----------------------------------------------------------------------------------------------------------


def paper_c(alpha: float) -> float:
    """The c of the proof of Theorem 2.1, ``1/(4 sqrt2 (e^alpha - 1))``; e2 appears with probability c/sqrt(n)."""
    return 1 / (4 * math.sqrt(2) * math.expm1(_alpha(alpha)))


def channel_divergence(alpha: float) -> float:
    """kappa: the largest ``KL + KL'`` of an alpha-LDP message over q^2, as q -> 0, for the pair of Theorem 2.1.

    ``(e^alpha - 1)^2 max{e^-alpha, 2/(e^alpha + 2)}``: one-bit randomized response is best up to alpha = log 2, three
    letters above. For q > 0 each of KL and KL' is at most ``kappa q^2/2/(1 - q(1 - e^-alpha))``; proof in the book.
    """
    e = math.exp(_alpha(alpha))
    return (e - 1) ** 2 * max(1 / e, 2 / (e + 2))


def channel_divergence_lp(alpha: float, q: float) -> float:
    """The same at q in (0, 1) over q^2, by a linear program over all channels (their extreme rays, [Kairouz2015])."""
    q = _checks.real("q", q, above=0.0, below=1.0)
    letters = (1.0, math.exp(_alpha(alpha)))
    rays = np.array(list(itertools.product(letters, repeat=3)))  # rows for the records (e1, .), (e2, 0), (e2, 1)
    low = rays @ [1 - q, q, 0.0]
    change = rays[:, 2] - rays[:, 1]
    gain = change * np.log1p(q * change / low) / q  # (high - low) log(high/low) / q^2
    return float(-optimize.linprog(-gain, A_eq=rays.T, b_eq=np.ones(3), method="highs-ds").fun)


def proof_divergence(alpha):
    """What the proof of Theorem 2.1 has for kappa, ``min{4, e^(2 alpha)} (e^alpha - 1)^2``, a number or an array."""
    return np.minimum(4, np.exp(2 * alpha)) * np.expm1(alpha) ** 2


def rare_direction_bound(q, *, n: float, alpha: float):
    """No protocol has a smaller worst error on the pair whose second direction has probability q, a number or an array.

    ``(q/4)(1 - TV)`` with TV at most ``(q/2) sqrt(n kappa/(1 - q(1 - e^-alpha)))``; it says nothing where negative.
    """
    return q / 4 * (1 - q / 2 * np.sqrt(n * channel_divergence(alpha) / (1 + q * np.expm1(-alpha))))


def mean_square_bound(*, n: float, alpha: float, version: str = "corrected") -> float:
    """A lower bound on the worst mean-square error of every sequentially interactive alpha-LDP estimator.

    All are the Bayes risk ``q (1 - TV)/4`` of the two parameters, with the minimum that Theorem 2.1 lacks.
    paper: ``(3/16) min(1, c/sqrt n)``, with the divergence and the c of [Li2024].
    corrected: ``(1/8) min(1, 1/(sqrt2 (e^alpha - 1) sqrt n))``, by a direct bound on the divergence (book).
    sharp: with `channel_divergence`, maximised over q; for large n it is ``1/(8 sqrt(kappa n))``.
    """
    version, n = _checks.choice("version", version, ("paper", "corrected", "sharp")), _users("n", n)
    if version == "paper":
        return 3 / 16 * min(1.0, paper_c(alpha) / math.sqrt(n))
    if version == "corrected":
        return min(1.0, 1 / (math.sqrt(2 * n) * math.expm1(_alpha(alpha)))) / 8

    def negative(log_q: float) -> float:
        return -float(rare_direction_bound(math.exp(log_q), n=n, alpha=alpha))

    start = -0.5 * math.log(n * channel_divergence(alpha))
    found = optimize.minimize_scalar(
        negative, bounds=(min(start - 2, -2.0), 0.0), method="bounded", options={"xatol": 1e-9}
    )
    return -min(float(found.fun), negative(0.0))


def randomized_response_risk(*, n: float, alpha: float, c: float | None = None) -> float:
    """Bayes mean-square error of the pair of Theorem 2.1 (prior 1/2 each) under one-bit randomized response, exact.

    Each of n <= 1e9 users reports the bit 1{phi = e2, y = 1}. The sum is binomial; the posterior mean is the best
    estimate. `c` defaults to `paper_c`; the probability of e2 is min(1, c/sqrt n). The relative error is below 1e-11,
    and below 1e-12 for c at most ``5/(e^alpha - 1)`` and n at most 1e8.
    """
    n = _checks.integer("n", n, at_least=1, at_most=10**9)
    c = paper_c(alpha) if c is None else _checks.real("c", c, above=0.0)
    q = min(1.0, c / math.sqrt(n))
    alpha = _alpha(alpha)
    one, zero, shift = special.expit(-alpha), special.expit(alpha), q * math.tanh(alpha / 2)  # rates one, one + shift
    gain, loss = math.log1p(shift / one), math.log1p(-shift / zero)  # log-ratio of a 1 and of a 0
    spread = 12 * np.sqrt(n * np.array([one * zero, (one + shift) * (zero - shift)])) + 12
    equal = n * loss / (loss - gain)  # both laws are log-concave, so their minimum falls off from where they are equal
    k = np.arange(max(0, math.floor(equal - spread[1])), min(n, math.ceil(equal + spread[0])) + 1)
    return q / 2 * float(stats.binom.pmf(k, n, one) @ special.expit(k * gain + (n - k) * loss))


# Theorem 2.2 and Lemma 6.1 --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LaplaceMixtures:
    """Two symmetric mixtures ``P = (Lap(mu) + Lap(-mu))/2`` and ``Q`` with centres +-nu, in the plane, by quadrature.

    The densities are analytic between the lines through the centres, so Gauss-Legendre panels between the lines give
    the divergences to about 12 digits, relative.

    Parameters
    ----------
    mu, nu : (float, float)
        Centres; the centre 0 is one Laplace law.
    alpha : float
        Inverse scale > 0 of each coordinate.
    """

    mu: tuple[float, float]
    nu: tuple[float, float]
    alpha: float = 1.0

    def __post_init__(self) -> None:
        scale = _checks.real("alpha", self.alpha, above=0.0)
        mu, nu = (scale * _checks.array(name, getattr(self, name), ndim=1) for name in ("mu", "nu"))
        for name, centre in (("mu", mu), ("nu", nu)):
            if centre.shape != (2,):
                raise ValueError(f"{name} must have two coordinates, got {getattr(self, name)!r}")
        (u, weight_u), (v, weight_v) = (_panels(abs(mu[i]), abs(nu[i])) for i in (0, 1))
        u, weight_u = u[: u.size // 2], 2 * weight_u[: u.size // 2]  # both laws are symmetric about the origin
        even, odd = [], []  # log density over exp(-|u| - |v|) is even + log cosh(odd)
        for a, b in (mu, nu):
            even.append(-np.maximum(abs(a) - abs(u), 0)[:, None] - np.maximum(abs(b) - abs(v), 0))
            odd.append((np.sign(a) * np.clip(u, -abs(a), abs(a)))[:, None] + np.sign(b) * np.clip(v, -abs(b), abs(b)))
        difference = 2 * np.sinh((odd[1] + odd[0]) / 2) * np.sinh((odd[1] - odd[0]) / 2)  # of the hyperbolic cosines
        log_ratio = even[1] - even[0] + np.log1p(difference / np.cosh(odd[0]))
        mass = weight_u[:, None] * weight_v * np.exp(even[0]) * np.cosh(odd[0])
        object.__setattr__(self, "log_ratio", log_ratio.ravel())
        object.__setattr__(self, "mass", mass.ravel())

    @property
    def kl(self) -> float:
        """``KL(P || Q)``."""
        return float(self.mass @ _excess(self.log_ratio))

    @property
    def reverse_kl(self) -> float:
        """``KL(Q || P)``."""
        return float((self.mass * np.exp(self.log_ratio)) @ _excess(-self.log_ratio))

    @property
    def chi_square(self) -> float:
        """``chi^2(P || Q)``, the integral of (P - Q)^2/Q."""
        return float((self.mass * np.exp(self.log_ratio)) @ np.expm1(-self.log_ratio) ** 2)

    def overlap(self, n: float) -> float:
        r"""``1 - TV`` of n records, twice the error of the likelihood-ratio test with equal priors; n >= 100.

        With S the log-likelihood ratio, ``1 - TV = E_P min(1, e^S)``, and
        :math:`e^{-|x|/2} = \frac{1}{2\pi} \int e^{isx} (s^2 + 1/4)^{-1} ds` gives
        :math:`\frac{1}{\pi} \int_0^\infty \Re M(1/2 + is)^n (s^2 + 1/4)^{-1} ds` with M the moment generating function
        of one record's log ratio: an exact inversion, by the trapezoidal rule in w, s = sinh(w)/2.
        """
        n = _checks.real("n", n, at_least=100.0)
        x = self.log_ratio
        root = self.mass * np.exp(x / 2)
        affinity = -float(self.mass @ np.expm1(x / 2) ** 2) / 2  # minus one
        spread = math.sqrt(n * float(root @ x**2))
        if spread == 0.0:
            return 1.0
        step = min(0.05, 0.2 / spread)
        w = np.arange(0.0, math.asinh(18 / spread) + step, step)
        s = np.sinh(w) / 2
        real = affinity + np.array([root @ (-2 * np.sin(t * x / 2) ** 2) for t in s])  # M - 1
        imaginary = np.array([root @ np.sin(t * x) for t in s])
        log_m = np.log1p(2 * real + real**2 + imaginary**2) / 2  # of its modulus; numpy's complex log1p is inaccurate
        angle = np.arctan2(imaginary, 1 + real)
        if n * (log_m[-1] - log_m[0]) > -20:
            raise ValueError(f"n must be larger for these centres (the records are too few to invert), got {n!r}")
        terms = np.exp(n * log_m) * np.cos(n * angle) / np.cosh(w)
        return min(1.0, float(terms.sum() - terms[0] / 2) * step * 2 / math.pi)


def _panels(a: float, b: float, order: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and masses of exp(-|x|)/2 between the points 0, +-a, +-b, and one node for each tail; x >= 0 first."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    ends = sorted({0.0, a, b})
    x, mass = [ends[-1]], [math.exp(-ends[-1]) / 2]
    for low, high in itertools.pairwise(ends):
        part = (low + high) / 2 + (high - low) / 2 * nodes
        x += part.tolist()
        mass += ((high - low) / 4 * weights * np.exp(-part)).tolist()
    return np.r_[x, np.negative(x)] + 0.0, np.r_[mass, mass]


def _excess(x: np.ndarray) -> np.ndarray:
    """``e^x - 1 - x`` without cancellation."""
    series = x**2 / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6))))
    return np.where(np.abs(x) < 1e-2, series, np.expm1(x) - x)


def theorem_2_2_pair(m: float, alpha: float, t: float = 0.5) -> LaplaceMixtures:
    """theta_2 = 0 (P) against theta_2 = t (Q) with phi = (1/2, +-m): the proof's pair, its means corrected."""
    m = _checks.real("m", m, above=0.0, at_most=LARGEST_M)
    return LaplaceMixtures((m, 0.0), (m, m * _checks.real("t", t, above=0.0, at_most=LARGEST_M)), _alpha(alpha))


def sign_flip_pair(m: float, alpha: float, t: float = 0.5) -> LaplaceMixtures:
    """theta_2 = t (P) against theta_2 = -t (Q) with phi = (1/2, +-m): the pair that gives the rate n^(-1/4)."""
    m = _checks.real("m", m, above=0.0, at_most=LARGEST_M)
    t = _checks.real("t", t, above=0.0, at_most=LARGEST_M)
    return LaplaceMixtures((m, m * t), (m, -m * t), _alpha(alpha))


def sign_flip_chi_square_bound(m: float, alpha: float, t: float = 0.5) -> float:
    """``4 e^(alpha m (1+t)) sinh^2(alpha m) sinh^2(alpha m t)``, at least the chi-square of `sign_flip_pair`."""
    a = _alpha(alpha) * _checks.real("m", m, above=0.0)
    return 4 * math.exp(a * (1 + t)) * math.sinh(a) ** 2 * math.sinh(a * t) ** 2


def input_perturbation_bound(*, n: float, alpha: float, t: float = 0.5) -> float:
    """A certified lower bound on the worst mean absolute deviation of every estimator from n perturbed inputs.

    ``t m (1 - sqrt(n log(1 + chi2)/2))`` by Le Cam and Pinsker, with the closed bound on chi2, maximised over m. At
    t = 1/2 it is at least ``min(.15, .18/(alpha n^(1/4)))`` for every n >= 1 and alpha in (0, 1] (proof in the book).
    """
    n, alpha = _users("n", n), _alpha(alpha)
    t = _checks.real("t", t, above=0.0, at_most=LARGEST_M)

    def negative(log_m: float) -> float:
        m = math.exp(log_m)
        return -t * m * (1 - math.sqrt(n / 2 * math.log1p(sign_flip_chi_square_bound(m, alpha, t))))

    top = math.log(LARGEST_M)
    low = min(top, math.log(0.3 / (alpha * n**0.25)))
    found = optimize.minimize_scalar(negative, bounds=(low - 1, top), method="bounded", options={"xatol": 1e-9})
    return -min(float(found.fun), negative(top))


# Perturbed sufficient statistics --------------------------------------------------------------------------------------


def statistics_kl(m: float, scale: float) -> float:
    """KL of one record, theta = (0, 1) against (0, -1): of ``m^2 + Lap(scale)`` and ``-m^2 + Lap(scale)``, exact.

    ``z - 1 + e^-z`` with z = 2 m^2/scale; at most ``2 m^4/scale^2``.
    """
    z = 2 * _checks.real("m", m, at_least=0.0, at_most=1.0) ** 2 / _checks.real("scale", scale, above=0.0)
    return float(_excess(np.array(-z)))


def statistics_bound(*, n: float, scale: float, quantity: str = "deviation") -> float:
    """What no method on sufficient statistics with Laplace noise of a fixed scale on y phi can go below.

    deviation: worst mean absolute deviation of every estimator, ``(2/(3 sqrt 3)) sqrt(scale) n^(-1/4)``, for
    scale <= 3 sqrt(n).
    regret: worst regret of every bandit policy after n rounds, ``(sqrt(2)/6) sqrt(scale) n^(3/4)``, for
    scale <= 2 sqrt(n).
    """
    quantity, n = _checks.choice("quantity", quantity, ("deviation", "regret")), _users("n", n)
    limit = (3 if quantity == "deviation" else 2) * math.sqrt(n)
    scale = _checks.real("scale", scale, above=0.0, at_most=limit)
    if quantity == "deviation":
        return 2 / (3 * math.sqrt(3)) * math.sqrt(scale) * n**-0.25
    return math.sqrt(2) / 6 * math.sqrt(scale) * n**0.75
