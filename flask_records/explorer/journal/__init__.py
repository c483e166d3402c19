"""The last calls of an application, for its developers."""
