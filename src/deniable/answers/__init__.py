"""Kinds of answers, one file each; every module here is found by itself.

``Answers`` is what all kinds promise. A question that takes a list of labels is a ``Choice``.
"""

from importlib import import_module
from pkgutil import iter_modules

from deniable.answers.base import Answers
from deniable.answers.choice import Choice
from deniable.answers.choices import Choices
from deniable.answers.number import Number
from deniable.answers.record import Record
from deniable.answers.text import Text

__all__ = ["Answers", "Choice", "Choices", "Number", "Record", "Text"]

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
