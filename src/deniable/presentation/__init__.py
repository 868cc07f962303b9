"""Estimates made presentable: pure functions to text, data, web pages and figures.

``view`` decides what is shown; the other modules render views. Nothing here touches the disk; what
is made is returned.
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
from deniable.presentation.exports import MOST_ROWS, Presentable
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
