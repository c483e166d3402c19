"""From a query to an SQL expression: data in, expression out."""

from .converters import Converter as Converter
from .field import Field as Field
from .fields import FieldOptions as FieldOptions
from .fields import Fields as Fields
from .matching import Matching as Matching
from .operators import Operator as Operator
from .operators import Syntax as Syntax
from .rules import Change as Change
from .rules import FieldRules as FieldRules
from .rules import FromRecord as FromRecord
from .rules import FromUser as FromUser
from .scope import Scope as Scope
