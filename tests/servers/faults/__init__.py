"""Faults under load: what was acknowledged is stored, and the server works again."""
