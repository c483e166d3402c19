"""Accounts: what users confirm and change by mail."""

from .account_management import AccountManagement
from .mailed_tokens import Mail, print_mail

__all__ = ["AccountManagement", "Mail", "print_mail"]
