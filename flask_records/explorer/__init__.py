"""A page on which developers see, query and change the records of an application."""

from .page import Explorer

__all__ = ["Explorer"]
