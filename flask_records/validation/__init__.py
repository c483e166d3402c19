"""Schemas of the data, the queries and the results of calls."""

from .options import MethodSchemas as MethodSchemas
from .options import schemas_of as schemas_of
from .schema import Beside as Beside
from .schema import DataSchema as DataSchema
from .schema import InvalidData as InvalidData
