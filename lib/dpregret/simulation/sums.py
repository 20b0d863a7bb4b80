r"""Sums over n users, drawn in one step: the same law as n draws, for any number of users.

The sums are exact in law wherever numpy's generators are. Where a count is so large that double precision spoils their
acceptance tests, a stated approximation takes over, within :math:`10^{-6}` of the law in Kolmogorov distance: far
below what any number of repetitions that can be run would show.

======================  ==================================================================================
Gamma(a)                exact for a <= 1e9; above, Wilson and Hilferty's cube of a normal variable
Binomial(n, p)          exact for n <= 1e12; above, with v = n p (1 - p): for v < 1e5 the Poisson law of the
                        rarer outcome (total variation at most 1e-7), else a normal variable with its skewness
======================  ==================================================================================

numpy's own binomial draws are wrong for larger n, without a warning. At n = 1e18, p = 1/2, a 64-bit square overflows
and deviations of six standard deviations occur 5000 times too often; at n = 7e16 with n p = 70, rounding of a logarithm
makes the variance 8% too large.

Counts are float64. ``centred=True`` returns the sum minus its mean without forming either, so that nothing cancels.
A sum that is not centred is rounded to a double, a relative error of at most :math:`2^{-53}`: below 1/500 of the
standard deviation of n fair coins up to n = 1e26, and refused above. (The few failures among users who nearly all
succeed are to be drawn as such, or centred.)
"""

from __future__ import annotations

import numpy as np

from dpregret import _checks

MOST_USERS = 1e26
"""The largest n for a sum that is not centred."""

_GAMMA_EXACT, _BINOMIAL_EXACT, _POISSON_BELOW = 1e9, 1e12, 1e5


def _users(name: str, n, centred: bool) -> np.ndarray:
    n = _checks.array(name, n, at_least=0.0, at_most=np.inf if centred else MOST_USERS)
    if (n != np.floor(n)).any():
        raise ValueError(f"{name} must be a whole number, got {float(n[n != np.floor(n)].flat[0])!r}")
    return n


def _shape(size, *arrays: np.ndarray) -> tuple[int, ...]:
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    if size is None:
        return shape
    size = (int(size),) if np.ndim(size) == 0 else tuple(size)
    if len(shape) > len(size) or any(k not in (1, m) for k, m in zip(shape[::-1], size[::-1], strict=False)):
        raise ValueError(f"size must be a shape to which the arguments of shape {shape} broadcast, got {size!r}")
    return size


def _scalar(values: np.ndarray):
    return float(values) if values.ndim == 0 else values


def _centred_gamma(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    """Gamma(a, 1) - a for an array of shapes a >= 0; Marsaglia and Tsang, without the rejection step for large a."""
    out = np.array(rng.standard_gamma(np.minimum(a, _GAMMA_EXACT)) - a)
    large = a > _GAMMA_EXACT
    if large.any():
        d = a[large] - 1 / 3
        x = rng.standard_normal(d.shape)
        # d ((1 + x / (3 sqrt d))^3 - 1) - 1/3
        out[large] = np.sqrt(d) * x + (x * x - 1) / 3 + x**3 / (27 * np.sqrt(d))
    return out


def laplace_sum(rng: np.random.Generator, n, scale, size=None):
    """Sum of n independent Laplace variables: ``scale * sqrt(2 G) * N(0, 1)`` with G of law Gamma(n).

    A Laplace variable is a normal one whose variance is exponential; nothing cancels, and n has no upper limit. (The
    difference of two Gamma(n) variables has the same law and becomes granular from n = 1e28.)

    Parameters
    ----------
    n : float or array
        Number of users, whole, >= 0.
    scale : float or array
        Scale b >= 0 of one user's noise.
    size : int or tuple of int, optional
        Shape of the result; default the common shape of n and scale.

    Returns
    -------
    float or array

    Raises
    ------
    ValueError
        For a negative or fractional n or a negative scale.
    """
    n = _users("n", n, centred=True)
    scale = _checks.array("scale", scale, at_least=0.0)
    shape = _shape(size, n, scale)
    n = np.broadcast_to(n, shape)
    gamma = np.maximum(n + _centred_gamma(rng, n), 0.0)
    return _scalar(scale * np.sqrt(2 * gamma) * rng.standard_normal(shape))


def wishart_sum(rng: np.random.Generator, n, degrees, scale_matrix, *, centred: bool = False) -> np.ndarray:
    """Sum of n independent Wishart matrices W_d(degrees, V): one matrix of law W_d(n degrees, V), by Bartlett's factor.

    With N = n degrees and V = L L', the sum is L A A' L' for a lower triangular A with N(0, 1) entries below the
    diagonal and chi-squares of N, N - 1, ... degrees as squares on it. Centred, the chi-squares are drawn about their
    degrees.

    Parameters
    ----------
    n : float or array
        Number of users, whole, >= 0; the sum of none is the zero matrix.
    degrees : float
        Degrees of freedom of one matrix, above d - 1.
    scale_matrix : array (d, d)
        Positive definite V.
    centred : bool
        Whether to subtract the mean ``n degrees V``, without cancellation.

    Returns
    -------
    array of shape ``n.shape + (d, d)``, symmetric

    Raises
    ------
    ValueError
        For degrees of at most d - 1 (no density), a matrix V that is not symmetric positive definite, or n above
        `MOST_USERS` if not centred.
    """
    n = _users("n", n, centred)
    factor = _cholesky(scale_matrix)
    d = len(factor)
    degrees = _checks.real("degrees", degrees, above=d - 1)
    total = n[..., None] * degrees  # (..., 1)
    chi = np.maximum(total - np.arange(d), 0.0)
    excess = 2 * _centred_gamma(rng, chi / 2)
    below = np.tril(rng.standard_normal((*n.shape, d, d)), -1)
    strict = below @ below.swapaxes(-1, -2)
    cross = below * np.sqrt(np.maximum(chi + excess, 0.0))[..., None, :]
    core = strict + cross + cross.swapaxes(-1, -2)
    core[..., np.arange(d), np.arange(d)] += excess - np.arange(d)
    core[n == 0] = 0.0
    out = factor @ core @ factor.T
    out = (out + out.swapaxes(-1, -2)) / 2
    return out if centred else out + total[..., None] * (factor @ factor.T)


def _cholesky(scale_matrix) -> np.ndarray:
    matrix = _checks.array("scale_matrix", scale_matrix, ndim=2)
    if matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise ValueError(f"scale_matrix must be symmetric, got {matrix.tolist()!r}")
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"scale_matrix must be positive definite, got {matrix.tolist()!r}") from None


def _rare(rng: np.random.Generator, n: np.ndarray, q: np.ndarray, centred: bool) -> np.ndarray:
    """Binomial(n, q) for q <= 1/2, minus n q if centred; arrays of one shape."""
    v = n * q * (1 - q)
    direct = n <= _BINOMIAL_EXACT
    poisson = ~direct & (v < _POISSON_BELOW)
    mean = n * q
    out = np.array(rng.binomial(np.where(direct, n, 0).astype(np.int64), q), dtype=np.float64)
    if poisson.any():
        out[poisson] = rng.poisson(mean[poisson])
    if centred:
        out -= np.where(direct | poisson, mean, 0.0)
    normal = ~(direct | poisson)
    if normal.any():
        x = rng.standard_normal(int(normal.sum()))
        # Cornish and Fisher's first term; 1/2 and floor put the lattice back
        deviation = np.sqrt(v[normal]) * x + (1 - 2 * q[normal]) * (x * x - 1) / 6
        out[normal] = deviation if centred else np.floor(mean[normal] + deviation + 0.5)
    return out


def binomial(rng: np.random.Generator, n, p, size=None, *, centred: bool = False):
    """Number of successes among n independent users.

    Parameters
    ----------
    n : float or array
        Number of users, whole, >= 0.
    p : float or array
        Probability in [0, 1].
    size : int or tuple of int, optional
        Shape of the result; default the common shape of n and p.
    centred : bool
        Whether to subtract the mean ``n p``, without cancellation.

    Returns
    -------
    float or array of float64

    Raises
    ------
    ValueError
        For a negative or fractional n, p outside [0, 1], or n above `MOST_USERS` if not centred.
    """
    n = _users("n", n, centred)
    p = _checks.array("p", p, at_least=0.0, at_most=1.0)
    shape = _shape(size, n, p)
    n, p = np.broadcast_to(n, shape), np.broadcast_to(p, shape)
    flip = p > 0.5
    rare = _rare(rng, n, np.where(flip, 1 - p, p), centred)
    return _scalar(np.where(flip, -rare if centred else n - rare, rare))


def signed_sum(rng: np.random.Generator, n, mean, size=None, *, centred: bool = False):
    """Sum of n independent rewards in {-1, +1} of the given mean; arguments as in `binomial`, ``mean`` in [-1, 1]."""
    n = _users("n", n, centred)
    mean = _checks.array("mean", mean, at_least=-1.0, at_most=1.0)
    shape = _shape(size, n, mean)
    n, mean = np.broadcast_to(n, shape), np.broadcast_to(mean, shape)
    rare = _rare(rng, n, (1 - np.abs(mean)) / 2, centred)
    return _scalar(np.where(mean < 0, -1.0, 1.0) * (-2 * rare if centred else n - 2 * rare))
