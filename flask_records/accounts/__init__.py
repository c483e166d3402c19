"""Accounts: what users confirm and change by mail."""

from .account_management import AccountManagement as AccountManagement
from .mailed_tokens import Mail as Mail
from .mailed_tokens import print_mail as print_mail
