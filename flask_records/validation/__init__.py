"""Schemas of the data, the queries and the results of calls."""

from .schema import DataSchema as DataSchema
from .schema import InvalidData as InvalidData
from .schema import MethodSchemas as MethodSchemas
from .schema import schemas_of as schemas_of
