"""Privacy: mechanisms with their exact profiles, composition, continual counters and audits.

The *privacy profile* of a mechanism is ``delta(epsilon)``, the smallest delta for which it is (epsilon, delta)-private:
the largest hockey-stick divergence ``sup_A P(A) - exp(epsilon) Q(A)`` over adjacent inputs with output laws P, Q.
"""
