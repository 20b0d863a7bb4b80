"""A Sphinx extension: figures of notebooks with their alternative text and caption, cards without their JSON.

MyST-NB takes alternative text and captions from the metadata of cells alone, where they would be a second copy. This
renderer takes them from the metadata that `evidence.report.figures.publish` puts beside the image, and passes over the
JSON of a verdict card, which is for the ledger. MyST-NB finds renderers by the entry points of installed distributions;
this package is not one, so `setup` adds the renderer to the list.
"""

from __future__ import annotations

from typing import Any

from evidence.report.claims import MIME


class Renderer:
    """Images with their alternative text; with a caption, a numbered figure with the target ``fig-<name>``."""

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list | None:
        """Nodes for one mime type of an output, or None for MyST-NB's own."""
        if data.mime_type == MIME:
            return []
        about = data.output_metadata.get("image/png", {})
        if data.mime_type != "image/png" or "alt" not in about:
            return None
        images = (renderer.render_image_inline if inline else renderer.render_image)(data)
        for image in images:
            image["alt"] = about["alt"]
        return images if inline or "caption" not in about else [_figure(renderer.renderer, images, about, data.line)]


def _figure(myst: Any, images: list, about: dict[str, Any], line: int | None) -> Any:
    from docutils import nodes

    figure = nodes.figure("", *images)
    figure.source, figure.line = myst.document["source"], line
    figure["names"].append(nodes.fully_normalize_name(about["name"]))
    myst.document.note_explicit_target(figure, figure)
    parsed = nodes.Element()
    with myst.current_node_context(parsed):
        myst.nested_render_text(about["caption"], line or 0)
    caption = nodes.caption(about["caption"], "", *parsed.children[0].children)
    caption.source, caption.line = figure.source, line
    figure += caption
    return figure


def setup(_app: Any) -> dict[str, bool]:
    """Add the renderer, where Sphinx loads this module as an extension."""
    from myst_nb.core import render

    installed = render.load_mime_renders()
    render.load_mime_renders = lambda: [Renderer, *installed]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
