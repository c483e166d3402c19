"""A page on which developers see, query and change the records of an application."""

from .extension import Explorer as Explorer
