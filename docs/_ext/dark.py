"""Figures for light and for dark pages: drawn once, recoloured by `ipds.plot.darkened`, and one of both is shown.

Figures of the gallery are saved twice while it is run. Beside an image `name.png` of a page may lie `name-dark.png`.
"""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import indent
from typing import Any

from docutils import nodes
from sphinx.transforms import SphinxTransform


def scraper(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Sphinx-Gallery's own for Matplotlib, and each figure again in dark."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    from ipds import plot

    figures = [plt.figure(number) for number in plt.get_fignums()]
    light: str = matplotlib_scraper(block, variables, settings)  # closes the figures
    paths = re.findall(r"image-sg:: /(\S+)\.png", light)
    if not paths:
        return light
    for path, figure in zip(paths, figures, strict=True):
        plot.darkened(figure).savefig(Path(settings["src_dir"]) / f"{path}-dark.png")
    dark = re.sub(r"(/\S+)\.png", r"\1-dark.png", light)
    return "".join(
        f"\n.. container:: only-{page}\n\n{indent(text, '    ')}\n"
        for page, text in [("light", light), ("dark", dark)]
    )


class Twin(SphinxTransform):
    """An image whose dark twin lies beside it is followed by that one; each is shown on its own kind of page."""

    default_priority = 200

    def apply(self, **options: Any) -> None:
        """Go through the images of a page."""
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for image in list(self.document.findall(nodes.image)):
            twin = re.sub(r"\.png$", "-dark.png", image["uri"])
            if twin != image["uri"] and (folder / twin).is_file():
                dark = image.deepcopy()
                dark["uri"] = twin
                image["classes"].append("only-light")
                dark["classes"].append("only-dark")
                image.parent.insert(image.parent.index(image) + 1, dark)


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_transform(Twin)
    return {"parallel_read_safe": True}
