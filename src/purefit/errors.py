"""The one exception for a user's mistake.

Everything that a user can get wrong (a file, a label, an option) raises `InputError` with one line that
names the place and says what to do. The command prints that line and exits with code 2.
"""


class InputError(Exception):
    """Something the user gave cannot be used.

    >>> raise InputError("digits.npz: no array named 'y'; found 'x', 'labels'")
    Traceback (most recent call last):
    purefit.errors.InputError: digits.npz: no array named 'y'; found 'x', 'labels'
    """
