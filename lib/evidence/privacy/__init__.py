"""Checks of a mechanism's privacy on the noise that its own sampler draws."""
