"""Estimates made presentable: pure functions to text, data, web pages and figures.

``view`` decides what is shown; the other modules render views. What is made is returned, or written
to the one file that the caller names.
"""

from deniable.presentation.data import (
    columns,
    csv_text,
    json_text,
    provenance_of,
    summary,
    unguarded,
)
from deniable.presentation.drawing import figure
from deniable.presentation.exports import MOST_ROWS, Presentable, draw
from deniable.presentation.page import SHEET, html_fragment, html_notebook, html_page
from deniable.presentation.rows import Answer, Columns, Row, Scale, View, view
from deniable.presentation.text import text_table
from deniable.presentation.trend import Point, Series, Trend, spark_svg, trend_svg

__all__ = [
    "MOST_ROWS",
    "SHEET",
    "Answer",
    "Columns",
    "Point",
    "Presentable",
    "Row",
    "Scale",
    "Series",
    "Trend",
    "View",
    "columns",
    "csv_text",
    "draw",
    "figure",
    "html_fragment",
    "html_notebook",
    "html_page",
    "json_text",
    "provenance_of",
    "spark_svg",
    "summary",
    "text_table",
    "trend_svg",
    "unguarded",
    "view",
]
