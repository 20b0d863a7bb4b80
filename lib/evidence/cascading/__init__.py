"""What judges [Wang2021]: its bounds and lemmas, audits of the policies, exact games."""
