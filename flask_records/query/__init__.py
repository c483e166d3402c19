"""From a query to an SQL expression: data in, expression out."""

from .converters import Converter as Converter
from .exact_numeric import ExactNumeric as ExactNumeric
from .field import Field as Field
from .field_options import FieldOptions as FieldOptions
from .field_rules import FieldRules as FieldRules
from .fields import Fields as Fields
from .matching import Matching as Matching
from .operators import Operator as Operator
from .restriction import names_in as names_in
from .restriction import restrict as restrict
from .syntax import Query as Query
from .syntax import Syntax as Syntax
from .user_rules import condition_of as condition_of
from .user_rules import FromUser as FromUser
from .user_rules import NO_RECORD as NO_RECORD
from .user_rules import rule_of as rule_of
from .user_rules import UserRule as UserRule
