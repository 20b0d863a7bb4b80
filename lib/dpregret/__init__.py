"""Private Regret: the algorithms of three texts on privacy and regret, and the checks of their claims.

Imports run one way: ``privacy`` and ``simulation``, then the packages of the papers, then ``report``.
"""

__version__ = "0.1.0"
