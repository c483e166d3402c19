"""Models of public packages, served as they are."""
