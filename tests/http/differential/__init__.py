"""Answers on each database, compared with those that are worked out without it.

``pytest tests/differential --examples 5000`` tries as many random examples in each
test, others in each run. With ``-m slow``, random values of each type are tried.
An example that fails is printed with the line that repeats it.
"""
