"""Beginnings: a server of an existing database, and a new application."""
