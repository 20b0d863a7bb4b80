"""What judges the statements on private empirical risk minimisation: audits of the selectors."""
