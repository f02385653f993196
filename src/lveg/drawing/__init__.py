"""Pictures of trees: for a terminal, as SVG, as standalone HTML pages, and as LaTeX. No function here recurses."""

from lveg.drawing.text import columns, draw_text, outline_text

__all__ = ["columns", "draw_text", "outline_text"]
