"""An explorer of the models and services of each page of the documentation."""

import contextvars
import os
import sys
import tempfile
import types

from flask import Flask, jsonify
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from flask_records import FlaskRecords, SQLAlchemyService
from flask_records.explorer import Explorer
from flask_records.names import METHODS

from .http import test_docs

FOLDER = tempfile.TemporaryDirectory()
"""The folder of the databases, which is gone when the process ends."""


def create_app():
    """Return a WSGI application with an explorer for each page that has models, below
    the name of the page, and a list of their names and services at ``/rooms``.
    """
    os.chdir(FOLDER.name)
    pages = [page for page in test_docs.PAGES if "(Base):" in page.read_text()]
    modules = {page.stem: module_of(page) for page in pages}
    services = {name: services_of(module) for name, module in modules.items()}
    apps = {name: app_of(name, modules[name], services[name]) for name in modules}
    index = Flask("index")
    listed = {name: [*each] for name, each in services.items()}
    index.add_url_rule("/rooms", view_func=lambda: jsonify(listed))
    mounts = {f"/{name}": app for name, app in apps.items()}
    return DispatcherMiddleware(index, mounts)


def module_of(page):
    """Return a module in which the Python of a page has run, after ``docs/app.py``."""
    module = sys.modules["app"] = types.ModuleType("app")
    exec(test_docs.APP, module.__dict__)
    module.shared = models_of(module)
    contextvars.copy_context().run(run_python, page, module)
    return module


def models_of(module):
    models = [mapper.class_ for mapper in module.Base.registry.mappers]
    return sorted(models, key=lambda model: model.__name__)


def run_python(page, module):
    for block in test_docs.blocks_of(page):
        if block.language == "python" and block.mark != "no-run":
            test_docs.run_python(block, module)


def services_of(module):
    """Return the services of a page that everybody may use, and one for each other
    model of the page.
    """
    extensions = {each for each in vars(module).values() if type(each) is FlaskRecords}
    services = {
        path: service.target
        for each in extensions
        for path, service in each.services.items()
        if {*METHODS} <= {*service.public} & {*service.methods}
        if isinstance(service.target, SQLAlchemyService)
        if service.target.model in models_of(module)
    }
    served = {*module.shared} | {service.model for service in services.values()}
    others = [model for model in models_of(module) if model not in served]
    return services | {each.__name__: SQLAlchemyService(each) for each in others}


def app_of(name, module, services):
    app = Flask(name)
    app.config["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{os.getcwd()}/{name}.db"
    app.config["RECORDS_EXPLORER"] = {"enabled": True}
    records = FlaskRecords()

    for path, service in services.items():
        records.add(path, service, public=True)

    module.db.init_app(app)
    records.init_app(app)
    Explorer(records, app)

    with app.app_context():
        module.db.create_all()

    return app
