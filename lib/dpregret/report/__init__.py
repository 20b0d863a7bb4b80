"""Verdict cards, marked numbers and figures: what the notebooks show, and what the build reads back from them."""

from dpregret.report.claims import Card, collect, verdict
from dpregret.report.figures import BAND_NOTE, band, panels, publish
from dpregret.report.numbers import MARKED, approx, glue, mean_se
from dpregret.report.register import Claim, Fault, Register, expected, load_register, load_registers
from dpregret.report.series import register_series, series, style

__all__ = [
    "BAND_NOTE",
    "MARKED",
    "Card",
    "Claim",
    "Fault",
    "Register",
    "approx",
    "band",
    "collect",
    "expected",
    "glue",
    "load_register",
    "load_registers",
    "mean_se",
    "panels",
    "publish",
    "register_series",
    "series",
    "style",
    "verdict",
]
