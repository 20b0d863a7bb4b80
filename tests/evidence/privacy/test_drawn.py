"""The privacy of every mechanism, read off its own sampler; each broken twin of it is found out by the same check."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpregret.privacy import audit
from dpregret.privacy.continual import BinaryMechanism, HybridMechanism, LogarithmicMechanism, draw_laplace
from dpregret.privacy.mechanisms import ExponentialMechanism, Gaussian, Laplace, PermuteAndFlip, RandomizedResponse
from evidence.privacy import drawn

EPSILON = 0.7


def holds(found, promised):
    """The word of the check, as a card says it."""
    return "holds" if found <= promised * (1 + 1e-9) else "fails"


# --- Laplace and Gaussian noise


class HalvedLaplace(Laplace):
    def sample(self, rng, size=None):
        return rng.laplace(0.0, self.scale / 2, size)


class LeakingLaplace(Laplace):
    def privatize(self, values, rng):
        out = super().privatize(values, rng)
        out[-1] = values[-1]
        return out


class SeededLaplace(Laplace):
    def privatize(self, values, rng):
        return super().privatize(values, np.random.default_rng(7))


class OneDrawLaplace(Laplace):
    def privatize(self, values, rng):
        return values + self.sample(rng)


L1_MOVES = [sign * size * unit for unit in np.eye(3) for sign in (1, -1) for size in (2.0, 0.5)]
L1_MOVES += [np.array([1.0, -0.5, 0.5]), np.array([0.0, 1.0, 1.0])]


@pytest.mark.parametrize(
    "kind, epsilon",
    [(Laplace, EPSILON), (HalvedLaplace, 2 * EPSILON), (LeakingLaplace, math.inf), (SeededLaplace, math.inf),
     (OneDrawLaplace, math.inf)],
)  # fmt: skip
def test_laplace(kind, epsilon):
    mechanism = kind.calibrated(epsilon=EPSILON, sensitivity=2.0)
    found = drawn.laplace_epsilon(mechanism.privatize, [1.0, -2.0, 0.3], L1_MOVES)
    assert found == pytest.approx(epsilon, rel=1e-12, abs=0)
    assert holds(found, EPSILON) == ("holds" if kind is Laplace else "fails")


class HalvedGaussian(Gaussian):
    def sample(self, rng, size=None):
        return rng.normal(0.0, self.sigma / 2, size)


class LeakingGaussian(Gaussian):
    def privatize(self, values, rng):
        return np.append(super().privatize(values, rng), values[0] > 0)


class SeededGaussian(Gaussian):
    def privatize(self, values, rng):
        return super().privatize(values, np.random.default_rng(7))


@pytest.mark.parametrize("kind", [Gaussian, HalvedGaussian, LeakingGaussian, SeededGaussian])
@pytest.mark.parametrize("make", ["analytic", "classical"])
def test_gaussian(kind, make):
    mechanism = getattr(kind, make)(epsilon=EPSILON, delta=1e-4, sensitivity=2.0)
    moves = [*(2.0 * np.eye(3)), *(-2.0 * np.eye(3)), np.array([1.2, -1.6, 0.0])]
    ratio = drawn.gaussian_ratio(mechanism.privatize, [1.0, -2.0, 0.3], moves)
    delta = Gaussian(1.0, ratio).delta(EPSILON) if ratio < math.inf else 1.0
    assert holds(delta, 1e-4) == ("holds" if kind is Gaussian else "fails")
    if kind is Gaussian:
        assert ratio == pytest.approx(2.0 / mechanism.sigma, rel=1e-12, abs=0)


# --- choices


class HonestResponse(RandomizedResponse):
    def privatize(self, values, rng):
        rng.random(np.shape(values))
        return np.asarray(values)


class HalvedResponse(RandomizedResponse):
    @property
    def truth_probability(self):
        return 1 / (1 + (self.n_categories - 1) * math.exp(-2 * self.epsilon))

    @property
    def lie_probability(self):
        return (1 - self.truth_probability) / (self.n_categories - 1)


class LeakingResponse(RandomizedResponse):
    def privatize(self, values, rng):
        values = np.asarray(values)
        return np.where(values == 0, values, super().privatize(values, rng))


class SeededResponse(RandomizedResponse):
    def privatize(self, values, rng):
        return super().privatize(values, np.random.default_rng(7))


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("epsilon", [0.05, EPSILON, 4.0])
@pytest.mark.parametrize("kind", [RandomizedResponse, HonestResponse, HalvedResponse, LeakingResponse, SeededResponse])
def test_randomized_response(kind, epsilon, k):
    mechanism = kind(epsilon=epsilon, n_categories=k)

    @functools.cache
    def law(value):
        return drawn.uniform_law(lambda rng: mechanism.privatize(np.array([value]), rng), k)

    found = max(drawn.largest_epsilon(law, a, [b for b in range(k) if b != a]) for a in range(k))
    assert holds(found, epsilon) == ("holds" if kind is RandomizedResponse else "fails")
    if kind is RandomizedResponse:
        assert found == pytest.approx(epsilon, rel=1e-12, abs=0)
        for value in range(k):
            assert law(value) == pytest.approx(mechanism.transition_matrix()[value], rel=1e-12, abs=0)


class HalvedExponential(ExponentialMechanism):
    def probabilities(self, scores):
        return super().probabilities(2 * np.asarray(scores))


class BestExponential(ExponentialMechanism):
    def sample(self, rng, scores, size=None):
        return int(np.argmax(scores))


class LeakingExponential(ExponentialMechanism):
    def sample(self, rng, scores, size=None):
        choice = super().sample(rng, scores, size)
        return choice if scores[0] < scores[1] else 0


class HalvedFlip(PermuteAndFlip):
    def sample(self, rng, scores, size=None):
        return int(
            np.argmax(self.epsilon / (2 * self.sensitivity) * scores + rng.standard_exponential(len(scores)) / 2)
        )


class BestFlip(PermuteAndFlip):
    def sample(self, rng, scores, size=None):
        return int(np.argmax(scores))


class SharedFlip(PermuteAndFlip):
    """One draw for all the outcomes."""

    def sample(self, rng, scores, size=None):
        noise = rng.standard_exponential(len(scores))[0]
        return int(np.argmax(self.epsilon / (2 * self.sensitivity) * scores + noise))


SCORES = [0.0, 0.4, 0.5, -40.0]


def neighbours(scores, step, signs=(-1, 0, 1)):
    return [np.array(scores) + step * np.array(way) for way in itertools.product(signs, repeat=len(scores))]


@pytest.mark.parametrize(
    "kind, law",
    [
        *((kind, drawn.choice_law) for kind in (ExponentialMechanism, HalvedExponential, BestExponential)),
        (LeakingExponential, drawn.choice_law),
        *((kind, drawn.noisy_max_law) for kind in (PermuteAndFlip, HalvedFlip, BestFlip, SharedFlip)),
    ],
)
def test_choices(kind, law):
    mechanism = kind(epsilon=EPSILON, sensitivity=0.5)
    found = drawn.largest_epsilon(lambda scores: law(mechanism.sample, scores), SCORES, neighbours(SCORES, 0.5))
    sound = kind in (ExponentialMechanism, PermuteAndFlip)
    assert holds(found, EPSILON) == ("holds" if sound else "fails")
    if sound:
        assert law(mechanism.sample, SCORES) == pytest.approx(mechanism.probabilities(SCORES), rel=1e-9, abs=0)
        assert found > 0.95 * EPSILON  # the check is not satisfied by too much noise either
    if kind is BestFlip or kind is BestExponential:
        assert found == math.inf


def test_the_choice_for_monotone_scores():
    mechanism = ExponentialMechanism(epsilon=EPSILON, sensitivity=0.5, monotone=True)
    law = lambda scores: drawn.choice_law(mechanism.sample, scores)  # noqa: E731
    assert holds(drawn.largest_epsilon(law, SCORES, neighbours(SCORES, 0.5, (0, 1))), EPSILON) == "holds"
    assert holds(drawn.largest_epsilon(law, SCORES, neighbours(SCORES, 0.5)), EPSILON) == "fails"


# --- counters

HORIZON = 13
COUNTERS = {
    "binary": lambda kind=BinaryMechanism: kind(epsilon=EPSILON, horizon=HORIZON),
    "logarithmic": lambda kind=LogarithmicMechanism: kind(epsilon=EPSILON),
    "hybrid": lambda kind=HybridMechanism: kind(epsilon=EPSILON),
}


def all_releases(mechanism):
    def release(stream, rng):
        counter, out = mechanism(), []
        for value in stream:
            counter.add(float(value), rng)
            out.append(counter.release())
        return out

    return release


def counter_epsilon(mechanism):
    """Over every item of a stream, all releases seen."""
    values = np.full(HORIZON, 0.5)
    moves = [sign * 0.5 * unit for unit in np.eye(HORIZON) for sign in (1, -1)]
    return 2 * drawn.laplace_epsilon(all_releases(mechanism), values, moves)  # an item moves by at most 1


@pytest.mark.parametrize("name", COUNTERS)
def test_counters(name):
    assert counter_epsilon(COUNTERS[name]) == pytest.approx(EPSILON, rel=1e-9, abs=0)


def halved(base):
    class Halved(base):
        def _insert(self, value, rng):
            class Half:
                def standard_exponential(self):
                    return rng.standard_exponential() / 2

                def random(self):
                    return rng.random()

            super()._insert(value, Half())

    return Halved


def leaking(base):
    class Leaking(base):
        last = 0.0

        def _insert(self, value, rng):
            super()._insert(value, rng)
            self.last = value if self.n == 5 else 0.0

        def release(self):
            return super().release() if self.n != 5 else self.last

    return Leaking


def seeded(base):
    class Seeded(base):
        def _insert(self, value, rng):
            super()._insert(value, np.random.default_rng(7))

    return Seeded


class OneNoise(BinaryMechanism):
    """The same draw in every p-sum."""

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.kept = None

    def _insert(self, value, rng):
        self.kept = draw_laplace(rng, self.scale) if self.kept is None else self.kept
        level = (self.n & -self.n).bit_length() - 1
        value += sum(self._exact[:level])
        self._exact[:level] = self._noisy[:level] = [0.0] * level
        self._exact[level], self._noisy[level] = value, value + self.kept


@pytest.mark.parametrize(
    "name, base", [("binary", BinaryMechanism), ("logarithmic", LogarithmicMechanism), ("hybrid", HybridMechanism)]
)
@pytest.mark.parametrize("twin, epsilon", [(halved, 2 * EPSILON), (leaking, math.inf), (seeded, math.inf)])
def test_twins_of_counters(name, base, twin, epsilon):
    found = counter_epsilon(lambda: COUNTERS[name](twin(base)))
    assert found == pytest.approx(epsilon, rel=1e-9, abs=0)
    assert holds(found, EPSILON) == "fails"


def test_one_noise_for_every_p_sum_is_found_out():
    assert counter_epsilon(lambda: COUNTERS["binary"](OneNoise)) == math.inf


def test_a_level_too_few_is_found_out():
    """The scale log2(T) / epsilon of the text instead of floor(log2 T) + 1 levels."""

    class Short(BinaryMechanism):
        def __init__(self, **parameters):
            super().__init__(**parameters)
            self.scale = math.log2(8) / self.epsilon

    values, moves = np.full(8, 0.5), list(0.5 * np.eye(8))
    found = 2 * drawn.laplace_epsilon(all_releases(lambda: Short(epsilon=EPSILON, horizon=8)), values, moves)
    assert found == pytest.approx(EPSILON * 4 / 3, rel=1e-9, abs=0)


# --- the check itself


@pytest.mark.parametrize(
    "release, said",
    [
        (lambda x, rng: x + rng.normal(size=2), "must draw laplace noise, got \\['normal'\\]"),
        (lambda x, rng: x + rng.standard_exponential(2), "a fair sign"),
        (lambda x, rng: x[:1] + rng.laplace() + rng.laplace(), "each of its 2 draws"),
    ],
)
def test_what_the_check_cannot_judge_is_refused(release, said):
    with pytest.raises(ValueError, match=said):
        drawn.laplace_epsilon(release, [0.0, 1.0], [[1.0, 0.0]])


def test_correlated_noise_is_judged_exactly():
    """Noise B z: the loss of a move is the L1 norm of the shift of z that hides it."""
    matrix = np.array([[2.0, 0.0], [1.0, 3.0]])
    found = drawn.laplace_epsilon(lambda x, rng: x + matrix @ rng.laplace(0, 1, 2), [0.0, 0.0], np.eye(2))
    assert found == pytest.approx(1 / 2 + 1 / 6, rel=1e-12, abs=0)
    assert drawn.gaussian_ratio(lambda x, rng: x + rng.normal(0, 2, 2), [0.0, 0.0], [[3.0, 4.0]]) == pytest.approx(2.5)
    assert drawn.laplace_epsilon(lambda x, rng: x + rng.laplace(0, 4, 1), [0.0], [[2.0], [-8.0]]) == 2.0


# --- audits by counts have power, or say that they have none


@pytest.mark.parametrize("p, q", [(0.9, 0.1), (0.5, 0.2), (0.3, 0.3), (1.0, 0.0)])
@pytest.mark.parametrize("runs, epsilon", [(30, 0.0), (30, 0.5), (12, 1.0)])
def test_power_is_the_probability_of_a_certificate(p, q, runs, epsilon):
    """All pairs of counts."""
    counts = np.arange(runs + 1)
    bounds = audit.epsilon_lower_bound(counts[:, None], runs, counts, runs, confidence=0.9, n_events=2)
    joint = np.outer(binom.pmf(counts, runs, p), binom.pmf(counts, runs, q))
    found = audit.power(p, q, runs=runs, epsilon=epsilon, confidence=0.9, n_events=2)
    assert found == pytest.approx(joint[bounds > epsilon].sum(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("runs", [20, 1000, 20_000])
def test_no_counts_certify_more_than_all_against_none(runs):
    most = audit.most_certifiable(runs)
    low = 0.025 ** (1 / runs)
    assert most == pytest.approx(math.log(low / (1 - low)), rel=1e-9, abs=0)
    assert audit.power(1.0, 0.0, runs=runs, epsilon=most * (1 + 1e-9)) == 0.0
    assert audit.power(1.0, 0.0, runs=runs, epsilon=most * (1 - 1e-9)) == 1.0


def test_an_audit_of_halved_noise_has_power():
    """20,000 runs find halved Laplace noise with near certainty, and do not accuse the sound mechanism."""
    sound, broken = (math.exp(-epsilon / 2) / 2 for epsilon in (1.0, 2.0))  # P(noise > D / 2), against 1 - that
    assert audit.power(1 - broken, broken, runs=20_000, epsilon=1.0) > 0.999
    assert audit.power(1 - sound, sound, runs=20_000, epsilon=1.0) < 0.025


@pytest.mark.parametrize("delta", [0, Fraction(1, 10), Fraction(3, 10), Fraction(9, 10)])
@pytest.mark.parametrize(
    "p, q",
    [
        ([1, 2, 3, 4], [4, 3, 2, 1]),
        ([5, 0, 3, 2], [2, 3, 5, 0]),
        ([10, 0, 0, 0], [1, 2, 3, 4]),
        ([0, 10, 0, 0], [10, 0, 0, 0]),
        ([3, 3, 2, 2], [3, 3, 2, 2]),
    ],
)
def test_exact_epsilon_and_delta_over_all_events_in_fractions(p, q, delta):
    p, q = ([Fraction(x, 10) for x in law] for law in (p, q))
    ratio = Fraction(1)
    for first, second in ((p, q), (q, p)):
        for size in range(1, 5):
            for event in itertools.combinations(range(4), size):
                above, below = sum(first[i] for i in event) - delta, sum(second[i] for i in event)
                if above > 0:
                    ratio = max(ratio, above / below) if below else math.inf
                    if ratio == math.inf:
                        break
            if ratio == math.inf:
                break
        if ratio == math.inf:
            break
    found = audit.exact_epsilon([float(x) for x in p], [float(x) for x in q], float(delta))
    expected = math.log(ratio) if ratio < math.inf else math.inf
    assert found == (expected if expected == math.inf else pytest.approx(expected, rel=1e-12, abs=1e-15))
    for multiple in (Fraction(1), Fraction(3, 2), Fraction(4)):
        worst = max(
            sum(max(Fraction(0), a - multiple * b) for a, b in zip(first, second, strict=True))
            for first, second in ((p, q), (q, p))
        )
        got = audit.exact_delta([float(x) for x in p], [float(x) for x in q], math.log(multiple))
        assert got == pytest.approx(float(worst), rel=1e-12, abs=1e-15)
