"""Answers on each database, compared with those that are worked out without it."""
