"""From a query to an SQL expression: data in, expression out."""

from .field import Field as Field
from .fields import FieldOptions as FieldOptions
from .fields import Fields as Fields
from .matching import Matching as Matching
from .operators import Operator as Operator
from .operators import Syntax as Syntax
from .rules import both as both
from .rules import condition_of as condition_of
from .rules import FieldRules as FieldRules
from .rules import FromUser as FromUser
from .rules import names_in as names_in
from .rules import NO_RECORD as NO_RECORD
from .rules import restrict as restrict
from .rules import rule_of as rule_of
from .rules import UserRule as UserRule
from .scope import Scope as Scope
from .values import Converter as Converter
