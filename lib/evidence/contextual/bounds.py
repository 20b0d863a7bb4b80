r"""The bounds of [Li2024], printed and corrected: Theorems 3.2 and 4.7, Lemmas 4.2 to 4.6, Remarks 4.5 and 4.8.

L = ln(48 d / (beta delta)) throughout; g = gamma^-k is the size of a bin's vectors, psi its probability, n the users of
one pass. For Lemmas 4.2 to 4.6 ``version="corrected"`` has what the paper's own chain of steps gives once its slips are
put right (L21 to L23). It is a valid bound with larger constants; the printed ones are true as well, by sharper steps
that the book gives. A function without ``version`` is not in doubt.

References
----------
[Li2024] On the Optimal Regret of Locally Private Linear Contextual Bandit, Sections 3, 4 and 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from dpregret import _checks
from dpregret.contextual.corrected import CorrectedLPLR, groups_and_tests
from dpregret.contextual.lplr import Kappas, theory_kappas
from dpregret.contextual.partition import Grid

VERSIONS = ("printed", "corrected")
_GROWTH = {"printed": 2.54, "corrected": 3.15}  # factor of the recursion over layers; both true (L23)


class Errors(NamedTuple):
    """Bounds of Lemma 4.2 on psi, lambda (in norm) and Lambda (in operator norm)."""

    psi: float
    lam: float
    Lam: float


def _log(dimension: int, beta: float, delta: float, factor: float = 48.0) -> float:
    return math.log(factor * dimension / (beta * delta))


def smallest_n(dimension: int, *, beta: float, delta: float) -> float:
    """The condition n >= 2 d ln(24 d / (beta delta)) of Lemmas 4.2 to 4.4."""
    return 2 * dimension * _log(dimension, beta, delta, 24.0)


def lemma_4_2(
    dimension: int, *, n: float, psi: float, g: float, alpha: float, beta: float, delta: float, version: str
) -> Errors:
    """Errors of the statistics of a bin, with probability 1 - delta for all bins of a layer.

    The printed constants are true for ``|y_h| <= 2`` (1 on the first layer) if the third logarithm has the factor
    1/beta of the others; ``printed`` leaves it out, as the text does. Corrected, with the paper's own steps, the second
    is ``20 d^2 + 48 d`` for ``|y_h| <= 2`` (L4) and the third ``18 (d+1)^3 + 31 d``, as Eq. (52) drops a factor (L21).
    """
    _checks.choice("version", version, VERSIONS)
    d, log = dimension, _log(dimension, beta, delta)
    unit = 1 / (alpha * psi * math.sqrt(n))
    if version == "printed":
        second, third = 19 * d**2 + 29 * d, 7 * (d + 1) ** 3 + 29 * d
    else:
        second, third = 20 * d**2 + 48 * d, 18 * (d + 1) ** 3 + 31 * d
    third_log = math.log(48 * d / delta) if version == "printed" else log
    return Errors(6.2 * d * log / (alpha * math.sqrt(n)), second * g * log * unit, third * g**2 * third_log * unit)


def lemma_4_3(
    dimension: int, *, n: float, psi: float, k: int, gamma: float, alpha: float, beta: float, delta: float
) -> tuple[float, float]:
    """Bounds on 1/s and on the norm of omega_B in an active bin, as printed; true for the printed kappa_1 (book)."""
    log = _log(dimension, beta, delta)
    inverse = 2 * dimension * gamma ** (2 * k + 2)
    return inverse, 120 * (dimension + 1) ** 4 * gamma ** (k + 2) * log / (alpha * psi * math.sqrt(n))


def kappas(dimension: int, *, alpha: float, beta: float, delta: float, version: str) -> Kappas:
    """The constants that Lemmas 4.3 and 4.4 ask for; corrected, with the chain's kappa_1, 2 d times as large (L22)."""
    _checks.choice("version", version, VERSIONS)
    theory = theory_kappas(dimension, alpha=alpha, beta=beta, delta=delta)
    return theory if version == "printed" else theory._replace(k1=2 * dimension * theory.k1)


def layer_numerator(dimension: int, *, gamma: float, constants: Kappas, version: str) -> float:
    """kappa_3 gamma^2 (d+1)^4 + ... in the last term of Lemma 4.4; corrected, the chain's kappa_2 term (L23)."""
    _checks.choice("version", version, VERSIONS)
    d, k = dimension, constants
    second = k.k2 * gamma * d**2 if version == "printed" else k.k2 * gamma**2 * math.sqrt(2) * d**2
    inactive = max(k.k1 * gamma**2 * (d + 1) ** 3, k.k1_prime * gamma * d**1.5)
    return k.k3 * gamma**2 * (d + 1) ** 4 + second + inactive


def lemma_4_4(previous: float, layer: int, *, M: int, n: float, numerator: float, version: str) -> float:
    """Bound on sum_B psi_B sqrt(E[eta^2 | B]) of a layer from that of the layer before (0 for the first)."""
    _checks.choice("version", version, VERSIONS)
    return _GROWTH[version] * previous + 12 * M**layer * numerator / math.sqrt(n)


def lemma_4_6(dimension: int, *, M: int, n: float, numerator: float, version: str, tight: bool = False) -> float:
    """Bound on E[Delta]: ``(c M)^d 12 (...) / sqrt(n)``, or with ``tight`` the recursion of Lemma 4.4 run d times."""
    if not tight:
        return (_GROWTH[_checks.choice("version", version, VERSIONS)] * M) ** dimension * 12 * numerator / math.sqrt(n)
    total = 0.0
    for layer in range(1, dimension + 1):
        total = lemma_4_4(total, layer, M=M, n=n, numerator=numerator, version=version)
    return total


def remark_4_5_constant(dimension: int, *, version: str, m_beta: float = 1.0) -> float:
    """The constant C that Remark 4.5 needs in one dimension: 12 (...) / (gamma^2 d^4 L / alpha) with gamma >= 1.

    ``m_beta`` is M beta, at most 1 for beta <= 1/2 and 1/2 where 1/(2 beta) is an integer; to the power 1 (h = 1).
    """
    constants = Kappas(43.0 * (1 if version == "printed" else 2 * dimension), 15.0, 118.0, 300.0)
    return 12 * m_beta * layer_numerator(dimension, gamma=1.0, constants=constants, version=version) / dimension**4


def theorem_3_2(lengths: Sequence[float], errors: Sequence[float], n_actions: int, *, version: str) -> float:
    """Regret of Algorithm 1 from errors E(n_1), E(n_2), ...: ``n_1 + A^2 sum n_tau E(n_(tau-1))``.

    Corrected, both terms are doubled: a round's regret is at most 2, and Eq. (26) drops the factor 2 of Lemma 7.1
    (L17). ``errors[i]`` belongs to ``lengths[i]``; that of the last epoch is not used.
    """
    _checks.choice("version", version, VERSIONS)
    lengths, errors = np.asarray(lengths, dtype=float), np.asarray(errors, dtype=float)
    total = lengths[0] + n_actions**2 * float(np.sum(lengths[1:] * errors[: len(lengths) - 1]))
    return float(total if version == "printed" else 2 * total)


def theorem_4_7(
    horizon: float, dimension: int, n_actions: int, *, alpha: float, beta: float | None = None, version: str
) -> float:
    """``(c / beta)^d A^2 d^5 ln^2(48 d T / beta) / alpha T^(1/2 + 2 beta)``, the bound without its constant C.

    c = 2.54 printed, 3.15 corrected (the chain, for beta >= ln 2 / ln T). beta = 1/ln T by default, which gives
    ``e^2 (c ln T)^d ln^2 T sqrt(T)`` and not the sqrt(T) ln^d T of Remark 4.8.
    """
    _checks.choice("version", version, VERSIONS)
    log_T = math.log(horizon)
    beta = 1 / log_T if beta is None else beta
    least = 0.0 if version == "printed" else math.log(2) / log_T
    _checks.real("beta", beta, above=0.0, at_least=least, at_most=0.5)
    growth = (_GROWTH[version] / beta) ** dimension * n_actions**2 * dimension**5
    log = math.log(48 * dimension / beta) + log_T
    return growth * log**2 / alpha * math.exp((0.5 + 2 * beta) * log_T)


def remark_4_8(horizon: float, dimension: int, *, beta: float, version: str) -> float:
    """The remark's factor of T alone: printed ``(2/beta)^-d T^(1/2 + 2 beta)``, corrected ``(2.54/beta)^d ln^2 T ...``.

    The corrected form is what Theorem 4.7 as printed gives.
    """
    _checks.choice("version", version, VERSIONS)
    power = math.exp((0.5 + 2 * beta) * math.log(horizon))
    if version == "printed":
        return (2 / beta) ** -dimension * power
    return (2.54 / beta) ** dimension * math.log(horizon) ** 2 * power


def regret_bound(
    lengths: Sequence[float],
    dimension: int,
    n_actions: int,
    *,
    alpha: float,
    beta: float | None = None,
    delta: float | None = None,
    version: str,
    tight: bool = False,
) -> float:
    """Theorem 4.7 with all its constants: Theorem 3.2 with Lemma 4.6 in every epoch, E(n) at most 1.

    An epoch of N users gives n = N / (2 d) users a pass. With the constants of the paper the bound is trivial (a
    multiple of T) until T is far above 1e20.
    """
    lengths = np.asarray(lengths, dtype=float)
    horizon = float(lengths.sum())
    beta = 1 / math.log(horizon) if beta is None else beta
    delta = horizon**-2 if delta is None else delta
    grid = Grid.of(horizon, beta)
    constants = kappas(dimension, alpha=alpha, beta=beta, delta=delta, version=version)
    numerator = layer_numerator(dimension, gamma=grid.gamma, constants=constants, version=version)
    arguments = dict(M=grid.M, numerator=numerator, version=version, tight=tight)
    errors = [min(1.0, lemma_4_6(dimension, n=users / (2 * dimension), **arguments)) for users in lengths]
    return theorem_3_2(lengths, errors, n_actions, version=version)


def corrected_lplr_bound(horizon: int, dimension: int, n_actions: int, *, alpha: float, n_0: int) -> float:
    r"""The book's bound on the regret of Algorithm 1 with the bits of `CorrectedLPLR`, gamma = e and delta = 1/T^2.

    ``2 n_1 + 2 A^2 (1 + 6 H) sqrt(T) + 2 A``, n_1 = 2 n_0, and at most 2 T, what any play costs. H is the constant of
    the mean width, ``E Delta <= T^-1/2 + H / sqrt(n)``.
    """
    d, A = dimension, n_actions
    M = Grid.of(horizon).M
    groups, tests = groups_and_tests(d, M)
    root = math.sqrt(4 * groups * (math.log(2 * tests) + 2 * math.log(horizon)))
    H = 12 * math.e**2 * d**2 / CorrectedLPLR(alpha=alpha).bias * root
    H *= sum(M**h * (1 + 2 * math.e**2 * d) ** (d - h) for h in range(1, d + 1))
    return min(4 * n_0 + 2 * A**2 * (1 + 6 * H) * math.sqrt(horizon) + 2 * A, 2.0 * horizon)


class Horizons(NamedTuple):
    """log10 T at which the printed algorithm starts to do something, in a bin of probability psi."""

    first_active: float
    band_below_one: float
    eliminates_gap_one: float


def smallest_horizons(dimension: int, *, beta: float | None = None, alpha: float = 1.0, psi: float = 0.5) -> Horizons:
    """Horizons needed by the paper's own constants (printed), delta = 1/T^2.

    The largest epoch that feeds an oracle has T/2 users, so n = T / (4 d). First active: ``psi sqrt(n)`` exceeds
    ``kappa_1 gamma^2 (d+1)^3``. Band: the term with kappa_3 alone is below 1; a gap of 1 is eliminated for sure when it
    is below 1/4 (Lemma 7.1 with two equal bands).
    """
    _checks.integer("dimension", dimension, at_least=1)
    if beta is not None:
        _checks.real("beta", beta, above=0.0, at_most=0.24)  # from 1/4 on, no horizon is large enough

    def excess(log10_T: float, needed) -> float:
        log_T = log10_T * math.log(10)
        b = 1 / log_T if beta is None else beta
        log = math.log(48 * dimension / b) + 2 * log_T
        return math.log(psi * alpha / (needed * log)) + (log_T - math.log(4 * dimension)) / 2 - 2 * b * log_T

    d = dimension
    return Horizons(
        *(
            float(brentq(excess, 1.0, 1e5, args=(needed,)))
            for needed in (43 * (d + 1) ** 3, 300 * (d + 1) ** 4, 1200 * (d + 1) ** 4)
        )
    )
