"""The messages that people read when a login at the provider of a test fails."""

SILENT = "Fake is not responding. Try again later."

INVALID = "Fake sent an invalid response. Try again later."

REFUSED = (
    "Fake refused the login. Try again, and tell the owner of this site if it happens"
    " again."
)

FAILED = "The login failed because of an error of this site. Try again later."

DENIED = "The login was cancelled."

LOST = "The login took too long, or began in another browser. Try again."

EMAIL_TAKEN = (
    "There is a user with this email already. Log in as this user, then connect Fake."
)
