"""Estimates made presentable: pure functions to text, data, web pages and figures.

Nothing here touches the disk; what is made is returned.
"""

from deniable.presentation.data import (
    arrow_table,
    columns,
    csv_text,
    json_text,
    pandas_frame,
    polars_frame,
)
from deniable.presentation.drawing import figure
from deniable.presentation.page import html_page, html_table
from deniable.presentation.text import text_table

__all__ = [
    "arrow_table",
    "columns",
    "csv_text",
    "figure",
    "html_page",
    "html_table",
    "json_text",
    "pandas_frame",
    "polars_frame",
    "text_table",
]
