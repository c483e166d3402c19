"""Numbers of random examples."""

from hypothesis import HealthCheck, settings

MANY = settings(suppress_health_check=list(HealthCheck), print_blob=True)
"""As many as the profile of hypothesis has."""

FEW = settings(MANY, max_examples=settings().max_examples // 10)
"""Fewer, for what is tried with each type of columns."""
