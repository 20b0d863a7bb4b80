"""The privacy of the contextual oracles' own samplers, and broken twins that the same check must refuse."""

import dataclasses
import math

import numpy as np
import pytest

from dpregret import contextual
from dpregret.contextual import LPLR, CorrectedLPLR, InputPerturbation, LeastSquares, PerturbedStatistics, kernels
from evidence.contextual.audit import Message, message_epsilon

ALPHA = 0.7
BITS, LAPLACE = CorrectedLPLR(alpha=ALPHA), CorrectedLPLR("laplace", alpha=ALPHA)
STATISTICS, INPUTS = PerturbedStatistics(alpha=ALPHA), InputPerturbation(alpha=ALPHA)
PRIVATE = [BITS, LAPLACE, CorrectedLPLR("laplace", alpha=ALPHA, beta=0.1), STATISTICS, INPUTS]
PRINTED, ALL = LPLR(alpha=ALPHA), LPLR("all", alpha=ALPHA)
ADDITIVE = PRIVATE[1:]


def name(oracle):
    return "-".join([type(oracle).__name__, *(str(getattr(oracle, k)) for k in ("mechanism",) if hasattr(oracle, k))])


def holds(oracle, dimension=2):
    """What the card says: what a user sends is at most at alpha."""
    return message_epsilon(oracle, dimension=dimension).epsilon <= oracle.alpha * (1 + 1e-9)


def twin(oracle, **methods):
    """The oracle with some of its methods replaced."""
    kind = dataclasses.dataclass(frozen=True, repr=False)(type("Twin", (type(oracle),), methods))
    return kind(**{field.name: getattr(oracle, field.name) for field in dataclasses.fields(oracle)})


def through(oracle, **changes):
    """A twin whose batch answers some questions otherwise: ``change(batch, original, *arguments)``."""
    kind = type(oracle)

    class Other:
        def __init__(self, batch):
            object.__setattr__(self, "batch", batch)

        def __setattr__(self, key, value):
            setattr(self.batch, key, value)

        def __getattr__(self, key):
            original = getattr(self.batch, key)
            if key not in changes:
                return original
            return lambda *arguments: changes[key](self.batch, original, *arguments)

    return twin(oracle, fit=lambda self, batch, **keys: kind.fit(self, Other(batch), **keys))


# --- the originals


@pytest.mark.parametrize("alpha", [0.05, 0.7, 1.0])
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("oracle", PRIVATE, ids=name)
def test_the_original_holds_and_states_what_is_drawn(oracle, dimension, alpha):
    oracle = dataclasses.replace(oracle, alpha=alpha)
    found = message_epsilon(oracle, dimension=dimension)
    assert holds(oracle, dimension) and found.reason == ""
    assert found.epsilon == pytest.approx(alpha, rel=1e-12, abs=0)
    for stated in (oracle.value_epsilon(), oracle.effective_epsilon()):
        assert stated == pytest.approx(alpha, rel=1e-12, abs=0)


@pytest.mark.parametrize("oracle", PRIVATE[:3], ids=name)
def test_messages_of_both_layers_reach_alpha(oracle):
    """In two dimensions l, L of both layers and the carried error; so that a thin noise on any of them shows."""
    messages = message_epsilon(oracle).messages
    kinds = {"randomized_response": ("bits", 8), "laplace": ("laplace", 3)}
    assert [m.kind for m in messages] == [kinds[oracle.mechanism][0]] * kinds[oracle.mechanism][1]
    for message in messages:
        assert message.epsilon == pytest.approx(ALPHA, rel=1e-4, abs=0)


def test_printed_and_raw_oracles_state_and_show_infinity():
    for oracle, kind in ((PRINTED, "Wishart"), (ALL, "Wishart"), (LeastSquares(), "without fresh noise")):
        found = message_epsilon(oracle)
        assert found.epsilon == oracle.value_epsilon() == oracle.effective_epsilon() == math.inf
        assert kind in found.reason


def test_laplace_parts_of_the_printed_algorithm():
    """Layer 1: count 2 alpha/3 and y phi 2 alpha/3 between two bins; the carried error 2 alpha on layer 2."""
    for oracle in (PRINTED, ALL):
        first = message_epsilon(oracle).messages[0]
        assert first.kind == "wishart" and first.laplace == pytest.approx(4 * ALPHA / 3, rel=1e-12, abs=0)
    carried = message_epsilon(ALL).messages[3]
    assert carried.kind == "laplace" and carried.epsilon == pytest.approx(2 * ALPHA, rel=1e-4, abs=0)


# --- thin noise


def thin(oracle, method, factor=0.5):
    """A twin whose scale function gives ``factor`` times the scales."""

    def scaled(self, *arguments):
        scales = getattr(type(oracle), method)(self, *arguments)
        return tuple(factor * s for s in scales) if isinstance(scales, tuple) else factor * scales

    return twin(oracle, **{method: scaled})


def one_part(oracle, part):
    """A twin with half of the noise on l (part 0) or on L (part 1) alone."""

    def scales(self, *arguments):
        made = list(type(oracle).scales(self, *arguments))
        made[part] = made[part] / 2
        return tuple(made)

    return twin(oracle, scales=scales)


THIN = [
    *((f"{kind}-{part}", one_part(oracle, i), 1.5) for kind, oracle in (("layers", LAPLACE), ("sums", ADDITIVE[2]))
      for i, part in enumerate(("l", "L"))),
    ("layers", thin(LAPLACE, "scales"), 2.0),
    ("carried", thin(LAPLACE, "carried_scale"), 2.0),
    ("sums", thin(STATISTICS, "scales"), 2.0),
    ("inputs", thin(INPUTS, "scale"), 2.0),
    ("bits", twin(BITS, bias=property(lambda self: math.tanh(self.alpha))), 2.0),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "factor"), [row[1:] for row in THIN], ids=[row[0] for row in THIN])
def test_thin_noise_fails_and_the_oracle_says_so(broken, factor):
    assert not holds(broken)
    found = message_epsilon(broken).epsilon
    assert found == pytest.approx(factor * ALPHA, rel=1e-4, abs=0)
    for stated in (broken.value_epsilon(), broken.effective_epsilon()):
        assert stated == pytest.approx(factor * ALPHA, rel=1e-12, abs=0)


def test_noise_that_forgets_the_earlier_prediction_fails():
    """The scale for rewards within 1, where a reward less its prediction can be 2: alpha/2 is alpha for l."""
    forgets = twin(LAPLACE, scales=lambda self, d, bound: type(LAPLACE).scales(
        self, d, np.minimum(bound, 1.0)))  # fmt: skip
    assert not holds(forgets)
    assert forgets.effective_epsilon() == pytest.approx(1.5 * ALPHA, rel=1e-12, abs=0)


@pytest.mark.parametrize("oracle", ADDITIVE, ids=name)
def test_thin_noise_behind_the_oracles_back_fails(oracle):
    """The batch is asked for half of the noise, whatever the scale functions say."""

    def half(batch, original, rng, users, scale):
        return original(rng, users, np.asarray(scale) / 2)

    broken = through(oracle, laplace_sums=half, input_sums=lambda b, o, rng, users, scale: o(rng, users, scale / 2))
    assert not holds(broken)
    assert message_epsilon(broken).epsilon == pytest.approx(2 * ALPHA, rel=1e-12, abs=0)
    assert broken.effective_epsilon() == pytest.approx(ALPHA, rel=1e-12, abs=0)


@pytest.mark.parametrize("oracle", ADDITIVE[:3], ids=name)
def test_noise_halved_after_it_was_drawn_fails(oracle):
    broken = through(oracle, laplace_sums=lambda batch, original, *arguments: original(*arguments) / 2)
    found = message_epsilon(broken)
    assert found.epsilon == math.inf and "more than the messages" in found.reason and not holds(broken)


def test_a_loop_that_draws_half_of_the_noise_fails(monkeypatch):
    for loop, oracles in (("add_laplace", ADDITIVE[:3]), ("add_inputs", ADDITIVE[3:]), ("add_bits", [BITS])):
        original = getattr(kernels, loop).py_func

        def half(rng, *arguments, original=original, loop=loop):
            arguments = list(arguments)
            place = {"add_laplace": 1, "add_inputs": 3, "add_bits": 4}[loop]
            arguments[place] = arguments[place] * (1.9 if loop == "add_bits" else 0.5)
            return original(rng, *arguments)

        monkeypatch.setattr(kernels, loop, half)
        assert not any(holds(oracle) for oracle in oracles)
        monkeypatch.undo()


def test_a_third_of_the_printed_noise_shows_in_its_laplace_part():
    broken = message_epsilon(thin(ALL, "scales", 1 / 3))
    assert broken.messages[0].laplace == pytest.approx(4 * ALPHA, rel=1e-12, abs=0)
    assert broken.messages[0].laplace > 4 * ALPHA / 3 * (1 + 1e-9)


# --- leaks


@pytest.mark.parametrize("oracle", ADDITIVE, ids=name)
def test_raw_values_fail(oracle):
    """Values whose noise is not drawn, and a statistic that is read beside the noisy values."""
    if not isinstance(oracle, InputPerturbation):
        broken = through(oracle, laplace_sums=lambda batch, original, rng, users, scale: np.zeros(np.shape(scale)))
        found = message_epsilon(broken)
        assert found.epsilon == math.inf and "without fresh noise" in found.reason and not holds(broken)
    kind = type(oracle)

    def fit(self, batch, *, rng, **keys):
        estimate = kind.fit(self, batch, rng=rng, **keys)
        ones = np.ones((len(batch.features), 2, 1))
        batch.users_left = batch.n
        batch.record_sums(rng, 1, ones, batch.actions, batch.n_actions)
        return estimate

    broken = twin(oracle, fit=fit)
    found = message_epsilon(broken)
    assert found.messages[-1][:2] == Message("raw", math.inf, 0.0)[:2] and not holds(broken)


@pytest.mark.parametrize("oracle", PRIVATE, ids=name)
def test_an_estimate_that_reads_the_law_of_the_users_fails(oracle):
    kind = type(oracle)

    def fit(self, batch, **keys):
        estimate = kind.fit(self, batch, **keys)
        estimate.values = estimate.values + batch.means
        return estimate

    found = message_epsilon(twin(oracle, fit=fit))
    assert found.epsilon == math.inf and "more than the messages" in found.reason


def test_a_certain_bit_fails():
    broken = twin(BITS, bias=1.0)
    assert message_epsilon(broken).epsilon == math.inf == broken.effective_epsilon()
    unscaled = through(BITS, bit_sums=lambda batch, original, rng, users, values, *rest: original(
        rng, users, 3 * values, *rest))  # fmt: skip
    assert not holds(unscaled)


# --- noise that is used again


@pytest.mark.parametrize("oracle", PRIVATE, ids=name)
def test_a_seed_that_is_used_again_fails(oracle):
    kind = type(oracle)
    broken = twin(oracle, fit=lambda self, batch, *, rng, **keys: kind.fit(
        self, batch, rng=np.random.default_rng(7), **keys))  # fmt: skip
    found = message_epsilon(broken)
    assert found.epsilon == math.inf and "a seed may be used again" in found.reason and not holds(broken)


@pytest.mark.parametrize("oracle", [LAPLACE], ids=name)
def test_one_noise_for_two_messages_fails(oracle):
    kept = []

    def once(batch, original, rng, users, scale):
        if not kept:
            kept.append(original(rng, users, scale))
        return np.resize(kept[0], np.shape(scale))

    found = message_epsilon(through(oracle, laplace_sums=once))
    assert found.epsilon == math.inf and "without fresh noise" in found.reason


def test_users_who_share_their_noise_fail(monkeypatch):
    def add_laplace(rng, users, scale, total):
        total += users * np.array([rng.laplace(0.0, b) for b in scale])

    def add_bits(rng, records, values, slots, n_slots, bias):
        return len(records) * kernels_bits(rng, records[:1], values, slots, n_slots, bias)

    def add_inputs(rng, counts, users, features, scale, second, cross):
        kernels_inputs(rng, counts, 1, features, scale, second, cross)

    kernels_bits, kernels_inputs = kernels.add_bits.py_func, kernels.add_inputs.py_func
    for loop in (add_laplace, add_bits, add_inputs):
        monkeypatch.setattr(kernels, loop.__name__, loop)
    for oracle in PRIVATE:
        found = message_epsilon(oracle)
        assert found.epsilon == math.inf and "users share their noise" in found.reason and not holds(oracle)


def test_an_oracle_that_draws_by_itself_is_refused():
    def fit(self, batch, *, rng, **keys):
        return rng.normal()

    with pytest.raises(ValueError, match="to the batch, got rng"):
        message_epsilon(twin(BITS, fit=fit))


# --- results


def test_both_numbers_are_stamped_on_results():
    problem = contextual.two_direction_problem(0.5)
    arguments = dict(horizon=5000, seed=1, n_0=500)
    for oracle in (*PRIVATE, PRINTED, LeastSquares(), thin(LAPLACE, "scales")):
        result = contextual.simulate(oracle, problem, **arguments)
        assert result.value_epsilon == oracle.value_epsilon()
        assert result.effective_epsilon == oracle.effective_epsilon()
        assert result.alpha == (math.inf if isinstance(oracle, LeastSquares) else ALPHA)

    class Silent:
        fit = staticmethod(lambda batch, **keys: LeastSquares().fit(batch, **keys))

    result = contextual.simulate(Silent(), problem, **arguments)
    assert result.value_epsilon == result.effective_epsilon == result.alpha == math.inf
