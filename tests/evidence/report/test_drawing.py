"""The drawing code on fixed data, compared by pixels: ``pytest --mpl tests/evidence/report/test_drawing.py``.

After an intended change: ``pytest --mpl-generate-path=tests/evidence/report/baseline tests/evidence/report/test_drawing.py``.
"""

import numpy as np
import pytest

from evidence import report
from evidence.report.series import SERIES

COMPARE = dict(baseline_dir="baseline", style="default", backend="agg", tolerance=8, savefig_kwargs={"dpi": 60})
ROUNDS = np.arange(1, 101)


@pytest.mark.mpl_image_compare(**COMPARE)
def test_bands():
    report.style()
    fig, (ax,) = report.panels(1)
    for slope, key in enumerate(("non-private", "laplace", "gaussian", "bound corrected"), 1):
        se = None if key.startswith("bound") else 0.1 * np.sqrt(ROUNDS)
        report.band(ax, ROUNDS, slope * np.sqrt(ROUNDS), se, key=key)
    ax.set(xlabel="Round", ylabel="Regret")
    ax.legend()
    return fig


@pytest.mark.mpl_image_compare(**COMPARE)
def test_panels():
    report.style()
    fig, axes = report.panels(3)
    for power, ax in enumerate(axes, 1):
        report.band(ax, ROUNDS, (ROUNDS / 100) ** power, 0 * ROUNDS + 0.05, key="hybrid")
    return fig


@pytest.mark.mpl_image_compare(**COMPARE)
def test_every_series():
    report.style()
    fig, (ax,) = report.panels(1, height=8)
    for level, key in enumerate(SERIES):
        report.band(ax, ROUNDS, 0 * ROUNDS + level, key=key)
    ax.set(xlim=(0, 190), yticks=[])
    ax.legend(loc="center right", reverse=True, fontsize=7)
    return fig
