"""What judges [Li2024]: its bounds, lower-bound constructions, audits of the messages."""
