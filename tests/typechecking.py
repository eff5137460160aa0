"""The run-time type checker that the tests put on every function: beartype, for which an int is a float."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
