"""Serves the mapped classes of public packages, and tells what clients get.

Run ``python -m tests.public_models``, or with the names of some packages. Each is
installed in a Python environment of its own, and served on SQLite, and on PostgreSQL if
``TEST_POSTGRESQL_URL`` is set. It ends with an error if there is a fault that
``ALLOWED`` does not explain.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ..databases import new_database

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True)
class Package:
    """A public package that has mapped classes."""

    requirements: str
    modules: list[str]
    """The modules of its classes, and of those below, as far as they are imported."""


PACKAGES = {
    "sqlalchemy-utils": Package(
        "sqlalchemy-utils==0.43.0 arrow babel colour cryptography furl intervals"
        " passlib pendulum phonenumbers psycopg2-binary python-dateutil",
        ["types_of_sqlalchemy_utils"],
    ),
    "optuna": Package("optuna==5.0.0", ["optuna.storages._rdb.models"]),
    "jupyterhub": Package("jupyterhub==6.1.1", ["jupyterhub.orm"]),
    "aiida": Package(
        "aiida-core==2.9.4",
        [
            "aiida.storage.psql_dos.models.authinfo",
            "aiida.storage.psql_dos.models.comment",
            "aiida.storage.psql_dos.models.computer",
            "aiida.storage.psql_dos.models.group",
            "aiida.storage.psql_dos.models.log",
            "aiida.storage.psql_dos.models.node",
            "aiida.storage.psql_dos.models.settings",
            "aiida.storage.psql_dos.models.user",
        ],
    ),
    "prefect": Package("prefect==3.9.1", ["prefect.server.database.orm_models"]),
    "google-adk": Package("google-adk==2.13.0", ["google.adk.sessions.schemas.v1"]),
    "celery": Package(
        "celery==5.7.0 sqlalchemy==2.1.9", ["celery.backends.database.models"]
    ),
    "mlflow": Package(
        "mlflow-skinny[db]==3.17.2",
        [
            "mlflow.store.tracking.dbmodels.models",
            "mlflow.store.model_registry.dbmodels.models",
            "mlflow.store.db",
        ],
    ),
    "keystone": Package(
        "keystone==30.0.0",
        [
            "keystone.application_credential.backends.sql",
            "keystone.assignment.backends.sql",
            "keystone.catalog.backends.sql",
            "keystone.credential.backends.sql",
            "keystone.endpoint_policy.backends.sql",
            "keystone.federation.backends.sql",
            "keystone.identity.backends.sql_model",
            "keystone.limit.backends.sql",
            "keystone.oauth1.backends.sql",
            "keystone.policy.backends.sql",
            "keystone.resource.backends.sql_model",
            "keystone.revoke.backends.sql",
            "keystone.trust.backends.sql",
        ],
    ),
    "galaxy": Package("galaxy-data==26.1.2", ["galaxy.model"]),
    "glance": Package("glance==33.0.0", ["glance.db.sqlalchemy.models"]),
    "nova": Package("nova==34.0.0", ["nova.db.main.models"]),
    "flask-appbuilder": Package(
        "flask-appbuilder==5.3.0", ["flask_appbuilder.security.sqla.models"]
    ),
    "privacyidea": Package("privacyidea==3.14", ["privacyidea.models"]),
    "other-types": Package(
        "advanced-alchemy==1.12.0 fastapi-users-db-sqlalchemy==7.0.0 pgvector==0.5.1"
        " sqlalchemy-citext==1.8.0 sqlalchemy-json==0.7.0 sqlmodel==0.0.50"
        " cryptography passlib psycopg2-binary",
        ["types_of_other_packages"],
    ),
}
"""The packages, by name."""


@dataclass(frozen=True)
class Allowed:
    """A fault that is not one of ours."""

    kind: str
    text: str
    """A pattern of what is told of it."""

    reason: str


ALLOWED = [
    Allowed("400", "^is not (valid|text)$", "a type of the package takes no sample"),
    Allowed("400", "a rule of the database", "CHECK constraints of the package"),
    Allowed("400", "^A field is required", "a private column has no value"),
    Allowed("400", "fit its column", "a default of the package is of another type"),
    Allowed("400", "The data is not valid", "a constructor takes no sample"),
    Allowed("400", "has to be unique", "there is one record that samples refer to"),
    Allowed("409", "with this 'version_info_id'", "a CHECK constraint takes one key"),
    Allowed("wrong", "create whole labels_hash$", "a constructor computes it"),
    Allowed("other form", "", "a type of the package has one form for several values"),
    Allowed("refused", "has no SQL expression|another table", "hybrids in Python"),
    Allowed("refused", "identifies no record", "'id' is one of several key columns"),
    Allowed("refused", "gives back other values", "hashes"),
    Allowed("refused", "no form on the wire", "types that need a converter"),
    Allowed("refused", "no body can name", "arguments of constructors"),
    Allowed("no table", "", "columns of another database"),
]
"""The faults that are none of ours, which the table counts: refusals with the line to
write, samples that do not fit, and constructors of a package that raise.
"""


def main(names):
    """Serve packages, and print a table."""
    failed = False

    for name in names or PACKAGES:
        package = PACKAGES[name]

        with tempfile.TemporaryDirectory() as folder:
            python = installed(package, Path(folder))

            for url in ["sqlite://", os.environ.get("TEST_POSTGRESQL_URL")]:
                if url:
                    report = served(python, package, url, Path(folder, "report.json"))
                    failed = tell(name, url.partition(":")[0], report) or failed

    return failed


def installed(package, folder):
    """The Python of a new environment that has a package and the working copy."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    command = [python, "-m", "pip", "install", "--quiet", "psycopg[binary]"]
    requirements = package.requirements.split()
    subprocess.run([*command, "-e", ROOT, *requirements], check=True)
    return python


def served(python, package, url, path):
    """The report of ``serve.py`` on a new database."""
    with new_database(url) as empty:
        command = [python, HERE / "serve.py", empty, ",".join(package.modules), path]
        subprocess.run(command, check=True, cwd=path.parent)

    return json.loads(path.read_text())


def tell(name, database, report):
    """Print what a report says. Return ``True`` if there is a fault of ours."""
    counts, reasons, faults = report["counts"], Counter(), []

    for kind, about, text in report["findings"]:
        reason = next(
            (
                each.reason
                for each in ALLOWED
                if each.kind == kind
                and (re.search(each.text, text) or re.search(each.text, about))
            ),
            None,
        )

        if reason is None:
            faults.append((kind, about, text))
        else:
            reasons[f"{kind}, {reason}"] += 1

    kinds = Counter(kind for kind, _, _ in faults)
    told = ", ".join(f"{kinds[each]} {each}" for each in kinds) or "no faults"
    served = f"{counts.get('served', 0)} of {counts['classes']} served"
    print(f"{name} | {database} | {served} | {counts['requests']} requests | {told}")

    for reason, count in reasons.most_common():
        print(f"    {count:4} {reason}")

    for fault in faults:
        print("  !", " | ".join(fault))

    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
