"""What judges the experts' statements: regret bounds, exact transcripts, minimax games."""
