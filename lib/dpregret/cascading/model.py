"""The cascade model: a user examines a list from the top and clicks the first item that attracts them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpregret import _checks
from dpregret.simulation.seeds import generator


@dataclass(frozen=True, eq=False)
class CascadeProblem:
    r"""A cascading bandit :math:`B = (E, P, K)`, Section 3.1 of [Wang2021]_.

    In round :math:`t` a user with weights :math:`w_t \in \{0, 1\}^L`, independent Bernoulli with the given means
    (Assumption 1), sees the list :math:`A = (a_1, \dots, a_K)`, clicks the first attractive item
    :math:`C = \min\{k : w_t(a_k) = 1\}` and examines nothing below it. The reward is
    :math:`f(A, w) = 1 - \prod_k (1 - w(a_k))`.

    Parameters
    ----------
    means : array of shape (L,)
        Attraction probabilities in [0, 1], in any order.
    list_length : int
        K, the number of items shown, 1 <= K <= L.
    allow_ties : bool
        Accept problems whose optimal set is not unique, which Assumption 2 excludes.

    Raises
    ------
    ValueError
        For means outside [0, 1] or not finite, K outside 1..L, or a violated Assumption 2.

    References
    ----------
    .. [Wang2021] K. Wang, J. Dong, B. Wang, S. Li, S. Shao. Cascading Bandit under Differential Privacy.
       arXiv:2105.11126, 2021.
    """

    means: np.ndarray
    list_length: int
    allow_ties: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        means = _checks.array("means", self.means, ndim=1, at_least=0.0, at_most=1.0)
        if means.size == 0:
            raise ValueError(f"means must hold at least one item, got {self.means!r}")
        means.setflags(write=False)
        object.__setattr__(self, "means", means)
        length = _checks.integer("list_length", self.list_length, at_least=1, at_most=means.size)
        object.__setattr__(self, "list_length", length)
        if not self.allow_ties and self.minimal_gap == 0.0:
            raise ValueError(
                f"means must have a unique set of {length} largest entries (Assumption 2), "
                f"got a tie at {np.sort(means)[::-1][length]:g}; allow_ties=True accepts it"
            )

    @property
    def n_items(self) -> int:
        """L, the number of items."""
        return self.means.size

    @property
    def optimal_items(self) -> np.ndarray:
        """The K items of largest mean, best first."""
        return np.argsort(-self.means, kind="stable")[: self.list_length]

    @property
    def gaps(self) -> np.ndarray:
        r"""The gaps :math:`\Delta_{e, e^*}`, shape (L - K, K): rows by falling mean, columns best item first."""
        ordered = np.sort(self.means)[::-1]
        return ordered[None, : self.list_length] - ordered[self.list_length :, None]

    @property
    def minimal_gap(self) -> float:
        r""":math:`\Delta_{min}`, infinite when every item is shown (K = L)."""
        return float(self.gaps.min(initial=np.inf))

    @property
    def optimal_reward(self) -> float:
        """The expected reward of the best list."""
        return self.reward(self.optimal_items)

    def reward(self, items: np.ndarray) -> float:
        r"""The expected reward :math:`f(A, \bar w)` of a list; by Assumption 1 it is :math:`E f(A, w)`."""
        return float(1.0 - np.prod(1.0 - self.means[np.asarray(items)]))

    def regret(self, items: np.ndarray) -> float:
        """The expected regret of showing a list for one round (pseudo-regret)."""
        return self.optimal_reward - self.reward(items)

    def draw_click(self, items: np.ndarray, rng: np.random.Generator) -> int:
        r"""Draw the click position C of one user, 1 to K, or K + 1 where the text writes :math:`\infty`.

        One uniform V in [0, 1) serves the whole cascade: C is the first k with :math:`V \ge \prod_{j \le k} (1 - w_j)`.
        """
        uniform = rng.random()
        unclicked = 1.0
        for position, item in enumerate(items, start=1):
            unclicked *= 1.0 - self.means[item]
            if uniform >= unclicked:
                return position
        return len(items) + 1

    def relabelled(self, order: np.ndarray) -> CascadeProblem:
        """The same problem with item i renamed: the new item i is the old item ``order[i]``."""
        return CascadeProblem(self.means[order], self.list_length, allow_ties=self.allow_ties)


def kveton_problem(n_items: int = 20, list_length: int = 4, p: float = 0.2, gap: float = 0.15) -> CascadeProblem:
    r"""The instance :math:`B_{LB}(L, K, p, \Delta)` of [Kveton2015]_: K items of mean p, the others of mean p - gap.

    It is also the instance in the proofs of Theorems 10 and 11 of [Wang2021]_.

    References
    ----------
    .. [Kveton2015] B. Kveton, C. Szepesvari, Z. Wen, A. Ashkan. Cascading Bandits: Learning to Rank in the Cascade
       Model. ICML 2015.
    """
    length = _checks.integer("list_length", list_length, at_least=1)
    n_items = _checks.integer("n_items", n_items, at_least=length)
    p = _checks.real("p", p, above=0.0, at_most=1.0)
    gap = _checks.real("gap", gap, above=0.0, at_most=p)
    means = np.full(n_items, p - gap)
    means[:length] = p
    return CascadeProblem(means, length)


def linear_problem(n_items: int = 20, list_length: int = 4, top: float = 0.95) -> CascadeProblem:
    """Means equally spaced from ``top`` down to ``top / n_items``."""
    n_items = _checks.integer("n_items", n_items, at_least=1)
    top = _checks.real("top", top, above=0.0, at_most=1.0)
    return CascadeProblem(top * np.arange(n_items, 0, -1) / n_items, list_length)


def uniform_problem(n_items: int = 20, list_length: int = 4, top: float = 0.95, *, seed: int = 0) -> CascadeProblem:
    """One draw of independent means, uniform on [0, top]; the seed is part of the problem's identity."""
    n_items = _checks.integer("n_items", n_items, at_least=1)
    top = _checks.real("top", top, above=0.0, at_most=1.0)
    return CascadeProblem(top * generator(seed, "uniform problem", n_items).random(n_items), list_length)


#: The instances that the notebooks can select by name: name -> problem of (n_items, list_length).
INSTANCES = {
    "kveton": kveton_problem,
    "linear to 0.95": lambda n_items, list_length: linear_problem(n_items, list_length, 0.95),
    "linear to 0.5": lambda n_items, list_length: linear_problem(n_items, list_length, 0.5),
    "uniform to 0.95": lambda n_items, list_length: uniform_problem(n_items, list_length, 0.95),
    "uniform to 0.5": lambda n_items, list_length: uniform_problem(n_items, list_length, 0.5),
}


def named_problem(instance: str, *, n_items: int, list_length: int) -> CascadeProblem:
    """One of ``INSTANCES`` by name."""
    return INSTANCES[_checks.choice("instance", instance, INSTANCES)](n_items, list_length)
