"""What the lists reveal: counts of the order events, certified bounds, and the cards on Theorem 1 and Lemma 2."""

import csv
import math

import numpy as np
import pytest

from dpregret.cascading import HybridDP, LaplaceLDP
from dpregret.privacy.audit import lower_limit
from dpregret.privacy.continual import BinaryMechanism, HybridMechanism
from evidence.cascading import audit, list_leaks, stream_privacy
from evidence.cascading.list_leaks import Hits

INSTANCE = dict(n_items=6, list_length=3, horizon=1000)


def test_no_event_occurs_on_d_and_many_do_on_d_prime():
    policy = HybridDP(epsilon=0.2, c1=1.0)
    first, second = list_leaks.count_both(policy, round=10, runs=60, seed=1, key=("made up",), **INSTANCE)
    assert first == (0, 0, 60)
    assert second.either >= second.swapped > 0 and second.either > 20
    assert second == list_leaks.count_both(policy, round=10, runs=60, seed=1, key=("made up",), **INSTANCE)[1]


def test_the_counts_are_those_of_the_order_events():
    setting = dict(INSTANCE, round=8, attracted=False, runs=40)
    policy = LaplaceLDP(epsilon=1.0)
    swapped, replaced = audit.order_events(audit.probe(policy, rng=np.random.default_rng(3), **setting))
    found = list_leaks.count(policy, rng=np.random.default_rng(3), **setting)
    assert found == (sum(swapped), sum(a or b for a, b in zip(swapped, replaced, strict=True)), 40)


def test_a_share_of_none_or_all_of_the_runs_has_a_standard_error():
    assert list_leaks.share(0, 98) == pytest.approx((0.0, math.sqrt(0.01 * 0.99 / 98)))
    assert list_leaks.share(98, 98) == pytest.approx((1.0, math.sqrt(0.01 * 0.99 / 98)))


def test_the_certificate_takes_its_delta_from_d_prime_alone():
    found = list_leaks.certify(Hits(10, 90, 100), Hits(0, 0, 100), epsilon=0.2, confidence=0.95)
    assert found.delta == pytest.approx(lower_limit(90, 100, confidence=0.95))
    assert found.delta > found.sampled_delta > 0 and found.epsilon > 2
    same = list_leaks.certify(Hits(10, 50, 100), Hits(10, 50, 100), epsilon=0.2, confidence=0.95)
    assert same.epsilon == same.sampled_delta == 0.0
    lines = list_leaks.certificate_lines(found, Hits(10, 90, 100), Hits(0, 0, 100), epsilon=0.2)
    assert lines[0] == "  D: 0 events;  D': ≈ 0.900 of the runs" and len(lines) == 3


def test_the_limits_of_the_grid_are_valid_together():
    hits = {("A", 1.0, 10): Hits(1, 5, 10), ("A", 2.0, 10): Hits(1, 9, 10)}
    found = list_leaks.certified_deltas(hits, 0.9)
    assert found == {key: lower_limit(one.either, 10, confidence=0.95) for key, one in hits.items()}
    rows = list_leaks.hits_table(hits, found).data.splitlines()
    assert len(rows) == 4 and rows[2].startswith("| A | 1 | ≈ 0.500 | ≈ 0.2")
    variants = list_leaks.variants_table({"B": [(Hits(0, 2, 10), Hits(1, 5, 10))]}, epsilon=1.0, rounds=[10])
    assert variants.data.splitlines()[-1] == "| B | ≈ 0.50 ± 0.16 | 2 |"


def test_the_figure_has_a_row_an_algorithm_epsilon_and_round(tmp_path, monkeypatch):
    monkeypatch.setenv("DPREGRET_FIGURES", str(tmp_path))
    hits = {(name, eps, t0): Hits(1, t0, 100) for name in "AB" for eps in (0.5, 2.0) for t0 in (10, 50)}
    list_leaks.draw(hits, about="made up")
    rows = list(csv.DictReader((tmp_path / "cascading-audit-lists.csv").open()))
    assert list(rows[0]) == ["algorithm", "epsilon", "round", "either", "either_se", "swapped", "swapped_se"]
    assert [(row["algorithm"], row["round"], row["either"]) for row in rows[3:5]] == [
        ("A", "50", "0.5"),
        ("B", "10", "0.1"),
    ]


def test_the_loss_of_one_bit_is_the_budget_at_most():
    assert stream_privacy.largest_loss(HybridMechanism(epsilon=1.0), 64) == pytest.approx(1.0)
    tree = BinaryMechanism(epsilon=1.0, horizon=8)
    levels = {part for n in range(1, 9) for part in tree.p_sums(n)}
    direct = max(sum(1 / p.scale for p in levels if p.start < i <= p.stop) for i in range(1, 9))
    assert stream_privacy.largest_loss(tree, 8) == pytest.approx(direct)


CERTIFICATE = list_leaks.Certificate(delta=0.5, epsilon=4.0, sampled_delta=0.4)
FOUND = stream_privacy.Findings(
    CERTIFICATE, events_under_d=0, least=0.1, course=math.inf, loss=1.0, raw_delta=1.0, first_list=math.inf
)
AT = dict(epsilon=0.2, epsilons=[0.2, 1.0], t0=10, about="made up")


def words(**changed):
    found = FOUND._replace(**changed)
    cards = [*stream_privacy.theorem_1_cards(found, **AT), *stream_privacy.lemma_2_cards(found, epsilon=0.2)]
    return [card.verdict for card in cards]


def test_theorem_1_and_lemma_2_fail_for_any_two_databases_and_need_correction_otherwise():
    assert words() == ["fails", "holds corrected", "fails", "holds corrected"]


@pytest.mark.parametrize(
    "changed",
    [
        {"events_under_d": 1},
        {"least": 0.0},
        {"course": 0.2},
        {"certificate": CERTIFICATE._replace(epsilon=0.1)},
    ],
)
def test_a_refutation_needs_all_of_its_parts(changed):
    assert words(**changed) == ["open", "holds corrected", "open", "holds corrected"]


def test_a_loss_above_the_budget_refutes_the_counters_and_not_the_lemma():
    assert words(loss=1.1) == ["fails", "fails", "open", "holds corrected"]


def test_a_hidden_user_0_needs_no_correction():
    assert words(raw_delta=0.0, first_list=0.0) == ["fails", "holds", "fails", "holds"]
