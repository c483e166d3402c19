"""A new database on a server, whose URL is printed, and which ends with the input."""

import sys

from tests.databases import new_database

if __name__ == "__main__":
    with new_database(sys.argv[1]) as url:
        print(url, flush=True)
        sys.stdin.read()
