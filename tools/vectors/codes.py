"""Texts with their codes, values and cells: ``codes.json``.

Every client has to write a text in the same bits, and to find the same cell of each piece.
"""

from __future__ import annotations

import numpy as np

from deniable.protocols.discovery import Code, Discovery

_TEXTS = (
    "", "a", "hello", "Hello", "it's", "THE", "12345", "naïve", "nai\u0308ve", "Москва", "東京",
    "🥝", "\0", "two words", "half \ud800 a pair", "\udd5d", "/news/1", "/news/2024/kiwi", "x" * 64,
    "ü" * 600, "abc" * 1000,
)  # fmt: skip
_PAGES = tuple(f"/{kind}/{i}" for kind in ("news", "shop") for i in range(100))


def make_codes() -> dict[str, object]:
    """Return the contents of the file: codes, each with texts and what they become."""
    codes = (
        Code.preset("english"),
        Code.preset("digits"),
        Code.learn(_PAGES, phrases=20),
        Code.learn(["kiwi", "fig"], fold="case"),
    )
    protocols = (
        Discovery(2.0, salt="0123456789abcdef"),
        Discovery(4.0, 6, 2, 9, 10, "fedcba9876543210"),
    )
    cases = [
        {
            "code": code.document(),
            "layouts": [
                {key: protocol.specification()[key]
                 for key in ("payload", "check", "bucket_bits", "piece_bits", "salt")}
                for protocol in protocols
            ],
            "cases": [_case(code, text, protocols) for text in _TEXTS],
        }
        for code in codes
    ]  # fmt: skip
    return {"format": "deniable-vectors", "version": 1, "vectors": cases}


def _case(code: Code, text: str, protocols: tuple[Discovery, ...]) -> dict[str, object]:
    """Return one text, as UTF-16 in hexadecimal since it may hold half of a pair."""
    bits, size = code.bits(text)
    value = code.value(text)
    rows = np.array([value], dtype=np.uint64)
    return {
        "text": text.encode("utf-16-be", "surrogatepass").hex(),
        "bits": format(bits, f"0{-(-size // 4)}x"),
        "size": size,
        "value": [str(word) for word in value],
        "cells": [protocol.layout.cells(rows)[0].tolist() for protocol in protocols],
    }
