"""Answers on each database, compared with those that are worked out without it.

With ``HYPOTHESIS_PROFILE=slow`` in the environment, ten times as many random examples
are tried, others in each run. With ``-m slow``, random values of each type are tried.
"""
