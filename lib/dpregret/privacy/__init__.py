"""Privacy: mechanisms with their exact profiles, composition, continual counters and audits.

The *privacy profile* of a mechanism is ``delta(epsilon)``, the smallest delta for which it is (epsilon, delta)-private:
the largest hockey-stick divergence ``sup_A P(A) - exp(epsilon) Q(A)`` over adjacent inputs with output laws P, Q.
"""

from dpregret.privacy import audit, composition
from dpregret.privacy.audit import epsilon_lower_bound
from dpregret.privacy.continual import BinaryMechanism, HybridMechanism, LogarithmicMechanism
from dpregret.privacy.discrete import ExponentialMechanism, PermuteAndFlip, RandomizedResponse
from dpregret.privacy.mechanisms import Gaussian, Laplace
from dpregret.privacy.wishart import Wishart

__all__ = [
    "BinaryMechanism",
    "ExponentialMechanism",
    "Gaussian",
    "HybridMechanism",
    "Laplace",
    "LogarithmicMechanism",
    "PermuteAndFlip",
    "RandomizedResponse",
    "Wishart",
    "audit",
    "composition",
    "epsilon_lower_bound",
]
