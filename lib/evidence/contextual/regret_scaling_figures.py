"""The figures of ``notebooks/contextual/regret_scaling``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evidence import report
from evidence.contextual.regret_scaling import UNIFORM, Curve, Curves, Scaled

COLUMNS = ("family", "oracle", "log10_horizon", "regret_over_root", "regret_over_root_se")


def _families(data: Curves) -> list[str]:
    return list(dict.fromkeys(family for _, family in data))


def _line(ax, rows: report.Rows, family: str, name: str, curve: Curve, markers: int = 8) -> None:
    report.band(ax, 10**curve.x, curve.y, curve.se, key=name, markers=markers)
    values = dict(zip(COLUMNS[2:], curve, strict=True))
    rows.add(family=family, oracle=name, **values)


def _uniform(ax, family: str, ends: np.ndarray) -> None:
    ax.plot(ends, UNIFORM[family] * np.sqrt(ends), **report.series("uniform play"))


def _legend(fig, axes, ncol: int = 2) -> None:
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=ncol)


def draw_scaling(data: Curves, oracles: Iterable[str], *, log_horizons: Sequence[float], alpha: float) -> None:
    """Figure contextual-regret-scaling: worst regret over sqrt(T), a panel a family, up to the last horizon."""
    first, last = log_horizons[0], log_horizons[-1]
    ends = np.array([10**first, 10**last])
    families, rows = _families(data), report.Rows(*COLUMNS)
    fig, axes = report.panels(len(families), height=4.0)
    for ax, family in zip(axes, families, strict=True):
        for name in oracles:
            _line(ax, rows, family, name, data[name, family].within(first, last), markers=7)
        _uniform(ax, family, ends)
        top = 3 * max(rows["regret_over_root"])
        ax.set(xscale="log", yscale="log", xlabel="horizon T", ylim=(8, top), xlim=(0.6 * ends[0], 1.6 * ends[1]))
        ax.set_title(f"family “{family}”", loc="right")
    axes[0].set_ylabel("worst regret over r, divided by √T")
    _legend(fig, axes)
    report.publish(
        fig,
        "contextual-regret-scaling",
        rows,
        alt="Worst regret divided by the root of T against T from a million to ten to the 18, two panels. Corrected "
        "LPLR, in both forms, is flat; perturbed statistics and input perturbation rise; least squares is flat and "
        "lowest; the paper's LPLR with its own constants follows uniform play.",
        caption=f"Worst regret over the instances of a family, divided by $\\sqrt T$, at α = {alpha:g}. A flat line is "
        "$\\sqrt T$ regret; one that rises by a quarter of a decade per decade is $T^{3/4}$. The ε in force equals α "
        "for both forms of the corrected LPLR and for statistics and input perturbation; the other two LPLR have none "
        f"(Wishart noise), and least squares has no noise. {report.BAND_NOTE}",
    )


def draw_many_scales(
    data: Curves, scaled: Mapping[str, Scaled], *, log_horizons: Sequence[float], alpha: float, largest: int
) -> None:
    """Figure contextual-many-scales: the family "null" beside the one with many scales, at most ``largest``."""
    x, rows = np.array(log_horizons, dtype=float), report.Rows(*COLUMNS)
    root = 10 ** (x / 2)
    fig, axes = report.panels(2, height=3.9)
    for name in scaled:
        _line(axes[0], rows, "null", name, data[name, "null"].within(x[0]), markers=7)
    for name, found in scaled.items():
        _line(axes[1], rows, "scales", name, Curve(x, found.mean / root, found.se / root), markers=7)
    for ax, title in zip(axes, ("one scale (family “null”)", "many scales, worst J"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="horizon T")
        ax.set_title(title, loc="right")
    axes[0].set_ylabel("worst regret, divided by √T")
    _legend(fig, axes)
    report.publish(
        fig,
        "contextual-many-scales",
        rows,
        alt="Worst regret divided by the root of T against T, two panels. On one scale the corrected LPLR is flat; "
        "with many scales it rises by a factor of about three from ten to the 12 to ten to the 18. Perturbed "
        "statistics rise faster in both.",
        caption=f"What mixing scales costs, d = 2, α = {alpha:g} = ε in force for both. Left the family “null”, right "
        f"the worst number of scales up to {largest} for each T. {report.BAND_NOTE}",
    )


def draw_instances(profiles: Mapping[tuple[float, str], tuple[np.ndarray, np.ndarray]], alpha: float) -> None:
    """Figure contextual-regret-instances: regret against r at two horizons.

    ``profiles[log10 T, oracle]`` holds r (n,) and the regret of repeated runs (repetitions, n).
    """
    rows = report.Rows("log10_horizon", "oracle", "r", "regret_over_root", "regret_over_root_se")
    fig, axes = report.panels(2, height=3.9)
    for ax, log_horizon in zip(axes, dict.fromkeys(x for x, _ in profiles), strict=True):
        root = round(10**log_horizon) ** 0.5
        for (x, name), (values, regret) in profiles.items():
            if x == log_horizon:
                mean = regret.mean(axis=0) / root
                se = regret.std(axis=0, ddof=1) / len(regret) ** 0.5 / root
                report.band(ax, values, mean, se, key=name, markers=9)
                rows.add(log10_horizon=x, oracle=name, r=values, regret_over_root=mean, regret_over_root_se=se)
        ax.set(xscale="log", yscale="log", xlabel="r", ylim=(1, 4e6))
        ax.set_title(f"T = 10$^{{{log_horizon:g}}}$", loc="right")
    axes[0].set_ylabel("regret divided by √T")
    _legend(fig, axes)
    report.publish(
        fig,
        "contextual-regret-instances",
        rows,
        alt="Regret divided by the root of T against r at two horizons. Each curve rises in proportion to r and then "
        "falls. The peak of corrected LPLR and of least squares keeps its height, those of the perturbed methods are "
        "higher and further right, and grow.",
        caption=f"Regret against the instance parameter $r$, family “null”, α = {alpha:g}. Left of its peak an oracle "
        "never finds the gap, and the regret is that of uniform play; right of it the gap is found before the horizon. "
        f"The teeth are the doubling epochs. {report.BAND_NOTE}",
    )


def draw_own_constants(data: Curves, *, ends: tuple[float, float], alpha: float) -> None:
    """Figure contextual-regret-own-constants: the paper's constants, out to the longest horizon.

    ``ends`` are log10 of the first and the last horizon.
    """
    families, rows = _families(data), report.Rows(*COLUMNS)
    fig, axes = report.panels(len(families), height=3.3)
    for ax, family in zip(axes, families, strict=True):
        for name in ("lplr corrected rr", "lplr tuned", "lplr printed"):
            _line(ax, rows, family, name, data[name, family])
        _uniform(ax, family, 10 ** np.array(ends))
        ax.set(xscale="log", yscale="log", xlabel="horizon T", ylim=(1e2, 1e11))
        ax.set_title(f"family “{family}”", loc="right")
    axes[0].set_ylabel("worst regret over r, divided by √T")
    _legend(fig, axes)
    report.publish(
        fig,
        "contextual-regret-own-constants",
        rows,
        alt="Worst regret divided by the root of T against T up to ten to the 24 for three versions of LPLR. With the "
        "paper's own constants the curve follows uniform play to beyond ten to the 16 and then bends to a flat line.",
        caption="LPLR with the constants of the paper's lemmas, out to $T = 10^{24}$, beside the versions of "
        f"{{numref}}`fig-contextual-regret-scaling`. α = {alpha:g} for the corrected LPLR; no ε in force for the other "
        f"two (Wishart noise). {report.BAND_NOTE}",
    )
