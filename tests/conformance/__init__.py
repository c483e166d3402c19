"""The reference application of the conformance kit, served by Flask-Records."""
