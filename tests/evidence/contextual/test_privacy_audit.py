"""Tables and verdicts of the privacy audit, on both sides of each rule."""

import math

import pytest

from evidence.contextual import privacy_audit as audit
from evidence.contextual.audit import Message
from evidence.contextual.message_costs import replacement_costs

PRIVATE = audit.Drawn(1.0, 1.0)
AS_PRINTED = audit.Drawn(4 / 3, 2.0)


def rows_of(table):
    return [[cell.strip() for cell in line.split(" | ")] for line in table.data[2:-2].split(" |\n| ")]


def words(cards):
    return [card.verdict for card in cards]


def test_what_is_drawn_is_read_off_the_messages():
    messages = (Message("wishart", math.inf, 2.0), Message("wishart", math.inf, 9.0), Message("laplace", 3.0, 3.0),
                Message("laplace", 2.5, 2.5))  # fmt: skip
    assert audit.Drawn.of(messages, 0.5) == (4.0, 6.0)


def wishart(alpha=1.0, certified=0.1, inside=True):
    return audit.wishart(alpha, shown=0.7, largest_dimension=8, certified=certified, inside=inside)


def test_the_wishart_step_fails_whatever_was_simulated():
    assert wishart().verdict == wishart(certified=0.0, inside=False).verdict == "fails"
    assert wishart().observed.startswith(f"probability {1 - math.exp(-1 / 9):.8f} under the empty record at α = 1")


def test_the_card_on_the_wishart_step_says_what_was_simulated():
    assert "certified δ > 0 at α = 0.7" in wishart().margin and "certified" not in wishart(certified=0.0).margin
    assert wishart().observed.endswith("and inside the joint intervals")
    assert wishart(inside=False).observed.endswith("and not inside the joint intervals")


def test_a_step_that_excludes_nothing_would_not_fail():
    assert wishart(alpha=0.0).verdict == "consistent"


def test_counts_and_rewards_fail_only_if_the_sampler_draws_so_little_noise(monkeypatch):
    assert audit.counts_and_rewards(AS_PRINTED).verdict == "fails"
    assert audit.counts_and_rewards(PRIVATE).verdict == "holds"
    monkeypatch.setattr(audit, "first_layer_cost", lambda bound: 1)
    assert audit.counts_and_rewards(AS_PRINTED).verdict == "holds"


@pytest.mark.parametrize(
    ("cost", "drawn", "expected"),
    [
        (2, 2.0, ["fails", "holds corrected"]),
        (1, 1.0, ["holds", "holds corrected"]),
        (2, 1.0, ["holds", "holds corrected"]),
        (3, 3.0, ["fails", "fails"]),
        (2, 2.1, ["fails", "fails"]),
    ],
)
def test_intervals_fail_above_alpha_and_hold_up_to_a_constant(cost, drawn, expected, monkeypatch):
    monkeypatch.setattr(audit, "INTERVAL_COST", cost)
    assert words(audit.intervals(audit.Drawn(1.0, drawn))) == expected


def test_intervals_as_they_are():
    printed, constant = audit.intervals(AS_PRINTED)
    assert (printed.reading, constant.reading) == ("printed", "up to a constant")
    assert printed.observed.startswith("2 α;")


@pytest.mark.parametrize(("ratios", "expected"), [([1.9, 2.0], "holds corrected"), ([2.0, 2.01], "fails")])
def test_two_oracles_cost_twice_alpha_and_no_more(ratios, expected):
    printed, constant = audit.two_oracles([0.1, 0.5], ratios)
    assert printed.verdict == "fails" and printed.observed.startswith("log-ratio 2 α at α = 0.5")
    assert constant.verdict == expected and f"{max(ratios):.6f}" in constant.observed


@pytest.mark.parametrize(
    ("worst", "sampled", "expected"),
    [
        ({(2, 0.5): 0.5, (8, 1.0): 1.0}, [1.0], "holds"),
        ({(2, 0.5): 0.5, (8, 1.0): 1.01}, [1.0], "fails"),
        ({(2, 0.5): 0.49, (8, 1.0): 1.0}, [1.0], "fails"),  # the bits are claimed to reach alpha
        ({(2, 0.5): 0.5}, [0.9, 1.001], "fails"),
    ],
)
def test_the_corrected_message_costs_alpha(worst, sampled, expected):
    card = audit.corrected(worst, sampled)
    assert card.verdict == expected and f"up to {max(n for n, _ in worst)} action-bin" in card.check


def test_the_table_of_costs():
    head, rule, *rows = rows_of(audit.cost_table(replacement_costs(2), 2))
    assert head[-3:] == ["add or remove", "replace, same bin", "other bin"] and set(rule) == {"---"}
    assert rows[0][1:] == ["1/3", "0.3333", "0.0000", "0.6667"]
    assert rows[-1] == ["Algorithm 5, later layers", "1", "1.0000", "1.0000", "2.0000"]


def test_the_tables_of_the_residual_reward():
    costs, tails = audit.residual_tables((0, 10), (1,), (1, 4), 0.5)
    assert [row[1] for row in rows_of(costs)[2:]] == ["0.6667", "7.3333"]
    scale = 6 * math.sqrt(2)
    assert rows_of(tails)[2] == ["1", *(f"{-bound / scale / math.log(10):.2f}" for bound in (1, 4))]
    assert rows_of(tails)[0][2].endswith("> 4)$")


def test_the_tables_of_reports_and_of_messages():
    reports = rows_of(audit.report_table({0.5: 0.5}, {(2, 0.5): 1.0, (3, 0.5): 1.25}))
    assert reports[0][2:] == ["all oracles, $A = 2$", "all oracles, $A = 3$"]
    assert reports[2] == ["0.5", "0.500000", "1.000000", "1.250000"]
    messages = rows_of(audit.message_table({(2, 0.5): 0.5, (2, 1.0): 1.1, (4, 0.5): 0.4, (4, 1.0): 1.0}))
    assert messages[2] == ["2", "1.0000000000", f"{math.exp(0.1):.10f}"]
    assert messages[3] == ["4", f"{math.exp(-0.1):.10f}", "1.0000000000"]
