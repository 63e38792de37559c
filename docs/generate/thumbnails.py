"""Small pictures of figures for the page of figures: ``python -m docs.generate.thumbnails FOLDER…``.

In: folders with figures that the pipeline drew, NAME.png at any depth; of figures with the same name, the
first counts. Out: ``docs/images/thumbnails/NAME.png`` for each figure that was found.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from torsweep.config.experiment import experiment_names
from torsweep.pipeline.figures import figures

THUMBNAILS = Path(__file__).parents[1] / "images" / "thumbnails"
WIDTH_PX = 480
"""More than the page shows, for screens of high density."""
COLOURS = 128


def shrink(figure: Path, out: Path) -> None:
    """Write the picture ``figure`` to ``out``, :data:`WIDTH_PX` wide."""
    with Image.open(figure) as picture:
        height_px = round(picture.height * WIDTH_PX / picture.width)
        small = picture.convert("RGB").resize((WIDTH_PX, height_px), Image.Resampling.LANCZOS)
    # The median cut of Pillow's default mixes the colours of thin lines: they are few among white and grey.
    few = small.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(out, optimize=True)


def main(folders: Sequence[str]) -> None:
    """Make the thumbnails that ``folders`` have figures for, and name the figures without one."""
    THUMBNAILS.mkdir(exist_ok=True)
    names = sorted({name for own in ("", *experiment_names()) for name in figures(own)})
    for name in names:
        found = [file for folder in folders for file in sorted(Path(folder).rglob(f"{name}.png"))]
        if found:
            shrink(found[0], THUMBNAILS / f"{name}.png")
    missing = [name for name in names if not (THUMBNAILS / f"{name}.png").is_file()]
    if missing:
        print(f"no thumbnail: {', '.join(missing)}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
