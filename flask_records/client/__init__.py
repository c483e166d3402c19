"""The part of clients in Python that is the same for all applications. ``flask records
types --lang py`` copies its modules, so that clients need nothing of the server.
"""
